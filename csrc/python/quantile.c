/* The binding of order statistics: a private function, whose caller has parsed the
 * addressing and knows the dtypes. Types, shapes and numbers are checked here and in
 * the op all the same. */
#include "python/quantile.h"

#include <string.h>

#include "kernels/kernels.h"
#include "python/args.h"
#include "python/copies.h"
#include "python/entries.h"

enum {
    VALUES,
    IDS,
    STARTS,
    STOPS,
    SIZE,
    GATHER,
    NAMED,
    WHERE,
    MODE,
    DTYPE,
    LEVELS,
    N_ARGUMENTS
};

typedef struct {
    PyArrayObject *values, *ids, *starts, *stops, *gather; /* owned, as the next */
    PyArrayObject *named, *where, *levels, *out;
    PyArray_Descr *dtype;
    Py_ssize_t size;
    enum ps_mode mode;
    int64_t id_stride, start_stride, stop_stride, gather_stride;
    int64_t shape, link, mask_stride; /* of the address */
    ps_index id;
    ps_quantile_call call;
} quantile_work;

/* None stays NULL. */
static int
open_optional(PyObject *object, PyArrayObject **vector)
{
    if (object == Py_None) {
        return 0;
    }
    *vector = ps_open_vector(object);
    return *vector != NULL ? 0 : -1;
}

/* A mask as bytes side by side; None stays NULL. */
static int
open_mask(PyObject *object, PyArrayObject **mask)
{
    if (object == Py_None) {
        return 0;
    }
    if (!PyArray_Check(object) || PyArray_TYPE((PyArrayObject *)object) != NPY_BOOL) {
        PyErr_SetString(PyExc_TypeError, "a mask is an array of bools");
        return -1;
    }
    *mask = ps_contiguous((PyArrayObject *)object);
    return *mask != NULL ? 0 : -1;
}

/* Copied before they are checked, since others may write to them. */
static int
open_levels(quantile_work *work, PyObject *object)
{
    ps_quantile_call *const call = &work->call;
    call->n_levels = 1;
    if (object == Py_None) {
        return 0;
    }
    work->levels = (PyArrayObject *)PyArray_FROMANY(
            object, NPY_DOUBLE, 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_ENSURECOPY);
    if (work->levels == NULL) {
        return -1;
    }
    call->q = PyArray_DATA(work->levels);
    call->n_levels = PyArray_DIM(work->levels, 0);
    for (int64_t l = 0; l < call->n_levels; l++) {
        if (!(call->q[l] >= 0 && call->q[l] <= 1)) {
            PyErr_SetString(PyExc_ValueError, "levels are numbers from 0 to 1");
            return -1;
        }
    }
    return 0;
}

/* The result: the values' shape with segments in place of entries, behind an axis of
 * levels where there are levels. */
static int
open_out(quantile_work *work)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int lead = work->levels != NULL;
    const int ndim = PyArray_NDIM(work->values);
    memcpy(shape + lead, PyArray_DIMS(work->values), sizeof(npy_intp) * (size_t)ndim);
    shape[0] = work->call.n_levels;
    shape[lead] = work->starts != NULL ? PyArray_DIM(work->starts, 0) : work->size;
    Py_INCREF(work->dtype);
    work->out = (PyArrayObject *)PyArray_Empty(ndim + lead, shape, work->dtype, 0);
    return work->out != NULL ? 0 : -1;
}

static int
open_arrays(ps_state *state, quantile_work *work, PyObject *const *args)
{
    ps_quantile_call *const call = &work->call;
    work->dtype = (PyArray_Descr *)args[DTYPE];
    call->type = ps_dtype_of(state, work->dtype);
    if (call->type >= PS_NUM_DTYPES ||
        ps_kernels()->quantile_finish[call->type] == NULL) {
        PyErr_SetString(PyExc_TypeError, "quantiles of floats and times only");
        return -1;
    }
    work->size = PyNumber_AsSsize_t(args[SIZE], PyExc_OverflowError);
    if (PyErr_Occurred() || ps_to_mode(args[MODE], false, &work->mode) < 0 ||
        open_levels(work, args[LEVELS]) < 0 ||
        open_optional(args[IDS], &work->ids) < 0 ||
        open_optional(args[STARTS], &work->starts) < 0 ||
        open_optional(args[STOPS], &work->stops) < 0 ||
        open_optional(args[GATHER], &work->gather) < 0 ||
        open_mask(args[NAMED], &work->named) < 0 ||
        open_mask(args[WHERE], &work->where) < 0) {
        return -1;
    }
    work->values = ps_open_rows(state, args[VALUES], work->dtype, call->type, false,
                                &call->dtype);
    return work->values != NULL ? open_out(work) : -1;
}

static bool
has_length(PyArrayObject *array, int64_t n)
{
    return array == NULL || PyArray_SIZE(array) == n;
}

/* Do the arrays fit each other, as they are now? */
static bool
is_consistent(const quantile_work *work)
{
    const ps_quantile_call *const call = &work->call;
    const bool has_ids = work->ids != NULL;
    return work->size >= 0 && has_ids == (work->starts == NULL) &&
           (work->starts == NULL) == (work->stops == NULL) && call->width >= 0 &&
           has_length(work->ids, call->n_entries) &&
           has_length(work->stops, call->n_segments) &&
           has_length(work->named, call->n_entries) &&
           has_length(work->where, call->n_entries * call->width) &&
           PyArray_SIZE(work->out) == call->n_levels * call->n_segments * call->width;
}

static void
take_address(quantile_work *work)
{
    ps_quantile_call *const call = &work->call;
    const char *const named = work->named != NULL ? PyArray_BYTES(work->named) : NULL;
    if (work->ids == NULL) {
        call->start = ps_vector_index(work->starts, 0, &work->start_stride);
        call->stop = ps_vector_index(work->stops, 0, &work->stop_stride);
        call->mask = named;
        return;
    }
    work->id = ps_vector_index(work->ids, call->n_segments, &work->id_stride);
    work->shape = call->n_entries;
    work->mask_stride = 1;
    call->address =
            (ps_address){.ndim = 1,
                         .shape = &work->shape,
                         .link = &work->link,
                         .n = call->n_entries,
                         .n_index = 1,
                         .index = &work->id,
                         .mode = work->mode == PS_MODE_RAISE ? PS_MODE_IDS : work->mode,
                         .mask = named,
                         .mask_strides = &work->mask_stride};
}

/* The last step before the op: no Python code runs any more. */
static int
take_pointers(quantile_work *work)
{
    ps_quantile_call *const call = &work->call;
    call->values = PyArray_BYTES(work->values);
    call->itemsize = PyArray_ITEMSIZE(work->values);
    call->n_rows = PyArray_DIM(work->values, 0);
    call->width = ps_row_width(work->values);
    call->n_entries = call->n_rows;
    if (work->gather != NULL) {
        call->gather =
                ps_vector_index(work->gather, call->n_rows, &work->gather_stride);
        call->n_entries = PyArray_DIM(work->gather, 0);
    }
    call->n_segments = work->starts != NULL ? PyArray_DIM(work->starts, 0) : work->size;
    if (!is_consistent(work)) {
        PyErr_SetString(PyExc_ValueError,
                        "there are ids, or starts and stops, and masks of the entries");
        return -1;
    }
    call->elements = work->where != NULL ? PyArray_BYTES(work->where) : NULL;
    call->out = PyArray_BYTES(work->out);
    take_address(work);
    return 0;
}

static PyObject *
quantile(ps_state *state, quantile_work *work, PyObject *const *args)
{
    if (open_arrays(state, work, args) < 0 || take_pointers(work) < 0) {
        return NULL;
    }
    const int64_t nbytes = PyArray_NBYTES(work->values) + PyArray_NBYTES(work->out) +
                           8 * work->call.n_entries;
    const ps_status status = ps_run_op(state, ps_quantile, &work->call, nbytes);
    if (status.code == PS_INDEX_BAD && status.total == 0) {
        Py_RETURN_NONE;
    }
    return ps_raise(state, status, "ids") < 0 ? NULL : Py_NewRef((PyObject *)work->out);
}

/* segment_quantile(values, ids, starts, stops, size, gather, named, where, mode, dtype,
 * levels): the levels' quantiles of each segment, in dtype, or its median where levels
 * is None. ids, or starts and stops, are None; named is a mask of the entries that take
 * part, where one of their elements; either may be None. None where ranges or rows do
 * not exist. */
PyObject *
ps_py_segment_quantile(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != N_ARGUMENTS || !PyArray_DescrCheck(args[DTYPE])) {
        PyErr_Format(PyExc_TypeError,
                     "segment_quantile takes %d arguments, among them a dtype",
                     N_ARGUMENTS);
        return NULL;
    }
    quantile_work work;
    memset(&work, 0, sizeof(work));
    PyObject *const result = quantile(ps_get_state(module), &work, args);
    PyArrayObject *const owned[] = {work.values, work.ids,    work.starts,
                                    work.stops,  work.gather, work.named,
                                    work.where,  work.levels, work.out};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        Py_XDECREF((PyObject *)owned[i]);
    }
    return result;
}
