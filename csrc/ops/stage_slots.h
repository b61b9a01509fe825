/* The slots of a stage, loaded from the target and stored back. */
#ifndef PS_OPS_STAGE_SLOTS_H
#define PS_OPS_STAGE_SLOTS_H

#include "ops/ops.h"
#include "ops/places.h"

typedef struct {
    const ps_scatter_call *call;
    ps_run *run;
    ps_places places;
    enum ps_dtype type; /* of the accumulator */
    int64_t size;       /* of one accumulator */
    int64_t row_count;  /* accumulators of one place */
    int64_t n_slots;    /* rows of the accumulator */
    int64_t *place;     /* [n_slots] for compact, else NULL: slot == place */
    int64_t *key;       /* [n] for compact: slot of each entry, or -1 */
    uint8_t *touched;   /* [n_slots] for dense, where neither of these two tells */
    int64_t *arrivals;  /* [n_slots], for mean */
    char *before;       /* [n_slots] items as the target held them; or NULL */
    char *rows;         /* [n_slots][row_count], and behind them the three above */
    int64_t nbytes;     /* of that block */
    int64_t unheard;    /* bytes of rows since the last look at signals */
} ps_stage;

/* May dense slots be compared with what was loaded, in the place of marks? */
bool ps_slots_compare(const ps_stage *work);

/* Rows of the slots at which something arrives receive what the target holds, cast, or
 * the identity of what kernels apply where the old value takes no part. Others may. */
ps_status ps_load_slots(ps_stage *work);

/* They become results, rounded once, and go to the target: all that anybody can see.
 * Takes no memory. Slots at which nothing arrives are left alone in both: they keep
 * their bits. */
ps_status ps_store_slots(ps_stage *work);

#endif
