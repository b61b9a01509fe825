/* Arguments of segment_reduce laid out: which axes are entries, which entries take
 * part, which segment has which (contract in segment_call.h). No Python code runs here
 * but in warnings and errors. */
#include "python/segment_call.h"

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/numbers.h"
#include "python/py_plan.h"

/* ---- which axes ---- */

/* axis=None: everything in C order. */
static int
flatten(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    reduce->n_own = 1;
    if (reduce->batch_dims != 0 || reduce->gather != NULL || reduce->mask != NULL ||
        reduce->plan != NULL) {
        return 0;
    }
    Py_SETREF(reduce->values, ps_flat_of(reduce->values));
    if (reduce->values != NULL && reduce->ids != NULL) {
        Py_SETREF(reduce->ids, (PyArrayObject *)PyArray_Ravel(reduce->ids, NPY_CORDER));
    }
    if (reduce->values == NULL || PyErr_Occurred()) {
        return -1;
    }
    return reduce->ids == NULL ||
           PyArray_DIM(reduce->ids, 0) == PyArray_DIM(reduce->values, 0);
}

/* Are axes [0, n) of one array axes [first, first + n) of another? */
static bool
has_axes(PyArrayObject *array, int at, PyArrayObject *other, int first, int n)
{
    return PyArray_NDIM(array) >= at + n && PyArray_NDIM(other) >= first + n &&
           PyArray_CompareLists(PyArray_DIMS(array) + at, PyArray_DIMS(other) + first,
                                n);
}

/* Where the entries lie: along as many axes of the values as ids have beside their
 * batches, or along the one that gather= or runs are of. */
int
ps_place_segment_axes(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    PyArrayObject *const ids = reduce->ids, *const gather = reduce->gather;
    if (work->slot[AXIS] == Py_None) {
        return flatten(work);
    }
    const int ndim = PyArray_NDIM(reduce->values), batch = reduce->batch_dims;
    const int own = ids != NULL && gather == NULL ? PyArray_NDIM(ids) - batch : 1;
    if (batch < 0 || batch > ndim || own < 0 || (batch > 0 && ids == NULL)) {
        return 0;
    }
    const int n_axes = ndim + (own == 0);
    reduce->n_own = own;
    reduce->axis += reduce->axis < 0 ? n_axes : 0;
    if (reduce->axis < batch || reduce->axis >= n_axes || reduce->axis + own > ndim) {
        return 0;
    }
    if (gather != NULL) {
        const int n = PyArray_NDIM(gather);
        return (ids == NULL
                        ? n == 1
                        : n == PyArray_NDIM(ids) && has_axes(ids, 0, gather, 0, n)) &&
               has_axes(gather, 0, reduce->values, 0, batch);
    }
    return ids == NULL || (has_axes(ids, 0, reduce->values, 0, batch) &&
                           has_axes(ids, batch, reduce->values, reduce->axis, own));
}

/* The shape of the entries, batches first. Its axes. */
static int
entry_shape(const ps_reduce *reduce, npy_intp *shape)
{
    PyArrayObject *const like = reduce->gather != NULL ? reduce->gather : reduce->ids;
    if (like != NULL) {
        const int n = PyArray_NDIM(like);
        memcpy(shape, PyArray_DIMS(like), (size_t)n * sizeof(npy_intp));
        return n;
    }
    shape[0] = PyArray_DIM(reduce->values, reduce->axis);
    return 1;
}

/* Does a mask of elements have the shape of the values, gathered? */
static bool
has_full_shape(const ps_reduce *reduce, PyArrayObject *mask)
{
    PyArrayObject *const values = reduce->values;
    bool fits = PyArray_NDIM(mask) == PyArray_NDIM(values);
    for (int i = 0; fits && i < PyArray_NDIM(mask); i++) {
        const npy_intp length = i == reduce->axis && reduce->gather != NULL
                                        ? PyArray_DIM(reduce->gather, 0)
                                        : PyArray_DIM(values, i);
        fits = PyArray_DIM(mask, i) == length;
    }
    return fits;
}

/* Elements that are missing are left out beside those that where= leaves out. */
static int
leave_out_missing(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    PyObject *const present = ps_get_helper(reduce->state, PS_HELPER_present);
    if (present == NULL) {
        return -1;
    }
    PyObject *const mask = PyObject_CallFunction(
            present, "OOii", (PyObject *)reduce->values,
            reduce->mask != NULL ? (PyObject *)reduce->mask : Py_None,
            reduce->is_fine ? -1 : reduce->batch_dims, reduce->axis);
    if (mask == NULL) {
        return -1;
    }
    if (!PyArray_Check(mask) || !PyArray_ISBOOL((PyArrayObject *)mask) ||
        !PyArray_SAMESHAPE((PyArrayObject *)mask, reduce->values)) {
        Py_DECREF(mask);
        return ps_raise_changed("values");
    }
    Py_XSETREF(reduce->mask, (PyArrayObject *)mask);
    reduce->is_fine = true;
    return 1;
}

/* where=: one bool for each entry, or for each element; and skipna=. */
int
ps_place_segment_mask(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    if (reduce->mask != NULL) {
        npy_intp shape[PS_MAX_DIMS];
        const int n = entry_shape(reduce, shape);
        reduce->is_fine = PyArray_NDIM(reduce->mask) != n ||
                          !PyArray_CompareLists(PyArray_DIMS(reduce->mask), shape, n);
        if (reduce->is_fine && !has_full_shape(reduce, reduce->mask)) {
            return 0;
        }
        if (!reduce->is_fine) {
            reduce->named = (PyArrayObject *)Py_NewRef((PyObject *)reduce->mask);
        }
    }
    const bool is_fine = reduce->is_fine || reduce->skips_missing;
    if (is_fine &&
        (reduce->n_own != 1 || work->slot[AXIS] == Py_None ||
         (reduce->gather != NULL &&
          (reduce->ids != NULL || reduce->skips_missing || reduce->compensated)))) {
        return 0;
    }
    return reduce->skips_missing ? leave_out_missing(work) : 1;
}

/* `weights` broadcast to `whole`, in its type. By the casts of kernels, which say
 * nothing of what overflows: a reduction does not warn. 0 or -1. */
static int
spread_weights(PyArrayObject *whole, enum ps_dtype to, PyArrayObject *weights,
               enum ps_dtype from)
{
    PyArray_Descr *const native =
            PyArray_DescrNewByteorder(PyArray_DESCR(weights), NPY_NATIVE);
    PyArrayObject *const own = native != NULL ? (PyArrayObject *)PyArray_Empty(
                                                        PyArray_NDIM(whole),
                                                        PyArray_DIMS(whole), native, 0)
                                              : NULL;
    const int status = own != NULL ? PyArray_CopyInto(own, weights) : -1;
    if (status == 0) {
        const int64_t size = PyArray_ITEMSIZE(own);
        ps_convert(to, PyArray_BYTES(whole), from, size, false, PyArray_BYTES(own),
                   size, PyArray_SIZE(own));
    }
    Py_XDECREF((PyObject *)own);
    return status;
}

/* One weight of the type of sums for each entry, side by side. */
int
ps_place_segment_weights(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    npy_intp shape[PS_MAX_DIMS];
    if (reduce->weights == NULL) {
        return 1;
    }
    const enum ps_dtype type =
            ps_dtype_of(reduce->state, PyArray_DESCR(reduce->weights));
    if (!ps_can_convert(type, reduce->types.sum_type) ||
        ps_kernels()->scale[reduce->types.sum_type] == NULL ||
        (reduce->ids != NULL && reduce->is_fine) ||
        (reduce->reduction->divides &&
         (reduce->is_fine || ps_dtype_kind[reduce->types.sum_type] != PS_KIND_FLOAT))) {
        return 0;
    }
    const int ndim = entry_shape(reduce, shape);
    PyArray_Descr *const descr = reduce->types.sum;
    Py_INCREF(descr);
    PyArrayObject *const whole = (PyArrayObject *)PyArray_Empty(ndim, shape, descr, 0);
    if (whole == NULL) {
        return -1;
    }
    int status = ps_broadcasts_to(reduce->weights, ndim, shape) ? 1 : 0;
    if (status == 1 &&
        spread_weights(whole, reduce->types.sum_type, reduce->weights, type) < 0) {
        status = -1;
    }
    Py_SETREF(reduce->weights, whole);
    return status;
}

/* ---- how many segments ---- */

/* The largest id and one, unless one alone asks for so much that it is hardly meant.
 * Ids of entries that the mask leaves out are not looked at. */
static int
size_from_ids(ps_reduce *reduce)
{
    const int64_t n = PyArray_SIZE(reduce->ids);
    const ps_status status =
            ps_top_of(reduce->state, reduce->ids, reduce->named, &reduce->size);
    if (status.code == PS_TOO_LARGE) {
        return 0;
    }
    return ps_raise(reduce->state, status, "ids") < 0
                   ? -1
                   : reduce->size <= (int64_t)1 << 27 || reduce->size / 64 <= n;
}

/* assume_sorted=, a promise. */
static int
check_order(const ps_segment_work *work)
{
    const ps_reduce *const reduce = &work->reduce;
    if (!is_on(work, ASSUME_SORTED) || reduce->plan != NULL) {
        return 1;
    }
    return ps_are_sorted(reduce->ids, reduce->batch_dims);
}

/* A plan knows how many segments there are. */
static int
size_from_plan(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const ps_plan *const plan = ps_plan_of(reduce->state, reduce->plan);
    const bool fits = reduce->size < 0 || reduce->size == plan->size;
    reduce->size = plan->size;
    return fits;
}

/* By ids: what is named is within bounds even where all elements are left out. */
static int
place_ids(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    int found = check_order(work);
    if (found == 1 && reduce->plan != NULL) {
        found = size_from_plan(work);
    }
    else if (found == 1 && reduce->size < 0) {
        found = size_from_ids(reduce);
    }
    const bool refuses = reduce->mode == PS_MODE_IDS ||
                         (reduce->size == 0 && reduce->mode != PS_MODE_DROP);
    if (found <= 0 || !reduce->is_fine || !refuses) {
        return found;
    }
    const ps_status status = ps_check_numbers(reduce->state, reduce->ids, reduce->named,
                                              PS_MODE_IDS, reduce->size);
    return ps_raise(reduce->state, status, "ids") < 0 ? -1 : 1;
}

/* Every row of gather= that takes part is there, also outside all ranges. Where there
 * is none for those that do not, the helper leaves them out. */
static int
check_gather(const ps_reduce *reduce)
{
    const bool has_rows = PyArray_DIM(reduce->values, reduce->axis) > 0;
    const ps_status status =
            ps_check_numbers(reduce->state, reduce->gather, reduce->named,
                             PS_MODE_RAISE, PyArray_DIM(reduce->values, reduce->axis));
    return ps_raise(reduce->state, status, "gather") < 0
                   ? -1
                   : has_rows || PyArray_SIZE(reduce->gather) == 0;
}

/* Offsets, whose ends are right; what lies between is checked in use. */
static int
place_offsets(ps_reduce *reduce, int64_t n_entries)
{
    ps_runs *const runs = &reduce->runs;
    int64_t first = -1, last = -1;
    if (runs->starts == NULL) {
        runs->starts = ps_offsets_of(runs->stops);
    }
    if (runs->starts == NULL || PyArray_SIZE(runs->starts) == 0) {
        return PyErr_Occurred() ? -1 : 0;
    }
    runs->are_offsets = true;
    runs->n_segments = PyArray_DIM(runs->starts, 0) - 1;
    return ps_read_limit(runs->starts, 0, &first) && first == 0 &&
           ps_read_limit(runs->starts, runs->n_segments, &last) && last == n_entries;
}

static int
place_runs(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_runs *const runs = &reduce->runs;
    npy_intp n_entries;
    int placed;
    entry_shape(reduce, &n_entries);
    if (is_given(work, STARTS)) {
        runs->n_segments = PyArray_DIM(runs->starts, 0);
        placed = PyArray_DIM(runs->stops, 0) == runs->n_segments;
    }
    else {
        placed = place_offsets(reduce, n_entries);
    }
    if (placed == 1 && reduce->size >= 0) {
        placed = reduce->size == runs->n_segments;
    }
    reduce->size = runs->n_segments;
    return placed;
}

int
ps_place_segments(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const int placed = reduce->ids != NULL ? place_ids(work) : place_runs(work);
    return placed == 1 && reduce->gather != NULL ? check_gather(reduce) : placed;
}
