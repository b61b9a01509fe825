/* Arrays of int32 or int64: as narrow as their numbers allow, one code for both.
 *
 * Loops over them exist for each width, with `is_wide` a constant of an inlined
 * function; elsewhere it may be a variable.
 */
#ifndef PS_OPS_WIDTHS_H
#define PS_OPS_WIDTHS_H

#include <stdbool.h>
#include <stdint.h>

#define PS_WIDTH_INLINE static inline __attribute__((always_inline))

/* Item i of an array of int32, or of int64 where it is wide. */
PS_WIDTH_INLINE int64_t
ps_at(const bool is_wide, const void *array, int64_t i)
{
    return is_wide ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* The same, written; `value` fits, since the width was chosen by the largest number. */
PS_WIDTH_INLINE void
ps_put(const bool is_wide, void *array, int64_t i, int64_t value)
{
    if (is_wide) {
        ((int64_t *)array)[i] = value;
    }
    else {
        ((int32_t *)array)[i] = (int32_t)value;
    }
}

/* Bytes of n items; n is so small that they fit. */
static inline int64_t
ps_width_bytes(bool is_wide, int64_t n)
{
    return n * (int64_t)(is_wide ? sizeof(int64_t) : sizeof(int32_t));
}

#endif
