/* How a call runs: the one decision, in two steps. What follows from a call once and
 * for all (traits) and the way that it takes as a whole; then, for a pass over its
 * entries, the algorithm and its pieces, from sizes and a look at the index. Nothing
 * here changes what it is asked about, and every answer gives the same bits. */
#ifndef PS_OPS_CHOOSE_H
#define PS_OPS_CHOOSE_H

#include "ops/pieces.h"

ps_traits ps_traits_of(const ps_scatter_call *call);

/* The way of a call whose traits have been found and whose entry axes are merged. */
enum ps_way {
    PS_WAY_NONE,    /* nothing moves: the index alone is checked */
    PS_WAY_SHORT,   /* few elements: one kernel call, at most a list on the stack */
    PS_WAY_JOINED,  /* as PRIVATE, by an index of our own, checked as it was made */
    PS_WAY_LIST,    /* one list of the whole index, complete before it is applied */
    PS_WAY_COPIED,  /* as PRIVATE, on a copy of the target, and what changed is written
                     */
    PS_WAY_PRIVATE, /* indices are checked as they are used: nobody sees the target */
    PS_WAY_CHECKED  /* every index is checked before the first is used */
};

/* row_count: elements of a row. */
enum ps_way ps_choose_way(const ps_scatter_call *call, int64_t row_count);

/* Does every element of a target whose address is plain meet so many values that to
 * look at the target costs little? */
bool ps_meets_many(const ps_scatter_call *call);

/* Threads of one call at most. */
enum {
    PS_MAX_PIECES = 64
};

typedef struct {
    enum ps_algorithm algorithm;
    ps_manner manner;
    int n_pieces;
    ps_piece pieces[PS_MAX_PIECES];
    ps_bins bins; /* of a partition */
} ps_choice;

/* Fills *choice for a pass of a call that goes a way other than NONE and SHORT. Never
 * fails: an index that cannot be looked at is worked on by the straight loop, which
 * reports it. */
void ps_choose(const ps_ready_call *ready, enum ps_way way, ps_choice *choice);

#endif
