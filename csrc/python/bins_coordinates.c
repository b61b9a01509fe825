/* Coordinates and their bins (contract in bins_coordinates.h). */
#include "python/bins_coordinates.h"

#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/histogram.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

/* ---- which arrays ---- */

static int
take_outside(PyObject *object, enum ps_outside *outside)
{
#define OUTSIDE_NAME(name) [PS_OUTSIDE_##name] = #name,
    static const char *const names[PS_NUM_OUTSIDE] = {
            PS_FOR_EACH_OUTSIDE(OUTSIDE_NAME)};
    *outside = PS_OUTSIDE_drop;
    if (object == NULL) {
        return 0;
    }
    for (int i = 0; PyUnicode_Check(object) && i < PS_NUM_OUTSIDE; i++) {
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            *outside = (enum ps_outside)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown outside %R; choose from drop, clip, extend",
                 object);
    return -1;
}

static void
begin(ps_binning *binning, ps_state *state)
{
    binning->state = state;
    binning->n_coordinates = 1;
    binning->coordinates = &binning->one;
    memset(&binning->one, 0, offsetof(ps_coordinate, finder));
    binning->one.has_finder = false;
    binning->is_table = false;
    binning->n_columns = 1;
}

static int
make_room(ps_binning *binning, Py_ssize_t n)
{
    if (n < 1 || n > PS_MAX_COORDINATES) {
        PyErr_Format(PyExc_ValueError, "expected 1 to %d coordinates, got %zd",
                     PS_MAX_COORDINATES, n);
        return -1;
    }
    if (n > 1) {
        binning->coordinates = PyMem_Calloc((size_t)n, sizeof(ps_coordinate));
        if (binning->coordinates == NULL) {
            binning->coordinates = &binning->one;
            PyErr_NoMemory();
            return -1;
        }
    }
    binning->n_coordinates = (int)n;
    return 0;
}

/* Arrays as they come; what they hold is looked at once nothing more runs code. */
static int
take_array(ps_binning *binning, int i, PyObject *object, const char *name)
{
    binning->coordinates[i].array = ps_as_array(binning->state, object, name);
    return binning->coordinates[i].array != NULL ? 0 : -1;
}

/* Are these numbers, which are one coordinate, and not arrays of them? */
static bool
are_numbers(PyObject *items)
{
    bool are = true;
    for (Py_ssize_t i = 0; are && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *const item = PySequence_Fast_GET_ITEM(items, i);
        are = PyFloat_Check(item) || PyLong_Check(item) ||
              PyArray_IsScalar(item, Generic);
    }
    return are;
}

static int
take_each(ps_binning *binning, PyObject *items)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(items);
    int status = make_room(binning, n);
    for (int i = 0; status == 0 && i < n; i++) {
        status = take_array(binning, i, PyTuple_GET_ITEM(items, i), "coords");
    }
    return status;
}

static int
take_coordinates(ps_binning *binning, PyObject *coords)
{
    if (!PyTuple_Check(coords) && !PyList_Check(coords)) {
        if (take_array(binning, 0, coords, "coords") < 0) {
            return -1;
        }
        PyArrayObject *const array = binning->one.array;
        if (PyArray_NDIM(array) == 1 || PyArray_NDIM(array) == 2) {
            binning->is_table = PyArray_NDIM(array) == 2;
            binning->n_columns = binning->is_table ? PyArray_DIM(array, 1) : 1;
            return 0;
        }
        PyErr_Format(PyExc_ValueError,
                     "coords must have one axis, or be (n, D), or a tuple of arrays of "
                     "one shape; got an array with %d axes",
                     PyArray_NDIM(array));
        return -1;
    }
    PyObject *const items = PySequence_Tuple(coords);
    if (items == NULL) {
        return -1;
    }
    const int status = PyTuple_GET_SIZE(items) > 0 && !are_numbers(items)
                               ? take_each(binning, items)
                               : take_array(binning, 0, items, "coords");
    Py_DECREF(items);
    return status;
}

/* (n, D): D columns, as views of a view that nobody else has. */
static int
split_table(ps_binning *binning)
{
    PyArrayObject *table = binning->one.array;
    binning->one.array = NULL;
    int status = ps_hold_view(&table);
    if (status == 0 &&
        (PyArray_NDIM(table) != 2 || PyArray_DIM(table, 1) != binning->n_columns)) {
        status = ps_raise_changed("coords");
    }
    for (int i = 0; status == 0 && i < binning->n_coordinates; i++) {
        npy_intp n = PyArray_DIM(table, 0), stride = PyArray_STRIDE(table, 0);
        PyArray_Descr *const descr = PyArray_DESCR(table);
        PyArrayObject *const column = (PyArrayObject *)PyArray_NewFromDescr(
                &PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 1, &n,
                &stride, PyArray_BYTES(table) + i * PyArray_STRIDE(table, 1), 0, NULL);
        status = column == NULL || PyArray_SetBaseObject(
                                           column, Py_NewRef((PyObject *)table)) < 0
                         ? -1
                         : 0;
        Py_XSETREF(binning->coordinates[i].array, column);
    }
    Py_XDECREF((PyObject *)table);
    return status;
}

/* From here on nothing runs Python code. */
static int
settle(ps_binning *binning, const char *name)
{
    int status = binning->is_table ? split_table(binning) : 0;
    for (int i = 0; status == 0 && i < binning->n_coordinates; i++) {
        ps_coordinate *const own = &binning->coordinates[i];
        status = ps_settle_real(binning->state, &own->array, name, &own->dtype);
    }
    return status;
}

/* ---- bins and ranges ---- */

static bool
is_list(PyObject *object)
{
    return object != NULL && (PyTuple_Check(object) || PyList_Check(object));
}

/* One for all, or a tuple of one for each. */
static bool
is_for_each(PyObject *bins, Py_ssize_t n)
{
    return is_list(bins) && PySequence_Size(bins) == n;
}

/* A pair of numbers is one range for all. */
static bool
is_pair(PyObject *range)
{
    if (PySequence_Size(range) != 2) {
        return false;
    }
    bool are = true;
    for (Py_ssize_t i = 0; are && i < 2; i++) {
        PyObject *const item = PySequence_GetItem(range, i);
        are = item != NULL && item != Py_None && !is_list(item) &&
              (!PyArray_Check(item) || PyArray_NDIM((PyArrayObject *)item) == 0);
        Py_XDECREF(item);
    }
    return are;
}

/* A snapshot of a list, or of a table of ranges; other objects as they are. A new
 * reference, or NULL where there is an exception or nothing. */
static PyObject *
snapshot(PyObject *object, bool takes_table)
{
    const bool is_table = object != NULL && takes_table && PyArray_Check(object) &&
                          PyArray_NDIM((PyArrayObject *)object) == 2;
    return object == NULL                ? NULL
           : is_table || is_list(object) ? PySequence_Tuple(object)
                                         : Py_NewRef(object);
}

static int
take_requests(ps_binning *binning, PyObject *bins, PyObject *range)
{
    const Py_ssize_t n =
            binning->is_table ? binning->n_columns : binning->n_coordinates;
    const bool has_bins = is_for_each(bins, n);
    const bool has_ranges = is_list(range) && !is_pair(range);
    if (has_ranges && PyTuple_GET_SIZE(range) != n) {
        PyErr_Format(PyExc_ValueError,
                     "range must be a pair of numbers, or one for each of %zd "
                     "coordinates",
                     n);
        return -1;
    }
    if (binning->is_table && make_room(binning, n) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (ps_take_bins(binning->state, has_bins ? PyTuple_GET_ITEM(bins, i) : bins,
                         has_ranges ? PyTuple_GET_ITEM(range, i) : range,
                         &binning->coordinates[i].request) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
take_all_bins(ps_binning *binning, PyObject *bins, PyObject *range)
{
    PyObject *const own_bins = snapshot(bins, false), *const own_range =
                                                              snapshot(range, true);
    const int status =
            PyErr_Occurred() ? -1 : take_requests(binning, own_bins, own_range);
    Py_XDECREF(own_bins);
    Py_XDECREF(own_range);
    return status;
}

/* Coordinates have one shape; all bins together are as many as a number holds. */
static int
check_sizes(ps_binning *binning)
{
    PyArrayObject *const first = binning->coordinates[0].array;
    binning->n = PyArray_SIZE(first);
    binning->n_bins = 1;
    for (int i = 0; i < binning->n_coordinates; i++) {
        const ps_coordinate *const own = &binning->coordinates[i];
        if (!PyArray_SAMESHAPE(own->array, first)) {
            return ps_raise_shapes(PyExc_ValueError,
                                   "coordinates must have one shape, got %U and %U",
                                   PyArray_NDIM(first), PyArray_DIMS(first),
                                   PyArray_NDIM(own->array), PyArray_DIMS(own->array));
        }
        const bool is_wider = binning->outside == PS_OUTSIDE_extend;
        if (ps_check_bin_count(own->request.n_bins, binning->n) < 0) {
            return -1;
        }
        binning->sizes[i] = (npy_intp)(own->request.n_bins + (is_wider ? 2 : 0));
        if (!ps_multiply(binning->n_bins, binning->sizes[i], &binning->n_bins)) {
            binning->n_bins = INT64_MAX;
        }
    }
    return ps_check_bin_count(binning->n_bins, binning->n);
}

int
ps_take_binning(ps_binning *binning, ps_state *state, PyObject *coords, PyObject *bins,
                PyObject *range, PyObject *outside)
{
    begin(binning, state);
    return take_outside(outside, &binning->outside) < 0 ||
                           take_coordinates(binning, coords) < 0 ||
                           take_all_bins(binning, bins, range) < 0 ||
                           settle(binning, "coords") < 0
                   ? -1
                   : check_sizes(binning);
}

int
ps_take_one_binning(ps_binning *binning, ps_state *state, PyObject *x, PyObject *bins,
                    PyObject *range, PyObject *outside)
{
    begin(binning, state);
    return take_outside(outside, &binning->outside) < 0 ||
                           take_array(binning, 0, x, "x") < 0 ||
                           ps_take_bins(state, bins, range, &binning->one.request) <
                                   0 ||
                           settle(binning, "x") < 0
                   ? -1
                   : check_sizes(binning);
}

/* ---- edges ---- */

/* The finite extremes, or (0, 1) where there are none. */
static int
find_range(const ps_binning *binning, ps_coordinate *own, double *low, double *high)
{
    if (own->request.has_range) {
        *low = own->request.low;
        *high = own->request.high;
        return 0;
    }
    ps_histogram_call call = {.x = ps_view_of(own->array, own->dtype, &own->axes),
                              .n = binning->n};
    const ps_status status = ps_run_op(binning->state, ps_histogram_measure, &call,
                                       PyArray_NBYTES(own->array));
    const bool is_empty = call.moments.n_finite == 0;
    *low = is_empty ? 0 : call.moments.min;
    *high = is_empty ? 1 : call.moments.max;
    return ps_raise(binning->state, status, "coords");
}

static int
open_coordinate(ps_binning *binning, ps_coordinate *own)
{
    double low, high;
    const int status = own->request.given != NULL
                               ? ps_make_given_edges(binning->state, &own->request,
                                                     own->dtype, true, &own->made)
                       : find_range(binning, own, &low, &high) < 0
                               ? -1
                               : ps_make_even_edges(binning->state, &own->request, low,
                                                    high, false, &own->made);
    if (status < 0) {
        return -1;
    }
    own->has_finder = true;
    return ps_open_finder(binning->state, &own->finder, &own->made.edges, own->dtype,
                          binning->n);
}

int
ps_open_binning(ps_binning *binning)
{
    int status = 0;
    for (int i = 0; status == 0 && i < binning->n_coordinates; i++) {
        status = open_coordinate(binning, &binning->coordinates[i]);
    }
    return status;
}

int
ps_run_binning(const ps_binning *binning, char *number, int number_bytes,
               int64_t *count)
{
    ps_view views[PS_MAX_COORDINATES];
    const ps_finder *finders[PS_MAX_COORDINATES];
    for (int i = 0; i < binning->n_coordinates; i++) {
        ps_coordinate *const own = &binning->coordinates[i];
        views[i] = ps_view_of(own->array, own->dtype, &own->axes);
        finders[i] = &own->finder;
    }
    ps_bins_call call = {.n_coordinates = binning->n_coordinates,
                         .coordinates = views,
                         .finders = finders,
                         .outside = binning->outside,
                         .n = binning->n,
                         .n_bins = binning->n_bins,
                         .number = number,
                         .number_bytes = number_bytes,
                         .count = count};
    const int64_t nbytes = 8 * (binning->n * binning->n_coordinates +
                                (count != NULL ? binning->n_bins : 0));
    return ps_raise(binning->state,
                    ps_run_op(binning->state, ps_bins_find, &call, nbytes), "coords");
}

PyObject *
ps_edges_of(const ps_binning *binning)
{
    if (binning->n_coordinates == 1) {
        return Py_NewRef((PyObject *)binning->coordinates[0].made.array);
    }
    PyObject *const all = PyList_New(binning->n_coordinates);
    for (int i = 0; all != NULL && i < binning->n_coordinates; i++) {
        PyList_SET_ITEM(all, i,
                        Py_NewRef((PyObject *)binning->coordinates[i].made.array));
    }
    return all;
}

void
ps_close_binning(ps_binning *binning)
{
    for (int i = 0; i < binning->n_coordinates; i++) {
        ps_coordinate *const own = &binning->coordinates[i];
        Py_XDECREF((PyObject *)own->array);
        Py_XDECREF((PyObject *)own->request.given);
        ps_close_edges(&own->made);
        if (own->has_finder) {
            ps_finder_close(&own->finder);
        }
    }
    if (binning->coordinates != &binning->one) {
        Py_XDECREF((PyObject *)binning->one.array); /* a table that was not split */
        PyMem_Free(binning->coordinates);
    }
}
