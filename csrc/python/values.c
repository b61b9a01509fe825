/* Arriving values (contract in values.h).
 *
 * A Python scalar is weak: it is checked against the target's dtype, then kept as i64,
 * u64, f64 or c128, from which one conversion leads to the accumulator. Lists of such
 * scalars go through a Python helper to the same end. Casts that ps_convert does not
 * know (from float to int, to complex, between times) are made by NumPy for the whole
 * array.
 */
#include "python/values.h"

#include <math.h>
#include <string.h>

#include "ops/strided.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

static enum ps_kind
kind_of(enum ps_dtype dtype)
{
    return dtype == PS_raw ? 0 : (enum ps_kind)ps_dtype_kind[dtype];
}

bool
ps_is_python_number(PyObject *object)
{
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
           PyBool_Check(object) || PyComplex_CheckExact(object);
}

static void
hold(ps_incoming *incoming, enum ps_dtype dtype, const void *value)
{
    const int64_t size = ps_dtype_size[dtype];
    memcpy(incoming->scalar, value, (size_t)size);
    incoming->array = NULL;
    incoming->view = (ps_values){.data = incoming->scalar,
                                 .dtype = dtype,
                                 .itemsize = size,
                                 .aligned = true};
}

static int
refuse_scalar(PyObject *object, PyArray_Descr *target)
{
    PyErr_Format(
            PyExc_TypeError,
            "cannot cast %R to dtype %S (convert it first, or pass casting=\"unsafe\" "
            "to a function that takes it)",
            object, (PyObject *)target);
    return -1;
}

static int
raise_range(PyObject *object, PyArray_Descr *target)
{
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "Python integer %S is out of bounds for %S",
                 object, (PyObject *)target);
    return -1;
}

/* A Python int for an integer target. */
static int
hold_integer(PyObject *object, PyArray_Descr *target, ps_incoming *incoming)
{
    const int n_bits = 8 * (int)PyDataType_ELSIZE(target);
    if (PyTypeNum_ISSIGNED(target->type_num)) {
        int overflow;
        const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        const int64_t highest = (int64_t)(~(uint64_t)0 >> (65 - n_bits));
        if (overflow != 0 || value > highest || value < -highest - 1) {
            return raise_range(object, target);
        }
        hold(incoming, PS_i64, &value);
        return 0;
    }
    const uint64_t value = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() || value > ~(uint64_t)0 >> (64 - n_bits)) {
        return raise_range(object, target);
    }
    hold(incoming, PS_u64, &value);
    return 0;
}

/* Infinities are no overflow. */
static bool
overflows(double value, enum ps_dtype target)
{
    return fabs(value) > ps_largest_float(target) && isfinite(value);
}

static void
hold_real(double value, enum ps_dtype target, ps_incoming *incoming)
{
    incoming->may_overflow = overflows(value, target);
    hold(incoming, PS_f64, &value);
}

static void
hold_complex(double re, double im, enum ps_dtype target, ps_incoming *incoming)
{
    const c128 number = {re, im};
    incoming->may_overflow = overflows(re, target) || overflows(im, target);
    hold(incoming, PS_c128, &number);
}

/* Hold an exact Python scalar. 1: done, 0: needs the general way, which rare rules have
 * to take, -1: error. */
static int
hold_scalar(ps_state *state, PyObject *object, PyArray_Descr *target,
            NPY_CASTING casting, ps_incoming *incoming)
{
    const enum ps_dtype dtype = ps_dtype_of(state, target);
    const enum ps_kind kind = kind_of(dtype);
    if (casting != NPY_SAME_KIND_CASTING || kind == PS_KIND_TIME ||
        kind == PS_KIND_LONG || kind == 0) {
        return 0;
    }
    if (PyBool_Check(object)) {
        const b1 truth = object == Py_True;
        if (kind == PS_KIND_COMPLEX) {
            hold_complex(truth, 0, dtype, incoming);
        }
        else {
            hold(incoming, PS_b1, &truth);
        }
        return 1;
    }
    if (kind == PS_KIND_BOOL) {
        return refuse_scalar(object, target);
    }
    if (kind == PS_KIND_INT) {
        return !PyLong_CheckExact(object) ? refuse_scalar(object, target)
               : hold_integer(object, target, incoming) < 0 ? -1
                                                            : 1;
    }
    if (PyComplex_CheckExact(object)) {
        if (kind != PS_KIND_COMPLEX) {
            return refuse_scalar(object, target);
        }
        const Py_complex value = PyComplex_AsCComplex(object);
        hold_complex(value.real, value.imag, dtype, incoming);
        return 1;
    }
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (kind == PS_KIND_COMPLEX) {
        hold_complex(value, 0, dtype, incoming);
    }
    else {
        hold_real(value, dtype, incoming);
    }
    return 1;
}

/* Lists, tuples and scalars for wide or odd targets: a helper tells whether they are
 * weak. On success *is_weak says whether casting has been checked. */
static PyArrayObject *
as_values(ps_state *state, PyObject *object, PyArray_Descr *target, NPY_CASTING casting,
          bool *is_weak)
{
    *is_weak = false;
    if (PyArray_Check(object) || PyArray_IsScalar(object, Generic)) {
        return ps_as_array(state, object, "values");
    }
    PyObject *const helper = ps_get_helper(state, PS_HELPER_weak_values);
    PyObject *const result =
            helper == NULL
                    ? NULL
                    : PyObject_CallFunction(helper, "OOs", object, (PyObject *)target,
                                            ps_casting_name(casting));
    if (result == NULL) {
        return NULL;
    }
    if (PyArray_Check(result)) {
        *is_weak = true;
        return (PyArrayObject *)result;
    }
    Py_DECREF(result); /* None: not weak */
    return ps_as_array(state, object, "values");
}

/* Is the conversion one that ps_convert makes exactly as NumPy would? */
static bool
converts_in_kernels(enum ps_dtype from, enum ps_dtype to, PyArrayObject *values,
                    PyArray_Descr *target)
{
    if (from == PS_raw || to == PS_raw || from == PS_t64 || to == PS_t64) {
        return PyArray_EquivTypes(PyArray_DESCR(values), target);
    }
    if (from == to) {
        return true;
    }
    const enum ps_kind from_kind = kind_of(from), to_kind = kind_of(to);
    const bool cuts = to_kind == PS_KIND_INT && from_kind != PS_KIND_INT &&
                      from_kind != PS_KIND_BOOL;
    const bool tests = to_kind == PS_KIND_BOOL && from != to;
    return !cuts && !tests && ps_can_convert(from, to);
}

/* The descriptor that NumPy is to cast to where kernels do not. */
static PyArray_Descr *
cast_target(ps_state *state, enum ps_dtype work, PyArray_Descr *target)
{
    if (work == PS_raw || work == PS_t64) {
        return (PyArray_Descr *)Py_NewRef((PyObject *)target);
    }
    return ps_descr_of(state, work);
}

/* Has a weak array an element too large for the target's type? Any that could be are
 * held as f64 or c128. 0 or -1. */
static int
look_for_overflow(ps_state *state, PyArray_Descr *target, ps_incoming *incoming)
{
    const enum ps_dtype dtype = ps_dtype_of(state, target);
    const enum ps_dtype own = incoming->view.dtype;
    if (isinf(ps_largest_float(dtype)) || (own != PS_f64 && own != PS_c128)) {
        return 0;
    }
    const int is_silent = ps_casts_silently(state, incoming->array, target, dtype);
    incoming->may_overflow = is_silent == 0;
    return is_silent < 0 ? -1 : 0;
}

double
ps_largest_part(const ps_incoming *incoming)
{
    const double *const part = (const double *)(const void *)incoming->view.data;
    const double re = fabs(part[0]);
    const double im = incoming->view.dtype == PS_c128 ? fabs(part[1]) : 0;
    return isfinite(re) && (re > im || !isfinite(im)) ? re : im;
}

/* What a view of `array` takes from it beside the dtype. */
static void
point_at(PyArrayObject *array, ps_values *view)
{
    view->data = PyArray_BYTES(array);
    view->swapped = view->dtype != PS_raw && ps_is_swapped(array);
    view->aligned = PyArray_ISALIGNED(array);
}

int
ps_warn_of_overflow(double number, PyArray_Descr *descr)
{
    PyArrayObject *const wide = (PyArrayObject *)PyArray_SimpleNew(0, NULL, NPY_DOUBLE);
    PyObject *cast = NULL;
    if (wide != NULL) {
        *(double *)PyArray_DATA(wide) = number;
        Py_INCREF(descr);
        cast = PyArray_CastToType(wide, descr, 0);
    }
    Py_XDECREF((PyObject *)wide);
    Py_XDECREF(cast);
    return cast != NULL ? 0 : -1;
}

int
ps_take_values(ps_state *state, PyObject *object, PyArray_Descr *target,
               enum ps_dtype work, NPY_CASTING casting, ps_incoming *incoming)
{
    incoming->array = NULL;
    incoming->may_overflow = false;
    if (ps_is_python_number(object)) {
        const int held = hold_scalar(state, object, target, casting, incoming);
        if (held != 0) {
            return held < 0 ? -1 : 0;
        }
    }
    bool is_weak;
    PyArrayObject *values = as_values(state, object, target, casting, &is_weak);
    if (values == NULL) {
        return -1;
    }
    incoming->array = values;
    if (!is_weak &&
        ps_require_cast(state, "values", PyArray_DESCR(values), target, casting) < 0) {
        return -1;
    }
    enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(values));
    if (!converts_in_kernels(dtype, work, values, target)) {
        PyArray_Descr *const descr = cast_target(state, work, target);
        values = descr != NULL ? ps_cast_of(values, descr) : NULL;
        if (values == NULL) {
            return -1;
        }
        Py_SETREF(incoming->array, values);
        dtype = work;
    }
    incoming->view = (ps_values){.dtype = dtype, .itemsize = PyArray_ITEMSIZE(values)};
    point_at(values, &incoming->view);
    return is_weak ? look_for_overflow(state, target, incoming) : 0;
}

int
ps_broadcast_values(ps_incoming *incoming, int ndim, const npy_intp *shape,
                    const char *what)
{
    PyArrayObject *const array = incoming->array;
    if (array == NULL) {
        memset(incoming->strides, 0, (size_t)ndim * sizeof(npy_intp));
        return 0;
    }
    const int own_ndim = PyArray_NDIM(array);
    if (ps_broadcast_strides(ndim, shape, own_ndim, PyArray_DIMS(array),
                             PyArray_STRIDES(array), incoming->strides)) {
        return 0;
    }
    PyObject *const own_shape = PyArray_IntTupleFromIntp(own_ndim, PyArray_DIMS(array));
    PyObject *const wanted = PyArray_IntTupleFromIntp(ndim, shape);
    if (own_shape != NULL && wanted != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "values has shape %R; expected to broadcast to %R = %s", own_shape,
                     wanted, what);
    }
    Py_XDECREF(own_shape);
    Py_XDECREF(wanted);
    return -1;
}

int
ps_point_values(ps_state *state, ps_incoming *incoming)
{
    PyArrayObject *const array = incoming->array;
    ps_values *const view = &incoming->view;
    if (array == NULL) {
        return 0;
    }
    if (ps_check_kept(state, array, view->dtype, view->itemsize, "values") < 0) {
        return -1;
    }
    point_at(array, view);
    return 0;
}

int
ps_separate_values(ps_incoming *incoming, PyArrayObject *target)
{
    if (incoming->array == NULL || !ps_extents_meet(incoming->array, target)) {
        return 0;
    }
    PyArrayObject *const copy = ps_copy_of(incoming->array, NPY_KEEPORDER);
    if (copy == NULL) {
        return -1;
    }
    Py_SETREF(incoming->array, copy);
    return 0;
}

void
ps_close_values(ps_incoming *incoming)
{
    Py_XDECREF(incoming->array);
}
