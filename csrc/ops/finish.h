/* From what folds leave to what a caller asked for: means, empty groups, casts. */
#ifndef PS_OPS_FINISH_H
#define PS_OPS_FINISH_H

#include "ops/ops.h"

/* Sums [n] of `type`, as means are summed, become means of `count` > 0 values. Integers
 * are floored, times cut towards zero as np.mean does. */
void ps_divide_sums(enum ps_dtype type, char *sums, int64_t n, int64_t count);

#endif
