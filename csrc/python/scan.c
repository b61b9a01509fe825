/* The binding of running forms: a private function, whose caller has parsed the
 * addressing and knows the dtypes. Types, shapes and numbers are checked here and in
 * the op all the same. */
#include "python/scan.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/entries.h"

typedef struct {
    PyArrayObject *values, *index, *out; /* owned */
    PyArray_Descr *dtype, *accumulator;
    bool has_ids;
    int64_t stride;
    _Alignas(16) char empty[16];
    ps_scan_call call;
} scan_work;

static int
raise_undefined(scan_work *work, enum ps_op op)
{
    PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S", ps_op_name(op),
                 (PyObject *)work->dtype);
    return -1;
}

/* Half types are computed in f32, whatever the accumulator is called. */
static int
choose_types(ps_state *state, scan_work *work, enum ps_op op)
{
    ps_scan_call *const call = &work->call;
    const enum ps_dtype accumulator = ps_dtype_of(state, work->accumulator);
    call->result = ps_dtype_of(state, work->dtype);
    if (accumulator == PS_raw || call->result == PS_raw || op >= PS_NUM_REDUCTIONS) {
        return raise_undefined(work, op);
    }
    call->op = op;
    call->type = ps_scan_type(accumulator, &call->op);
    if (call->type >= PS_NUM_DTYPES ||
        ps_kernels()->scan_runs[call->op][call->type] == NULL ||
        (accumulator != call->result && !ps_can_convert(call->type, call->result))) {
        return raise_undefined(work, op);
    }
    char empty[16];
    const enum ps_dtype named = accumulator < PS_NUM_DTYPES ? accumulator : call->type;
    const int64_t itemsize = ps_dtype_size[named];
    ps_write_empty(op, named, empty);
    ps_convert(call->type, work->empty, named, itemsize, false, empty, itemsize, 1);
    call->empty = work->empty;
    return 0;
}

static int
open_arrays(ps_state *state, scan_work *work, PyObject *values, PyObject *index)
{
    ps_scan_call *const call = &work->call;
    const enum ps_dtype accumulator = ps_dtype_of(state, work->accumulator);
    /* What the op works in holds more than the accumulator. */
    const bool widens = ps_dtype_size[accumulator] < ps_dtype_size[call->type];
    work->values = ps_open_rows(state, values, work->accumulator, call->type, widens,
                                &call->dtype);
    work->index = work->values != NULL ? ps_open_vector(index) : NULL;
    if (work->index == NULL) {
        return -1;
    }
    Py_INCREF(work->dtype);
    work->out = (PyArrayObject *)PyArray_Empty(
            PyArray_NDIM(work->values), PyArray_DIMS(work->values), work->dtype, 0);
    return work->out != NULL ? 0 : -1;
}

/* The last step before the op: no Python code runs any more. */
static int
take_pointers(scan_work *work)
{
    ps_scan_call *const call = &work->call;
    const int64_t length = PyArray_DIM(work->index, 0);
    const ps_index index = ps_vector_index(work->index, 0, &work->stride);
    call->n = PyArray_DIM(work->values, 0);
    call->width = ps_row_width(work->values);
    call->values = PyArray_BYTES(work->values);
    call->out = PyArray_BYTES(work->out);
    if (call->width < 0) {
        return -1;
    }
    if (PyArray_DIM(work->out, 0) != call->n ||
        ps_row_width(work->out) != call->width) {
        return ps_raise_changed("values");
    }
    if (work->has_ids ? length != call->n : length == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "there is an id for each row of values, or one offset more "
                        "than segments");
        return -1;
    }
    *(work->has_ids ? &call->ids : &call->offsets) = index;
    call->n_segments = work->has_ids ? 0 : length - 1;
    return 0;
}

static PyObject *
scan(ps_state *state, scan_work *work, PyObject *values, PyObject *index, PyObject *op)
{
    enum ps_op named;
    if (ps_to_op(state, op, &named) < 0 || choose_types(state, work, named) < 0 ||
        open_arrays(state, work, values, index) < 0 || take_pointers(work) < 0) {
        return NULL;
    }
    const int64_t nbytes = PyArray_NBYTES(work->values) + PyArray_NBYTES(work->out) +
                           PyArray_NBYTES(work->index);
    const ps_status status = ps_run_op(state, ps_running, &work->call, nbytes);
    if (status.code == PS_INDEX_BAD) {
        Py_RETURN_NONE;
    }
    return ps_raise(state, status, "ids") < 0 ? NULL : Py_NewRef((PyObject *)work->out);
}

/* segment_scan(values, ids, offsets, op, exclusive, reverse, dtype, accumulator): what
 * the segment of each row has come to there; ids or offsets is None. None where an id
 * is below 0, or offsets are none. */
PyObject *
ps_py_segment_scan(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != 8 || !PyArray_DescrCheck(args[6]) || !PyArray_DescrCheck(args[7])) {
        PyErr_SetString(PyExc_TypeError,
                        "segment_scan takes eight arguments, the last "
                        "two of which are dtypes");
        return NULL;
    }
    scan_work work;
    memset(&work, 0, sizeof(work));
    const int is_exclusive = PyObject_IsTrue(args[4]);
    const int is_backward = is_exclusive < 0 ? -1 : PyObject_IsTrue(args[5]);
    if (is_backward < 0) {
        return NULL;
    }
    work.dtype = (PyArray_Descr *)args[6];
    work.accumulator = (PyArray_Descr *)args[7];
    work.has_ids = args[1] != Py_None;
    work.call.is_exclusive = is_exclusive != 0;
    work.call.is_backward = is_backward != 0;
    PyObject *const index = work.has_ids ? args[1] : args[2];
    PyObject *const result = scan(ps_get_state(module), &work, args[0], index, args[3]);
    Py_XDECREF(work.values);
    Py_XDECREF(work.index);
    Py_XDECREF(work.out);
    return result;
}
