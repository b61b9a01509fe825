/* combine(op, a, b): the old value a and the arriving value b become the new value.
 *
 * One switch per element type, stamped from PS_FOR_EACH_REDUCTION; with a constant `op`
 * it folds to the row's expression. Around it the few functions that the expressions
 * name, each of which fixes an edge on which libraries differ:
 *   - NaN wins in min and max and loses in fmin and fmax; NaT likewise;
 *   - -0.0 is less than +0.0, so that the order of arrival cannot matter;
 *   - integers wrap, x // 0 is 0 and the lowest integer // -1 wraps;
 *   - complex products are (ac - bd, ad + bc), quotients follow Smith (1962): the ratio
 * of the smaller to the larger part of the divisor scales both;
 *   - complex order is lexicographic with NaN in either part as the extreme, as
 * NumPy's.
 */
#if KIND_IS(FLOAT) || KIND_IS(LONG)

/* The lower of two equal numbers, which is -0.0 if one of them is, and the higher: a
 * choice by sign bit. Written on bits, whose union and intersection it is, because the
 * compiler makes vector code of that. */
#if KIND_IS(LONG)

TEMPLATE_INLINE T
OF_TYPE(lower_equal)(T a, T b)
{
    return signbit(a) ? a : b;
}

TEMPLATE_INLINE T
OF_TYPE(higher_equal)(T a, T b)
{
    return signbit(a) ? b : a;
}

#else

TEMPLATE_INLINE T
OF_TYPE(lower_equal)(T a, T b)
{
    BITS a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof(a));
    memcpy(&b_bits, &b, sizeof(b));
    a_bits |= b_bits;
    memcpy(&a, &a_bits, sizeof(a));
    return a;
}

TEMPLATE_INLINE T
OF_TYPE(higher_equal)(T a, T b)
{
    BITS a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof(a));
    memcpy(&b_bits, &b, sizeof(b));
    a_bits &= b_bits;
    memcpy(&a, &a_bits, sizeof(a));
    return a;
}

#endif

/* NaN where either is; of equal numbers the lower sign. */
TEMPLATE_INLINE T
OF_TYPE(least)(T a, T b)
{
    T result = a < b ? a : b; /* b where either is NaN */
    result = a == b ? OF_TYPE(lower_equal)(a, b) : result;
    return a != a ? a : result;
}

/* The same upwards. */
TEMPLATE_INLINE T
OF_TYPE(greatest)(T a, T b)
{
    T result = a > b ? a : b;
    result = a == b ? OF_TYPE(higher_equal)(a, b) : result;
    return a != a ? a : result;
}

/* The other one where one is NaN; NaN only of two. */
TEMPLATE_INLINE T
OF_TYPE(least_number)(T a, T b)
{
    T result = a < b ? a : b;
    result = a == b ? OF_TYPE(lower_equal)(a, b) : result;
    return b != b ? a : result;
}

/* The same upwards. */
TEMPLATE_INLINE T
OF_TYPE(greatest_number)(T a, T b)
{
    T result = a > b ? a : b;
    result = a == b ? OF_TYPE(higher_equal)(a, b) : result;
    return b != b ? a : result;
}

/* Python's floor division by the exact remainder, as NumPy does it: a quotient that
 * rounds up to the next integer would otherwise be one too large. */
TEMPLATE_INLINE T
OF_TYPE(floor_by_remainder)(T a, T b)
{
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign((T)0, a / b);
    }
    T whole = floor(quotient);
    if (quotient - whole > (T)0.5) {
        whole += 1;
    }
    return whole;
}

/* The same without fmod, three times as fast, where the quotient is exact to a
 * fraction: a rounded quotient that is no integer lies between the same integers as the
 * true one; for one that is, the sign of the exact rest a - q b tells on which side the
 * truth lies. */
TEMPLATE_INLINE T
OF_TYPE(floor_over)(T a, T b)
{
    const T quotient = a / b;
    const T limit = sizeof(T) == sizeof(f32) ? (T)0x1p22 : (T)0x1p51;
    if (b == 0) {
        return quotient;
    }
    if (!(fabs(quotient) < limit) || !isfinite(b)) {
        return OF_TYPE(floor_by_remainder)(a, b);
    }
    T whole = floor(quotient);
    if (whole == quotient) {
        const T rest = fma(-quotient, b, a);
        whole -= rest != 0 && (rest < 0) != (b < 0);
    }
    return whole == 0 ? copysign((T)0, quotient) : whole;
}

#endif
#if KIND_IS(INT)

/* Floor division that never traps. The wider type keeps lowest // -1 defined up to 32
 * bits, and unsigned negation wraps it at 64. */
TEMPLATE_INLINE T
OF_TYPE(floor_quotient)(T a, T b)
{
    if (b == 0) {
        return 0;
    }
    if ((T)-1 > 0) {
        return (T)(a / b);
    }
    if (b == (T)-1) {
        return (T)(0 - (ARITH)a);
    }
    const T quotient = (T)(a / b);
    const bool is_inexact = (T)(a % b) != 0;
    return (T)(quotient - (is_inexact && ((a < 0) != (b < 0))));
}

#endif
#if KIND_IS(COMPLEX)

/* Part by part. */
TEMPLATE_INLINE T
OF_TYPE(plus)(T a, T b)
{
    return (T){a.re + b.re, a.im + b.im};
}

TEMPLATE_INLINE T
OF_TYPE(minus)(T a, T b)
{
    return (T){a.re - b.re, a.im - b.im};
}

/* -x by its sign bit. A difference beside a sum, each of a product, is what gcc 12
 * turns into one fused instruction whatever -ffp-contract says; two sums it leaves
 * alone. */
TEMPLATE_INLINE REAL
OF_TYPE(negated)(REAL x)
{
    if (sizeof(REAL) == sizeof(u32)) {
        u32 bits;
        memcpy(&bits, &x, sizeof(bits));
        bits ^= 0x80000000;
        memcpy(&x, &bits, sizeof(bits));
        return x;
    }
    u64 bits;
    memcpy(&bits, &x, sizeof(x));
    bits ^= 0x8000000000000000;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* No fused product, whatever the level. */
TEMPLATE_INLINE T
OF_TYPE(times)(T a, T b)
{
    const REAL negated_im = OF_TYPE(negated)(b.im);
    return (T){a.re * b.re + a.im * negated_im, a.re * b.im + a.im * b.re};
}

/* By the larger part of the divisor, so that no square overflows. */
TEMPLATE_INLINE T
OF_TYPE(over)(T a, T b)
{
    const REAL re_size = fabs(b.re), im_size = fabs(b.im);
    if (re_size >= im_size) {
        if (re_size == 0 && im_size == 0) {
            return (T){a.re / re_size, a.im / re_size};
        }
        const REAL ratio = b.im / b.re;
        const REAL scale = 1 / (b.re + b.im * ratio);
        const REAL negated_re = OF_TYPE(negated)(a.re);
        return (T){(a.re + a.im * ratio) * scale, (a.im + negated_re * ratio) * scale};
    }
    const REAL ratio = b.re / b.im;
    const REAL scale = 1 / (b.im + b.re * ratio);
    const REAL negated_re = OF_TYPE(negated)(a.re);
    return (T){(a.re * ratio + a.im) * scale, (a.im * ratio + negated_re) * scale};
}

/* In either part. */
TEMPLATE_INLINE bool
OF_TYPE(has_nan)(T a)
{
    return a.re != a.re || a.im != a.im;
}

/* a <= b in lexicographic order; false when a NaN decides. */
TEMPLATE_INLINE bool
OF_TYPE(precedes)(T a, T b)
{
    return (a.re < b.re && a.im == a.im && b.im == b.im) ||
           (a.re == b.re && a.im <= b.im);
}

/* NaN in either part comes before every number. */
TEMPLATE_INLINE T
OF_TYPE(first_of)(T a, T b)
{
    return OF_TYPE(has_nan)(a) || OF_TYPE(precedes)(a, b) ? a : b;
}

/* The same upwards. */
TEMPLATE_INLINE T
OF_TYPE(last_of)(T a, T b)
{
    return OF_TYPE(has_nan)(a) || OF_TYPE(precedes)(b, a) ? a : b;
}

/* NaN loses. */
TEMPLATE_INLINE T
OF_TYPE(first_number)(T a, T b)
{
    return OF_TYPE(has_nan)(b) || OF_TYPE(precedes)(a, b) ? a : b;
}

TEMPLATE_INLINE T
OF_TYPE(last_number)(T a, T b)
{
    return OF_TYPE(has_nan)(b) || OF_TYPE(precedes)(b, a) ? a : b;
}

#endif
#if KIND_IS(TIME)

/* The fewer ticks; NaT wins. */
TEMPLATE_INLINE T
OF_TYPE(earliest)(T a, T b)
{
    return (T){a.ticks < b.ticks ? a.ticks : b.ticks}; /* NaT is the lowest integer */
}

TEMPLATE_INLINE T
OF_TYPE(latest)(T a, T b)
{
    const bool keep =
            a.ticks == INT64_MIN || (b.ticks != INT64_MIN && a.ticks > b.ticks);
    return keep ? a : b;
}

/* NaT loses. */
TEMPLATE_INLINE T
OF_TYPE(earliest_time)(T a, T b)
{
    const bool keep =
            b.ticks == INT64_MIN || (a.ticks != INT64_MIN && a.ticks < b.ticks);
    return keep ? a : b;
}

TEMPLATE_INLINE T
OF_TYPE(latest_time)(T a, T b)
{
    return (T){a.ticks > b.ticks ? a.ticks : b.ticks};
}

/* NaT stays NaT. */
TEMPLATE_INLINE T
OF_TYPE(time_plus)(T a, T b)
{
    const bool is_nat = a.ticks == INT64_MIN || b.ticks == INT64_MIN;
    return (T){is_nat ? INT64_MIN : (int64_t)((uint64_t)a.ticks + (uint64_t)b.ticks)};
}

TEMPLATE_INLINE T
OF_TYPE(time_minus)(T a, T b)
{
    const bool is_nat = a.ticks == INT64_MIN || b.ticks == INT64_MIN;
    return (T){is_nat ? INT64_MIN : (int64_t)((uint64_t)a.ticks - (uint64_t)b.ticks)};
}

#endif
#if KIND_IS(PAIR)

/* Neumaier (1974): the part of the smaller term that the sum lost is kept beside it. */
TEMPLATE_INLINE T
OF_TYPE(pair_plus)(T a, T b)
{
    const REAL sum = a.sum + b.sum;
    const REAL lost =
            fabs(a.sum) >= fabs(b.sum) ? (a.sum - sum) + b.sum : (b.sum - sum) + a.sum;
    return (T){sum, a.rest + lost};
}

/* The same of the negative; what is kept is signed. */
TEMPLATE_INLINE T
OF_TYPE(pair_minus)(T a, T b)
{
    return OF_TYPE(pair_plus)(a, (T){-b.sum, 0});
}

#endif

/* Has the expression of `op` many instructions? Quotients and the order of complex
 * numbers, divisions that round down: loops over them gain nothing by being unrolled.
 */
TEMPLATE_INLINE bool
OF_TYPE(is_heavy)(const enum ps_op op)
{
#if KIND_IS(COMPLEX)
    return op == PS_div || (op >= PS_min && op <= PS_fmax);
#else
    return op == PS_floor_div;
#endif
}

/* clang-format off */
#if KIND_IS(BOOL)
#define OF_BOOLS_and (a & b)
#define OF_BOOLS_or (a | b)
#define OF_BOOLS_xor (a ^ b)
#define CASE(name, kinds, bools, ...) case PS_##name: return (T)OF_BOOLS_##bools;
#elif KIND_IS(INT)
#define CASE(name, kinds, bools, integers, sign, on_int, ...) case PS_##name: return (T)(on_int);
#elif KIND_IS(FLOAT) || KIND_IS(LONG)
#define CASE(name, kinds, bools, integers, sign, on_int, on_real, ...) case PS_##name: return on_real;
#elif KIND_IS(COMPLEX)
#define CASE(name, kinds, bools, integers, sign, on_int, on_real, on_complex, ...) case PS_##name: return on_complex;
#elif KIND_IS(TIME)
#define CASE(name, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, ...) case PS_##name: return on_time;
#else
#define CASE(name, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, on_pair, ...) case PS_##name: return on_pair;
#endif
/* clang-format on */

TEMPLATE_INLINE T
OF_TYPE(combine)(const enum ps_op op, T a, T b)
{
#if KIND_IS(BOOL)
    a = a != 0;
    b = b != 0;
#endif
#if KIND_IS(INT)
    const ARITH A = (ARITH)a, B = (ARITH)b;
    (void)A, (void)B;
#endif
    switch (op) {
        PS_FOR_EACH_REDUCTION(CASE, ~)
        default:
            return b;
    }
}

#undef CASE
