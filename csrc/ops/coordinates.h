/* Rows or columns of many contributions, broadcast to a common shape. */
#ifndef PS_OPS_COORDINATES_H
#define PS_OPS_COORDINATES_H

#include "ops/ops.h"

/* The address has one index of step 1, its own shape and mode PS_MODE_IDS. Its numbers
 * are broadcast to `shape`, along whose axes they are `step` numbers apart. */
typedef struct {
    ps_address address;
    int ndim;
    const int64_t *shape, *step;
    void *number; /* room for a copy, which numbers that are broadcast need; or NULL */
    bool is_wide; /* the copy holds int64 */
} ps_coordinates;

/* Fill the copy, if there is room for one. PS_INDEX_BAD names the position in the
 * index's own order. */
ps_status ps_copy_coordinates(ps_coordinates *part, ps_run *run);

/* number[0 .. n) = those of contributions [first, first + n) in C order of the common
 * shape, checked in the copy: that of ps_copy_coordinates or number itself. */
ps_status ps_read_coordinates(const ps_coordinates *part, int64_t first, int64_t n,
                              int64_t *number);

#endif
