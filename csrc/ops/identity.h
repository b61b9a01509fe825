/* The neutral value of a reduction: what a destination starts from when its old value
 * takes no part. */
#ifndef PS_OPS_IDENTITY_H
#define PS_OPS_IDENTITY_H

#include "base/tables.h"

/* Write the identity of `op` for `type` to `element`. add has -0.0, since only that
 * leaves every first arrival as it is; fmin and fmax have NaN or NaT, which loses to
 * all. */
void ps_write_identity(enum ps_op op, enum ps_dtype type, void *element);

/* What a segment without entries is: the identity, but +0 for sums, NaT for times,
 * which have no least, and for fmin and fmax that of min and max, since NaN says that a
 * segment holds nothing else. */
void ps_write_empty(enum ps_op op, enum ps_dtype type, void *element);

#endif
