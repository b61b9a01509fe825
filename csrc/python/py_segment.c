/* The binding of segment_reduce and its names.
 *
 * A call becomes a layout (which axes of the values are batches, entries, rows), an
 * addressing (ids, whose fold is a scatter into fresh memory, or runs, whose fold is
 * the segment op), types, and one finishing pass: means, empty segments, casts.
 * Whatever a call asks beyond that, and whatever is wrong with one, is left to a
 * helper, which has a way for every option and words for every mistake. So each step
 * here answers 1, done, 0, for the helper, or -1, an exception is set. The file is long
 * because these steps share the call on its way, and read best in order.
 */
#include "python/py_segment.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/numbers.h"
#include "python/py_plan.h"
#include "python/reduce.h"
#include "python/request.h"
#include "python/values.h"

/* Slots in the order of the signature, but for `op`, which names do not have. */
enum slot {
    VALUES,
    IDS,
    NUM_SEGMENTS,
    OFFSETS,
    STARTS,
    STOPS,
    LENGTHS,
    GATHER,
    WEIGHTS,
    AXIS,
    BATCH_DIMS,
    Q,
    DDOF,
    INITIAL,
    FILL_VALUE,
    WHERE,
    SKIPNA,
    MODE,
    RETURN_ARG,
    RETURN_COUNTS,
    ASSUME_SORTED,
    DTYPE,
    COMPENSATED,
    OUT,
    OP,
    N_SLOTS
};

#define SLOT_NAMES                                                                   \
    PS_NAME_values, PS_NAME_ids, PS_NAME_num_segments, PS_NAME_offsets,              \
            PS_NAME_starts, PS_NAME_stops, PS_NAME_lengths, PS_NAME_gather,          \
            PS_NAME_weights, PS_NAME_axis, PS_NAME_batch_dims, PS_NAME_q,            \
            PS_NAME_ddof, PS_NAME_initial, PS_NAME_fill_value, PS_NAME_where,        \
            PS_NAME_skipna, PS_NAME_mode, PS_NAME_return_arg, PS_NAME_return_counts, \
            PS_NAME_assume_sorted, PS_NAME_dtype, PS_NAME_compensated, PS_NAME_out,  \
            PS_NAME_op

static const ps_signature signature = {"segment_reduce", N_SLOTS, 3, 1, {SLOT_NAMES}};

/* A call on its way; its arguments are replaced by the arrays that they become. */
typedef struct {
    PyObject **slot;
    PyObject *held[N_SLOTS]; /* owned: arrays that stand in slots, or NULL */
    const char *name;        /* of the op, of functions that are named after theirs */
    ps_reduce reduce;
} segment_work;

static void
begin_work(segment_work *work, PyObject *module, PyObject **slot)
{
    ps_begin_reduce(&work->reduce, ps_get_state(module));
    memset(work->held, 0, sizeof(work->held));
    work->slot = slot;
    work->name = NULL;
}

static void
close_work(segment_work *work)
{
    ps_close_reduce(&work->reduce);
    for (int i = 0; i < N_SLOTS; i++) {
        Py_XDECREF(work->held[i]);
    }
}

/* Put what an argument has become in its place, so that nothing is converted twice. */
static void
put(segment_work *work, enum slot slot, PyArrayObject *array)
{
    work->held[slot] = Py_NewRef((PyObject *)array);
    work->slot[slot] = (PyObject *)array;
}

static bool
is_given(const segment_work *work, enum slot slot)
{
    return work->slot[slot] != NULL && work->slot[slot] != Py_None;
}

/* Of an option that is True or False. */
static bool
is_on(const segment_work *work, enum slot slot)
{
    return work->slot[slot] != NULL && work->slot[slot] != Py_False;
}

/* ---- what the call asks ---- */

/* Options whose way is the helper's. */
static bool
has_other_options(const segment_work *work)
{
    const ps_reduction *const reduction = work->reduce.reduction;
    const bool has_places = reduction->of == PS_FOLD_VALUES &&
                            (reduction->fold == PS_min || reduction->fold == PS_max ||
                             reduction->fold == PS_fmin || reduction->fold == PS_fmax);
    return is_given(work, Q) || (work->slot[DDOF] != NULL && !reduction->spreads) ||
           (is_on(work, RETURN_ARG) && (!has_places || is_given(work, INITIAL)));
}

/* Are segments said in exactly one way? */
static bool
has_one_addressing(const segment_work *work)
{
    const bool by_ranges = is_given(work, STARTS) && is_given(work, STOPS);
    const int ways = is_given(work, IDS) + is_given(work, OFFSETS) +
                     is_given(work, LENGTHS) +
                     (is_given(work, STARTS) || is_given(work, STOPS));
    return ways == 1 && (by_ranges || !is_given(work, STARTS)) &&
           (by_ranges || !is_given(work, STOPS));
}

/* Does the call count ids, for which it needs no values? */
static bool
counts_ids(const segment_work *work)
{
    return work->reduce.reduction->of == PS_FOLD_ONES && is_given(work, IDS) &&
           !is_given(work, GATHER) && !is_on(work, SKIPNA);
}

static int
take_options(segment_work *work)
{
    PyObject *const *const slot = work->slot;
    ps_reduce *const reduce = &work->reduce;
    const ps_reduction *const reduction = reduce->reduction;
    if (reduction == NULL || has_other_options(work) || !has_one_addressing(work) ||
        (!is_given(work, VALUES) && !counts_ids(work))) {
        return 0;
    }
    if (ps_to_mode(slot[MODE], false, &reduce->mode) < 0 ||
        ps_to_bool(slot[RETURN_ARG], "return_arg", &reduce->wants_places) < 0 ||
        ps_to_bool(slot[SKIPNA], "skipna", &reduce->skips_missing) < 0 ||
        ps_to_bool(slot[RETURN_COUNTS], "return_counts", &reduce->returns_counts) < 0 ||
        ps_to_bool(slot[COMPENSATED], "compensated", &reduce->compensated) < 0) {
        return -1;
    }
    if (reduce->mode == PS_MODE_RAISE) {
        reduce->mode = PS_MODE_IDS;
    }
    reduce->starts = is_given(work, INITIAL);
    reduce->fills = is_given(work, FILL_VALUE);
    const bool is_sum = reduction->fold == PS_add && reduction->of == PS_FOLD_VALUES &&
                        !reduction->spreads;
    const bool lacks_initial = reduction->divides || reduction->of == PS_FOLD_ONES ||
                               reduction->of == PS_FOLD_PLACES;
    return !(is_on(work, ASSUME_SORTED) && !is_given(work, IDS)) &&
           !(reduce->starts && (reduce->fills || lacks_initial)) &&
           !(reduce->compensated && (!is_sum || is_given(work, STARTS))) &&
           !(is_given(work, WEIGHTS) && (!is_sum || reduce->compensated));
}

/* ---- arguments to arrays ---- */

/* Arrays of integers stand in the slots in place of what they were made of. */
static int
take_index(segment_work *work, enum slot slot, const char *name, PyArrayObject **index)
{
    if (!is_given(work, slot)) {
        return 1;
    }
    *index = ps_as_index(work->reduce.state, work->slot[slot], name);
    if (*index == NULL) {
        return -1;
    }
    put(work, slot, *index);
    return 1;
}

/* A negative number in a plan that counted it from the end is out of bounds as an id:
 * the error of the plain call, as far as the plan remembers it. */
static int
refuse_negative(const segment_work *work, const ps_plan *plan)
{
    const int64_t at = plan->first_negative;
    if (at < 0) {
        return 0;
    }
    const int64_t row = plan->is_wide ? ((const int64_t *)plan->row)[at]
                                      : ((const int32_t *)plan->row)[at];
    const ps_status status = {.code = PS_INDEX_BAD,
                              .value = row - plan->size,
                              .size = plan->size,
                              .position = at,
                              .total = plan->n};
    return ps_raise(work->reduce.state, status, "ids");
}

/* A plan's rows as ids; what it is not good for, the helper says. */
static int
take_plan(segment_work *work, const ps_plan *plan)
{
    ps_reduce *const reduce = &work->reduce;
    const bool names_other = is_given(work, MODE) && reduce->mode != PS_MODE_IDS &&
                             reduce->mode != plan->mode;
    if (names_other || (is_on(work, ASSUME_SORTED) && !plan->is_sorted)) {
        return 0;
    }
    if (plan->has_negative && plan->mode == PS_MODE_RAISE) {
        return refuse_negative(work, plan);
    }
    reduce->plan = work->slot[IDS];
    reduce->mode = plan->n_kept < plan->n ? PS_MODE_DROP : PS_MODE_IDS;
    reduce->ids = ps_plan_rows(work->slot[IDS]);
    return reduce->ids != NULL ? 1 : -1;
}

static int
take_ids(segment_work *work)
{
    const ps_plan *const plan = ps_plan_of(work->reduce.state, work->slot[IDS]);
    return plan != NULL ? take_plan(work, plan)
                        : take_index(work, IDS, "ids", &work->reduce.ids);
}

static int
take_limits(segment_work *work, enum slot slot, const char *name,
            PyArrayObject **limits)
{
    if (!is_given(work, slot)) {
        return 1;
    }
    const int taken =
            ps_take_limits(work->reduce.state, work->slot[slot], name, limits);
    if (taken == 1) {
        put(work, slot, *limits);
    }
    return taken;
}

/* where= as bools, and weights= as an array: weak numbers are the helper's. */
static int
take_companions(segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    if (is_given(work, WHERE)) {
        reduce->mask = ps_as_mask(reduce->state, work->slot[WHERE], "where");
        if (reduce->mask == NULL) {
            return -1;
        }
        put(work, WHERE, reduce->mask);
    }
    if (is_given(work, WEIGHTS)) {
        if (ps_is_python_number(work->slot[WEIGHTS])) {
            return 0;
        }
        reduce->weights = ps_as_array(reduce->state, work->slot[WEIGHTS], "weights");
        if (reduce->weights == NULL) {
            return -1;
        }
        put(work, WEIGHTS, reduce->weights);
    }
    return 1;
}

static int
take_arrays(segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_runs *const runs = &reduce->runs;
    if (is_given(work, VALUES)) {
        reduce->values = ps_as_array(reduce->state, work->slot[VALUES], "values");
        if (reduce->values == NULL) {
            return -1;
        }
        put(work, VALUES, reduce->values);
    }
    int taken = take_ids(work);
    if (taken == 1 && reduce->values == NULL) { /* ids stand in for what they count */
        reduce->values = (PyArrayObject *)Py_NewRef((PyObject *)reduce->ids);
    }
    if (taken == 1) {
        taken = take_index(work, GATHER, "gather", &reduce->gather);
    }
    if (taken == 1) {
        taken = take_limits(work, OFFSETS, "offsets", &runs->starts);
    }
    if (taken == 1) {
        taken = take_limits(work, STARTS, "starts", &runs->starts);
    }
    if (taken == 1) {
        taken = take_limits(work, STOPS, "stops", &runs->stops);
    }
    if (taken == 1) { /* kept in `stops`, from which offsets are made later */
        taken = take_limits(work, LENGTHS, "lengths", &runs->stops);
    }
    return taken == 1 ? take_companions(work) : taken;
}

/* ddof=: any real number. */
static int
take_freedom(segment_work *work)
{
    PyObject *const given = work->slot[DDOF];
    if (given == NULL) {
        return 1;
    }
    if (!PyLong_Check(given) && !PyFloat_Check(given) &&
        !PyArray_IsScalar(given, Integer) && !PyArray_IsScalar(given, Floating)) {
        return 0;
    }
    work->reduce.ddof = PyFloat_AsDouble(given);
    return work->reduce.ddof == -1 && PyErr_Occurred() ? -1 : 1;
}

/* The numbers among the arguments: the last that may run Python code. */
static int
take_numbers(segment_work *work)
{
    PyObject *const axis = work->slot[AXIS];
    ps_reduce *const reduce = &work->reduce;
    if (ps_to_int(work->slot[BATCH_DIMS], "batch_dims", &reduce->batch_dims) < 0) {
        return -1;
    }
    reduce->axis = reduce->batch_dims;
    if (axis != Py_None && axis != Py_Ellipsis &&
        ps_to_int(axis, "axis", &reduce->axis) < 0) {
        return -1;
    }
    reduce->size = -1;
    return is_given(work, NUM_SEGMENTS) && ps_to_size(work->slot[NUM_SEGMENTS],
                                                      "num_segments", &reduce->size) < 0
                   ? -1
                   : take_freedom(work);
}

/* ---- which axes ---- */

/* axis=None: everything in C order. */
static int
flatten(segment_work *work)
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
static int
place_axes(segment_work *work)
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
leave_out_missing(segment_work *work)
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
    Py_XSETREF(reduce->mask, (PyArrayObject *)mask);
    reduce->is_fine = true;
    return 1;
}

/* where=: one bool for each entry, or for each element; and skipna=. */
static int
place_mask(segment_work *work)
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
         (reduce->gather != NULL && (reduce->ids != NULL || reduce->skips_missing)))) {
        return 0;
    }
    return reduce->skips_missing ? leave_out_missing(work) : 1;
}

/* One weight of the type of sums for each entry, side by side. */
static int
place_weights(segment_work *work)
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
    if (status == 1 && PyArray_CopyInto(whole, reduce->weights) < 0) {
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
check_order(const segment_work *work)
{
    const ps_reduce *const reduce = &work->reduce;
    if (!is_on(work, ASSUME_SORTED) || reduce->plan != NULL) {
        return 1;
    }
    return ps_are_sorted(reduce->ids, reduce->batch_dims);
}

/* A plan knows how many segments there are. */
static int
size_from_plan(segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const ps_plan *const plan = ps_plan_of(reduce->state, reduce->plan);
    const bool fits = reduce->size < 0 || reduce->size == plan->size;
    reduce->size = plan->size;
    return fits;
}

/* By ids: what is named is within bounds even where all elements are left out. */
static int
place_ids(segment_work *work)
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
    if (runs->starts == NULL || PyArray_DIM(runs->starts, 0) == 0) {
        return PyErr_Occurred() ? -1 : 0;
    }
    runs->are_offsets = true;
    runs->n_segments = PyArray_DIM(runs->starts, 0) - 1;
    return ps_read_limit(runs->starts, 0, &first) && first == 0 &&
           ps_read_limit(runs->starts, runs->n_segments, &last) && last == n_entries;
}

static int
place_runs(segment_work *work)
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

static int
place_segments(segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const int placed = reduce->ids != NULL ? place_ids(work) : place_runs(work);
    return placed == 1 && reduce->gather != NULL ? check_gather(reduce) : placed;
}

/* ---- types and scalars ---- */

/* initial= or fill_value= as an item of `type`; times go through NumPy's own rules. */
static int
take_scalar(const segment_work *work, PyObject *object, PyArray_Descr *descr,
            enum ps_dtype type, char *item)
{
    ps_incoming incoming = {NULL};
    int taken = type != PS_t64 && type != PS_f80;
    if (taken && ps_take_values(work->reduce.state, object, descr, type,
                                NPY_SAME_KIND_CASTING, &incoming) < 0) {
        const bool is_known = PyErr_ExceptionMatches(PyExc_TypeError) ||
                              PyErr_ExceptionMatches(PyExc_OverflowError);
        taken = is_known ? 0 : -1;
        if (is_known) { /* in words of its own */
            PyErr_Clear();
        }
    }
    if (taken == 1 && incoming.array != NULL && PyArray_NDIM(incoming.array) != 0) {
        taken = 0;
    }
    if (taken == 1) {
        const ps_values *const view = &incoming.view;
        ps_convert(type, item, view->dtype, view->itemsize, view->swapped, view->data,
                   0, 1);
    }
    ps_close_values(&incoming);
    return taken;
}

/* The dtype that a call computes from: that of the values, or of their products. */
static PyArray_Descr *
given_descr(const ps_reduce *reduce)
{
    PyArray_Descr *both[2] = {PyArray_DESCR(reduce->values), NULL};
    if (reduce->weights == NULL) {
        return (PyArray_Descr *)Py_NewRef((PyObject *)both[0]);
    }
    both[1] = PyArray_DESCR(reduce->weights);
    return PyArray_ResultType(0, NULL, 2, both);
}

/* Truth is asked of the values first of all. */
static int
take_truth(ps_reduce *reduce, enum ps_dtype *given)
{
    if (reduce->reduction->of != PS_FOLD_TRUTH || *given == PS_b1) {
        return 0;
    }
    if (reduce->skips_missing) { /* NaN is true, but missing */
        return 1;
    }
    *given = PS_b1;
    Py_SETREF(reduce->values,
              ps_cast_of(reduce->values, PyArray_DescrFromType(NPY_BOOL)));
    return reduce->values != NULL ? 0 : -1;
}

/* Are these weights numbers? */
static bool
has_numbers_for_weights(const ps_reduce *reduce)
{
    const enum ps_dtype type =
            reduce->weights != NULL
                    ? ps_dtype_of(reduce->state, PyArray_DESCR(reduce->weights))
                    : PS_f64;
    return type != PS_raw && type != PS_t64;
}

static int
take_types(segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_fold_types *const types = &reduce->types;
    enum ps_dtype given;
    if (ps_storage_of(reduce->state, reduce->values, &given) != PS_STORED_NUMBERS ||
        !has_numbers_for_weights(reduce)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    const int truth = take_truth(reduce, &given);
    if (truth != 0) {
        return truth < 0 ? -1 : 0;
    }
    PyArray_Descr *const descr = given_descr(reduce);
    if (descr == NULL) {
        const bool have_no_type = PyErr_ExceptionMatches(PyExc_TypeError);
        if (have_no_type) {
            PyErr_Clear();
        }
        return have_no_type ? 0 : -1;
    }
    int found = ps_find_types(reduce->state, reduce->reduction, descr,
                              work->slot[DTYPE], types);
    Py_DECREF(descr);
    const bool skips = reduce->mask != NULL || reduce->skips_missing;
    const bool has_no_neutral = reduce->reduction->of == PS_FOLD_ENDS ||
                                (reduce->reduction->fold == PS_mul &&
                                 ps_dtype_kind[types->sum_type] == PS_KIND_COMPLEX);
    if (found == 1 && reduce->reduction->of != PS_FOLD_PLACES &&
        !ps_can_convert(types->sum_type, types->result_type)) {
        found = 0;
    }
    if (found == 1 && reduce->ids == NULL && skips && has_no_neutral) {
        found = 0; /* runs skip nothing: what is left out holds the neutral value */
    }
    if (found == 1 && (is_given(work, DTYPE) || reduce->weights != NULL) &&
        !ps_can_convert(given, types->sum_type)) {
        found = 0; /* NumPy's cast would warn, which a reduction never does */
    }
    if (found == 1 && reduce->starts) {
        found = take_scalar(work, work->slot[INITIAL], types->sum, types->sum_type,
                            reduce->start);
    }
    if (found == 1 && reduce->fills) {
        found = take_scalar(work, work->slot[FILL_VALUE], types->result,
                            types->result_type, reduce->fill);
    }
    return found;
}

/* ---- the call ---- */

/* A result, places and counts, as they are asked for: it, or a tuple. */
static PyObject *
with_company(const ps_reduce *reduce, PyObject *result, PyObject *places)
{
    PyObject *const counts = (PyObject *)reduce->counts;
    if (reduce->wants_places) {
        return reduce->returns_counts ? PyTuple_Pack(3, result, places, counts)
                                      : PyTuple_Pack(2, result, places);
    }
    return reduce->returns_counts ? PyTuple_Pack(2, result, counts) : Py_NewRef(result);
}

/* Is out= a plain array of the result's own kind? */
static bool
can_copy_into(PyObject *out, PyArrayObject *result)
{
    return out != NULL && PyArray_CheckExact(out) &&
           PyArray_SAMESHAPE((PyArrayObject *)out, result) &&
           PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)out),
                              PyArray_DESCR(result));
}

/* out=, or the result, and counts where they are asked for. */
static PyObject *
deliver(segment_work *work)
{
    PyObject *result = (PyObject *)work->reduce.sums, *const out = work->slot[OUT];
    if (can_copy_into(out, work->reduce.sums)) {
        if (ps_require_writeable((PyArrayObject *)out) < 0 ||
            ps_copy_into((PyArrayObject *)out, work->reduce.sums, false) < 0) {
            return NULL;
        }
        result = out;
    }
    else if (out != NULL && out != Py_None) {
        PyObject *const write = ps_get_helper(work->reduce.state, PS_HELPER_write_out);
        result = write != NULL
                         ? PyObject_CallFunction(write, "O(O)O", out, result, Py_False)
                         : NULL;
        if (result == NULL) {
            return NULL;
        }
        Py_DECREF(result);
        result = out;
    }
    return with_company(&work->reduce, result, (PyObject *)work->reduce.places);
}

/* The arguments that were given, for a helper that knows all of them. */
static PyObject *
reduce_in_python(const segment_work *work)
{
    PyObject *const helper =
            ps_get_helper(work->reduce.state, PS_HELPER_reduce_in_python);
    PyObject *const given = helper != NULL ? PyDict_New() : NULL;
    PyObject *const none = given != NULL ? PyTuple_New(0) : NULL;
    PyObject *const op = none != NULL && work->name != NULL
                                 ? PyUnicode_FromString(work->name)
                                 : NULL;
    work->slot[OP] = op != NULL ? op : work->slot[OP];
    int status = none != NULL && !PyErr_Occurred() ? 0 : -1;
    for (int i = 0; i < N_SLOTS && status == 0; i++) {
        if (work->slot[i] != NULL) {
            status = PyDict_SetItem(given, work->reduce.state->name[signature.names[i]],
                                    work->slot[i]);
        }
    }
    PyObject *const result = status == 0 ? PyObject_Call(helper, none, given) : NULL;
    Py_XDECREF(op);
    Py_XDECREF(given);
    Py_XDECREF(none);
    return result;
}

/* The steps in order; the first that does not answer 1 says how it ends. Whatever may
 * run Python code comes before a shape is looked at. */
static int
run_steps(segment_work *work)
{
    static int (*const steps[])(segment_work *) = {
            take_options, take_arrays, take_types,    take_numbers,
            place_axes,   place_mask,  place_weights, place_segments};
    int done = 1;
    for (size_t i = 0; done == 1 && i < sizeof(steps) / sizeof(steps[0]); i++) {
        done = steps[i](work);
    }
    return done == 1 ? ps_run_reduce(&work->reduce) : done;
}

static PyObject *
segment_reduce(PyObject *module, PyObject **slot, const char *name)
{
    segment_work work;
    begin_work(&work, module, slot);
    work.name = name;
    work.reduce.reduction = name != NULL
                                    ? ps_reduction_named(name)
                                    : ps_find_reduction(work.reduce.state, slot[OP]);
    const int done = run_steps(&work);
    PyObject *const result = done == 1   ? deliver(&work)
                             : done == 0 ? reduce_in_python(&work)
                                         : NULL;
    close_work(&work);
    return result;
}

/* ---- several ops ---- */

/* Put the results of a call for each op, in `all`, together; counts come with the
 * first. */
static PyObject *
join_results(segment_work *all, Py_ssize_t n)
{
    PyObject *results = PyTuple_New(n), *const out = all[0].slot[OUT];
    PyObject *const places = results != NULL ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; places != NULL && i < n; i++) {
        PyObject *const place = (PyObject *)all[i].reduce.places;
        PyTuple_SET_ITEM(results, i, Py_NewRef((PyObject *)all[i].reduce.sums));
        PyTuple_SET_ITEM(places, i, Py_NewRef(place != NULL ? place : Py_None));
    }
    if (places != NULL && out != NULL && out != Py_None) {
        PyObject *const write = ps_get_helper(all[0].reduce.state, PS_HELPER_write_out);
        Py_SETREF(results, write != NULL ? PyObject_CallFunctionObjArgs(
                                                   write, out, results, Py_True, NULL)
                                         : NULL);
    }
    PyObject *const all_of_it = places != NULL && results != NULL
                                        ? with_company(&all[0].reduce, results, places)
                                        : NULL;
    Py_XDECREF(results);
    Py_XDECREF(places);
    return all_of_it;
}

/* One call after the other on the same arrays: slots hold those that the first call has
 * made of its arguments, which lives as long as the others. */
static PyObject *
reduce_by_all(PyObject *module, PyObject **slot, PyObject *ops)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(ops);
    segment_work *const all = PyMem_Malloc((size_t)n * sizeof(segment_work));
    PyObject *result = NULL;
    Py_ssize_t made = 0;
    int done = 1;
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    for (; made < n && done == 1; made++) { /* before any of them is computed */
        segment_work *const work = &all[made];
        begin_work(work, module, slot);
        work->reduce.reduction =
                ps_find_reduction(work->reduce.state, PyTuple_GET_ITEM(ops, made));
        done = take_options(work);
    }
    for (Py_ssize_t i = 0; i < n && done == 1; i++) {
        done = run_steps(&all[i]);
    }
    if (done == 1) {
        result = join_results(all, n);
    }
    else if (done == 0) {
        result = reduce_in_python(&all[0]);
    }
    for (Py_ssize_t i = 0; i < made; i++) {
        close_work(&all[i]);
    }
    PyMem_Free(all);
    return result;
}

PyObject *
ps_py_segment_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *keywords)
{
    PyObject *slot[PS_NUM_NAMES];
    if (ps_parse(ps_get_state(module), &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    PyObject *const op = slot[OP];
    return op != NULL && PyTuple_Check(op) && PyTuple_GET_SIZE(op) > 0
                   ? reduce_by_all(module, slot, op)
                   : segment_reduce(module, slot, NULL);
}

#define DEFINE_SEGMENT_NAME(name, op)                                                  \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords)                                         \
    {                                                                                  \
        static const ps_signature own = {#name, N_SLOTS - 1, 3, 1, {SLOT_NAMES}};      \
        PyObject *slot[PS_NUM_NAMES];                                                  \
        if (ps_parse(ps_get_state(module), &own, args, n_args, keywords, slot) < 0) {  \
            return NULL;                                                               \
        }                                                                              \
        return segment_reduce(module, slot, op);                                       \
    }
PS_FOR_EACH_SEGMENT_NAME(DEFINE_SEGMENT_NAME)
