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
#include "kernels/kernels.h"
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
    Py_XDECREF(work->gather);
    Py_XDECREF(work->mask);
    Py_XDECREF(work->named);
    Py_XDECREF(work->weights);
    Py_XDECREF(work->sums);
    Py_XDECREF(work->counts);
    Py_XDECREF(work->weight_sums);
    PyMem_Free(work->offsets);
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

/* A view of an array with axes of our own. */
static PyArrayObject *
view_of(PyArrayObject *array, int ndim, npy_intp *shape, npy_intp *strides)
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
    return view_of(ids, ndim, PyArray_DIMS(work->values), strides);
}

/* Where the row of each entry is. */
static int
place_rows(ps_reduce *work)
{
    PyArrayObject *const values = work->values;
    PyArrayObject *const rows = ps_contiguous(work->gather);
    const int64_t n = rows != NULL ? PyArray_SIZE(rows) : 0;
    work->offsets = PyMem_Malloc((size_t)ps_max(n, 1) * sizeof(int64_t));
    if (rows == NULL || work->offsets == NULL || PyArray_NDIM(values) <= work->axis ||
        ps_index_type_of(rows) < 0) {
        Py_XDECREF((PyObject *)rows);
        return PyErr_Occurred() ? -1 : ps_raise_changed("values");
    }
    const int64_t step = PyArray_STRIDE(values, work->axis);
    const int64_t size = PyArray_ITEMSIZE(rows);
    const int64_t n_bad = ps_kernels()->rows[ps_index_type_of(rows)](
            PS_MODE_RAISE, work->offsets, PyArray_BYTES(rows), n, size,
            PyArray_DIM(values, work->axis));
    int64_t n_batches = 1;
    for (int i = 0; i < work->batch_dims; i++) {
        n_batches *= PyArray_DIM(values, i);
    }
    const int64_t each = n_batches > 0 ? n / n_batches : 0;
    for (int64_t batch = 0; batch < n_batches; batch++) {
        int64_t rest = batch, offset = 0;
        for (int axis = work->batch_dims - 1; axis >= 0; axis--) {
            offset += rest % PyArray_DIM(values, axis) * PyArray_STRIDE(values, axis);
            rest /= PyArray_DIM(values, axis);
        }
        /* Rows that are not there are those of entries that take no part. */
        int64_t *const row = work->offsets + batch * each;
        for (int64_t i = 0; i < each; i++) {
            row[i] = ps_max(row[i], 0) * step + offset;
        }
    }
    Py_DECREF((PyObject *)rows);
    return n_bad > 0 && (work->named == NULL || PyArray_DIM(values, work->axis) == 0)
                   ? ps_raise_changed("gather")
                   : 0;
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
    return view_of(values, n, shape, strides);
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
static int
fold_values_by_ids(ps_reduce *work)
{
    const enum ps_op op = work->reduction->fold;
    const bool is_time = work->types.sum_type == PS_t64;
    if (work->gather != NULL && place_rows(work) < 0) {
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
static PyArrayObject *
sum_by_ids(const ps_reduce *work, PyArray_Descr *descr, PyObject *values, bool is_fine)
{
    PyArrayObject *sums = new_filled(work, is_fine, descr, NULL);
    const int axis = is_fine ? work->axis : work->batch_dims;
    if (sums != NULL &&
        fold_ids(work, sums, axis, is_fine,
                 (ps_fold){.values = values, .op = PS_add, .include_self = true}) < 0) {
        Py_CLEAR(sums);
    }
    return sums;
}

static int
count_ids(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyObject *const one = PyLong_FromLong(1);
    if (one != NULL) {
        work->counts = sum_by_ids(work, wide, one, work->is_fine);
    }
    Py_DECREF(wide);
    Py_XDECREF(one);
    return work->counts != NULL ? 1 : -1;
}

/* ---- folds of runs ---- */

/* Everything that a fold of runs needs but its values. */
static int
open_runs(ps_reduce *work)
{
    ps_runs *const runs = &work->runs;
    runs->axis = work->axis;
    if (work->gather != NULL) {
        runs->gather = ps_contiguous(work->gather);
        if (runs->gather == NULL) {
            return -1;
        }
    }
    if (work->weights != NULL) {
        runs->weights = (PyArrayObject *)Py_NewRef((PyObject *)work->weights);
    }
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

/* Sums over the runs of something else than the values: of rows along `axis` of
 * `array`, under `mask` or NULL, as elements of `descr`. 1, 0 or -1. */
static int
sum_by_runs(const ps_reduce *work, PyArrayObject *array, int axis, PyArrayObject *mask,
            PyArrayObject *sums)
{
    ps_runs runs = work->runs;
    runs.call = (ps_segment_call){.op = PS_add};
    runs.call.type = ps_dtype_of(work->state, PyArray_DESCR(sums));
    runs.axis = axis;
    runs.values = runs.gather = runs.weights = NULL;
    runs.mask = mask;
    ps_write_empty(PS_add, runs.call.type, runs.empty);
    if (ps_take_rows(work->state, &runs, array, PyArray_DESCR(sums)) < 0) {
        return -1;
    }
    const int done = ps_open_runs(work->state, &runs) == 0
                             ? ps_run_runs(work->state, &runs, sums)
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
    const int64_t n = work->gather != NULL ? PyArray_SIZE(work->gather)
                                           : PyArray_DIM(work->values, work->axis);
    return work->mask == NULL
                   ? ps_measure_runs(&work->runs, n, PyArray_DATA(work->counts))
                   : sum_by_runs(work, work->runs.mask, work->is_fine ? work->axis : 0,
                                 NULL, work->counts);
}

/* ---- weights ---- */

/* The weights of each run, in the order in which its products are added: wide rows from
 * first to last, as two columns are as well, of which one is kept. */
static int
sum_weights_of_runs(ps_reduce *work, bool has_wide_rows)
{
    npy_intp n = PyArray_SIZE(work->weights), shape[2] = {n, 2}, strides[2];
    npy_intp sums[2] = {work->size, 2};
    PyArray_Descr *const descr = work->types.sum;
    strides[0] = PyArray_ITEMSIZE(work->weights);
    strides[1] = 0;
    const int ndim = has_wide_rows ? 2 : 1;
    PyArrayObject *const rows = view_of(work->weights, ndim, shape, strides);
    Py_INCREF(descr);
    PyArrayObject *const whole = (PyArrayObject *)PyArray_Empty(ndim, sums, descr, 0);
    const int done = rows != NULL && whole != NULL
                             ? sum_by_runs(work, rows, 0, work->runs.mask, whole)
                             : -1;
    if (done == 1 && has_wide_rows) {
        npy_intp steps[1] = {2 * PyArray_ITEMSIZE(whole)};
        PyArrayObject *const column = view_of(whole, 1, sums, steps);
        work->weight_sums = column != NULL ? ps_copy_of(column, NPY_CORDER) : NULL;
        Py_XDECREF((PyObject *)column);
    }
    else if (done == 1) {
        work->weight_sums = (PyArrayObject *)Py_NewRef((PyObject *)whole);
    }
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)whole);
    return done == 1 && work->weight_sums == NULL ? -1 : done;
}

static int
sum_weights(ps_reduce *work)
{
    if (work->ids != NULL) {
        work->weight_sums =
                sum_by_ids(work, work->types.sum, (PyObject *)work->weights, false);
        return work->weight_sums != NULL ? 1 : -1;
    }
    const int ndim = PyArray_NDIM(work->sums);
    int64_t width;
    ps_count(ndim - work->axis - 1,
             (const int64_t *)PyArray_DIMS(work->sums) + work->axis + 1, &width);
    return sum_weights_of_runs(work, width != 1);
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
        return work->sums == NULL || fold_values_by_ids(work) < 0 ? -1 : 1;
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
    if (work->counts != NULL) {
        const int64_t n = call.n_batches * call.n_segments;
        const int64_t expected = work->is_fine ? PyArray_SIZE(work->sums) : n;
        call.count = PyArray_DATA(work->counts);
        if (PyArray_SIZE(work->counts) != expected) {
            return ps_raise_changed("values");
        }
    }
    if (work->weight_sums != NULL) {
        call.weight_sums = PyArray_BYTES(work->weight_sums);
    }
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
    const bool weighs = work->reduction->divides && work->weights != NULL;
    const bool counts = counts_only || (work->reduction->divides && !weighs) ||
                        work->fills || work->returns_counts || was_masked;
    npy_intp shape[PS_MAX_DIMS + 1];
    if (shape_of(work, true, shape) < 0 || (work->ids == NULL && open_runs(work) < 0)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int done = counts_only ? 1 : fold_values(work);
    if (done == 1 && counts) {
        done = work->ids != NULL ? count_ids(work) : count_runs(work);
    }
    if (done == 1 && weighs) {
        done = sum_weights(work);
    }
    if (done == 1 && counts_only) {
        Py_XSETREF(work->sums, spread_counts(work));
        if (work->sums == NULL) {
            return -1;
        }
    }
    return done == 1 && finish(work) < 0 ? -1 : done;
}
