/* bins= and range= become edges (contract in bins_edges.h).
 *
 * Even edges have the bits of np.linspace, since people compare them with NumPy's; a
 * width that is no float64 is divided before it is made. Edges that are given stay as
 * they are.
 */
#include "python/bins_edges.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/numbers.h"

enum {
    DEFAULT_BINS = 10,
    /* Bins that are meant whatever the entries; beyond, so many for each of them. */
    MEANT_BINS = 1 << 27,
    BINS_PER_ENTRY = 64
};

/* ---- arguments ---- */

int
ps_settle_real(ps_state *state, PyArrayObject **array, const char *name,
               enum ps_dtype *dtype)
{
    const int real = PS_KIND_BOOL | PS_KIND_INT | PS_KIND_FLOAT | PS_KIND_HALF;
    *dtype = ps_dtype_of(state, PyArray_DESCR(*array));
    if (*dtype == PS_f80) {
        *dtype = PS_f64;
        Py_SETREF(*array, ps_cast_of(*array, PyArray_DescrFromType(NPY_DOUBLE)));
        return *array != NULL ? 0 : -1;
    }
    if (*dtype == PS_raw || (ps_dtype_kind[*dtype] & real) == 0) {
        PyErr_Format(PyExc_TypeError, "'%s' has dtype %S; expected real numbers%s",
                     name, (PyObject *)PyArray_DESCR(*array),
                     PyArray_ISDATETIME(*array) ? " (give times as integers)" : "");
        return -1;
    }
    return ps_hold_view(array);
}

static int
take_range(PyObject *range, ps_bins_request *request)
{
    if (range == NULL || range == Py_None) {
        return 0;
    }
    PyObject *pair = PySequence_Fast(range, "range must be a pair of numbers");
    if (pair != NULL) { /* a list may change while its items become numbers */
        Py_SETREF(pair, PySequence_Tuple(pair));
    }
    if (pair == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(pair) != 2) {
        PyErr_SetString(PyExc_ValueError, "range must be a pair of numbers");
        Py_DECREF(pair);
        return -1;
    }
    double limit[2] = {0, 0};
    for (Py_ssize_t i = 0; i < 2 && !PyErr_Occurred(); i++) {
        limit[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(pair, i));
    }
    Py_DECREF(pair);
    if (PyErr_Occurred()) {
        return -1;
    }
    request->has_range = true;
    request->low = limit[0];
    request->high = limit[1];
    if (!isfinite(limit[0]) || !isfinite(limit[1])) {
        PyErr_Format(PyExc_ValueError, "range must be finite, got %R", range);
        return -1;
    }
    if (limit[0] > limit[1]) {
        PyErr_Format(PyExc_ValueError,
                     "max must be larger than min in range parameter, got %R", range);
        return -1;
    }
    return 0;
}

static int
take_number(PyObject *bins, ps_bins_request *request)
{
    PyObject *const number = ps_as_integer(bins, "bins", false);
    if (number == NULL) {
        return -1;
    }
    int overflow;
    request->n_bins = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0) {
        PyErr_Format(PyExc_ValueError, "%R bins are too many", number);
    }
    else if (overflow < 0 || request->n_bins < 1) {
        PyErr_SetString(PyExc_ValueError, "bins must be positive, when a number");
    }
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

/* A copy: what runs later may change the caller's. */
static int
take_given(ps_state *state, PyObject *bins, ps_bins_request *request)
{
    enum ps_dtype dtype;
    PyArrayObject *given = ps_as_array(state, bins, "bins");
    if (given != NULL && ps_settle_real(state, &given, "bins", &dtype) == 0) {
        PyArray_Descr *const descr = PyArray_DESCR(given);
        request->given =
                ps_fresh_copy(given, (PyArray_Descr *)Py_NewRef((PyObject *)descr));
    }
    Py_XDECREF((PyObject *)given);
    if (request->given == NULL) {
        return -1;
    }
    if (PyArray_NDIM(request->given) != 1 || PyArray_SIZE(request->given) < 2) {
        PyErr_SetString(PyExc_ValueError,
                        "bins must be 1d, when an array, of at least two edges");
        return -1;
    }
    request->n_bins = PyArray_SIZE(request->given) - 1;
    return 0;
}

/* Is it one number, in whatever form? */
static bool
is_number(PyObject *bins)
{
    return PyLong_Check(bins) || PyArray_IsScalar(bins, Generic) ||
           (PyArray_Check(bins) ? PyArray_NDIM((PyArrayObject *)bins) == 0
                                : PyIndex_Check(bins) || PyFloat_Check(bins));
}

int
ps_take_bins(ps_state *state, PyObject *bins, PyObject *range, ps_bins_request *request)
{
    *request = (ps_bins_request){.n_bins = DEFAULT_BINS};
    int status = take_range(range, request);
    if (status == 0 && bins != NULL && bins != Py_None) {
        status = is_number(bins) ? take_number(bins, request)
                                 : take_given(state, bins, request);
    }
    if (status < 0) {
        Py_CLEAR(request->given);
    }
    return status;
}

int
ps_check_bin_count(int64_t n_bins, int64_t n)
{
    const int64_t per_entry =
            n > INT64_MAX / BINS_PER_ENTRY ? INT64_MAX : n * BINS_PER_ENTRY;
    if (n_bins <= ps_min(ps_max(MEANT_BINS, per_entry), INT32_MAX - 8)) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "%lld bins are too many for %lld entries (at most 2**27, or 64 for "
                 "each entry, and fewer than 2**31)",
                 (long long)n_bins, (long long)n);
    return -1;
}

/* ---- even edges ---- */

/* A wider range around this one, with room for n edges that differ. */
static void
widen(double *low, double *high, int64_t n)
{
    const double size = fmax(fabs(*low), fabs(*high));
    const double gap = nextafter(size, INFINITY) - size;
    const double unit = isfinite(gap) ? gap : size - nextafter(size, 0);
    const double more = fmax((double)n * unit, *high - *low);
    *low -= more / 2 + unit;
    *high += more / 2 + unit;
    if (*high > DBL_MAX) {
        *low -= more / 2 + unit;
        *high = DBL_MAX;
    }
    if (*low < -DBL_MAX) {
        *high += more / 2 + unit;
        *low = -DBL_MAX;
    }
}

static int
refuse_range(const ps_bins_request *request, double low, double high)
{
    PyObject *const from = PyFloat_FromDouble(low), *const to =
                                                            PyFloat_FromDouble(high);
    if (from != NULL && to != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "Too many bins for data range. Cannot create %lld finite-sized "
                     "bins from %R to %R",
                     (long long)request->n_bins, from, to);
    }
    Py_XDECREF(from);
    Py_XDECREF(to);
    return -1;
}

int
ps_make_even_edges(ps_state *state, const ps_bins_request *request, double low,
                   double high, bool widens, ps_made_edges *made)
{
    const int64_t n = request->n_bins;
    npy_intp length = (npy_intp)n + 1;
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    *made = (ps_made_edges){.edges = {.n_bins = (int32_t)n}};
    if (!widens && !isfinite(high - low)) {
        return refuse_range(request, low, high);
    }
    made->array = (PyArrayObject *)PyArray_SimpleNew(1, &length, NPY_DOUBLE);
    if (made->array == NULL) {
        return -1;
    }
    ps_even_edges_call call = {PyArray_DATA(made->array), n, low, high, false};
    made->edges.edge = call.edge;
    for (;;) {
        if (ps_raise(state, ps_run_op(state, ps_make_even, &call, 8 * n), "bins") < 0) {
            return -1;
        }
        if (call.increase) {
            return 0;
        }
        if (!widens) {
            return refuse_range(request, low, high);
        }
        widen(&call.low, &call.high, n);
    }
}

/* ---- given edges ---- */

/* Edges of one kind or the other, which is NULL. */
static int
check_order(ps_state *state, const double *edge, const void *whole, bool is_unsigned,
            int64_t n)
{
    ps_given_edges_call call = {edge, whole, is_unsigned, n, false};
    if (ps_raise(state, ps_run_op(state, ps_look_at_edges, &call, 8 * n), "bins") < 0) {
        return -1;
    }
    if (!call.never_decrease) {
        PyErr_SetString(PyExc_ValueError,
                        "bins must increase monotonically, when an array of edges");
        return -1;
    }
    return 0;
}

/* Does float64 hold all of these exactly, with room to round an element next to them?
 */
static bool
are_small(const double *edge, int64_t n)
{
    return edge[0] > -0x1p53 && edge[n] < 0x1p53;
}

/* Those of the edges that elements can be compared with: int64 edges that uint64
 * elements cannot be are below all of them, uint64 ones beyond int64 above. */
static void
keep_whole(ps_made_edges *made, bool are_unsigned, bool is_unsigned)
{
    ps_edges *const edges = &made->edges;
    const int64_t n = (int64_t)edges->n_bins + 1;
    const int64_t *const edge = PyArray_DATA(made->exact);
    int64_t first = 0, last = n;
    while (are_unsigned != is_unsigned && first < last && is_unsigned &&
           edge[first] < 0) {
        first++;
    }
    while (are_unsigned != is_unsigned && first < last && are_unsigned &&
           edge[last - 1] < 0) {
        last--;
    }
    edges->whole = edge + first;
    edges->n_whole = last - first;
    edges->before = first;
    edges->is_unsigned = is_unsigned;
    edges->is_closed = last == n && first < last;
}

static PyArrayObject *
cast_to(PyArrayObject *array, int type)
{
    return ps_cast_of(array, PyArray_DescrFromType(type));
}

int
ps_make_given_edges(ps_state *state, const ps_bins_request *request,
                    enum ps_dtype dtype, bool as_given, ps_made_edges *made)
{
    const int64_t n = request->n_bins;
    PyArrayObject *const given = request->given;
    const enum ps_dtype own = ps_dtype_of(state, PyArray_DESCR(given));
    const bool are_wide = own == PS_i64 || own == PS_u64;
    *made = (ps_made_edges){.edges = {.n_bins = (int32_t)n}};
    if (are_wide &&
        check_order(state, NULL, PyArray_DATA(given), own == PS_u64, n) < 0) {
        return -1;
    }
    made->exact = cast_to(given, NPY_DOUBLE);
    if (made->exact == NULL) {
        return -1;
    }
    made->array =
            (PyArrayObject *)Py_NewRef((PyObject *)(as_given ? given : made->exact));
    const double *const edge = PyArray_DATA(made->exact);
    if (as_given && are_wide && (dtype == PS_i64 || dtype == PS_u64) &&
        !are_small(edge, n)) {
        Py_SETREF(made->exact,
                  cast_to(made->array, own == PS_u64 ? NPY_UINT64 : NPY_INT64));
        if (made->exact != NULL) {
            keep_whole(made, own == PS_u64, dtype == PS_u64);
        }
        return made->exact != NULL ? 0 : -1;
    }
    made->edges.edge = edge;
    return check_order(state, edge, NULL, false, n);
}

int
ps_open_finder(ps_state *state, ps_finder *finder, const ps_edges *edges,
               enum ps_dtype dtype, int64_t n)
{
    ps_finder_call call = {finder, edges, dtype, n};
    finder->memory = finder->few; /* an op may be refused before it begins */
    return ps_raise(state,
                    ps_run_op(state, ps_finder_open, &call, 8 * (int64_t)edges->n_bins),
                    "bins");
}

void
ps_close_edges(ps_made_edges *made)
{
    Py_CLEAR(made->array);
    Py_CLEAR(made->exact);
}
