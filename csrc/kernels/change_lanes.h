/* Eight lanes in which sums of a change are kept, on every level. */
#ifndef PS_KERNELS_CHANGE_LANES_H
#define PS_KERNELS_CHANGE_LANES_H

#include <float.h>
#include <math.h>

#include "base/change.h"
#include "kernels/vectors.h"

enum {
    CHANGE_LANES = 8,
    CHANGE_COLUMNS = VECTOR_BYTES / 8, /* features whose words stay in registers */
    CHANGE_AHEAD = 192 /* bytes of a row that are asked for while it is walked */
};

/* As many elements as a vector of float64 has, integers as wide, and both widened; the
 * compiler's own way from four f32 to f64 goes through memory. */
/* clang-format off */
typedef f32 few_f32 __attribute__((vector_size(VECTOR_BYTES / 2), may_alias, aligned(4)));
typedef f64 few_f64 __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(8)));
typedef int32_t flags_f32 __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef lanes_f64 flags_f64;
#if defined(ISA_HAS_AVX2)
TEMPLATE_INLINE vector_f64 widen_f32(few_f32 few)
{ return (vector_f64)_mm256_cvtps_pd((__m128)few); }
TEMPLATE_INLINE lanes_f64 flags_of_f32(flags_f32 few)
{ return (lanes_f64)_mm256_cvtepi32_epi64((__m128i)few); }
#else
TEMPLATE_INLINE vector_f64 widen_f32(few_f32 few)
{ return __builtin_convertvector(few, vector_f64); }
TEMPLATE_INLINE lanes_f64 flags_of_f32(flags_f32 few)
{ return __builtin_convertvector(few, lanes_f64); }
#endif
TEMPLATE_INLINE vector_f64 widen_f64(few_f64 few)
{ return few; }
TEMPLATE_INLINE lanes_f64 flags_of_f64(flags_f64 few)
{ return few; }
/* clang-format on */

/* count[k] += lane k. */
TEMPLATE_INLINE void
count_columns(int64_t *count, lanes_f64 added)
{
    vector_f64 *const words = (vector_f64 *)(void *)count;
    *words = (vector_f64)((lanes_f64)*words + added);
}

TEMPLATE_INLINE bool
has_any_lane(lanes_f64 flags)
{
    int64_t any = 0;
    for (int k = 0; k < CHANGE_COLUMNS; k++) {
        any |= flags[k];
    }
    return any != 0;
}

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
