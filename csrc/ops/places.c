/* Places of a target (contract in places.h): axes of positions, numbered in C order.
 * Nothing is read here but sizes, steps and links; the target itself is not touched. */
#include "ops/places.h"

#include "base/sizes.h"

/* Behind the axes that are there: places so far times `length`. False when their
 * number does not fit in 64 bits; the axis is then noted all the same, and the caller
 * gives up. */
static bool
add_place_axis(ps_places *all, int64_t length, int64_t target_stride)
{
    all->shape[all->ndim] = length;
    all->target_strides[all->ndim] = target_stride;
    all->ndim++;
    return ps_multiply(all->count, length, &all->count);
}

/* shape, strides in the target and steps in places of all axes that the index can move
 * along: those that are linked, and one for each index, or those that it is flat over.
 * Axis by axis the target's own
 * sizes, which a caller's shape has passed; it is their product that may not fit. */
ps_status
ps_find_places(const ps_address *address, ps_places *all)
{
    bool fits = true;
    all->ndim = 0;
    all->count = 1;
    for (int i = 0; i < address->ndim; i++) {
        if (address->link[i] != 0) {
            fits = fits && add_place_axis(all, address->shape[i], address->link[i]);
        }
    }
    for (int axis = 0; axis < address->flat_ndim; axis++) {
        fits = fits && add_place_axis(all, address->flat_shape[axis],
                                      address->flat_strides[axis]);
    }
    for (int m = 0; m < address->n_index && address->flat_ndim == 0; m++) {
        const ps_index *const index = &address->index[m];
        fits = fits && add_place_axis(all, index->size, index->step);
    }
    int64_t step = 1;
    for (int i = all->ndim - 1; fits && i >= 0; i--) {
        all->step[i] = step;
        step *= all->shape[i];
    }
    return fits ? PS_SUCCESS : ps_fail(PS_TOO_LARGE);
}

/* Sizes, modes and masks stay, so that what is checked stays the same. A flat position
 * is the number of its place. */
void
ps_address_of_places(const ps_address *address, const ps_places *all, int64_t scale,
                     ps_address *result, int64_t *link, ps_index *index)
{
    int axis = 0;
    *result = *address;
    for (int i = 0; i < address->ndim; i++) {
        link[i] = address->link[i] != 0 ? all->step[axis++] * scale : 0;
    }
    for (int m = 0; m < address->n_index; m++) {
        index[m] = address->index[m];
        index[m].step = address->flat_ndim > 0 ? scale : all->step[axis++] * scale;
    }
    result->flat_ndim = 0;
    result->link = link;
    result->index = index;
}
