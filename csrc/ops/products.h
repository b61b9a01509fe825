/* Products of runs of complex numbers of which a mask leaves some out. */
#ifndef PS_OPS_PRODUCTS_H
#define PS_OPS_PRODUCTS_H

#include "ops/ops.h"

/* ps_segment of such a call. */
ps_status ps_multiply_some(const ps_segment_call *call, ps_run *run);

#endif
