/* Values summed in the slots that an assembly has found for them. */
#ifndef PS_OPS_SLOTS_H
#define PS_OPS_SLOTS_H

#include "ops/ops.h"

/* out[slot[e]] = the sum of value e over contributions e in C order of `shape`, n_out
 * slots, each of which has one; a sum begins with its first value. Half types are
 * summed in f32 and rounded once. shape and both arrays of strides are rewritten. */
typedef struct {
    int ndim;
    int64_t *shape;
    const char *slot; /* int32 or int64, contiguous */
    bool is_wide;
    int64_t *slot_strides;
    ps_view values; /* of that shape; without shape and strides of its own */
    int64_t *value_strides;
    int64_t *zeros; /* [ndim]: 0 */
    int64_t n, n_out;
    char *out; /* of values' dtype, fresh */
} ps_slots_call;

/* PS_INDEX_BAD: a slot that is none. */
ps_status ps_sum_slots(void *call, ps_run *run); /* a ps_slots_call */

#endif
