/* Strided copies by item size, as they are or with their bytes reversed. T is an
 * unaligned move type. Machinery of packing values and storing results.
 */

/* One item, last byte first. */
TEMPLATE_INLINE T
OF_TYPE(reversed)(T value)
{
    unsigned char bytes[sizeof(T)];
    memcpy(bytes, &value, sizeof(T));
    for (size_t i = 0; i < sizeof(T) / 2; i++) {
        const unsigned char other = bytes[i];
        bytes[i] = bytes[sizeof(T) - 1 - i];
        bytes[sizeof(T) - 1 - i] = other;
    }
    memcpy(&value, bytes, sizeof(T));
    return value;
}

/* to[i] = from[i], n items that are `to_stride` and `from_stride` bytes apart, anywhere
 * in memory. The stretches do not overlap, or are the same. Item by item in order; side
 * by side on both sides it is one memmove, and reversed a loop without strides. */
TEMPLATE_INLINE void
OF_TYPE(copy)(const bool swaps, char *to, int64_t to_stride, const char *from,
              int64_t from_stride, int64_t n)
{
    if (to_stride == (int64_t)sizeof(T) && from_stride == (int64_t)sizeof(T)) {
        if (!swaps) {
            memmove(to, from, (size_t)n * sizeof(T));
            return;
        }
        for (int64_t i = 0; i < n; i++) {
            ((T *)to)[i] = OF_TYPE(reversed)(((const T *)from)[i]);
        }
        return;
    }
    if (!swaps && to_stride == (int64_t)sizeof(T) &&
        from_stride == -(int64_t)sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            ((T *)to)[i] = *((const T *)from - i);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T value = *(const T *)(from + i * from_stride);
        *(T *)(to + i * to_stride) = swaps ? OF_TYPE(reversed)(value) : value;
    }
}
