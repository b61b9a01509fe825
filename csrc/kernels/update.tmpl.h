/* One element of a target meets values: update_by for one of any kind, update_lane for
 * one of a group that was read as vectors, stays for runs.
 *
 * Minima and maxima of floats have a rule for zeros (-0.0 is the lower) and one for NaN
 * (combine.tmpl.h). Asked as questions, both turn into branches that ties mispredict:
 * 7 ns an entry where values are 0 or 1. So the rule is computed. One instruction
 * chooses between two floats, and gives the second of its operands where they are equal
 * or one is NaN. Equal floats differ in their sign at most, so the bits of both joined
 * give the lower, and what they share the higher:
 *     highest = MAX(first, second) & (first | (first != second))
 *     lowest  = MIN(first, second) | (first & (first == second))
 * and with the old value second NaN stays, as min and max want it, with the old value
 * first it goes, as fmin and fmax do. What is left is an arriving NaN, a branch that
 * data without NaN does not spoil (`decide`).
 *
 * Floats are held in the lowest lane of a vector, `lane`, for which these instructions
 * are made; other types, and machines without them, are what they are.
 */

/* Where a value stands as it is met: as it came, or (widens) a float32 as a float64 in
 * *wide. */
TEMPLATE_INLINE const char *
OF_TYPE(value_at)(bool widens, const char *value, T *wide)
{
#if KIND_IS(FLOAT)
    if (sizeof(T) == sizeof(f64) && widens) {
        *wide = (T) * (const f32 *)(const void *)value;
        return (const char *)wide;
    }
#endif
    (void)widens;
    (void)wide;
    return value;
}

#if HAS_LANES

typedef T OF_TYPE(lane) __attribute__((vector_size(16), may_alias, aligned(sizeof(T))));
typedef BITS OF_TYPE(lane_bits) __attribute__((vector_size(16)));

/* MIN or MAX of the lowest lane. */
TEMPLATE_INLINE
OF_TYPE(lane_bits)
OF_TYPE(chosen)(const bool is_low, OF_TYPE(lane) first, OF_TYPE(lane) second)
{
    if (sizeof(T) == sizeof(f32)) {
        const __m128 a = (__m128)first, b = (__m128)second;
        return (OF_TYPE(lane_bits))(is_low ? _mm_min_ss(a, b) : _mm_max_ss(a, b));
    }
    const __m128d a = (__m128d)first, b = (__m128d)second;
    return (OF_TYPE(lane_bits))(is_low ? _mm_min_sd(a, b) : _mm_max_sd(a, b));
}

/* The exact rule for a value that is no NaN. */
TEMPLATE_INLINE T
OF_TYPE(extreme)(const enum ps_op op, OF_TYPE(lane) old, OF_TYPE(lane) value)
{
    const bool is_low = op == PS_min || op == PS_fmin;
    const bool keeps_nan = op == PS_min || op == PS_max;
    const OF_TYPE(lane) first = keeps_nan ? value : old;
    const OF_TYPE(lane_bits)
            bits = (OF_TYPE(lane_bits))first,
            chosen = OF_TYPE(chosen)(is_low, first, keeps_nan ? old : value);
    const OF_TYPE(lane_bits) result =
            is_low ? chosen | (bits & (OF_TYPE(lane_bits))(value == old))
                   : chosen & (bits | (OF_TYPE(lane_bits))(value != old));
    return ((OF_TYPE(lane))result)[0];
}

/* The whole rule, out of line: for NaN. */
OF_UNIT __attribute__((noinline, cold)) T
OF_TYPE(decide)(enum ps_op op, T old, T value)
{
    switch (op) {
        case PS_min:
            return OF_TYPE(combine)(PS_min, old, value);
        case PS_max:
            return OF_TYPE(combine)(PS_max, old, value);
        case PS_fmin:
            return OF_TYPE(combine)(PS_fmin, old, value);
        default:
            return OF_TYPE(combine)(PS_fmax, old, value);
    }
}

#define PER_VECTOR (16 / (int)sizeof(T))
#define IN_VECTORS (IN_GROUP / PER_VECTOR)

/* The values of a group, contiguous in memory; each vector is one load, which the empty
 * statement keeps the compiler from splitting: loads are what limits loops over near
 * targets (0.58 ns an entry, and 0.52 with vectors). widens: as in value_at. */
TEMPLATE_INLINE void
OF_TYPE(load_vectors)(const bool widens, OF_TYPE(lane) * vector, const char *values)
{
    if (sizeof(T) == sizeof(f64) && widens) {
#pragma GCC unroll 4
        for (int i = 0; i < IN_VECTORS; i++) {
            const __m128i pair = _mm_loadl_epi64((const void *)(values + 8 * i));
            vector[i] = (OF_TYPE(lane))_mm_cvtps_pd((__m128)pair);
        }
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < IN_VECTORS; i++) {
        vector[i] = *(const OF_TYPE(lane) *)(values + 16 * i);
        __asm__("" : "+x"(vector[i]));
    }
}

/* lane[k] holds value k of a group. False: one of them asks for more than `extreme`,
 * or, is_plain, for more than one instruction: NaN, or -0.0. */
TEMPLATE_INLINE bool
OF_TYPE(load_group)(const enum ps_op op, const bool is_plain, const bool widens,
                    OF_TYPE(lane) * lane, const char *values)
{
    OF_TYPE(lane_bits) odd = {0};
    OF_TYPE(lane) vector[IN_VECTORS];
    OF_TYPE(load_vectors)(widens, vector, values);
#pragma GCC unroll 4
    for (int i = 0; i < IN_GROUP; i += PER_VECTOR) {
        const OF_TYPE(lane) some = vector[i / PER_VECTOR];
        if (is_extreme(op)) {
            odd |= (OF_TYPE(lane_bits))(some != some);
        }
        if (is_plain) {
            const BITS minus = (BITS)1 << (8 * sizeof(T) - 1);
            odd |= (OF_TYPE(lane_bits))((OF_TYPE(lane_bits))some == minus);
        }
#pragma GCC unroll 4
        for (int k = 0; k < PER_VECTOR; k++) {
            OF_TYPE(lane_bits) from = {(BITS)k};
            lane[i + k] = __builtin_shuffle(some, from);
        }
    }
    return !is_extreme(op) || __builtin_expect(_mm_movemask_epi8((__m128i)odd) == 0, 1);
}

#undef PER_VECTOR
#undef IN_VECTORS

/* target = target op value, for a lane that load_group has found good. is_plain: no
 * element of the target is -0.0, and so no two zeros of different sign can meet. */
TEMPLATE_INLINE void
OF_TYPE(update_lane)(const enum ps_op op, const bool is_plain, T *at,
                     OF_TYPE(lane) value)
{
    const OF_TYPE(lane) old = {*at};
    if (is_extreme(op) && is_plain) {
        const bool keeps_nan = op == PS_min || op == PS_max;
        const OF_TYPE(lane_bits) chosen =
                OF_TYPE(chosen)(op == PS_min || op == PS_fmin, keeps_nan ? value : old,
                                keeps_nan ? old : value);
        *at = ((OF_TYPE(lane))chosen)[0];
    }
    else if (is_extreme(op)) {
        *at = OF_TYPE(extreme)(op, old, value);
    }
    else {
        *at = OF_TYPE(combine)(op, *at, value[0]);
    }
}

TEMPLATE_INLINE void
OF_TYPE(update_by)(const enum ps_op op, T *at, const char *from)
{
    const T value = *(const T *)from;
    if (!is_extreme(op)) {
        *at = OF_TYPE(combine)(op, *at, value);
        return;
    }
    const OF_TYPE(lane) old = {*at}, arriving = {value};
    T chosen = OF_TYPE(extreme)(op, old, arriving);
    if (__builtin_expect(arriving[0] != arriving[0], 0)) {
        chosen = OF_TYPE(decide)(op, old[0], arriving[0]);
    }
    *at = chosen;
}

/* Does the old value certainly stay? For min and max over a run, where after a while it
 * mostly does: a predicted branch instead of a chain of selections (0.6 ns a value
 * against 2.8). Equal ones stay too, but for zeros whose sign the value may change. */
TEMPLATE_INLINE bool
OF_TYPE(stays)(const enum ps_op op, T old, T value)
{
    const BITS minus = (BITS)1 << (8 * sizeof(T) - 1);
    BITS old_bits, value_bits;
    memcpy(&old_bits, &old, sizeof(T));
    memcpy(&value_bits, &value, sizeof(T));
    switch (op) {
        case PS_min:
        case PS_fmin:
            return old <= value && (old_bits | (value_bits ^ minus)) != 0;
        case PS_max:
        case PS_fmax:
            return old >= value && ((old_bits ^ minus) | value_bits) != 0;
        default:
            return false;
    }
}

#else

#if KIND_IS(LONG) && defined(__x86_64__) && __LDBL_MANT_DIG__ == 64

/* The 80 bits of a number. */
typedef struct {
    uint64_t low;
    int16_t high;
} OF_TYPE(bits);

TEMPLATE_INLINE
OF_TYPE(bits)
OF_TYPE(bits_of)(const char *at)
{
    OF_TYPE(bits) bits;
    memcpy(&bits.low, at, sizeof(bits.low));
    memcpy(&bits.high, at + sizeof(bits.low), sizeof(bits.high));
    return bits;
}

/* NaN, or one of the forms of which processors make none: the first digit is 1 unless
 * the exponent is 0. */
TEMPLATE_INLINE bool
OF_TYPE(is_odd)(OF_TYPE(bits) x)
{
    const int exponent = x.high & INT16_MAX;
    return ((exponent != 0) != (x.low >> 63)) |
           ((exponent == INT16_MAX) & (x.low << 1 != 0));
}

/* In the order of numbers, in which -0.0 stands before +0.0: digits of negative ones
 * count backwards. */
TEMPLATE_INLINE bool
OF_TYPE(is_less)(OF_TYPE(bits) x, OF_TYPE(bits) y)
{
    const int x_minus = x.high >> 15, y_minus = y.high >> 15;
    const int x_high = x.high ^ (x_minus & INT16_MAX);
    const int y_high = y.high ^ (y_minus & INT16_MAX);
    const uint64_t x_low = x.low ^ (uint64_t)(int64_t)x_minus;
    const uint64_t y_low = y.low ^ (uint64_t)(int64_t)y_minus;
    return (x_high < y_high) | ((x_high == y_high) & (x_low < y_low));
}

/* Extremes by the bits of numbers, without a branch that ties mispredict, and without
 * the stack of the x87, whose ten bytes are slow to come back as two parts: ns an
 * entry, so / by comparing numbers (Zen 3): 1e4 into as many 6.5 / 7.5, where half are
 * ties 6.5 / 10.7; 1e5 7.5 / 12. */
TEMPLATE_INLINE void
OF_TYPE(update_by)(const enum ps_op op, T *at, const char *value)
{
    const OF_TYPE(bits) old = OF_TYPE(bits_of)((const char *)at),
                        own = OF_TYPE(bits_of)(value);
    if (!is_extreme(op) ||
        __builtin_expect(OF_TYPE(is_odd)(old) | OF_TYPE(is_odd)(own), 0)) {
        *at = OF_TYPE(combine)(op, *at, *(const T *)value);
        return;
    }
    const bool is_low = op == PS_min || op == PS_fmin;
    const bool takes = is_low ? OF_TYPE(is_less)(own, old) : OF_TYPE(is_less)(old, own);
    const uint64_t mask = (uint64_t)0 - takes;
    const uint64_t low = old.low ^ ((old.low ^ own.low) & mask);
    const int16_t high = (int16_t)(old.high ^ ((old.high ^ own.high) & (int)mask));
    memcpy(at, &low, sizeof(low));
    memcpy((char *)at + sizeof(low), &high, sizeof(high));
}

#else

TEMPLATE_INLINE void
OF_TYPE(update_by)(const enum ps_op op, T *at, const char *value)
{
    *at = OF_TYPE(combine)(op, *at, *(const T *)value);
}

#endif

/* As above, of integers; what other types say is not worth a question. */
TEMPLATE_INLINE bool
OF_TYPE(stays)(const enum ps_op op, T old, T value)
{
#if KIND_IS(INT)
    switch (op) {
        case PS_min:
        case PS_fmin:
            return old <= value;
        case PS_max:
        case PS_fmax:
            return old >= value;
        default:
            return false;
    }
#else
    (void)op, (void)old, (void)value;
    return false;
#endif
}

#endif
