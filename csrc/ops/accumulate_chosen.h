/* Sums of what a mask chooses: what the binding hands over, and the op. */
#ifndef PS_OPS_ACCUMULATE_CHOSEN_H
#define PS_OPS_ACCUMULATE_CHOSEN_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* out[o][i] = sum over r of g[o][r][i] where the mask is `chosen`. g: (outer, rows,
 * inner) elements of `type`, one after the other; out: (outer, inner). */
typedef struct {
    enum ps_dtype type; /* of floats or complex numbers */
    int64_t outer, rows, inner;
    const char *g;
    const char *mask; /* bools; strides in bytes */
    int64_t mask_outer, mask_row, mask_inner;
    bool chosen;
    char *out; /* nobody else sees it yet */
} ps_chosen_call;

ps_status ps_sum_chosen(void *call, ps_run *run); /* a ps_chosen_call */

#endif
