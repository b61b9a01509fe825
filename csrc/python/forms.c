/* The five addressings (contract in forms.h). */
#include "python/forms.h"

#include <limits.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/py_plan.h"

enum {
    /* An array up to this is in some cache, from which its rows come in any order. */
    FAR_BYTES = 2 << 20
};

const char *
ps_form_name(enum ps_form form)
{
    static const char *const names[] = {[PS_FORM_AXIS] = "axis",
                                        [PS_FORM_ALONG] = "along",
                                        [PS_FORM_ND] = "nd",
                                        [PS_FORM_AT] = "at",
                                        [PS_FORM_WHERE] = "where"};
    return names[form];
}

/* What has yet to become an array is short. A copy pays from about one position an
 * element. ms of one per element without / with a copy, float64 in Fortran order: sums
 * into 1e6 8.4 / 4.7, into 9e6 123 / 192; moves into 1e6 6.0 / 5.1, into 9e6 106 / 194
 * (Zen 3). */
bool
ps_needs_flat_copy(const ps_state *state, const ps_where_args *where,
                   PyArrayObject *array)
{
    PyObject *const index = where->index;
    if (where->axis != Py_None || where->form == PS_FORM_AT ||
        PyArray_IS_C_CONTIGUOUS(array)) {
        return false;
    }
    const ps_plan *const plan = ps_plan_of(state, index);
    const int64_t n = plan != NULL           ? plan->n
                      : PyArray_Check(index) ? PyArray_SIZE((PyArrayObject *)index)
                                             : 0;
    return n > PyArray_SIZE(array);
}

/* The view is the array itself, as it is at this moment. */
static void
view_itself(ps_request *request, PyArrayObject *array)
{
    Py_INCREF((PyObject *)array);
    request->view = array;
    request->view_ndim = PyArray_NDIM(array);
}

/* A view, or a copy, of one axis in C order. */
static int
take_flat_view(ps_request *request, PyArrayObject *array)
{
    request->is_flat = false;
    Py_XSETREF(request->view, ps_flat_of(array));
    request->view_ndim = 1;
    return request->view != NULL ? 0 : -1;
}

static int
check_batch_dims(const ps_where_args *where, int batch_dims, PyArrayObject *array)
{
    if (batch_dims < 0) {
        PyErr_Format(PyExc_ValueError, "batch_dims must not be negative, got %d",
                     batch_dims);
        return -1;
    }
    if (batch_dims > 0 && where->axis == Py_None) {
        PyErr_SetString(PyExc_ValueError,
                        "axis=None (flat) does not go with batch_dims");
        return -1;
    }
    if (batch_dims > PyArray_NDIM(array)) {
        PyErr_Format(PyExc_ValueError, "batch_dims is %d, but 'a' has %d dimensions",
                     batch_dims, PyArray_NDIM(array));
        return -1;
    }
    return 0;
}

/* view and axis of the axis and along forms; None means flat: elements of the array as
 * it is. */
static int
place_axis(ps_state *state, const ps_where_args *where, PyArrayObject *array,
           int default_axis, ps_request *request)
{
    int axis = default_axis;
    if (where->axis == Py_None) {
        request->first = 0;
        if (!PyArray_IS_C_CONTIGUOUS(array)) {
            view_itself(request, array);
            request->is_flat = true;
            return 0;
        }
        return take_flat_view(request, array);
    }
    if (ps_to_int(where->axis, "axis", &axis) < 0) {
        return -1;
    }
    view_itself(request, array);
    axis = ps_check_axis(state, axis, PyArray_NDIM(array));
    if (axis >= 0 && axis < request->batch_dims) {
        PyErr_Format(PyExc_ValueError, "axis %d is one of the %d batch axes", axis,
                     request->batch_dims);
        return -1;
    }
    request->first = axis;
    return axis < 0 ? -1 : 0;
}

/* The index of the axis form: an array, or a plan, whose rows stand in for it. */
static int
add_axis_index(ps_state *state, const ps_where_args *where, ps_request *request)
{
    const ps_plan *const plan = ps_plan_of(state, where->index);
    if (plan == NULL) {
        return ps_add_index(state, request, where->index);
    }
    const npy_intp size = ps_axis_size(request, request->first);
    if (size != plan->size) {
        PyErr_Format(PyExc_ValueError,
                     "the plan was made for an axis of size %lld, but axis %d of %s "
                     "has size %zd",
                     (long long)plan->size, request->first,
                     where->axis == Py_None ? "the flattened 'a'" : "'a'", size);
        return -1;
    }
    request->index[0] = ps_plan_rows(where->index);
    if (request->index[0] == NULL) {
        return -1;
    }
    request->n_index = 1;
    request->plan = plan;
    return 0;
}

static int
fill_axis_form(ps_state *state, const ps_where_args *where, PyArrayObject *array,
               ps_request *request)
{
    if (where->name != NULL) {
        request->index_name = where->name;
    }
    if (ps_to_int(where->batch_dims, "batch_dims", &request->batch_dims) < 0 ||
        check_batch_dims(where, request->batch_dims, array) < 0 ||
        place_axis(state, where, array, request->batch_dims, request) < 0) {
        return -1;
    }
    return add_axis_index(state, where, request);
}

static int
fill_along_form(ps_state *state, const ps_where_args *where, PyArrayObject *array,
                ps_request *request)
{
    if (where->name != NULL) {
        request->index_name = where->name;
    }
    if (place_axis(state, where, array, -1, request) < 0 ||
        ps_add_index(state, request, where->index) < 0) {
        return -1;
    }
    if (where->axis == Py_None && PyArray_NDIM(request->index[0]) != 1) {
        PyErr_Format(
                PyExc_ValueError,
                "axis=None takes 'a' as flat, so 'index' must have one dimension, not "
                "%d (use gather or scatter, which take an index of any shape with "
                "axis=None)",
                PyArray_NDIM(request->index[0]));
        return -1;
    }
    request->is_along = !request->is_flat;
    request->along_axis = request->first;
    return 0;
}

static int
fill_nd_form(ps_state *state, const ps_where_args *where, PyArrayObject *array,
             ps_request *request)
{
    request->index_name = "indices";
    if (ps_to_int(where->batch_dims, "batch_dims", &request->batch_dims) < 0 ||
        check_batch_dims(where, request->batch_dims, array) < 0) {
        return -1;
    }
    view_itself(request, array);
    request->first = request->batch_dims;
    return ps_add_tuples(state, request, where->index);
}

/* Is it what the common calls pass: an integer array, or a tuple of them? */
static bool
is_plain_index(PyObject *index, PyArrayObject *array)
{
    if (PyArray_CheckExact(index)) {
        return ps_index_type_of((PyArrayObject *)index) >= 0 && PyArray_NDIM(array) > 0;
    }
    if (!PyTuple_CheckExact(index) || PyTuple_GET_SIZE(index) == 0 ||
        PyTuple_GET_SIZE(index) > PyArray_NDIM(array)) {
        return false;
    }
    for (Py_ssize_t m = 0; m < PyTuple_GET_SIZE(index); m++) {
        PyObject *const item = PyTuple_GET_ITEM(index, m);
        if (!PyArray_CheckExact(item) || ps_index_type_of((PyArrayObject *)item) < 0) {
            return false;
        }
    }
    return true;
}

static int
add_all(ps_state *state, ps_request *request, PyObject *tuple)
{
    for (Py_ssize_t m = 0; m < PyTuple_GET_SIZE(tuple); m++) {
        if (ps_add_index(state, request, PyTuple_GET_ITEM(tuple, m)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Slices, None, Ellipsis, masks, lists, numbers: a helper resolves the expression into
 * (view, index arrays, first axis). */
static int
fill_by_helper(ps_state *state, const ps_where_args *where, PyArrayObject *array,
               ps_request *request)
{
    PyObject *const helper = ps_get_helper(state, PS_HELPER_resolve);
    PyArrayObject *const plain = helper != NULL ? ps_plain(array) : NULL;
    PyObject *const result =
            plain == NULL ? NULL
                          : PyObject_CallFunctionObjArgs(helper, (PyObject *)plain,
                                                         where->index, NULL);
    PyObject *view, *arrays;
    Py_XDECREF((PyObject *)plain);
    if (result == NULL) {
        return -1;
    }
    if (!PyArg_ParseTuple(result, "O!O!i", &PyArray_Type, &view, &PyTuple_Type, &arrays,
                          &request->first)) {
        Py_DECREF(result);
        return -1;
    }
    view_itself(request, (PyArrayObject *)view);
    const int added = add_all(state, request, arrays);
    Py_DECREF(result);
    return added;
}

static int
fill_at_form(ps_state *state, const ps_where_args *where, PyArrayObject *array,
             ps_request *request)
{
    request->index_name = "indices";
    if (!is_plain_index(where->index, array)) {
        return fill_by_helper(state, where, array, request);
    }
    view_itself(request, array);
    if (PyTuple_CheckExact(where->index)) {
        return add_all(state, request, where->index);
    }
    return ps_add_index(state, request, where->index);
}

static int
fill_where_form(ps_state *state, const ps_where_args *where, PyArrayObject *array,
                ps_request *request)
{
    request->is_where = true;
    request->mask = ps_as_mask(state, where->mask, "mask");
    view_itself(request, array);
    return request->mask != NULL ? 0 : -1;
}

/* Rows whose elements are lines of their own, as many as there are or more. */
static bool
takes_far_rows(const ps_where_args *where, const ps_request *request)
{
    PyArrayObject *const view = request->view;
    return where->reads && where->form == PS_FORM_AXIS && request->n_index == 1 &&
           request->first == 0 && request->batch_dims == 0 && PyArray_NDIM(view) > 1 &&
           PyArray_IS_F_CONTIGUOUS(view) && !PyArray_IS_C_CONTIGUOUS(view) &&
           PyArray_NBYTES(view) > FAR_BYTES &&
           PyArray_SIZE(request->index[0]) >= PyArray_DIM(view, 0);
}

/* A copy in C order costs less than finding half of the elements one by one, or than
 * all rows in Fortran order: 125,000 of 8 float64 take 29 ns each with a copy, 55
 * without (Zen 3). */
static int
copy_if_many(const ps_where_args *where, ps_request *request)
{
    if (request->is_flat) {
        return where->reads && PyArray_SIZE(request->index[0]) >
                                       PyArray_SIZE(request->view) / 2
                       ? take_flat_view(request, request->view)
                       : 0;
    }
    if (takes_far_rows(where, request)) {
        Py_SETREF(request->view, ps_copy_of(request->view, NPY_CORDER));
    }
    return request->view != NULL ? 0 : -1;
}

int
ps_fill_request(ps_state *state, const ps_where_args *where, PyArrayObject *array,
                ps_request *request)
{
    static int (*const fill[])(ps_state *, const ps_where_args *, PyArrayObject *,
                               ps_request *) = {[PS_FORM_AXIS] = fill_axis_form,
                                                [PS_FORM_ALONG] = fill_along_form,
                                                [PS_FORM_ND] = fill_nd_form,
                                                [PS_FORM_AT] = fill_at_form,
                                                [PS_FORM_WHERE] = fill_where_form};
    ps_begin_request(request);
    if (fill[where->form](state, where, array, request) < 0) {
        return -1;
    }
    if (request->is_where) {
        return 0;
    }
    return ps_add_mask(state, request, where->mask) < 0 ||
                           copy_if_many(where, request) < 0
                   ? -1
                   : 0;
}
