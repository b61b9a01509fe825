/* The binding of the segment family: three primitives for pyscatter/_segment_folds.py.
 *
 * Segments have many addressings and some twenty ops; the Python layer brings all of
 * them down to folds over runs of entries (here), folds by ids (a scatter into a fresh
 * array), places of extremes and sums of squared distances (here). These are private
 * functions: their callers have parsed and shaped the arguments, but nothing here
 * trusts that: types, shapes and sizes are looked at again, and each number of an index
 * is checked where it is used. Bad numbers give None, and the caller says which.
 */
#include "python/py_segment.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

/* An integer array of one axis in native order as an index of `size` rows; a new
 * reference, or NULL with an exception. */
static PyArrayObject *
open_index(PyObject *object, int64_t size, ps_index *index, int64_t *stride)
{
    PyArrayObject *const array = (PyArrayObject *)PyArray_FROM_OF(
            object, NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSUREARRAY);
    if (array == NULL) {
        return NULL;
    }
    const int type = ps_index_type_of(array);
    if (type < 0 || PyArray_NDIM(array) != 1) {
        PyErr_SetString(PyExc_TypeError, "an index has one axis of integers");
        Py_DECREF(array);
        return NULL;
    }
    *stride = PyArray_STRIDE(array, 0);
    *index = (ps_index){.data = PyArray_BYTES(array),
                        .strides = stride,
                        .type = (enum ps_index_type)type,
                        .size = size};
    return array;
}

/* Elements behind the first axis; -1 with an exception. */
static int64_t
row_width(PyArrayObject *array)
{
    int64_t width;
    if (!ps_count(PyArray_NDIM(array) - 1, (const int64_t *)PyArray_DIMS(array) + 1,
                  &width)) {
        PyErr_NoMemory();
        return -1;
    }
    return width;
}

/* A fresh array of `n` rows shaped as those of `like`. */
static PyArrayObject *
fresh_rows(PyArrayObject *like, int64_t n, PyArray_Descr *descr, bool is_zero)
{
    npy_intp shape[PS_MAX_DIMS];
    memcpy(shape, PyArray_DIMS(like), sizeof(npy_intp) * (size_t)PyArray_NDIM(like));
    shape[0] = n;
    Py_INCREF(descr);
    return (PyArrayObject *)(is_zero ? PyArray_Zeros(PyArray_NDIM(like), shape, descr,
                                                     0)
                                     : PyArray_Empty(PyArray_NDIM(like), shape, descr,
                                                     0));
}

/* ---- folds over runs of entries ---- */

typedef struct {
    PyArrayObject *values, *starts, *stops, *gather, *weights, *out; /* owned */
    int64_t start_stride, stop_stride, gather_stride;
    _Alignas(16) char empty[16];
    ps_segment_call call;
} range_work;

/* The identity, but +0 for sums, NaT for times, which have no least, and for fmin and
 * fmax that of min and max: NaN is for segments that hold nothing else. */
static void
write_empty(enum ps_op op, enum ps_dtype type, char *empty)
{
    memset(empty, 0, 16);
    op = op == PS_fmin ? PS_min : op == PS_fmax ? PS_max : op;
    if (op != PS_add) {
        ps_write_identity(op, type, empty);
    }
    if (type == PS_t64 && op != PS_add) {
        *(t64 *)empty = (t64){INT64_MIN};
    }
}

/* Rows of contiguous items: the array itself, or a copy. */
static int
open_values(ps_state *state, range_work *work, PyObject *object)
{
    ps_segment_call *const call = &work->call;
    PyArrayObject *const array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) < 1) {
        PyErr_SetString(PyExc_TypeError, "values is an array of at least one axis");
        return -1;
    }
    int64_t nbytes = PyArray_ITEMSIZE(array);
    bool is_dense = true;
    for (int axis = PyArray_NDIM(array) - 1; axis > 0; axis--) {
        is_dense = is_dense && (PyArray_DIM(array, axis) == 1 ||
                                PyArray_STRIDE(array, axis) == nbytes);
        nbytes *= PyArray_DIM(array, axis);
    }
    work->values = is_dense ? (PyArrayObject *)Py_NewRef(object)
                            : ps_copy_of(array, NPY_CORDER);
    if (work->values == NULL ||
        ps_storage_of(state, work->values, &call->dtype) != PS_STORED_NUMBERS) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "values is an array of numbers");
        }
        return -1;
    }
    call->values = PyArray_BYTES(work->values);
    call->itemsize = PyArray_ITEMSIZE(work->values);
    call->n_rows = PyArray_DIM(work->values, 0);
    call->row_stride = PyArray_STRIDE(work->values, 0);
    call->swapped = ps_is_swapped(work->values);
    call->aligned = PyArray_ISALIGNED(work->values);
    call->width = row_width(work->values);
    return call->width < 0 ? -1 : 0;
}

static int
open_limits(range_work *work, PyObject *starts, PyObject *stops)
{
    ps_segment_call *const call = &work->call;
    work->starts = open_index(starts, 0, &call->start, &work->start_stride);
    work->stops = work->starts != NULL
                          ? open_index(stops, 0, &call->stop, &work->stop_stride)
                          : NULL;
    if (work->stops == NULL) {
        return -1;
    }
    call->n_segments = PyArray_DIM(work->starts, 0);
    if (PyArray_DIM(work->stops, 0) != call->n_segments) {
        PyErr_SetString(PyExc_ValueError, "starts and stops differ in length");
        return -1;
    }
    return 0;
}

/* First of all, since a cast may warn, and a warning runs Python code. */
static int
open_weights(range_work *work, PyObject *weights, PyArray_Descr *descr)
{
    if (weights == Py_None) {
        return 0;
    }
    Py_INCREF(descr);
    work->weights = (PyArrayObject *)PyArray_FromAny(
            weights, descr, 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    return work->weights != NULL ? 0 : -1;
}

static int
open_entries(range_work *work, PyObject *gather)
{
    ps_segment_call *const call = &work->call;
    call->n_entries = call->n_rows;
    if (gather != Py_None) {
        work->gather =
                open_index(gather, call->n_rows, &call->gather, &work->gather_stride);
        if (work->gather == NULL) {
            return -1;
        }
        call->n_entries = PyArray_DIM(work->gather, 0);
    }
    if (work->weights != NULL) {
        if (PyArray_DIM(work->weights, 0) != call->n_entries) {
            PyErr_SetString(PyExc_ValueError, "one weight for each entry");
            return -1;
        }
        call->weights = PyArray_BYTES(work->weights);
    }
    return 0;
}

/* The type of sums and results, for which the op and the casts must exist. */
static int
open_type(ps_state *state, range_work *work, PyArray_Descr *descr)
{
    ps_segment_call *const call = &work->call;
    const ps_kernel_table *const kernels = ps_kernels();
    call->type = ps_dtype_of(state, descr);
    if (call->type >= PS_NUM_DTYPES || call->op >= PS_NUM_REDUCTIONS ||
        kernels->segment[call->op][call->type] == NULL ||
        (call->dtype != call->type && !ps_can_convert(call->dtype, call->type)) ||
        (call->weights != NULL && kernels->scale[call->type] == NULL)) {
        PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S",
                     ps_op_name(call->op), (PyObject *)descr);
        return -1;
    }
    write_empty(call->op, call->type, work->empty);
    call->empty = work->empty;
    return 0;
}

static ps_status
run_segment(void *call, ps_run *run)
{
    return ps_segment(call, run);
}

static PyObject *
run_ranges(ps_state *state, range_work *work, PyArray_Descr *descr)
{
    ps_segment_call *const call = &work->call;
    int64_t nbytes;
    work->out = fresh_rows(work->values, call->n_segments, descr, false);
    if (work->out == NULL) {
        return NULL;
    }
    if (row_width(work->out) != call->width) { /* meanwhile, in another thread */
        ps_raise_changed("values");
        return NULL;
    }
    call->out = PyArray_BYTES(work->out);
    if (!ps_multiply(call->n_entries + call->n_segments,
                     call->width * call->itemsize + 8, &nbytes)) {
        nbytes = INT64_MAX;
    }
    const ps_status status = ps_run_op(state, run_segment, call, nbytes);
    if (status.code == PS_INDEX_BAD) {
        Py_RETURN_NONE;
    }
    return ps_raise(state, status, "offsets") < 0 ? NULL
                                                  : Py_NewRef((PyObject *)work->out);
}

/* fold_ranges(values, starts, stops, op, dtype, gather, weights): rows [starts[s],
 * stops[s]) of values, or of values[gather], folded by op in dtype; None when a limit
 * or a row is out of bounds. */
PyObject *
ps_py_fold_ranges(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *values, *starts, *stops, *op, *gather, *weights, *result = NULL;
    PyArray_Descr *descr = NULL;
    range_work work;
    memset(&work, 0, sizeof(work));
    if (!PyArg_ParseTuple(args, "OOOOO&OO", &values, &starts, &stops, &op,
                          PyArray_DescrConverter, &descr, &gather, &weights)) {
        return NULL;
    }
    if (ps_to_op(state, op, &work.call.op) == 0 &&
        open_weights(&work, weights, descr) == 0 &&
        open_values(state, &work, values) == 0 &&
        open_limits(&work, starts, stops) == 0 && open_entries(&work, gather) == 0 &&
        open_type(state, &work, descr) == 0) {
        result = run_ranges(state, &work, descr);
    }
    Py_XDECREF(work.values);
    Py_XDECREF(work.starts);
    Py_XDECREF(work.stops);
    Py_XDECREF(work.gather);
    Py_XDECREF(work.weights);
    Py_XDECREF(work.out);
    Py_DECREF(descr);
    return result;
}

/* ---- what entries say of their groups ---- */

typedef struct {
    PyArrayObject *values, *ids, *result, *place, *centre; /* owned */
    int64_t stride;
    ps_visit_call call;
} group_work;

/* `object` as an array that kernels can read as it lies. */
static PyArrayObject *
as_contiguous(PyObject *object)
{
    PyArrayObject *const array =
            (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_ENSUREARRAY);
    PyArrayObject *const result = array != NULL ? ps_contiguous(array) : NULL;
    Py_XDECREF((PyObject *)array);
    return result;
}

/* Values as kernels want them, and an id for each row. */
static int
open_groups(ps_state *state, group_work *work, PyObject *values, PyObject *ids,
            Py_ssize_t size)
{
    ps_visit_call *const call = &work->call;
    work->values = as_contiguous(values);
    work->ids = work->values != NULL ? open_index(ids, size, &call->ids, &work->stride)
                                     : NULL;
    if (work->ids == NULL) {
        return -1;
    }
    if (size < 0 || PyArray_NDIM(work->values) < 1 ||
        PyArray_DIM(work->values, 0) != PyArray_DIM(work->ids, 0)) {
        PyErr_SetString(PyExc_ValueError, "ids has one entry for each row of values");
        return -1;
    }
    call->type = ps_dtype_of(state, PyArray_DESCR(work->values));
    call->n = PyArray_DIM(work->ids, 0);
    call->values = PyArray_BYTES(work->values);
    call->width = row_width(work->values);
    return call->width < 0 ? -1 : 0;
}

static void
close_groups(group_work *work)
{
    Py_XDECREF(work->values);
    Py_XDECREF(work->ids);
    Py_XDECREF(work->result);
    Py_XDECREF(work->place);
    Py_XDECREF(work->centre);
}

static ps_status
run_find(void *call, ps_run *run)
{
    return ps_find(call, run);
}

static ps_status
run_deviate(void *call, ps_run *run)
{
    return ps_deviate(call, run);
}

static int
run_groups(ps_state *state, group_work *work, ps_op_fn op)
{
    work->call.result = PyArray_BYTES(work->result);
    const int64_t nbytes = PyArray_NBYTES(work->values) + 8 * work->call.n;
    return ps_raise(state, ps_run_op(state, op, &work->call, nbytes), "ids");
}

/* find_extremes(values, ids, size, op): numbers of the rows that min, max, fmin
 * or fmax of each group return, for each column; -1 where a group has none. None when
 * an id is out of bounds. */
PyObject *
ps_py_find_extremes(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *values, *ids, *op, *result = NULL;
    Py_ssize_t size;
    group_work work;
    memset(&work, 0, sizeof(work));
    ps_visit_call *const call = &work.call;
    if (!PyArg_ParseTuple(args, "OOnO", &values, &ids, &size, &op) ||
        ps_to_op(state, op, &call->op) < 0 ||
        open_groups(state, &work, values, ids, size) < 0) {
        goto finish;
    }
    if (call->type >= PS_NUM_DTYPES || call->op >= PS_NUM_REDUCTIONS ||
        ps_kernels()->find_checked[call->op][call->type] == NULL) {
        PyErr_SetString(PyExc_TypeError, "extremes of what has an order only");
        goto finish;
    }
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    work.result = fresh_rows(work.values, size, PyArray_DESCR(work.values), false);
    work.place =
            work.result != NULL ? fresh_rows(work.values, size, wide, false) : NULL;
    Py_DECREF(wide);
    if (work.place == NULL) {
        goto finish;
    }
    call->place = PyArray_DATA(work.place);
    if (run_groups(state, &work, run_find) == 0) {
        result = Py_NewRef(call->n_bad == 0 ? (PyObject *)work.place : Py_None);
    }
finish:
    close_groups(&work);
    return result;
}

/* sum_deviations(values, ids, centre): for each group the sum of (value - centre)^2,
 * by columns; values and centre float32 or float64 alike. */
PyObject *
ps_py_sum_deviations(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *values, *ids, *centre, *result = NULL;
    group_work work;
    memset(&work, 0, sizeof(work));
    if (!PyArg_ParseTuple(args, "OOO", &values, &ids, &centre)) {
        return NULL;
    }
    work.centre = as_contiguous(centre);
    if (work.centre == NULL) {
        return NULL;
    }
    const npy_intp size =
            PyArray_NDIM(work.centre) > 0 ? PyArray_DIM(work.centre, 0) : -1;
    if (open_groups(state, &work, values, ids, size) < 0) {
        goto finish;
    }
    if (PyArray_NDIM(work.centre) != PyArray_NDIM(work.values) ||
        PyArray_SIZE(work.centre) != size * work.call.width ||
        !PyArray_EquivTypes(PyArray_DESCR(work.centre), PyArray_DESCR(work.values)) ||
        (work.call.type != PS_f32 && work.call.type != PS_f64)) {
        PyErr_SetString(PyExc_TypeError, "values and centre are floats of one type");
        goto finish;
    }
    work.result = fresh_rows(work.values, size, PyArray_DESCR(work.values), true);
    work.call.centre = PyArray_BYTES(work.centre);
    if (work.result != NULL && run_groups(state, &work, run_deviate) == 0) {
        result = Py_NewRef((PyObject *)work.result);
    }
finish:
    close_groups(&work);
    return result;
}
