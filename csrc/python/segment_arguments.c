/* Arguments of calls on segments as they are given: options, arrays, numbers
 * (contract in segment_call.h). All that may run Python code is here, before a shape is
 * looked at. */
#include "python/segment_call.h"

#include <string.h>

#include "ops/widths.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/limits.h"
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

/* Options that the op does not have. */
static int
check_options(const ps_segment_work *work)
{
    const ps_reduction *const row = work->reduce.reduction;
    const bool is_sum = row->fold == PS_add && row->of == PS_FOLD_VALUES;
    const bool has_initial = is_given(work, INITIAL),
               has_values = is_given(work, VALUES);
    const bool lacks_initial =
            row->divides || row->of == PS_FOLD_ONES || row->of == PS_FOLD_ORDER;
    const bool has_places = row->of == PS_FOLD_ENDS ||
                            (row->of == PS_FOLD_VALUES && ps_is_order(row->fold));
    const struct {
        bool is_wrong;
        PyObject *type;
        const char *words;
    } rules[] = {{is_given(work, WEIGHTS) && (!is_sum || row->spreads), PyExc_TypeError,
                  "weights= goes with add and mean, not '%s'"},
                 {work->reduce.compensated && !is_sum && row->of != PS_FOLD_POWERS,
                  PyExc_ValueError,
                  "compensated= goes with add, mean, var, std, logsumexp, not '%s'"},
                 {has_initial && lacks_initial, PyExc_TypeError,
                  "initial= has no meaning for '%s'"},
                 {has_initial && is_given(work, FILL_VALUE), PyExc_TypeError,
                  "initial= and fill_value= exclude each other"},
                 {work->reduce.wants_places && !has_places, PyExc_TypeError,
                  "return_arg= goes with min, max, fmin, fmax, first, last, not '%s'"},
                 {row->needs_levels && !is_given(work, Q), PyExc_TypeError,
                  "op='quantile' needs q=, numbers from 0 to 1"},
                 {!has_values && row->of != PS_FOLD_ONES, PyExc_TypeError,
                  "values is None, which goes with op='count' alone"},
                 {!has_values && is_given(work, GATHER), PyExc_TypeError,
                  "gather= needs values"}};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].is_wrong) {
            PyErr_Format(rules[i].type, rules[i].words, row->name);
            return -1;
        }
    }
    return 0;
}

/* The TypeError of segments that are not said in exactly one way. */
static int
refuse_addressing(const bool ways[4], bool has_starts)
{
    static const char *const names[] = {"ids", "offsets", "starts and stops",
                                        "lengths"};
    char found[64] = "";
    int n = 0;
    for (int i = 0; i < 4; i++) {
        if (ways[i]) {
            strcat(strcat(found, n++ > 0 ? " and " : ""), names[i]);
        }
    }
    if (n == 1) {
        PyErr_Format(PyExc_TypeError, "starts and stops go together; %s is missing",
                     has_starts ? "stops" : "starts");
        return -1;
    }
    PyErr_Format(
            PyExc_TypeError,
            "exactly one of ids, offsets, starts and stops, lengths is needed; got "
            "%s",
            n > 0 ? found : "none");
    return -1;
}

static int
check_addressing(const ps_segment_work *work)
{
    const bool has_starts = is_given(work, STARTS), has_stops = is_given(work, STOPS);
    const bool ways[] = {is_given(work, IDS), is_given(work, OFFSETS),
                         has_starts || has_stops, is_given(work, LENGTHS)};
    if (ways[0] + ways[1] + ways[2] + ways[3] != 1 || has_starts != has_stops) {
        return refuse_addressing(ways, has_starts);
    }
    if (!ways[0] && is_on(work, ASSUME_SORTED)) {
        PyErr_SetString(PyExc_TypeError, "assume_sorted goes with ids");
        return -1;
    }
    return 0;
}

int
ps_take_segment_options(ps_segment_work *work)
{
    PyObject *const *const slot = work->slot;
    ps_reduce *const reduce = &work->reduce;
    if (reduce->reduction == NULL || ps_to_mode(slot[MODE], false, &reduce->mode) < 0 ||
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
    const bool has_none = is_given(work, VALUES) && !reduce->starts &&
                          !reduce->compensated && !reduce->wants_places &&
                          !reduce->reduction->needs_levels && !is_given(work, WEIGHTS);
    if (!has_none && check_options(work) < 0) {
        return -1;
    }
    if (reduce->reduction->of == PS_FOLD_POWERS) { /* which lose nothing to speak of */
        reduce->compensated = false;
    }
    return check_addressing(work);
}

/* ---- arguments to arrays ---- */

/* An argument that became `array`, or NULL where there was an error, is that from here
 * on. */
static int
keep(ps_segment_work *work, enum slot slot, PyArrayObject *array, PyArrayObject **to)
{
    *to = array;
    if (array != NULL) {
        put(work, slot, array);
    }
    return array != NULL ? 0 : -1;
}

static int
take_index(ps_segment_work *work, enum slot slot, const char *name,
           PyArrayObject **index)
{
    return is_given(work, slot)
                   ? keep(work, slot,
                          ps_as_index(work->reduce.state, work->slot[slot], name),
                          index)
                   : 0;
}

/* A negative number in a plan that counted it from the end is out of bounds as an id:
 * the error of the plain call, as far as the plan remembers it. */
static int
refuse_negative(const ps_segment_work *work, const ps_plan *plan)
{
    const int64_t at = plan->first_negative;
    if (at < 0) {
        PyErr_SetString(PyExc_IndexError,
                        "the plan holds negative indices, which are no segment ids");
        return -1;
    }
    const int64_t row = ps_at(plan->is_wide, plan->row, at);
    const ps_status status = {.code = PS_INDEX_BAD,
                              .value = row - plan->size,
                              .size = plan->size,
                              .position = at,
                              .total = plan->n};
    return ps_raise(work->reduce.state, status, "ids");
}

/* A plan's rows as ids. */
static int
take_plan(ps_segment_work *work, const ps_plan *plan)
{
    ps_reduce *const reduce = &work->reduce;
    if (reduce->mode != PS_MODE_IDS && reduce->mode != plan->mode) {
        PyErr_Format(PyExc_ValueError, "the plan has mode '%s', the call '%s'",
                     ps_mode_name(plan->mode), ps_mode_name(reduce->mode));
        return -1;
    }
    if (is_on(work, ASSUME_SORTED) && !plan->is_sorted) {
        PyErr_SetString(PyExc_ValueError,
                        "assume_sorted: the plan's ids are not sorted");
        return -1;
    }
    if (plan->has_negative && plan->mode == PS_MODE_RAISE) {
        return refuse_negative(work, plan);
    }
    reduce->plan = work->slot[IDS];
    reduce->mode = plan->n_kept < plan->n ? PS_MODE_DROP : PS_MODE_IDS;
    reduce->ids = ps_plan_rows(work->slot[IDS]);
    return reduce->ids != NULL ? 0 : -1;
}

static int
take_ids(ps_segment_work *work)
{
    const ps_plan *const plan =
            is_given(work, IDS) ? ps_plan_of(work->reduce.state, work->slot[IDS])
                                : NULL;
    return plan != NULL ? take_plan(work, plan)
                        : take_index(work, IDS, "ids", &work->reduce.ids);
}

static int
take_limits(ps_segment_work *work, enum slot slot, const char *name,
            PyArrayObject **limits)
{
    return is_given(work, slot)
                   ? keep(work, slot,
                          ps_as_limits(work->reduce.state, work->slot[slot], name),
                          limits)
                   : 0;
}

/* Python numbers are weak beside values that are not whole. */
static PyArrayObject *
as_weights(const ps_reduce *reduce, PyObject *object)
{
    PyArrayObject *const values = reduce->values;
    if (!ps_is_python_number(object) || PyArray_ISINTEGER(values) ||
        PyArray_ISBOOL(values)) {
        return ps_as_array(reduce->state, object, "weights");
    }
    if (PyArray_ISCOMPLEX(values) ||
        (PyArray_ISFLOAT(values) && !PyComplex_Check(object))) {
        PyArray_Descr *const own = PyArray_DESCR(values);
        return (PyArrayObject *)PyArray_FromAny(
                object, PyArray_DescrNewByteorder(own, NPY_NATIVE), 0, 0, 0, NULL);
    }
    PyObject *const promoted = ps_get_helper(reduce->state, PS_HELPER_promoted);
    PyObject *const descr =
            promoted != NULL ? PyObject_CallFunctionObjArgs(
                                       promoted, (PyObject *)values, object, NULL)
                             : NULL;
    if (descr != NULL && !PyArray_DescrCheck(descr)) {
        Py_DECREF(descr);
        return ps_as_array(reduce->state, object, "weights");
    }
    return descr != NULL ? (PyArrayObject *)PyArray_FromAny(
                                   object, (PyArray_Descr *)descr, 0, 0, 0, NULL)
                         : NULL;
}

/* where= as bools, and weights= as an array of numbers. */
static int
take_companions(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    if (is_given(work, WHERE) &&
        keep(work, WHERE, ps_as_mask(reduce->state, work->slot[WHERE], "where"),
             &reduce->mask) < 0) {
        return -1;
    }
    if (!is_given(work, WEIGHTS)) {
        return 0;
    }
    if (keep(work, WEIGHTS, as_weights(reduce, work->slot[WEIGHTS]), &reduce->weights) <
        0) {
        return -1;
    }
    PyArray_Descr *const descr = PyArray_DESCR(reduce->weights);
    const enum ps_dtype type = ps_dtype_of(reduce->state, descr);
    if (type == PS_raw || type == PS_t64) {
        PyErr_Format(PyExc_TypeError, "'weights' has dtype %S; expected numbers",
                     (PyObject *)descr);
        return -1;
    }
    return 0;
}

int
ps_take_segment_arrays(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_runs *const runs = &reduce->runs;
    if (is_given(work, VALUES) &&
        keep(work, VALUES, ps_as_array(reduce->state, work->slot[VALUES], "values"),
             &reduce->values) < 0) {
        return -1;
    }
    if (take_ids(work) < 0) {
        return -1;
    }
    if (reduce->values == NULL && reduce->ids != NULL) { /* which stand in for them */
        reduce->values = (PyArrayObject *)Py_NewRef((PyObject *)reduce->ids);
    }
    /* Lengths are kept in `stops`, from which offsets are made later. */
    return take_index(work, GATHER, "gather", &reduce->gather) < 0 ||
                           take_limits(work, OFFSETS, "offsets", &runs->starts) < 0 ||
                           take_limits(work, STARTS, "starts", &runs->starts) < 0 ||
                           take_limits(work, STOPS, "stops", &runs->stops) < 0 ||
                           take_limits(work, LENGTHS, "lengths", &runs->stops) < 0
                   ? -1
                   : take_companions(work);
}

/* ---- numbers ---- */

/* ddof=: any real number. */
static int
take_freedom(ps_segment_work *work)
{
    PyObject *const given = work->slot[DDOF];
    if (given == NULL) {
        return 0;
    }
    if (PyLong_CheckExact(given) || PyFloat_CheckExact(given)) {
        work->reduce.ddof = PyFloat_AsDouble(given);
        return work->reduce.ddof == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyArrayObject *const array = (PyArrayObject *)PyArray_FROM_O(given);
    if (array == NULL) {
        return -1;
    }
    const bool is_real = PyArray_NDIM(array) == 0 &&
                         strchr("biuf", PyArray_DESCR(array)->kind) != NULL;
    if (is_real) {
        PyObject *const item = PyArray_GETITEM(array, PyArray_BYTES(array));
        work->reduce.ddof = item != NULL ? PyFloat_AsDouble(item) : -1;
        Py_XDECREF(item);
    }
    else {
        PyErr_Format(PyExc_TypeError, "'ddof' must be a real number, not %R", given);
    }
    Py_DECREF((PyObject *)array);
    return PyErr_Occurred() ? -1 : 0;
}

/* q=: a number from 0 to 1 or a list of them, copied before they are looked at, since
 * others may write to them. */
static int
take_levels(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    PyObject *const given = work->slot[Q];
    if (!is_given(work, Q)) {
        return 0;
    }
    PyArrayObject *const array = (PyArrayObject *)PyArray_FROM_O(given);
    if (array == NULL) {
        return -1;
    }
    const int ndim = PyArray_NDIM(array);
    const bool are_numbers = PyArray_SIZE(array) == 0 ||
                             strchr("iuf", PyArray_DESCR(array)->kind) != NULL;
    bool fit = ndim <= 1;
    if (are_numbers && fit) {
        reduce->levels = (PyArrayObject *)PyArray_FromArray(
                array, PyArray_DescrFromType(NPY_DOUBLE),
                NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST |
                        NPY_ARRAY_ENSUREARRAY);
    }
    Py_DECREF((PyObject *)array);
    if (PyErr_Occurred()) {
        return -1;
    }
    const double *const q =
            reduce->levels != NULL ? PyArray_DATA(reduce->levels) : NULL;
    for (npy_intp i = 0; q != NULL && i < PyArray_SIZE(reduce->levels); i++) {
        fit = fit && q[i] >= 0 && q[i] <= 1;
    }
    if (!are_numbers || !fit) {
        PyErr_Format(are_numbers ? PyExc_ValueError : PyExc_TypeError,
                     "q is %R; expected a number from 0 to 1, or a list of them",
                     given);
        return -1;
    }
    return 0;
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
    if (is_given(work, NUM_SEGMENTS) &&
        ps_to_size(work->slot[NUM_SEGMENTS], "num_segments", &reduce->size) < 0) {
        return -1;
    }
    return take_freedom(work) < 0 ? -1 : take_levels(work);
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
    const bool has_helper = reduce->skips_missing || reduce->compensated ||
                            (reduce->reduction->spreads &&
                             ps_dtype_kind[reduce->types.sum_type] == PS_KIND_COMPLEX);
    return are_plain && are_few && nbytes <= PS_UNDISTURBED_BYTES && !has_helper;
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
    return 0;
}
