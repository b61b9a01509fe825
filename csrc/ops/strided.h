/* Axes: merged, ordered, broadcast and walked. There is no second place for any of it.
 *
 * Arrays that are walked together have one shape and each an array of strides: `n` of
 * them beside a shape are strides[0..n). Shapes and strides are rewritten in place by
 * whoever owns them. Walks are in C order; what is hot in a tiny call is inline.
 */
#ifndef PS_OPS_STRIDED_H
#define PS_OPS_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/* ---- axes ---- */

/* Leave out axes of length 1, which move nothing, and merge neighbours that all arrays
 * walk as one: a contiguous array of any rank becomes one axis. From `shape` and
 * strides[0..n) to `to` and to_strides[0..n), which may be the same arrays. Returns how
 * many axes are left. Axis by axis, without a copy ahead: tiny calls have one axis. */
static inline int
ps_merge_into(int ndim, const int64_t *shape, const int64_t *const *strides, int n,
              int64_t *to, int64_t *const *to_strides)
{
    int last = -1;
    for (int axis = 0; axis < ndim; axis++) {
        const int64_t size = shape[axis];
        if (size == 1) {
            continue;
        }
        bool are_one = last >= 0;
        for (int k = 0; k < n && are_one; k++) {
            are_one = to_strides[k][last] == strides[k][axis] * size;
        }
        last += !are_one;
        to[last] = are_one ? to[last] * size : size;
        for (int k = 0; k < n; k++) {
            to_strides[k][last] = strides[k][axis];
        }
    }
    return last + 1;
}

/* The same in place. */
static inline int
ps_merge_axes(int ndim, int64_t *shape, int64_t *const *strides, int n)
{
    return ps_merge_into(ndim, shape, (const int64_t *const *)strides, n, shape,
                         strides);
}

/* The merged axes of a view, in shape and strides; returns how many. */
static inline int
ps_merge_view(const ps_view *view, int64_t *shape, int64_t *strides)
{
    return ps_merge_into(view->ndim, view->shape, &view->strides, 1, shape, &strides);
}

/* Put axes in the order in which the first array lies in memory, the widest stride
 * first, for work in which the order of elements does not matter. */
void ps_order_axes(int ndim, int64_t *shape, int64_t *const *strides, int n);

/* Elements in a row, counted from multiples of themselves, that lie one *stride apart
 * in an array: all of them where its axes are as good as one. */
int64_t ps_even_run(int ndim, const int64_t *shape, const int64_t *strides,
                    int64_t *stride);

/* Of the innermost axis; 0 where there is none. */
static inline int64_t
ps_inner_stride(int ndim, const int64_t *strides)
{
    return ndim > 0 ? strides[ndim - 1] : 0;
}

/* ---- broadcasting, by NumPy's rules: last axes belong together ---- */

/* Broadcast one more shape into *ndim axes of `shape`, which has room for the axes of
 * either. False: they do not go together, and `shape` is spoilt. */
bool ps_broadcast_shapes(int *ndim, int64_t *shape, int own_ndim,
                         const int64_t *own_shape);

/* The strides of an array that is broadcast to `shape`, 0 along axes that it has not or
 * has with length 1. Leading axes of length 1 beyond `ndim` may go. False: it does not
 * broadcast. */
bool ps_broadcast_strides(int ndim, const int64_t *shape, int own_ndim,
                          const int64_t *own_shape, const int64_t *own_strides,
                          int64_t *strides);

/* ---- walking ---- */

/* Where a walk stands: coordinates, of which the last one counts along a run, the
 * stretch of elements to the end of the innermost axis. */
typedef struct {
    int ndim;
    const int64_t *shape; /* borrowed */
    int64_t at[PS_MAX_DIMS];
} ps_walk;

/* Go to element `number`. It is divided out once; from run to run coordinates are
 * counted up. */
static inline void
ps_walk_to(ps_walk *walk, int ndim, const int64_t *shape, int64_t number)
{
    walk->ndim = ndim;
    walk->shape = shape;
    for (int i = ndim - 1; i > 0; i--) {
        walk->at[i] = number % shape[i];
        number /= shape[i];
    }
    if (ndim > 0) {
        walk->at[0] = number;
    }
}

/* Elements from here to the end of the run. */
static inline int64_t
ps_walk_left(const ps_walk *walk)
{
    const int last = walk->ndim - 1;
    return last >= 0 ? walk->shape[last] - walk->at[last] : 1;
}

/* Bytes from the first element of an array to this one. */
static inline int64_t
ps_walk_offset(const ps_walk *walk, const int64_t *strides)
{
    int64_t offset = 0;
    for (int i = 0; i < walk->ndim; i++) {
        offset += walk->at[i] * strides[i];
    }
    return offset;
}

/* On to the start of the next run. *offset, of where the walk stands by `strides`, goes
 * with it, which short runs feel; strides NULL: coordinates alone. False: there is no
 * next run, and the walk is at its start again. */
static inline bool
ps_walk_on(ps_walk *walk, const int64_t *strides, int64_t *offset)
{
    int i = walk->ndim - 1;
    if (i >= 0 && walk->at[i] != 0) {
        if (strides != NULL) {
            *offset -= walk->at[i] * strides[i];
        }
        walk->at[i] = 0;
    }
    while (--i >= 0) {
        if (++walk->at[i] < walk->shape[i]) {
            if (strides != NULL) {
                *offset += strides[i];
            }
            return true;
        }
        if (strides != NULL) {
            *offset -= (walk->shape[i] - 1) * strides[i];
        }
        walk->at[i] = 0;
    }
    return false;
}

/* `count` items of `size` bytes at `row` are the run that the walk has just left
 * behind. Where it repeats along the axis before it, it is copied behind itself, whole,
 * as often as the next `wanted` items ask for. Returns how many items that were; the
 * walk steps over their runs. */
int64_t ps_walk_repeat(ps_walk *walk, const int64_t *strides, char *row, int64_t size,
                       int64_t count, int64_t wanted);

/* Bytes to element `number`, for those who go nowhere from there; any number of axes.
 */
int64_t ps_offset_of(int ndim, const int64_t *shape, const int64_t *strides,
                     int64_t number);

#endif
