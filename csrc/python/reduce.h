/* A segment call whose form is known: its folds, its counts, its finishing pass. */
#ifndef PS_PYTHON_REDUCE_H
#define PS_PYTHON_REDUCE_H

#include "python/reductions.h"
#include "python/runs.h"

typedef struct {
    ps_state *state;
    const ps_reduction *reduction;
    enum ps_mode mode;
    bool compensated, returns_counts;
    PyArrayObject *values, *ids, *mask; /* owned; ids NULL: by runs */
    bool is_fine;                       /* the mask is one of elements */
    int batch_dims, axis, n_own;        /* entries are axes [axis, axis + n_own) */
    int64_t size;                       /* segments of a batch */
    ps_fold_types types;
    bool starts, fills;
    _Alignas(16) char start[16];  /* what every segment starts from */
    _Alignas(16) char fill[16];   /* of the result's type: empty segments */
    PyArrayObject *sums, *counts; /* owned, or NULL; sums become the result */
    ps_runs runs; /* last: it is not cleared; owns limits, rows and masks of runs */
} ps_reduce;

/* A call with nothing in it. */
void ps_begin_reduce(ps_reduce *work, ps_state *state);

/* Results in `sums`, counts where they are asked for or needed. 1; 0 where the result
 * would be too large, or a limit of the runs is out of bounds; or -1. */
int ps_run_reduce(ps_reduce *work);

void ps_close_reduce(ps_reduce *work);

#endif
