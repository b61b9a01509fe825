/* Pullbacks in one pass or two: what the binding hands over, and the op. */
#ifndef PS_OPS_PULLBACK_H
#define PS_OPS_PULLBACK_H

#include "base/pullback.h"
#include "ops/ops.h"

/* How entries met, as far as derivatives go. */
enum ps_meeting {
    PS_MEET_LAST,    /* the last one stays */
    PS_MEET_FIRST,   /* the first one stays */
    PS_MEET_MEAN,    /* all are averaged, the old value among them */
    PS_MEET_PRODUCT, /* all are multiplied */
    PS_MEET_EXTREME, /* those that equal the result share */
    PS_MEET_ONE      /* the first of those has all; the old value comes first */
};

/* index names for each of n entries one of `rows` rows of `width` elements; `pull` has
 * the arrays of base/pullback.h: the op adds to, share and held. Fewer than 2^32
 * entries, so that counts fit. */
typedef struct {
    enum ps_meeting how;
    enum ps_dtype type; /* float32 or float64 */
    const char *index;
    enum ps_index_type index_type; /* contiguous and native */
    int64_t n, rows;
    ps_pull pull;
} ps_pull_call;

ps_status ps_pull_back(void *call, ps_run *run); /* a ps_pull_call */

#endif
