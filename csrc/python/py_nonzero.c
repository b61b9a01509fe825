/* The binding of the nonzero family: three forms of places, and counts.
 *
 * Places come in two ops, since their number is known only when the first has run; the
 * result is made between them. What kernels cannot read (strings, records, objects) is
 * asked by NumPy and comes back as an array of bools.
 */
#include "python/py_nonzero.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "python/args.h"
#include "python/arrays.h"

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "places are int64");

/* How places are given. */
enum places_form {
    FORM_TUPLE, /* an array for each axis */
    FORM_FLAT,  /* numbers in C order */
    FORM_ROWS   /* a row for each place */
};

/* ---- places ---- */

typedef struct {
    enum places_form form;
    int64_t size; /* -1: as many as there are */
    int64_t fill;
    int ndim;
    ps_axes axes;
    ps_nonzero_call call;
} places_work;

/* An integer that fits in 64 bits. */
static int
to_int64(PyObject *object, const char *name, int64_t *result)
{
    PyObject *const number = ps_as_integer(object, name, true);
    if (number == NULL) {
        return -1;
    }
    *result = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (*result == -1 && PyErr_Occurred()) {
        PyErr_Format(PyExc_OverflowError, "%s does not fit in 64 bits: %R", name,
                     object);
        return -1;
    }
    return 0;
}

static int
read_options(places_work *work, PyObject *size, PyObject *fill_value)
{
    work->size = -1;
    work->fill = 0;
    if (fill_value != NULL && to_int64(fill_value, "fill_value", &work->fill) < 0) {
        return -1;
    }
    if (size == NULL || size == Py_None) {
        return 0;
    }
    if (to_int64(size, "size", &work->size) < 0) {
        return -1;
    }
    if (work->size < 0) {
        PyErr_Format(PyExc_ValueError, "size must not be negative, got %lld",
                     (long long)work->size);
        return -1;
    }
    return 0;
}

/* An array of places, with the fill value where none will be written. */
static PyArrayObject *
new_places(const places_work *work, int ndim, npy_intp rows, npy_intp columns)
{
    npy_intp shape[2] = {rows, columns};
    PyArrayObject *const array =
            (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_INTP);
    if (array == NULL) {
        return NULL;
    }
    npy_intp *const place = PyArray_DATA(array);
    const npy_intp items = PyArray_SIZE(array);
    for (npy_intp i = work->call.count * (ndim == 2 ? columns : 1); i < items; i++) {
        place[i] = work->fill;
        if (ps_hear(i) < 0) {
            Py_DECREF(array);
            return NULL;
        }
    }
    return array;
}

/* The result, and where the op writes in it. */
static PyObject *
new_result(places_work *work)
{
    ps_nonzero_call *const call = &work->call;
    call->step = 1;
    if (work->form != FORM_TUPLE) {
        const bool is_flat = work->form == FORM_FLAT;
        PyArrayObject *const array =
                new_places(work, is_flat ? 1 : 2, call->room, work->ndim);
        for (int axis = 0; array != NULL && axis < call->n_axes; axis++) {
            call->out[axis] = (int64_t *)PyArray_DATA(array) + axis;
        }
        call->step = is_flat ? 1 : work->ndim;
        return (PyObject *)array;
    }
    PyObject *const tuple = PyTuple_New(work->ndim);
    for (int axis = 0; tuple != NULL && axis < work->ndim; axis++) {
        PyArrayObject *const array = new_places(work, 1, call->room, 1);
        if (array == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        call->out[axis] = PyArray_DATA(array);
        PyTuple_SET_ITEM(tuple, axis, (PyObject *)array);
    }
    return tuple;
}

static int64_t
bytes_of(int64_t items, int64_t itemsize)
{
    int64_t nbytes;
    return ps_multiply(items, itemsize, &nbytes) ? nbytes : INT64_MAX;
}

/* Find, make room, write. */
static PyObject *
find_places(ps_state *state, places_work *work, PyArrayObject *array)
{
    ps_nonzero_call *const call = &work->call;
    PyObject *result = NULL;
    const ps_status found =
            ps_run_op(state, ps_nonzero_find, call, PyArray_NBYTES(array));
    if (ps_raise(state, found, "a") == 0) {
        call->room = work->size >= 0 ? work->size : call->count;
        call->sizes = work->form == FORM_FLAT ? &call->n : call->view.shape;
        call->n_axes = work->form == FORM_FLAT ? 1 : work->ndim;
        result = new_result(work);
    }
    if (result != NULL) {
        const int64_t nbytes = bytes_of(call->count, 8 * call->n_axes);
        const ps_status written = ps_run_op(state, ps_nonzero_write, call, nbytes);
        if (ps_raise(state, written, "a") < 0) {
            Py_CLEAR(result);
        }
    }
    ps_nonzero_close(call);
    return result;
}

static PyObject *
give_places(PyObject *module, const ps_signature *signature, enum places_form form,
            PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES];
    places_work work;
    enum ps_dtype dtype;
    if (ps_parse(state, signature, args, n_args, keywords, slot) < 0 ||
        read_options(&work, slot[1], slot[2]) < 0) {
        return NULL;
    }
    PyArrayObject *const array = ps_as_condition(state, slot[0], "a", &dtype);
    if (array == NULL) {
        return NULL;
    }
    work.form = form;
    work.ndim = PyArray_NDIM(array);
    PyObject *result = NULL;
    if (work.ndim == 0 && form == FORM_TUPLE) {
        PyErr_SetString(PyExc_ValueError,
                        "Calling nonzero on 0d arrays is not allowed; they have no "
                        "axes (use np.atleast_1d(a), or flatnonzero)");
    }
    else {
        work.call.view = ps_view_of(array, dtype, &work.axes);
        result = find_places(state, &work, array);
    }
    Py_DECREF(array);
    return result;
}

/* Few booleans side by side, as inner loops of Python have them, without options: words
 * of the mask on the stack, then their places. NULL without an exception: another call.
 */
static PyObject *
find_shortly(enum places_form form, PyObject *const *args, Py_ssize_t n_args,
             PyObject *keywords)
{
    PyArrayObject *const a = (PyArrayObject *)args[0];
    uint64_t word[PS_SHORT_ROW / PS_WORD_BITS];
    if (n_args != 1 || keywords != NULL || !PyArray_CheckExact(args[0]) ||
        !PyArray_ISBOOL(a) || !PyArray_IS_C_CONTIGUOUS(a) ||
        PyArray_SIZE(a) > PS_SHORT_ROW ||
        (form == FORM_TUPLE && PyArray_NDIM(a) != 1)) {
        return NULL;
    }
    const ps_kernel_table *const kernels = ps_kernels();
    const npy_intp n = PyArray_SIZE(a);
    npy_intp count = kernels->mask_words(word, PyArray_BYTES(a), n);
    PyObject *const places = PyArray_SimpleNew(1, &count, NPY_INTP);
    if (places == NULL) {
        return NULL;
    }
    kernels->positions(PyArray_DATA((PyArrayObject *)places), word,
                       ps_ceil_div(n, PS_WORD_BITS), 0, count);
    if (form == FORM_FLAT) {
        return places;
    }
    PyObject *const tuple = PyTuple_New(1);
    if (tuple == NULL) {
        Py_DECREF(places);
        return NULL;
    }
    PyTuple_SET_ITEM(tuple, 0, places);
    return tuple;
}

#define PLACES_NAMES                                \
    3, 1, 1,                                        \
    {                                               \
        PS_NAME_a, PS_NAME_size, PS_NAME_fill_value \
    }

PyObject *
ps_py_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
              PyObject *keywords)
{
    static const ps_signature signature = {"nonzero", PLACES_NAMES};
    PyObject *const result = find_shortly(FORM_TUPLE, args, n_args, keywords);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return give_places(module, &signature, FORM_TUPLE, args, n_args, keywords);
}

PyObject *
ps_py_flatnonzero(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *keywords)
{
    static const ps_signature signature = {"flatnonzero", PLACES_NAMES};
    PyObject *const result = find_shortly(FORM_FLAT, args, n_args, keywords);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return give_places(module, &signature, FORM_FLAT, args, n_args, keywords);
}

PyObject *
ps_py_argwhere(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
               PyObject *keywords)
{
    static const ps_signature signature = {"argwhere", PLACES_NAMES};
    return give_places(module, &signature, FORM_ROWS, args, n_args, keywords);
}

/* ---- counts ---- */

/* The axes as they were given, not yet compared with any array: converting them may run
 * the caller's code. Their number, or -1. */
static int
read_axes(PyObject *object, int *axes)
{
    if (!PyTuple_Check(object)) {
        return ps_to_int(object, "axis", axes) < 0 ? -1 : 1;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(object);
    if (n > PS_MAX_DIMS) {
        PyErr_SetString(PyExc_ValueError, "too many axes in 'axis'");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (ps_to_int(PyTuple_GET_ITEM(object, i), "axis", &axes[i]) < 0) {
            return -1;
        }
    }
    return (int)n;
}

/* is_counted[axis] for each axis of an array; AxisError, or ValueError for one that is
 * named twice. n_axes -1: all. */
static int
mark_axes(ps_state *state, int ndim, int n_axes, const int *axes, bool *is_counted)
{
    for (int axis = 0; axis < ndim; axis++) {
        is_counted[axis] = n_axes < 0;
    }
    for (int i = 0; i < n_axes; i++) {
        const int axis = ps_check_axis(state, axes[i], ndim);
        if (axis < 0) {
            return -1;
        }
        if (is_counted[axis]) {
            PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
            return -1;
        }
        is_counted[axis] = true;
    }
    return 0;
}

/* Counts of the axes that are marked, into zeros of the right shape. */
static PyObject *
count_axes(ps_state *state, PyArrayObject *array, enum ps_dtype dtype,
           const bool *is_counted, bool keepdims)
{
    ps_axes axes;
    const ps_view view = ps_view_of(array, dtype, &axes);
    npy_intp shape[PS_MAX_DIMS];
    int64_t out_strides[PS_MAX_DIMS];
    int kept = 0;
    for (int axis = 0; axis < view.ndim; axis++) {
        if (!is_counted[axis] || keepdims) {
            shape[kept++] = is_counted[axis] ? 1 : view.shape[axis];
        }
    }
    /* Making zeros lets other threads run. */
    PyArrayObject *const counts =
            (PyArrayObject *)PyArray_ZEROS(kept, shape, NPY_INTP, 0);
    if (counts == NULL) {
        return NULL;
    }
    kept = 0;
    for (int axis = 0; axis < view.ndim; axis++) {
        const bool is_kept = !is_counted[axis] || keepdims;
        out_strides[axis] = is_counted[axis] ? 0 : PyArray_STRIDE(counts, kept);
        kept += is_kept;
    }
    ps_count_call call = {
            .view = view, .out = PyArray_BYTES(counts), .out_strides = out_strides};
    const ps_status status =
            ps_run_op(state, ps_count_nonzero, &call, PyArray_NBYTES(array));
    if (ps_raise(state, status, "a") < 0) {
        Py_DECREF(counts);
        return NULL;
    }
    return (PyObject *)counts;
}

/* One number. */
static PyObject *
count_all(ps_state *state, PyArrayObject *array, enum ps_dtype dtype)
{
    static const int64_t no_strides[PS_MAX_DIMS];
    int64_t count = 0;
    ps_axes axes;
    ps_count_call call = {.view = ps_view_of(array, dtype, &axes),
                          .out = (char *)&count,
                          .out_strides = no_strides};
    const ps_status status =
            ps_run_op(state, ps_count_nonzero, &call, PyArray_NBYTES(array));
    return ps_raise(state, status, "a") < 0 ? NULL : PyLong_FromLongLong(count);
}

PyObject *
ps_py_count_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *keywords)
{
    static const ps_signature signature = {
            "count_nonzero", 3, 2, 1, {PS_NAME_a, PS_NAME_axis, PS_NAME_keepdims}};
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    bool keepdims = false, is_counted[PS_MAX_DIMS];
    int n_axes = -1, axes[PS_MAX_DIMS];
    enum ps_dtype dtype;
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0 ||
        ps_to_bool(slot[2], "keepdims", &keepdims) < 0) {
        return NULL;
    }
    if (slot[1] != NULL && slot[1] != Py_None) {
        n_axes = read_axes(slot[1], axes);
        if (n_axes < 0) {
            return NULL;
        }
    }
    PyArrayObject *const array = ps_as_condition(state, slot[0], "a", &dtype);
    if (array == NULL) {
        return NULL;
    }
    if (n_axes < 0 && !keepdims) {
        result = count_all(state, array, dtype);
    }
    else if (mark_axes(state, PyArray_NDIM(array), n_axes, axes, is_counted) == 0) {
        result = count_axes(state, array, dtype, is_counted, keepdims);
    }
    Py_DECREF(array);
    return result;
}
