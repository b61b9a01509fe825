/* Softmax, log_softmax and logsumexp of segments (contract in softmax.h), and a hook
 * for tests of the exponential and the logarithm that they are made of.
 *
 * Axes before the entries are outer parts for the op, so that nothing is copied for
 * them. An entry that a mask leaves out becomes -inf, whose power is no part of any
 * sum; one whose id is dropped is left off a list of those that stay.
 */
#include "python/softmax.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/flat.h"
#include "python/numbers.h"

typedef struct {
    ps_reduce *reduce;
    PyArrayObject *values, *mask, *ids, *gather, *out; /* owned, or NULL */
    int64_t id_stride, start_stride, stop_stride, gather_stride;
    ps_softmax_call call;
} softmax_work;

/* ---- entries that take part ---- */

/* -inf in place of what the mask leaves out, in a copy of the values in the type of
 * sums. */
static int
leave_out(softmax_work *work)
{
    const ps_reduce *const reduce = work->reduce;
    const ps_softmax_call *const call = &work->call;
    Py_SETREF(work->values,
              ps_cast_quietly(reduce->state, work->values, reduce->types.sum));
    if (work->mask == NULL || work->values == NULL) {
        return -1;
    }
    const int64_t n = PyArray_SIZE(work->values), size = PyArray_ITEMSIZE(work->values);
    const int64_t row = ps_max(1, call->width), n_rows = ps_max(1, call->n_rows);
    const f64 low = -(f64)INFINITY;
    char item[8];
    ps_convert(call->type, item, PS_f64, 8, false, (const char *)&low, 0, 1);
    if (PyArray_SIZE(work->mask) != (reduce->is_fine ? n : call->n_rows)) {
        return ps_raise_changed("where");
    }
    for (int64_t i = 0; i < n; i++) {
        if (!PyArray_BYTES(work->mask)[reduce->is_fine ? i : i / row % n_rows]) {
            memcpy(PyArray_BYTES(work->values) + i * size, item, (size_t)size);
        }
    }
    return 0;
}

/* Ids and rows of those entries alone whose ids are not dropped. */
static int
list_kept(softmax_work *work)
{
    const npy_intp n = PyArray_SIZE(work->ids);
    int64_t *const id = PyArray_DATA(work->ids);
    npy_intp kept = 0;
    for (npy_intp i = 0; i < n; i++) {
        kept += id[i] >= 0;
    }
    if (kept == n) {
        return 0;
    }
    if (work->call.form != PS_LOGSUMEXP) {
        PyErr_SetString(PyExc_ValueError,
                        "the plan drops entries, which then have no segment");
        return -1;
    }
    PyArrayObject *const ids = (PyArrayObject *)PyArray_SimpleNew(1, &kept, NPY_INT64);
    PyArrayObject *const rows = (PyArrayObject *)PyArray_SimpleNew(1, &kept, NPY_INT64);
    npy_intp at = 0;
    for (npy_intp i = 0; ids != NULL && rows != NULL && i < n; i++) {
        if (id[i] >= 0) {
            ((int64_t *)PyArray_DATA(ids))[at] = id[i];
            ((int64_t *)PyArray_DATA(rows))[at++] = i;
        }
    }
    PyArrayObject *listed = (PyArrayObject *)Py_XNewRef((PyObject *)rows);
    if (work->gather != NULL && rows != NULL) {
        Py_SETREF(listed, (PyArrayObject *)PyArray_TakeFrom(
                                  work->gather, (PyObject *)rows, 0, NULL, NPY_RAISE));
    }
    Py_XDECREF((PyObject *)rows);
    Py_XSETREF(work->ids, ids);
    Py_XSETREF(work->gather, listed);
    return ids != NULL && listed != NULL ? 0 : -1;
}

/* ---- the call ---- */

/* Values, as they lie but for batches, and what lies beside them. */
static int
open_arrays(softmax_work *work)
{
    ps_reduce *const reduce = work->reduce;
    const bool moves = reduce->batch_dims > 0;
    const bool is_plain =
            reduce->mode == PS_MODE_IDS && reduce->named == NULL && !moves;
    work->values = moves ? ps_entries_first(reduce, reduce->values)
                         : ps_contiguous(reduce->values);
    if (work->values == NULL) {
        return -1;
    }
    const enum ps_dtype given = ps_dtype_of(reduce->state, PyArray_DESCR(work->values));
    const int ndim = PyArray_NDIM(work->values);
    const int axis = moves ? 0 : reduce->axis, own = moves ? 1 : reduce->n_own;
    const int64_t *const shape = (const int64_t *)PyArray_DIMS(work->values);
    ps_softmax_call *const call = &work->call;
    if (!ps_can_convert(given, reduce->types.sum_type) || ndim < axis + own ||
        !ps_count(axis, shape, &call->outer) ||
        !ps_count(own, shape + axis, &call->n_rows) ||
        !ps_count(ndim - axis - own, shape + axis + own, &call->width)) {
        return ps_raise_changed("values");
    }
    call->type = reduce->types.sum_type;
    if (ps_flat_ids(reduce, !is_plain, &work->ids) < 0 ||
        ps_flat_gather(reduce, &work->gather) < 0 ||
        (work->ids != NULL && !is_plain && list_kept(work) < 0)) {
        return -1;
    }
    if (reduce->mask == NULL || (reduce->ids != NULL && !reduce->is_fine)) {
        return 0;
    }
    work->mask = moves ? ps_entries_first(reduce, reduce->mask)
                       : ps_contiguous(reduce->mask);
    return leave_out(work);
}

/* A fresh result in the axes of the values: of entries, or of segments. */
static int
open_out(softmax_work *work, PyArray_Descr *descr)
{
    const ps_reduce *const reduce = work->reduce;
    ps_softmax_call *const call = &work->call;
    npy_intp shape[2 * PS_MAX_DIMS + 1];
    int n = 2;
    call->n_entries = work->gather != NULL ? PyArray_SIZE(work->gather) : call->n_rows;
    if (ps_count_segments(reduce, &call->n_segments) < 0) {
        return -1;
    }
    if (reduce->batch_dims > 0) {
        shape[0] = call->form == PS_LOGSUMEXP ? call->n_segments : call->n_entries;
        shape[1] = call->width;
    }
    else if (call->form == PS_LOGSUMEXP) {
        n = ps_result_shape(reduce, true, shape);
    }
    else { /* nothing is gathered */
        n = PyArray_NDIM(work->values);
        memcpy(shape, PyArray_DIMS(work->values), sizeof(npy_intp) * (size_t)n);
    }
    call->out_dtype = ps_dtype_of(reduce->state, descr);
    Py_INCREF((PyObject *)descr);
    work->out = (PyArrayObject *)PyArray_Empty(n, shape, descr, 0);
    return work->out != NULL ? 0 : -1;
}

/* Pointers are taken last. A result of no elements has its indices checked alone. */
static int
take_pointers(softmax_work *work)
{
    const ps_runs *const runs = &work->reduce->runs;
    ps_softmax_call *const call = &work->call;
    call->dtype = ps_dtype_of(work->reduce->state, PyArray_DESCR(work->values));
    call->values = PyArray_BYTES(work->values);
    call->out = PyArray_BYTES(work->out);
    call->has_ids = work->ids != NULL;
    if (call->outer == 0 || call->width == 0) {
        call->outer = 1;
        call->width = 0;
    }
    if (work->gather != NULL) {
        call->gather = ps_line_index(work->gather, call->n_rows, &work->gather_stride);
    }
    if (work->ids == NULL) {
        return ps_open_limits(runs, &call->start, &work->start_stride, &call->stop,
                              &work->stop_stride);
    }
    call->ids = ps_line_index(work->ids, call->n_segments, &work->id_stride);
    return PyArray_SIZE(work->ids) == call->n_entries ? 0 : ps_raise_changed("ids");
}

static int
run(softmax_work *work, PyArray_Descr *descr)
{
    ps_reduce *const reduce = work->reduce;
    ps_softmax_call *const call = &work->call;
    int64_t nbytes;
    if (open_arrays(work) < 0 || open_out(work, descr) < 0 || take_pointers(work) < 0) {
        return -1;
    }
    /* An element costs as much as moving some sixty bytes. */
    if (!ps_multiply(call->n_entries + call->n_segments, 64 * (call->width + 1),
                     &nbytes) ||
        !ps_multiply(nbytes, call->outer, &nbytes)) {
        nbytes = INT64_MAX;
    }
    const ps_status status = ps_run_op(reduce->state, ps_softmax, call, nbytes);
    return status.code == PS_INDEX_BAD && status.total == 0
                   ? ps_raise_entries(reduce)
                   : ps_raise(reduce->state, status, "ids");
}

/* The result of the form in reduce->sums. */
static int
run_form(ps_reduce *reduce, enum ps_softmax_form form, PyArray_Descr *descr)
{
    softmax_work work = {.reduce = reduce, .call = {.form = form}};
    if (reduce->starts) {
        const enum ps_dtype type = reduce->types.sum_type;
        work.call.has_initial = true;
        ps_convert(PS_f64, (char *)&work.call.initial, type, ps_dtype_size[type], false,
                   reduce->start, 0, 1);
    }
    if (run(&work, descr) == 0) {
        PyArrayObject *const out = (PyArrayObject *)Py_NewRef((PyObject *)work.out);
        reduce->sums = reduce->batch_dims > 0
                               ? ps_entries_back(reduce, out, form != PS_LOGSUMEXP)
                               : out;
    }
    Py_XDECREF((PyObject *)work.values);
    Py_XDECREF((PyObject *)work.mask);
    Py_XDECREF((PyObject *)work.ids);
    Py_XDECREF((PyObject *)work.gather);
    Py_XDECREF((PyObject *)work.out);
    return reduce->sums != NULL ? 0 : -1;
}

int
ps_run_powers(ps_reduce *work)
{
    ps_fold_types *const types = &work->types;
    const bool is_real = ps_can_convert(types->sum_type, types->result_type);
    if (run_form(work, PS_LOGSUMEXP, is_real ? types->result : types->sum) < 0) {
        return -1;
    }
    if (is_real) { /* rounded once, by the op */
        types->sum_type = types->result_type;
        Py_SETREF(types->sum, (PyArray_Descr *)Py_NewRef((PyObject *)types->result));
    }
    return 0;
}

int
ps_run_softmax(ps_reduce *work, bool is_log)
{
    return run_form(work, is_log ? PS_LOG_SOFTMAX : PS_SOFTMAX, work->types.result);
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
    PyArrayObject *const array = (PyArrayObject *)PyArray_FROM_OF(
            object, NPY_ARRAY_ENSUREARRAY | NPY_ARRAY_CARRAY_RO);
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
