/* Whole arrays copied and cast by NumPy (contract in copies.h).
 *
 * A copy is cut along the axis of the longest stride, so that each part is as
 * contiguous as the whole. What NumPy may warn of is not cut: one copy warns once.
 */
#include "python/copies.h"

#include <string.h>

#include "base/sizes.h"
#include "python/arrays.h"
#include "python/spans.h"

enum {
    /* Bytes of a part: some 5 ms with memory that has not been touched. */
    PART_BYTES = 8 << 20
};

PyArrayObject *
ps_plain(PyArrayObject *array)
{
    return PyArray_CheckExact((PyObject *)array)
                   ? (PyArrayObject *)Py_NewRef((PyObject *)array)
                   : (PyArrayObject *)PyArray_View(array, NULL, &PyArray_Type);
}

int
ps_hold_view(PyArrayObject **array)
{
    if (*array == NULL) {
        return 0;
    }
    Py_SETREF(*array, (PyArrayObject *)PyArray_View(*array, NULL, &PyArray_Type));
    return *array != NULL ? 0 : -1;
}

/* One of the two arrays of a copy, as it was when the copy began: handlers of signals
 * run between the parts, and may give it other memory. */
typedef struct {
    PyArrayObject *array;
    char *data;
    npy_intp strides[PS_MAX_DIMS];
} held_array;

/* A copy on its way. */
typedef struct {
    held_array out, array;
    int ndim;
    npy_intp whole[PS_MAX_DIMS]; /* shape */
    npy_intp shape[PS_MAX_DIMS]; /* of the part at hand */
    bool is_private;
    double start;
} copying;

static held_array
held_of(PyArrayObject *array)
{
    held_array held = {.array = array, .data = PyArray_BYTES(array)};
    memcpy(held.strides, PyArray_STRIDES(array),
           sizeof(npy_intp) * (size_t)PyArray_NDIM(array));
    return held;
}

/* An array that shrinks where it lies keeps its pointer, but not its shape. */
static bool
is_held(const copying *copy, const held_array *held)
{
    PyArrayObject *const array = held->array;
    return PyArray_BYTES(array) == held->data && PyArray_NDIM(array) == copy->ndim &&
           PyArray_CompareLists(PyArray_DIMS(array), copy->whole, copy->ndim) &&
           ps_lies_in_base(array);
}

static int
hear_signals(const copying *copy)
{
    if (ps_now() - copy->start <= PS_FINISH_SECONDS && !copy->is_private) {
        return 0;
    }
    const int status = PyErr_CheckSignals();
    return status < 0 || (is_held(copy, &copy->out) && is_held(copy, &copy->array))
                   ? status
                   : ps_raise_changed(NULL);
}

/* The part of an array at `data`, as an array that does not own it. */
static PyArrayObject *
part_of(const copying *copy, const held_array *held, char *data)
{
    PyArray_Descr *const descr =
            (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(held->array));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, copy->ndim,
                                                 copy->shape, held->strides, data,
                                                 NPY_ARRAY_WRITEABLE, NULL);
}

static int
copy_part(const copying *copy, char *to, char *from)
{
    PyArrayObject *const target = part_of(copy, &copy->out, to);
    PyArrayObject *const source =
            target != NULL ? part_of(copy, &copy->array, from) : NULL;
    const int status = source != NULL ? PyArray_CopyInto(target, source) : -1;
    Py_XDECREF((PyObject *)target);
    Py_XDECREF((PyObject *)source);
    return status == 0 ? hear_signals(copy) : status;
}

/* Of the axes that can be cut; -1: none. */
static int
longest_stride(const copying *copy)
{
    int longest = -1;
    npy_intp best = -1;
    for (int axis = 0; axis < copy->ndim; axis++) {
        const npy_intp stride = copy->out.strides[axis];
        const npy_intp length = stride < 0 ? -stride : stride;
        if (copy->shape[axis] > 1 && length > best) {
            longest = axis;
            best = length;
        }
    }
    return longest;
}

/* The part of copy->shape at these places, `nbytes` long. */
static int
copy_in_parts(copying *copy, char *to, char *from, int64_t nbytes)
{
    const int axis = nbytes <= PART_BYTES ? -1 : longest_stride(copy);
    if (axis < 0) {
        return copy_part(copy, to, from);
    }
    const npy_intp length = copy->shape[axis];
    const npy_intp step = ps_max(1, length / ps_ceil_div(nbytes, PART_BYTES));
    int status = 0;
    for (npy_intp at = 0; at < length && status == 0; at += step) {
        const npy_intp n = ps_min(step, length - at);
        copy->shape[axis] = n;
        status = copy_in_parts(copy, to + at * copy->out.strides[axis],
                               from + at * copy->array.strides[axis],
                               nbytes / length * n);
    }
    copy->shape[axis] = length;
    return status;
}

/* `array` at one stretch of its items, as a view of items of bytes. */
static PyArrayObject *
bytes_of(PyArrayObject *array, ps_span span)
{
    PyArray_Descr *const descr = PyArray_DescrNewFromType(NPY_VOID);
    if (descr == NULL) {
        return NULL;
    }
    PyDataType_SET_ELSIZE(descr, span.n);
    PyArrayObject *const view = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array),
            PyArray_STRIDES(array), PyArray_BYTES(array) + span.first,
            NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL && PyArray_SetBaseObject(view, Py_NewRef((PyObject *)array)) < 0) {
        Py_DECREF((PyObject *)view);
        return NULL;
    }
    return view;
}

/* Records of one type, stretch by stretch of what their fields fill: NumPy 2.5 copies
 * such items whole, and with them bytes that belong to someone else. */
static int
copy_spans(PyArrayObject *out, PyArrayObject *array, const ps_spans *spans,
           bool is_private)
{
    int status = 0;
    for (int64_t i = 0; i < spans->n && status == 0; i++) {
        PyArrayObject *const to = bytes_of(out, spans->span[i]);
        PyArrayObject *const from = to != NULL ? bytes_of(array, spans->span[i]) : NULL;
        status = from != NULL ? ps_copy_into(to, from, is_private) : -1;
        Py_XDECREF((PyObject *)to);
        Py_XDECREF((PyObject *)from);
    }
    return status;
}

int
ps_copy_into(PyArrayObject *out, PyArrayObject *array, bool is_private)
{
    PyArray_Descr *const descr = PyArray_DESCR(out);
    if (PyDataType_HASFIELDS(descr) && !PyDataType_REFCHK(descr) &&
        PyArray_ISWRITEABLE(out) && PyArray_SAMESHAPE(out, array) &&
        PyArray_EquivTypes(descr, PyArray_DESCR(array)) &&
        !ps_extents_meet(out, array)) {
        ps_spans spans;
        const int found = ps_find_spans(descr, &spans);
        const bool has_holes = spans.span != NULL;
        const int status = found == 0 && has_holes
                                   ? copy_spans(out, array, &spans, is_private)
                                   : found;
        ps_close_spans(&spans);
        if (has_holes || status < 0) {
            return status;
        }
    }
    const int64_t nbytes = ps_max(PyArray_NBYTES(out), PyArray_NBYTES(array));
    if (nbytes <= PART_BYTES || PyArray_ITEMSIZE(out) == 0 ||
        PyArray_ITEMSIZE(array) == 0 || !PyArray_SAMESHAPE(out, array) ||
        !PyArray_CanCastTypeTo(PyArray_DESCR(array), PyArray_DESCR(out),
                               NPY_SAFE_CASTING) ||
        !PyArray_ISWRITEABLE(out) || ps_extents_meet(out, array)) {
        return PyArray_CopyInto(out, array);
    }
    copying copy = {.out = held_of(out),
                    .array = held_of(array),
                    .ndim = PyArray_NDIM(out),
                    .is_private = is_private,
                    .start = ps_now()};
    memcpy(copy.whole, PyArray_DIMS(out), sizeof(npy_intp) * (size_t)copy.ndim);
    memcpy(copy.shape, copy.whole, sizeof(npy_intp) * (size_t)copy.ndim);
    return copy_in_parts(&copy, copy.out.data, copy.array.data, nbytes);
}

/* `copy`, filled with the elements of `array`; NULL for NULL, or when that fails. */
static PyArrayObject *
filled(PyArrayObject *copy, PyArrayObject *array)
{
    if (copy != NULL && ps_copy_into(copy, array, true) < 0) {
        Py_CLEAR(copy);
    }
    return copy;
}

PyArrayObject *
ps_copy_of(PyArrayObject *array, NPY_ORDER order)
{
    return filled((PyArrayObject *)PyArray_NewLikeArray(array, order, NULL, 0), array);
}

/* A length that NumPy has to find by looking, as for "S", is left to it. */
PyArrayObject *
ps_cast_of(PyArrayObject *array, PyArray_Descr *descr)
{
    if (PyDataType_ISUNSIZED(descr)) {
        PyArrayObject *const plain = ps_plain(array);
        PyArrayObject *const cast =
                plain != NULL ? (PyArrayObject *)PyArray_CastToType(plain, descr, 0)
                              : NULL;
        Py_XDECREF((PyObject *)plain);
        return cast;
    }
    return filled((PyArrayObject *)PyArray_NewFromDescr(
                          &PyArray_Type, descr, PyArray_NDIM(array),
                          PyArray_DIMS(array), NULL, NULL, 0, NULL),
                  array);
}

PyArrayObject *
ps_contiguous(PyArrayObject *array)
{
    if (PyArray_ISCARRAY_RO(array)) { /* aligned and native as well */
        return ps_plain(array);
    }
    PyArray_Descr *const native =
            PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    return native != NULL ? ps_cast_of(array, native) : NULL;
}

PyArrayObject *
ps_flat_of(PyArrayObject *array)
{
    PyArrayObject *const plain = PyArray_IS_C_CONTIGUOUS(array)
                                         ? ps_plain(array)
                                         : ps_copy_of(array, NPY_CORDER);
    PyArrayObject *const flat =
            plain != NULL ? (PyArrayObject *)PyArray_Ravel(plain, NPY_CORDER) : NULL;
    Py_XDECREF((PyObject *)plain);
    return flat;
}

PyObject *
ps_deliver(PyArrayObject *result, PyArrayObject *out)
{
    if (!ps_lies_in_base(out)) {
        ps_raise_changed("out");
        return NULL;
    }
    PyArray_Descr *const native =
            PyArray_DescrNewByteorder(PyArray_DESCR(out), NPY_NATIVE);
    if (native == NULL) {
        return NULL;
    }
    PyArrayObject *ready = result;
    if (PyArray_EquivTypes(native, PyArray_DESCR(result))) {
        Py_INCREF((PyObject *)ready);
        Py_DECREF(native);
    }
    else {
        ready = ps_cast_of(result, native);
    }
    const int status = ready != NULL ? ps_copy_into(out, ready, false) : -1;
    Py_XDECREF((PyObject *)ready);
    if (status == 0) {
        return Py_NewRef((PyObject *)out);
    }
    if (!PyErr_Occurred()) { /* NumPy's casts to objects forget to say so */
        PyErr_NoMemory();
    }
    return NULL;
}

PyArrayObject *
ps_fresh_copy(PyArrayObject *array, PyArray_Descr *descr)
{
    const bool is_record = PyDataType_HASFIELDS(descr);
    if (!PyDataType_ISNOTSWAPPED(descr) || is_record) {
        Py_SETREF(descr, PyArray_DescrNewByteorder(descr, NPY_NATIVE));
    }
    if (descr == NULL) {
        return NULL;
    }
    const int ndim = PyArray_NDIM(array);
    const npy_intp *const shape = PyArray_DIMS(array);
    /* Copying leaves the bytes between fields alone. */
    PyObject *const copy = is_record ? PyArray_Zeros(ndim, shape, descr, 0)
                                     : PyArray_Empty(ndim, shape, descr, 0);
    return filled((PyArrayObject *)copy, array);
}
