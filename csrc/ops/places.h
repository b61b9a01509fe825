/* The places of a target that an address can name, whatever the target looks like: a
 * C-ordered array of positions, linked entry axes first, then the indexed axes, or all
 * axes of an array whose elements are counted. A stage addresses its own rows by them.
 */
#ifndef PS_OPS_PLACES_H
#define PS_OPS_PLACES_H

#include "ops/ops.h"

enum {
    PS_MAX_PLACE_AXES = 2 * PS_MAX_DIMS
};

typedef struct {
    int ndim;
    int64_t shape[PS_MAX_PLACE_AXES];
    int64_t target_strides[PS_MAX_PLACE_AXES];
    int64_t step[PS_MAX_PLACE_AXES]; /* in places */
    int64_t count;
} ps_places;

/* PS_TOO_LARGE when their number does not fit in 64 bits. */
ps_status ps_find_places(const ps_address *address, ps_places *all);

/* *result: the same entries, addressed in places of `scale` bytes each instead of the
 * target's bytes. link [ndim] and index [n_index] are the caller's memory, to which it
 * points. */
void ps_address_of_places(const ps_address *address, const ps_places *all,
                          int64_t scale, ps_address *result, int64_t *link,
                          ps_index *index);

#endif
