/* The binding of what gives each entry something back: softmax, running forms,
 * expansion. Their arguments take the steps of segment_reduce. */
#include "python/py_segment.h"

#include <string.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/limits.h"
#include "python/numbers.h"
#include "python/py_gather.h"
#include "python/py_plan.h"
#include "python/request.h"
#include "python/scan.h"
#include "python/segment_call.h"
#include "python/softmax.h"

/* ---- softmax ---- */

static PyObject *
softmax(PyObject *module, const char *name, bool is_log, PyObject *const *args,
        Py_ssize_t n_args, PyObject *keywords)
{
    static const enum slot places[] = {VALUES,  IDS,  NUM_SEGMENTS, OFFSETS,
                                       LENGTHS, AXIS, BATCH_DIMS};
    const ps_signature signature = {
            name,
            7,
            3,
            1,
            {PS_NAME_values, PS_NAME_ids, PS_NAME_num_segments, PS_NAME_offsets,
             PS_NAME_lengths, PS_NAME_axis, PS_NAME_batch_dims}};
    PyObject *given[PS_NUM_NAMES], *slot[N_SLOTS] = {NULL}, *result = NULL;
    ps_state *const state = ps_get_state(module);
    ps_segment_work work;
    if (ps_parse(state, &signature, args, n_args, keywords, given) < 0) {
        return NULL;
    }
    for (int i = 0; i < signature.n_names; i++) {
        slot[places[i]] = given[i];
    }
    ps_begin_segments(&work, state, slot);
    ps_reduction form = *ps_reduction_named("logsumexp");
    form.name = is_log ? "log_softmax" : "softmax";
    work.reduce.reduction = &form;
    if (ps_take_segments(&work) == 0 && ps_place_segments(&work) == 0 &&
        ps_run_softmax(&work.reduce, is_log) == 0) {
        result = Py_NewRef((PyObject *)work.reduce.sums);
    }
    ps_close_segments(&work);
    return result;
}

PyObject *
ps_py_segment_softmax(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *keywords)
{
    return softmax(module, "segment_softmax", false, args, n_args, keywords);
}

PyObject *
ps_py_segment_log_softmax(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords)
{
    return softmax(module, "segment_log_softmax", true, args, n_args, keywords);
}

/* ---- running forms ---- */

/* The row of an op that has a running form, as such. 0 or -1. */
static int
take_running_form(const ps_state *state, PyObject *op, ps_reduction *form)
{
    const ps_reduction *const row = ps_find_reduction(state, op);
    if (row == NULL) {
        return -1;
    }
    if (row->of != PS_FOLD_VALUES || row->divides) {
        PyErr_Format(
                PyExc_ValueError,
                "op '%s' has no running form; choose from add, mul, min, max, fmin, "
                "fmax, and, or, xor",
                row->name);
        return -1;
    }
    *form = *row;
    form->of = PS_FOLD_RUNNING;
    return 0;
}

/* IndexError where a plan counts from the end: its numbers are no ids. */
static int
check_plan(const ps_state *state, PyObject *ids)
{
    const ps_plan *const plan = ids != NULL ? ps_plan_of(state, ids) : NULL;
    if (plan == NULL || !plan->has_negative || plan->mode != PS_MODE_RAISE) {
        return 0;
    }
    PyErr_SetString(PyExc_IndexError,
                    "the plan holds negative indices, which are no segment ids");
    return -1;
}

/* given: values, ids, offsets, lengths, axis, exclusive, reverse, dtype, op. */
static PyObject *
scan(ps_state *state, PyObject **given)
{
    PyObject *slot[N_SLOTS] = {NULL}, *result = NULL;
    bool is_exclusive = false, is_backward = false;
    ps_reduction form;
    ps_segment_work work;
    slot[VALUES] = given[0];
    slot[IDS] = given[1];
    slot[OFFSETS] = given[2];
    slot[LENGTHS] = given[3];
    slot[AXIS] = given[4];
    slot[DTYPE] = given[7];
    ps_begin_segments(&work, state, slot);
    work.reduce.reduction = &form;
    if (take_running_form(state, given[8], &form) == 0 &&
        ps_to_bool(given[5], "exclusive", &is_exclusive) == 0 &&
        ps_to_bool(given[6], "reverse", &is_backward) == 0 &&
        check_plan(state, given[1]) == 0 && ps_take_segments(&work) == 0 &&
        (work.reduce.ids != NULL || ps_place_segments(&work) == 0) &&
        ps_run_scan(&work.reduce, is_exclusive, is_backward) == 0) {
        result = Py_NewRef((PyObject *)work.reduce.sums);
    }
    ps_close_segments(&work);
    return result;
}

#define SCAN_NAMES                                                               \
    PS_NAME_values, PS_NAME_ids, PS_NAME_offsets, PS_NAME_lengths, PS_NAME_axis, \
            PS_NAME_exclusive, PS_NAME_reverse, PS_NAME_dtype, PS_NAME_op

PyObject *
ps_py_segment_scan(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    static const ps_signature signature = {"segment_scan", 9, 2, 1, {SCAN_NAMES}};
    PyObject *given[PS_NUM_NAMES];
    ps_state *const state = ps_get_state(module);
    return ps_parse(state, &signature, args, n_args, keywords, given) < 0
                   ? NULL
                   : scan(state, given);
}

PyObject *
ps_py_segment_cumsum(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *keywords)
{
    static const ps_signature signature = {"segment_cumsum", 8, 2, 1, {SCAN_NAMES}};
    PyObject *given[PS_NUM_NAMES];
    ps_state *const state = ps_get_state(module);
    if (ps_parse(state, &signature, args, n_args, keywords, given) < 0) {
        return NULL;
    }
    given[8] = NULL;
    return scan(state, given);
}

/* ---- expansion ---- */

/* Arguments that became arrays: g, and ids or limits of runs. */
typedef struct {
    ps_state *state;
    PyArrayObject *g, *ids; /* owned, or NULL */
    ps_runs runs;
    bool from_lengths;
    int axis;
} expansion;

/* Everything that may run Python code. */
static int
take_arguments(expansion *work, PyObject *const *given)
{
    ps_state *const state = work->state;
    ps_runs *const runs = &work->runs;
    PyObject *const ids = given[1], *const limits =
                                            work->from_lengths ? given[3] : given[2];
    work->g = ps_as_array(state, given[0], "g");
    if (work->g == NULL || check_plan(state, ids != Py_None ? ids : NULL) < 0) {
        return -1;
    }
    if (ids != NULL && ids != Py_None) {
        work->ids = ps_plan_of(state, ids) != NULL ? ps_plan_rows(ids)
                                                   : ps_as_index(state, ids, "ids");
    }
    else {
        *(work->from_lengths ? &runs->stops : &runs->starts) =
                ps_as_limits(state, limits, work->from_lengths ? "lengths" : "offsets");
    }
    work->axis = 0;
    if (PyErr_Occurred() || ps_to_int(given[4], "axis", &work->axis) < 0 ||
        ps_hold_view(&work->ids) < 0 || ps_hold_view(&runs->starts) < 0 ||
        ps_hold_view(&runs->stops) < 0) {
        return -1;
    }
    work->axis = ps_check_axis(state, work->axis, PyArray_NDIM(work->g));
    return work->axis < 0 ? -1 : 0;
}

/* The segment of each entry of runs. */
static int
own_entries(expansion *work)
{
    ps_runs *const runs = &work->runs;
    const npy_intp size = PyArray_DIM(work->g, work->axis);
    int64_t first;
    npy_intp n;
    PyArrayObject *const limits = work->from_lengths ? runs->stops : runs->starts;
    if (ps_index_type_of(limits) < 0 || PyArray_NDIM(limits) != 1) {
        return ps_raise_changed("offsets");
    }
    if (ps_count_entries(work->state, runs, work->from_lengths, &n) < 0) {
        return -1;
    }
    if (!ps_read_limit(runs->starts, 0, &first) || first != 0) {
        return ps_raise_limits(work->state, runs, -1);
    }
    runs->n_segments = PyArray_DIM(runs->starts, 0) - 1;
    if (runs->n_segments != size) {
        PyErr_Format(PyExc_ValueError,
                     "%s names %lld segments; g has %zd along axis %d",
                     work->from_lengths ? "lengths" : "offsets",
                     (long long)runs->n_segments, size, work->axis);
        return -1;
    }
    return ps_list_entries(work->state, runs, n, &work->ids, NULL);
}

static PyObject *
expand(expansion *work)
{
    if (work->ids == NULL && own_entries(work) < 0) {
        return NULL;
    }
    const ps_status status = ps_check_numbers(work->state, work->ids, NULL, PS_MODE_IDS,
                                              PyArray_DIM(work->g, work->axis));
    return ps_raise(work->state, status, "ids") < 0
                   ? NULL
                   : (PyObject *)ps_gather_rows(work->state, work->g, work->ids,
                                                work->axis, 0, NULL, PS_MODE_RAISE);
}

PyObject *
ps_py_segment_expand(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *keywords)
{
    static const ps_signature signature = {
            "segment_expand",
            5,
            2,
            1,
            {PS_NAME_g, PS_NAME_ids, PS_NAME_offsets, PS_NAME_lengths, PS_NAME_axis}};
    PyObject *given[PS_NUM_NAMES], *result = NULL;
    expansion work = {.state = ps_get_state(module)};
    if (ps_parse(work.state, &signature, args, n_args, keywords, given) < 0) {
        return NULL;
    }
    int ways = 0;
    for (int i = 1; i < 4; i++) {
        ways += given[i] != NULL && given[i] != Py_None;
    }
    if (ways != 1) {
        PyErr_SetString(PyExc_TypeError,
                        "exactly one of ids, offsets, lengths is needed");
        return NULL;
    }
    work.from_lengths = given[3] != NULL && given[3] != Py_None;
    ps_begin_runs(&work.runs);
    if (take_arguments(&work, given) == 0) {
        result = expand(&work);
    }
    Py_XDECREF((PyObject *)work.g);
    Py_XDECREF((PyObject *)work.ids);
    ps_close_runs(&work.runs);
    return result;
}
