/* The binding of segment_reduce and its names.
 *
 * A call becomes a layout (which axes of the values are batches, entries, rows), an
 * addressing (ids, whose fold is a scatter into fresh memory, or runs, whose fold is
 * the segment op), types, and one finishing pass: means, empty segments, casts. The
 * steps are in segment_arguments.c, segment_types.c, segment_layout.c and
 * segment_simplify.c.
 */
#include "python/py_segment.h"

#include <string.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/outcome.h"
#include "python/segment_call.h"

#define SLOT_NAMES                                                                   \
    PS_NAME_values, PS_NAME_ids, PS_NAME_num_segments, PS_NAME_offsets,              \
            PS_NAME_starts, PS_NAME_stops, PS_NAME_lengths, PS_NAME_gather,          \
            PS_NAME_weights, PS_NAME_axis, PS_NAME_batch_dims, PS_NAME_q,            \
            PS_NAME_ddof, PS_NAME_initial, PS_NAME_fill_value, PS_NAME_where,        \
            PS_NAME_skipna, PS_NAME_mode, PS_NAME_return_arg, PS_NAME_return_counts, \
            PS_NAME_assume_sorted, PS_NAME_dtype, PS_NAME_compensated, PS_NAME_out,  \
            PS_NAME_op

static const ps_signature signature = {"segment_reduce", N_SLOTS, 3, 1, {SLOT_NAMES}};

void
ps_begin_segments(ps_segment_work *work, ps_state *state, PyObject **slot)
{
    ps_begin_reduce(&work->reduce, state);
    memset(work->held, 0, sizeof(work->held));
    work->slot = slot;
}

void
ps_close_segments(ps_segment_work *work)
{
    ps_close_reduce(&work->reduce);
    for (int i = 0; i < N_SLOTS; i++) {
        Py_XDECREF(work->held[i]);
    }
}

int
ps_take_segments(ps_segment_work *work)
{
    static int (*const steps[])(ps_segment_work *) = {
            ps_take_segment_options, ps_take_segment_arrays,   ps_take_segment_types,
            ps_take_segment_numbers, ps_settle_segment_arrays, ps_place_segment_axes,
            ps_place_segment_mask,   ps_place_segment_weights, ps_simplify_segments};
    int status = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        status = status == 0 && !work->reduce.is_foreign ? steps[i](work) : status;
    }
    return status;
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
    return PyArray_CheckExact(out) && PyArray_SAMESHAPE((PyArrayObject *)out, result) &&
           PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)out),
                              PyArray_DESCR(result));
}

/* out=, or the result, and counts where they are asked for. */
static PyObject *
deliver(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    PyObject *result = (PyObject *)reduce->sums, *const out = work->slot[OUT];
    int status = 0;
    if (is_given(work, OUT)) {
        if (PyTuple_Check(out)) {
            PyErr_SetString(PyExc_TypeError, "'out' must be an array, as op is one");
            return NULL;
        }
        status = !can_copy_into(out, reduce->sums)
                         ? ps_write_results(reduce->state, out, &result, 1)
                 : ps_require_writeable((PyArrayObject *)out) < 0
                         ? -1
                         : ps_copy_into((PyArrayObject *)out, reduce->sums, false);
        result = out;
    }
    return status == 0 ? with_company(reduce, result, (PyObject *)reduce->places)
                       : NULL;
}

/* An array of a helper's tuple into `to`; None stays NULL. */
static int
take_item(PyObject *tuple, Py_ssize_t i, PyArrayObject **to)
{
    PyObject *const item = PyTuple_GET_ITEM(tuple, i);
    if (item != Py_None && !PyArray_Check(item)) {
        return ps_raise_changed("values");
    }
    *to = item != Py_None ? (PyArrayObject *)Py_NewRef(item) : NULL;
    return 0;
}

/* Values that only NumPy moves: the arguments that were given, for a helper. */
static int
run_foreign(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    PyObject *const helper = ps_get_helper(reduce->state, PS_HELPER_reduce_foreign);
    PyObject *const given = helper != NULL ? PyDict_New() : NULL;
    int status = given != NULL ? 0 : -1;
    for (int i = 0; i < N_SLOTS && status == 0; i++) {
        const bool is_apart = i == VALUES || i == OP || i == DTYPE || i == INITIAL ||
                              i == FILL_VALUE || i == OUT;
        if (work->slot[i] != NULL && !is_apart) {
            status = PyDict_SetItem(given, reduce->state->name[signature.names[i]],
                                    work->slot[i]);
        }
    }
    PyObject *const initial = reduce->starts ? work->slot[INITIAL] : Py_None;
    PyObject *const fill = reduce->fills ? work->slot[FILL_VALUE] : Py_None;
    PyObject *const parts =
            status == 0
                    ? PyObject_CallFunction(helper, "OsOOOO", reduce->values,
                                            reduce->reduction->name,
                                            reduce->types.result, initial, fill, given)
                    : NULL;
    Py_XDECREF(given);
    if (parts == NULL || !PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) != 3) {
        Py_XDECREF(parts);
        return PyErr_Occurred() ? -1 : ps_raise_changed("values");
    }
    status = take_item(parts, 0, &reduce->sums) < 0 ||
                             take_item(parts, 1, &reduce->places) < 0 ||
                             take_item(parts, 2, &reduce->counts) < 0
                     ? -1
                     : 0;
    Py_DECREF(parts);
    return status;
}

static int
run(ps_segment_work *work)
{
    if (ps_take_segments(work) < 0) {
        return -1;
    }
    if (work->reduce.is_foreign) {
        return run_foreign(work);
    }
    return ps_place_segments(work) < 0 ? -1 : ps_run_reduce(&work->reduce);
}

static PyObject *
segment_reduce(PyObject *module, PyObject **slot, const char *name)
{
    ps_segment_work work;
    ps_state *const state = ps_get_state(module);
    ps_begin_segments(&work, state, slot);
    work.reduce.reduction = name != NULL ? ps_reduction_named(name)
                                         : ps_find_reduction(state, slot[OP]);
    PyObject *const result = run(&work) == 0 ? deliver(&work) : NULL;
    ps_close_segments(&work);
    return result;
}

/* ---- several ops ---- */

/* Put the results of a call for each op, in `all`, together; counts come with the
 * first. */
static PyObject *
join_results(ps_segment_work *all, Py_ssize_t n)
{
    PyObject *results = PyTuple_New(n), *const out = all[0].slot[OUT];
    PyObject *const places = results != NULL ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; places != NULL && i < n; i++) {
        PyObject *const place = (PyObject *)all[i].reduce.places;
        PyTuple_SET_ITEM(results, i, Py_NewRef((PyObject *)all[i].reduce.sums));
        PyTuple_SET_ITEM(places, i, Py_NewRef(place != NULL ? place : Py_None));
    }
    if (places != NULL && out != NULL && out != Py_None) {
        const bool fits = PyTuple_Check(out) && PyTuple_GET_SIZE(out) == n;
        if (!fits) {
            PyErr_Format(PyExc_TypeError,
                         "'out' must be a tuple of %zd arrays, as op is one", n);
        }
        Py_SETREF(results,
                  fits && ps_write_results(all[0].reduce.state, out,
                                           &PyTuple_GET_ITEM(results, 0), n) == 0
                          ? Py_NewRef(out)
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
    ps_segment_work *const all = PyMem_Malloc((size_t)n * sizeof(ps_segment_work));
    PyObject *result = NULL;
    Py_ssize_t made = 0;
    int status = 0;
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    for (; made < n && status == 0; made++) { /* before any of them is computed */
        ps_segment_work *const work = &all[made];
        ps_begin_segments(work, ps_get_state(module), slot);
        work->reduce.reduction =
                ps_find_reduction(work->reduce.state, PyTuple_GET_ITEM(ops, made));
        status = ps_take_segment_options(work);
    }
    for (Py_ssize_t i = 1; i < n && status == 0; i++) {
        all[i].reduce.before = &all[i - 1].reduce;
    }
    for (Py_ssize_t i = n - 1; i > 0 && status == 0; i--) {
        all[i - 1].reduce.is_followed =
                all[i].reduce.is_followed || ps_adds_values(all[i].reduce.reduction);
    }
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        status = run(&all[i]);
    }
    if (status == 0) {
        result = join_results(all, n);
    }
    for (Py_ssize_t i = 0; i < made; i++) {
        ps_close_segments(&all[i]);
    }
    PyMem_Free(all);
    return result;
}

/* Few plain values, in a call whose only keywords are offsets= and op=, a name; `own`
 * is the op of functions that know it. NULL without an exception: another call. */
static PyObject *
reduce_shortly(ps_state *state, const char *own, PyObject *const *args,
               Py_ssize_t n_args, PyObject *keywords)
{
    const Py_ssize_t n = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    PyObject *op = NULL, *offsets = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const name = PyTuple_GET_ITEM(keywords, i);
        if (name == state->name[PS_NAME_offsets]) {
            offsets = args[n_args + i];
        }
        else if (name == state->name[PS_NAME_op] && own == NULL &&
                 PyUnicode_CheckExact(args[n_args + i])) {
            op = args[n_args + i];
        }
        else {
            return NULL;
        }
    }
    const ps_reduction *const reduction =
            own != NULL ? ps_reduction_named(own) : ps_find_reduction(state, op);
    if (reduction == NULL) {
        PyErr_Clear();
    }
    return ps_segment_short(state, args, n_args, offsets, reduction);
}

PyObject *
ps_py_segment_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *keywords)
{
    PyObject *slot[PS_NUM_NAMES];
    ps_state *const state = ps_get_state(module);
    PyObject *const result = reduce_shortly(state, NULL, args, n_args, keywords);
    if (result != NULL) {
        return result;
    }
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    PyObject *const op = slot[OP];
    if (op == NULL || !PyTuple_Check(op)) {
        return segment_reduce(module, slot, NULL);
    }
    if (PyTuple_GET_SIZE(op) == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "op is an empty tuple; expected at least one name");
        return NULL;
    }
    return reduce_by_all(module, slot, op);
}

#define DEFINE_SEGMENT_NAME(name, op)                                                  \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords)                                         \
    {                                                                                  \
        static const ps_signature own = {#name, N_SLOTS - 1, 3, 1, {SLOT_NAMES}};      \
        PyObject *slot[PS_NUM_NAMES];                                                  \
        PyObject *const result =                                                       \
                reduce_shortly(ps_get_state(module), op, args, n_args, keywords);      \
        if (result != NULL) {                                                          \
            return result;                                                             \
        }                                                                              \
        if (ps_parse(ps_get_state(module), &own, args, n_args, keywords, slot) < 0) {  \
            return NULL;                                                               \
        }                                                                              \
        return segment_reduce(module, slot, op);                                       \
    }
PS_FOR_EACH_SEGMENT_NAME(DEFINE_SEGMENT_NAME)
