/* Products and sums of sizes that cannot overflow unnoticed, and small arithmetic.
 *
 * Every size, stride and offset of the house is int64_t; a product that depends on a
 * caller's shape goes through here.
 */
#ifndef PS_BASE_SIZES_H
#define PS_BASE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t
ps_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t
ps_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t
ps_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* *product = a * b; false when it does not fit. */
static inline bool
ps_multiply(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* *count = product of shape[0..ndim); false when it does not fit. A zero wins over any
 * overflow, since such an array has no elements. */
static inline bool
ps_count(int ndim, const int64_t *shape, int64_t *count)
{
    bool fits = true;
    *count = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            *count = 0;
            return true;
        }
        fits = fits && ps_multiply(*count, shape[i], count);
    }
    return fits;
}

#endif
