/* Scatter into a small target by way of a copy. */
#ifndef PS_OPS_COPIED_H
#define PS_OPS_COPIED_H

#include "ops/ops.h"

/* A call of elements on an address that is plain, as ps_choose_way has seen.
 * PS_INDEX_BAD: an index is out of bounds, and nothing has been written. */
ps_status ps_run_copied(const ps_scatter_call *call, ps_run *run);

/* call->target.is_plain, of a private target whose address is plain. */
void ps_look_for_minus(ps_scatter_call *call);

#endif
