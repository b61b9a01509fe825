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
#include "ops/identity.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/visits.h"

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
    Py_XDECREF(work->places);
    PyMem_Free(work->offsets);
}

static int
count_ids(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyObject *const one = PyLong_FromLong(1);
    if (one != NULL) {
        work->counts = ps_sum_by_ids(work, wide, one, work->is_fine);
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
    const int ndim = ps_result_shape(work, work->is_fine, shape);
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
    PyArrayObject *const rows = ps_view_with(work->weights, ndim, shape, strides);
    Py_INCREF(descr);
    PyArrayObject *const whole = (PyArrayObject *)PyArray_Empty(ndim, sums, descr, 0);
    const int done = rows != NULL && whole != NULL
                             ? sum_by_runs(work, rows, 0, work->runs.mask, whole)
                             : -1;
    if (done == 1 && has_wide_rows) {
        npy_intp steps[1] = {2 * PyArray_ITEMSIZE(whole)};
        PyArrayObject *const column = ps_view_with(whole, 1, sums, steps);
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
                ps_sum_by_ids(work, work->types.sum, (PyObject *)work->weights, false);
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
        work->sums = ps_new_filled(work, true, types->sum, is_zero ? NULL : item);
        return work->sums == NULL || ps_fold_values(work) < 0 ? -1 : 1;
    }
    if (work->starts) {
        work->sums = ps_new_filled(work, true, types->sum, item);
    }
    else {
        npy_intp shape[PS_MAX_DIMS + 1];
        const int ndim = ps_result_shape(work, true, shape);
        Py_INCREF(types->sum);
        work->sums = (PyArrayObject *)PyArray_Empty(ndim, shape, types->sum, 0);
    }
    return work->sums != NULL ? fold_runs(work, work->sums) : -1;
}

/* The axes of the sums, and the counts beside them. 0 or -1. */
static int
lay_out(const ps_reduce *work, ps_finish_call *call)
{
    const int64_t *const shape = (const int64_t *)PyArray_DIMS(work->sums);
    const int batch = work->batch_dims, axis = work->axis;
    ps_count(batch, shape, &call->n_batches);
    ps_count(axis - batch, shape + batch, &call->n_before);
    ps_count(PyArray_NDIM(work->sums) - axis - 1, shape + axis + 1, &call->width);
    if (work->counts == NULL) {
        return 0;
    }
    const int64_t expected = work->is_fine ? PyArray_SIZE(work->sums)
                                           : call->n_batches * call->n_segments;
    call->count = PyArray_DATA(work->counts);
    return PyArray_SIZE(work->counts) == expected ? 0 : ps_raise_changed("values");
}

/* Sums to results, in place or into a new array. Runs under a mask have taken in the
 * identity where everything was left out. */
static int
finish(ps_reduce *work, bool is_centre)
{
    const ps_fold_types *const types = &work->types;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts;
    const bool finds = work->reduction->of == PS_FOLD_PLACES;
    const bool casts = types->sum_type != types->result_type && !is_centre && !finds;
    char empty[16];
    if (!work->reduction->divides && !work->fills && !casts && (!was_masked || finds)) {
        return 0;
    }
    if (was_masked && !work->fills && !finds) {
        ps_write_empty(work->reduction->fold, types->sum_type, empty);
        ps_convert(types->result_type, work->fill, types->sum_type,
                   ps_dtype_size[types->sum_type], false, empty, 0, 1);
    }
    const bool spreads = work->reduction->spreads && !is_centre;
    ps_finish_call call = {.type = finds ? types->result_type : types->sum_type,
                           .out_type = is_centre ? types->sum_type : types->result_type,
                           .spreads = spreads,
                           .roots = spreads && work->reduction->roots,
                           .ddof = work->ddof,
                           .sums = PyArray_BYTES(work->sums),
                           .out = PyArray_BYTES(work->sums),
                           .n_segments = work->size,
                           .is_fine = work->is_fine,
                           .divides = work->reduction->divides};
    const bool fills = work->fills || (was_masked && !call.divides && !finds);
    call.fill = fills && !is_centre ? work->fill : NULL;
    if (lay_out(work, &call) < 0) {
        return -1;
    }
    if (work->weight_sums != NULL) {
        call.weight_sums = PyArray_BYTES(work->weight_sums);
    }
    PyArrayObject *result = work->sums;
    if (casts) {
        Py_INCREF(types->result);
        result = (PyArrayObject *)PyArray_Empty(
                PyArray_NDIM(work->sums), PyArray_DIMS(work->sums), types->result, 0);
        if (result == NULL) {
            return -1;
        }
        call.out = PyArray_BYTES(result);
    }
    const int64_t nbytes = PyArray_NBYTES(work->sums) + PyArray_NBYTES(result);
    const ps_status status = ps_run_op(work->state, ps_finish, &call, nbytes);
    if (casts) {
        Py_SETREF(work->sums, result);
    }
    return ps_raise(work->state, status, "ids");
}

/* Counts in the shape of a result, an array of their own if they are another result. */
static PyArrayObject *
spread_counts(const ps_reduce *work)
{
    npy_intp shape[PS_MAX_DIMS + 1], own[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, true, shape);
    for (int i = 0; i < ndim; i++) {
        own[i] =
                i < work->batch_dims || i == work->axis || work->is_fine ? shape[i] : 1;
    }
    if (ndim == PyArray_NDIM(work->counts) && !work->returns_counts) {
        return (PyArrayObject *)Py_NewRef((PyObject *)work->counts);
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

/* An array of the shape of results. */
static PyArrayObject *
new_result(const ps_reduce *work, PyArray_Descr *descr, bool is_zero)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, true, shape);
    Py_INCREF(descr);
    return (PyArrayObject *)(is_zero ? PyArray_Zeros(ndim, shape, descr, 0)
                                     : PyArray_Empty(ndim, shape, descr, 0));
}

/* Numbers of the entries that min and kin return. */
static int
find_places(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyArrayObject *const best = new_result(work, work->types.sum, false);
    work->places = new_result(work, wide, false);
    Py_DECREF(wide);
    const int done = best != NULL && work->places != NULL
                             ? ps_visit(work, true, best, work->places, NULL)
                             : -1;
    Py_XDECREF((PyObject *)best);
    return done;
}

/* Sums to means, and squares about these in their place. */
static int
sum_squares(ps_reduce *work)
{
    if (finish(work, true) < 0) {
        return -1;
    }
    PyArrayObject *const squares = new_result(work, work->types.sum, true);
    if (squares != NULL && PyArray_SIZE(squares) != PyArray_SIZE(work->sums)) {
        Py_DECREF((PyObject *)squares);
        return ps_raise_changed("values");
    }
    const int done =
            squares != NULL ? ps_visit(work, false, squares, NULL, work->sums) : -1;
    Py_XSETREF(work->sums, squares);
    return done;
}

/* What is folded, and what is found on the way. */
static int
fold_all(ps_reduce *work)
{
    if (work->reduction->of == PS_FOLD_ONES) {
        return 1;
    }
    if (work->reduction->of == PS_FOLD_ENDS) {
        return ps_move_ends(work);
    }
    int done = work->reduction->of == PS_FOLD_VALUES ||
                               work->reduction->of == PS_FOLD_TRUTH
                       ? fold_values(work)
                       : 1;
    if (done == 1 && (work->wants_places || work->reduction->of == PS_FOLD_PLACES)) {
        done = find_places(work);
    }
    if (done == 1 && work->reduction->of == PS_FOLD_PLACES) {
        work->sums = (PyArrayObject *)Py_NewRef((PyObject *)work->places);
    }
    return done;
}

/* Compensated sums are made entry by entry: runs, one after the other, become ids. */
static int
number_entries(ps_reduce *work)
{
    npy_intp n = work->gather != NULL ? PyArray_SIZE(work->gather)
                                      : PyArray_DIM(work->values, work->axis);
    PyArrayObject *const ids = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    work->ids = ids;
    work->runs.n_segments = work->size;
    return ids != NULL ? ps_own_entries(&work->runs, n, PyArray_DATA(ids)) : -1;
}

int
ps_run_reduce(ps_reduce *work)
{
    if (work->compensated && work->ids == NULL) {
        const int numbered = number_entries(work);
        if (numbered != 1) {
            return numbered;
        }
    }
    const bool counts_only = work->reduction->of == PS_FOLD_ONES;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts;
    const bool weighs = work->reduction->divides && work->weights != NULL;
    const bool counts = counts_only || (work->reduction->divides && !weighs) ||
                        work->fills || work->returns_counts || was_masked;
    npy_intp shape[PS_MAX_DIMS + 1];
    if (ps_result_shape(work, true, shape) < 0 ||
        (work->ids == NULL && open_runs(work) < 0)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int done = fold_all(work);
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
    if (done == 1 && work->reduction->spreads) {
        done = sum_squares(work);
    }
    return done == 1 && finish(work, false) < 0 ? -1 : done;
}
