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

#include "base/sizes.h"
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
    const char *name; /* of the op, of functions that are named after theirs */
    ps_reduce reduce;
} segment_work;

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
    return is_given(work, GATHER) || is_given(work, WEIGHTS) || is_given(work, Q) ||
           is_given(work, DDOF) || is_on(work, SKIPNA) || is_on(work, RETURN_ARG) ||
           is_on(work, ASSUME_SORTED);
}

/* Are segments said in exactly one way, and by no plan? */
static bool
has_one_addressing(const segment_work *work)
{
    const bool by_ranges = is_given(work, STARTS) && is_given(work, STOPS);
    const int ways = is_given(work, IDS) + is_given(work, OFFSETS) +
                     is_given(work, LENGTHS) +
                     (is_given(work, STARTS) || is_given(work, STOPS));
    return ways == 1 && (by_ranges || !is_given(work, STARTS)) &&
           (by_ranges || !is_given(work, STOPS)) &&
           ps_plan_of(work->reduce.state, work->slot[IDS]) == NULL;
}

static int
take_options(segment_work *work)
{
    PyObject *const *const slot = work->slot;
    const ps_reduction *const reduction = work->reduce.reduction;
    if (reduction == NULL || has_other_options(work) || !has_one_addressing(work) ||
        !is_given(work, VALUES)) {
        return 0;
    }
    if (ps_to_mode(slot[MODE], false, &work->reduce.mode) < 0 ||
        ps_to_bool(slot[RETURN_COUNTS], "return_counts", &work->reduce.returns_counts) <
                0 ||
        ps_to_bool(slot[COMPENSATED], "compensated", &work->reduce.compensated) < 0) {
        return -1;
    }
    if (work->reduce.mode == PS_MODE_RAISE) {
        work->reduce.mode = PS_MODE_IDS;
    }
    work->reduce.starts = is_given(work, INITIAL);
    work->reduce.fills = is_given(work, FILL_VALUE);
    const bool is_sum = reduction->fold == PS_add && reduction->of == PS_FOLD_VALUES;
    const bool lacks_initial = reduction->divides || reduction->of == PS_FOLD_ONES;
    return !(work->reduce.starts && (work->reduce.fills || lacks_initial)) &&
           !(work->reduce.compensated && (!is_sum || !is_given(work, IDS)));
}

/* ---- which axes ---- */

static int
take_ids(segment_work *work)
{
    work->reduce.ids = ps_as_index(work->reduce.state, work->slot[IDS], "ids");
    if (work->reduce.ids == NULL) {
        return -1;
    }
    work->slot[IDS] = (PyObject *)work->reduce.ids;
    return 1;
}

/* axis=None: everything in C order. */
static int
flatten(segment_work *work)
{
    work->reduce.n_own = 1;
    if (work->reduce.batch_dims != 0) {
        return 0;
    }
    Py_SETREF(work->reduce.values, ps_flat_of(work->reduce.values));
    if (work->reduce.values != NULL && work->reduce.ids != NULL) {
        Py_SETREF(work->reduce.ids,
                  (PyArrayObject *)PyArray_Ravel(work->reduce.ids, NPY_CORDER));
    }
    if (work->reduce.values == NULL || PyErr_Occurred()) {
        return -1;
    }
    return work->reduce.ids == NULL ||
           PyArray_DIM(work->reduce.ids, 0) == PyArray_DIM(work->reduce.values, 0);
}

/* Where the entries lie, in the shapes as they are now. */
static int
place_axes(segment_work *work)
{
    PyObject *const axis = work->slot[AXIS];
    if (ps_to_int(work->slot[BATCH_DIMS], "batch_dims", &work->reduce.batch_dims) < 0) {
        return -1;
    }
    if (axis == Py_None) {
        return flatten(work);
    }
    const int ndim = PyArray_NDIM(work->reduce.values), batch = work->reduce.batch_dims;
    const int own =
            work->reduce.ids != NULL ? PyArray_NDIM(work->reduce.ids) - batch : 1;
    if (batch < 0 || batch > ndim || own < 0 ||
        (batch > 0 && work->reduce.ids == NULL)) {
        return 0;
    }
    work->reduce.axis = batch;
    if (axis != Py_Ellipsis && ps_to_int(axis, "axis", &work->reduce.axis) < 0) {
        return -1;
    }
    const int n_axes = ndim + (own == 0);
    if (work->reduce.axis < -n_axes || work->reduce.axis >= n_axes) {
        return 0;
    }
    work->reduce.axis += work->reduce.axis < 0 ? n_axes : 0;
    work->reduce.n_own = own;
    if (work->reduce.axis < batch || work->reduce.axis + own > ndim) {
        return 0;
    }
    const npy_intp *const shape = PyArray_DIMS(work->reduce.values);
    const npy_intp *const ids =
            work->reduce.ids != NULL ? PyArray_DIMS(work->reduce.ids) : NULL;
    bool fits = true;
    for (int i = 0; ids != NULL && i < batch; i++) {
        fits = fits && ids[i] == shape[i];
    }
    for (int i = 0; ids != NULL && i < own; i++) {
        fits = fits && ids[batch + i] == shape[work->reduce.axis + i];
    }
    return fits;
}

/* Has the array exactly the axes of the entries, batches first? */
static bool
has_entry_shape(const segment_work *work, PyArrayObject *array)
{
    const npy_intp *const shape = PyArray_DIMS(work->reduce.values);
    const npy_intp *const own = PyArray_DIMS(array);
    bool fits = PyArray_NDIM(array) == work->reduce.batch_dims + work->reduce.n_own;
    for (int i = 0; fits && i < PyArray_NDIM(array); i++) {
        const int axis = i < work->reduce.batch_dims
                                 ? i
                                 : work->reduce.axis + (i - work->reduce.batch_dims);
        fits = own[i] == shape[axis];
    }
    return fits;
}

/* where=: one bool for each entry, or for each element. */
static int
take_mask(segment_work *work)
{
    if (!is_given(work, WHERE)) {
        return 1;
    }
    work->reduce.mask = ps_as_mask(work->reduce.state, work->slot[WHERE], "where");
    if (work->reduce.mask == NULL) {
        return -1;
    }
    work->slot[WHERE] = (PyObject *)work->reduce.mask;
    if (work->slot[AXIS] == Py_None) {
        return 0;
    }
    if (has_entry_shape(work, work->reduce.mask)) {
        return 1;
    }
    work->reduce.is_fine = true;
    return work->reduce.n_own == 1 &&
           PyArray_SAMESHAPE(work->reduce.mask, work->reduce.values);
}

/* ---- how many segments ---- */

/* The largest id and one, unless one alone asks for so much that it is hardly meant.
 * Ids of entries that the mask leaves out are not looked at. */
static int
size_from_ids(segment_work *work)
{
    const int64_t n = PyArray_SIZE(work->reduce.ids);
    const ps_status status = ps_top_of(work->reduce.state, work->reduce.ids,
                                       work->reduce.is_fine ? NULL : work->reduce.mask,
                                       &work->reduce.size);
    if (status.code == PS_TOO_LARGE) {
        return 0;
    }
    return ps_raise(work->reduce.state, status, "ids") < 0
                   ? -1
                   : work->reduce.size <= (int64_t)1 << 27 ||
                             work->reduce.size / 64 <= n;
}

/* Ids are within bounds even where all elements of an entry are left out. */
static int
check_ids(const segment_work *work)
{
    return ps_raise(work->reduce.state,
                    ps_check_numbers(work->reduce.state, work->reduce.ids, NULL,
                                     work->reduce.size),
                    "ids");
}

static int
take_size(segment_work *work)
{
    PyObject *const given = work->slot[NUM_SEGMENTS];
    int64_t size = -1;
    if (given != NULL && given != Py_None) {
        if (ps_to_size(given, "num_segments", &size) < 0) {
            return -1;
        }
        if (work->reduce.ids == NULL) {
            return size == work->reduce.size;
        }
        work->reduce.size = size;
    }
    else if (work->reduce.ids != NULL) {
        const int found = size_from_ids(work);
        if (found <= 0) {
            return found;
        }
    }
    return work->reduce.is_fine && work->reduce.ids != NULL &&
                           work->reduce.mode == PS_MODE_IDS && check_ids(work) < 0
                   ? -1
                   : 1;
}

/* Limits whose first and last are right; what lies between is checked in use. */
static int
take_offsets(segment_work *work)
{
    ps_runs *const runs = &work->reduce.runs;
    const npy_intp n = PyArray_DIM(work->reduce.values, work->reduce.axis);
    int64_t first = -1, last = -1;
    runs->are_offsets = true;
    if (is_given(work, LENGTHS)) {
        PyArrayObject *lengths = NULL;
        const int taken = ps_take_limits(work->reduce.state, work->slot[LENGTHS],
                                         "lengths", &lengths);
        if (taken <= 0) {
            return taken;
        }
        runs->starts = ps_offsets_of(lengths);
        runs->stops = lengths; /* kept for the helper */
        work->slot[LENGTHS] = (PyObject *)lengths;
    }
    else {
        const int taken = ps_take_limits(work->reduce.state, work->slot[OFFSETS],
                                         "offsets", &runs->starts);
        if (taken <= 0) {
            return taken;
        }
        work->slot[OFFSETS] = (PyObject *)runs->starts;
    }
    if (runs->starts == NULL || PyArray_DIM(runs->starts, 0) == 0) {
        return PyErr_Occurred() ? -1 : 0;
    }
    work->reduce.size = PyArray_DIM(runs->starts, 0) - 1;
    return ps_read_limit(runs->starts, 0, &first) && first == 0 &&
           ps_read_limit(runs->starts, work->reduce.size, &last) && last == n;
}

static int
take_runs(segment_work *work)
{
    ps_runs *const runs = &work->reduce.runs;
    if (work->reduce.ids != NULL || !is_given(work, STARTS)) {
        return work->reduce.ids != NULL ? 1 : take_offsets(work);
    }
    int taken = ps_take_limits(work->reduce.state, work->slot[STARTS], "starts",
                               &runs->starts);
    if (taken <= 0) {
        return taken;
    }
    work->slot[STARTS] = (PyObject *)runs->starts;
    taken = ps_take_limits(work->reduce.state, work->slot[STOPS], "stops",
                           &runs->stops);
    if (taken <= 0) {
        return taken;
    }
    work->slot[STOPS] = (PyObject *)runs->stops;
    work->reduce.size = PyArray_DIM(runs->starts, 0);
    return PyArray_DIM(runs->stops, 0) == work->reduce.size;
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

static int
take_types(segment_work *work)
{
    ps_fold_types *const types = &work->reduce.types;
    enum ps_dtype given;
    if (ps_storage_of(work->reduce.state, work->reduce.values, &given) !=
        PS_STORED_NUMBERS) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (work->reduce.reduction->of == PS_FOLD_TRUTH && given != PS_b1) {
        Py_SETREF(work->reduce.values,
                  ps_cast_of(work->reduce.values, PyArray_DescrFromType(NPY_BOOL)));
        if (work->reduce.values == NULL) {
            return -1;
        }
        given = PS_b1;
    }
    int found =
            ps_find_types(work->reduce.state, work->reduce.reduction,
                          PyArray_DESCR(work->reduce.values), work->slot[DTYPE], types);
    const bool is_named = is_given(work, DTYPE);
    if (found == 1 && work->reduce.ids == NULL && work->reduce.mask != NULL &&
        work->reduce.reduction->fold == PS_mul &&
        ps_dtype_kind[types->sum_type] == PS_KIND_COMPLEX) {
        found = 0; /* no value is neutral: what is left out has to be skipped */
    }
    if (found == 1 && is_named && !ps_can_convert(given, types->sum_type)) {
        found = 0; /* NumPy's cast would warn, which a reduction never does */
    }
    if (found == 1 && work->reduce.starts) {
        found = take_scalar(work, work->slot[INITIAL], types->sum, types->sum_type,
                            work->reduce.start);
    }
    if (found == 1 && work->reduce.fills) {
        found = take_scalar(work, work->slot[FILL_VALUE], types->result,
                            types->result_type, work->reduce.fill);
    }
    return found;
}

/* ---- the call ---- */

/* out=, or the result, and counts where they are asked for. */
static PyObject *
deliver(segment_work *work)
{
    PyObject *result = (PyObject *)work->reduce.sums, *const out = work->slot[OUT];
    if (out != NULL && out != Py_None) {
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
    return work->reduce.returns_counts
                   ? PyTuple_Pack(2, result, (PyObject *)work->reduce.counts)
                   : Py_NewRef(result);
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

/* The steps in order; the first that does not answer 1 says how it ends. */
static int
run_steps(segment_work *work)
{
    int done = take_options(work);
    if (done != 1) {
        return done;
    }
    work->reduce.values = ps_as_array(work->reduce.state, work->slot[VALUES], "values");
    if (work->reduce.values == NULL) {
        return -1;
    }
    work->slot[VALUES] = (PyObject *)work->reduce.values;
    static int (*const steps[])(segment_work *) = {place_axes, take_mask, take_types,
                                                   take_runs, take_size};
    done = is_given(work, IDS) ? take_ids(work) : 1;
    for (size_t i = 0; done == 1 && i < sizeof(steps) / sizeof(steps[0]); i++) {
        done = steps[i](work);
    }
    return done == 1 ? ps_run_reduce(&work->reduce) : done;
}

static PyObject *
segment_reduce(PyObject *module, PyObject **slot, const char *name)
{
    segment_work work;
    ps_begin_reduce(&work.reduce, ps_get_state(module));
    work.slot = slot;
    work.name = name;
    work.reduce.reduction = name != NULL
                                    ? ps_reduction_named(name)
                                    : ps_find_reduction(work.reduce.state, slot[OP]);
    const int done = run_steps(&work);
    PyObject *const result = done == 1   ? deliver(&work)
                             : done == 0 ? reduce_in_python(&work)
                                         : NULL;
    ps_close_reduce(&work.reduce);
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
    return segment_reduce(module, slot, NULL);
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
