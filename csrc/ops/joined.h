/* A tuple of indices as one. */
#ifndef PS_OPS_JOINED_H
#define PS_OPS_JOINED_H

#include "ops/ops.h"

enum {
    /* Entries of a tuple up to which it becomes one, in 64 MiB, of wide numbers 128. */
    PS_JOINED_MOST = 16 << 20
};

/* Bytes that the steps of all axes are multiples of, the most there are, where the
 * tuple of indices of a call may become one, which numbers places so far apart: native
 * ones of an axis each, under "raise", of an address whose entry axes are merged to one
 * and whose steps are positive. 0: it may not. */
int64_t ps_common_step(const ps_address *address);

/* The one index, and the memory that it is in. */
typedef struct {
    ps_index index;
    int64_t stride;
    char *numbers; /* or NULL: there was no memory */
    int64_t nbytes;
} ps_joined;

/* Join the tuple, every index of which is checked as it is read, once; the numbers
 * count `step` bytes, which divide the common step, and are int64 (is_wide), or int32
 * where they fit. PS_INDEX_BAD: one index is out of bounds. Afterwards, whatever the
 * status, `joined` is closed. */
ps_status ps_join(const ps_address *address, int64_t step, bool is_wide, ps_run *run,
                  ps_joined *joined);

/* The address of the same entries with this index; both belong to the caller. */
ps_address ps_joined_address(const ps_address *address, ps_joined *joined);

void ps_close_joined(ps_joined *joined);

#endif
