/* Axes ordered and broadcast (contract in strided.h, where the walk itself is inline).
 *
 * Nothing here depends on what the elements are: shapes and strides go in and come out.
 */
#include "ops/strided.h"

#include <string.h>

#include "base/sizes.h"

/* Of a stride: reversed axes lie in the same order as plain ones. */
static int64_t
magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* For any array that runs beside the axes. */
static void
swap(int64_t *array, int i, int k)
{
    const int64_t item = array[i];
    array[i] = array[k];
    array[k] = item;
}

/* An insertion sort: stable, and nothing to do for C order, which is what comes. Ties
 * keep their order, so that axes of stride 0 stay where they are. */
void
ps_order_axes(int ndim, int64_t *shape, int64_t *const *strides, int n)
{
    for (int i = 1; i < ndim; i++) {
        for (int axis = i;
             axis > 0 && magnitude(strides[0][axis - 1]) < magnitude(strides[0][axis]);
             axis--) {
            swap(shape, axis - 1, axis);
            for (int k = 0; k < n; k++) {
                swap(strides[k], axis - 1, axis);
            }
        }
    }
}

/* From the innermost axis outwards, as long as the next one goes on where it ends. */
int64_t
ps_even_run(int ndim, const int64_t *shape, const int64_t *strides, int64_t *stride)
{
    int64_t run = 1;
    *stride = ps_inner_stride(ndim, strides);
    for (int i = ndim - 1; i >= 0; i--) {
        if (i < ndim - 1 && strides[i] != strides[i + 1] * shape[i + 1]) {
            break;
        }
        run *= shape[i];
    }
    return run;
}

/* A shape of more axes pushes those that are there to the back. Then length by length
 * from the last: 1 gives way, and lengths that are neither 1 nor equal do not go
 * together. A length of 0 is one like any other. */
bool
ps_broadcast_shapes(int *ndim, int64_t *shape, int own_ndim, const int64_t *own_shape)
{
    const int lead = own_ndim - *ndim;
    if (*ndim == 0) { /* the first shape, in most calls the only one */
        *ndim = own_ndim;
        for (int i = 0; i < own_ndim; i++) {
            shape[i] = own_shape[i];
        }
        return true;
    }
    if (lead > 0) {
        memmove(shape + lead, shape, (size_t)*ndim * sizeof(int64_t));
        for (int i = 0; i < lead; i++) {
            shape[i] = 1;
        }
        *ndim = own_ndim;
    }
    for (int i = 0; i < own_ndim; i++) {
        int64_t *const length = &shape[*ndim - own_ndim + i];
        if (*length == 1) {
            *length = own_shape[i];
        }
        else if (own_shape[i] != 1 && own_shape[i] != *length) {
            return false;
        }
    }
    return true;
}

/* Written to the end even where it does not fit: the caller then only says so. */
bool
ps_broadcast_strides(int ndim, const int64_t *shape, int own_ndim,
                     const int64_t *own_shape, const int64_t *own_strides,
                     int64_t *strides)
{
    const int lead = ndim - own_ndim;
    bool fits = true;
    for (int i = 0; i < -lead; i++) {
        fits = fits && own_shape[i] == 1;
    }
    for (int i = 0; i < ndim; i++) {
        const int own = i - lead;
        const int64_t length = own >= 0 ? own_shape[own] : 1;
        fits = fits && (length == 1 || length == shape[i]);
        strides[i] = length == 1 ? 0 : own_strides[own];
    }
    return fits;
}

/* Short rows are many: what has been copied is copied again, twice as long, so that a
 * block of rows of 8 bytes is some ten calls of memcpy instead of some hundred. Only
 * whole runs, so that the walk stays at the end of one. */
int64_t
ps_walk_repeat(ps_walk *walk, const int64_t *strides, char *row, int64_t size,
               int64_t count, int64_t wanted)
{
    const int axis = walk->ndim - 2;
    if (axis < 0 || strides[axis] != 0 || count < walk->shape[axis + 1]) {
        return 0;
    }
    const int64_t rest = walk->shape[axis] - 1 - walk->at[axis];
    const int64_t rows = ps_min(wanted / count, rest);
    const int64_t nbytes = count * size, all = (rows + 1) * nbytes;
    for (int64_t done = nbytes; done < all; done *= 2) {
        memcpy(row + done, row, (size_t)ps_min(done, all - done));
    }
    walk->at[axis] += rows;
    return rows * count;
}

/* The same as walking there, without coordinates: the element's number is divided by
 * one length after the other, from the innermost axis, and axis 0 takes what is left,
 * so that it is never divided by. */
int64_t
ps_offset_of(int ndim, const int64_t *shape, const int64_t *strides, int64_t number)
{
    int64_t offset = 0;
    for (int i = ndim - 1; i > 0; i--) {
        offset += number % shape[i] * strides[i];
        number /= shape[i];
    }
    return ndim > 0 ? offset + number * strides[0] : 0;
}
