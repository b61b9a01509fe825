/* masked: target[i] = combine(target[i], value[i]) if mask[i], for i in [0, n).
 *
 * One instance per element type and reduction. mask: n bytes, true unless 0, read BLOCK
 * at a time: an empty block is skipped, a full one is the plain vector loop. target: n
 * elements, aligned; value: n elements, aligned (a step of BLOCK), or BLOCK equal ones
 * for all of them (a step of 0); disjoint. An
 * element that the mask leaves out is neither read nor written, and no value of it can
 * raise a floating-point flag. Moves 1 + 3 sizeof(T) bytes for an element at most.
 */

/* Conditional loads and stores, which the compiler makes masked vectors with AVX-512.
 * Not for divisions of integers, which branch, nor for types of two parts: those stay
 * scalar, and a branch for each element of a random mask costs 3 ns. Below AVX-512
 * masked stores are slower than single ones on Zen 4. */
#if defined(ISA_HAS_AVX512) && (KIND_IS(FLOAT) || KIND_IS(INT) || KIND_IS(BOOL))

TEMPLATE_INLINE bool
OF_TYPE(has_lanes)(const enum ps_op op)
{
    return op != PS_floor_div;
}

/* One block. Divisors that are left out are 1, so that 0 / 0 is not computed. */
TEMPLATE_INLINE void
OF_TYPE(masked_lanes)(const enum ps_op op, T *restrict at, const char *restrict mask,
                      const T *restrict value)
{
    T divisor[BLOCK];
    if (op == PS_div) {
        for (int i = 0; i < BLOCK; i++) {
            divisor[i] = mask[i] ? value[i] : 1;
        }
        value = divisor;
    }
#pragma GCC ivdep
    for (int i = 0; i < BLOCK; i++) {
        if (mask[i]) {
            at[i] = OF_TYPE(combine)(op, at[i], value[i]);
        }
    }
}

#endif

TEMPLATE_INLINE void
OF_TYPE(masked_full)(const enum ps_op op, T *restrict at, const T *restrict value)
{
#pragma GCC ivdep
    for (int i = 0; i < BLOCK; i++) {
        at[i] = OF_TYPE(combine)(op, at[i], value[i]);
    }
}

TEMPLATE_INLINE void
OF_TYPE(masked)(const enum ps_op op, char *restrict target, const char *restrict mask,
                const char *restrict values, int64_t step, int64_t n)
{
    T *const at = (T *)target;
    const T *value = (const T *)values;
    for (int64_t i = 0; i < n; i += BLOCK, value += step) {
        uint64_t word = word_of_some(mask + i, n - i);
        if (~word == 0) {
            OF_TYPE(masked_full)(op, at + i, value);
            continue;
        }
#if defined(ISA_HAS_AVX512) && (KIND_IS(FLOAT) || KIND_IS(INT) || KIND_IS(BOOL))
        if (OF_TYPE(has_lanes)(op) && n - i >= BLOCK &&
            __builtin_popcountll(word) > FEW) {
            OF_TYPE(masked_lanes)(op, at + i, mask + i, value);
            continue;
        }
#endif
        while (word != 0) {
            const int place = take_bit(&word);
            at[i + place] = OF_TYPE(combine)(op, at[i + place], value[place]);
        }
    }
}
