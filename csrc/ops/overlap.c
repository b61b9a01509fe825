/* May two elements of an array share a byte? (ps_may_self_overlap in ops.h)
 *
 * Axes sorted by stride that nest (each stride reaches past all that the smaller ones
 * span) cannot overlap: that settles every array made by slicing and transposing. The
 * rest is a bounded search for a difference of two coordinates that lands within one
 * item: depth first over the axes from the largest stride down, where what the
 * remaining axes can still make up for limits each axis to a few differences.
 */
#include <stdlib.h>

#include "base/sizes.h"
#include "ops/ops.h"

enum {
    SEARCH_STEPS = 20000
};

typedef struct {
    int64_t stride, reach; /* reach: largest coordinate times stride */
    int64_t highest;       /* largest coordinate */
} axis_term;

static int
compare_strides(const void *a, const void *b)
{
    const axis_term *const left = a, *const right = b;
    return (left->stride > right->stride) - (left->stride < right->stride);
}

/* Is there a choice of differences for axes [0, n), not all zero unless `moved`, whose
 * sum with `distance` is within an item? below[i]: what axes [0, i) can reach. */
static bool
search(const axis_term *axes, const int64_t *below, int n, int64_t distance, bool moved,
       int64_t itemsize, int *steps)
{
    if (++*steps > SEARCH_STEPS) {
        return true;
    }
    if (n == 0) {
        return moved && distance > -itemsize && distance < itemsize;
    }
    const axis_term *const axis = &axes[n - 1];
    const int64_t slack = below[n - 1] + itemsize - 1;
    /* |distance + d * stride| <= slack */
    int64_t from = (-slack - distance) / axis->stride - 1;
    int64_t to = (slack - distance) / axis->stride + 1;
    from = ps_max(from, -axis->highest);
    to = ps_min(to, axis->highest);
    for (int64_t d = from; d <= to; d++) {
        const int64_t left = distance + d * axis->stride;
        if (left >= -slack && left <= slack &&
            search(axes, below, n - 1, left, moved || d != 0, itemsize, steps)) {
            return true;
        }
    }
    return false;
}

bool
ps_may_self_overlap(int ndim, const int64_t *shape, const int64_t *strides,
                    int64_t itemsize)
{
    axis_term axes[PS_MAX_DIMS];
    int64_t below[PS_MAX_DIMS + 1];
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0 || itemsize == 0) {
            return false;
        }
        if (shape[i] == 1) {
            continue;
        }
        if (strides[i] == 0 || strides[i] == INT64_MIN) {
            return true;
        }
        const int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
        axes[n] = (axis_term){stride, 0, shape[i] - 1};
        if (!ps_multiply(stride, shape[i] - 1, &axes[n].reach) ||
            axes[n].reach > INT64_MAX / (4 * PS_MAX_DIMS)) {
            return true;
        }
        n++;
    }
    qsort(axes, (size_t)n, sizeof(axis_term), compare_strides);
    bool nests = true;
    below[0] = 0;
    for (int i = 0; i < n; i++) {
        nests = nests && axes[i].stride >= below[i] + itemsize;
        below[i + 1] = below[i] + axes[i].reach;
    }
    int steps = 0;
    return !nests && search(axes, below, n, 0, false, itemsize, &steps);
}
