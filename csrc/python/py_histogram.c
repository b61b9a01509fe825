/* The binding of histogram: arguments to arrays, edges, one op call or two, a record.
 *
 * Where the range is not given, the first call finds the extremes; the second one
 * counts. Edges of "tb1" are made once and belong to the module.
 */
#include "python/py_histogram.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/histogram.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/bins_edges.h"
#include "python/copies.h"
#include "python/histogram_record.h"

enum kind {
    KIND_BINS,
    KIND_EDGES,
    KIND_TB1,
    KIND_TB2,
    KIND_LOG2,
    N_KINDS
};
static const char *const kind_names[N_KINDS] = {"bins", "edges", "tb1", "tb2", "log2"};

enum {
    TB2_BINS = 30,
    /* Limits of TensorBoard's first histogram: 774 of each sign, 0, the largest floats.
     */
    TB1_POSITIVE = 774,
    TB1_EDGES = 2 * (TB1_POSITIVE + 1) + 1
};

typedef struct {
    ps_state *state;
    PyArrayObject *x, *weights; /* owned, or NULL */
    enum ps_dtype dtype;        /* of x */
    PyArrayObject *counts;      /* owned */
    enum kind kind;
    bool is_density;
    ps_bins_request request;
    ps_made_edges made;
    ps_axes axes, weight_axes;
    ps_histogram_call call;
} histogram_work;

/* ---- arguments ---- */

static int
take_kind(histogram_work *work, PyObject *bins)
{
    for (int kind = KIND_TB1; kind < N_KINDS; kind++) {
        if (PyUnicode_CompareWithASCIIString(bins, kind_names[kind]) == 0) {
            work->kind = (enum kind)kind;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "unknown bins %R; choose from tb1, tb2, log2, or give a number or "
                 "edges",
                 bins);
    return -1;
}

/* A kind of its own has its own range. */
static int
take_bins(histogram_work *work, PyObject *bins, PyObject *range)
{
    const bool is_named = bins != NULL && PyUnicode_Check(bins);
    if (is_named && take_kind(work, bins) < 0) {
        return -1;
    }
    if (ps_take_bins(work->state, is_named ? NULL : bins, range, &work->request) < 0) {
        return -1;
    }
    if (work->request.has_range &&
        (work->kind == KIND_TB1 || work->kind == KIND_LOG2)) {
        PyErr_Format(PyExc_TypeError, "range= has no meaning for bins=\"%s\"",
                     kind_names[work->kind]);
        return -1;
    }
    if (work->request.given != NULL) {
        work->kind = KIND_EDGES;
    }
    if (work->kind == KIND_TB2) {
        work->request.n_bins = TB2_BINS;
    }
    return 0;
}

/* Whole numbers and bools add up in int64, floats in float64. */
static enum ps_dtype
type_of_sums(PyArrayObject *weights)
{
    return PyArray_ISBOOL(weights) || PyArray_ISINTEGER(weights) ? PS_i64
           : PyArray_ISCOMPLEX(weights)                          ? PS_c128
                                                                 : PS_f64;
}

/* Complex ones become complex128. */
static int
settle_weights(histogram_work *work)
{
    enum ps_dtype dtype;
    if (work->weights == NULL) {
        return 0;
    }
    if (PyArray_ISCOMPLEX(work->weights)) {
        Py_SETREF(work->weights,
                  ps_cast_of(work->weights, PyArray_DescrFromType(NPY_CDOUBLE)));
        return work->weights != NULL ? 0 : -1;
    }
    return ps_settle_real(work->state, &work->weights, "weights", &dtype);
}

static int
check_weights(const histogram_work *work)
{
    PyArrayObject *const weights = work->weights;
    if (weights == NULL || PyArray_SAMESHAPE(weights, work->x)) {
        return 0;
    }
    return ps_raise_shapes(PyExc_ValueError,
                           "weights should have the same shape as x: got %U, expected "
                           "%U",
                           PyArray_NDIM(weights), PyArray_DIMS(weights),
                           PyArray_NDIM(work->x), PyArray_DIMS(work->x));
}

static int
take_arguments(histogram_work *work, PyObject **slot)
{
    const bool has_weights = slot[4] != NULL && slot[4] != Py_None;
    if (ps_to_bool(slot[3], "density", &work->is_density) < 0) {
        return -1;
    }
    work->x = ps_as_array(work->state, slot[0], "x");
    work->weights = work->x != NULL && has_weights
                            ? ps_as_array(work->state, slot[4], "weights")
                            : NULL;
    if (PyErr_Occurred() || take_bins(work, slot[1], slot[2]) < 0 ||
        ps_settle_real(work->state, &work->x, "x", &work->dtype) < 0 ||
        settle_weights(work) < 0 || check_weights(work) < 0) {
        return -1;
    }
    return ps_check_bin_count(work->request.n_bins, PyArray_SIZE(work->x));
}

/* ---- edges ---- */

/* TensorFlow's limits: 1e-12, each next one 1.1 times as much, below 1e20. */
static void
fill_tb1(double *edge)
{
    double limit = 1.0e-12;
    edge[TB1_POSITIVE + 1] = 0;
    edge[TB1_EDGES - 1] = DBL_MAX;
    edge[0] = -DBL_MAX;
    for (int i = 1; i <= TB1_POSITIVE; i++, limit *= 1.1) {
        edge[TB1_POSITIVE + 1 + i] = limit;
        edge[TB1_POSITIVE + 1 - i] = -limit;
    }
}

/* Read-only, since all histograms share them. */
static int
make_tb1_edges(histogram_work *work)
{
    ps_state *const state = work->state;
    if (state->tb1_edges == NULL) {
        npy_intp n = TB1_EDGES;
        PyArrayObject *const edges =
                (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);
        if (edges == NULL) {
            return -1;
        }
        fill_tb1(PyArray_DATA(edges));
        PyArray_CLEARFLAGS(edges, NPY_ARRAY_WRITEABLE);
        state->tb1_edges = (PyObject *)edges;
    }
    work->made.array = (PyArrayObject *)Py_NewRef(state->tb1_edges);
    work->made.edges =
            (ps_edges){.edge = PyArray_DATA(work->made.array), .n_bins = TB1_EDGES - 1};
    return 0;
}

/* From the bin of the least element to that of the largest; of none, that of 0. */
static int
make_log2_edges(histogram_work *work, double low, double high)
{
    const int64_t first = ps_log2_bin(low);
    npy_intp n = (npy_intp)(ps_log2_bin(high) - first + 2);
    work->made.array = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);
    if (work->made.array == NULL) {
        return -1;
    }
    double *const edge = PyArray_DATA(work->made.array);
    for (npy_intp i = 0; i < n; i++) {
        edge[i] = ps_log2_edge(first + i);
    }
    work->made.edges = (ps_edges){.edge = edge, .n_bins = (int32_t)(n - 1)};
    return 0;
}

static int
make_edges(histogram_work *work)
{
    const ps_bins_request *const request = &work->request;
    const ps_moments *const found = &work->call.moments;
    const bool is_empty = work->call.is_measured && found->n_finite == 0;
    const double low = request->has_range ? request->low : is_empty ? 0 : found->min;
    const double high = request->has_range        ? request->high
                        : !is_empty               ? found->max
                        : work->kind == KIND_LOG2 ? 0
                                                  : 1;
    switch (work->kind) {
        case KIND_TB1:
            return make_tb1_edges(work);
        case KIND_LOG2:
            return make_log2_edges(work, low, high);
        case KIND_EDGES:
            return ps_make_given_edges(work->state, request, work->dtype, false,
                                       &work->made);
        default:
            return ps_make_even_edges(work->state, request, low, high, true,
                                      &work->made);
    }
}

/* ---- the call ---- */

static int
run(const histogram_work *work, ps_op_fn op, ps_histogram_call *call)
{
    const int64_t nbytes = PyArray_NBYTES(work->x) + 8 * work->request.n_bins;
    return ps_raise(work->state, ps_run_op(work->state, op, call, nbytes), "x");
}

static int
measure(histogram_work *work)
{
    work->call = (ps_histogram_call){.x = ps_view_of(work->x, work->dtype, &work->axes),
                                     .n = PyArray_SIZE(work->x)};
    const bool is_needed = !work->request.has_range && work->kind != KIND_EDGES &&
                           work->kind != KIND_TB1;
    return is_needed ? run(work, ps_histogram_measure, &work->call) : 0;
}

static int
open_finder(const histogram_work *work, ps_finder *finder)
{
    const ps_edges *const edges = &work->made.edges;
    const int64_t n = PyArray_SIZE(work->x);
    if (work->kind != KIND_LOG2) {
        return ps_open_finder(work->state, finder, edges, work->dtype, n);
    }
    return ps_raise(work->state,
                    ps_finder_log2(finder, work->dtype, edges->edge[0],
                                   edges->edge[edges->n_bins - 1]),
                    "x");
}

static int
count(histogram_work *work)
{
    npy_intp n_bins = work->made.edges.n_bins;
    const enum ps_dtype type =
            work->weights != NULL ? type_of_sums(work->weights) : PS_i64;
    work->counts = (PyArrayObject *)PyArray_ZEROS(1, &n_bins,
                                                  type == PS_i64   ? NPY_INT64
                                                  : type == PS_f64 ? NPY_DOUBLE
                                                                   : NPY_CDOUBLE,
                                                  0);
    if (work->counts == NULL) {
        return -1;
    }
    ps_finder finder;
    int status = open_finder(work, &finder);
    work->call.finder = &finder;
    if (work->weights != NULL) {
        const enum ps_dtype own =
                ps_dtype_of(work->state, PyArray_DESCR(work->weights));
        work->call.weights = ps_view_of(work->weights, own, &work->weight_axes);
        work->call.type = type;
        work->call.sums = PyArray_DATA(work->counts);
    }
    else {
        work->call.count = PyArray_DATA(work->counts);
    }
    status = status == 0 ? run(work, ps_histogram_count, &work->call) : status;
    ps_finder_close(&finder);
    return status;
}

/* ---- densities ---- */

/* counts / widths / sum, as np.histogram divides. */
static int
make_density(histogram_work *work)
{
    const bool is_complex = PyArray_ISCOMPLEX(work->counts);
    Py_SETREF(work->counts,
              ps_cast_of(work->counts,
                         PyArray_DescrFromType(is_complex ? NPY_CDOUBLE : NPY_DOUBLE)));
    PyObject *const sum = work->counts != NULL
                                  ? PyArray_Sum(work->counts, 0, NPY_NOTYPE, NULL)
                                  : NULL;
    if (sum == NULL) {
        if (!PyErr_Occurred()) { /* NumPy forgets to say so */
            PyErr_NoMemory();
        }
        return -1;
    }
    const Py_complex total = PyComplex_AsCComplex(sum);
    Py_DECREF(sum);
    const double *const edge = work->made.edges.edge;
    double *const out = PyArray_DATA(work->counts);
    for (npy_intp i = 0; i < work->made.edges.n_bins && !PyErr_Occurred(); i++) {
        const double width = edge[i + 1] - edge[i];
        if (!is_complex) {
            out[i] = out[i] / width / total.real;
            continue;
        }
        const double re = out[2 * i] / width, im = out[2 * i + 1] / width;
        const double size = total.real * total.real + total.imag * total.imag;
        out[2 * i] = (re * total.real + im * total.imag) / size;
        out[2 * i + 1] = (im * total.real - re * total.imag) / size;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
result_of(histogram_work *work)
{
    const ps_histogram_call *const call = &work->call;
    PyObject *const kind = PyUnicode_InternFromString(kind_names[work->kind]);
    if (kind == NULL) {
        return NULL;
    }
    const ps_histogram_record record = {
            .counts = Py_NewRef((PyObject *)work->counts),
            .edges = Py_NewRef((PyObject *)work->made.array),
            .kind = kind,
            .is_density = work->is_density,
            .is_weighted = work->weights != NULL,
            .is_found = !work->request.has_range &&
                        (work->kind == KIND_BINS || work->kind == KIND_TB2),
            .n_nan = call->moments.n_nan,
            .n_posinf = call->moments.n_posinf,
            .n_neginf = call->moments.n_neginf,
            .n_below = call->n_below,
            .n_above = call->n_above,
            .num = call->moments.n_finite,
            .min = call->moments.min,
            .max = call->moments.max,
            .sum = call->moments.sum,
            .sum_squares = call->moments.sum_squares};
    return ps_new_histogram(work->state, &record);
}

PyObject *
ps_py_histogram(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                PyObject *keywords)
{
    static const ps_signature signature = {
            "histogram",
            5,
            5,
            1,
            {PS_NAME_x, PS_NAME_bins, PS_NAME_range, PS_NAME_density, PS_NAME_weights}};
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    if (ps_parse(ps_get_state(module), &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    histogram_work work = {.state = ps_get_state(module)};
    if (take_arguments(&work, slot) == 0 && measure(&work) == 0 &&
        make_edges(&work) == 0 && count(&work) == 0 &&
        (!work.is_density || make_density(&work) == 0)) {
        result = result_of(&work);
    }
    Py_XDECREF((PyObject *)work.x);
    Py_XDECREF((PyObject *)work.weights);
    Py_XDECREF((PyObject *)work.counts);
    Py_XDECREF((PyObject *)work.request.given);
    ps_close_edges(&work.made);
    return result;
}
