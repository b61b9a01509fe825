/* Arguments of segment_reduce as they are given: options, arrays, types, numbers
 * (contract in segment_call.h). All that may run Python code is here, before a shape is
 * looked at. */
#include "python/segment_call.h"

#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/py_plan.h"
#include "python/request.h"
#include "python/values.h"

/* Put what an argument has become in its place, so that nothing is converted twice. */
static void
put(ps_segment_work *work, enum slot slot, PyArrayObject *array)
{
    work->held[slot] = Py_NewRef((PyObject *)array);
    work->slot[slot] = (PyObject *)array;
}

/* ---- what the call asks ---- */

/* Options whose way is the helper's. */
static bool
has_other_options(const ps_segment_work *work)
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
has_one_addressing(const ps_segment_work *work)
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
counts_ids(const ps_segment_work *work)
{
    return work->reduce.reduction->of == PS_FOLD_ONES && is_given(work, IDS) &&
           !is_given(work, GATHER) && !is_on(work, SKIPNA);
}

int
ps_take_segment_options(ps_segment_work *work)
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
take_index(ps_segment_work *work, enum slot slot, const char *name,
           PyArrayObject **index)
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
refuse_negative(const ps_segment_work *work, const ps_plan *plan)
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
take_plan(ps_segment_work *work, const ps_plan *plan)
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
take_ids(ps_segment_work *work)
{
    const ps_plan *const plan = ps_plan_of(work->reduce.state, work->slot[IDS]);
    return plan != NULL ? take_plan(work, plan)
                        : take_index(work, IDS, "ids", &work->reduce.ids);
}

static int
take_limits(ps_segment_work *work, enum slot slot, const char *name,
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
take_companions(ps_segment_work *work)
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

int
ps_take_segment_arrays(ps_segment_work *work)
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
take_freedom(ps_segment_work *work)
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
int
ps_take_segment_numbers(ps_segment_work *work)
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

/* ---- arrays that stay ---- */

/* Is it still an index, or limits of runs, after all code that arguments run? */
static bool
is_index(PyArrayObject *array, bool are_limits)
{
    return array == NULL ||
           (ps_index_type_of(array) >= 0 &&
            (!are_limits || (PyArray_NDIM(array) == 1 && !ps_is_swapped(array))));
}

/* Can no other code run until the call ends: no subclass is asked, and there is too
 * little to do to let go of the GIL? The tiny calls do without views, which cost as
 * much as all the rest of them. */
static bool
is_undisturbed(const ps_segment_work *work)
{
    enum {
        FEW_SEGMENTS = 1024
    };
    const ps_reduce *const reduce = &work->reduce;
    const ps_runs *const runs = &reduce->runs;
    PyArrayObject *const arrays[] = {reduce->values, reduce->ids, runs->starts,
                                     runs->stops, reduce->mask};
    int64_t nbytes = 0;
    bool are_plain = reduce->gather == NULL && reduce->weights == NULL;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        if (arrays[i] != NULL) {
            nbytes += PyArray_NBYTES(arrays[i]);
            are_plain = are_plain && PyArray_CheckExact((PyObject *)arrays[i]);
        }
    }
    const bool are_few =
            reduce->ids == NULL || (reduce->size >= 0 && reduce->size <= FEW_SEGMENTS);
    return are_plain && are_few && nbytes <= PS_UNDISTURBED_BYTES &&
           !reduce->skips_missing;
}

int
ps_settle_segment_arrays(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_runs *const runs = &reduce->runs;
    PyArrayObject **const arrays[] = {&reduce->values, &reduce->ids, &reduce->gather,
                                      &runs->starts,   &runs->stops, &reduce->mask,
                                      &reduce->weights};
    if (!is_index(reduce->ids, false) || !is_index(reduce->gather, false) ||
        !is_index(runs->starts, true) || !is_index(runs->stops, true)) {
        return ps_raise_changed(NULL);
    }
    const bool stay = is_undisturbed(work);
    for (size_t i = 0; !stay && i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        if (ps_hold_view(arrays[i]) < 0) {
            return -1;
        }
    }
    return 1;
}

/* ---- types and scalars ---- */

/* initial= or fill_value= as an item of `type`; times go through NumPy's own rules. */
static int
take_scalar(const ps_segment_work *work, PyObject *object, PyArray_Descr *descr,
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

/* Ticks of another unit are numbers of the same type that mean other times, and foreign
 * byte orders are NumPy's to cast: once, before rows are counted in them. 0 or -1. */
static int
cast_ticks(ps_reduce *reduce)
{
    PyArray_Descr *const descr = reduce->types.sum;
    if (PyArray_EquivTypes(PyArray_DESCR(reduce->values), descr)) {
        return 0;
    }
    Py_INCREF(descr);
    Py_SETREF(reduce->values, ps_cast_of(reduce->values, descr));
    return reduce->values != NULL ? 0 : -1;
}

int
ps_take_segment_types(ps_segment_work *work)
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
    if (found == 1 && types->sum_type == PS_t64 && cast_ticks(reduce) < 0) {
        return -1;
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
