/* A call's "where" (contract in request.h). */
#include "python/request.h"

#include <string.h>

#include "base/sizes.h"
#include "ops/plan.h"
#include "ops/strided.h"
#include "python/arrays.h"
#include "python/copies.h"

void
ps_begin_request(ps_request *request)
{
    request->view = NULL;
    request->n_index = 0;
    request->first = 0;
    request->batch_dims = 0;
    request->is_along = false;
    request->is_where = false;
    request->is_flat = false;
    request->along_axis = 0;
    request->tuples = NULL;
    request->mask = NULL;
    request->index_name = "index";
    request->plan = NULL;
    request->block = NULL;
}

void
ps_close_request(ps_request *request)
{
    Py_XDECREF(request->view);
    for (int m = 0; request->tuples == NULL && m < request->n_index; m++) {
        Py_DECREF(request->index[m]);
    }
    Py_XDECREF(request->tuples);
    Py_XDECREF(request->mask);
    PyMem_Free(request->block);
}

npy_intp
ps_axis_size(const ps_request *request, int axis)
{
    return request->is_flat ? PyArray_SIZE(request->view)
                            : PyArray_DIM(request->view, axis);
}

/* A helper says what `object`, which became `index`, is instead of integers. */
static void
refuse_index(ps_state *state, const char *name, PyObject *object, PyArrayObject *index)
{
    PyObject *const helper = ps_get_helper(state, PS_HELPER_index_trouble);
    PyObject *const trouble =
            helper == NULL ? NULL : PyObject_CallFunction(helper, "OO", object, index);
    if (trouble != NULL) {
        PyErr_Format(PyExc_TypeError, "'%s' %S", name, trouble);
        Py_DECREF(trouble);
    }
}

PyArrayObject *
ps_as_index(ps_state *state, PyObject *object, const char *name)
{
    PyArrayObject *index = ps_as_array(state, object, name);
    if (index == NULL) {
        return NULL;
    }
    if (!PyArray_Check(object) && PyArray_SIZE(index) == 0 &&
        ps_index_type_of(index) < 0) {
        PyArrayObject *const empty = ps_cast_of(index, PyArray_DescrFromType(NPY_INTP));
        Py_SETREF(index, empty);
    }
    if (index != NULL && ps_index_type_of(index) < 0) {
        refuse_index(state, name, object, index);
        Py_CLEAR(index);
    }
    return index;
}

int
ps_add_index(ps_state *state, ps_request *request, PyObject *object)
{
    PyArrayObject *const index = ps_as_index(state, object, request->index_name);
    if (index == NULL) {
        return -1;
    }
    if (request->n_index == PS_MAX_DIMS) {
        PyErr_Format(PyExc_IndexError, "too many indices: at most %d", PS_MAX_DIMS);
        Py_DECREF(index);
        return -1;
    }
    request->index[request->n_index++] = index;
    return 0;
}

int
ps_add_tuples(ps_state *state, ps_request *request, PyObject *object)
{
    PyArrayObject *const tuples = ps_as_index(state, object, request->index_name);
    if (tuples == NULL) {
        return -1;
    }
    request->tuples = tuples;
    const int ndim = PyArray_NDIM(tuples);
    const int room = request->view_ndim - request->first;
    if (ndim < 1) {
        PyErr_SetString(PyExc_ValueError,
                        "'indices' has no axis that could hold index tuples");
        return -1;
    }
    const npy_intp depth = PyArray_DIM(tuples, ndim - 1);
    if (depth > room) {
        PyErr_Format(
                PyExc_ValueError,
                "index tuples of length %zd do not fit 'a' with %d axes to index; did "
                "you mean indices[..., None]?",
                depth, room);
        return -1;
    }
    request->n_index = (int)depth;
    for (int m = 0; m < request->n_index; m++) {
        request->index[m] = tuples;
    }
    return 0;
}

int
ps_add_mask(ps_state *state, ps_request *request, PyObject *object)
{
    if (object == NULL || object == Py_None) {
        return 0;
    }
    request->mask = ps_as_mask(state, object, "where");
    return request->mask != NULL ? 0 : -1;
}

/* ---- entry shape ---- */

static int
find_entry_shape(ps_request *request)
{
    int ndim = 0;
    int64_t *const shape = request->entry_shape;
    if (request->tuples != NULL) {
        ndim = PyArray_NDIM(request->tuples) - 1;
        if (ndim < 0 || PyArray_DIM(request->tuples, ndim) != request->n_index) {
            return ps_raise_changed(request->index_name);
        }
        for (int i = 0; i < ndim; i++) {
            shape[i] = PyArray_DIM(request->tuples, i);
        }
    }
    for (int m = 0; request->tuples == NULL && m < request->n_index; m++) {
        PyArrayObject *const index = request->index[m];
        if (!ps_broadcast_shapes(&ndim, shape, PyArray_NDIM(index),
                                 PyArray_DIMS(index))) {
            return ps_raise_shapes(
                    PyExc_IndexError,
                    "shape mismatch: indexing arrays could not be broadcast "
                    "together with shapes %U %U",
                    PyArray_NDIM(request->index[0]), PyArray_DIMS(request->index[0]),
                    PyArray_NDIM(index), PyArray_DIMS(index));
        }
    }
    request->address.ndim = ndim;
    return 0;
}

/* The along form: entries have the index's length along the axis and the broadcast of
 * both elsewhere, where each target axis is linked to its entry axis. */
static int
link_along(ps_request *request)
{
    PyArrayObject *const view = request->view, *const index = request->index[0];
    const int ndim = PyArray_NDIM(view);
    if (PyArray_NDIM(index) != ndim) {
        PyErr_Format(PyExc_ValueError, "'index' has ndim %d; expected %d, that of 'a'",
                     PyArray_NDIM(index), ndim);
        return -1;
    }
    for (int i = 0; i < ndim; i++) {
        const npy_intp own = PyArray_DIM(index, i), other = PyArray_DIM(view, i);
        if (i == request->along_axis) {
            request->link[i] = 0;
            request->entry_shape[i] = own;
            continue;
        }
        if (own != other && own != 1 && other != 1) {
            return ps_raise_shapes(
                    PyExc_ValueError,
                    "'index' has shape %U; expected to broadcast against %U "
                    "off the axis",
                    ndim, PyArray_DIMS(index), ndim, PyArray_DIMS(view));
        }
        request->entry_shape[i] = own == 1 ? other : own;
        request->link[i] = other == 1 ? 0 : PyArray_STRIDE(view, i);
    }
    request->address.ndim = ndim;
    return 0;
}

/* The where form: an entry for each element of the axes that the mask covers. */
static int
take_mask_shape(ps_request *request)
{
    if (ps_check_mask(request->mask, request->view) < 0) {
        return -1;
    }
    request->address.ndim = PyArray_NDIM(request->mask);
    request->batch_dims = request->first = request->address.ndim;
    for (int i = 0; i < request->address.ndim; i++) {
        request->entry_shape[i] = PyArray_DIM(request->view, i);
    }
    return 0;
}

static int
link_batches(ps_request *request)
{
    PyArrayObject *const view = request->view;
    if (request->address.ndim < request->batch_dims) {
        PyErr_Format(PyExc_ValueError,
                     "batch_dims is %d, but '%s' has only %d such axes",
                     request->batch_dims, request->index_name, request->address.ndim);
        return -1;
    }
    for (int i = 0; i < request->address.ndim; i++) {
        request->link[i] = 0;
    }
    for (int i = 0; i < request->batch_dims; i++) {
        if (request->entry_shape[i] != PyArray_DIM(view, i)) {
            PyErr_Format(PyExc_ValueError,
                         "batch axis %d has length %zd in 'a' and %lld in '%s'", i,
                         PyArray_DIM(view, i), (long long)request->entry_shape[i],
                         request->index_name);
            return -1;
        }
        request->link[i] = PyArray_STRIDE(view, i);
    }
    return 0;
}

/* ---- index arrays ---- */

static int
place_indices(ps_request *request)
{
    const int n_index = request->n_index, ndim = request->address.ndim;
    ps_index *indices = &request->one_index;
    int64_t *strides = request->one_strides;
    PyMem_Free(request->block);
    request->block = NULL;
    if (n_index > 1) {
        const size_t size =
                (size_t)n_index *
                (sizeof(ps_index) + (size_t)ps_max(ndim, 1) * sizeof(int64_t));
        request->block = PyMem_Malloc(size);
        if (request->block == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        indices = request->block;
        strides = (int64_t *)(indices + n_index);
    }
    for (int m = 0; m < n_index; m++, strides += ndim) {
        PyArrayObject *const array = request->index[m];
        const bool is_nd = request->tuples != NULL;
        if (ps_index_type_of(array) < 0) {
            return ps_raise_changed(request->index_name);
        }
        const int axis = request->is_along ? request->along_axis : request->first + m;
        const int own_ndim = PyArray_NDIM(array) - is_nd;
        ps_broadcast_strides(ndim, request->entry_shape, own_ndim, PyArray_DIMS(array),
                             PyArray_STRIDES(array), strides);
        indices[m] = (ps_index){
                .data = PyArray_BYTES(array) +
                        (is_nd ? m * PyArray_STRIDE(array, own_ndim) : 0),
                .strides = strides,
                .type = (enum ps_index_type)ps_index_type_of(array),
                .swapped = ps_is_swapped(array),
                .axis = axis,
                .size = ps_axis_size(request, axis),
                .step = request->is_flat ? 1 : PyArray_STRIDE(request->view, axis)};
    }
    request->address.n_index = n_index;
    request->address.index = indices;
    return 0;
}

/* where= broadcasts to the index, which in the along form may have fewer entries than
 * the call. */
static int
place_mask(ps_request *request)
{
    PyArrayObject *const mask = request->mask;
    request->address.mask = NULL;
    request->address.mask_strides = request->mask_strides;
    if (mask == NULL) {
        return 0;
    }
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = request->address.ndim;
    if (!PyArray_ISBOOL(mask)) {
        return ps_raise_changed(request->is_where ? "mask" : "where");
    }
    for (int i = 0; i < ndim; i++) {
        shape[i] = request->is_along ? PyArray_DIM(request->index[0], i)
                                     : request->entry_shape[i];
    }
    if (PyArray_NDIM(mask) > ndim ||
        !ps_broadcast_strides(ndim, shape, PyArray_NDIM(mask), PyArray_DIMS(mask),
                              PyArray_STRIDES(mask), request->mask_strides)) {
        return ps_raise_shapes(PyExc_ValueError,
                               "'where' has shape %U; expected to broadcast to %U",
                               PyArray_NDIM(mask), PyArray_DIMS(mask), ndim, shape);
    }
    request->address.mask = PyArray_BYTES(mask);
    return 0;
}

/* ---- rows and the result's axes ---- */

static void
add_row_axis(ps_request *request, int axis)
{
    const int row = request->rows.ndim++;
    request->row_shape[row] = PyArray_DIM(request->view, axis);
    request->row_strides[row] = PyArray_STRIDE(request->view, axis);
    request->result_row_axis[row] = request->result_ndim;
    request->result_shape[request->result_ndim++] = request->row_shape[row];
}

static void
add_entry_axis(ps_request *request, int axis)
{
    request->result_entry_axis[axis] = request->result_ndim;
    request->result_shape[request->result_ndim++] = request->entry_shape[axis];
}

/* The axes of a flat view, whose rows are elements. */
static void
place_flat(ps_request *request)
{
    PyArrayObject *const view = request->view;
    ps_address *const address = &request->address;
    address->flat_ndim = 0;
    if (!request->is_flat) {
        return;
    }
    for (int i = 0; i < PyArray_NDIM(view); i++) {
        request->row_shape[i] = PyArray_DIM(view, i);
        request->row_strides[i] = PyArray_STRIDE(view, i);
    }
    address->flat_ndim = ps_merge_axes(PyArray_NDIM(view), request->row_shape,
                                       (int64_t *const[]){request->row_strides}, 1);
    address->flat_shape = request->row_shape;
    address->flat_strides = request->row_strides;
    if (address->flat_ndim == 1) { /* an axis like any other */
        address->flat_ndim = 0;
        address->index[0].step = request->row_strides[0];
    }
}

/* The result's axes in order: batches, rows before the index, entries, rows behind. */
static int
place_rows(ps_request *request)
{
    const int ndim = PyArray_NDIM(request->view);
    const int entry_ndim = request->address.ndim;
    request->rows = (ps_rows){0, request->row_shape, request->row_strides,
                              request->row_value_strides};
    request->result_ndim = 0;
    if (request->is_along) {
        for (int i = 0; i < entry_ndim; i++) {
            add_entry_axis(request, i);
        }
        return 0;
    }
    for (int i = 0; i < request->batch_dims; i++) {
        add_entry_axis(request, i);
    }
    for (int axis = request->batch_dims; axis < request->first; axis++) {
        add_row_axis(request, axis);
    }
    for (int i = request->batch_dims; i < entry_ndim; i++) {
        add_entry_axis(request, i);
    }
    for (int axis = request->first + request->n_index; axis < ndim && !request->is_flat;
         axis++) {
        add_row_axis(request, axis);
    }
    if (request->result_ndim > PS_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "the result would have %d dimensions; NumPy allows %d",
                     request->result_ndim, PS_MAX_DIMS);
        return -1;
    }
    return 0;
}

/* A plan's rows are resolved: what is left of its mode is that some are left out. With
 * a mask or batches, or as flat positions of an array that is not in C order, they are
 * an index like any other. */
static void
place_plan(ps_request *request)
{
    const ps_plan *const plan = request->plan;
    const bool is_all =
            request->mask == NULL && request->batch_dims == 0 && !request->is_flat;
    request->address.plan = is_all ? plan : NULL;
    if (plan != NULL) {
        request->address.mode = plan->n_kept < plan->n ? PS_MODE_DROP : PS_MODE_RAISE;
    }
}

/* Has the view the axes that the form counts, in memory that is still there, and a
 * plan's axis the length that it was made for? */
static bool
is_view_kept(const ps_request *request, PyArrayObject *whole)
{
    return PyArray_NDIM(request->view) == request->view_ndim &&
           ps_has_memory(request->view, whole) &&
           (request->plan == NULL ||
            ps_axis_size(request, request->first) == request->plan->size);
}

int
ps_open_request(ps_request *request, PyArrayObject *whole, enum ps_mode mode)
{
    ps_address *const address = &request->address;
    if (!is_view_kept(request, whole)) {
        return ps_raise_changed("a");
    }
    address->mode = mode;
    place_plan(request);
    address->shape = request->entry_shape;
    address->link = request->link;
    if (request->is_along) {
        if (link_along(request) < 0) {
            return -1;
        }
    }
    else if (request->is_where) {
        if (take_mask_shape(request) < 0) {
            return -1;
        }
    }
    else if (find_entry_shape(request) < 0) {
        return -1;
    }
    if (!request->is_along && link_batches(request) < 0) {
        return -1;
    }
    if (place_indices(request) < 0 || place_mask(request) < 0 ||
        place_rows(request) < 0) {
        return -1;
    }
    place_flat(request);
    if (!ps_count(address->ndim, address->shape, &address->n)) {
        PyErr_SetString(PyExc_ValueError,
                        "the number of entries does not fit in 64 bits");
        return -1;
    }
    return 0;
}

void
ps_bind_result(ps_request *request, const npy_intp *strides)
{
    for (int i = 0; i < request->address.ndim; i++) {
        request->entry_strides[i] = strides[request->result_entry_axis[i]];
    }
    for (int i = 0; i < request->rows.ndim; i++) {
        request->row_value_strides[i] = strides[request->result_row_axis[i]];
    }
}

static int
separate(PyArrayObject **array, PyArrayObject *target)
{
    if (!ps_extents_meet(*array, target)) {
        return 0;
    }
    PyArrayObject *const copy = ps_copy_of(*array, NPY_KEEPORDER);
    if (copy == NULL) {
        return -1;
    }
    Py_SETREF(*array, copy);
    return 0;
}

int
ps_separate_request(ps_request *request, PyArrayObject *target)
{
    if (request->tuples != NULL) {
        if (separate(&request->tuples, target) < 0) {
            return -1;
        }
        for (int m = 0; m < request->n_index; m++) {
            request->index[m] = request->tuples;
        }
    }
    for (int m = 0; request->tuples == NULL && m < request->n_index; m++) {
        if (separate(&request->index[m], target) < 0) {
            return -1;
        }
    }
    return request->mask != NULL ? separate(&request->mask, target) : 0;
}
