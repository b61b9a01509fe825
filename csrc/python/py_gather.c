/* The binding of the gather family: four addressings.
 *
 * The op writes to a native C-ordered array of the source's dtype: a fresh one, or out=
 * where it is one and shares no memory with the inputs. Any other out= receives a copy
 * at the end, under same_kind casting. Objects go through a helper.
 */
#include "python/py_gather.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/forms.h"
#include "python/py_plan.h"
#include "python/values.h"

enum {
    /* Bytes of a result up to which the binding calls the kernel itself: they move in a
     * microsecond. */
    SHORT_ROWS_BYTES = 16 << 10
};

typedef struct {
    ps_state *state;
    const ps_where_args *where;
    enum ps_mode mode;
    PyObject *fill_value, *out;
    PyArrayObject *source; /* owned */
    PyArrayObject *result; /* owned: what the op writes to */
    enum ps_dtype dtype;
    int64_t itemsize;
    ps_request request;
    char *fill; /* PyMem, one item of the result's dtype */
} gather_work;

/* The bytes of fill_value as a number of the source's dtype, under the rules for
 * values. */
static int
fill_with_number(gather_work *work)
{
    ps_incoming incoming;
    int status =
            ps_take_values(work->state, work->fill_value, PyArray_DESCR(work->source),
                           work->dtype, NPY_SAME_KIND_CASTING, &incoming);
    if (status == 0 && incoming.array != NULL && PyArray_SIZE(incoming.array) != 1) {
        PyErr_SetString(PyExc_ValueError, "fill_value must be one item, not an array");
        status = -1;
    }
    if (status == 0 && incoming.may_overflow) {
        status = ps_warn_of_overflow(ps_largest_part(&incoming),
                                     PyArray_DESCR(work->source));
    }
    if (status == 0) {
        const ps_values *const view = &incoming.view;
        ps_convert(work->dtype, work->fill, view->dtype, view->itemsize, view->swapped,
                   view->data, 0, 1);
        if (ps_is_swapped(work->source)) {
            ps_convert(work->dtype, work->fill, work->dtype, work->itemsize, true,
                       work->fill, 0, 1);
        }
    }
    ps_close_values(&incoming);
    return status;
}

/* The same by NumPy's assignment: times, strings and records. */
static int
fill_with_object(gather_work *work)
{
    PyArray_Descr *const descr = PyArray_DESCR(work->source);
    Py_INCREF(descr);
    PyArrayObject *const item = (PyArrayObject *)PyArray_Zeros(0, NULL, descr, 0);
    if (item == NULL) {
        return -1;
    }
    int status = PyArray_CopyObject(item, work->fill_value);
    if (status == 0) {
        memcpy(work->fill, PyArray_DATA(item), (size_t)work->itemsize);
    }
    Py_DECREF(item);
    return status;
}

/* One item, in the source's byte order, for entries that name nothing; by default the
 * dtype's zero: 0, False, NaT. */
static int
make_fill(gather_work *work)
{
    const size_t nbytes = (size_t)work->itemsize;
    work->fill = PyMem_Calloc(1, nbytes + 1);
    if (work->fill == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (work->fill_value == NULL || work->fill_value == Py_None) {
        if (work->dtype ==
            PS_t64) { /* NaT: only the sign bit, at whichever end it is */
            work->fill[ps_is_swapped(work->source) ? 0 : nbytes - 1] = (char)0x80;
        }
        return 0;
    }
    return work->dtype == PS_raw || work->dtype == PS_t64 ? fill_with_object(work)
                                                          : fill_with_number(work);
}

/* May the op write into out= itself? */
static bool
can_write_into(const gather_work *work, PyArrayObject *out)
{
    const ps_request *const request = &work->request;
    if (!PyArray_ISCARRAY(out) || work->dtype == PS_raw ||
        !PyArray_EquivTypes(PyArray_DESCR(out), PyArray_DESCR(work->request.view)) ||
        ps_extents_meet(out, work->source)) {
        return false;
    }
    for (int m = 0; m < request->n_index; m++) {
        if (ps_extents_meet(out, request->index[m])) {
            return false;
        }
    }
    return request->mask == NULL || !ps_extents_meet(out, request->mask);
}

static int
require_out(const gather_work *work)
{
    return work->out == NULL || work->out == Py_None
                   ? 0
                   : ps_require_array(work->state, work->out, "out");
}

/* Can out=, where there is one, take a result of this shape and dtype? */
static int
check_out(const gather_work *work, PyArray_Descr *descr, int ndim,
          const npy_intp *shape)
{
    return work->out == NULL || work->out == Py_None
                   ? 0
                   : ps_check_out(work->state, (PyArrayObject *)work->out, ndim, shape,
                                  descr, NPY_SAME_KIND_CASTING);
}

/* The array that the op writes to; *is_private unless it is the caller's. No Python
 * code runs here, since the request is open. */
static int
open_result(gather_work *work, bool *is_private)
{
    const ps_request *const request = &work->request;
    *is_private = true;
    if (check_out(work, PyArray_DESCR(request->view), request->result_ndim,
                  request->result_shape) < 0) {
        return -1;
    }
    if (work->out != NULL && work->out != Py_None &&
        can_write_into(work, (PyArrayObject *)work->out)) {
        work->result = (PyArrayObject *)Py_NewRef(work->out);
        *is_private = false;
        return 0;
    }
    /* Strings keep their byte order, which numbers lose; finish() makes them native. */
    PyArray_Descr *descr = PyArray_DESCR(request->view);
    Py_INCREF(descr);
    if (work->dtype != PS_raw && ps_is_swapped(request->view)) {
        Py_SETREF(descr, PyArray_DescrNewByteorder(descr, NPY_NATIVE));
    }
    if (descr == NULL) {
        return -1;
    }
    /* NumPy makes strings of no bytes strings of one, which no kernel writes. */
    const bool is_empty = PyArray_ITEMSIZE(request->view) == 0;
    const int ndim = request->result_ndim;
    const npy_intp *const shape = request->result_shape;
    work->result = (PyArrayObject *)(is_empty ? PyArray_Zeros(ndim, shape, descr, 0)
                                              : PyArray_Empty(ndim, shape, descr, 0));
    return work->result != NULL ? 0 : -1;
}

static int
run_work(gather_work *work, bool is_private)
{
    ps_request *const request = &work->request;
    const int64_t itemsize = work->itemsize;
    ps_bind_result(request, PyArray_STRIDES(work->result));
    ps_gather_call call = {.address = request->address,
                           .rows = request->rows,
                           .fill = work->fill,
                           .is_private = is_private};
    call.source = (ps_target){
            .data = PyArray_BYTES(request->view),
            .dtype = work->dtype,
            .itemsize = itemsize,
            .swapped = work->dtype != PS_raw && ps_is_swapped(request->view),
            .aligned = PyArray_ISALIGNED(request->view)};
    call.out = (ps_values){.data = PyArray_BYTES(work->result),
                           .dtype = work->dtype,
                           .itemsize = itemsize,
                           .entry_strides = request->entry_strides,
                           .aligned = true};
    int64_t row_count = 0, nbytes = 0;
    if (!ps_count(call.rows.ndim, call.rows.shape, &row_count) ||
        __builtin_mul_overflow(2 * itemsize, row_count, &nbytes) ||
        __builtin_mul_overflow(nbytes + 8, call.address.n, &nbytes)) {
        nbytes = INT64_MAX;
    }
    const ps_status status = ps_run_op(work->state, ps_gather, &call, nbytes);
    return ps_raise(work->state, status, request->index_name);
}

/* Strings and records of foreign byte order become native. */
static PyObject *
native_result(PyArrayObject *result)
{
    PyArray_Descr *const native =
            PyArray_DescrNewByteorder(PyArray_DESCR(result), NPY_NATIVE);
    if (native == NULL) {
        return NULL;
    }
    if (PyArray_EquivTypes(native, PyArray_DESCR(result))) {
        Py_DECREF(native);
        return Py_NewRef((PyObject *)result);
    }
    return (PyObject *)ps_fresh_copy(result, native);
}

/* out= that could not be written into receives a copy. */
static PyObject *
finish(gather_work *work)
{
    PyObject *const result = (PyObject *)work->result;
    if (work->out != NULL && work->out != Py_None && work->out != result) {
        return ps_deliver(work->result, (PyArrayObject *)work->out);
    }
    return work->dtype == PS_raw ? native_result(work->result) : Py_NewRef(result);
}

static PyObject *
run_by_helper(const gather_work *work, enum ps_helper helper, PyObject *a)
{
    const ps_where_args *const where = work->where;
    PyObject *const function = ps_get_helper(work->state, helper);
    PyObject *const none = Py_None;
    if (function == NULL) {
        return NULL;
    }
    return PyObject_CallFunction(
            function, "sOOOOOsOO", ps_form_name(where->form), a, where->index,
            where->axis ? where->axis : Py_NotImplemented,
            where->batch_dims ? where->batch_dims : none,
            where->mask ? where->mask : none, ps_mode_name(work->mode),
            work->fill_value ? work->fill_value : none, work->out ? work->out : none);
}

/* Objects, and rows beside a fill value of another dtype, are gathered into an array of
 * their own, whatever out= is. */
static PyObject *
gather_by_helper(gather_work *work, enum ps_helper helper, PyObject *a)
{
    work->dtype = PS_raw;
    work->result = (PyArrayObject *)run_by_helper(work, helper, a);
    if (work->result == NULL || require_out(work) < 0 ||
        check_out(work, PyArray_DESCR(work->source), PyArray_NDIM(work->result),
                  PyArray_DIMS(work->result)) < 0) {
        return NULL;
    }
    return finish(work);
}

/* Are there entries that the fill value may stand in for? */
static bool
fills_places(const gather_work *work)
{
    PyObject *const mask = work->where->mask;
    return work->mode == PS_MODE_DROP || work->mode == PS_MODE_FILL ||
           (mask != NULL && mask != Py_None);
}

/* All that may run Python code. */
static int
convert_arguments(gather_work *work)
{
    return ps_fill_request(work->state, work->where, work->source, &work->request) <
                                   0 ||
                           (fills_places(work) && make_fill(work) < 0)
                   ? -1
                   : require_out(work);
}

/* Is out= an array of another dtype, which is then that of the fill value? */
static bool
fills_another_dtype(const gather_work *work)
{
    return work->out != NULL && PyArray_Check(work->out) &&
           !PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)work->out),
                               PyArray_DESCR(work->source));
}

static PyObject *
gather_form(gather_work *work, PyObject *a)
{
    PyObject *result = NULL;
    bool is_private;
    work->result = NULL;
    work->fill = NULL;
    ps_begin_request(&work->request);
    work->source = ps_as_array(work->state, a, "a");
    if (work->source == NULL) {
        return NULL;
    }
    const int storage = ps_storage_of(work->state, work->source, &work->dtype);
    if (storage < 0) {
        goto finish;
    }
    if (storage == PS_STORED_OBJECTS) {
        result = gather_by_helper(work, PS_HELPER_gather_objects, a);
        goto finish;
    }
    if (fills_places(work) && fills_another_dtype(work)) {
        result = gather_by_helper(work, PS_HELPER_gather_filled, a);
        goto finish;
    }
    work->itemsize = PyArray_ITEMSIZE(work->source);
    if (convert_arguments(work) < 0 ||
        ps_open_request(&work->request, work->source, work->mode) < 0 ||
        ps_check_kept(work->state, work->request.view, work->dtype, work->itemsize,
                      "a") < 0 ||
        open_result(work, &is_private) < 0) {
        goto finish;
    }
    if (run_work(work, is_private) == 0) {
        result = finish(work);
    }
finish:
    ps_close_request(&work->request);
    PyMem_Free(work->fill);
    Py_XDECREF(work->result);
    Py_DECREF(work->source);
    return result;
}

PyArrayObject *
ps_gather_rows(ps_state *state, PyArrayObject *a, PyArrayObject *index, int axis,
               int batch_dims, PyArrayObject *mask, enum ps_mode mode)
{
    PyObject *const number = PyLong_FromLong(axis);
    PyObject *const batches = PyLong_FromLong(batch_dims);
    const ps_where_args where = {.form = PS_FORM_AXIS,
                                 .index = (PyObject *)index,
                                 .axis = number,
                                 .batch_dims = batches,
                                 .mask = (PyObject *)mask};
    gather_work work = {.state = state, .where = &where, .mode = mode};
    PyObject *const rows = number != NULL && batches != NULL
                                   ? gather_form(&work, (PyObject *)a)
                                   : NULL;
    Py_XDECREF(number);
    Py_XDECREF(batches);
    return (PyArrayObject *)rows;
}

/* Every signature: a, index, then the names below in this order where they exist. */
static PyObject *
call_form(PyObject *module, const ps_signature *signature, enum ps_form form,
          PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    PyObject *slot[PS_NUM_NAMES];
    gather_work work;
    work.state = ps_get_state(module);
    work.mode = PS_MODE_RAISE;
    if (ps_parse(work.state, signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    const int n = signature->n_names;
    ps_where_args where = {
            .form = form, .index = slot[1], .mask = slot[n - 4], .reads = true};
    for (int i = 2; i < n - 4; i++) {
        if (signature->names[i] == PS_NAME_axis) {
            where.axis = slot[i] == Py_Ellipsis ? NULL : slot[i]; /* "the default" */
        }
        else {
            where.batch_dims = slot[i];
        }
    }
    work.where = &where;
    work.fill_value = slot[n - 2];
    work.out = slot[n - 1];
    if (ps_to_mode(slot[n - 3], true, &work.mode) < 0 ||
        ps_settle_mode(work.state, slot[1], slot[n - 3], &work.mode) < 0) {
        return NULL;
    }
    return gather_form(&work, slot[0]);
}

/* Bytes of what one number of a short call names: an item, or a row of those. */
static int64_t
row_nbytes(PyArrayObject *a)
{
    int64_t nbytes = PyArray_ITEMSIZE(a);
    for (int axis = 1; axis < PyArray_NDIM(a); axis++) {
        nbytes *= PyArray_DIM(a, axis);
    }
    return nbytes;
}

/* May the call go straight to the kernel: few items or rows of a plain array, named by
 * a plain index? Inner loops of Python are full of them. Kernels of rows read int64. */
static bool
is_short(PyArrayObject *a, PyArrayObject *index)
{
    if (!PyArray_CheckExact((PyObject *)a) || !PyArray_CheckExact((PyObject *)index) ||
        PyArray_NDIM(a) == 0 || PyArray_NDIM(index) != 1 ||
        PyArray_DIM(index, 0) > PS_SHORT_ROW || PyArray_SIZE(a) == 0 ||
        !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISCARRAY_RO(index)) {
        return false;
    }
    PyArray_Descr *const descr = PyArray_DESCR(a);
    const int type = ps_index_type_of(index);
    const int64_t nbytes = row_nbytes(a);
    const bool is_item = ps_size_of(nbytes) >= 0;
    return (type == PS_INDEX_i64 || (type == PS_INDEX_i32 && is_item)) &&
           (is_item || PyArray_NDIM(a) > 1) &&
           nbytes <= SHORT_ROWS_BYTES / ps_max(1, PyArray_DIM(index, 0)) &&
           PyTypeNum_ISNUMBER(descr->type_num) && PyDataType_ISNOTSWAPPED(descr);
}

/* May such a call write into `out`? */
static bool
is_short_out(PyArrayObject *a, PyArrayObject *index, PyArrayObject *out)
{
    return PyArray_CheckExact((PyObject *)out) &&
           PyArray_NDIM(out) == PyArray_NDIM(a) &&
           PyArray_DESCR(out) == PyArray_DESCR(a) &&
           PyArray_DIM(out, 0) == PyArray_DIM(index, 0) && PyArray_ISCARRAY(out) &&
           PyArray_CompareLists(PyArray_DIMS(out) + 1, PyArray_DIMS(a) + 1,
                                PyArray_NDIM(a) - 1) &&
           !ps_extents_meet(out, a) && !ps_extents_meet(out, index);
}

/* A new array for what the index names. */
static PyArrayObject *
new_short_result(PyArrayObject *a, PyArrayObject *index)
{
    npy_intp shape[PS_MAX_DIMS];
    shape[0] = PyArray_DIM(index, 0);
    for (int axis = 1; axis < PyArray_NDIM(a); axis++) {
        shape[axis] = PyArray_DIM(a, axis);
    }
    Py_INCREF(PyArray_DESCR(a));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a),
                                                 PyArray_NDIM(a), shape, NULL, NULL, 0,
                                                 NULL);
}

/* to[i] = a[index[i]]; false: an index is bad. */
static bool
gather_few(PyArrayObject *a, PyArrayObject *index, char *to)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t n = PyArray_DIM(index, 0), length = PyArray_DIM(a, 0);
    const int64_t nbytes = row_nbytes(a);
    const int size = ps_size_of(nbytes);
    if (size >= 0) {
        return kernels->gather_checked[size](
                       PS_MODE_RAISE, ps_index_type_of(index) == PS_INDEX_i64, to,
                       PyArray_BYTES(a), length, PyArray_BYTES(index), n, NULL) == n;
    }
    const ps_list list = {PyArray_DATA(index), NULL, n};
    const ps_numbering numbering = {(uint64_t)length - 1, length, nbytes};
    return kernels->gather_rows_checked(to, &list, &numbering, PyArray_BYTES(a), nbytes,
                                        nbytes, false) == n;
}

/* An `out` that is seen is written once all of the index has been checked; NULL: a
 * fresh one. NULL without an exception: not such a call, or one whose index is bad,
 * which the op has words for. */
static PyObject *
gather_short(PyArrayObject *a, PyArrayObject *index, PyArrayObject *out)
{
    if (!is_short(a, index) || (out != NULL && !is_short_out(a, index, out))) {
        return NULL;
    }
    const int type = ps_index_type_of(index);
    PyArrayObject *result = (PyArrayObject *)Py_XNewRef((PyObject *)out);
    if (result == NULL) {
        result = new_short_result(a, index);
    }
    else if (ps_kernels()->scan[type](PyArray_BYTES(index), PyArray_DIM(index, 0),
                                      ps_index_itemsize(type),
                                      PyArray_DIM(a, 0)) >= 0) {
        Py_CLEAR(result);
    }
    if (result != NULL && !gather_few(a, index, PyArray_BYTES(result))) {
        Py_CLEAR(result);
    }
    if (result != NULL && PyArray_ISBOOL(result)) {
        ps_settle_booleans(PyArray_BYTES(result), PyArray_SIZE(result));
    }
    return (PyObject *)result;
}

/* The only option of a short call: out=, by the name that every call site shares. */
static PyObject *
short_call(PyObject *module, PyObject *const *args, PyObject *keywords)
{
    if (keywords == NULL) {
        return gather_short((PyArrayObject *)args[0], (PyArrayObject *)args[1], NULL);
    }
    const bool is_out =
            PyTuple_GET_SIZE(keywords) == 1 &&
            PyTuple_GET_ITEM(keywords, 0) == ps_get_state(module)->name[PS_NAME_out];
    return is_out && args[2] != Py_None
                   ? gather_short((PyArrayObject *)args[0], (PyArrayObject *)args[1],
                                  (PyArrayObject *)args[2])
                   : NULL;
}

#define OPTION_NAMES PS_NAME_where, PS_NAME_mode, PS_NAME_fill_value, PS_NAME_out

PyObject *
ps_py_gather(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
             PyObject *keywords)
{
    static const ps_signature signature = {
            "gather",
            8,
            3,
            2,
            {PS_NAME_a, PS_NAME_index, PS_NAME_axis, PS_NAME_batch_dims, OPTION_NAMES}};
    if (n_args == 2) {
        PyObject *const result = short_call(module, args, keywords);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return call_form(module, &signature, PS_FORM_AXIS, args, n_args, keywords);
}

PyObject *
ps_py_gather_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *keywords)
{
    static const ps_signature signature = {
            "gather_along_axis",
            7,
            3,
            2,
            {PS_NAME_a, PS_NAME_index, PS_NAME_axis, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_ALONG, args, n_args, keywords);
}

PyObject *
ps_py_gather_nd(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                PyObject *keywords)
{
    static const ps_signature signature = {
            "gather_nd",
            7,
            2,
            2,
            {PS_NAME_a, PS_NAME_indices, PS_NAME_batch_dims, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_ND, args, n_args, keywords);
}

PyObject *
ps_py_gather_at(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                PyObject *keywords)
{
    static const ps_signature signature = {
            "gather_at", 6, 2, 2, {PS_NAME_a, PS_NAME_indices, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_AT, args, n_args, keywords);
}
