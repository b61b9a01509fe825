/* Two deltas become one (contract in delta.h): numbers of units are merged, and where
 * both have a unit, the second overwrites it, or both values become one. Of xor and add
 * what comes to nothing is left out, so a delta and its opposite are no change at all.
 * Units that overwrite stay even if they bring back what was there: nobody knows what
 * was.
 *
 * The merged delta waits in work memory, numbers as int64 and values side by side,
 * until its smallest encoding is known and its room has been made.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/delta.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    NO_UNIT = -1
};

/* A delta on its way: the unit it stands at, or NO_UNIT behind the last. */
typedef struct {
    ps_delta_reader reader;
    int64_t i, n;
    int64_t unit;
    const char *values;
    int64_t at[PS_DELTA_BLOCK + 64];
} walk_of;

/* The unit at hand; numbers are decoded some thousand at a time. */
static void
load_unit(walk_of *walk)
{
    if (walk->i == walk->n) {
        walk->i = 0;
        walk->n = ps_delta_next(&walk->reader, walk->at);
    }
    walk->unit = walk->n > 0 ? walk->at[walk->i] : NO_UNIT;
}

/* A delta without units is at its end at once. */
static void
begin(walk_of *walk, const ps_delta *delta)
{
    walk->reader = ps_delta_read(delta);
    walk->values = delta->values;
    walk->i = walk->n = 0;
    load_unit(walk);
}

/* On to the next unit; only the last one of an array may be shorter. */
static void
step(walk_of *walk)
{
    const ps_delta *const delta = walk->reader.delta;
    walk->values += ps_delta_width(delta, walk->unit) * delta->itemsize;
    walk->i++;
    load_unit(walk);
}

/* Each byte is the one before it, and the first is zero. */
static bool
is_zero(const char *bytes, int64_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)(n - 1)) == 0);
}

/* The next unit of both, at `to`; *unit: its number. Its bytes, or 0: nothing is left
 * of it. */
static int64_t
merge_unit(walk_of *one, walk_of *two, char *to, int64_t *unit)
{
    const ps_delta *const delta = one->reader.delta;
    /* Whichever is behind, or both. */
    const bool has_one =
            one->unit != NO_UNIT && (two->unit == NO_UNIT || one->unit <= two->unit);
    const bool has_two =
            two->unit != NO_UNIT && (one->unit == NO_UNIT || two->unit <= one->unit);
    *unit = has_one ? one->unit : two->unit;
    const int64_t width = ps_delta_width(delta, *unit);
    const int64_t nbytes = width * delta->itemsize;
    memcpy(to, has_one ? one->values : two->values, (size_t)nbytes);
    if (has_one && has_two) {
        ps_kernels()->delta->meet[ps_size_of(delta->itemsize)](delta->op, to,
                                                               two->values, width);
    }
    if (has_one) {
        step(one);
    }
    if (has_two) {
        step(two);
    }
    const bool may_cancel = has_one && has_two && delta->op != PS_DELTA_OVERWRITE;
    return may_cancel && is_zero(to, nbytes) ? 0 : nbytes;
}

/* Room for what both have, which is at most what the array has. */
static bool
take_memory(ps_delta_merge_call *call)
{
    const ps_delta *const first = call->first, *const second = call->second;
    const int64_t most = ps_min(first->count + second->count, ps_delta_units(first));
    const int64_t values = ps_min(first->values_nbytes + second->values_nbytes,
                                  first->n * first->itemsize);
    call->scratch_nbytes = 8 * most + values;
    call->at = ps_scratch_get(call->scratch_nbytes);
    call->values = (char *)(call->at + most);
    return call->at != NULL;
}

/* One unit after the other, of whichever delta is behind: a delta is small beside its
 * arrays, and numbers of both are read once. What a merged delta comes to in each
 * encoding is counted on the way. */
ps_status
ps_delta_merge(void *argument, ps_run *run)
{
    ps_delta_merge_call *const call = argument;
    const ps_delta *const first = call->first;
    call->delta = (ps_delta){.op = first->op,
                             .n = first->n,
                             .itemsize = first->itemsize,
                             .width = first->width};
    walk_of *const both = ps_scratch_get(2 * (int64_t)sizeof(walk_of));
    if (both == NULL || !take_memory(call)) {
        ps_scratch_put(both, 2 * (int64_t)sizeof(walk_of));
        return ps_fail(PS_NO_MEMORY);
    }
    ps_delta_tally tally = {.last = -1};
    int64_t n = 0, unheard = 0;
    char *to = call->values;
    begin(both, first);
    begin(both + 1, call->second);
    while (both[0].unit != NO_UNIT || both[1].unit != NO_UNIT) {
        const int64_t nbytes = merge_unit(both, both + 1, to, call->at + n);
        if (nbytes > 0) {
            ps_delta_count(&tally, call->at + n, 1);
            n++;
        }
        to += nbytes;
        if (ps_run_stops_after(run, &unheard, nbytes + 8)) {
            break;
        }
    }
    ps_scratch_put(both, 2 * (int64_t)sizeof(walk_of));
    call->count = n;
    ps_delta_choose(&call->delta, &tally, PS_DELTA_AUTO,
                    tally.count == ps_delta_units(first));
    return ps_run_status(run);
}

void
ps_delta_merge_close(ps_delta_merge_call *call)
{
    ps_scratch_put(call->at, call->scratch_nbytes);
}
