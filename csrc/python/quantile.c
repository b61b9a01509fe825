/* Order statistics of segments (contract in quantile.h): rows of all entries, which the
 * op sorts into segments and selects from. */
#include "python/quantile.h"

#include "kernels/kernels.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/flat.h"
#include "python/numbers.h"

typedef struct {
    ps_reduce *reduce;
    PyArrayObject *values, *ids, *gather, *named, *elements, *out; /* owned, or NULL */
    int64_t id_stride, start_stride, stop_stride, gather_stride;
    int64_t shape, link, mask_stride; /* of the address */
    ps_index id;
    ps_quantile_call call;
} quantile_work;

/* Values and what lies beside them. */
static int
open_arrays(quantile_work *work)
{
    ps_reduce *const reduce = work->reduce;
    work->values = ps_flat_values(reduce, work->call.type, false, &work->call.dtype);
    if (work->values == NULL || ps_flat_ids(reduce, false, &work->ids) < 0 ||
        ps_flat_gather(reduce, &work->gather) < 0) {
        return -1;
    }
    if (reduce->named != NULL) {
        work->named = ps_contiguous(reduce->named);
    }
    if (reduce->is_fine && !PyErr_Occurred()) {
        work->elements = ps_entries_first(reduce, reduce->mask);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The median of dates is a quantile, since NumPy adds none to halve them. */
static void
take_levels(quantile_work *work)
{
    static const double half = 0.5;
    const ps_reduce *const reduce = work->reduce;
    ps_quantile_call *const call = &work->call;
    call->n_levels = 1;
    if (reduce->reduction->needs_levels) {
        call->q = PyArray_DATA(reduce->levels);
        call->n_levels = PyArray_SIZE(reduce->levels);
    }
    else if (reduce->types.sum->type_num == NPY_DATETIME) {
        call->q = &half;
    }
}

/* The result: rows of segments, behind an axis of levels where there is a list. */
static int
open_out(quantile_work *work)
{
    const ps_reduce *const reduce = work->reduce;
    const int lead =
            reduce->reduction->needs_levels && PyArray_NDIM(reduce->levels) == 1;
    npy_intp shape[3] = {work->call.n_levels};
    shape[lead] = work->call.n_segments;
    shape[lead + 1] = work->call.width;
    Py_INCREF(reduce->types.sum);
    work->out = (PyArrayObject *)PyArray_Empty(2 + lead, shape, reduce->types.sum, 0);
    return work->out != NULL ? 0 : -1;
}

static bool
has_length(PyArrayObject *array, int64_t n)
{
    return array == NULL || PyArray_SIZE(array) == n;
}

static void
take_address(quantile_work *work)
{
    ps_quantile_call *const call = &work->call;
    work->id = ps_line_index(work->ids, call->n_segments, &work->id_stride);
    work->shape = call->n_entries;
    work->mask_stride = 1;
    call->address = (ps_address){
            .ndim = 1,
            .shape = &work->shape,
            .link = &work->link,
            .n = call->n_entries,
            .n_index = 1,
            .index = &work->id,
            .mode = work->reduce->batch_dims > 0 ? PS_MODE_DROP : work->reduce->mode,
            .mask = call->mask,
            .mask_strides = &work->mask_stride};
    call->mask = NULL;
}

/* The last step before the op: no Python code runs any more. */
static int
take_pointers(quantile_work *work)
{
    ps_quantile_call *const call = &work->call;
    call->values = PyArray_BYTES(work->values);
    call->itemsize = PyArray_ITEMSIZE(work->values);
    call->mask = work->named != NULL ? PyArray_BYTES(work->named) : NULL;
    call->elements = work->elements != NULL ? PyArray_BYTES(work->elements) : NULL;
    call->out = PyArray_BYTES(work->out);
    if (!has_length(work->ids, call->n_entries) ||
        !has_length(work->named, call->n_entries) ||
        !has_length(work->elements, call->n_entries * call->width)) {
        return ps_raise_changed("values");
    }
    if (work->gather != NULL) {
        call->gather = ps_line_index(work->gather, call->n_rows, &work->gather_stride);
    }
    if (work->ids != NULL) {
        take_address(work);
        return 0;
    }
    return ps_open_limits(&work->reduce->runs, &call->start, &work->start_stride,
                          &call->stop, &work->stop_stride);
}

static int
run(quantile_work *work)
{
    ps_reduce *const reduce = work->reduce;
    ps_quantile_call *const call = &work->call;
    call->type = reduce->types.sum_type;
    take_levels(work);
    if (open_arrays(work) < 0) {
        return -1;
    }
    call->n_rows = PyArray_DIM(work->values, 0);
    call->width = PyArray_DIM(work->values, 1);
    call->n_entries = work->gather != NULL ? PyArray_SIZE(work->gather) : call->n_rows;
    if (ps_count_segments(reduce, &call->n_segments) < 0 || open_out(work) < 0 ||
        take_pointers(work) < 0) {
        return -1;
    }
    const int64_t nbytes = PyArray_NBYTES(work->values) + PyArray_NBYTES(work->out) +
                           8 * call->n_entries;
    const ps_status status = ps_run_op(reduce->state, ps_quantile, call, nbytes);
    return status.code == PS_INDEX_BAD && status.total == 0
                   ? ps_raise_entries(reduce)
                   : ps_raise(reduce->state, status, "ids");
}

int
ps_run_quantile(ps_reduce *reduce)
{
    quantile_work work = {.reduce = reduce};
    const int status = run(&work);
    if (status == 0) {
        reduce->sums = ps_entries_back(
                reduce, (PyArrayObject *)Py_NewRef((PyObject *)work.out), false);
    }
    Py_XDECREF((PyObject *)work.values);
    Py_XDECREF((PyObject *)work.ids);
    Py_XDECREF((PyObject *)work.gather);
    Py_XDECREF((PyObject *)work.named);
    Py_XDECREF((PyObject *)work.elements);
    Py_XDECREF((PyObject *)work.out);
    return reduce->sums != NULL ? 0 : -1;
}
