/* Eight lanes in which sums of a change are kept, on every level. */
#ifndef PS_KERNELS_CHANGE_LANES_H
#define PS_KERNELS_CHANGE_LANES_H

#include <float.h>
#include <math.h>

#include "base/change.h"
#include "kernels/vectors.h"

enum {
    CHANGE_LANES = 8
};

/* Lanes that start n items before the middle: the first n are set. */
static const int32_t change_window_f32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t change_window_f64[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

/* The lesser and the greater of two numbers, lane by lane. */
/* clang-format off */
#if defined(ISA_HAS_AVX2)
#define LANES_OF_TWO(name, type, wide, narrow)                              \
    TEMPLATE_INLINE vector_##type name##_lanes_##type(vector_##type a, vector_##type b) \
    { return (vector_##type)_mm256_##wide(a, b); }
#elif defined(__SSE2__)
#define LANES_OF_TWO(name, type, wide, narrow)                              \
    TEMPLATE_INLINE vector_##type name##_lanes_##type(vector_##type a, vector_##type b) \
    { return (vector_##type)_mm_##wide(a, b); }
#else
#define LANES_OF_TWO(name, type, wide, is_first)                            \
    TEMPLATE_INLINE vector_##type name##_lanes_##type(vector_##type a, vector_##type b) \
    { const lanes_##type first = (lanes_##type)(is_first);                  \
      return (vector_##type)(((lanes_##type)a & first) | ((lanes_##type)b & ~first)); }
#endif
LANES_OF_TWO(least, f32, min_ps, a < b)
LANES_OF_TWO(least, f64, min_pd, a < b)
LANES_OF_TWO(greatest, f32, max_ps, a > b)
LANES_OF_TWO(greatest, f64, max_pd, a > b)
/* The same of numbers that are not negative, which integers order as well: these have
 * twice as many units to be compared in. Of NaN any may be the lesser. */
#if defined(ISA_HAS_AVX2)
TEMPLATE_INLINE vector_f32 least_size_lanes_f32(vector_f32 a, vector_f32 b)
{ return (vector_f32)_mm256_min_epu32((__m256i)a, (__m256i)b); }
#else
TEMPLATE_INLINE vector_f32 least_size_lanes_f32(vector_f32 a, vector_f32 b)
{ return least_lanes_f32(a, b); }
#endif
TEMPLATE_INLINE vector_f64 least_size_lanes_f64(vector_f64 a, vector_f64 b)
{ return least_lanes_f64(a, b); }
/* clang-format on */

#endif
