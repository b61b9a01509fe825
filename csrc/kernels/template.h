/* What every template needs: names by type, forced inlining, prefetch.
 *
 * A template file is ordinary C that uses the macros T (element type), KIND (a token of
 * enum ps_kind) and ARITH, which foreach_dtype.h sets before each inclusion. A
 * reduction or a mode is a constant argument of a TEMPLATE_INLINE function, so the
 * compiler folds it and each instance of instances.h becomes one tight loop.
 */
#ifndef PS_KERNELS_TEMPLATE_H
#define PS_KERNELS_TEMPLATE_H

#include <stddef.h>
#include <string.h>
#include <tgmath.h>

#include "base/tables.h"

#define PASTE2_(a, b) a##_##b
#define PASTE2(a, b) PASTE2_(a, b)
#define OF_TYPE(name) PASTE2(name, T)

#define TEMPLATE_INLINE static inline __attribute__((always_inline))
/* A function that is compiled in those units that use it. */
#define OF_UNIT static __attribute__((unused))

/* KIND_IS(FLOAT) works in #if: KIND is the token that foreach_dtype.h set. */
#define KIND_NUMBER_BOOL 1
#define KIND_NUMBER_INT 2
#define KIND_NUMBER_FLOAT 4
#define KIND_NUMBER_COMPLEX 8
#define KIND_NUMBER_TIME 16
#define KIND_NUMBER_LONG 32
#define KIND_NUMBER_PAIR 64
#define KIND_IS(kind) (PASTE2(KIND_NUMBER, KIND) == KIND_NUMBER_##kind)

/* Are floats held in the lowest lane of a vector (update.tmpl.h)? */
#ifdef __SSE2__
#define HAS_LANES KIND_IS(FLOAT)
#else
#define HAS_LANES 0
#endif

enum {
    CACHE_LINE = 64
};

/* min, max, fmin, fmax */
TEMPLATE_INLINE bool
is_extreme(const enum ps_op op)
{
    return op >= PS_min && op <= PS_fmax;
}

/* Ask for the lines of [address, address + nbytes) to be brought near, for writing. */
TEMPLATE_INLINE void
prefetch_row(const char *address, int64_t nbytes)
{
    for (int64_t byte = 0; byte < nbytes; byte += CACHE_LINE) {
        __builtin_prefetch(address + byte, 1);
    }
    __builtin_prefetch(address + nbytes - 1, 1);
}

/* The row that an index means under "raise"; the caller compares it with `size`.
 * Without a branch: an unlikely one for negatives made gcc 12 move values between
 * registers, which cost a quarter of the loop's time. */
TEMPLATE_INLINE int64_t
counted_row(int64_t row, int64_t size)
{
    return row + (size & (row >> 63));
}

/* The row that an index means under "wrap". Most lie within a size of the bounds: two
 * additions without a branch, where a division takes 4 ns. */
TEMPLATE_INLINE int64_t
wrapped_row(int64_t row, int64_t size)
{
    row += size & (row >> 63);
    row -= size & ((size - 1 - row) >> 63);
    if (__builtin_expect((uint64_t)row >= (uint64_t)size, 0)) {
        row %= size;
        return row < 0 ? row + size : row;
    }
    return row;
}

#endif
