/* Which algorithm for which scatter: one decision, from sizes and a look at the index.
 * Every answer gives the same bits. */
#ifndef PS_OPS_CHOOSE_H
#define PS_OPS_CHOOSE_H

#include "ops/pieces.h"

/* Threads of one call at most. */
enum {
    PS_MAX_PIECES = 64
};

typedef struct {
    enum ps_algorithm algorithm;
    int n_pieces;
    ps_piece pieces[PS_MAX_PIECES];
    ps_bins bins; /* of a partition */
} ps_choice;

/* Fills *choice and the uses_runs and ahead of `ready`. Never fails: an index that
 * cannot be looked at is worked on by the straight loop, which reports it. */
void ps_choose(ps_ready_call *ready, ps_choice *choice);

#endif
