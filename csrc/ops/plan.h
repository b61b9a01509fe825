/* A plan: an index that has been checked, resolved and sorted once, for many calls.
 *
 * Immutable after it was built, so that any number of threads may read it. Its arrays
 * hold int32 where sizes allow ("narrow"), else int64.
 */
#ifndef PS_OPS_PLAN_H
#define PS_OPS_PLAN_H

#include "kernels/kernels.h"
#include "ops/ops.h"

typedef struct ps_plan {
    int64_t n;    /* entries */
    int64_t size; /* of the axis */
    enum ps_mode mode;
    bool is_wide;      /* arrays of int64 */
    bool has_negative; /* before negatives were resolved; the first of them was ... */
    int64_t first_negative; /* ... this entry, -1: not known */
    bool is_sorted;   /* entries that take part name rows in ascending order ... */
    bool is_unique;   /* ... and no row twice */
    int64_t n_kept;   /* entries that take part: all but for mode "drop" */
    int64_t min, max; /* of the rows that are named; 0 and -1 where there are none */
    int64_t n_named;  /* rows that are named */
    int64_t n_groups;
    int64_t largest; /* entries of the largest group */
    void *row;       /* [n]: the row of each entry, -1: none */
    void *order;     /* [n_kept]: entries by row, stably; NULL: they are in order */
    void *start;     /* [n_groups + 1]: where each group begins among these */
    void *touched;   /* [n_groups]: the row of each group; NULL: its own number */
} ps_plan;

/* Bytes of the plan's arrays. */
int64_t ps_plan_nbytes(const ps_plan *plan);

/* Build from an address of one index with size and mode; size, mode and n of *plan are
 * filled from it. The status is that of the plain call. Whatever it is, the plan has to
 * be closed. */
typedef struct {
    ps_address address;
    ps_plan *plan;
} ps_plan_build;

ps_status ps_build_plan(void *build, ps_run *run); /* a ps_plan_build */

void ps_close_plan(ps_plan *plan);

/* The group that a position belongs to, 0 <= position < n_kept. */
int64_t ps_plan_group(const ps_plan *plan, int64_t position);

/* The start of the first group from `position` on: where work may be cut. */
int64_t ps_plan_cut(const ps_plan *plan, int64_t position);

/* What kernels see of positions [first, last); the plan is narrow, first < last. */
ps_groups ps_plan_groups(const ps_plan *plan, int64_t first, int64_t last,
                         int64_t step);

#endif
