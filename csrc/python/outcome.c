/* What folds leave becomes what was asked for (contract in outcome.h). */
#include "python/outcome.h"

#include "base/sizes.h"
#include "ops/identity.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"

/* ---- the finishing pass ---- */

/* Have the sums an axis of quantiles in front? */
static bool
has_levels(const ps_reduce *work)
{
    return work->reduction->needs_levels && PyArray_NDIM(work->levels) == 1;
}

/* The axes of the sums, and the counts beside them. 0 or -1. */
static int
lay_out(const ps_reduce *work, ps_finish_call *call)
{
    const int lead = has_levels(work), ndim = PyArray_NDIM(work->sums) - lead;
    const int64_t *const shape = (const int64_t *)PyArray_DIMS(work->sums) + lead;
    const int batch = work->batch_dims, axis = work->axis;
    ps_count(batch, shape, &call->n_batches);
    ps_count(axis - batch, shape + batch, &call->n_before);
    ps_count(ndim - axis - 1, shape + axis + 1, &call->width);
    if (work->counts == NULL) {
        return 0;
    }
    int64_t expected = call->n_batches * call->n_segments;
    if (work->is_fine) {
        expected *= call->n_before * call->width;
    }
    call->count = PyArray_DATA(work->counts);
    return PyArray_SIZE(work->counts) == expected ? 0 : ps_raise_changed("values");
}

/* From the sums to `result`, which may be they, level by level. */
static int
run_pass(const ps_reduce *work, ps_finish_call call, PyArrayObject *result)
{
    const npy_intp n = has_levels(work) ? PyArray_DIM(work->sums, 0) : 1;
    call.sums = PyArray_BYTES(work->sums);
    call.out = PyArray_BYTES(result);
    call.n_segments = work->size;
    call.is_fine = work->is_fine;
    if (lay_out(work, &call) < 0) {
        return -1;
    }
    for (npy_intp i = 0; i < n; i++) {
        const ps_status status =
                ps_run_op(work->state, ps_finish, &call,
                          (PyArray_NBYTES(work->sums) + PyArray_NBYTES(result)) / n);
        if (ps_raise(work->state, status, "ids") < 0) {
            return -1;
        }
        call.sums += PyArray_NBYTES(work->sums) / n;
        call.out += PyArray_NBYTES(result) / n;
    }
    return 0;
}

static int
cast_sums(ps_reduce *work, PyArray_Descr *descr)
{
    Py_SETREF(work->sums, ps_cast_quietly(work->state, work->sums, descr));
    return work->sums != NULL ? 0 : -1;
}

/* Quotients of weighted sums that the pass has no kernels for. */
static int
divide_by_weights(ps_reduce *work)
{
    PyObject *const divide = ps_get_helper(work->state, PS_HELPER_divided);
    PyArrayObject *const weights =
            divide != NULL ? ps_spread_counts(work, work->weight_sums) : NULL;
    PyArrayObject *const counts =
            weights != NULL ? ps_spread_counts(work, work->counts) : NULL;
    PyObject *const done =
            counts != NULL ? PyObject_CallFunctionObjArgs(
                                     divide, (PyObject *)work->sums,
                                     (PyObject *)weights, (PyObject *)counts, NULL)
                           : NULL;
    Py_XDECREF((PyObject *)weights);
    Py_XDECREF((PyObject *)counts);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* What has to be done before the pass, which divides in the widest types alone. */
static int
prepare(ps_reduce *work, bool *divides)
{
    ps_fold_types *const types = &work->types;
    const enum ps_dtype type = types->sum_type;
    *divides = work->reduction->divides;
    if (*divides && work->weight_sums != NULL && type != PS_f32 && type != PS_f64) {
        *divides = false;
        return divide_by_weights(work);
    }
    if (*divides && ps_dtype_kind[type] == PS_KIND_INT && ps_dtype_size[type] < 8) {
        const bool is_unsigned = PyTypeNum_ISUNSIGNED(types->sum->type_num);
        types->sum_type = is_unsigned ? PS_u64 : PS_i64;
        Py_SETREF(types->sum, ps_descr_of(work->state, types->sum_type));
        return types->sum != NULL ? cast_sums(work, types->sum) : -1;
    }
    return 0;
}

/* The value of empty segments: `fill_value`, or, of runs under a mask, which have taken
 * in the identity where everything was left out, what folds of nothing are. */
static bool
take_fill(ps_reduce *work)
{
    const enum ps_folded of = work->reduction->of;
    const ps_fold_types *const types = &work->types;
    const bool was_masked = work->ids == NULL && work->mask != NULL && !work->starts &&
                            !work->reduction->divides &&
                            (of == PS_FOLD_VALUES || of == PS_FOLD_TRUTH);
    char empty[16];
    if (was_masked && !work->fills) {
        ps_write_empty(work->reduction->fold, types->sum_type, empty);
        ps_convert(types->result_type, work->fill, types->sum_type,
                   ps_dtype_size[types->sum_type], false, empty, 0, 1);
    }
    return was_masked || work->fills;
}

int
ps_finish_sums(ps_reduce *work, bool is_centre)
{
    const ps_fold_types *const types = &work->types;
    const bool finds = work->reduction->of == PS_FOLD_PLACES;
    bool divides;
    if (prepare(work, &divides) < 0) {
        return -1;
    }
    const bool fills = !is_centre && take_fill(work);
    const bool casts = types->sum_type != types->result_type && !is_centre && !finds;
    if (!divides && !fills && !casts) {
        return 0;
    }
    const bool by_numpy = casts && !ps_can_convert(types->sum_type, types->result_type);
    const bool spreads = work->reduction->spreads && !is_centre;
    ps_finish_call call = {.type = finds ? types->result_type : types->sum_type,
                           .spreads = spreads,
                           .roots = spreads && work->reduction->roots,
                           .ddof = work->ddof,
                           .divides = divides,
                           .weight_sums = divides && work->weight_sums != NULL
                                                  ? PyArray_BYTES(work->weight_sums)
                                                  : NULL,
                           .fill = fills && !by_numpy ? work->fill : NULL};
    call.out_type = casts && !by_numpy ? types->result_type : call.type;
    PyArrayObject *result = (PyArrayObject *)Py_NewRef((PyObject *)work->sums);
    if (casts && !by_numpy) {
        Py_INCREF(types->result);
        Py_SETREF(result, (PyArrayObject *)PyArray_Empty(PyArray_NDIM(work->sums),
                                                         PyArray_DIMS(work->sums),
                                                         types->result, 0));
    }
    int status = result != NULL ? 0 : -1;
    if (status == 0 &&
        (divides || spreads || call.fill != NULL || result != work->sums)) {
        status = run_pass(work, call, result);
    }
    Py_XSETREF(work->sums, result);
    if (status == 0 && by_numpy) {
        status = cast_sums(work, types->result);
        call = (ps_finish_call){.type = types->result_type,
                                .out_type = types->result_type,
                                .fill = work->fill};
        if (status == 0 && fills) {
            status = run_pass(work, call, work->sums);
        }
    }
    return status;
}

PyArrayObject *
ps_spread_counts(const ps_reduce *work, PyArrayObject *counts)
{
    npy_intp shape[PS_MAX_DIMS + 1], own[PS_MAX_DIMS + 1];
    const int ndim = ps_result_shape(work, true, shape);
    for (int i = 0; i < ndim; i++) {
        own[i] =
                i < work->batch_dims || i == work->axis || work->is_fine ? shape[i] : 1;
    }
    if (ndim == PyArray_NDIM(counts) && !work->returns_counts) {
        return (PyArrayObject *)Py_NewRef((PyObject *)counts);
    }
    PyArray_Dims dims = {own, ndim};
    PyArrayObject *const view =
            (PyArrayObject *)PyArray_Newshape(counts, &dims, NPY_CORDER);
    PyArrayObject *const result =
            view != NULL ? ps_new_result(work, PyArray_DESCR(counts)) : NULL;
    const int status = result != NULL ? PyArray_CopyInto(result, view) : -1;
    Py_XDECREF((PyObject *)view);
    if (status < 0) {
        Py_XDECREF((PyObject *)result);
        return NULL;
    }
    return result;
}

/* ---- out= ---- */

/* Do two arrays share a byte? Also where that is too hard to tell. 1, 0 or -1. */
static int
share_memory(PyArrayObject *one, PyArrayObject *other)
{
    if (!ps_extents_meet(one, other)) {
        return 0;
    }
    PyObject *const numpy = PyImport_ImportModule("numpy");
    PyObject *const answer = numpy != NULL
                                     ? PyObject_CallMethod(numpy, "shares_memory",
                                                           "OOi", one, other, 1000)
                                     : NULL;
    Py_XDECREF(numpy);
    if (answer == NULL) {
        const bool is_hard = PyErr_ExceptionMatches(PyExc_RuntimeError);
        if (is_hard) {
            PyErr_Clear();
        }
        return is_hard ? 1 : -1;
    }
    const int shares = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return shares;
}

/* Can `out` take the result? Once that is known of all, nothing is left to refuse. */
static int
check_target(ps_state *state, PyObject *out, PyArrayObject *result)
{
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError, "'out' must be an array, not %.200s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    return ps_require_array(state, out, "out") < 0
                   ? -1
                   : ps_check_out(state, (PyArrayObject *)out, PyArray_NDIM(result),
                                  PyArray_DIMS(result), PyArray_DESCR(result),
                                  NPY_SAME_KIND_CASTING);
}

/* A reduction does not warn, so the cast is a quiet one. */
static int
write_result(ps_state *state, PyArrayObject *out, PyArrayObject *result)
{
    PyArray_Descr *const descr =
            PyArray_DescrNewByteorder(PyArray_DESCR(out), NPY_NATIVE);
    PyArrayObject *const cast =
            descr != NULL ? ps_cast_quietly(state, result, descr) : NULL;
    PyObject *const done = cast != NULL ? ps_deliver(cast, out) : NULL;
    Py_XDECREF(descr);
    Py_XDECREF((PyObject *)cast);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

int
ps_write_results(ps_state *state, PyObject *out, PyObject *const *results, Py_ssize_t n)
{
    const bool is_many = PyTuple_Check(out);
    PyObject *const *const outs = is_many ? &PyTuple_GET_ITEM(out, 0) : &out;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (check_target(state, outs[i], (PyArrayObject *)results[i]) < 0) {
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        for (Py_ssize_t k = 0; k < i; k++) {
            const int shares =
                    share_memory((PyArrayObject *)outs[i], (PyArrayObject *)outs[k]);
            if (shares > 0) {
                PyErr_Format(PyExc_ValueError,
                             "out holds the same memory twice (item %zd)", i);
            }
            if (shares != 0) {
                return -1;
            }
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (write_result(state, (PyArrayObject *)outs[i], (PyArrayObject *)results[i]) <
            0) {
            return -1;
        }
    }
    return 0;
}

/* ---- several results ---- */

/* The reduction itself in what a segment function returns, where places or counts may
 * go with it. Borrowed. */
static PyObject *
reduction_in(PyObject *result, bool has_many_ops)
{
    PyObject *const first = PyTuple_Check(result) && PyTuple_GET_SIZE(result) > 0
                                    ? PyTuple_GET_ITEM(result, 0)
                                    : NULL;
    const bool has_company =
            first != NULL && (has_many_ops ? PyTuple_Check(first) : true);
    return has_company ? first : result;
}

/* The reductions of one array of values, and where each goes, side by side. */
static int
pair_up(PyObject *reduction, PyObject *out, PyObject *reductions, PyObject *outs)
{
    const bool are_many = PyTuple_Check(reduction);
    const Py_ssize_t n = are_many ? PyTuple_GET_SIZE(reduction) : 1;
    if (are_many && (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != n)) {
        PyErr_Format(PyExc_TypeError,
                     "'out' must be a tuple of %zd arrays, as op is one", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const one = are_many ? PyTuple_GET_ITEM(reduction, i) : reduction;
        PyObject *const place = are_many ? PyTuple_GET_ITEM(out, i) : out;
        if (PyList_Append(reductions, one) < 0 || PyList_Append(outs, place) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The same with `out` in place of the reduction. A new reference, or NULL. */
static PyObject *
replaced(PyObject *result, PyObject *out, bool has_many_ops)
{
    if (reduction_in(result, has_many_ops) == result) {
        return Py_NewRef(out);
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(result);
    PyObject *const all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
        PyTuple_SET_ITEM(all, i, Py_NewRef(i == 0 ? out : PyTuple_GET_ITEM(result, i)));
    }
    return all;
}

/* All that is written is known to fit before the first of it is written. */
static int
write_all(ps_state *state, PyObject *results, PyObject *outs, bool has_many_ops)
{
    PyObject *const from = PyList_New(0), *const to = PyList_New(0);
    int status = from != NULL && to != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(results); i++) {
        PyObject *const own = reduction_in(PyTuple_GET_ITEM(results, i), has_many_ops);
        status = pair_up(own, PyTuple_GET_ITEM(outs, i), from, to);
    }
    PyObject *const reductions = status == 0 ? PyList_AsTuple(from) : NULL;
    PyObject *const places = reductions != NULL ? PyList_AsTuple(to) : NULL;
    status = places == NULL
                     ? -1
                     : ps_write_results(state, places, &PyTuple_GET_ITEM(reductions, 0),
                                        PyTuple_GET_SIZE(reductions));
    Py_XDECREF(reductions);
    Py_XDECREF(places);
    Py_XDECREF(from);
    Py_XDECREF(to);
    return status;
}

PyObject *
ps_put_results(ps_state *state, PyObject *results, PyObject *outs, bool has_many_ops)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(results);
    PyObject *const all =
            write_all(state, results, outs, has_many_ops) == 0 ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
        PyObject *const one = replaced(PyTuple_GET_ITEM(results, i),
                                       PyTuple_GET_ITEM(outs, i), has_many_ops);
        if (one == NULL) {
            Py_DECREF(all);
            return NULL;
        }
        PyTuple_SET_ITEM(all, i, one);
    }
    return all;
}
