/* A scatter whose target kernels can work on in place: native, aligned, in the type of
 * its accumulator; or any target for a pure move. */
#ifndef PS_OPS_DIRECT_H
#define PS_OPS_DIRECT_H

#include "ops/choose.h"
#include "ops/partition.h"

typedef struct {
    ps_ready_call ready;
    ps_choice choice;
    ps_partition partition; /* where chosen ... */
    ps_piece_room *rooms;   /* ... else one for each piece */
    int n_rooms;
} ps_direct;

/* Choose an algorithm and take all the memory that it needs. The traits of `call` have
 * been found; its row axes are merged; it stays referenced. To be closed whatever the
 * status. */
ps_status ps_open_direct(ps_scatter_call *call, enum ps_way way, ps_run *run,
                         ps_direct *direct);

/* Run it. Does not check the index beforehand: every list is checked as it is made. */
ps_status ps_run_direct(ps_direct *direct);

void ps_close_direct(ps_direct *direct);

#endif
