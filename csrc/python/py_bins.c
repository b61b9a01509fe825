/* The binding of bin_index and binned_reduce.
 *
 * Counts without options are made in the pass that finds the bins. Every other op is
 * segment_reduce by the numbers of bins, which that pass has written: the ops, their
 * options and their errors are those of segments. Entries are along one axis there,
 * whatever the shape of the coordinates, and bins along one axis of the result, which
 * becomes as many as there are coordinates.
 */
#include "python/py_bins.h"

#include <stddef.h>
#include <string.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/bins_coordinates.h"
#include "python/copies.h"
#include "python/outcome.h"
#include "python/py_segment.h"

PyObject *
ps_py_force_bin_way(PyObject *module, PyObject *name)
{
    (void)module;
    int found = name == Py_None ? -1 : -2;
    for (int way = 0; PyUnicode_Check(name) && way < PS_BINS_log2; way++) {
        if (PyUnicode_CompareWithASCIIString(
                    name, ps_bin_way_name((enum ps_bin_way)way)) == 0) {
            found = way;
        }
    }
    if (found == -2) {
        PyErr_Format(PyExc_ValueError, "unknown way %R", name);
        return NULL;
    }
    const int before = ps_force_bin_way(found);
    if (before < 0) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(ps_bin_way_name((enum ps_bin_way)before));
}

/* ---- bin_index ---- */

static PyObject *
index_of(ps_binning *binning)
{
    PyArrayObject *const x = binning->coordinates[0].array;
    PyObject *const ids = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INTP);
    if (ids == NULL || ps_run_binning(binning, PyArray_BYTES((PyArrayObject *)ids),
                                      (int)sizeof(npy_intp), NULL) < 0) {
        Py_XDECREF(ids);
        return NULL;
    }
    return Py_BuildValue("NN", ids, ps_edges_of(binning));
}

PyObject *
ps_py_bin_index(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                PyObject *keywords)
{
    static const ps_signature signature = {
            "bin_index",
            4,
            3,
            1,
            {PS_NAME_x, PS_NAME_bins, PS_NAME_range, PS_NAME_outside}};
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES];
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    ps_binning binning;
    PyObject *const result = ps_take_one_binning(&binning, state, slot[0], slot[1],
                                                 slot[2], slot[3]) == 0 &&
                                             ps_open_binning(&binning) == 0
                                     ? index_of(&binning)
                                     : NULL;
    ps_close_binning(&binning);
    return result;
}

/* ---- binned_reduce: arguments ---- */

enum {
    COORDS,
    VALUES,
    BINS,
    RANGE,
    OUTSIDE,
    OP,
    OUT,
    WHERE,
    WEIGHTS,
    N_OWN,
    N_POSITIONAL = 4,
    /* Options of segment_reduce that pass through. */
    MOST_OPTIONS = 16
};

typedef struct {
    ps_state *state;
    PyObject *slot[N_OWN];             /* borrowed, or NULL */
    PyObject *names[MOST_OPTIONS + 6]; /* borrowed: of options, as they are given */
    PyObject *options[MOST_OPTIONS + 6];
    int n_options;
    ps_binning binning;
    PyArrayObject *number;          /* owned: of the bin of each entry */
    PyArrayObject *where, *weights; /* owned: as segments see them, or NULL */
} binned_work;

/* Options of segments that pass through: all but those that say which entries belong
 * together, which is said by coordinates here. */
static bool
passes(const ps_state *state, PyObject *name)
{
    static const enum ps_name options[] = {PS_NAME_q,
                                           PS_NAME_ddof,
                                           PS_NAME_initial,
                                           PS_NAME_fill_value,
                                           PS_NAME_skipna,
                                           PS_NAME_return_arg,
                                           PS_NAME_return_counts,
                                           PS_NAME_dtype,
                                           PS_NAME_compensated};
    bool does = false;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        does = does || PyUnicode_Compare(state->name[options[i]], name) == 0;
    }
    return does;
}

static int
take_option(binned_work *work, PyObject *name, PyObject *value)
{
    static const enum ps_name own[N_OWN] = {
            PS_NAME_coords, PS_NAME_values,  PS_NAME_bins,
            PS_NAME_range,  PS_NAME_outside, PS_NAME_op,
            PS_NAME_out,    PS_NAME_where,   PS_NAME_weights};
    for (int i = 0; i < N_OWN; i++) {
        if (PyUnicode_Compare(work->state->name[own[i]], name) != 0) {
            continue;
        }
        if (work->slot[i] != NULL) {
            PyErr_Format(PyExc_TypeError,
                         "binned_reduce() got multiple values for argument '%U'", name);
            return -1;
        }
        work->slot[i] = value;
        return 0;
    }
    if (!passes(work->state, name) || work->n_options == MOST_OPTIONS) {
        PyErr_Format(PyExc_TypeError,
                     "binned_reduce() got an unexpected keyword argument '%U'", name);
        return -1;
    }
    work->names[work->n_options] = name;
    work->options[work->n_options++] = value;
    return 0;
}

static int
take_binned(binned_work *work, PyObject *const *args, Py_ssize_t n_args,
            PyObject *keywords)
{
    const Py_ssize_t n = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    if (n_args > N_POSITIONAL) {
        PyErr_Format(PyExc_TypeError,
                     "binned_reduce() takes at most 4 positional arguments (%zd given)",
                     n_args);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_args; i++) {
        work->slot[i] = args[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (take_option(work, PyTuple_GET_ITEM(keywords, i), args[n_args + i]) < 0) {
            return -1;
        }
    }
    for (int i = OUT; i < N_OWN; i++) {
        work->slot[i] = work->slot[i] == Py_None ? NULL : work->slot[i];
    }
    if (work->slot[COORDS] == NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "binned_reduce() missing required argument 'coords'");
        return -1;
    }
    return 0;
}

/* Is it the count that needs no segments? */
static bool
is_plain_count(const binned_work *work)
{
    PyObject *const op = work->slot[OP], *const values = work->slot[VALUES];
    const bool is_count =
            op == NULL ||
            (PyUnicode_Check(op) && PyUnicode_CompareWithASCIIString(op, "count") == 0);
    return is_count && (values == NULL || values == Py_None) && work->n_options == 0 &&
           work->slot[OUT] == NULL && work->slot[WHERE] == NULL &&
           work->slot[WEIGHTS] == NULL;
}

/* ---- entries along one axis ---- */

/* An array whose first axes are those of the coordinates, with these as one: as it is
 * where they are one. A new reference, or NULL. */
static PyArrayObject *
flatten(const binned_work *work, PyArrayObject *array, const char *name)
{
    PyArrayObject *const like = work->binning.coordinates[0].array;
    const int n_own = PyArray_NDIM(like), ndim = PyArray_NDIM(array);
    if (ndim < n_own ||
        !PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(like), n_own)) {
        PyObject *const shape = PyArray_IntTupleFromIntp(ndim, PyArray_DIMS(array));
        PyObject *const own = PyArray_IntTupleFromIntp(n_own, PyArray_DIMS(like));
        if (shape != NULL && own != NULL) {
            PyErr_Format(PyExc_ValueError,
                         "%s has shape %R; expected the shape of the coordinates, %R, "
                         "with axes of a row behind it or none",
                         name, shape, own);
        }
        Py_XDECREF(shape);
        Py_XDECREF(own);
        return NULL;
    }
    if (n_own == 1) {
        return (PyArrayObject *)Py_NewRef((PyObject *)array);
    }
    npy_intp shape[PS_MAX_DIMS];
    PyArray_Dims dims = {shape, ndim - n_own + 1};
    if (dims.len > PS_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has too many axes", name);
        return NULL;
    }
    shape[0] = (npy_intp)work->binning.n;
    for (int i = n_own; i < ndim; i++) {
        shape[i - n_own + 1] = PyArray_DIM(array, i);
    }
    return (PyArrayObject *)PyArray_Newshape(array, &dims, NPY_CORDER);
}

/* where= in the shape of the coordinates or of the values, of either broadcast. */
static PyArrayObject *
flat_mask(const binned_work *work, PyArrayObject *values)
{
    PyArrayObject *const like = work->binning.coordinates[0].array;
    PyArrayObject *const mask = ps_as_mask(work->state, work->slot[WHERE], "where");
    if (mask == NULL) {
        return NULL;
    }
    PyArrayObject *const shape =
            PyArray_NDIM(mask) <= PyArray_NDIM(like) || values == NULL ? like : values;
    if (!ps_broadcasts_to(mask, PyArray_NDIM(shape), PyArray_DIMS(shape))) {
        ps_raise_shapes(PyExc_ValueError,
                        "'where' has shape %U; expected to broadcast to %U",
                        PyArray_NDIM(mask), PyArray_DIMS(mask), PyArray_NDIM(shape),
                        PyArray_DIMS(shape));
        Py_DECREF((PyObject *)mask);
        return NULL;
    }
    PyArrayObject *const full = (PyArrayObject *)PyArray_NewLikeArray(
            shape, NPY_CORDER, PyArray_DescrFromType(NPY_BOOL), 0);
    const int status = full != NULL ? PyArray_CopyInto(full, mask) : -1;
    Py_DECREF((PyObject *)mask);
    PyArrayObject *const flat = status == 0 ? flatten(work, full, "where") : NULL;
    Py_XDECREF((PyObject *)full);
    return flat;
}

/* One for each entry, or one for all. */
static PyArrayObject *
flat_weights(const binned_work *work, PyArrayObject *weights)
{
    return PyArray_NDIM(weights) == 0 ? (PyArrayObject *)Py_NewRef((PyObject *)weights)
                                      : flatten(work, weights, "weights");
}

/* ---- results ---- */

/* The axis of bins of a result as one axis for each coordinate; rows have n_row axes.
 * Tuples item by item. A new reference, or NULL. */
static PyObject *
spread(const binned_work *work, PyObject *result, int n_row)
{
    if (PyTuple_Check(result)) {
        const Py_ssize_t n = PyTuple_GET_SIZE(result);
        PyObject *const all = PyTuple_New(n);
        for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
            PyObject *const item = spread(work, PyTuple_GET_ITEM(result, i), n_row);
            if (item == NULL) {
                Py_DECREF(all);
                return NULL;
            }
            PyTuple_SET_ITEM(all, i, item);
        }
        return all;
    }
    const ps_binning *const binning = &work->binning;
    if (!PyArray_Check(result) || binning->n_coordinates == 1) {
        return Py_NewRef(result);
    }
    PyArrayObject *const array = (PyArrayObject *)result;
    const int ndim = PyArray_NDIM(array), n_own = binning->n_coordinates;
    const int axis = ndim > n_row ? ndim - 1 - n_row : 0;
    npy_intp shape[PS_MAX_DIMS];
    PyArray_Dims dims = {shape, ndim - 1 + n_own};
    if (dims.len > PS_MAX_DIMS) {
        PyErr_SetString(PyExc_ValueError, "the result has too many axes");
        return NULL;
    }
    for (int i = 0; i < dims.len; i++) {
        shape[i] = i < axis           ? PyArray_DIM(array, i)
                   : i < axis + n_own ? binning->sizes[i - axis]
                                      : PyArray_DIM(array, i - n_own + 1);
    }
    return PyArray_Newshape(array, &dims, NPY_CORDER);
}

/* segment_reduce(values, number, n_bins, mode="drop", ...). */
static PyObject *
call_segments(binned_work *work, PyObject *module, PyObject *values)
{
    PyObject *arguments[3 + MOST_OPTIONS + 6];
    PyObject *const size = PyLong_FromLongLong(work->binning.n_bins);
    PyObject *const drop = PyUnicode_InternFromString("drop");
    PyObject *const count = PyUnicode_InternFromString("count");
    const struct {
        enum ps_name name;
        PyObject *value;
    } own[] = {{PS_NAME_mode, drop},
               {PS_NAME_op, work->slot[OP] != NULL ? work->slot[OP] : count},
               {PS_NAME_where, (PyObject *)work->where},
               {PS_NAME_weights, (PyObject *)work->weights}};
    int n = work->n_options;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (own[i].value != NULL) {
            work->names[n] = work->state->name[own[i].name];
            work->options[n++] = own[i].value;
        }
    }
    PyObject *const names = PyTuple_New(n);
    PyObject *result = NULL;
    if (size != NULL && drop != NULL && count != NULL && names != NULL) {
        arguments[0] = values;
        arguments[1] = (PyObject *)work->number;
        arguments[2] = size;
        memcpy(arguments + 3, work->options, (size_t)n * sizeof(PyObject *));
        for (int i = 0; i < n; i++) {
            PyTuple_SET_ITEM(names, i, Py_NewRef(work->names[i]));
        }
        result = ps_py_segment_reduce(module, arguments, 3, names);
    }
    Py_XDECREF(names);
    Py_XDECREF(size);
    Py_XDECREF(drop);
    Py_XDECREF(count);
    return result;
}

/* Values, a mask and weights as segments see them; views are made once nothing more
 * runs Python code. *n_row: axes of a row. */
static int
flatten_all(binned_work *work, PyObject *object, PyArrayObject **flat, int *n_row)
{
    const bool has_values = object != NULL && object != Py_None;
    PyObject *const mask = work->slot[WHERE], *const given = work->slot[WEIGHTS];
    PyArrayObject *const values =
            has_values ? ps_as_array(work->state, object, "values") : NULL;
    PyArrayObject *weights = NULL;
    if (!PyErr_Occurred() && given != NULL) {
        weights = ps_as_array(work->state, given, "weights");
    }
    if (!PyErr_Occurred() && mask != NULL) {
        work->where = flat_mask(work, values);
    }
    if (!PyErr_Occurred() && weights != NULL) {
        work->weights = flat_weights(work, weights);
    }
    if (!PyErr_Occurred() && has_values) {
        *flat = flatten(work, values, "values");
        *n_row = *flat != NULL ? PyArray_NDIM(*flat) - 1 : 0;
    }
    Py_XDECREF((PyObject *)values);
    Py_XDECREF((PyObject *)weights);
    return PyErr_Occurred() ? -1 : 0;
}

/* The result for one array of values, or for None. */
static PyObject *
reduce_one(binned_work *work, PyObject *module, PyObject *object)
{
    PyArrayObject *flat = NULL;
    int n_row = 0;
    PyObject *result =
            flatten_all(work, object, &flat, &n_row) == 0
                    ? call_segments(work, module,
                                    flat != NULL ? (PyObject *)flat : Py_None)
                    : NULL;
    if (result != NULL) {
        Py_SETREF(result, spread(work, result, n_row));
    }
    Py_CLEAR(work->where);
    Py_CLEAR(work->weights);
    Py_XDECREF((PyObject *)flat);
    return result;
}

/* Of each array of values. */
static PyObject *
reduce_each(binned_work *work, PyObject *module, PyObject *values)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(values);
    PyObject *const all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
        PyObject *const one = reduce_one(work, module, PyTuple_GET_ITEM(values, i));
        if (one == NULL) {
            Py_DECREF(all);
            return NULL;
        }
        PyTuple_SET_ITEM(all, i, one);
    }
    return all;
}

/* A tuple of values: a tuple of results; out= is then a tuple, too. */
static PyObject *
reduce_all(binned_work *work, PyObject *module)
{
    PyObject *const values = work->slot[VALUES], *const out = work->slot[OUT];
    const bool are_many = values != NULL && PyTuple_Check(values);
    const Py_ssize_t n = are_many ? PyTuple_GET_SIZE(values) : 1;
    if (are_many && out != NULL &&
        (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != n)) {
        PyErr_Format(PyExc_TypeError, "'out' must be a tuple of %zd, as values is one",
                     n);
        return NULL;
    }
    PyObject *result = are_many ? reduce_each(work, module, values)
                                : reduce_one(work, module, values);
    if (result == NULL || out == NULL) {
        return result;
    }
    PyObject *const op = work->slot[OP];
    PyObject *const results = are_many ? Py_NewRef(result) : PyTuple_Pack(1, result);
    PyObject *const outs = are_many ? Py_NewRef(out) : PyTuple_Pack(1, out);
    PyObject *done = results != NULL && outs != NULL
                             ? ps_put_results(work->state, results, outs,
                                              op != NULL && PyTuple_Check(op))
                             : NULL;
    if (done != NULL && !are_many) {
        Py_SETREF(done, Py_NewRef(PyTuple_GET_ITEM(done, 0)));
    }
    Py_XDECREF(results);
    Py_XDECREF(outs);
    Py_DECREF(result);
    return done;
}

/* ---- binned_reduce ---- */

static PyArrayObject *
new_numbers(const binned_work *work, bool is_compact)
{
    const int64_t n_bins = work->binning.n_bins;
    const int type = !is_compact || n_bins > 1 << 15 ? NPY_INT32
                     : n_bins > 1 << 7               ? NPY_INT16
                                                     : NPY_INT8;
    npy_intp n = (npy_intp)work->binning.n;
    return (PyArrayObject *)PyArray_SimpleNew(1, &n, type);
}

/* Counts in the pass that finds bins; NULL with an exception. */
static PyObject *
count_bins(binned_work *work)
{
    const ps_binning *const binning = &work->binning;
    work->number = new_numbers(work, true);
    PyObject *const counts = work->number != NULL
                                     ? PyArray_ZEROS(binning->n_coordinates,
                                                     binning->sizes, NPY_INT64, 0)
                                     : NULL;
    if (counts == NULL || ps_run_binning(binning, PyArray_BYTES(work->number),
                                         (int)PyArray_ITEMSIZE(work->number),
                                         PyArray_DATA((PyArrayObject *)counts)) < 0) {
        Py_XDECREF(counts);
        return NULL;
    }
    return counts;
}

static PyObject *
reduce_bins(binned_work *work, PyObject *module)
{
    work->number = new_numbers(work, false);
    return work->number == NULL ||
                           ps_run_binning(&work->binning, PyArray_BYTES(work->number),
                                          (int)sizeof(int32_t), NULL) < 0
                   ? NULL
                   : reduce_all(work, module);
}

/* Binned(result, edges, [numbers]): numbers become ids when they are asked for. */
static PyObject *
binned_of(const binned_work *work, PyObject *result)
{
    PyObject *const type = ps_get_helper(work->state, PS_HELPER_Binned);
    PyArrayObject *const like = work->binning.coordinates[0].array;
    PyArray_Dims dims = {PyArray_DIMS(like), PyArray_NDIM(like)};
    PyObject *const number =
            type != NULL ? PyArray_Newshape(work->number, &dims, NPY_CORDER) : NULL;
    PyObject *const parts = number != NULL
                                    ? Py_BuildValue("(ON[O])", result,
                                                    ps_edges_of(&work->binning), number)
                                    : NULL;
    PyObject *const arguments = parts != NULL ? PyTuple_Pack(1, parts) : NULL;
    PyObject *const binned =
            arguments != NULL && PyType_Check(type) &&
                            PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)
                    ? PyTuple_Type.tp_new((PyTypeObject *)type, arguments, NULL)
                    : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(parts);
    Py_XDECREF(number);
    if (binned == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "Binned is no tuple");
    }
    return binned;
}

PyObject *
ps_py_binned_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *keywords)
{
    binned_work work;
    memset(&work, 0, offsetof(binned_work, binning));
    work.number = work.where = work.weights = NULL;
    work.state = ps_get_state(module);
    if (take_binned(&work, args, n_args, keywords) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (ps_take_binning(&work.binning, work.state, work.slot[COORDS], work.slot[BINS],
                        work.slot[RANGE], work.slot[OUTSIDE]) == 0 &&
        ps_open_binning(&work.binning) == 0) {
        result = is_plain_count(&work) ? count_bins(&work) : reduce_bins(&work, module);
    }
    if (result != NULL) {
        Py_SETREF(result, binned_of(&work, result));
    }
    ps_close_binning(&work.binning);
    Py_XDECREF((PyObject *)work.number);
    return result;
}
