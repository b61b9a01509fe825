/* A tuple of indices as one. */
#ifndef PS_OPS_JOINED_H
#define PS_OPS_JOINED_H

#include "ops/ops.h"

/* May the tuple of indices of a call become one, which numbers all rows of the target?
 * Native ones of an axis each, under "raise", of an address whose entry axes are merged
 * to one; an entry goes to a row of `itemsize` bytes, and so do the steps of all axes,
 * which are positive. */
bool ps_can_join(const ps_address *address, int64_t itemsize);

/* The one index, and the memory that it is in. */
typedef struct {
    ps_index index;
    int64_t stride;
    char *numbers; /* or NULL: there was no memory */
    int64_t nbytes;
} ps_joined;

/* Join the tuple, every index of which is checked as it is read, once. PS_INDEX_BAD:
 * one is out of bounds. Afterwards, whatever the status, `joined` is closed. */
ps_status ps_join(const ps_address *address, int64_t itemsize, ps_run *run,
                  ps_joined *joined);

/* The address of the same entries with this index; both belong to the caller. */
ps_address ps_joined_address(const ps_address *address, ps_joined *joined);

void ps_close_joined(ps_joined *joined);

#endif
