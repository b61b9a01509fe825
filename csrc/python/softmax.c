/* The binding of softmax, log_softmax and logsumexp of segments, and a hook for tests
 * of the exponential and the logarithm that they are made of.
 *
 * A private function: pyscatter/_segment_softmax.py has parsed the call and brought its
 * arrays into shape. Nothing here trusts that: types, shapes and sizes are looked at
 * again, and each number of an index is checked where it is used.
 */
#include "python/py_segment.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/entries.h"

/* An index of one axis. */
typedef struct {
    PyArrayObject *array; /* owned, or NULL: there is none */
    int64_t stride;
} vector;

typedef struct {
    PyArrayObject *values, *out; /* owned */
    vector ids, start, stop, gather;
    int axis;
    ps_softmax_call call;
} softmax_work;

static PyArrayObject *
as_base_array(PyObject *object, int flags)
{
    return (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_ENSUREARRAY | flags);
}

/* None is no index. */
static int
open_vector(PyObject *object, vector *v)
{
    v->array = object != Py_None ? ps_open_vector(object) : NULL;
    return object == Py_None || v->array != NULL ? 0 : -1;
}

/* The index as the op sees it, from memory that no Python code runs any more to change.
 */
static ps_index
index_of(vector *v, int64_t size)
{
    return v->array != NULL ? ps_vector_index(v->array, size, &v->stride)
                            : (ps_index){.data = NULL};
}

static int64_t
length_of(const vector *v)
{
    return v->array != NULL ? (int64_t)PyArray_DIM(v->array, 0) : 0;
}

static const char *const form_names[] = {"softmax", "log_softmax", "logsumexp"};

static int
read_form(PyObject *object, enum ps_softmax_form *form)
{
    for (int i = 0; PyUnicode_Check(object) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(object, form_names[i]) == 0) {
            *form = (enum ps_softmax_form)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown form %R", object);
    return -1;
}

static int
read_initial(PyObject *object, ps_softmax_call *call)
{
    call->has_initial = object != Py_None;
    call->initial = call->has_initial ? PyFloat_AsDouble(object) : 0;
    if (call->has_initial && call->form != PS_LOGSUMEXP) {
        PyErr_SetString(PyExc_TypeError, "initial goes with logsumexp");
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* All arrays but the result. */
static int
open_arrays(softmax_work *work, PyObject *values, PyObject *const index[4])
{
    vector *const to[4] = {&work->ids, &work->start, &work->stop, &work->gather};
    PyArrayObject *const array = as_base_array(values, 0);
    work->values = array != NULL ? ps_contiguous(array) : NULL;
    Py_XDECREF((PyObject *)array);
    for (int i = 0; work->values != NULL && i < 4; i++) {
        if (open_vector(index[i], to[i]) < 0) {
            return -1;
        }
    }
    return work->values != NULL ? 0 : -1;
}

/* Do shapes and types go together? The lengths of the call. */
static int
check_arrays(ps_state *state, softmax_work *work, Py_ssize_t size, PyArray_Descr *sums,
             PyArray_Descr *descr)
{
    ps_softmax_call *const call = &work->call;
    const int ndim = PyArray_NDIM(work->values);
    const npy_intp *const shape = PyArray_DIMS(work->values);
    call->has_ids = work->ids.array != NULL;
    call->dtype = ps_dtype_of(state, PyArray_DESCR(work->values));
    call->type = ps_dtype_of(state, sums);
    call->out_dtype = ps_dtype_of(state, descr);
    if ((call->type != PS_f32 && call->type != PS_f64) ||
        !ps_can_convert(call->dtype, call->type) ||
        !ps_can_convert(call->type, call->out_dtype)) {
        PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S",
                     form_names[call->form], (PyObject *)PyArray_DESCR(work->values));
        return -1;
    }
    if (work->axis < 0 || work->axis >= ndim || size < 0 ||
        call->has_ids == (work->start.array != NULL) ||
        length_of(&work->start) != length_of(&work->stop)) {
        PyErr_SetString(PyExc_ValueError,
                        "entries lie along an axis of values, and "
                        "have ids, or starts and stops");
        return -1;
    }
    call->n_rows = shape[work->axis];
    call->n_entries =
            work->gather.array != NULL ? length_of(&work->gather) : call->n_rows;
    call->n_segments = call->has_ids ? size : length_of(&work->start);
    if (call->has_ids && length_of(&work->ids) != call->n_entries) {
        PyErr_SetString(PyExc_ValueError, "ids has one number for each entry");
        return -1;
    }
    if (!ps_count(work->axis, (const int64_t *)shape, &call->outer) ||
        !ps_count(ndim - work->axis - 1, (const int64_t *)shape + work->axis + 1,
                  &call->width)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static PyArrayObject *
fresh_result(const softmax_work *work, PyArray_Descr *descr)
{
    const ps_softmax_call *const call = &work->call;
    npy_intp shape[PS_MAX_DIMS];
    memcpy(shape, PyArray_DIMS(work->values),
           sizeof(npy_intp) * (size_t)PyArray_NDIM(work->values));
    shape[work->axis] = call->form == PS_LOGSUMEXP ? call->n_segments : call->n_entries;
    Py_INCREF((PyObject *)descr);
    return (PyArrayObject *)PyArray_Empty(PyArray_NDIM(work->values), shape, descr, 0);
}

/* Pointers are taken last. A result of no elements has its indices checked alone. */
static PyObject *
run_work(ps_state *state, softmax_work *work)
{
    ps_softmax_call *const call = &work->call;
    int64_t nbytes;
    call->values = PyArray_BYTES(work->values);
    call->out = PyArray_BYTES(work->out);
    call->ids = index_of(&work->ids, call->n_segments);
    call->start = index_of(&work->start, 0);
    call->stop = index_of(&work->stop, 0);
    call->gather = index_of(&work->gather, call->n_rows);
    if (call->outer == 0 || call->width == 0) {
        call->outer = 1;
        call->width = 0;
    }
    /* An element costs as much as moving some sixty bytes. */
    if (!ps_multiply(call->n_entries + call->n_segments, 64 * (call->width + 1),
                     &nbytes) ||
        !ps_multiply(nbytes, call->outer, &nbytes)) {
        nbytes = INT64_MAX;
    }
    const ps_status status = ps_run_op(state, ps_softmax, call, nbytes);
    if (status.code == PS_INDEX_BAD && status.total == 0) {
        Py_RETURN_NONE;
    }
    return ps_raise(state, status, "ids") < 0 ? NULL : Py_NewRef((PyObject *)work->out);
}

/* softmax(form, values, axis, ids, size, starts, stops, gather, accumulator, dtype,
 * initial): the form "softmax", "log_softmax" or "logsumexp" of entries along an axis
 * of `values`, or of the rows of it that `gather` names; segments by ids, of which
 * there are `size`, or by runs; None for what is absent. A fresh array of `dtype`, with
 * an entry or a segment at each place of the axis; None when a limit or a row is out of
 * bounds. */
PyObject *
ps_py_softmax(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *form, *values, *index[4], *initial, *result = NULL;
    PyArray_Descr *sums = NULL, *descr = NULL;
    Py_ssize_t size;
    softmax_work work;
    memset(&work, 0, sizeof(work));
    if (!PyArg_ParseTuple(args, "OOiOnOOOO&O&O", &form, &values, &work.axis, &index[0],
                          &size, &index[1], &index[2], &index[3],
                          PyArray_DescrConverter, &sums, PyArray_DescrConverter, &descr,
                          &initial)) {
        Py_XDECREF(sums);
        return NULL;
    }
    if (read_form(form, &work.call.form) == 0 &&
        read_initial(initial, &work.call) == 0 &&
        open_arrays(&work, values, index) == 0 &&
        check_arrays(state, &work, size, sums, descr) == 0) {
        work.out = fresh_result(&work, descr);
        result = work.out != NULL ? run_work(state, &work) : NULL;
    }
    Py_XDECREF(work.values);
    Py_XDECREF(work.out);
    Py_XDECREF(work.ids.array);
    Py_XDECREF(work.start.array);
    Py_XDECREF(work.stop.array);
    Py_XDECREF(work.gather.array);
    Py_DECREF(sums);
    Py_DECREF(descr);
    return result;
}

/* elementary(name, values): "exp" or "log" of an array of float32 or float64, for
 * tests: a fresh array. */
PyObject *
ps_py_elementary(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    const ps_kernel_table *const kernels = ps_kernels();
    PyObject *object;
    const char *name;
    if (!PyArg_ParseTuple(args, "sO", &name, &object)) {
        return NULL;
    }
    PyArrayObject *const array = as_base_array(object, NPY_ARRAY_CARRAY_RO);
    if (array == NULL) {
        return NULL;
    }
    const enum ps_dtype type = ps_dtype_of(state, PyArray_DESCR(array));
    const bool is_exp = strcmp(name, "exp") == 0;
    PyArrayObject *out = NULL;
    if ((type != PS_f32 && type != PS_f64) || !(is_exp || strcmp(name, "log") == 0)) {
        PyErr_SetString(PyExc_TypeError, "exp or log of float32 or float64");
    }
    else {
        out = (PyArrayObject *)PyArray_NewLikeArray(array, NPY_CORDER, NULL, 0);
    }
    if (out != NULL && is_exp) {
        kernels->exp[type](PyArray_BYTES(out), PyArray_BYTES(array),
                           PyArray_SIZE(array));
    }
    else if (out != NULL) {
        kernels->log[type](PyArray_BYTES(out), PyArray_BYTES(array), NULL,
                           PyArray_SIZE(array));
    }
    Py_DECREF(array);
    return (PyObject *)out;
}
