/* Grouping: sort keys with their places, number the distinct ones. Machinery without a
 * public face. */
#ifndef PS_OPS_GROUP_H
#define PS_OPS_GROUP_H

#include "ops/ops.h"

/* A number and its place in a list. */
typedef struct {
    int64_t key, place;
} ps_keyed;

/* Sort n pairs, 0 <= key <= max, stably by key. `room` is as long; the result is in one
 * of the two, unless the run has failed. */
const ps_keyed *ps_sort_keyed(ps_run *run, ps_keyed *pairs, ps_keyed *room, int64_t n,
                              int64_t max);

/* Replace key[i], 0 <= key[i] < bound, by the rank of its value among the distinct
 * values; negative keys become -1. distinct [n] is work memory, then holds those values
 * in ascending order, *n_distinct of them. */
ps_status ps_rank_keys(int64_t *key, int64_t n, int64_t bound, int64_t *distinct,
                       int64_t *n_distinct, ps_run *run);

#endif
