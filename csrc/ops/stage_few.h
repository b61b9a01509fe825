/* Few elements of halves in place, without an op around them. */
#ifndef PS_OPS_STAGE_FEW_H
#define PS_OPS_STAGE_FEW_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* target[index[i]] = target[index[i]] op values[i] for all of a target of `type`, which
 * is one of the stored types; the values have this type, or are one
 * float32, a stride of 0 apart. At most PS_SHORT_ROW entries. False: an index is out of
 * bounds, or there is no memory, and nothing has been written. */
bool ps_update_few_halves(enum ps_op op, enum ps_dtype type, const ps_entries *entries);

#endif
