/* Limits of runs of entries (contract in limits.h).
 *
 * Ops check limits where they use them and say no more than that one is bad. Which one,
 * and why, is looked for here, after the fact.
 */
#include "python/limits.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/numbers.h"
#include "python/request.h"

#define HINT "; starts= and stops= may leave entries out, overlap, come in any order"

PyArrayObject *
ps_as_limits(ps_state *state, PyObject *object, const char *name)
{
    PyArrayObject *array = ps_as_index(state, object, name);
    if (array != NULL && PyArray_NDIM(array) != 1) {
        PyObject *const shape =
                PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
        if (shape != NULL) {
            PyErr_Format(PyExc_ValueError, "'%s' has shape %R; expected one axis", name,
                         shape);
            Py_DECREF(shape);
        }
        Py_CLEAR(array);
    }
    if (array != NULL && ps_is_swapped(array)) {
        Py_SETREF(array, ps_contiguous(array));
    }
    return array;
}

bool
ps_read_limit(PyArrayObject *limits, npy_intp at, int64_t *value)
{
    const char *const from = PyArray_BYTES(limits) + at * PyArray_STRIDE(limits, 0);
    ps_kernels()->rows[ps_index_type_of(limits)](PS_MODE_DROP, value, from, 1, 0,
                                                 INT64_MAX);
    return *value >= 0;
}

/* ValueError for number `at` of a vector. */
static int
refuse(const char *name, PyArrayObject *array, npy_intp at, const char *why,
       int64_t number, const char *hint)
{
    PyObject *const item = PyArray_GETITEM(
            array, PyArray_BYTES(array) + at * PyArray_STRIDE(array, 0));
    char words[80];
    PyOS_snprintf(words, sizeof(words), why, (long long)number);
    if (item != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "%s[%zd] is %S; %s%s (position %zd of %zd in '%s')", name, at,
                     item, words, hint, at, PyArray_DIM(array, 0), name);
        Py_DECREF(item);
    }
    return -1;
}

/* ---- lengths ---- */

PyArrayObject *
ps_offsets_of(ps_state *state, PyArrayObject *lengths, int64_t n_entries)
{
    const npy_intp n = PyArray_DIM(lengths, 0);
    npy_intp shape = n + 1;
    PyArrayObject *const offsets =
            (PyArrayObject *)PyArray_SimpleNew(1, &shape, NPY_INT64);
    if (offsets == NULL) {
        return NULL;
    }
    int64_t *const to = PyArray_DATA(offsets);
    bool fits = true;
    const int64_t n_bad = ps_kernels()->rows[ps_index_type_of(lengths)](
            PS_MODE_DROP, to + 1, PyArray_BYTES(lengths), n, PyArray_STRIDE(lengths, 0),
            INT64_MAX);
    for (npy_intp i = 0; n_bad > 0 && i < n && !PyErr_Occurred(); i++) {
        if (ps_key_of(state, lengths, i) < ps_key_of_zero(lengths)) {
            refuse("lengths", lengths, i, "lengths must not be negative", 0, "");
        }
    }
    to[0] = 0;
    for (npy_intp i = 1; i <= n && !PyErr_Occurred(); i++) {
        fits = fits && to[i] >= 0 && !__builtin_add_overflow(to[i - 1], to[i], &to[i]);
        (void)ps_hear(i);
    }
    if (!PyErr_Occurred() && !fits) {
        PyErr_SetString(PyExc_ValueError,
                        "lengths sum to a number that does not fit in 64 bits");
    }
    else if (!PyErr_Occurred() && n_entries >= 0 && to[n] != n_entries) {
        PyErr_Format(PyExc_ValueError,
                     "lengths sum to %lld; expected %lld, the number of entries",
                     (long long)to[n], (long long)n_entries);
    }
    if (PyErr_Occurred()) {
        Py_DECREF((PyObject *)offsets);
        return NULL;
    }
    return offsets;
}

int
ps_count_entries(ps_state *state, ps_runs *runs, bool from_lengths, npy_intp *n_entries)
{
    int64_t last = 0, stop = 0;
    bool fits = true;
    if (from_lengths) {
        runs->starts = ps_offsets_of(state, runs->stops, -1);
        if (runs->starts == NULL) {
            return -1;
        }
    }
    if (from_lengths || runs->stops == NULL) {
        runs->are_offsets = true;
        const npy_intp n = PyArray_DIM(runs->starts, 0);
        fits = n > 0 && ps_read_limit(runs->starts, n - 1, &last);
    }
    else {
        for (npy_intp i = 0; fits && i < PyArray_DIM(runs->stops, 0); i++) {
            fits = ps_read_limit(runs->stops, i, &stop) && ps_hear(i + 1) == 0;
            last = stop > last ? stop : last;
        }
    }
    *n_entries = last;
    return fits ? 0 : PyErr_Occurred() ? -1 : ps_raise_limits(state, runs, -1);
}

/* ---- words ---- */

static int
raise_offsets(ps_state *state, PyArrayObject *offsets, int64_t n_entries)
{
    const npy_intp n = PyArray_DIM(offsets, 0);
    int64_t last;
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "offsets is empty; expected at least a 0" HINT);
        return -1;
    }
    for (npy_intp i = 1; i < n; i++) {
        if (ps_key_of(state, offsets, i) < ps_key_of(state, offsets, i - 1)) {
            return refuse("offsets", offsets, i, "offsets must not decrease", 0, HINT);
        }
    }
    if (ps_key_of(state, offsets, 0) != ps_key_of_zero(offsets)) {
        return refuse("offsets", offsets, 0, "expected 0", 0, HINT);
    }
    if (!ps_read_limit(offsets, n - 1, &last) ||
        (n_entries >= 0 && last != n_entries)) {
        return refuse("offsets", offsets, n - 1,
                      n_entries < 0 ? "the last must fit in 64 bits"
                                    : "the last must be %lld, the number of entries",
                      n_entries, HINT);
    }
    return ps_raise_changed("offsets");
}

int
ps_raise_limits(ps_state *state, const ps_runs *runs, int64_t n_entries)
{
    PyArrayObject *const limits[2] = {runs->starts, runs->stops};
    const char *const names[2] = {"starts", "stops"};
    const int64_t most = n_entries < 0 ? INT64_MAX - 1 : n_entries;
    int64_t start, stop;
    if (runs->are_offsets) {
        return raise_offsets(state, runs->starts, n_entries);
    }
    for (int side = 0; side < 2; side++) {
        for (npy_intp i = 0; i < PyArray_DIM(limits[side], 0); i++) {
            if (!ps_read_limit(limits[side], i, &start) || start > most) {
                return refuse(names[side], limits[side], i, "there are %lld entries",
                              most, "");
            }
        }
    }
    const npy_intp n = ps_min(PyArray_DIM(limits[0], 0), PyArray_DIM(limits[1], 0));
    for (npy_intp i = 0; i < n; i++) {
        if (ps_read_limit(limits[0], i, &start) && ps_read_limit(limits[1], i, &stop) &&
            stop < start) {
            return refuse("stops", limits[1], i, "its start is %lld", start, "");
        }
    }
    return ps_raise_changed("starts");
}
