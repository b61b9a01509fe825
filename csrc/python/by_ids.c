/* Folds of a segment call by ids (contract in by_ids.h).
 *
 * Each is a scatter into fresh memory: the axis form, or the along form where entries
 * are chosen element by element, for which ids stand beside every element as a view.
 * Rows that gather= lists are told to the scatter as offsets, so none is copied whole.
 */
#include "python/by_ids.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/py_scatter.h"
#include "python/visits.h"

/* ---- arrays of our own ---- */

/* The shape of a result, or of counts of entries where they are not those of elements.
 * Its axes, or -1 where it has too many elements. */
int
ps_result_shape(const ps_reduce *work, bool has_rows, npy_intp *shape)
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
PyArrayObject *
ps_new_filled(const ps_reduce *work, bool has_rows, PyArray_Descr *descr,
              const char *item)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, has_rows, shape);
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
        memcpy(to + done, done == 0 ? item : to, (size_t)ps_min(n, 1 << 14));
        done += ps_min(n, 1 << 14);
    }
    return array;
}

/* A view of an array with axes of our own. */
PyArrayObject *
ps_view_with(PyArrayObject *array, int ndim, npy_intp *shape, npy_intp *strides)
{
    PyArray_Descr *const descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyArrayObject *const view = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, ndim, shape, strides, PyArray_DATA(array), 0, NULL);
    if (view != NULL && PyArray_SetBaseObject(view, Py_NewRef((PyObject *)array)) < 0) {
        Py_DECREF((PyObject *)view);
        return NULL;
    }
    return view;
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
    if (PyArray_NDIM(ids) != work->batch_dims + 1 || ndim <= work->axis) {
        ps_raise_changed("ids");
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        strides[i] = i < work->batch_dims ? PyArray_STRIDE(ids, i)
                     : i == work->axis    ? PyArray_STRIDE(ids, work->batch_dims)
                                          : 0;
    }
    return ps_view_with(ids, ndim, PyArray_DIMS(work->values), strides);
}

/* The values as if each entry had a row of its own: along the entries nothing moves,
 * since offsets say where rows are. */
static PyArrayObject *
spread_values(const ps_reduce *work)
{
    PyArrayObject *const values = work->values, *const ids = work->ids;
    npy_intp shape[2 * PS_MAX_DIMS], strides[2 * PS_MAX_DIMS];
    int n = 0;
    if (PyArray_NDIM(ids) + PyArray_NDIM(values) > PS_MAX_DIMS + work->batch_dims + 1) {
        PyErr_SetString(PyExc_ValueError, "values[gather] would have too many axes");
        return NULL;
    }
    for (int i = 0; i < PyArray_NDIM(values); i++) {
        if (i != work->axis) {
            shape[n] = PyArray_DIM(values, i);
            strides[n++] = i < work->batch_dims ? 0 : PyArray_STRIDE(values, i);
            continue;
        }
        for (int k = work->batch_dims; k < PyArray_NDIM(ids); k++) {
            shape[n] = PyArray_DIM(ids, k);
            strides[n++] = 0;
        }
    }
    return ps_view_with(values, n, shape, strides);
}

/* Fold into `target` along `axis` what `fold` says of values and op. is_fine: element
 * by element. 0 or -1. */
static int
fold_ids(const ps_reduce *work, PyArrayObject *target, int axis, bool is_fine,
         ps_fold fold)
{
    PyArrayObject *const ids = is_fine ? spread_ids(work) : work->ids;
    PyObject *const number = ids != NULL ? PyLong_FromLong(axis) : NULL;
    PyObject *const batches = number != NULL ? PyLong_FromLong(work->batch_dims) : NULL;
    int status = -1;
    if (batches != NULL) {
        fold.target = target;
        fold.is_private = true;
        fold.mode = work->mode;
        fold.where = (ps_where_args){
                .form = is_fine ? PS_FORM_ALONG : PS_FORM_AXIS,
                .index = (PyObject *)ids,
                .axis = number,
                .batch_dims = is_fine ? NULL : batches,
                .mask = (PyObject *)(is_fine ? work->mask : work->named),
                .name = "ids"};
        status = ps_fold_by_ids(work->state, &fold);
    }
    Py_XDECREF(number);
    Py_XDECREF(batches);
    if (is_fine) {
        Py_XDECREF((PyObject *)ids);
    }
    return status;
}

/* The values themselves. */
int
ps_fold_values(ps_reduce *work)
{
    const enum ps_op op = work->reduction->fold;
    const bool is_time = work->types.sum_type == PS_t64;
    PyArrayObject *const entries = work->gather != NULL ? work->gather : work->ids;
    if (work->weights != NULL && PyArray_SIZE(work->weights) != PyArray_SIZE(entries)) {
        return ps_raise_changed("ids");
    }
    if (ps_place_rows(work) < 0) {
        return -1;
    }
    PyArrayObject *const values =
            work->gather != NULL ? spread_values(work)
                                 : (PyArrayObject *)Py_NewRef((PyObject *)work->values);
    if (values == NULL) {
        return -1;
    }
    const int status = fold_ids(
            work, work->sums, work->axis, work->is_fine,
            (ps_fold){.values = (PyObject *)values,
                      .value_offsets = work->offsets,
                      .weights = work->weights != NULL ? PyArray_BYTES(work->weights)
                                                       : NULL,
                      .op = op,
                      .include_self = work->starts ||
                                      (op != PS_fmin && op != PS_fmax && !is_time),
                      .compensated = work->compensated});
    Py_DECREF((PyObject *)values);
    return status;
}

/* One for each entry that takes part, or its weight. */
PyArrayObject *
ps_sum_by_ids(const ps_reduce *work, PyArray_Descr *descr, PyObject *values,
              bool is_fine)
{
    PyArrayObject *sums = ps_new_filled(work, is_fine, descr, NULL);
    const int axis = is_fine ? work->axis : work->batch_dims;
    if (sums != NULL &&
        fold_ids(work, sums, axis, is_fine,
                 (ps_fold){.values = values, .op = PS_add, .include_self = true}) < 0) {
        Py_CLEAR(sums);
    }
    return sums;
}

/* ---- ends ---- */

/* NaN or NaT, or zero where a type has neither. */
static void
write_missing(enum ps_dtype type, char *item)
{
    const f64 missing = NAN;
    memset(item, 0, 16);
    if (type == PS_t64) {
        *(t64 *)(void *)item = (t64){INT64_MIN};
    }
    else if (type == PS_c64) {
        *(f32 *)(void *)item = NAN;
    }
    else if (type == PS_c128) {
        *(f64 *)(void *)item = NAN;
    }
    else if (type == PS_f80) {
        *(f80 *)(void *)item = NAN;
    }
    else if (ps_dtype_kind[type] == PS_KIND_FLOAT ||
             ps_dtype_kind[type] == PS_KIND_HALF) {
        ps_convert(type, item, PS_f64, 8, false, (const char *)&missing, 0, 1);
    }
}

/* Ends of runs are entries that are listed: each segment has the one that its limits
 * name, and none where it is empty. */
static int
list_ends(ps_reduce *work)
{
    npy_intp n = work->size;
    const bool is_first = work->reduction->fold == PS_first;
    PyArrayObject *const ids = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    PyArrayObject *const rows = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    PyArrayObject *const gather =
            work->gather != NULL ? ps_contiguous(work->gather) : NULL;
    const char *const listed = gather != NULL ? PyArray_BYTES(gather) : NULL;
    const npy_intp n_listed = gather != NULL ? PyArray_SIZE(gather) : 0;
    int done = ids != NULL && rows != NULL && !PyErr_Occurred() ? 1 : -1;
    if (done == 1) {
        const int64_t n_entries =
                gather != NULL ? n_listed : PyArray_DIM(work->values, work->axis);
        done = ps_list_ends(&work->runs, n_entries, is_first, PyArray_DATA(ids),
                            PyArray_DATA(rows));
    }
    if (done == 1 && gather != NULL &&
        (ps_index_type_of(gather) < 0 || !ps_is_there(gather, listed, n_listed))) {
        done = ps_raise_changed("gather");
    }
    for (npy_intp i = 0; done == 1 && gather != NULL && i < n; i++) {
        int64_t *const row = (int64_t *)PyArray_DATA(rows) + i;
        const char *const from =
                PyArray_BYTES(gather) + *row * PyArray_ITEMSIZE(gather);
        if (((const int64_t *)PyArray_DATA(ids))[i] >= 0) {
            ps_kernels()->rows[ps_index_type_of(gather)](
                    PS_MODE_RAISE, row, from, 1, 0,
                    PyArray_DIM(work->values, work->axis));
        }
        *row = ps_max(*row, 0);
    }
    if (done == 1) {
        work->ids = (PyArrayObject *)Py_NewRef((PyObject *)ids);
        work->gather = (PyArrayObject *)Py_NewRef((PyObject *)rows);
    }
    Py_XDECREF((PyObject *)ids);
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)gather);
    return done;
}

/* Rows that are moved; empty segments hold what is missing, or `initial`. */
int
ps_move_ends(ps_reduce *work)
{
    char missing[16];
    const enum ps_mode mode = work->mode;
    const bool by_runs = work->ids == NULL;
    PyArrayObject *const gather = work->gather;
    write_missing(work->types.sum_type, missing);
    work->sums = ps_new_filled(work, true, work->types.sum,
                               work->starts ? work->start : missing);
    int done = work->sums == NULL ? -1 : by_runs ? list_ends(work) : 1;
    const bool has_rows = !by_runs || PyArray_DIM(work->values, work->axis) > 0;
    if (done == 1 && has_rows) {
        work->mode = by_runs ? PS_MODE_DROP : mode;
        done = ps_fold_values(work) < 0 ? -1 : 1;
    }
    if (by_runs) { /* counts are those of the runs */
        work->mode = mode;
        Py_CLEAR(work->ids);
        if (work->gather != gather) {
            Py_SETREF(work->gather, gather);
        }
    }
    return done;
}
