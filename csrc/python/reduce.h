/* A segment call whose form is known: its folds, its counts, its finishing pass. */
#ifndef PS_PYTHON_REDUCE_H
#define PS_PYTHON_REDUCE_H

#include "python/reductions.h"
#include "python/runs.h"

typedef struct ps_reduce {
    ps_state *state;
    struct ps_reduce *before; /* a call for another op on the same, or NULL */
    bool is_followed;         /* there is one for an op that adds, too; for it */
    PyArrayObject *plain;     /* owned: the sums as the fold has left them, or NULL */
    const ps_reduction *reduction;
    enum ps_mode mode;
    bool compensated, returns_counts, skips_missing, wants_places;
    double ddof;
    PyArrayObject *values, *ids; /* owned; ids NULL: by runs */
    PyObject *plan;              /* borrowed: whose rows ids are, or NULL */
    PyArrayObject *gather;  /* owned: rows of the values that are entries, or NULL */
    PyArrayObject *mask;    /* owned: which take part, or NULL ... */
    bool is_fine;           /* ... of elements, not of entries */
    PyArrayObject *named;   /* owned: entries whose numbers are looked at, or NULL */
    PyArrayObject *weights; /* owned: of entries, contiguous, of the sums' type */
    bool are_weighed;       /* the values are products with these already */
    PyArrayObject *levels;  /* owned: float64, of quantiles; or NULL */
    bool is_foreign;        /* values that kernels do not know, only NumPy moves */
    int batch_dims, axis, n_own; /* entries are axes [axis, axis + n_own) */
    int64_t size;                /* segments of a batch */
    int64_t *offsets;            /* PyMem: bytes from the values to each entry's row */
    ps_fold_types types;
    bool starts, fills;
    _Alignas(16) char start[16];  /* what every segment starts from */
    _Alignas(16) char fill[16];   /* of the result's type: empty segments */
    PyArrayObject *sums, *counts; /* owned, or NULL; sums become the result */
    PyArrayObject *places;        /* owned: which entries extremes are, or NULL */
    PyArrayObject *entry;       /* owned: numbers of entries that runs list, or NULL */
    PyArrayObject *weight_sums; /* owned: what means are divided by, or NULL */
    ps_runs runs; /* last: it is not cleared; owns limits, rows and masks of runs */
} ps_reduce;

/* A call with nothing in it. */
void ps_begin_reduce(ps_reduce *work, ps_state *state);

/* Does it begin with the sums of the values? */
bool ps_adds_values(const ps_reduction *reduction);

/* Results in `sums`, counts where they are asked for or needed. 0 or -1. */
int ps_run_reduce(ps_reduce *work);

void ps_close_reduce(ps_reduce *work);

#endif
