/* Entries of a segment call side by side (contract in flat.h). Axes (batches, before,
 * entries, after) become (batches, entries, before, after). */
#include "python/flat.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/numbers.h"

static int64_t
count_batches(const ps_reduce *work)
{
    int64_t n = 1;
    for (int i = 0; i < work->batch_dims; i++) {
        n *= PyArray_DIM(work->values, i);
    }
    return n;
}

int
ps_count_segments(const ps_reduce *work, int64_t *n)
{
    if (ps_multiply(work->size, count_batches(work), n)) {
        return 0;
    }
    PyErr_NoMemory();
    return -1;
}

int
ps_raise_entries(const ps_reduce *work)
{
    if (work->gather != NULL) {
        const ps_status status =
                ps_check_numbers(work->state, work->gather, work->named, PS_MODE_RAISE,
                                 PyArray_DIM(work->values, work->axis));
        if (ps_raise(work->state, status, "gather") < 0) {
            return -1;
        }
    }
    return work->ids == NULL
                   ? ps_raise_runs(work->state, &work->runs, ps_entries_of_runs(work))
                   : ps_raise_changed("gather");
}

/* A view with axes [from, to) moved behind those of [to, to + n), which come first. */
static PyArrayObject *
swap_axes(PyArrayObject *array, int from, int to, int n)
{
    npy_intp order[2 * PS_MAX_DIMS + 2];
    int at = 0;
    for (int i = 0; i < from; i++) {
        order[at++] = i;
    }
    for (int i = to; i < to + n; i++) {
        order[at++] = i;
    }
    for (int i = from; i < to; i++) {
        order[at++] = i;
    }
    while (at < PyArray_NDIM(array)) {
        order[at] = at;
        at++;
    }
    PyArray_Dims axes = {order, at};
    return (PyArrayObject *)PyArray_Transpose(array, &axes);
}

PyArrayObject *
ps_entries_first(const ps_reduce *work, PyArrayObject *array)
{
    const int batch = work->batch_dims, axis = work->axis, own = work->n_own;
    npy_intp shape[2] = {1, 1};
    PyArray_Dims dims = {shape, 2};
    if (PyArray_NDIM(array) < axis + own) {
        ps_raise_changed("values");
        return NULL;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        const bool is_entry = i < batch || (i >= axis && i < axis + own);
        shape[is_entry ? 0 : 1] *= PyArray_DIM(array, i);
    }
    PyArrayObject *const moved =
            axis > batch ? swap_axes(array, batch, axis, own)
                         : (PyArrayObject *)Py_NewRef((PyObject *)array);
    PyArrayObject *const plain = moved != NULL ? ps_contiguous(moved) : NULL;
    PyArrayObject *const rows =
            plain != NULL ? (PyArrayObject *)PyArray_Newshape(plain, &dims, NPY_CORDER)
                          : NULL;
    Py_XDECREF((PyObject *)moved);
    Py_XDECREF((PyObject *)plain);
    return rows;
}

PyArrayObject *
ps_flat_values(const ps_reduce *work, enum ps_dtype type, bool widens,
               enum ps_dtype *dtype)
{
    PyArrayObject *rows = ps_entries_first(work, work->values);
    PyArray_Descr *const descr = work->types.sum;
    if (rows == NULL) {
        return NULL;
    }
    *dtype = ps_dtype_of(work->state, PyArray_DESCR(rows));
    const bool is_castable = !widens && *dtype != PS_t64 && *dtype != PS_raw &&
                             ps_can_convert(*dtype, type);
    if (!is_castable && !PyArray_EquivTypes(PyArray_DESCR(rows), descr)) {
        *dtype = work->types.sum_type;
        Py_INCREF(descr);
        Py_SETREF(rows, ps_cast_of(rows, descr));
    }
    return rows;
}

PyArrayObject *
ps_entries_back(const ps_reduce *work, PyArrayObject *rows, bool of_entries)
{
    PyArrayObject *const like = work->gather != NULL ? work->gather : work->ids;
    const int batch = work->batch_dims, axis = work->axis, own = work->n_own;
    const int lead = PyArray_NDIM(rows) - 2;
    npy_intp shape[2 * PS_MAX_DIMS + 2];
    int n = 0, middle = 1;
    for (int i = 0; i < lead; i++) {
        shape[n++] = PyArray_DIM(rows, i);
    }
    for (int i = 0; i < batch; i++) {
        shape[n++] = PyArray_DIM(work->values, i);
    }
    if (of_entries && like != NULL) {
        middle = PyArray_NDIM(like) - batch;
        for (int i = batch; i < PyArray_NDIM(like); i++) {
            shape[n++] = PyArray_DIM(like, i);
        }
    }
    else {
        shape[n++] = of_entries ? PyArray_DIM(work->values, axis) : work->size;
    }
    for (int i = batch; i < PyArray_NDIM(work->values); i++) {
        if (i < axis || i >= axis + own) {
            shape[n++] = PyArray_DIM(work->values, i);
        }
    }
    PyArray_Dims dims = {shape, n};
    PyArrayObject *result = (PyArrayObject *)PyArray_Newshape(rows, &dims, NPY_CORDER);
    Py_DECREF((PyObject *)rows);
    if (result != NULL && axis > batch) { /* the axes before go before again */
        Py_SETREF(result,
                  swap_axes(result, lead + batch, lead + batch + middle, axis - batch));
        if (result != NULL) {
            Py_SETREF(result, ps_contiguous(result));
        }
    }
    return result;
}

/* Numbers of a contiguous index as rows of `each` batches counted on; -1 for those that
 * are out of bounds. */
static PyArrayObject *
count_on(const ps_reduce *work, PyArrayObject *plain, enum ps_mode mode, int64_t size)
{
    const npy_intp n = PyArray_SIZE(plain);
    const int64_t n_batches = count_batches(work);
    const int64_t each = ps_max(1, n / ps_max(1, n_batches));
    PyArrayObject *const rows = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    if (rows == NULL) {
        return NULL;
    }
    int64_t *const row = PyArray_DATA(rows);
    ps_kernels()->rows[ps_index_type_of(plain)](mode, row, PyArray_BYTES(plain), n,
                                                PyArray_ITEMSIZE(plain), size);
    for (npy_intp i = 0; i < n; i++) {
        row[i] = row[i] < 0 ? -1 : row[i] + i / each * size;
    }
    return rows;
}

int
ps_flat_gather(const ps_reduce *work, PyArrayObject **gather)
{
    *gather = NULL;
    if (work->gather == NULL) {
        return 0;
    }
    *gather = ps_contiguous(work->gather);
    if (*gather == NULL || (work->batch_dims == 0 && work->named == NULL)) {
        return *gather != NULL ? 0 : -1;
    }
    Py_SETREF(*gather, count_on(work, *gather, PS_MODE_RAISE,
                                PyArray_DIM(work->values, work->axis)));
    /* Rows that are not there are those of entries that take no part. */
    for (npy_intp i = 0; *gather != NULL && i < PyArray_SIZE(*gather); i++) {
        int64_t *const row = (int64_t *)PyArray_DATA(*gather) + i;
        *row = ps_max(*row, 0);
    }
    return *gather != NULL ? 0 : -1;
}

int
ps_flat_ids(const ps_reduce *work, bool resolves, PyArrayObject **ids)
{
    int64_t unused;
    *ids = NULL;
    if (work->ids == NULL) {
        return 0;
    }
    if (work->batch_dims > 0 && ps_count_segments(work, &unused) < 0) {
        return -1;
    }
    *ids = ps_contiguous(work->ids);
    if (*ids == NULL || !(resolves || work->batch_dims > 0)) {
        return *ids != NULL ? 0 : -1;
    }
    const bool refuses = work->mode == PS_MODE_IDS ||
                         (work->size == 0 && work->mode != PS_MODE_DROP);
    const ps_status status = refuses ? ps_check_numbers(work->state, *ids, work->named,
                                                        PS_MODE_IDS, work->size)
                                     : PS_SUCCESS;
    if (ps_raise(work->state, status, "ids") < 0) {
        return -1;
    }
    Py_SETREF(*ids,
              count_on(work, *ids, refuses ? PS_MODE_DROP : work->mode, work->size));
    PyArrayObject *const named =
            *ids != NULL && work->named != NULL ? ps_contiguous(work->named) : NULL;
    if (*ids == NULL || PyErr_Occurred()) {
        return -1;
    }
    if (named != NULL && PyArray_SIZE(named) == PyArray_SIZE(*ids)) {
        for (npy_intp i = 0; i < PyArray_SIZE(named); i++) {
            int64_t *const row = (int64_t *)PyArray_DATA(*ids) + i;
            *row = PyArray_BYTES(named)[i] ? *row : -1;
        }
    }
    Py_XDECREF((PyObject *)named);
    return 0;
}
