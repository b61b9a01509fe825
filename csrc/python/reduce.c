/* A segment call whose form is known (contract in reduce.h).
 *
 * By ids, a fold is a scatter into fresh memory: the axis form, or the along form where
 * entries are chosen element by element. By runs it is the segment op. Counts are folds
 * of ones, or of a mask; whether a segment is empty is asked of them alone. One pass
 * over the sums makes means, fills what is empty and casts.
 */
#include "python/reduce.h"

#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/py_scatter.h"

void
ps_begin_reduce(ps_reduce *work, ps_state *state)
{
    memset(work, 0, offsetof(ps_reduce, runs));
    ps_begin_runs(&work->runs);
    work->state = state;
}

void
ps_close_reduce(ps_reduce *work)
{
    ps_close_runs(&work->runs);
    ps_close_types(&work->types);
    Py_XDECREF(work->values);
    Py_XDECREF(work->ids);
    Py_XDECREF(work->mask);
    Py_XDECREF(work->sums);
    Py_XDECREF(work->counts);
}

/* ---- arrays of our own ---- */

/* The shape of a result, or of counts of entries where they are not those of elements.
 * Its axes, or -1 where it has too many elements. */
static int
shape_of(const ps_reduce *work, bool has_rows, npy_intp *shape)
{
    const npy_intp *const given = PyArray_DIMS(work->values);
    const int ndim = PyArray_NDIM(work->values);
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (i == work->axis) {
            shape[n++] = work->size;
        }
        if (i < work->batch_dims ||
            (has_rows && (i < work->axis || i >= work->axis + work->n_own))) {
            shape[n++] = given[i];
        }
    }
    if (work->axis >= ndim) {
        shape[n++] = work->size;
    }
    int64_t nbytes = 16, count;
    const bool fits = n <= PS_MAX_DIMS && ps_count(n, (const int64_t *)shape, &count) &&
                      ps_multiply(count, nbytes, &nbytes) &&
                      ps_multiply(work->size, 16, &nbytes);
    return fits ? n : -1;
}

/* An array whose elements are all `item`, or zero where there is none. */
static PyArrayObject *
new_filled(const ps_reduce *work, bool has_rows, PyArray_Descr *descr, const char *item)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = shape_of(work, has_rows, shape);
    Py_INCREF(descr);
    if (item == NULL) {
        return (PyArrayObject *)PyArray_Zeros(ndim, shape, descr, 0);
    }
    PyArrayObject *const array = (PyArrayObject *)PyArray_Empty(ndim, shape, descr, 0);
    if (array == NULL) {
        return NULL;
    }
    char *const to = PyArray_BYTES(array);
    const int64_t nbytes = PyArray_NBYTES(array), itemsize = PyArray_ITEMSIZE(array);
    for (int64_t done = 0; done < nbytes;) { /* what is done is copied behind itself */
        const int64_t n = done == 0 ? itemsize : ps_min(done, nbytes - done);
        memcpy(to + done, done == 0 ? item : to, (size_t)ps_min(n, 1 << 16));
        done += ps_min(n, 1 << 16);
    }
    return array;
}

/* ---- folds by ids ---- */

/* Ids beside every element of the values: a view that does not move along the others.
 * There is one axis of entries. */
static PyArrayObject *
spread_ids(const ps_reduce *work)
{
    PyArrayObject *const ids = work->ids;
    const int ndim = PyArray_NDIM(work->values);
    npy_intp strides[PS_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        strides[i] = i < work->batch_dims ? PyArray_STRIDE(ids, i)
                     : i == work->axis    ? PyArray_STRIDE(ids, work->batch_dims)
                                          : 0;
    }
    PyArray_Descr *const descr = PyArray_DESCR(ids);
    Py_INCREF(descr);
    PyArrayObject *const view = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, ndim, PyArray_DIMS(work->values), strides,
            PyArray_DATA(ids), 0, NULL);
    if (view != NULL && PyArray_SetBaseObject(view, Py_NewRef((PyObject *)ids)) < 0) {
        Py_DECREF((PyObject *)view);
        return NULL;
    }
    return view;
}

/* Fold `values` into `target`; is_fine: element by element. 0 or -1. */
static int
fold_ids(const ps_reduce *work, PyArrayObject *target, PyObject *values, int axis,
         bool is_fine)
{
    const enum ps_op op = work->reduction->fold;
    const bool is_time = ps_dtype_of(work->state, PyArray_DESCR(target)) == PS_t64;
    const bool counts = values != (PyObject *)work->values;
    PyArrayObject *const ids = is_fine ? spread_ids(work) : work->ids;
    PyObject *const number = ids != NULL ? PyLong_FromLong(axis) : NULL;
    PyObject *const batches = number != NULL ? PyLong_FromLong(work->batch_dims) : NULL;
    int status = -1;
    if (batches != NULL) {
        const ps_fold fold = {
                .target = target,
                .is_private = true,
                .where = {.form = is_fine ? PS_FORM_ALONG : PS_FORM_AXIS,
                          .index = (PyObject *)ids,
                          .axis = number,
                          .batch_dims = is_fine ? NULL : batches,
                          .mask = (PyObject *)work->mask,
                          .name = "ids"},
                .values = values,
                .op = counts ? PS_add : op,
                .mode = work->mode,
                .include_self = counts || work->starts ||
                                (op != PS_fmin && op != PS_fmax && !is_time),
                .compensated = work->compensated && !counts};
        status = ps_fold_by_ids(work->state, &fold);
    }
    Py_XDECREF(number);
    Py_XDECREF(batches);
    if (is_fine) {
        Py_XDECREF((PyObject *)ids);
    }
    return status;
}

static int
count_ids(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyObject *const one = PyLong_FromLong(1);
    work->counts = new_filled(work, work->is_fine, wide, NULL);
    Py_DECREF(wide);
    const int axis = work->is_fine ? work->axis : work->batch_dims;
    const int status = work->counts != NULL && one != NULL
                               ? fold_ids(work, work->counts, one, axis, work->is_fine)
                               : -1;
    Py_XDECREF(one);
    return status < 0 ? -1 : 1;
}

/* ---- folds of runs ---- */

/* Everything that a fold of runs needs but its values. */
static int
open_runs(ps_reduce *work)
{
    ps_runs *const runs = &work->runs;
    runs->axis = work->axis;
    runs->n_segments = work->size;
    if (work->mask == NULL) {
        return 0;
    }
    runs->mask = work->is_fine ? ps_contiguous(work->mask)
                               : (PyArrayObject *)Py_NewRef((PyObject *)work->mask);
    return runs->mask != NULL ? 0 : -1;
}

static int
fold_runs(ps_reduce *work, PyArrayObject *target)
{
    ps_runs *const runs = &work->runs;
    const enum ps_dtype type = work->types.sum_type;
    runs->call.op = work->reduction->fold;
    runs->call.type = type;
    runs->call.goes_on = work->starts;
    ps_write_empty(runs->call.op, type, runs->empty);
    if (ps_take_rows(work->state, runs, work->values, work->types.sum) < 0 ||
        ps_open_runs(work->state, runs) < 0) {
        return -1;
    }
    return ps_run_runs(work->state, runs, target);
}

/* The entries of each run that the mask leaves in: a fold of the mask. */
static int
count_masked_runs(const ps_reduce *work, PyArrayObject *counts)
{
    ps_runs runs = work->runs;
    PyArray_Descr *const wide = PyArray_DESCR(counts);
    runs.call = (ps_segment_call){.op = PS_add, .type = PS_i64};
    runs.axis = work->is_fine ? work->axis : 0;
    runs.values = runs.mask = NULL;
    ps_write_empty(PS_add, PS_i64, runs.empty);
    if (ps_take_rows(work->state, &runs, work->runs.mask, wide) < 0) {
        return -1;
    }
    const int done = ps_open_runs(work->state, &runs) == 0
                             ? ps_run_runs(work->state, &runs, counts)
                             : -1;
    Py_XDECREF((PyObject *)runs.values);
    return done;
}

static int
count_runs(ps_reduce *work)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = shape_of(work, work->is_fine, shape);
    work->counts = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_INT64);
    if (work->counts == NULL) {
        return -1;
    }
    const int64_t n = PyArray_DIM(work->values, work->axis);
    return work->mask == NULL
                   ? ps_measure_runs(&work->runs, n, PyArray_DATA(work->counts))
                   : count_masked_runs(work, work->counts);
}

/* ---- the call ---- */

static int
fold_values(ps_reduce *work)
{
    char empty[16];
    const enum ps_op op = work->reduction->fold;
    const ps_fold_types *const types = &work->types;
    ps_write_empty(op, types->sum_type, empty);
    const bool is_zero = op == PS_add && !work->starts;
    const char *const item = work->starts ? work->start : empty;
    if (work->ids != NULL) {
        work->sums = new_filled(work, true, types->sum, is_zero ? NULL : item);
        return work->sums == NULL ||
                               fold_ids(work, work->sums, (PyObject *)work->values,
                                        work->axis, work->is_fine) < 0
                       ? -1
                       : 1;
    }
    if (work->starts) {
        work->sums = new_filled(work, true, types->sum, item);
    }
    else {
        npy_intp shape[PS_MAX_DIMS + 1];
        const int ndim = shape_of(work, true, shape);
        Py_INCREF(types->sum);
        work->sums = (PyArrayObject *)PyArray_Empty(ndim, shape, types->sum, 0);
    }
    return work->sums != NULL ? fold_runs(work, work->sums) : -1;
}

static ps_status
run_finish(void *call, ps_run *run)
{
    return ps_finish(call, run);
}

/* Sums to results, in place or into a new array. Runs under a mask have taken in the
 * identity where everything was left out. */
static int
finish(ps_reduce *work)
{
    const ps_fold_types *const types = &work->types;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts;
    const bool casts = types->sum_type != types->result_type;
    const npy_intp *const shape = PyArray_DIMS(work->sums);
    const int axis = work->axis, ndim = PyArray_NDIM(work->sums);
    char empty[16];
    if (!work->reduction->divides && !work->fills && !was_masked && !casts) {
        return 0;
    }
    if (was_masked && !work->fills) {
        ps_write_empty(work->reduction->fold, types->sum_type, empty);
        ps_convert(types->result_type, work->fill, types->sum_type,
                   ps_dtype_size[types->sum_type], false, empty, 0, 1);
    }
    ps_finish_call call = {.type = types->sum_type,
                           .out_type = types->result_type,
                           .sums = PyArray_BYTES(work->sums),
                           .out = PyArray_BYTES(work->sums),
                           .n_segments = work->size,
                           .is_fine = work->is_fine,
                           .divides = work->reduction->divides};
    call.fill = work->fills || (was_masked && !call.divides) ? work->fill : NULL;
    ps_count(work->batch_dims, (const int64_t *)shape, &call.n_batches);
    ps_count(axis - work->batch_dims, (const int64_t *)shape + work->batch_dims,
             &call.n_before);
    ps_count(ndim - axis - 1, (const int64_t *)shape + axis + 1, &call.width);
    call.count = work->counts != NULL ? PyArray_DATA(work->counts) : NULL;
    PyArrayObject *result = work->sums;
    if (casts) {
        Py_INCREF(types->result);
        result = (PyArrayObject *)PyArray_Empty(ndim, (npy_intp *)shape, types->result,
                                                0);
        if (result == NULL) {
            return -1;
        }
        call.out = PyArray_BYTES(result);
    }
    const int64_t nbytes = PyArray_NBYTES(work->sums) + PyArray_NBYTES(result);
    const ps_status status = ps_run_op(work->state, run_finish, &call, nbytes);
    if (casts) {
        Py_SETREF(work->sums, result);
    }
    return ps_raise(work->state, status, "ids");
}

/* Counts in the shape of a result, an array of their own. */
static PyArrayObject *
spread_counts(const ps_reduce *work)
{
    npy_intp shape[PS_MAX_DIMS + 1], own[PS_MAX_DIMS + 1];
    const int ndim = shape_of(work, true, shape);
    for (int i = 0; i < ndim; i++) {
        own[i] =
                i < work->batch_dims || i == work->axis || work->is_fine ? shape[i] : 1;
    }
    PyArray_Dims dims = {own, ndim};
    PyArrayObject *const view =
            (PyArrayObject *)PyArray_Newshape(work->counts, &dims, NPY_CORDER);
    PyArrayObject *const result =
            view != NULL ? (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_INT64)
                         : NULL;
    const int status = result != NULL ? PyArray_CopyInto(result, view) : -1;
    Py_XDECREF((PyObject *)view);
    if (status < 0) {
        Py_XDECREF((PyObject *)result);
        return NULL;
    }
    return result;
}

int
ps_run_reduce(ps_reduce *work)
{
    const bool counts_only = work->reduction->of == PS_FOLD_ONES;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts;
    const bool counts = counts_only || work->reduction->divides || work->fills ||
                        work->returns_counts || was_masked;
    npy_intp shape[PS_MAX_DIMS + 1];
    if (shape_of(work, true, shape) < 0 || (work->ids == NULL && open_runs(work) < 0)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int done = counts_only ? 1 : fold_values(work);
    if (done == 1 && counts) {
        done = work->ids != NULL ? count_ids(work) : count_runs(work);
    }
    if (done == 1 && counts_only) {
        Py_XSETREF(work->sums, spread_counts(work));
        if (work->sums == NULL) {
            return -1;
        }
    }
    return done == 1 && finish(work) < 0 ? -1 : done;
}
