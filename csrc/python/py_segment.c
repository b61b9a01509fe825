/* The binding of segment_reduce and its names.
 *
 * A call becomes a layout (which axes of the values are batches, entries, rows), an
 * addressing (ids, whose fold is a scatter into fresh memory, or runs, whose fold is
 * the segment op), types, and one finishing pass: means, empty segments, casts.
 * Whatever a call asks beyond that, and whatever is wrong with one, is left to a
 * helper, which has a way for every option and words for every mistake. So each step
 * here answers 1, done, 0, for the helper, or -1, an exception is set. The steps
 * themselves are in segment_arguments.c and segment_layout.c.
 */
#include "python/py_segment.h"

#include <string.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
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

static void
begin_work(ps_segment_work *work, PyObject *module, PyObject **slot)
{
    ps_begin_reduce(&work->reduce, ps_get_state(module));
    memset(work->held, 0, sizeof(work->held));
    work->slot = slot;
    work->name = NULL;
}

static void
close_work(ps_segment_work *work)
{
    ps_close_reduce(&work->reduce);
    for (int i = 0; i < N_SLOTS; i++) {
        Py_XDECREF(work->held[i]);
    }
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
deliver(ps_segment_work *work)
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
reduce_in_python(const ps_segment_work *work)
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
run_steps(ps_segment_work *work)
{
    static int (*const steps[])(ps_segment_work *) = {
            ps_take_segment_options, ps_take_segment_arrays,   ps_take_segment_types,
            ps_take_segment_numbers, ps_settle_segment_arrays, ps_place_segment_axes,
            ps_place_segment_mask,   ps_place_segment_weights, ps_place_segments};
    int done = 1;
    for (size_t i = 0; done == 1 && i < sizeof(steps) / sizeof(steps[0]); i++) {
        done = steps[i](work);
    }
    return done == 1 ? ps_run_reduce(&work->reduce) : done;
}

static PyObject *
segment_reduce(PyObject *module, PyObject **slot, const char *name)
{
    ps_segment_work work;
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
    ps_segment_work *const all = PyMem_Malloc((size_t)n * sizeof(ps_segment_work));
    PyObject *result = NULL;
    Py_ssize_t made = 0;
    int done = 1;
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    for (; made < n && done == 1; made++) { /* before any of them is computed */
        ps_segment_work *const work = &all[made];
        begin_work(work, module, slot);
        work->reduce.reduction =
                ps_find_reduction(work->reduce.state, PyTuple_GET_ITEM(ops, made));
        done = ps_take_segment_options(work);
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
