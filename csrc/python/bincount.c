/* The binding of bincount: a scatter of ones or weights into counts.
 *
 * Numbers along one axis of x name places of the same axis of the result; the other
 * axes of x are linked to theirs, as in the along form. x of one axis takes the axis
 * form instead, whose entries may be whole rows of weights.
 */
#include "python/bincount.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/numbers.h"
#include "python/py_scatter.h"
#include "python/request.h"

typedef struct {
    ps_state *state;
    PyArrayObject *x, *weights, *mask, *target; /* owned, or NULL */
    int axis;
    int64_t size;
    PyObject *dtype, *out; /* borrowed, or NULL */
} count_work;

static int
take_axis(count_work *work, PyObject *axis)
{
    const int ndim = PyArray_NDIM(work->x);
    work->axis = 0;
    if ((axis == NULL || axis == Py_None) && ndim != 1) {
        PyObject *const shape = PyArray_IntTupleFromIntp(ndim, PyArray_DIMS(work->x));
        if (shape != NULL) {
            PyErr_Format(PyExc_ValueError,
                         "x has shape %R; say with axis= along which to count", shape);
            Py_DECREF(shape);
        }
        return -1;
    }
    if (axis != Py_None && ps_to_int(axis, "axis", &work->axis) < 0) {
        return -1;
    }
    work->axis = ps_check_axis(work->state, work->axis, ndim);
    return work->axis < 0 ? -1 : 0;
}

/* where= broadcasts to x. */
static int
take_mask(count_work *work, PyObject *object)
{
    if (object == NULL || object == Py_None) {
        return 0;
    }
    work->mask = ps_as_mask(work->state, object, "where");
    if (work->mask == NULL) {
        return -1;
    }
    const bool fits =
            ps_broadcasts_to(work->mask, PyArray_NDIM(work->x), PyArray_DIMS(work->x));
    return fits ? 0
                : ps_raise_shapes(PyExc_ValueError,
                                  "'where' has shape %U; expected to broadcast to %U, "
                                  "the shape of x",
                                  PyArray_NDIM(work->mask), PyArray_DIMS(work->mask),
                                  PyArray_NDIM(work->x), PyArray_DIMS(work->x));
}

/* Numbers in the shape of x, or with more axes behind it. */
static int
take_weights(count_work *work, PyObject *object)
{
    if (object == NULL || object == Py_None) {
        return 0;
    }
    work->weights = ps_as_array(work->state, object, "weights");
    if (work->weights == NULL) {
        return -1;
    }
    PyArrayObject *const weights = work->weights, *const x = work->x;
    bool fits = PyArray_NDIM(weights) >= PyArray_NDIM(x);
    for (int i = 0; fits && i < PyArray_NDIM(x); i++) {
        fits = PyArray_DIM(weights, i) == PyArray_DIM(x, i);
    }
    if (!fits) {
        return ps_raise_shapes(
                PyExc_ValueError,
                "weights has shape %U; expected %U, the shape of x, or more axes "
                "behind it",
                PyArray_NDIM(weights), PyArray_DIMS(weights), PyArray_NDIM(x),
                PyArray_DIMS(x));
    }
    const enum ps_dtype type = ps_dtype_of(work->state, PyArray_DESCR(weights));
    if (type == PS_raw || type == PS_t64) {
        PyErr_Format(PyExc_TypeError, "'weights' has dtype %S; expected numbers",
                     (PyObject *)PyArray_DESCR(weights));
        return -1;
    }
    return 0;
}

/* x, weights and mask as they are from here on: views in their places, which other code
 * cannot give other axes or another dtype. Small ones stay unless dtype= may run code.
 */
static int
settle(count_work *work)
{
    PyArrayObject **const arrays[] = {&work->x, &work->weights, &work->mask};
    if (ps_index_type_of(work->x) < 0) {
        return ps_raise_changed("x");
    }
    const bool is_small = work->weights == NULL && work->mask == NULL &&
                          work->dtype == NULL && work->out == NULL &&
                          PyArray_CheckExact((PyObject *)work->x) &&
                          PyArray_NBYTES(work->x) <= PS_UNDISTURBED_BYTES;
    for (int i = 0; i < 3 && !is_small; i++) {
        if (ps_hold_view(arrays[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ValueError for a negative number that takes part. 0 or -1. */
static int
check_signs(const count_work *work)
{
    const ps_status status =
            ps_check_numbers(work->state, work->x, work->mask, PS_MODE_IDS, INT64_MAX);
    if (status.code == PS_INDEX_BAD && !status.is_unsigned && status.value < 0) {
        PyErr_Format(PyExc_ValueError, "x must not be negative; it holds %lld",
                     (long long)status.value);
        return -1;
    }
    return status.code == PS_INDEX_BAD ? 0 : ps_raise(work->state, status, "x");
}

/* The length of the counted axis of a result of our own. */
static int
find_size(count_work *work, int64_t minlength)
{
    const int64_t n = PyArray_SIZE(work->x);
    int64_t top;
    const ps_status status = ps_top_of(work->state, work->x, work->mask, &top);
    const bool is_vast = status.code == PS_TOO_LARGE;
    if (!is_vast && ps_raise(work->state, status, "x") < 0) {
        return -1;
    }
    if (is_vast) {
        PyErr_SetString(PyExc_ValueError,
                        "x goes beyond 2**63 - 1, which no count of entries can be");
        return -1;
    }
    if (top > (int64_t)1 << 27 && top > minlength && top / 64 > n) {
        PyErr_Format(PyExc_ValueError,
                     "x goes up to %lld with only %lld entries; pass minlength if %lld "
                     "counts are meant",
                     (long long)(top - 1), (long long)n, (long long)top);
        return -1;
    }
    work->size = ps_max(top, minlength);
    return 0;
}

/* The axes of a result. */
static int
find_shape(const count_work *work, npy_intp *shape)
{
    PyArrayObject *const like = work->weights != NULL ? work->weights : work->x;
    const int ndim = PyArray_NDIM(like);
    for (int i = 0; i < ndim; i++) {
        shape[i] = i == work->axis ? work->size : PyArray_DIM(like, i);
    }
    return ndim;
}

/* Zeros: intp for counts, float64 or complex128 for weights, or what dtype= says. */
static int
open_own(count_work *work)
{
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = find_shape(work, shape);
    PyArray_Descr *descr = NULL;
    if (work->dtype == NULL || work->dtype == Py_None) {
        descr = PyArray_DescrFromType(work->weights == NULL              ? NPY_INTP
                                      : PyArray_ISCOMPLEX(work->weights) ? NPY_CDOUBLE
                                                                         : NPY_DOUBLE);
    }
    else if (PyArray_DescrConverter(work->dtype, &descr) == NPY_SUCCEED &&
             !PyDataType_ISNOTSWAPPED(descr)) {
        Py_SETREF(descr, PyArray_DescrNewByteorder(descr, NPY_NATIVE));
    }
    if (descr == NULL) {
        return -1;
    }
    work->dtype = NULL;
    work->target = (PyArrayObject *)PyArray_Zeros(ndim, shape, descr, 0);
    return work->target != NULL ? 0 : -1;
}

/* out=, which counts are added to. */
static int
open_out(count_work *work, int64_t minlength)
{
    npy_intp shape[PS_MAX_DIMS];
    if (!PyArray_Check(work->out)) {
        PyErr_Format(PyExc_TypeError, "'out' must be an array, not %.200s",
                     Py_TYPE(work->out)->tp_name);
        return -1;
    }
    if (ps_require_array(work->state, work->out, "out") < 0) {
        return -1;
    }
    PyArrayObject *const out = (PyArrayObject *)work->out;
    work->size = work->axis < PyArray_NDIM(out) ? PyArray_DIM(out, work->axis) : 0;
    work->target = (PyArrayObject *)Py_NewRef(work->out);
    const ps_status status =
            ps_check_numbers(work->state, work->x, work->mask, PS_MODE_IDS, work->size);
    if (ps_raise(work->state, status, "x") < 0) {
        return -1;
    }
    if (minlength > work->size) {
        PyErr_Format(PyExc_ValueError, "out has length %lld, less than minlength %lld",
                     (long long)work->size, (long long)minlength);
        return -1;
    }
    const int ndim = find_shape(work, shape);
    if (PyArray_NDIM(out) == ndim &&
        PyArray_CompareLists(PyArray_DIMS(out), shape, ndim)) {
        return 0;
    }
    return ps_raise_shapes(PyExc_ValueError, "out has shape %U; expected %U",
                           PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape);
}

static int
open_target(count_work *work, int64_t minlength)
{
    if (work->out != NULL) {
        return open_out(work, minlength);
    }
    return find_size(work, minlength) < 0 ? -1 : open_own(work);
}

/* An array with axes of length 1 behind its own, `ndim` in all; a new reference. */
static PyArrayObject *
with_axes_behind(PyArrayObject *array, int ndim)
{
    npy_intp shape[PS_MAX_DIMS];
    PyArray_Dims dims = {shape, ndim};
    for (int i = 0; i < ndim; i++) {
        shape[i] = i < PyArray_NDIM(array) ? PyArray_DIM(array, i) : 1;
    }
    return (PyArrayObject *)PyArray_Newshape(array, &dims, NPY_CORDER);
}

static int
count(count_work *work)
{
    const int ndim = PyArray_NDIM(work->target);
    const bool is_line = PyArray_NDIM(work->x) == 1;
    PyObject *const axis = PyLong_FromLong(work->axis);
    PyObject *const one = PyLong_FromLong(1);
    int status = axis != NULL && one != NULL ? 0 : -1;
    if (status == 0 && !is_line && ndim > PyArray_NDIM(work->x)) {
        if (work->mask != NULL) {
            const int behind = ndim - PyArray_NDIM(work->x);
            const int all = PyArray_NDIM(work->mask) + behind;
            Py_SETREF(work->mask, with_axes_behind(work->mask, all));
        }
        Py_SETREF(work->x, with_axes_behind(work->x, ndim));
        status = PyErr_Occurred() ? -1 : 0;
    }
    if (status == 0) {
        const ps_fold fold = {
                .target = work->target,
                .is_private = work->out == NULL,
                .where = {.form = is_line ? PS_FORM_AXIS : PS_FORM_ALONG,
                          .index = (PyObject *)work->x,
                          .axis = axis,
                          .mask = (PyObject *)work->mask,
                          .name = "x"},
                .values = work->weights != NULL ? (PyObject *)work->weights : one,
                .op = PS_add,
                .mode = PS_MODE_IDS,
                .include_self = true,
                .dtype = work->dtype};
        status = ps_fold_by_ids(work->state, &fold);
    }
    Py_XDECREF(axis);
    Py_XDECREF(one);
    return status;
}

static bool
is_short_vector(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(array) == 1 &&
           PyArray_ISCARRAY_RO(array) && PyArray_DIM(array, 0) <= PS_SHORT_ROW;
}

/* bincount(x) and bincount(x, weights) of few numbers, and weights of float64: straight
 * to the kernel, since the arguments of such a call cost more than its work. Numbers
 * may be another thread's to write: each is checked as it is read, into a result that
 * nobody sees. NULL without an exception: the call has to go the long way. */
static PyObject *
count_short(PyObject *const *args, Py_ssize_t n_args)
{
    const int64_t one = 1;
    PyArrayObject *const x = (PyArrayObject *)args[0];
    PyArrayObject *const weights = n_args == 2 ? (PyArrayObject *)args[1] : NULL;
    npy_intp size = is_short_vector(args[0]) ? ps_short_top(x) : 0;
    if (size <= 0 || size > PS_SHORT_ROW ||
        (weights != NULL &&
         (!is_short_vector(args[1]) || PyArray_TYPE(weights) != NPY_DOUBLE ||
          PyArray_DIM(weights, 0) != PyArray_DIM(x, 0)))) {
        return NULL;
    }
    const enum ps_dtype dtype = weights != NULL ? PS_f64 : PS_i64;
    PyArrayObject *result = (PyArrayObject *)PyArray_ZEROS(
            1, &size, weights != NULL ? NPY_DOUBLE : NPY_INT64, 0);
    if (result == NULL) {
        return NULL;
    }
    const ps_entries entries = {
            .is_wide = ps_index_type_of(x) == PS_INDEX_i64,
            .target = PyArray_BYTES(result),
            .size = size,
            .index = PyArray_BYTES(x),
            .values = weights != NULL ? PyArray_BYTES(weights) : (const char *)&one,
            .value_stride = weights != NULL ? (int64_t)sizeof(double) : 0,
            .n = PyArray_DIM(x, 0)};
    if (ps_kernels()->scatter_checked[PS_add][dtype](&entries) < entries.n) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

PyObject *
ps_py_bincount(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
               PyObject *keywords)
{
    static const ps_signature signature = {
            "bincount",
            7,
            3,
            1,
            {PS_NAME_x, PS_NAME_weights, PS_NAME_minlength, PS_NAME_axis, PS_NAME_where,
             PS_NAME_dtype, PS_NAME_out}};
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    count_work work = {.state = ps_get_state(module)};
    int64_t minlength = 0;
    if (keywords == NULL && (n_args == 1 || n_args == 2)) {
        result = count_short(args, n_args);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    if (ps_parse(work.state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    work.dtype = slot[5];
    work.out = slot[6] == Py_None ? NULL : slot[6];
    work.x = ps_as_index(work.state, slot[0], "x");
    if (work.x != NULL && take_axis(&work, slot[3]) == 0 &&
        take_mask(&work, slot[4]) == 0 && take_weights(&work, slot[1]) == 0 &&
        (slot[2] == NULL || ps_to_size(slot[2], "minlength", &minlength) == 0) &&
        settle(&work) == 0 && check_signs(&work) == 0 &&
        open_target(&work, minlength) == 0 && count(&work) == 0) {
        result = Py_NewRef((PyObject *)work.target);
    }
    Py_XDECREF(work.x);
    Py_XDECREF(work.weights);
    Py_XDECREF(work.mask);
    Py_XDECREF(work.target);
    return result;
}
