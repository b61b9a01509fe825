/* Running forms of segments (contract in scan.h): rows of all entries, each of which
 * meets the running value of its segment. */
#include "python/scan.h"

#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/flat.h"
#include "python/numbers.h"

typedef struct {
    ps_reduce *reduce;
    PyArrayObject *values, *ids, *out; /* owned, or NULL */
    int64_t stride;
    _Alignas(16) char empty[16];
    ps_scan_call call;
} scan_work;

/* Half types are computed in f32, whatever the accumulator is called. */
static int
choose_types(scan_work *work)
{
    const ps_fold_types *const types = &work->reduce->types;
    const enum ps_op op = work->reduce->reduction->fold;
    ps_scan_call *const call = &work->call;
    char empty[16];
    call->result = types->result_type;
    call->op = op;
    call->type = ps_scan_type(types->sum_type, &call->op);
    if (call->type >= PS_NUM_DTYPES ||
        ps_kernels()->scan_runs[call->op][call->type] == NULL ||
        (types->sum_type != call->result &&
         !ps_can_convert(call->type, call->result))) {
        PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S",
                     ps_op_name(op), (PyObject *)types->result);
        return -1;
    }
    const int64_t itemsize = ps_dtype_size[types->sum_type];
    ps_write_empty(op, types->sum_type, empty);
    ps_convert(call->type, work->empty, types->sum_type, itemsize, false, empty,
               itemsize, 1);
    call->empty = work->empty;
    return 0;
}

static int
open_arrays(scan_work *work)
{
    ps_reduce *const reduce = work->reduce;
    ps_scan_call *const call = &work->call;
    const ps_fold_types *const types = &reduce->types;
    /* What the op works in holds more than the accumulator. */
    const bool widens = ps_dtype_size[types->sum_type] < ps_dtype_size[call->type];
    work->values = ps_flat_values(reduce, call->type, widens, &call->dtype);
    if (work->values == NULL || ps_flat_ids(reduce, false, &work->ids) < 0) {
        return -1;
    }
    Py_INCREF(types->result);
    work->out = (PyArrayObject *)PyArray_Empty(2, PyArray_DIMS(work->values),
                                               types->result, 0);
    return work->out != NULL ? 0 : -1;
}

/* The last step before the op: no Python code runs any more. */
static int
take_pointers(scan_work *work)
{
    ps_scan_call *const call = &work->call;
    const ps_runs *const runs = &work->reduce->runs;
    int64_t unused;
    ps_index stops;
    call->n = PyArray_DIM(work->values, 0);
    call->width = PyArray_DIM(work->values, 1);
    call->values = PyArray_BYTES(work->values);
    call->out = PyArray_BYTES(work->out);
    if (work->ids == NULL) {
        call->n_segments = runs->n_segments;
        return ps_open_limits(runs, &call->offsets, &work->stride, &stops, &unused);
    }
    call->ids = ps_line_index(work->ids, 0, &work->stride);
    return PyArray_SIZE(work->ids) == call->n ? 0 : ps_raise_changed("ids");
}

/* The error of ids below 0, or of offsets that are none. */
static int
raise_unfit(const scan_work *work)
{
    ps_reduce *const reduce = work->reduce;
    int64_t top;
    if (reduce->plan != NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "the plan drops entries, which then have no segment");
        return -1;
    }
    if (work->ids == NULL) {
        return ps_raise_entries(reduce);
    }
    const ps_status found = ps_top_of(reduce->state, work->ids, NULL, &top);
    const ps_status status =
            ps_check_numbers(reduce->state, work->ids, NULL, PS_MODE_IDS,
                             found.code == PS_TOO_LARGE ? INT64_MAX : top);
    return ps_raise(reduce->state, status, "ids") < 0 ? -1 : ps_raise_changed("ids");
}

static int
run(scan_work *work)
{
    ps_reduce *const reduce = work->reduce;
    if (choose_types(work) < 0 || open_arrays(work) < 0 || take_pointers(work) < 0) {
        return -1;
    }
    const int64_t nbytes =
            PyArray_NBYTES(work->values) + PyArray_NBYTES(work->out) + 8 * work->call.n;
    const ps_status status = ps_run_op(reduce->state, ps_running, &work->call, nbytes);
    return status.code == PS_INDEX_BAD ? raise_unfit(work)
                                       : ps_raise(reduce->state, status, "ids");
}

int
ps_run_scan(ps_reduce *reduce, bool is_exclusive, bool is_backward)
{
    scan_work work = {
            .reduce = reduce,
            .call = {.is_exclusive = is_exclusive, .is_backward = is_backward}};
    if (run(&work) == 0) {
        reduce->sums = ps_entries_back(
                reduce, (PyArrayObject *)Py_NewRef((PyObject *)work.out), true);
    }
    Py_XDECREF((PyObject *)work.values);
    Py_XDECREF((PyObject *)work.ids);
    Py_XDECREF((PyObject *)work.out);
    return reduce->sums != NULL ? 0 : -1;
}
