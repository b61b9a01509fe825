/* Runs of entries along an axis, from Python arguments to a call of the segment op:
 * offsets, starts and stops, or lengths; rows of the values themselves or those that
 * gather= names; weights and masks. */
#ifndef PS_PYTHON_RUNS_H
#define PS_PYTHON_RUNS_H

#include "python/core.h"

typedef struct {
    PyArrayObject *values, *starts, *stops, *gather, *weights, *mask; /* owned */
    int axis; /* of the values: the entries' */
    int64_t n_segments;
    bool are_offsets; /* `starts` is n_segments + 1 offsets; there are no stops */
    int64_t start_stride, stop_stride, gather_stride;
    int64_t outer_shape[PS_MAX_DIMS], outer_strides[PS_MAX_DIMS];
    _Alignas(16) char empty[16];
    ps_segment_call call;
} ps_runs;

/* Runs of nothing yet. */
void ps_begin_runs(ps_runs *runs);

/* The rows: the array itself, or a copy whose axes behind `axis` are contiguous. One
 * that kernels cannot cast to `descr` is cast by NumPy. 0 or -1. */
int ps_take_rows(ps_state *state, ps_runs *runs, PyArrayObject *values,
                 PyArray_Descr *descr);

/* Are the limits still what they were taken for: as many integers along one axis, in
 * native order, in memory that is there? Then both as indices. 0, or -1 with an
 * exception. */
int ps_open_limits(const ps_runs *runs, ps_index *start, int64_t *start_stride,
                   ps_index *stop, int64_t *stop_stride);

/* How many entries each run has. 0, or -1 with an exception, as for each of these. */
int ps_measure_runs(ps_state *state, const ps_runs *runs, int64_t n_entries,
                    int64_t *count);

/* The first or last entry of each run in entry[], its number in segment[], -1 where it
 * has none, and then entry 0. */
int ps_list_ends(ps_state *state, const ps_runs *runs, int64_t n_entries, bool is_first,
                 int64_t *segment, int64_t *entry);

/* The entries of all runs, one run after the other, as new arrays of int64: the run
 * that each lies in, and its number, which is not asked for of offsets: entry NULL. */
int ps_list_entries(ps_state *state, const ps_runs *runs, int64_t n_entries,
                    PyArrayObject **owner, PyArrayObject **entry);

/* Fill the call from the arrays as they are now; the last step before the op. op and
 * type of the call have been set, and so is its `empty`. 0 or -1. */
int ps_open_runs(ps_state *state, ps_runs *runs);

/* Run it into `out`, (axes before, n_segments, axes behind) of the call's type. */
int ps_run_runs(ps_state *state, ps_runs *runs, PyArrayObject *out);

/* After an op that found a limit or a row out of bounds: the error that says which. -1.
 */
int ps_raise_runs(ps_state *state, const ps_runs *runs, int64_t n_entries);

void ps_close_runs(ps_runs *runs);

#endif
