/* The binding of gather_where: what a mask selects, side by side.
 *
 * Single elements under a mask of all axes are counted and compressed by two ops,
 * between which the result is made. Rows, one axis, objects and odd item sizes go
 * through the places of the trues.
 */
#include "python/py_where.h"

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"

static ps_status
run_count(void *call, ps_run *run)
{
    return ps_count_where(call, run);
}

static ps_status
run_gather(void *call, ps_run *run)
{
    return ps_gather_where(call, run);
}

/* Count, make room, fill. The mask covers the first axes of `a`, some of them by
 * broadcasting if it covers all; the rest of them is one item. */
static PyObject *
compress(ps_state *state, PyArrayObject *a, PyArrayObject *mask, enum ps_dtype dtype)
{
    const int n_axes = PyArray_NDIM(mask);
    int64_t mask_strides[PS_MAX_DIMS];
    npy_intp shape[PS_MAX_DIMS];
    int64_t itemsize = PyArray_ITEMSIZE(a);
    for (int axis = 0; axis < n_axes; axis++) {
        mask_strides[axis] =
                PyArray_DIM(mask, axis) == 1 ? 0 : PyArray_STRIDE(mask, axis);
    }
    for (int axis = n_axes; axis < PyArray_NDIM(a); axis++) {
        shape[axis - n_axes + 1] = PyArray_DIM(a, axis);
        itemsize *= PyArray_DIM(a, axis);
    }
    ps_compress_call call = {.a = {.data = PyArray_BYTES(a),
                                   .dtype = dtype,
                                   .ndim = n_axes,
                                   .itemsize = itemsize,
                                   .shape = (const int64_t *)PyArray_DIMS(a),
                                   .strides = (const int64_t *)PyArray_STRIDES(a),
                                   .swapped = dtype != PS_raw && ps_is_swapped(a)}};
    call.mask = (ps_view){.data = PyArray_BYTES(mask),
                          .dtype = PS_b1,
                          .ndim = n_axes,
                          .itemsize = 1,
                          .shape = (const int64_t *)PyArray_DIMS(a),
                          .strides = mask_strides};
    PyArrayObject *result = NULL;
    ps_status status = ps_run_op(state, run_count, &call, PyArray_SIZE(a));
    if (ps_raise(state, status, "mask") == 0) {
        PyArray_Descr *const descr =
                PyArray_DescrNewByteorder(PyArray_DESCR(a), NPY_NATIVE);
        shape[0] = call.count;
        result = descr == NULL
                         ? NULL
                         : (PyArrayObject *)PyArray_NewFromDescr(
                                   &PyArray_Type, descr, PyArray_NDIM(a) - n_axes + 1,
                                   shape, NULL, NULL, 0, NULL);
    }
    if (result != NULL) {
        call.out = PyArray_BYTES(result);
        status = ps_run_op(state, run_gather, &call,
                           PyArray_SIZE(a) + 2 * PyArray_NBYTES(result));
        if (ps_raise(state, status, "mask") < 0) {
            Py_CLEAR(result);
        }
    }
    ps_end_gather_where(&call);
    return (PyObject *)result;
}

/* Rows, an axis, objects, odd item sizes: through the places of the trues. */
static PyObject *
gather_by_places(ps_state *state, PyArrayObject *a, PyArrayObject *mask, PyObject *axis)
{
    PyObject *const function = ps_get_helper(state, PS_HELPER_gather_masked);
    return function == NULL
                   ? NULL
                   : PyObject_CallFunctionObjArgs(function, (PyObject *)a,
                                                  (PyObject *)mask, axis, NULL);
}

/* Rows under a mask of fewer axes that are as long as an item of a kernel, native and
 * side by side: they are items then. */
static bool
rows_are_items(PyArrayObject *mask, PyArrayObject *a, int storage)
{
    const int n_axes = PyArray_NDIM(mask);
    npy_intp nbytes = PyArray_ITEMSIZE(a);
    if (n_axes == 0 || n_axes == PyArray_NDIM(a) || storage != PS_STORED_NUMBERS ||
        PyArray_ISBOOL(a) || ps_is_swapped(a)) {
        return false;
    }
    for (int axis = PyArray_NDIM(a) - 1; axis >= n_axes; axis--) {
        if (PyArray_DIM(a, axis) != 1 && PyArray_STRIDE(a, axis) != nbytes) {
            return false;
        }
        nbytes *= PyArray_DIM(a, axis);
    }
    return ps_size_of(nbytes) >= 0;
}

static PyObject *
gather_under(ps_state *state, PyArrayObject *a, PyArrayObject *mask, PyObject *axis)
{
    enum ps_dtype dtype;
    const int storage = ps_storage_of(state, a, &dtype);
    if (storage < 0 || (axis == Py_None && ps_check_mask(mask, a) < 0)) {
        return NULL;
    }
    if (axis == Py_None && rows_are_items(mask, a, storage)) {
        return compress(state, a, mask, PS_raw);
    }
    const bool is_full = axis == Py_None && PyArray_NDIM(mask) == PyArray_NDIM(a) &&
                         PyArray_NDIM(a) > 0;
    const bool is_simple =
            storage == PS_STORED_NUMBERS ||
            (storage == PS_STORED_BYTES && PyDataType_ISNOTSWAPPED(PyArray_DESCR(a)) &&
             !PyDataType_HASFIELDS(PyArray_DESCR(a)));
    return is_full && is_simple && ps_size_of(PyArray_ITEMSIZE(a)) >= 0
                   ? compress(state, a, mask, dtype)
                   : gather_by_places(state, a, mask, axis);
}

/* Few elements of one kind beside as many mask bytes: straight to the kernels. NULL
 * without an exception: not such a call. */
static PyObject *
gather_short(PyObject *const *args)
{
    enum {
        SHORT_CALL = 1024
    };
    PyArrayObject *const a = (PyArrayObject *)args[0];
    PyArrayObject *const mask = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) ||
        !PyArray_ISBOOL(mask) || PyArray_NDIM(a) != 1 || PyArray_NDIM(mask) != 1 ||
        PyArray_DIM(a, 0) != PyArray_DIM(mask, 0) || PyArray_DIM(a, 0) > SHORT_CALL ||
        !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_IS_C_CONTIGUOUS(mask)) {
        return NULL;
    }
    PyArray_Descr *const descr = PyArray_DESCR(a);
    const int size = ps_size_of(PyDataType_ELSIZE(descr));
    if (size < 0 || !PyTypeNum_ISNUMBER(descr->type_num) || PyArray_ISBOOL(a) ||
        !PyDataType_ISNOTSWAPPED(descr)) {
        return NULL;
    }
    const npy_intp n = PyArray_DIM(a, 0);
    npy_intp count = ps_kernels()->mask_count(PyArray_BYTES(mask), n);
    Py_INCREF(descr);
    PyArrayObject *const result = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, 1, &count, NULL, NULL, 0, NULL);
    if (result != NULL) {
        ps_kernels()->compress[size](PyArray_BYTES(result), PyArray_BYTES(a),
                                     PyArray_BYTES(mask), n, count);
    }
    return (PyObject *)result;
}

PyObject *
ps_py_gather_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    static const ps_signature signature = {
            "gather_where", 3, 3, 2, {PS_NAME_a, PS_NAME_mask, PS_NAME_axis}};
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    if (n_args == 2 && keywords == NULL) {
        result = gather_short(args);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    PyArrayObject *const a = ps_as_array(state, slot[0], "a");
    PyArrayObject *const mask = a != NULL ? ps_as_mask(state, slot[1]) : NULL;
    if (mask != NULL) {
        result = gather_under(state, a, mask, slot[2] != NULL ? slot[2] : Py_None);
    }
    Py_XDECREF((PyObject *)mask);
    Py_XDECREF((PyObject *)a);
    return result;
}
