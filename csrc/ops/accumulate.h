/* The sum of a gradient into a buffer: what the binding hands over, and the op. */
#ifndef PS_OPS_ACCUMULATE_H
#define PS_OPS_ACCUMULATE_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* acc[i] += weight * g[i] for n elements, which lie one after the other, aligned, and
 * share no byte; `odd` receives how many products are not finite. */
typedef struct {
    enum ps_accumulation how;
    enum ps_dtype to, from; /* a cell of the table that is not NULL */
    char *acc;
    const char *g;
    int64_t n;
    double weight;
    int64_t odd;
} ps_accumulate_call;

ps_status ps_accumulate(void *call, ps_run *run); /* a ps_accumulate_call */

#endif
