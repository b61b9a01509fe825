/* float16 and bfloat16 to and from f32, exactly and without a branch.
 *
 * Both are stored types: arithmetic happens in f32 and one rounding to nearest, ties to
 * even, leads back. f64 goes through an f32 rounded to odd, which makes the second
 * rounding the only one that shows (Boldo and Melquiond 2008).
 */

/* The bits of a number, and the number of some bits: memcpy is the one way that C has
 * for it. */
TEMPLATE_INLINE u32
bits_of_f32(f32 value)
{
    u32 bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

TEMPLATE_INLINE f32
f32_of_bits(u32 bits)
{
    f32 value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

TEMPLATE_INLINE f32
f32_from_bf16(bf16 value)
{
    return f32_of_bits((u32)value.bits << 16);
}

TEMPLATE_INLINE bf16
bf16_from_f32(f32 value)
{
    const u32 bits = bits_of_f32(value);
    const u32 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const u32 quiet = (bits >> 16) | 0x40;
    return (bf16){(uint16_t)(value != value ? quiet : rounded)};
}

/* Ten bits of fraction are put at the top of f32's; the exponent is corrected by a
 * product with 2^112, which also normalises subnormal numbers. */
TEMPLATE_INLINE f32
f32_from_f16(f16 value)
{
    const u32 sign = (u32)(value.bits & 0x8000) << 16;
    const u32 size = (u32)(value.bits & 0x7fff) << 13;
    const u32 finite = bits_of_f32(f32_of_bits(size) * 0x1p112f);
    const u32 special = size | 0x7f800000;
    return f32_of_bits(sign | (size >= 0x0f800000 ? special : finite));
}

/* Normal results are rounded by an integer addition; subnormal ones by adding 0.5,
 * whose last place is f16's smallest number. */
TEMPLATE_INLINE f16
f16_from_f32(f32 value)
{
    const u32 bits = bits_of_f32(value);
    const u32 sign = (bits >> 16) & 0x8000;
    const u32 size = bits & 0x7fffffff;
    const u32 normal = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
    const u32 small = bits_of_f32(f32_of_bits(size) + 0.5f) - 0x3f000000;
    const u32 special = size > 0x7f800000 ? 0x7e00 | ((size >> 13) & 0x3ff) : 0x7c00;
    u32 result = size < 0x38800000 ? small : normal;
    result = size >= 0x477ff000 ? special : result;
    return (f16){(uint16_t)(sign | result)};
}

/* value rounded to f32 such that an inexact result has an odd last bit. */
TEMPLATE_INLINE f32
f32_rounded_to_odd(f64 value)
{
    const f32 near = (f32)value;
    const f64 back = (f64)near;
    const f64 size = value < 0 ? -value : value;
    const f64 back_size = back < 0 ? -back : back;
    const u32 bits = bits_of_f32(near);
    const u32 below = back_size > size ? bits - 1 : bits;
    return (back == value || value != value) ? near : f32_of_bits(below | 1);
}

TEMPLATE_INLINE f16
f16_from_f64(f64 value)
{
    return f16_from_f32(f32_rounded_to_odd(value));
}

TEMPLATE_INLINE bf16
bf16_from_f64(f64 value)
{
    return bf16_from_f32(f32_rounded_to_odd(value));
}
