/* A segment call whose form is known (contract in reduce.h).
 *
 * By ids, a fold is a scatter into fresh memory: the axis form, or the along form where
 * entries are chosen element by element. By runs it is the segment op. Counts are folds
 * of ones, or of a mask; whether a segment is empty is asked of them alone. One pass
 * over the sums makes means, fills what is empty and casts (outcome.c).
 *
 * Several ops on the same entries are a call for each, which takes counts, and sums as
 * the fold leaves them, from one before it: they would come out the same.
 */
#include "python/reduce.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/outcome.h"
#include "python/quantile.h"
#include "python/softmax.h"
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
    Py_XDECREF(work->plain);
    Py_XDECREF(work->sums);
    Py_XDECREF(work->counts);
    Py_XDECREF(work->weight_sums);
    Py_XDECREF(work->places);
    Py_XDECREF(work->levels);
    Py_XDECREF(work->entry);
    PyMem_Free(work->offsets);
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
    if (work->weights != NULL && !work->are_weighed) {
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
    return ps_take_rows(work->state, runs, work->values, work->types.sum) < 0 ||
                           ps_open_runs(work->state, runs) < 0
                   ? -1
                   : ps_run_runs(work->state, runs, target);
}

/* Sums over the runs of something else than the values: of rows along `axis` of
 * `array`, under `mask` or NULL, as elements of `descr`. 0 or -1. */
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
    const int status = ps_open_runs(work->state, &runs) == 0
                               ? ps_run_runs(work->state, &runs, sums)
                               : -1;
    Py_XDECREF((PyObject *)runs.values);
    return status;
}

static int
count_entries(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyObject *const one = PyLong_FromLong(1);
    int status = -1;
    if (work->ids != NULL) {
        work->counts = one != NULL
                               ? ps_sum_by_ids(work, wide, one, work->is_fine, false)
                               : NULL;
        status = work->counts != NULL ? 0 : -1;
    }
    else if ((work->counts = ps_new_filled(work, work->is_fine, wide, NULL)) != NULL) {
        status = work->mask == NULL ? ps_measure_runs(work->state, &work->runs,
                                                      ps_entries_of_runs(work),
                                                      PyArray_DATA(work->counts))
                                    : sum_by_runs(work, work->runs.mask,
                                                  work->is_fine ? work->axis : 0, NULL,
                                                  work->counts);
    }
    Py_DECREF(wide);
    Py_XDECREF(one);
    return status;
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
    const int status = rows != NULL && whole != NULL
                               ? sum_by_runs(work, rows, 0, work->runs.mask, whole)
                               : -1;
    if (status == 0 && has_wide_rows) {
        npy_intp steps[1] = {2 * PyArray_ITEMSIZE(whole)};
        PyArrayObject *const column = ps_view_with(whole, 1, sums, steps);
        work->weight_sums = column != NULL ? ps_copy_of(column, NPY_CORDER) : NULL;
        Py_XDECREF((PyObject *)column);
    }
    else if (status == 0) {
        work->weight_sums = (PyArrayObject *)Py_NewRef((PyObject *)whole);
    }
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)whole);
    return work->weight_sums != NULL ? 0 : -1;
}

/* Weights beside every element, where elements are chosen one by one; a view. */
static PyArrayObject *
spread_weights(const ps_reduce *work)
{
    npy_intp strides[PS_MAX_DIMS] = {0};
    PyArrayObject *const weights = work->weights;
    for (int i = 0; i < work->batch_dims; i++) {
        strides[i] = PyArray_STRIDE(weights, i);
    }
    strides[work->axis] = PyArray_STRIDE(weights, work->batch_dims);
    return ps_view_with(weights, PyArray_NDIM(work->values), PyArray_DIMS(work->mask),
                        strides);
}

static int
sum_weights(ps_reduce *work)
{
    if (!work->is_fine && work->ids == NULL) {
        const int ndim = PyArray_NDIM(work->sums);
        int64_t width;
        ps_count(ndim - work->axis - 1,
                 (const int64_t *)PyArray_DIMS(work->sums) + work->axis + 1, &width);
        return sum_weights_of_runs(work, width != 1);
    }
    PyArrayObject *const weights =
            work->is_fine ? spread_weights(work)
                          : (PyArrayObject *)Py_NewRef((PyObject *)work->weights);
    int status = -1;
    if (weights != NULL && work->ids != NULL) {
        work->weight_sums = ps_sum_by_ids(work, work->types.sum, (PyObject *)weights,
                                          work->is_fine, work->compensated);
        status = work->weight_sums != NULL ? 0 : -1;
    }
    else if (weights != NULL) {
        work->weight_sums = ps_new_filled(work, true, work->types.sum, NULL);
        status = work->weight_sums != NULL
                         ? sum_by_runs(work, weights, work->axis, work->runs.mask,
                                       work->weight_sums)
                         : -1;
    }
    Py_XDECREF((PyObject *)weights);
    return status;
}

/* ---- what a call before has found ---- */

/* Is the result of this call laid out as that of the other? Numbers among the arguments
 * are asked anew for each op, and may answer differently; so may arrays of the caller
 * have other axes by then. `array` is of the other call. */
static bool
is_laid_out_as(const ps_reduce *work, const ps_reduce *before, bool has_rows,
               PyArrayObject *array)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, has_rows, shape);
    return before->axis == work->axis && before->batch_dims == work->batch_dims &&
           before->is_fine == work->is_fine && ndim == PyArray_NDIM(array) &&
           PyArray_CompareLists(PyArray_DIMS(array), shape, ndim);
}

/* Counts that only the pass over the sums has read: those that are a result themselves
 * belong to whoever has it, and empty segments may be filled there. */
static bool
take_counts(ps_reduce *work)
{
    const ps_reduce *before = work->before;
    const bool is_result = work->reduction->of == PS_FOLD_ONES;
    while (before != NULL &&
           (before->counts == NULL || before->reduction->of == PS_FOLD_ONES)) {
        before = before->before;
    }
    if (is_result || before == NULL ||
        !is_laid_out_as(work, before, work->is_fine, before->counts)) {
        return false;
    }
    work->counts = (PyArrayObject *)Py_NewRef((PyObject *)before->counts);
    return true;
}

bool
ps_adds_values(const ps_reduction *reduction)
{
    return reduction->of == PS_FOLD_VALUES && reduction->fold == PS_add;
}

/* Sums of the same values in the same type. */
static bool
take_sums(ps_reduce *work)
{
    ps_reduce *before = work->before;
    while (before != NULL && before->plain == NULL) {
        before = before->before;
    }
    if (before == NULL || !ps_adds_values(work->reduction) || work->starts ||
        before->compensated != work->compensated ||
        before->are_weighed != work->are_weighed ||
        !is_laid_out_as(work, before, true, before->plain) ||
        !PyArray_EquivTypes(PyArray_DESCR(before->plain), work->types.sum)) {
        return false;
    }
    work->sums = before->plain;
    before->plain = NULL;
    return true;
}

/* A copy for the next call: sums are divided where they are. */
static int
keep_sums(ps_reduce *work)
{
    if (work->is_followed && ps_adds_values(work->reduction) && !work->starts) {
        work->plain = ps_copy_of(work->sums, NPY_CORDER);
        return work->plain != NULL ? 0 : -1;
    }
    return 0;
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
    if (work->ids != NULL || work->starts) {
        work->sums = ps_new_filled(work, true, types->sum, is_zero ? NULL : item);
    }
    else {
        work->sums = ps_new_result(work, types->sum);
    }
    return work->sums == NULL  ? -1
           : work->ids != NULL ? ps_fold_values(work)
                               : fold_runs(work, work->sums);
}

/* Are two numbers the same, zeros told apart by their sign, and any two NaN? */
static bool
are_same(enum ps_dtype type, const char *one, const char *other)
{
    const int64_t size = ps_dtype_size[type];
    f64 number[2];
    if (memcmp(one, other, (size_t)(type == PS_f80 ? 10 : size)) == 0) {
        return true;
    }
    if (type == PS_f80) {
        return isnan(*(const f80 *)(const void *)one) &&
               isnan(*(const f80 *)(const void *)other);
    }
    if (ps_dtype_kind[type] != PS_KIND_FLOAT) {
        return false;
    }
    ps_convert(PS_f64, (char *)&number[0], type, size, false, one, size, 1);
    ps_convert(PS_f64, (char *)&number[1], type, size, false, other, size, 1);
    return isnan(number[0]) && isnan(number[1]);
}

/* Numbers of the entries that min and kin return: -1 where `initial` is what they do.
 */
static int
find_places(ps_reduce *work)
{
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyArrayObject *const best = ps_new_result(work, work->types.sum);
    work->places = ps_new_result(work, wide);
    Py_DECREF(wide);
    const int status = best != NULL && work->places != NULL
                               ? ps_visit(work, true, best, work->places, NULL)
                               : -1;
    Py_XDECREF((PyObject *)best);
    if (status < 0 || !work->starts) {
        return status;
    }
    int64_t *const place = PyArray_DATA(work->places);
    const enum ps_dtype type = work->types.sum_type;
    for (npy_intp i = 0; i < PyArray_SIZE(work->places); i++) {
        const char *const item = PyArray_BYTES(work->sums) + i * ps_dtype_size[type];
        if (are_same(type, item, work->start)) {
            place[i] = -1;
        }
    }
    return 0;
}

/* Sums to means, and squares about these in their place. */
static int
sum_squares(ps_reduce *work)
{
    const enum ps_dtype type = work->types.sum_type;
    if (ps_finish_sums(work, true) < 0) {
        return -1;
    }
    if (work->compensated || (type != PS_f32 && type != PS_f64)) {
        return ps_sum_distances(work);
    }
    PyArrayObject *const squares = ps_new_filled(work, true, work->types.sum, NULL);
    if (squares != NULL && PyArray_SIZE(squares) != PyArray_SIZE(work->sums)) {
        Py_DECREF((PyObject *)squares);
        return ps_raise_changed("values");
    }
    const int status =
            squares != NULL ? ps_visit(work, false, squares, NULL, work->sums) : -1;
    Py_XSETREF(work->sums, squares);
    return status;
}

/* What is folded, and what is found on the way. */
static int
fold_all(ps_reduce *work)
{
    const enum ps_folded of = work->reduction->of;
    switch (of) {
        case PS_FOLD_ONES:
            return 0;
        case PS_FOLD_ENDS:
            return ps_move_ends(work) < 0 ? -1
                   : work->wants_places   ? ps_find_ends(work)
                                          : 0;
        case PS_FOLD_ORDER:
            return ps_run_quantile(work);
        case PS_FOLD_POWERS:
            return ps_run_powers(work);
        default:
            break;
    }
    const bool folds = of != PS_FOLD_PLACES || work->starts;
    if (folds && ((!take_sums(work) && fold_values(work) < 0) || keep_sums(work) < 0)) {
        return -1;
    }
    if ((work->wants_places || of == PS_FOLD_PLACES) && find_places(work) < 0) {
        return -1;
    }
    if (of == PS_FOLD_PLACES) {
        Py_XSETREF(work->sums, (PyArrayObject *)Py_NewRef((PyObject *)work->places));
    }
    return 0;
}

int
ps_run_reduce(ps_reduce *work)
{
    const ps_reduction *const row = work->reduction;
    const bool lists_ends =
            row->of == PS_FOLD_ENDS && (work->mask != NULL || work->wants_places);
    if (work->ids == NULL && (work->compensated || lists_ends) &&
        ps_number_entries(work) < 0) {
        return -1;
    }
    const bool counts_only = row->of == PS_FOLD_ONES;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts;
    const bool weighs = row->divides && work->weights != NULL;
    const bool is_plain =
            work->types.sum_type == PS_f32 || work->types.sum_type == PS_f64;
    const bool counts = counts_only || (row->divides && !(weighs && is_plain)) ||
                        work->fills || work->returns_counts || was_masked;
    if ((work->ids == NULL && open_runs(work) < 0) || fold_all(work) < 0 ||
        (counts && !take_counts(work) && count_entries(work) < 0) ||
        (weighs && sum_weights(work) < 0)) {
        return -1;
    }
    if (counts_only) {
        Py_XSETREF(work->sums, ps_spread_counts(work, work->counts));
        if (work->sums == NULL) {
            return -1;
        }
    }
    return row->spreads && sum_squares(work) < 0 ? -1 : ps_finish_sums(work, false);
}
