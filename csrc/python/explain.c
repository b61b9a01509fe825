/* The binding of explain_diff: which type two arrays are compared in (contract in
 * explain.h). What kernels do not cast block by block, complex numbers and longdouble,
 * is cast as a whole by NumPy. */
#include "python/explain.h"

#include "ops/explain.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"

/* The type that an array's elements are read as; PS_raw: they are no numbers. */
static enum ps_dtype
type_of(ps_state *state, PyArrayObject *array)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(array));
    if (dtype == PS_raw || dtype == PS_f80 || ps_dtype_kind[dtype] == PS_KIND_TIME) {
        return dtype == PS_f80 ? PS_f80 : PS_raw;
    }
    switch ((enum ps_kind)ps_dtype_kind[dtype]) {
        case PS_KIND_COMPLEX:
            return PS_c128;
        case PS_KIND_BOOL:
            return PS_i64;
        case PS_KIND_INT:
            return dtype == PS_u64 ? PS_u64 : PS_i64;
        default:
            return PS_f64;
    }
}

static bool
is_integer(enum ps_dtype type)
{
    return type == PS_i64 || type == PS_u64;
}

/* Both are read as the wider kind: integers, f64, f80, c128. */
static void
join_types(enum ps_dtype *one, enum ps_dtype *other)
{
    const enum ps_dtype wider[] = {PS_c128, PS_f80, PS_f64};
    for (int i = 0; i < 3 && !(is_integer(*one) && is_integer(*other)); i++) {
        if (*one == wider[i] || *other == wider[i]) {
            *one = *other = wider[i];
            return;
        }
    }
}

/* The array as the op can read it, cast as a whole where it has to be. */
static PyArrayObject *
readable(ps_state *state, PyArrayObject *array, enum ps_dtype type)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(array));
    if (dtype == type || ps_can_convert(dtype, type)) {
        return (PyArrayObject *)PyArray_View(array, NULL, &PyArray_Type);
    }
    PyArray_Descr *const descr = ps_descr_of(state, type);
    return descr != NULL ? ps_cast_of(array, descr) : NULL;
}

/* The view of an array in the shape of the other one: they are equal, or it has none.
 */
static ps_view
view_in(ps_state *state, PyArrayObject *array, const ps_view *other, ps_axes *axes)
{
    ps_view view = ps_view_of(array, ps_dtype_of(state, PyArray_DESCR(array)), axes);
    if (view.ndim < other->ndim) {
        for (int i = 0; i < other->ndim; i++) {
            axes->shape[i] = other->shape[i];
            axes->strides[i] = 0;
        }
        view.ndim = other->ndim;
    }
    return view;
}

static PyObject *
report(const ps_explain_call *call)
{
    const int64_t shown = call->n_mismatch < PS_FIRST_MISMATCHES ? call->n_mismatch
                                                                 : PS_FIRST_MISMATCHES;
    PyObject *const first = PyTuple_New((Py_ssize_t)shown);
    for (int64_t i = 0; first != NULL && i < shown; i++) {
        PyObject *const number = PyLong_FromLongLong(call->first[i]);
        if (number == NULL) {
            Py_DECREF(first);
            return NULL;
        }
        PyTuple_SET_ITEM(first, i, number);
    }
    return first != NULL ? Py_BuildValue("LLNdd", (long long)call->n,
                                         (long long)call->n_mismatch, first,
                                         call->max_abs, call->max_rel)
                         : NULL;
}

/* The op on two views that nobody gives other axes. */
static PyObject *
explain_views(ps_state *state, PyArrayObject *actual, PyArrayObject *desired,
              ps_explain_call *call)
{
    ps_axes actual_axes, desired_axes;
    if (PyArray_NDIM(actual) > 0 && PyArray_NDIM(desired) > 0 &&
        (PyArray_NDIM(actual) != PyArray_NDIM(desired) ||
         !PyArray_CompareLists(PyArray_DIMS(actual), PyArray_DIMS(desired),
                               PyArray_NDIM(actual)))) {
        ps_raise_shapes(PyExc_ValueError, "actual has shape %U, desired has shape %U",
                        PyArray_NDIM(actual), PyArray_DIMS(actual),
                        PyArray_NDIM(desired), PyArray_DIMS(desired));
        return NULL;
    }
    if (!ps_lies_in_base(actual) || !ps_lies_in_base(desired)) {
        ps_raise_changed(NULL);
        return NULL;
    }
    const ps_view whole = ps_view_of(actual, PS_raw, &actual_axes);
    call->desired = view_in(state, desired, &whole, &desired_axes);
    call->actual = view_in(state, actual, &call->desired, &actual_axes);
    const ps_status status = ps_run_op(
            state, ps_explain, call, PyArray_NBYTES(actual) + PyArray_NBYTES(desired));
    return ps_raise(state, status, "actual") < 0 ? NULL : report(call);
}

PyObject *
ps_py_explain(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *first, *second, *result = NULL;
    ps_explain_call call;
    if (!PyArg_ParseTuple(args, "OOdd", &first, &second, &call.rtol, &call.atol)) {
        return NULL;
    }
    PyArrayObject *const given = ps_as_array(state, first, "actual");
    PyArrayObject *const wanted =
            given != NULL ? ps_as_array(state, second, "desired") : NULL;
    PyArrayObject *actual = NULL, *desired = NULL;
    if (wanted != NULL) {
        call.actual_type = type_of(state, given);
        call.desired_type = type_of(state, wanted);
        if (call.actual_type == PS_raw || call.desired_type == PS_raw) {
            PyErr_Format(PyExc_TypeError,
                         "'%s' has dtype %S; expected numbers or bools",
                         call.actual_type == PS_raw ? "actual" : "desired",
                         PyArray_DESCR(call.actual_type == PS_raw ? given : wanted));
        }
        else {
            join_types(&call.actual_type, &call.desired_type);
            actual = readable(state, given, call.actual_type);
            desired =
                    actual != NULL ? readable(state, wanted, call.desired_type) : NULL;
        }
    }
    if (desired != NULL) {
        result = explain_views(state, actual, desired, &call);
    }
    Py_XDECREF((PyObject *)desired);
    Py_XDECREF((PyObject *)actual);
    Py_XDECREF((PyObject *)wanted);
    Py_XDECREF((PyObject *)given);
    return result;
}
