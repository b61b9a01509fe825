/* The binding of group_reduce: keys are numbered, then segments are reduced by these.
 *
 * All options but sort= and missing= go to segment_reduce as they are, which checks
 * them; where= is looked at here as well, since entries that it leaves out make no key.
 */
#include "python/group_reduce.h"

#include <string.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/outcome.h"
#include "python/py_keys.h"
#include "python/py_segment.h"

enum slot {
    SORT,
    MISSING,
    WHERE,
    AXIS,
    OUT,
    GATHER,
    OP,
    WEIGHTS,
    BATCH_DIMS,
    Q,
    DDOF,
    INITIAL,
    FILL_VALUE,
    SKIPNA,
    RETURN_ARG,
    RETURN_COUNTS,
    DTYPE,
    COMPENSATED,
    N_SLOTS
};

static const ps_signature signature = {
        "group_reduce",
        N_SLOTS,
        0,
        0,
        {PS_NAME_sort, PS_NAME_missing, PS_NAME_where, PS_NAME_axis, PS_NAME_out,
         PS_NAME_gather, PS_NAME_op, PS_NAME_weights, PS_NAME_batch_dims, PS_NAME_q,
         PS_NAME_ddof, PS_NAME_initial, PS_NAME_fill_value, PS_NAME_skipna,
         PS_NAME_return_arg, PS_NAME_return_counts, PS_NAME_dtype,
         PS_NAME_compensated}};

typedef struct {
    PyObject *module;
    ps_state *state;
    PyObject *slot[PS_NUM_NAMES];
    ps_key_options options;
    ps_key_columns keys;
    PyArrayObject *where;   /* as it was given; or NULL */
    PyArrayObject *entries; /* one bool for each entry; or NULL */
    PyObject *part[4];      /* ids and uniques */
} group_work;

/* ---- where= ---- */

/* Which entries have an element that stays: `where` has the axes of values, of which
 * those of entries begin at axis=. */
static PyArrayObject *
any_of_entries(const group_work *work, int ndim)
{
    int axis = 0, count = 0, entry_axes[PS_MAX_DIMS];
    const int where_ndim = PyArray_NDIM(work->where);
    if (work->slot[AXIS] != NULL && work->slot[AXIS] != Py_None &&
        (ps_to_int(work->slot[AXIS], "axis", &axis) < 0 ||
         (axis = ps_check_axis(work->state, axis, where_ndim)) < 0)) {
        return NULL;
    }
    for (int i = 0; i < where_ndim; i++) {
        if (i < axis || i >= axis + ndim) {
            entry_axes[count++] = i;
        }
    }
    PyObject *const axes = PyTuple_New(count);
    for (int i = 0; axes != NULL && i < count; i++) {
        PyObject *const number = PyLong_FromLong(entry_axes[i]);
        if (number == NULL) {
            Py_DECREF(axes);
            return NULL;
        }
        PyTuple_SET_ITEM(axes, i, number);
    }
    PyObject *const any = axes != NULL ? PyObject_CallMethod((PyObject *)work->where,
                                                             "any", "(O)", axes)
                                       : NULL;
    Py_XDECREF(axes);
    PyArrayObject *const array =
            any != NULL ? (PyArrayObject *)PyArray_FROM_OF(any, NPY_ARRAY_ENSUREARRAY)
                        : NULL;
    Py_XDECREF(any);
    return array;
}

/* work->entries as bytes side by side, in the shape of the keys. */
static int
take_where(group_work *work)
{
    PyArrayObject *const like = work->keys.key[0];
    const int ndim = PyArray_NDIM(like);
    if (work->where == NULL) {
        return 0;
    }
    work->entries = PyArray_NDIM(work->where) > ndim
                            ? any_of_entries(work, ndim)
                            : (PyArrayObject *)Py_NewRef((PyObject *)work->where);
    if (work->entries == NULL) {
        return -1;
    }
    if (!PyArray_SAMESHAPE(work->entries, like)) {
        return ps_raise_shapes(PyExc_ValueError,
                               "where has shape %U; expected %U, that of the keys, or "
                               "that of values",
                               PyArray_NDIM(work->where), PyArray_DIMS(work->where),
                               ndim, PyArray_DIMS(like));
    }
    Py_SETREF(work->entries, ps_copy_of(work->entries, NPY_CORDER));
    return work->entries != NULL ? 0 : -1;
}

/* ---- segments ---- */

/* segment_reduce(values, ids, n, **options), with mode="drop" where ids may be -1,
 * which takes longer to look at. */
static PyObject *
reduce_one(group_work *work, PyObject *values, PyObject *out)
{
    static const char mode_text[] = "drop";
    PyObject *args[3 + N_SLOTS + 1], *names[N_SLOTS + 1];
    PyObject *const first_of = PyTuple_Check(work->part[1])
                                       ? PyTuple_GET_ITEM(work->part[1], 0)
                                       : work->part[1];
    PyObject *const count =
            PyLong_FromSsize_t(PyArray_DIM((PyArrayObject *)first_of, 0));
    PyObject *const mode = PyUnicode_FromString(mode_text);
    Py_ssize_t n = 0;
    args[0] = values;
    args[1] = work->part[0];
    args[2] = count;
    for (int i = WHERE; i < N_SLOTS; i++) {
        PyObject *const given = i == OUT ? out : work->slot[i];
        if (given != NULL) {
            names[n] = work->state->name[signature.names[i]];
            args[3 + n++] = given;
        }
    }
    if (work->options.has_dropped) {
        names[n] = work->state->name[PS_NAME_mode];
        args[3 + n++] = mode;
    }
    PyObject *const keywords = PyTuple_New(n);
    PyObject *result = NULL;
    if (count != NULL && mode != NULL && keywords != NULL) {
        for (Py_ssize_t i = 0; i < n; i++) {
            PyTuple_SET_ITEM(keywords, i, Py_NewRef(names[i]));
        }
        result = ps_py_segment_reduce(work->module, args, 3, keywords);
    }
    Py_XDECREF(count);
    Py_XDECREF(mode);
    Py_XDECREF(keywords);
    return result;
}

/* Of each array in a tuple of values; out= is then a tuple, too. */
static PyObject *
reduce_each(group_work *work, PyObject *values)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(values);
    PyObject *const out = work->slot[OUT];
    const bool has_out = out != NULL && out != Py_None;
    if (has_out && (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != n)) {
        PyErr_Format(PyExc_TypeError, "'out' must be a tuple of %zd, as values is one",
                     n);
        return NULL;
    }
    PyObject *results = PyTuple_New(n);
    for (Py_ssize_t i = 0; results != NULL && i < n; i++) {
        PyObject *const one = reduce_one(work, PyTuple_GET_ITEM(values, i), NULL);
        if (one == NULL) {
            Py_DECREF(results);
            return NULL;
        }
        PyTuple_SET_ITEM(results, i, one);
    }
    if (results != NULL && has_out) {
        PyObject *const op = work->slot[OP];
        Py_SETREF(results, ps_put_results(work->state, results, out,
                                          op != NULL && PyTuple_Check(op)));
    }
    return results;
}

/* ---- the call ---- */

/* where= is converted once, and stands in its slot. */
static int
open_where(group_work *work)
{
    if (work->slot[WHERE] == NULL || work->slot[WHERE] == Py_None) {
        return 0;
    }
    work->where = ps_as_mask(work->state, work->slot[WHERE], "where");
    work->slot[WHERE] = (PyObject *)work->where;
    return work->where != NULL ? 0 : -1;
}

static int
number_keys(group_work *work, PyObject *const *objects, Py_ssize_t n)
{
    ps_key_options *const options = &work->options;
    if (ps_open_keys(work->state, &work->keys, objects, n) < 0 ||
        ps_make_columns(work->state, &work->keys, options->sorts,
                        options->missing == PS_MISSING_GROUP) < 0 ||
        take_where(work) < 0) {
        return -1;
    }
    return ps_factorize(work->state, &work->keys, options,
                        work->entries != NULL ? PyArray_BYTES(work->entries) : NULL,
                        work->part);
}

static PyObject *
run(group_work *work, PyObject *values)
{
    PyObject *const result = PyTuple_Check(values)
                                     ? reduce_each(work, values)
                                     : reduce_one(work, values, work->slot[OUT]);
    PyObject *const pair =
            result != NULL ? PyTuple_Pack(2, work->part[1], result) : NULL;
    Py_XDECREF(result);
    return pair;
}

PyObject *
ps_py_group_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    group_work work = {
            .module = module,
            .state = ps_get_state(module),
            .options = {.sorts = true, .missing = PS_MISSING_DROP, .hides_ids = true}};
    PyObject *result = NULL;
    if (ps_parse(work.state, &signature, args + n_args, 0, keywords, work.slot) < 0) {
        return NULL;
    }
    if (n_args < 2) {
        PyErr_SetString(PyExc_TypeError,
                        "group_reduce() needs values and at least one array of keys");
        return NULL;
    }
    if (ps_take_key_options(&work.options, work.slot[SORT], work.slot[MISSING]) == 0 &&
        open_where(&work) == 0 && number_keys(&work, args + 1, n_args - 1) == 0) {
        result = run(&work, args[0]);
    }
    ps_close_keys_columns(&work.keys);
    Py_XDECREF((PyObject *)work.where);
    Py_XDECREF((PyObject *)work.entries);
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(work.part[i]);
    }
    return result;
}
