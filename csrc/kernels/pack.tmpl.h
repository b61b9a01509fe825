/* cast: to[i] = (T)from[i], for the real types; to is contiguous and aligned, from is
 * strided and may lie anywhere. Rounds to nearest once; integers wrap; a float that no
 * integer fits becomes what x86 makes of it. Which casts a call may ask for is decided
 * above, by NumPy's casting rules.
 */

/* One item of `type`, a constant of the caller, at any address: integers and booleans
 * by way of 64 bits, floats by way of f64, which holds all of them; whatever byte a
 * boolean is, it counts as 0 or 1. */
TEMPLATE_INLINE T
OF_TYPE(load_as)(const enum ps_dtype type, const char *address)
{
    /* clang-format off */
#define LOAD_INT(S, is_signed) \
    case PS_##S: { \
        S value; \
        memcpy(&value, address, sizeof(value)); \
        return PASTE2(T, from_int)((uint64_t)value, is_signed); \
    }
    /* clang-format on */
    switch (type) {
        case PS_b1:
            return PASTE2(T, from_int)(*(const uint8_t *)address != 0, false);
            LOAD_INT(i8, true)
            LOAD_INT(u8, false)
            LOAD_INT(i16, true)
            LOAD_INT(u16, false)
            LOAD_INT(i32, true)
            LOAD_INT(u32, false)
            LOAD_INT(i64, true)
            LOAD_INT(u64, false)
        case PS_f16: {
            f16 value;
            memcpy(&value, address, sizeof(value));
            return PASTE2(T, from_f64)(f32_from_f16(value));
        }
        case PS_bf16: {
            bf16 value;
            memcpy(&value, address, sizeof(value));
            return PASTE2(T, from_f64)(f32_from_bf16(value));
        }
        case PS_f32: {
            f32 value;
            memcpy(&value, address, sizeof(value));
            return PASTE2(T, from_f64)(value);
        }
        default: {
            f64 value;
            memcpy(&value, address, sizeof(value));
            return PASTE2(T, from_f64)(value);
        }
    }
#undef LOAD_INT
}

/* to[i] = (T)from[i] for n items of `type`, in order; side by side the compiler makes
 * vector code of them. Every item is read and written once. */
TEMPLATE_INLINE void
OF_TYPE(cast)(const enum ps_dtype type, char *restrict to, const char *restrict from,
              int64_t n, int64_t from_stride)
{
    T *const result = (T *)to;
    const int64_t size = ps_dtype_size[type];
    if (from_stride == size) {
        for (int64_t i = 0; i < n; i++) {
            result[i] = OF_TYPE(load_as)(type, from + i * size);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        result[i] = OF_TYPE(load_as)(type, from + i * from_stride);
    }
}
