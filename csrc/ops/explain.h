/* How far two arrays are apart, and where. */
#ifndef PS_OPS_EXPLAIN_H
#define PS_OPS_EXPLAIN_H

#include "ops/ops.h"

enum {
    PS_FIRST_MISMATCHES = 5
};

/* Elements of two arrays of one shape, read as `actual_type` and `desired_type`: both
 * integers (i64, u64), or both f64, f80 or c128. An element is a mismatch unless it is
 * equal, or NaN as well, or finite and at most atol + rtol |desired| away. */
typedef struct {
    ps_view actual, desired;
    enum ps_dtype actual_type, desired_type;
    double rtol, atol;
    /* found */
    int64_t n, n_mismatch;
    int64_t first[PS_FIRST_MISMATCHES]; /* their numbers in C order */
    double max_abs, max_rel; /* of mismatches; -1: no difference is a number */
} ps_explain_call;

ps_status ps_explain(void *call, ps_run *run); /* a ps_explain_call */

#endif
