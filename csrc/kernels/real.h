/* One real number read from memory as f64 or as an integer, and one written.
 *
 * REAL_AS(from, address): how pack.tmpl.h reads a value of type `from`. Integers up to
 * 64 bits stay integers, so that i64 to u64 or i64 to i32 wraps; the rest goes through
 * f64, which holds each of f16, bf16 and f32 exactly, so the cast to T rounds once.
 */

/* What floats become where no integer fits, NaN included: what x86 conversion gives. */
TEMPLATE_INLINE int64_t
integer_of(f64 value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

TEMPLATE_INLINE uint64_t
unsigned_of(f64 value)
{
    return value >= 0x1p63 && value < 0x1p64 ? (uint64_t)value
                                             : (uint64_t)integer_of(value);
}

/* clang-format off */
TEMPLATE_INLINE i8 i8_from_f64(f64 value) { return (i8)integer_of(value); }
TEMPLATE_INLINE u8 u8_from_f64(f64 value) { return (u8)integer_of(value); }
TEMPLATE_INLINE i16 i16_from_f64(f64 value) { return (i16)integer_of(value); }
TEMPLATE_INLINE u16 u16_from_f64(f64 value) { return (u16)integer_of(value); }
TEMPLATE_INLINE i32 i32_from_f64(f64 value) { return (i32)integer_of(value); }
TEMPLATE_INLINE u32 u32_from_f64(f64 value) { return (u32)integer_of(value); }
TEMPLATE_INLINE i64 i64_from_f64(f64 value) { return integer_of(value); }
TEMPLATE_INLINE u64 u64_from_f64(f64 value) { return unsigned_of(value); }
TEMPLATE_INLINE b1 b1_from_f64(f64 value) { return value != 0; }
TEMPLATE_INLINE f32 f32_from_f64(f64 value) { return (f32)value; }
TEMPLATE_INLINE f64 f64_from_f64(f64 value) { return value; }

TEMPLATE_INLINE i8 i8_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (i8)bits; }
TEMPLATE_INLINE u8 u8_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (u8)bits; }
TEMPLATE_INLINE i16 i16_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (i16)bits; }
TEMPLATE_INLINE u16 u16_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (u16)bits; }
TEMPLATE_INLINE i32 i32_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (i32)bits; }
TEMPLATE_INLINE u32 u32_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (u32)bits; }
TEMPLATE_INLINE i64 i64_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return (i64)bits; }
TEMPLATE_INLINE u64 u64_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return bits; }
TEMPLATE_INLINE b1 b1_from_int(uint64_t bits, bool is_signed) { (void)is_signed; return bits != 0; }
TEMPLATE_INLINE f32 f32_from_int(uint64_t bits, bool is_signed) { return is_signed ? (f32)(int64_t)bits : (f32)bits; }
TEMPLATE_INLINE f64 f64_from_int(uint64_t bits, bool is_signed) { return is_signed ? (f64)(int64_t)bits : (f64)bits; }
/* clang-format on */

/* Integers beyond 2^53 are made odd where f64 would round them, so that the rounding to
 * the half type is the only one. */
TEMPLATE_INLINE f64
f64_odd_from_int(uint64_t bits, bool is_signed)
{
    const bool is_negative = is_signed && (int64_t)bits < 0;
    uint64_t size = is_negative ? 0 - bits : bits;
    if (size >> 53) {
        size = (size & ~(uint64_t)0xfff) | ((size & 0xfff) != 0 ? (uint64_t)0x1000 : 0);
    }
    return is_negative ? -(f64)size : (f64)size;
}

TEMPLATE_INLINE f16
f16_from_int(uint64_t bits, bool is_signed)
{
    return f16_from_f64(f64_odd_from_int(bits, is_signed));
}

TEMPLATE_INLINE bf16
bf16_from_int(uint64_t bits, bool is_signed)
{
    return bf16_from_f64(f64_odd_from_int(bits, is_signed));
}
