/* Grouping: number the distinct keys of a list. Machinery without a public face. */
#ifndef PS_OPS_GROUP_H
#define PS_OPS_GROUP_H

#include "base/status.h"

/* Replace key[i], 0 <= key[i] < bound, by the rank of its value among the distinct
 * values; negative keys stay. distinct [n] receives those values in ascending order,
 * *n_distinct their number. Takes 16 bytes of work memory per key. */
ps_status ps_rank_keys(int64_t *key, int64_t n, int64_t bound, int64_t *distinct,
                       int64_t *n_distinct);

#endif
