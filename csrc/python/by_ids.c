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
#include "python/py_gather.h"
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

PyArrayObject *
ps_new_result(const ps_reduce *work, PyArray_Descr *descr)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, true, shape);
    Py_INCREF(descr);
    return (PyArrayObject *)PyArray_Empty(ndim, shape, descr, 0);
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

/* One weight for each element of the values, where these are chosen one by one; a new
 * reference. */
static PyArrayObject *
weights_of_elements(const ps_reduce *work)
{
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = PyArray_NDIM(work->values);
    for (int i = 0; i < ndim; i++) {
        const bool is_entry = i < work->batch_dims || i == work->axis;
        shape[i] = is_entry ? PyArray_DIM(work->values, i) : 1;
    }
    PyArray_Dims dims = {shape, ndim};
    PyArray_Descr *const descr = PyArray_DESCR(work->weights);
    PyArrayObject *const view =
            (PyArrayObject *)PyArray_Newshape(work->weights, &dims, NPY_CORDER);
    Py_INCREF(descr);
    PyArrayObject *whole =
            (PyArrayObject *)PyArray_Empty(ndim, PyArray_DIMS(work->values), descr, 0);
    if (view == NULL || whole == NULL || PyArray_CopyInto(whole, view) < 0) {
        Py_CLEAR(whole);
    }
    Py_XDECREF((PyObject *)view);
    return whole;
}

/* The values themselves, and weights beside them or NULL. */
static int
fold_rows(ps_reduce *work, PyArrayObject *weights)
{
    const enum ps_op op = work->reduction->fold;
    const bool is_time = work->types.sum_type == PS_t64;
    PyArrayObject *const entries = work->is_fine          ? work->values
                                   : work->gather != NULL ? work->gather
                                                          : work->ids;
    if (weights != NULL &&
        (PyArray_SIZE(weights) != PyArray_SIZE(entries) || !ps_lies_in_base(weights))) {
        return ps_raise_changed("weights");
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
                      .weights = weights != NULL ? PyArray_BYTES(weights) : NULL,
                      .op = op,
                      .include_self = work->starts ||
                                      (op != PS_fmin && op != PS_fmax && !is_time),
                      .compensated = work->compensated});
    Py_DECREF((PyObject *)values);
    return status;
}

int
ps_fold_values(ps_reduce *work)
{
    if (work->weights == NULL || work->are_weighed || !work->is_fine) {
        return fold_rows(work, work->are_weighed ? NULL : work->weights);
    }
    PyArrayObject *const weights = weights_of_elements(work);
    const int status = weights != NULL ? fold_rows(work, weights) : -1;
    Py_XDECREF((PyObject *)weights);
    return status;
}

/* One for each entry that takes part, or its weight. */
PyArrayObject *
ps_sum_by_ids(const ps_reduce *work, PyArray_Descr *descr, PyObject *values,
              bool has_rows, bool compensated)
{
    PyArrayObject *sums = ps_new_filled(work, has_rows, descr, NULL);
    const int axis = has_rows ? work->axis : work->batch_dims;
    if (sums != NULL && fold_ids(work, sums, axis, has_rows && work->is_fine,
                                 (ps_fold){.values = values,
                                           .op = PS_add,
                                           .include_self = true,
                                           .compensated = compensated}) < 0) {
        Py_CLEAR(sums);
    }
    return sums;
}

/* ---- squared distances ---- */

int
ps_sum_distances(ps_reduce *work)
{
    if (work->ids == NULL && ps_number_entries(work) < 0) {
        return -1;
    }
    const bool stays = work->mode == PS_MODE_CLIP || work->mode == PS_MODE_WRAP;
    PyObject *const square = ps_get_helper(work->state, PS_HELPER_squared);
    PyArrayObject *const values =
            work->gather != NULL
                    ? ps_gather_rows(work->state, work->values, work->gather,
                                     work->axis, work->batch_dims, work->named,
                                     PS_MODE_RAISE)
                    : (PyArrayObject *)Py_NewRef((PyObject *)work->values);
    /* Ids that are out of bounds are those of entries that take no part. */
    PyArrayObject *const centre =
            values != NULL ? ps_gather_rows(work->state, work->sums, work->ids,
                                            work->axis, work->batch_dims, NULL,
                                            stays && work->size > 0 ? work->mode
                                                                    : PS_MODE_FILL)
                           : NULL;
    PyObject *const squares =
            centre != NULL && square != NULL
                    ? PyObject_CallFunctionObjArgs(square, (PyObject *)values,
                                                   (PyObject *)centre, NULL)
                    : NULL;
    if (squares != NULL && PyArray_Check(squares)) {
        PyArray_Descr *const descr = PyArray_DESCR((PyArrayObject *)squares);
        Py_INCREF(descr);
        Py_SETREF(work->types.sum, descr);
        work->types.sum_type = ps_dtype_of(work->state, descr);
        Py_SETREF(work->sums,
                  ps_sum_by_ids(work, descr, squares, true, work->compensated));
    }
    Py_XDECREF((PyObject *)values);
    Py_XDECREF((PyObject *)centre);
    Py_XDECREF(squares);
    return squares != NULL && work->sums != NULL ? 0 : -1;
}

/* ---- entries that runs list ---- */

npy_intp
ps_entries_of_runs(const ps_reduce *work)
{
    return work->gather != NULL ? PyArray_SIZE(work->gather)
                                : PyArray_DIM(work->values, work->axis);
}

/* *array[entry] along an axis in its place; NULL stays. */
static int
take_along(PyArrayObject **array, PyArrayObject *entry, int axis)
{
    if (*array == NULL) {
        return 0;
    }
    Py_SETREF(*array, (PyArrayObject *)PyArray_TakeFrom(*array, (PyObject *)entry, axis,
                                                        NULL, NPY_RAISE));
    return *array != NULL ? 0 : -1;
}

int
ps_number_entries(ps_reduce *work)
{
    PyArrayObject **const entry = work->runs.are_offsets ? NULL : &work->entry;
    if (ps_list_entries(work->state, &work->runs, ps_entries_of_runs(work), &work->ids,
                        entry) < 0) {
        return -1;
    }
    work->mode = PS_MODE_IDS;
    if (entry == NULL) {
        return 0;
    }
    const int mask_axis = work->is_fine ? work->axis : 0;
    if (take_along(&work->mask, *entry, mask_axis) < 0 ||
        take_along(&work->named, *entry, 0) < 0 ||
        take_along(&work->weights, *entry, 0) < 0) {
        return -1;
    }
    /* Nothing is listed of chosen elements. Else a list costs three times as much as
     * rows that are taken, where sums are compensated. */
    const bool takes = work->is_fine || work->are_weighed || work->compensated;
    if (takes && work->gather == NULL) {
        return take_along(&work->values, *entry, work->axis);
    }
    if (work->gather == NULL) {
        work->gather = (PyArrayObject *)Py_NewRef((PyObject *)*entry);
        return 0;
    }
    return take_along(&work->gather, *entry, 0);
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
    int status = ids != NULL && rows != NULL && !PyErr_Occurred() ? 0 : -1;
    if (status == 0) {
        status = ps_list_ends(work->state, &work->runs, ps_entries_of_runs(work),
                              is_first, PyArray_DATA(ids), PyArray_DATA(rows));
    }
    if (status == 0 && gather != NULL &&
        (ps_index_type_of(gather) < 0 || !ps_is_there(gather, listed, n_listed))) {
        status = ps_raise_changed("gather");
    }
    for (npy_intp i = 0; status == 0 && gather != NULL && i < n; i++) {
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
    if (status == 0) {
        work->ids = (PyArrayObject *)Py_NewRef((PyObject *)ids);
        work->gather = (PyArrayObject *)Py_NewRef((PyObject *)rows);
    }
    Py_XDECREF((PyObject *)ids);
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)gather);
    return status;
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
    int status = work->sums == NULL ? -1 : by_runs ? list_ends(work) : 0;
    const bool has_rows = !by_runs || PyArray_DIM(work->values, work->axis) > 0;
    if (status == 0 && has_rows) {
        work->mode = by_runs ? PS_MODE_DROP : mode;
        status = ps_fold_values(work);
    }
    if (by_runs) { /* counts are those of the runs */
        work->mode = mode;
        Py_CLEAR(work->ids);
        if (work->gather != gather) {
            Py_SETREF(work->gather, gather);
        }
    }
    return status;
}

/* Numbers of a batch's entries, in the axes of these. */
static PyArrayObject *
number_of_entries(const ps_reduce *work)
{
    PyArrayObject *const ids = work->ids;
    npy_intp shape[2 * PS_MAX_DIMS];
    int n_axes = 0;
    npy_intp n = 1;
    for (int i = work->batch_dims; i < PyArray_NDIM(ids); i++) {
        shape[n_axes++] = PyArray_DIM(ids, i);
        n *= PyArray_DIM(ids, i);
    }
    const int n_own = work->gather != NULL ? 1 : work->n_own;
    for (int i = work->axis + n_own; i < PyArray_NDIM(work->values); i++) {
        shape[n_axes++] = 1;
    }
    PyArrayObject *const numbers =
            work->entry != NULL ? (PyArrayObject *)Py_NewRef((PyObject *)work->entry)
                                : (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    if (numbers == NULL) {
        return NULL;
    }
    for (npy_intp i = 0; work->entry == NULL && i < n; i++) {
        ((int64_t *)PyArray_DATA(numbers))[i] = i;
    }
    PyArray_Dims dims = {shape, n_axes};
    PyObject *const view = PyArray_Newshape(numbers, &dims, NPY_CORDER);
    Py_DECREF((PyObject *)numbers);
    return (PyArrayObject *)view;
}

int
ps_find_ends(ps_reduce *work)
{
    const int64_t none = -1;
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyArrayObject *const numbers = number_of_entries(work);
    work->places = ps_new_filled(work, true, wide, (const char *)&none);
    const int status = numbers != NULL && work->places != NULL
                               ? fold_ids(work, work->places, work->axis, work->is_fine,
                                          (ps_fold){.values = (PyObject *)numbers,
                                                    .op = work->reduction->fold,
                                                    .include_self = true})
                               : -1;
    Py_DECREF(wide);
    Py_XDECREF((PyObject *)numbers);
    return status;
}
