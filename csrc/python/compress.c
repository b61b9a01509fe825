/* The binding of gather_where: what a mask selects, side by side.
 *
 * Single elements under a mask of all axes are counted and compressed by two ops,
 * between which the result is made, or out= compared with the count. Rows, one axis,
 * objects and odd item sizes go through the places of the trues.
 */
#include "python/py_where.h"

#include "kernels/kernels.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

/* A call on its way. */
typedef struct {
    ps_state *state;
    PyArrayObject *a, *mask;
    PyObject *axis, *out; /* Py_None where absent; out is an array */
} compress_work;

/* May elements go to out= as they come? Only from a source without gaps: any other is
 * packed, and a chunk may get no memory for that when others have written. */
static bool
can_write_into(const compress_work *work, PyArrayObject *out, PyArray_Descr *descr)
{
    return PyArray_ISCARRAY(out) && PyArray_EquivTypes(PyArray_DESCR(out), descr) &&
           PyArray_IS_C_CONTIGUOUS(work->a) && !ps_extents_meet(out, work->a) &&
           !ps_extents_meet(out, work->mask);
}

/* What the op writes to, a new reference: a fresh array, or out= itself. */
static PyArrayObject *
open_result(const compress_work *work, PyArray_Descr *descr, int ndim,
            const npy_intp *shape)
{
    if (work->out != Py_None) {
        PyArrayObject *const out = (PyArrayObject *)work->out;
        const int status = ps_check_out(work->state, out, ndim, shape, descr,
                                        NPY_SAME_KIND_CASTING);
        if (status < 0 || can_write_into(work, out, descr)) {
            return status < 0 ? NULL : (PyArrayObject *)Py_NewRef(work->out);
        }
    }
    Py_INCREF((PyObject *)descr);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape,
                                                 NULL, NULL, 0, NULL);
}

/* Make room for what was counted, and fill it. */
static PyObject *
fill_result(const compress_work *work, ps_compress_call *call, PyArray_Descr *descr,
            int ndim, const npy_intp *shape)
{
    PyArrayObject *const result = open_result(work, descr, ndim, shape);
    if (result == NULL) {
        return NULL;
    }
    const bool is_visible = (PyObject *)result == work->out;
    call->out = PyArray_BYTES(result);
    call->is_private = !is_visible;
    const int64_t nbytes = call->n + 2 * PyArray_NBYTES(result);
    const ps_status status = ps_run_op(work->state, ps_gather_where, call, nbytes);
    PyObject *given = NULL;
    if (ps_raise(work->state, status, "mask") == 0) {
        given = work->out == Py_None || is_visible
                        ? Py_NewRef((PyObject *)result)
                        : ps_deliver(result, (PyArrayObject *)work->out);
    }
    Py_DECREF((PyObject *)result);
    return given;
}

/* Where an array's elements are. */
typedef struct {
    const char *data;
    npy_intp nbytes;
} memory;

static memory
memory_of(PyArrayObject *array)
{
    return (memory){PyArray_BYTES(array), PyArray_NBYTES(array)};
}

/* Are they there still? */
static int
check_memory(PyArrayObject *array, const memory *before, const char *name)
{
    const memory now = memory_of(array);
    return now.data == before->data && now.nbytes == before->nbytes
                   ? 0
                   : ps_raise_changed(name);
}

/* The call for a mask that covers the first axes of `a`, some of them by broadcasting
 * if it covers all; the rest of them is one item. shape: of the result, but for the
 * count.
 */
static ps_compress_call
call_of(PyArrayObject *a, PyArrayObject *mask, enum ps_dtype dtype, ps_axes *axes,
        int64_t *mask_strides, npy_intp *shape)
{
    const int n_axes = PyArray_NDIM(mask);
    ps_compress_call call = {.a = ps_view_of(a, dtype, axes)};
    ps_broadcast_strides(n_axes, axes->shape, n_axes, PyArray_DIMS(mask),
                         PyArray_STRIDES(mask), mask_strides);
    for (int axis = n_axes; axis < call.a.ndim; axis++) {
        shape[axis - n_axes + 1] = axes->shape[axis];
        call.a.itemsize *= axes->shape[axis];
    }
    call.a.ndim = n_axes;
    call.a.swapped = dtype != PS_raw && call.a.swapped;
    call.mask = (ps_view){.data = PyArray_BYTES(mask),
                          .dtype = PS_b1,
                          .ndim = n_axes,
                          .itemsize = 1,
                          .shape = axes->shape,
                          .strides = mask_strides};
    return call;
}

/* Count, make room, fill. Signal handlers and other threads run while the first op
 * does, so shapes and dtype are those from before it, and the memory has to be. */
static PyObject *
compress(const compress_work *work, enum ps_dtype dtype)
{
    PyArrayObject *const a = work->a, *const mask = work->mask;
    ps_axes axes;
    int64_t mask_strides[PS_MAX_DIMS];
    npy_intp shape[PS_MAX_DIMS];
    PyArray_Descr *const descr =
            PyArray_DescrNewByteorder(PyArray_DESCR(a), NPY_NATIVE);
    if (descr == NULL) {
        return NULL;
    }
    ps_compress_call call = call_of(a, mask, dtype, &axes, mask_strides, shape);
    const int ndim = PyArray_NDIM(a) - PyArray_NDIM(mask) + 1;
    const memory of_a = memory_of(a), of_mask = memory_of(mask);
    PyObject *result = NULL;
    const ps_status status =
            ps_run_op(work->state, ps_count_where, &call, PyArray_SIZE(a));
    if (ps_raise(work->state, status, "mask") == 0 &&
        check_memory(a, &of_a, "a") == 0 && check_memory(mask, &of_mask, "mask") == 0) {
        shape[0] = call.count;
        result = fill_result(work, &call, descr, ndim, shape);
    }
    ps_end_gather_where(&call);
    Py_DECREF(descr);
    return result;
}

/* Rows, an axis, objects, odd item sizes: through the places of the trues. */
static PyObject *
gather_by_places(const compress_work *work)
{
    PyObject *const function = ps_get_helper(work->state, PS_HELPER_gather_masked);
    return function == NULL
                   ? NULL
                   : PyObject_CallFunctionObjArgs(function, (PyObject *)work->a,
                                                  (PyObject *)work->mask, work->axis,
                                                  work->out, NULL);
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
gather_under(const compress_work *work)
{
    PyArrayObject *const a = work->a, *const mask = work->mask;
    enum ps_dtype dtype;
    const int storage = ps_storage_of(work->state, a, &dtype);
    const bool is_flat = work->axis == Py_None;
    if (storage < 0 || (is_flat && ps_check_mask(mask, a) < 0)) {
        return NULL;
    }
    if (is_flat && rows_are_items(mask, a, storage)) {
        return compress(work, PS_raw);
    }
    const bool is_full =
            is_flat && PyArray_NDIM(mask) == PyArray_NDIM(a) && PyArray_NDIM(a) > 0;
    const bool is_simple =
            storage == PS_STORED_NUMBERS ||
            (storage == PS_STORED_BYTES && PyDataType_ISNOTSWAPPED(PyArray_DESCR(a)) &&
             !PyDataType_HASFIELDS(PyArray_DESCR(a)));
    return is_full && is_simple && ps_size_of(PyArray_ITEMSIZE(a)) >= 0
                   ? compress(work, dtype)
                   : gather_by_places(work);
}

/* n elements and their mask side by side; false: they are not to be had so without work
 * memory. */
static bool
take_few(PyArrayObject *a, PyArrayObject *mask, ps_few_where *few)
{
    ps_axes axes, mask_axes;
    if (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(mask)) {
        few->a = PyArray_BYTES(a);
        few->mask = PyArray_BYTES(mask);
        return true;
    }
    if (PyArray_NBYTES(a) > PS_FEW_BYTES || PyArray_SIZE(a) == 0) {
        return false;
    }
    const ps_view view = ps_view_of(a, PS_raw, &axes);
    const ps_view mask_view = ps_view_of(mask, PS_b1, &mask_axes);
    return ps_open_few_where(&view, &mask_view, few);
}

/* Few elements of one kind beside as many mask bytes: straight to the kernels. NULL
 * without an exception: not such a call. */
static PyObject *
gather_short(PyObject *const *args)
{
    PyArrayObject *const a = (PyArrayObject *)args[0];
    PyArrayObject *const mask = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) ||
        !PyArray_ISBOOL(mask) || PyArray_NDIM(a) == 0 || !PyArray_SAMESHAPE(a, mask) ||
        PyArray_SIZE(a) > PS_SHORT_ROW) {
        return NULL;
    }
    PyArray_Descr *const descr = PyArray_DESCR(a);
    const int size = ps_size_of(PyDataType_ELSIZE(descr));
    ps_few_where few;
    const int type = descr->type_num;
    if (size < 0 || !(PyTypeNum_ISNUMBER(type) || PyTypeNum_ISDATETIME(type)) ||
        !PyDataType_ISNOTSWAPPED(descr) || !take_few(a, mask, &few)) {
        return NULL;
    }
    const npy_intp n = PyArray_SIZE(a);
    npy_intp count = ps_kernels()->mask_count(few.mask, n);
    Py_INCREF(descr);
    PyArrayObject *result = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, 1, &count, NULL, NULL, 0, NULL);
    if (result != NULL && ps_kernels()->compress[size](PyArray_BYTES(result), few.a,
                                                       few.mask, n, count) < count) {
        /* NumPy writes to large arrays without holding the GIL. */
        ps_raise(NULL, ps_fail(PS_INDEX_CHANGED), "mask");
        Py_CLEAR(result);
    }
    if (result != NULL && PyArray_ISBOOL(result)) {
        ps_settle_booleans(PyArray_BYTES(result), count);
    }
    return (PyObject *)result;
}

PyObject *
ps_py_gather_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    static const ps_signature signature = {
            "gather_where",
            4,
            3,
            2,
            {PS_NAME_a, PS_NAME_mask, PS_NAME_axis, PS_NAME_out}};
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    if (n_args == 2 && keywords == NULL) {
        result = gather_short(args);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    compress_work work = {.state = ps_get_state(module)};
    if (ps_parse(work.state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    work.axis = slot[2] != NULL ? slot[2] : Py_None;
    work.out = slot[3] != NULL ? slot[3] : Py_None;
    if (keywords != NULL && work.axis == Py_None && work.out == Py_None) {
        result = gather_short(slot);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    int axis;
    if ((work.axis != Py_None && ps_to_int(work.axis, "axis", &axis) < 0) ||
        (work.out != Py_None && ps_require_array(work.state, work.out, "out") < 0)) {
        return NULL;
    }
    work.a = ps_as_array(work.state, slot[0], "a");
    work.mask = work.a != NULL ? ps_as_mask(work.state, slot[1], "mask") : NULL;
    if (work.mask != NULL) {
        result = gather_under(&work);
    }
    Py_XDECREF((PyObject *)work.mask);
    Py_XDECREF((PyObject *)work.a);
    return result;
}
