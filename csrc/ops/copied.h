/* Scatter into a small target by way of a copy. */
#ifndef PS_OPS_COPIED_H
#define PS_OPS_COPIED_H

#include "ops/ops.h"

/* A call of elements on an address that is plain, as ps_choose_way has seen.
 * PS_INDEX_BAD: an index is out of bounds, and nothing has been written. */
ps_status ps_run_copied(const ps_scatter_call *call, ps_run *run);

/* call->target.is_plain, of a private target whose address is plain. */
void ps_look_for_minus(ps_scatter_call *call);

/* to[] becomes from[], of a target. Among these are elements that the call does not
 * name, and another thread may be writing those: they are compared with this copy and
 * then left alone, whatever was read, so the thread sanitizer is told to let it pass.
 */
void ps_copy_shared(char *restrict to, const char *restrict from, int64_t nbytes);

#endif
