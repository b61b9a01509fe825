/* The binding of assembly: coordinates of any shapes that broadcast become the
 * structure of a CSR and a slot for each contribution, and values go to their slots. */
#include "python/assembly.h"

#include <string.h>

#include "base/sizes.h"
#include "ops/assemble.h"
#include "ops/matrix.h"
#include "ops/slots.h"
#include "ops/strided.h"
#include "python/arrays.h"
#include "python/containers.h"
#include "python/copies.h"
#include "python/matrix.h"
#include "python/request.h"

enum {
    /* Contributions of a call that keeps the GIL (python/run.c). */
    BYTES_PER_ENTRY = 64,
    FEW = (32 << 10) / BYTES_PER_ENTRY
};

/* One array of coordinates, its address, and how it is broadcast. */
typedef struct {
    PyArrayObject *array; /* owned, of base class */
    const char *name;
    int64_t size; /* rows or columns */
    ps_index index;
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], link[PS_MAX_DIMS];
    int64_t step[PS_MAX_DIMS];
} coordinates;

typedef struct {
    ps_state *state;
    coordinates row, col;
    int ndim;
    int64_t shape[PS_MAX_DIMS]; /* common */
    PyArrayObject *slots, *indptr, *indices;
    ps_assembly_call call;
} assembly;

/* ---- arguments ---- */

/* The address of an array in its own shape, and its steps along the common one. */
static ps_coordinates
open_coordinates(const assembly *work, coordinates *part, int axis)
{
    PyArrayObject *const array = part->array;
    const int own = PyArray_NDIM(array);
    int64_t step = 1;
    for (int i = own - 1; i >= 0; i--) {
        part->shape[i] = PyArray_DIM(array, i);
        part->strides[i] = PyArray_STRIDE(array, i);
        part->link[i] = 0;
        part->step[i + work->ndim - own] = part->shape[i] == 1 ? 0 : step;
        step *= part->shape[i];
    }
    for (int i = 0; i < work->ndim - own; i++) {
        part->step[i] = 0;
    }
    part->index = (ps_index){.data = PyArray_BYTES(array),
                             .strides = part->strides,
                             .type = (enum ps_index_type)ps_index_type_of(array),
                             .swapped = ps_is_swapped(array),
                             .axis = axis,
                             .size = part->size,
                             .step = 1};
    return (ps_coordinates){.address = {.ndim = own,
                                        .shape = part->shape,
                                        .link = part->link,
                                        .n = PyArray_SIZE(array),
                                        .n_index = 1,
                                        .index = &part->index,
                                        .mode = PS_MODE_IDS},
                            .ndim = work->ndim,
                            .shape = work->shape,
                            .step = part->step,
                            .is_wide = work->call.is_wide};
}

/* A view in its place, unless the call is too short for others to come between. */
static int
hold(PyArrayObject **array)
{
    const bool is_plain = PyArray_CheckExact((PyObject *)*array);
    return is_plain && PyArray_SIZE(*array) < FEW ? 0 : ps_hold_view(array);
}

static int
take_coordinates(ps_state *state, PyObject *object, coordinates *part)
{
    part->array = ps_as_index(state, object, part->name);
    return part->array != NULL ? hold(&part->array) : -1;
}

/* *work's common shape with one more array; `what` is broadcast. */
static int
join_shape(assembly *work, PyArrayObject *array, const char *what)
{
    int64_t shape[2 * PS_MAX_DIMS];
    const int ndim = work->ndim;
    memcpy(shape, work->shape, sizeof(int64_t) * (size_t)ndim);
    if (ps_broadcast_shapes(&work->ndim, work->shape, PyArray_NDIM(array),
                            (const int64_t *)PyArray_DIMS(array))) {
        return 0;
    }
    char format[128];
    PyOS_snprintf(format, sizeof(format),
                  "%s has shape %%U, which does not broadcast with %%U", what);
    return ps_raise_shapes(PyExc_ValueError, format, PyArray_NDIM(array),
                           PyArray_DIMS(array), ndim, (const npy_intp *)shape);
}

/* A number that is out of bounds is a fault of the structure. */
static int
raise_status(assembly *work, ps_status status)
{
    if (status.code == PS_INDEX_BAD) {
        status.code = PS_STRUCTURE_BAD;
        status.axis = status.axis == 0 ? PS_FAULT_ROW : PS_FAULT_COL;
    }
    return ps_raise(work->state, status, "row");
}

/* ---- the call ---- */

static PyArrayObject *
new_numbers(int ndim, const int64_t *shape, bool is_wide)
{
    return (PyArrayObject *)PyArray_SimpleNew(ndim, (const npy_intp *)shape,
                                              is_wide ? NPY_INT64 : NPY_INT32);
}

/* int64 structure is made for int64 arrays, and where sizes need it. */
static bool
is_wide_array(PyObject *given, PyArrayObject *array)
{
    const int type = ps_index_type_of(array);
    return PyArray_Check(given) && (type == PS_INDEX_i64 || type == PS_INDEX_u64);
}

static int
open_call(assembly *work, bool is_wide_result)
{
    ps_assembly_call *const call = &work->call;
    int64_t n, nbytes;
    if (!ps_count(work->ndim, work->shape, &n) ||
        !ps_multiply(n, BYTES_PER_ENTRY, &nbytes)) {
        return ps_raise(work->state, ps_fail(PS_TOO_LARGE), "row");
    }
    const int64_t largest = ps_max(n, ps_max(work->row.size, work->col.size));
    *call = (ps_assembly_call){
            .n = n,
            .n_rows = work->row.size,
            .n_cols = work->col.size,
            .is_wide = largest >= INT32_MAX,
            .is_wide_result = is_wide_result || largest >= INT32_MAX};
    if (work->row.size > INT64_MAX / 64) {
        PyErr_NoMemory();
        return -1;
    }
    const int64_t length = work->row.size + 1;
    work->slots = new_numbers(work->ndim, work->shape, call->is_wide);
    work->indptr =
            work->slots != NULL ? new_numbers(1, &length, call->is_wide_result) : NULL;
    if (work->indptr == NULL) {
        return -1;
    }
    call->slot = PyArray_DATA(work->slots);
    call->indptr = PyArray_DATA(work->indptr);
    call->row = open_coordinates(work, &work->row, 0);
    call->col = open_coordinates(work, &work->col, 1);
    return 0;
}

static int
run_call(assembly *work)
{
    ps_assembly_call *const call = &work->call;
    const int64_t nbytes = BYTES_PER_ENTRY * call->n;
    const ps_status found = ps_run_op(work->state, ps_find_slots, call, nbytes);
    if (found.code != PS_OK) {
        return raise_status(work, found);
    }
    work->indices = new_numbers(1, &call->nnz, call->is_wide_result);
    if (work->indices == NULL) {
        return -1;
    }
    call->indices = PyArray_DATA(work->indices);
    return ps_raise(work->state, ps_run_op(work->state, ps_write_slots, call, nbytes),
                    "row");
}

/* Is this still an index, after all code that the other arguments run? */
static int
check_coordinates(const coordinates *part)
{
    return ps_index_type_of(part->array) >= 0 && ps_lies_in_base(part->array)
                   ? 0
                   : ps_raise_changed(part->name);
}

/* The common shape of coordinates and, unless it is NULL, data; then the call. */
static int
assemble(assembly *work, PyObject *row, PyObject *col, PyArrayObject *data)
{
    if (take_coordinates(work->state, row, &work->row) < 0 ||
        take_coordinates(work->state, col, &work->col) < 0 ||
        check_coordinates(&work->row) < 0 || check_coordinates(&work->col) < 0 ||
        join_shape(work, work->row.array, "row") < 0 ||
        join_shape(work, work->col.array, "col") < 0 ||
        (data != NULL && join_shape(work, data, "data") < 0)) {
        return -1;
    }
    const bool is_wide =
            is_wide_array(row, work->row.array) || is_wide_array(col, work->col.array);
    const int status = open_call(work, is_wide) < 0 ? -1 : run_call(work);
    ps_close_assembly(&work->call);
    return status;
}

/* Field by field: it is too large to be cleared for a tiny call. */
static void
begin_assembly(assembly *work, PyObject *module)
{
    work->state = ps_get_state(module);
    work->ndim = 0;
    work->slots = work->indptr = work->indices = NULL;
    work->row.array = work->col.array = NULL;
    work->row.name = "row";
    work->col.name = "col";
}

/* From the two arguments that say where. To be closed in any case. */
static int
run_assembly(assembly *work, PyObject *where, PyObject *shape, PyArrayObject *data)
{
    int64_t size[2];
    if (ps_to_shape(shape, size) < 0) {
        return -1;
    }
    if (!PyTuple_Check(where) || PyTuple_GET_SIZE(where) != 2) {
        PyErr_Format(PyExc_TypeError, "expected a tuple (row, col), got %.200s",
                     Py_TYPE(where)->tp_name);
        return -1;
    }
    work->row.size = size[0];
    work->col.size = size[1];
    return assemble(work, PyTuple_GET_ITEM(where, 0), PyTuple_GET_ITEM(where, 1), data);
}

static void
close_assembly(assembly *work)
{
    Py_XDECREF((PyObject *)work->row.array);
    Py_XDECREF((PyObject *)work->col.array);
    Py_XDECREF((PyObject *)work->slots);
    Py_XDECREF((PyObject *)work->indptr);
    Py_XDECREF((PyObject *)work->indices);
}

/* ---- values ---- */

/* Values that can be summed, of base class. A new reference. */
static PyArrayObject *
take_data(ps_state *state, PyObject *object)
{
    PyArrayObject *data = ps_as_array(state, object, "data");
    if (data == NULL) {
        return NULL;
    }
    if (ps_require_factors(state, data, "data") < 0) {
        Py_CLEAR(data);
        return NULL;
    }
    hold(&data);
    return data;
}

/* A call's own copies of axes. */
typedef struct {
    int64_t shape[PS_MAX_DIMS], slot_strides[PS_MAX_DIMS], value_strides[PS_MAX_DIMS],
            zeros[PS_MAX_DIMS];
} slot_axes;

/* The call as the arrays are now. */
static ps_slots_call
open_slots(ps_state *state, PyArrayObject *slots, PyArrayObject *data,
           PyArrayObject *out, slot_axes *axes)
{
    const int ndim = PyArray_NDIM(slots), lead = ndim - PyArray_NDIM(data);
    for (int i = 0; i < ndim; i++) {
        const bool is_own = i >= lead && PyArray_DIM(data, i - lead) != 1;
        axes->shape[i] = PyArray_DIM(slots, i);
        axes->slot_strides[i] = PyArray_STRIDE(slots, i);
        axes->value_strides[i] = is_own ? PyArray_STRIDE(data, i - lead) : 0;
        axes->zeros[i] = 0;
    }
    return (ps_slots_call){.ndim = ndim,
                           .shape = axes->shape,
                           .slot = PyArray_BYTES(slots),
                           .is_wide = PyArray_ITEMSIZE(slots) == 8,
                           .slot_strides = axes->slot_strides,
                           .values = {.data = PyArray_BYTES(data),
                                      .dtype = ps_dtype_of(state, PyArray_DESCR(data)),
                                      .itemsize = PyArray_ITEMSIZE(data),
                                      .swapped = ps_is_swapped(data),
                                      .aligned = PyArray_ISALIGNED(data)},
                           .value_strides = axes->value_strides,
                           .zeros = axes->zeros,
                           .n = PyArray_SIZE(slots),
                           .n_out = PyArray_SIZE(out),
                           .out = PyArray_BYTES(out)};
}

/* The sums of what arrives in each of nnz slots, each of which has an arrival. */
static PyArrayObject *
sum_slots(ps_state *state, PyArrayObject *slots, npy_intp nnz, PyArrayObject *data)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(data));
    if (!ps_multiplies(dtype) || !ps_lies_in_base(data)) {
        ps_raise_changed("data");
        return NULL;
    }
    PyArrayObject *const out = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, ps_descr_of(state, dtype), 1, &nnz, NULL, NULL, 0, NULL);
    if (out == NULL) {
        return NULL;
    }
    int status = -1;
    if (!ps_broadcasts_to(data, PyArray_NDIM(slots), PyArray_DIMS(slots))) {
        ps_raise_shapes(PyExc_ValueError,
                        "data has shape %U; expected to broadcast to %U, the shape of "
                        "(row, col)",
                        PyArray_NDIM(data), PyArray_DIMS(data), PyArray_NDIM(slots),
                        PyArray_DIMS(slots));
    }
    else if (ps_check_kept(state, data, dtype, PyArray_ITEMSIZE(out), "data") == 0) {
        slot_axes axes;
        ps_slots_call call = open_slots(state, slots, data, out, &axes);
        status = ps_raise(state,
                          ps_run_op(state, ps_sum_slots, &call,
                                    call.n * (8 + call.values.itemsize)),
                          "slots");
    }
    if (status < 0) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    return out;
}

/* The container of class `type` for these values. */
static PyObject *
matrix_of(ps_state *state, PyObject *type, PyArrayObject *slots, PyArrayObject *indices,
          PyArrayObject *indptr, const int64_t *shape, PyArrayObject *data)
{
    PyArrayObject *const sums = sum_slots(state, slots, PyArray_SIZE(indices), data);
    if (sums == NULL) {
        return NULL;
    }
    PyObject *const result =
            ps_new_container(state, type, (PyObject *)sums, indices, indptr, shape);
    Py_DECREF((PyObject *)sums);
    return result;
}

/* ---- for pyscatter/assembly.py ---- */

/* assemble(coordinates, shape, data): slots, indices, indptr, (rows, columns); data is
 * an array that joins the shape of the coordinates, or None. */
PyObject *
ps_py_assemble(PyObject *module, PyObject *args)
{
    PyObject *where, *shape, *data, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &where, &shape, &data)) {
        return NULL;
    }
    assembly work;
    begin_assembly(&work, module);
    PyArrayObject *const array = data != Py_None ? take_data(work.state, data) : NULL;
    if ((array != NULL || data == Py_None) &&
        run_assembly(&work, where, shape, array) == 0) {
        result = Py_BuildValue("OOO(LL)", work.slots, work.indices, work.indptr,
                               (long long)work.row.size, (long long)work.col.size);
    }
    close_assembly(&work);
    Py_XDECREF((PyObject *)array);
    return result;
}

/* assembled(class, slots, indices, indptr, (rows, columns), data): the container. */
PyObject *
ps_py_assembled(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyArrayObject *slots, *indices, *indptr;
    PyObject *type, *given;
    long long shape[2];
    if (!PyArg_ParseTuple(args, "OO!O!O!(LL)O", &type, &PyArray_Type, &slots,
                          &PyArray_Type, &indices, &PyArray_Type, &indptr, &shape[0],
                          &shape[1], &given)) {
        return NULL;
    }
    const int width = ps_index_type_of(slots);
    if ((width != PS_INDEX_i32 && width != PS_INDEX_i64) || !PyArray_ISCARRAY(slots)) {
        PyErr_SetString(PyExc_TypeError, "expected the slots of a plan");
        return NULL;
    }
    PyArrayObject *const data = take_data(state, given);
    const int64_t sizes[] = {shape[0], shape[1]};
    PyObject *const result =
            data != NULL ? matrix_of(state, type, slots, indices, indptr, sizes, data)
                         : NULL;
    Py_XDECREF((PyObject *)data);
    return result;
}

/* coo_to_csr(class, data, coordinates, shape): the container, without a plan. */
PyObject *
ps_py_coo_to_csr(PyObject *module, PyObject *args)
{
    PyObject *type, *given, *where, *shape, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOOO", &type, &given, &where, &shape)) {
        return NULL;
    }
    assembly work;
    begin_assembly(&work, module);
    PyArrayObject *const data = take_data(work.state, given);
    if (data != NULL && run_assembly(&work, where, shape, data) == 0) {
        const int64_t sizes[] = {work.row.size, work.col.size};
        result = matrix_of(work.state, type, work.slots, work.indices, work.indptr,
                           sizes, data);
    }
    close_assembly(&work);
    Py_XDECREF((PyObject *)data);
    return result;
}
