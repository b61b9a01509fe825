/* The binding of the keys family: factorize.
 *
 * All that runs Python code comes first: options, keys as arrays, objects as numbers.
 * Then the op numbers the columns in one run; uniques are what stands at the first
 * entry of each number.
 */
#include "python/py_keys.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "python/args.h"
#include "python/copies.h"

/* ---- options ---- */

int
ps_take_key_options(ps_key_options *options, PyObject *sort, PyObject *missing)
{
    static const char *const names[] = {"group", "drop", "raise"};
    if (ps_to_bool(sort, "sort", &options->sorts) < 0) {
        return -1;
    }
    if (missing == NULL) {
        return 0;
    }
    for (int i = 0; PyUnicode_Check(missing) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(missing, names[i]) == 0) {
            options->missing = (enum ps_missing)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "missing must be 'group', 'drop' or 'raise', got %R",
                 missing);
    return -1;
}

#define WAY_NAME(name) #name,
static const char *const ways[PS_NUM_KEY_WAYS] = {PS_FOR_EACH_KEY_WAY(WAY_NAME)};

PyObject *
ps_py_force_keys(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    const char *name;
    int parts;
    if (!PyArg_ParseTuple(args, "zi", &name, &parts)) {
        return NULL;
    }
    for (int way = 0; way < PS_NUM_KEY_WAYS; way++) {
        if (strcmp(name != NULL ? name : ways[0], ways[way]) == 0) {
            PyObject *const before =
                    Py_BuildValue("si", ways[state->keys_way], state->keys_parts);
            state->keys_way = way;
            state->keys_parts = parts;
            return before;
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown way '%s'", name);
    return NULL;
}

/* ---- the call ---- */

/* The first entries of all numbers, as int64. */
static PyArrayObject *
firsts_of(const ps_keys_call *call)
{
    const npy_intp n = call->n_keys;
    PyArrayObject *const array = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    for (npy_intp i = 0; array != NULL && i < n; i++) {
        ((int64_t *)PyArray_DATA(array))[i] = call->is_wide
                                                      ? ((int64_t *)call->first)[i]
                                                      : ((int32_t *)call->first)[i];
    }
    return array;
}

static PyObject *
counts_of(ps_state *state, const ps_keys_call *call)
{
    const npy_intp n = call->n_keys;
    PyArrayObject *counts = (PyArrayObject *)PyArray_ZEROS(1, &n, NPY_INT64, 0);
    if (counts != NULL) {
        ps_count_keys_call count = {call->ids, call->n, PyArray_DATA(counts)};
        const ps_status status =
                ps_run_op(state, ps_count_keys, &count,
                          call->n > INT64_MAX / 8 ? INT64_MAX : 8 * call->n);
        if (ps_raise(state, status, "keys") < 0) {
            Py_CLEAR(counts);
        }
    }
    return (PyObject *)counts;
}

/* One array, or a tuple of one for each key. */
static PyObject *
uniques_of(ps_state *state, const ps_key_columns *keys, const ps_keys_call *call,
           PyArrayObject *first)
{
    if (keys->n_keys == 1) {
        return (PyObject *)ps_unique_keys(state, keys, 0, call, first);
    }
    PyObject *const tuple = PyTuple_New(keys->n_keys);
    for (Py_ssize_t k = 0; tuple != NULL && k < keys->n_keys; k++) {
        PyArrayObject *const one = ps_unique_keys(state, keys, k, call, first);
        if (one == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, k, (PyObject *)one);
    }
    return tuple;
}

/* Do uniques of these keys come from NumPy, which wants positions as an array? */
static bool
needs_firsts(const ps_key_columns *keys)
{
    bool needs = false;
    for (Py_ssize_t k = 0; k < keys->n_keys; k++) {
        PyArray_Descr *const descr = PyArray_DESCR(keys->key[k]);
        needs = needs || PyDataType_REFCHK(descr) || descr->type_num == NPY_VSTRING;
    }
    return needs;
}

/* What is wanted of keys that have been numbered. */
static int
deliver(ps_state *state, const ps_key_columns *keys, const ps_key_options *options,
        const ps_keys_call *call, PyObject *out[4])
{
    if (call->bad >= 0) {
        PyErr_Format(PyExc_ValueError,
                     "a key is missing at position %lld of %lld (missing=\"group\" "
                     "makes a key of such entries, missing=\"drop\" leaves them out)",
                     (long long)call->bad, (long long)call->n);
        return -1;
    }
    PyArrayObject *const first =
            options->wants_first || needs_firsts(keys) ? firsts_of(call) : NULL;
    if (first == NULL && PyErr_Occurred()) {
        return -1;
    }
    int n = 1;
    out[n++] = uniques_of(state, keys, call, first);
    if (options->wants_first && out[n - 1] != NULL) {
        out[n++] = Py_NewRef((PyObject *)first);
    }
    if (options->wants_counts && out[n - 1] != NULL) {
        out[n++] = counts_of(state, call);
    }
    Py_XDECREF((PyObject *)first);
    return out[n - 1] != NULL ? 0 : -1;
}

/* ---- ids ---- */

static const char scratch_name[] = "pyscatter.scratch";

/* The capsule knows how long its memory is. */
static void
free_scratch(PyObject *capsule)
{
    ps_scratch_put(PyCapsule_GetPointer(capsule, scratch_name),
                   (int64_t)(intptr_t)PyCapsule_GetContext(capsule));
}

/* An array of ids in work memory, which goes back with it. */
static PyArrayObject *
ids_in_scratch(PyArrayObject *like, int64_t nbytes)
{
    void *const memory = ps_scratch_get(nbytes);
    if (memory == NULL) {
        return (PyArrayObject *)PyErr_NoMemory();
    }
    PyObject *const owner = PyCapsule_New(memory, scratch_name, free_scratch);
    if (owner == NULL) {
        ps_scratch_put(memory, nbytes);
        return NULL;
    }
    PyCapsule_SetContext(owner, (void *)(intptr_t)nbytes); /* fails for no capsule */
    PyArrayObject *const ids = (PyArrayObject *)PyArray_SimpleNewFromData(
            PyArray_NDIM(like), PyArray_DIMS(like), NPY_INTP, memory);
    if (ids == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject(ids, owner) < 0) {
        Py_DECREF((PyObject *)ids);
        return NULL;
    }
    return ids;
}

/* Ids that are given up with the call are kept for the next one where they are long:
 * new pages for 40 MB take 15 ms, and numbering 5,000,000 keys 12. */
static PyArrayObject *
room_for_ids(PyArrayObject *like, bool is_hidden)
{
    enum {
        LONG_BYTES = 4 << 20
    };
    int64_t nbytes;
    const bool fits = ps_multiply(PyArray_SIZE(like), sizeof(npy_intp), &nbytes);
    return is_hidden && fits && nbytes >= LONG_BYTES
                   ? ids_in_scratch(like, nbytes)
                   : (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(like),
                                                        PyArray_DIMS(like), NPY_INTP);
}

/* The front half of their memory as int32, in their place. */
static int
shorten_ids(PyObject **ids)
{
    PyArrayObject *const array = (PyArrayObject *)*ids;
    PyObject *const half = PyArray_SimpleNewFromData(
            PyArray_NDIM(array), PyArray_DIMS(array), NPY_INT32, PyArray_DATA(array));
    if (half == NULL) {
        return -1;
    }
    const int status = PyArray_SetBaseObject((PyArrayObject *)half, *ids);
    *ids = half;
    return status;
}

int
ps_factorize(ps_state *state, ps_key_columns *keys, ps_key_options *options,
             const char *mask, PyObject *out[4])
{
    enum {
        /* Fewer lie in the near caches, and a view of them takes 0.1 us. */
        SHORT_FROM = 4096
    };
    PyArrayObject *const like = keys->key[0];
    const npy_intp n = PyArray_SIZE(like);
    memset(out, 0, 4 * sizeof(out[0]));
    PyArrayObject *const ids = room_for_ids(like, options->hides_ids);
    if (ids == NULL) {
        return -1;
    }
    out[0] = (PyObject *)ids;
    ps_keys_call call = {.column = keys->column,
                         .n_columns = keys->n,
                         .n = n,
                         .mask = mask,
                         .sorts = options->sorts,
                         .missing = options->missing,
                         .way = (enum ps_key_way)state->keys_way,
                         .parts = state->keys_parts,
                         .ids = PyArray_DATA(ids),
                         .may_be_short = options->hides_ids &&
                                         (n >= SHORT_FROM || state->keys_way != 0)};
    const ps_status status = ps_run_op(state, ps_number_keys, &call,
                                       n > INT64_MAX / 16 ? INT64_MAX : 16 * n);
    int result = ps_raise(state, status, "keys");
    options->has_dropped = call.drops;
    if (result == 0 && call.are_short) {
        result = shorten_ids(&out[0]);
    }
    if (result == 0) {
        result = deliver(state, keys, options, &call, out);
    }
    ps_close_keys(&call);
    for (int i = 0; i < 4 && result < 0; i++) {
        Py_CLEAR(out[i]);
    }
    return result;
}

/* What is given becomes a tuple; references are stolen. */
static PyObject *
tuple_of(PyObject *out[4])
{
    const int n = out[3] != NULL ? 4 : out[2] != NULL ? 3 : 2;
    PyObject *const tuple = PyTuple_New(n);
    for (int i = 0; i < n; i++) {
        if (tuple != NULL) {
            PyTuple_SET_ITEM(tuple, i, out[i]);
        }
        else {
            Py_DECREF(out[i]);
        }
    }
    return tuple;
}

PyObject *
ps_py_factorize(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                PyObject *keywords)
{
    static const ps_signature signature = {
            "factorize",
            4,
            0,
            0,
            {PS_NAME_sort, PS_NAME_missing, PS_NAME_return_first,
             PS_NAME_return_counts}};
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *out[4] = {NULL}, *result = NULL;
    ps_key_options options = {.sorts = true, .missing = PS_MISSING_GROUP};
    if (ps_parse(state, &signature, args + n_args, 0, keywords, slot) < 0 ||
        ps_take_key_options(&options, slot[0], slot[1]) < 0 ||
        ps_to_bool(slot[2], "return_first", &options.wants_first) < 0 ||
        ps_to_bool(slot[3], "return_counts", &options.wants_counts) < 0) {
        return NULL;
    }
    if (n_args == 0) {
        PyErr_SetString(PyExc_TypeError,
                        "factorize() needs at least one array of keys");
        return NULL;
    }
    ps_key_columns keys;
    if (ps_open_keys(state, &keys, args, n_args) == 0 &&
        ps_make_columns(state, &keys, options.sorts,
                        options.missing == PS_MISSING_GROUP) == 0 &&
        ps_factorize(state, &keys, &options, NULL, out) == 0) {
        result = tuple_of(out);
    }
    ps_close_keys_columns(&keys);
    return result;
}
