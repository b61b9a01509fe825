/* Scatter through an accumulator of its own: wider types, means, compensated sums,
 * targets that kernels cannot work on in place. */
#ifndef PS_OPS_STAGE_H
#define PS_OPS_STAGE_H

#include "ops/ops.h"

/* Run a call whose traits say that it needs one. Indices have been checked if the
 * target is visible. */
ps_status ps_run_stage(const ps_scatter_call *call, ps_run *run);

#endif
