/* e^x and log x of f64: the same bits at every CPU level and on every machine.
 *
 * NumPy's and the C library's differ from machine to machine, because they choose code
 * by what the CPU has, and code with fused multiply-adds rounds less often. Here are
 * additions, products and one quotient in a fixed order, each rounded to nearest, and
 * no call; special cases are chosen, not branched to, so compilers make vectors of
 * loops over these functions. Both errors are below 0.9 units in the last place (in ten
 * million arguments at most 0.72 for e^x, 0.82 where it is subnormal, 0.80 for log x):
 *   - the argument falls into an integer multiple k of log 2, or of a power of two, and
 *     a small rest; log 2 is written as a sum whose first part has 42 bits, so that its
 *     product with any k is exact (Cody and Waite 1980);
 *   - Taylor's series of the rest, whose first omitted term is below 0.05 units;
 *   - the leading terms are added last, and what that loses (Dekker 1971) is put back:
 *     every other rounding is of a term that is at most a fifth of the result.
 * A table of 2^(i/128) would save half of the terms of e^x, but costs a load from
 * memory for each lane of a vector. f32 goes through f64, with one rounding at the end.
 */

/* log 2 in two parts. */
static const f64 LOG2_HIGH = 0x1.62e42fefa38p-1, LOG2_LOW = 0x1.ef35793c7673p-45;
/* Added to a number below 2^51, it leaves the nearest integer in the low bits. */
static const f64 TO_INTEGER = 0x1.8p52;

TEMPLATE_INLINE u64
bits_of_f64(f64 value)
{
    u64 bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

TEMPLATE_INLINE f64
f64_of_bits(u64 bits)
{
    f64 value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* e^r - 1 - r for |r| <= 0.35: r^2/2! + ... + r^13/13!, by Estrin's scheme, whose terms
 * wait for each other least. */
TEMPLATE_INLINE f64
exponential_tail(f64 r)
{
    const f64 r2 = r * r, r4 = r2 * r2;
    const f64 low = (1. / 2 + r * (1. / 6)) + r2 * (1. / 24 + r * (1. / 120));
    const f64 middle =
            (1. / 720 + r * (1. / 5040)) + r2 * (1. / 40320 + r * (1. / 362880));
    const f64 high = (1. / 3628800 + r * (1. / 39916800)) +
                     r2 * (1. / 479001600 + r * (1. / 6227020800));
    return r2 * (low + r4 * (middle + r4 * high));
}

/* e^x. 2^k is multiplied in two halves, so that results below the normal numbers are
 * rounded once and those beyond the largest become infinite; outside of [-746, 710]
 * nothing else can come out. NaN passes every comparison and remains. */
TEMPLATE_INLINE f64
exponential(f64 x)
{
    x = x < -746 ? -746 : x;
    x = x > 710 ? 710 : x;
    const f64 shifted = x * 0x1.71547652b82fep0 + TO_INTEGER; /* 1 / log 2 */
    const f64 k = shifted - TO_INTEGER;
    const f64 high = x - k * LOG2_HIGH, low = k * LOG2_LOW;
    const f64 r = high - low;
    const f64 lost = (high - r) - low;
    const f64 sum = 1 + r;
    const f64 rest = ((1 - sum) + r) + (exponential_tail(r) + lost);
    /* k + 2048, and two halves of k as exponents; unsigned, since vectors have no
     * signed shift of 64 bits. */
    const u64 biased = bits_of_f64(shifted) - bits_of_f64(TO_INTEGER) + 2048;
    const u64 half = biased >> 1;
    const f64 one = f64_of_bits((half - 1) << 52);
    const f64 other = f64_of_bits((biased - half - 1) << 52);
    return (sum + rest) * one * other;
}

/* log(1 + f) - f + f^2/2 for the mantissas below: s (f^2/2 + R) with s = f / (2 + f),
 * since log(1 + f) = 2 artanh(s). */
TEMPLATE_INLINE f64
logarithm_tail(f64 f, f64 half_square)
{
    const f64 s = f / (2 + f), s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
    const f64 low = (2. / 3 + s2 * (2. / 5)) + s4 * (2. / 7 + s2 * (2. / 9));
    const f64 middle = (2. / 11 + s2 * (2. / 13)) + s4 * (2. / 15 + s2 * (2. / 17));
    const f64 high = 2. / 19 + s2 * (2. / 21) + s4 * (2. / 23);
    return s * (half_square + s2 * (low + s8 * (middle + s8 * high)));
}

/* log x = k log 2 + log(1 + f), 11/16 <= 1 + f < 11/8: no f^2/2 - tail is above 1/16
 * there, whose rounding would show. Subnormal numbers are made normal first. */
TEMPLATE_INLINE f64
logarithm(f64 x)
{
    const f64 scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
    const f64 shift = x < 0x1p-1022 ? 54 : 0;
    const u64 bits = bits_of_f64(scaled);
    const u64 exponent = (bits + (0x3ff0000000000000 - 0x3fe6000000000000)) >> 52;
    const f64 f = f64_of_bits(bits - (exponent << 52) + 0x3ff0000000000000) - 1;
    /* An integer becomes f64 as the last bits of 2^52. */
    const f64 k = f64_of_bits(exponent + 0x4330000000000000) - (0x1p52 + 1023) - shift;
    const f64 high = k * LOG2_HIGH, low = k * LOG2_LOW;
    const f64 sum = high + f, lost = (high - sum) + f;
    const f64 half_square = f * f * 0.5;
    const f64 tail = logarithm_tail(f, half_square) + low;
    f64 result = sum + (lost - (half_square - tail));
    result = x == 0 ? -INFINITY : result;
    result = x < 0 ? NAN : result;
    return x < INFINITY ? result : x; /* +inf and NaN */
}
