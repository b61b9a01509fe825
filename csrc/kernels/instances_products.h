/* Stamps the kernels of sparse products (spgemm.tmpl.h), for the baseline and AVX2,
 * which ranks twice as many columns at a time; wider vectors would hardly be full.
 */
#include "base/terms.h"
#include "kernels/stamps.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A bit for each of 8 flags, which are 0 or 0xff and become 0. */
TEMPLATE_INLINE uint64_t
take_flags(uint8_t *flag)
{
    uint64_t bytes;
    memcpy(&bytes, flag, sizeof(bytes));
    memset(flag, 0, sizeof(bytes));
    return (bytes & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56;
}

/* The same of 64. */
TEMPLATE_INLINE uint64_t
take_page(uint8_t *flag)
{
    uint64_t bits = 0;
#if defined(__SSE2__)
#pragma GCC unroll 4
    for (int i = 0; i < 64; i += 16) {
        __m128i *const from = (__m128i *)(void *)(flag + i);
        const uint32_t part = (uint32_t)_mm_movemask_epi8(_mm_loadu_si128(from));
        _mm_storeu_si128(from, _mm_setzero_si128());
        bits |= (uint64_t)part << i;
    }
#else
    for (int i = 0; i < 64; i += 8) {
        bits |= take_flags(flag + i) << i;
    }
#endif
    return bits;
}

/* How many bits are set. */
TEMPLATE_INLINE int64_t
count_bits(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) +
           (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int64_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* number[0 .. k) = base + the places of the k bits that are set, ascending; returns k.
 * Four are written in any case, since how many there are nobody can foretell. */
TEMPLATE_INLINE int64_t
list_bits(uint64_t bits, int64_t base, int32_t *number)
{
    const int64_t n = count_bits(bits);
    for (int i = 0; i < 4; i++) {
        number[i] = (int32_t)(base + __builtin_ctzll(bits | UINT64_C(1) << 63));
        bits &= bits - 1;
    }
    for (int64_t i = 4; i < n; i++) {
        number[i] = (int32_t)(base + __builtin_ctzll(bits));
        bits &= bits - 1;
    }
    return n;
}

/* rank[i] = how many of column [n] are smaller than column[i]. Whole vectors are read
 * and written, twice two of AVX2: both arrays have room for 15 more. Which column is
 * smaller nobody can foretell: this has no branch that asks, and takes n * n / 10 ns
 * for n columns where a sort of 64 takes 1,500. */
#if defined(ISA_HAS_AVX2)
#define RANK_BYTES 32
#else
#define RANK_BYTES 16
#endif
typedef int32_t ranks __attribute__((vector_size(RANK_BYTES)));
enum {
    RANKS = RANK_BYTES / (int)sizeof(int32_t),
    /* Columns of a row that are ranked: with more the square is what counts. */
    MOST_RANKED = 12 * RANKS
};

OF_UNIT void
rank_columns(const int32_t *restrict column, int64_t n, int32_t *restrict rank)
{
    for (int64_t i = 0; i < n; i += 2 * RANKS) {
        ranks x, y, x_rank = {0}, y_rank = {0};
        memcpy(&x, column + i, sizeof(x));
        memcpy(&y, column + i + RANKS, sizeof(y));
        for (int64_t j = 0; j < n; j++) {
            const ranks other = column[j] - (ranks){0};
            x_rank -= x > other;
            y_rank -= y > other;
        }
        memcpy(rank + i, &x_rank, sizeof(x));
        memcpy(rank + i + RANKS, &y_rank, sizeof(y));
    }
}

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/spgemm.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define PRODUCT_FUNCTIONS(dtype)                                                          \
    OF_UNIT void NAME(spgemm_add, add, dtype)(const ps_products *terms, int64_t first,    \
                                              int64_t last)                               \
    { product_add_##dtype(terms, first, last); }                                          \
    OF_UNIT int64_t NAME(spgemm_take, add, dtype)(const ps_products *terms, int32_t *col, \
                                                  char *out)                              \
    { return product_take_##dtype(terms, col, out); }                                     \
    OF_UNIT int64_t NAME(spgemm_few, add, dtype)(const ps_products *terms, int64_t first, \
                                                 int64_t last, int32_t *col, char *out)   \
    { return product_few_##dtype(terms, first, last, col, out); }                         \
    OF_UNIT void NAME(spgemm_list, add, dtype)(char *out, const int64_t *place,           \
                                               const char *a, const char *b, int64_t n)   \
    { product_list_##dtype(out, place, a, b, n); }
#define PRODUCTS_OF_BOOL(dtype) PRODUCT_FUNCTIONS(dtype)
#define PRODUCTS_OF_INT(dtype) PRODUCT_FUNCTIONS(dtype)
#define PRODUCTS_OF_FLOAT(dtype) PRODUCT_FUNCTIONS(dtype)
#define PRODUCTS_OF_COMPLEX(dtype) PRODUCT_FUNCTIONS(dtype)
#define PRODUCTS_OF_LONG(dtype)
#define PRODUCTS_OF_TIME(dtype)
#define PRODUCTS_OF_PAIR(dtype)
#define PRODUCT_INSTANCES(dtype, arith, kind, unsign, ...) PRODUCTS_OF_##kind(dtype)
PS_FOR_EACH_DTYPE(PRODUCT_INSTANCES, ~)

/* Integers wrap the same with a sign and without. */
#define PRODUCT_OF_BOOL(family, dtype, unsign) NAME(family, add, dtype)
#define PRODUCT_OF_INT(family, dtype, unsign) NAME(family, add, unsign)
#define PRODUCT_OF_FLOAT(family, dtype, unsign) NAME(family, add, dtype)
#define PRODUCT_OF_COMPLEX(family, dtype, unsign) NAME(family, add, dtype)
#define PRODUCT_OF_LONG(family, dtype, unsign) NULL
#define PRODUCT_OF_TIME(family, dtype, unsign) NULL
#define PRODUCT_OF_PAIR(family, dtype, unsign) NULL
#define PRODUCT_CELL(dtype, arith, kind, unsign, family) \
    [PS_##dtype] = PRODUCT_OF_##kind(family, dtype, unsign),
const GRID_OF(spgemm_add, PS_NUM_DTYPES) = {PS_FOR_EACH_DTYPE(PRODUCT_CELL, spgemm_add)};
const GRID_OF(spgemm_take, PS_NUM_DTYPES) = {PS_FOR_EACH_DTYPE(PRODUCT_CELL, spgemm_take)};
const GRID_OF(spgemm_few, PS_NUM_DTYPES) = {PS_FOR_EACH_DTYPE(PRODUCT_CELL, spgemm_few)};
const GRID_OF(spgemm_list, PS_NUM_DTYPES) = {PS_FOR_EACH_DTYPE(PRODUCT_CELL, spgemm_list)};

/* clang-format on */
