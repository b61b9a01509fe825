/* Runs of entries (contract in runs.h).
 *
 * Everything that may run Python code, copies and casts, happens while the arrays are
 * taken; ps_open_runs takes pointers, shapes and strides afterwards. Numbers of limits
 * and gather= are not looked at here: the op checks each where it uses it.
 */
#include "python/runs.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/limits.h"
#include "python/numbers.h"

void
ps_begin_runs(ps_runs *runs)
{
    runs->values = runs->starts = runs->stops = NULL;
    runs->gather = runs->weights = runs->mask = NULL;
    runs->axis = 0;
    runs->are_offsets = false;
    runs->call = (ps_segment_call){.gather = {.data = NULL}};
}

void
ps_close_runs(ps_runs *runs)
{
    Py_XDECREF(runs->values);
    Py_XDECREF(runs->starts);
    Py_XDECREF(runs->stops);
    Py_XDECREF(runs->gather);
    Py_XDECREF(runs->weights);
    Py_XDECREF(runs->mask);
}

/* Are the axes behind `axis` one run of items? Strides of no elements mean nothing. */
static bool
has_dense_rows(PyArrayObject *array, int axis)
{
    int64_t nbytes = PyArray_ITEMSIZE(array);
    if (PyArray_SIZE(array) == 0) {
        return true;
    }
    for (int i = PyArray_NDIM(array) - 1; i > axis; i--) {
        if (PyArray_DIM(array, i) != 1 && PyArray_STRIDE(array, i) != nbytes) {
            return false;
        }
        nbytes *= PyArray_DIM(array, i);
    }
    return true;
}

int
ps_take_rows(ps_state *state, ps_runs *runs, PyArrayObject *values,
             PyArray_Descr *descr)
{
    const enum ps_dtype from = ps_dtype_of(state, PyArray_DESCR(values));
    const enum ps_dtype to = ps_dtype_of(state, descr);
    if (from != to && !ps_can_convert(from, to)) {
        Py_INCREF(descr);
        runs->values = ps_cast_of(values, descr);
    }
    else if (has_dense_rows(values, runs->axis)) {
        runs->values = (PyArrayObject *)Py_NewRef((PyObject *)values);
    }
    else {
        runs->values = ps_copy_of(values, NPY_CORDER);
    }
    return runs->values != NULL ? 0 : -1;
}

/* Where runs end: `starts`, of offsets, from their second number on. */
static PyArrayObject *
stops_of(const ps_runs *runs)
{
    return runs->are_offsets ? runs->starts : runs->stops;
}

/* Are the limits still what they were taken for? 0, or -1 with an exception. */
static int
check_limits(const ps_runs *runs)
{
    const npy_intp n = runs->n_segments + runs->are_offsets;
    PyArrayObject *const arrays[2] = {runs->starts, stops_of(runs)};
    for (int i = 0; i < 2; i++) {
        if (ps_index_type_of(arrays[i]) < 0 || PyArray_NDIM(arrays[i]) != 1 ||
            PyArray_DIM(arrays[i], 0) != n || ps_is_swapped(arrays[i]) ||
            !ps_lies_in_base(arrays[i])) {
            return ps_raise_changed(runs->are_offsets ? "offsets"
                                    : i == 0          ? "starts"
                                                      : "stops");
        }
    }
    return 0;
}

int
ps_open_limits(const ps_runs *runs, ps_index *start, int64_t *start_stride,
               ps_index *stop, int64_t *stop_stride)
{
    if (check_limits(runs) < 0) {
        return -1;
    }
    *start = ps_line_index(runs->starts, 0, start_stride);
    *stop = ps_line_index(stops_of(runs), 0, stop_stride);
    if (runs->are_offsets) {
        stop->data += *stop_stride;
    }
    return 0;
}

/* Axes before the entries. Where one has no length there is nothing to fold, and one
 * place with rows of no elements is left, whose limits are still checked. */
static int
open_axes(ps_runs *runs)
{
    ps_segment_call *const call = &runs->call;
    PyArrayObject *const values = runs->values;
    const int axis = runs->axis, ndim = PyArray_NDIM(values);
    const int64_t *const shape = (const int64_t *)PyArray_DIMS(values);
    if (ndim <= axis || !has_dense_rows(values, axis)) {
        return ps_raise_changed("values");
    }
    if (!ps_count(ndim - axis - 1, shape + axis + 1, &call->width) ||
        !ps_count(axis, shape, &call->n_outer)) {
        PyErr_NoMemory();
        return -1;
    }
    call->outer_ndim = axis;
    call->outer_shape = runs->outer_shape;
    call->outer_strides = runs->outer_strides;
    for (int i = 0; i < axis; i++) {
        runs->outer_shape[i] = shape[i];
        runs->outer_strides[i] = PyArray_STRIDE(values, i);
    }
    if (call->n_outer == 0) {
        call->n_outer = 1;
        call->outer_ndim = 0;
        call->width = 0;
    }
    call->n_rows = shape[axis];
    call->row_stride = PyArray_STRIDE(values, axis);
    return 0;
}

/* The mask has an axis for the entries, or is contiguous in the shape of the values
 * with the entries in the place of `axis`. */
static int
open_mask(ps_runs *runs)
{
    ps_segment_call *const call = &runs->call;
    PyArrayObject *const mask = runs->mask;
    const bool is_fine = PyArray_NDIM(mask) > 1;
    const int axis = is_fine ? runs->axis : 0;
    if (!PyArray_ISBOOL(mask) || PyArray_NDIM(mask) <= axis ||
        PyArray_DIM(mask, axis) != call->n_entries ||
        (is_fine &&
         (!PyArray_IS_C_CONTIGUOUS(mask) ||
          PyArray_SIZE(mask) != call->n_outer * call->n_entries * call->width))) {
        return ps_raise_changed("where");
    }
    call->mask = PyArray_BYTES(mask);
    call->mask_entry = is_fine ? call->width : PyArray_STRIDE(mask, 0);
    call->mask_element = is_fine;
    call->mask_outer = is_fine ? call->width * call->n_entries : 0;
    return 0;
}

/* What stands beside the rows: gather=, weights, mask. */
static int
open_entries(ps_runs *runs)
{
    ps_segment_call *const call = &runs->call;
    call->n_entries = call->n_rows;
    if (runs->gather != NULL) {
        if (ps_index_type_of(runs->gather) < 0 || PyArray_NDIM(runs->gather) != 1 ||
            ps_is_swapped(runs->gather) || !ps_lies_in_base(runs->gather)) {
            return ps_raise_changed("gather");
        }
        call->gather = ps_line_index(runs->gather, call->n_rows, &runs->gather_stride);
        call->n_entries = PyArray_DIM(runs->gather, 0);
    }
    if (runs->weights != NULL) {
        if (PyArray_NDIM(runs->weights) != 1 ||
            PyArray_DIM(runs->weights, 0) != call->n_entries ||
            !ps_lies_in_base(runs->weights)) {
            return ps_raise_changed("weights");
        }
        call->weights = PyArray_BYTES(runs->weights);
    }
    return runs->mask != NULL ? open_mask(runs) : 0;
}

int
ps_open_runs(ps_state *state, ps_runs *runs)
{
    ps_segment_call *const call = &runs->call;
    PyArrayObject *const values = runs->values;
    if (ps_storage_of(state, values, &call->dtype) != PS_STORED_NUMBERS) {
        return ps_raise_changed("values");
    }
    call->values = PyArray_BYTES(values);
    call->itemsize = PyArray_ITEMSIZE(values);
    call->swapped = ps_is_swapped(values);
    call->aligned = PyArray_ISALIGNED(values);
    call->empty = runs->empty;
    call->n_segments = runs->n_segments;
    return open_axes(runs) < 0 ||
                           ps_open_limits(runs, &call->start, &runs->start_stride,
                                          &call->stop, &runs->stop_stride) < 0 ||
                           open_entries(runs) < 0
                   ? -1
                   : 0;
}

/* Limits that are read here, between handlers of signals. */
typedef struct {
    const ps_runs *runs;
    PyArrayObject *stops;
    const char *start_data, *stop_data;
} open_ends;

/* As they are now, which is what they were taken for. 0 or -1. */
static int
open_for_reading(const ps_runs *runs, open_ends *ends)
{
    PyArrayObject *const stops = stops_of(runs);
    *ends = (open_ends){.runs = runs,
                        .stops = stops,
                        .start_data = PyArray_BYTES(runs->starts),
                        .stop_data = PyArray_BYTES(stops)};
    return check_limits(runs);
}

/* A handler may raise, or take the limits away. */
static int
hear_beside(const open_ends *ends, npy_intp turn)
{
    if (!ps_hears(turn)) {
        return 0;
    }
    if (ps_hear(turn) < 0 || check_limits(ends->runs) < 0) {
        return -1;
    }
    return PyArray_BYTES(ends->runs->starts) == ends->start_data &&
                           PyArray_BYTES(ends->stops) == ends->stop_data
                   ? 0
                   : ps_raise_changed("offsets");
}

/* Copies of n limits from `first` on; how many do not lie within [0, most]. */
static int64_t
copy_limits(PyArrayObject *limits, int64_t first, int64_t n, int64_t most, int64_t *to)
{
    const int64_t stride = PyArray_STRIDE(limits, 0);
    return ps_kernels()->rows[ps_index_type_of(limits)](
            PS_MODE_DROP, to, PyArray_BYTES(limits) + first * stride, n, stride,
            most + 1);
}

int
ps_raise_runs(ps_state *state, const ps_runs *runs, int64_t n_entries)
{
    return check_limits(runs) < 0 ? -1 : ps_raise_limits(state, runs, n_entries);
}

int
ps_measure_runs(ps_state *state, const ps_runs *runs, int64_t n_entries, int64_t *count)
{
    enum {
        BLOCK = 256
    };
    int64_t start[BLOCK], n_bad = 0;
    open_ends ends;
    if (open_for_reading(runs, &ends) < 0) {
        return -1;
    }
    for (int64_t first = 0; first < runs->n_segments; first += BLOCK) {
        const int64_t n = ps_min(BLOCK, runs->n_segments - first);
        n_bad += copy_limits(runs->starts, first, n, n_entries, start);
        n_bad += copy_limits(ends.stops, first + runs->are_offsets, n, n_entries,
                             count + first);
        for (int64_t i = 0; i < n; i++) {
            count[first + i] -= start[i];
            n_bad += count[first + i] < 0;
        }
        if (hear_beside(&ends, first) < 0) {
            return -1;
        }
    }
    return n_bad == 0 ? 0 : ps_raise_runs(state, runs, n_entries);
}

int
ps_list_ends(ps_state *state, const ps_runs *runs, int64_t n_entries, bool is_first,
             int64_t *segment, int64_t *entry)
{
    const int64_t n = runs->n_segments;
    open_ends ends;
    if (open_for_reading(runs, &ends) < 0) {
        return -1;
    }
    int64_t n_bad = copy_limits(runs->starts, 0, n, n_entries, entry);
    n_bad += copy_limits(ends.stops, runs->are_offsets, n, n_entries, segment);
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = entry[s], stop = segment[s];
        n_bad += start > stop;
        if (ps_hear(s) < 0) {
            return -1;
        }
        segment[s] = start < stop ? s : -1;
        entry[s] = start >= stop ? 0 : is_first ? start : stop - 1;
    }
    return n_bad == 0 ? 0 : ps_raise_runs(state, runs, n_entries);
}

/* The sum of n counts; -1 with an exception where it does not fit in 64 bits. */
static npy_intp
sum_of(const int64_t *count, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(sum, count[i], &sum)) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return sum;
}

int
ps_list_entries(ps_state *state, const ps_runs *runs, int64_t n_entries,
                PyArrayObject **owner, PyArrayObject **entry)
{
    npy_intp n = runs->n_segments, at = 0;
    int64_t start = 0;
    open_ends ends;
    PyArrayObject *const counts = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    const int64_t *const count = counts != NULL ? PyArray_DATA(counts) : NULL;
    int status = counts != NULL
                         ? ps_measure_runs(state, runs, n_entries, PyArray_DATA(counts))
                         : -1;
    npy_intp total = status == 0 ? sum_of(count, n) : -1;
    if (total >= 0) {
        *owner = (PyArrayObject *)PyArray_SimpleNew(1, &total, NPY_INT64);
    }
    if (total >= 0 && entry != NULL) {
        *entry = (PyArrayObject *)PyArray_SimpleNew(1, &total, NPY_INT64);
    }
    status = PyErr_Occurred() ? -1 : open_for_reading(runs, &ends);
    int64_t *const own = status == 0 ? PyArray_DATA(*owner) : NULL;
    int64_t *const number = status == 0 && entry != NULL ? PyArray_DATA(*entry) : NULL;
    for (int64_t s = 0; s < n && status == 0; s++) {
        if (number != NULL) {
            copy_limits(runs->starts, s, 1, n_entries, &start);
        }
        for (int64_t i = 0; i < count[s]; i++) {
            own[at + i] = s;
        }
        for (int64_t i = 0; number != NULL && i < count[s]; i++) {
            number[at + i] = start + i;
        }
        at += count[s];
        status = hear_beside(&ends, s);
    }
    Py_XDECREF((PyObject *)counts);
    return status;
}

/* Rows of gather= that do not exist are named before limits are. */
static int
raise_bad(ps_state *state, const ps_runs *runs)
{
    const ps_segment_call *const call = &runs->call;
    if (runs->gather != NULL) {
        PyArrayObject *const mask =
                runs->mask != NULL && PyArray_NDIM(runs->mask) == 1 ? runs->mask : NULL;
        const ps_status status = ps_check_numbers(state, runs->gather, mask,
                                                  PS_MODE_RAISE, call->n_rows);
        if (ps_raise(state, status, "gather") < 0) {
            return -1;
        }
    }
    return ps_raise_runs(state, runs, call->n_entries);
}

int
ps_run_runs(ps_state *state, ps_runs *runs, PyArrayObject *out)
{
    ps_segment_call *const call = &runs->call;
    int64_t nbytes, outputs;
    if (!ps_multiply(call->n_segments, call->n_outer, &outputs) ||
        PyArray_SIZE(out) != outputs * call->width) {
        return ps_raise_changed("values");
    }
    call->out = PyArray_BYTES(out);
    if (__builtin_mul_overflow(call->width * call->itemsize + 8,
                               call->n_entries + call->n_segments, &nbytes) ||
        __builtin_mul_overflow(nbytes, call->n_outer, &nbytes)) {
        nbytes = INT64_MAX;
    }
    const ps_status status = ps_run_op(state, ps_segment, call, nbytes);
    return status.code == PS_INDEX_BAD ? raise_bad(state, runs)
                                       : ps_raise(state, status, "offsets");
}
