/* What the Python side of segments is made of: three primitives.
 *
 * Segments have many addressings and some twenty ops; the Python layer brings all of
 * them down to folds over runs of entries (here), folds by ids (a scatter into a fresh
 * array), places of extremes and sums of squared distances (here). These are private
 * functions: their callers have parsed and shaped the arguments, but nothing here
 * trusts that: types, shapes and sizes are looked at again, and each number of an index
 * is checked where it is used. Bad numbers give None, and the caller says which.
 */
#include "python/folds.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/entries.h"
#include "python/runs.h"

/* A fresh array of `n` rows shaped as those of `like`. */
static PyArrayObject *
fresh_rows(PyArrayObject *like, int64_t n, PyArray_Descr *descr, bool is_zero)
{
    npy_intp shape[PS_MAX_DIMS];
    memcpy(shape, PyArray_DIMS(like), sizeof(npy_intp) * (size_t)PyArray_NDIM(like));
    shape[0] = n;
    Py_INCREF(descr);
    return (PyArrayObject *)(is_zero ? PyArray_Zeros(PyArray_NDIM(like), shape, descr,
                                                     0)
                                     : PyArray_Empty(PyArray_NDIM(like), shape, descr,
                                                     0));
}

/* ---- folds over runs of entries ---- */

/* The type of sums and results, for which the op and the casts must exist. */
static int
check_type(const ps_runs *runs, PyArray_Descr *descr)
{
    const ps_segment_call *const call = &runs->call;
    const ps_kernel_table *const kernels = ps_kernels();
    if (call->type >= PS_NUM_DTYPES || call->op >= PS_NUM_REDUCTIONS ||
        kernels->segment[call->op][call->type] == NULL ||
        (runs->weights != NULL && kernels->scale[call->type] == NULL)) {
        PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S",
                     ps_op_name(call->op), (PyObject *)descr);
        return -1;
    }
    return 0;
}

/* All arrays of a call; a cast of weights may warn, which runs Python code. */
static int
take_arrays(ps_state *state, ps_runs *runs, PyObject *const *given,
            PyArray_Descr *descr)
{
    PyObject *const values = given[0], *const gather = given[3], *weights = given[4];
    if (!PyArray_Check(values) || PyArray_NDIM((PyArrayObject *)values) < 1 ||
        ps_take_limits(state, given[1], "starts", &runs->starts) != 1 ||
        ps_take_limits(state, given[2], "stops", &runs->stops) != 1 ||
        (gather != Py_None &&
         ps_take_limits(state, gather, "gather", &runs->gather) != 1)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "values, or an index with one axis");
        }
        return -1;
    }
    if (weights != Py_None) {
        Py_INCREF(descr);
        runs->weights = (PyArrayObject *)PyArray_FromAny(
                weights, descr, 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
        if (runs->weights == NULL) {
            return -1;
        }
    }
    runs->n_segments = PyArray_DIM(runs->starts, 0);
    return ps_take_rows(state, runs, (PyArrayObject *)values, descr);
}

static PyObject *
run_ranges(ps_state *state, ps_runs *runs, PyArray_Descr *descr)
{
    PyArrayObject *const out = fresh_rows(runs->values, runs->n_segments, descr, false);
    const int done = out != NULL && ps_open_runs(state, runs) == 0
                             ? ps_run_runs(state, runs, out)
                             : -1;
    if (done <= 0) {
        Py_XDECREF((PyObject *)out);
        return done < 0 ? NULL : Py_NewRef(Py_None);
    }
    return (PyObject *)out;
}

/* fold_ranges(values, starts, stops, op, dtype, gather, weights): rows [starts[s],
 * stops[s]) of values, or of values[gather], folded by op in dtype; None when a limit
 * or a row is out of bounds. */
PyObject *
ps_py_fold_ranges(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *given[5], *op, *result = NULL;
    PyArray_Descr *descr = NULL;
    ps_runs runs;
    ps_begin_runs(&runs);
    if (!PyArg_ParseTuple(args, "OOOOO&OO", &given[0], &given[1], &given[2], &op,
                          PyArray_DescrConverter, &descr, &given[3], &given[4])) {
        return NULL;
    }
    if (ps_to_op(state, op, &runs.call.op) == 0 &&
        take_arrays(state, &runs, given, descr) == 0) {
        runs.call.type = ps_dtype_of(state, descr);
        if (check_type(&runs, descr) == 0) {
            ps_write_empty(runs.call.op, runs.call.type, runs.empty);
            result = run_ranges(state, &runs, descr);
        }
    }
    ps_close_runs(&runs);
    Py_DECREF(descr);
    return result;
}

/* ---- what entries say of their groups ---- */

typedef struct {
    PyArrayObject *values, *ids, *result, *place, *centre; /* owned */
    int64_t stride;
    ps_visit_call call;
} group_work;

/* `object` as an array that kernels can read as it lies. */
static PyArrayObject *
as_contiguous(PyObject *object)
{
    PyArrayObject *const array =
            (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_ENSUREARRAY);
    PyArrayObject *const result = array != NULL ? ps_contiguous(array) : NULL;
    Py_XDECREF((PyObject *)array);
    return result;
}

/* Values as kernels want them, and an id for each row. */
static int
open_groups(ps_state *state, group_work *work, PyObject *values, PyObject *ids,
            Py_ssize_t size)
{
    ps_visit_call *const call = &work->call;
    work->values = as_contiguous(values);
    work->ids = work->values != NULL ? ps_open_vector(ids) : NULL;
    if (work->ids == NULL) {
        return -1;
    }
    call->ids = ps_vector_index(work->ids, size, &work->stride);
    if (size < 0 || PyArray_NDIM(work->values) < 1 ||
        PyArray_DIM(work->values, 0) != PyArray_DIM(work->ids, 0)) {
        PyErr_SetString(PyExc_ValueError, "ids has one entry for each row of values");
        return -1;
    }
    call->type = call->dtype = ps_dtype_of(state, PyArray_DESCR(work->values));
    call->mode = PS_MODE_IDS;
    call->n = PyArray_DIM(work->ids, 0);
    call->n_groups = size;
    call->values = PyArray_BYTES(work->values);
    call->aligned = true;
    call->itemsize = PyArray_ITEMSIZE(work->values);
    call->width = ps_row_width(work->values);
    call->row_stride = call->width * call->itemsize;
    return call->width < 0 ? -1 : 0;
}

static void
close_groups(group_work *work)
{
    Py_XDECREF(work->values);
    Py_XDECREF(work->ids);
    Py_XDECREF(work->result);
    Py_XDECREF(work->place);
    Py_XDECREF(work->centre);
}

static int
run_groups(ps_state *state, group_work *work, ps_op_fn op)
{
    work->call.result = PyArray_BYTES(work->result);
    const int64_t nbytes = PyArray_NBYTES(work->values) + 8 * work->call.n;
    return ps_raise(state, ps_run_op(state, op, &work->call, nbytes), "ids");
}

/* find_extremes(values, ids, size, op): numbers of the rows that min, max, fmin
 * or fmax of each group return, for each column; -1 where a group has none. None when
 * an id is out of bounds. */
PyObject *
ps_py_find_extremes(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *values, *ids, *op, *result = NULL;
    Py_ssize_t size;
    group_work work;
    memset(&work, 0, sizeof(work));
    ps_visit_call *const call = &work.call;
    if (!PyArg_ParseTuple(args, "OOnO", &values, &ids, &size, &op) ||
        ps_to_op(state, op, &call->op) < 0 ||
        open_groups(state, &work, values, ids, size) < 0) {
        goto finish;
    }
    if (call->type >= PS_NUM_DTYPES || call->op >= PS_NUM_REDUCTIONS ||
        ps_kernels()->find_checked[call->op][call->type] == NULL) {
        PyErr_SetString(PyExc_TypeError, "extremes of what has an order only");
        goto finish;
    }
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    work.result = fresh_rows(work.values, size, PyArray_DESCR(work.values), false);
    work.place =
            work.result != NULL ? fresh_rows(work.values, size, wide, false) : NULL;
    Py_DECREF(wide);
    if (work.place == NULL) {
        goto finish;
    }
    call->place = PyArray_DATA(work.place);
    if (run_groups(state, &work, ps_find) == 0) {
        result = Py_NewRef(call->n_bad == 0 ? (PyObject *)work.place : Py_None);
    }
finish:
    close_groups(&work);
    return result;
}

/* sum_deviations(values, ids, centre): for each group the sum of (value - centre)^2,
 * by columns; values and centre float32 or float64 alike. */
PyObject *
ps_py_sum_deviations(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *values, *ids, *centre, *result = NULL;
    group_work work;
    memset(&work, 0, sizeof(work));
    if (!PyArg_ParseTuple(args, "OOO", &values, &ids, &centre)) {
        return NULL;
    }
    work.centre = as_contiguous(centre);
    if (work.centre == NULL) {
        return NULL;
    }
    const npy_intp size =
            PyArray_NDIM(work.centre) > 0 ? PyArray_DIM(work.centre, 0) : -1;
    if (open_groups(state, &work, values, ids, size) < 0) {
        goto finish;
    }
    if (PyArray_NDIM(work.centre) != PyArray_NDIM(work.values) ||
        PyArray_SIZE(work.centre) != size * work.call.width ||
        !PyArray_EquivTypes(PyArray_DESCR(work.centre), PyArray_DESCR(work.values)) ||
        (work.call.type != PS_f32 && work.call.type != PS_f64)) {
        PyErr_SetString(PyExc_TypeError, "values and centre are floats of one type");
        goto finish;
    }
    work.result = fresh_rows(work.values, size, PyArray_DESCR(work.values), true);
    work.call.centre = PyArray_BYTES(work.centre);
    if (work.result != NULL && run_groups(state, &work, ps_deviate) == 0) {
        result = Py_NewRef((PyObject *)work.result);
    }
finish:
    close_groups(&work);
    return result;
}
