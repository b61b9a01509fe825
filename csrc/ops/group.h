/* Grouping: number the distinct keys of a list. Machinery without a public face. */
#ifndef PS_OPS_GROUP_H
#define PS_OPS_GROUP_H

#include "base/status.h"

/* Replace key[i], 0 <= key[i] < bound, by the rank of its value among the distinct
 * values; negative keys become -1. distinct [n] is work memory, then holds those values
 * in ascending order, *n_distinct of them. */
ps_status ps_rank_keys(int64_t *key, int64_t n, int64_t bound, int64_t *distinct,
                       int64_t *n_distinct);

#endif
