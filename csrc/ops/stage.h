/* Scatter through an accumulator of its own: wider types, means, compensated sums,
 * targets that kernels cannot work on in place. */
#ifndef PS_OPS_STAGE_H
#define PS_OPS_STAGE_H

#include "ops/ops.h"

/* Does the call need an accumulator apart from its target? */
bool ps_needs_stage(const ps_scatter_call *call);

/* Run such a call. Indices have been checked if the target is visible. */
ps_status ps_run_stage(const ps_scatter_call *call, ps_run *run);

#endif
