/* Strided copies by item size, as they are or with their bytes reversed, and columns
 * turned into rows. T is an unaligned move type. Machinery of packing values, reading
 * masks and arrays beside them, and storing results.
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
 * by side on both sides it is one memmove. Reversed items and every second one (parts
 * of complex numbers) have loops without strides, which become vectors: ns an item of
 * float64, every second one 0.2, by strides 0.4 (Zen 3). */
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
    if (!swaps && to_stride == (int64_t)sizeof(T) &&
        from_stride == 2 * (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            ((T *)to)[i] = ((const T *)from)[2 * i];
        }
        return;
    }
    /* Unrolled, since a loop of so few instructions takes up to twice as long where it
     * lies across lines of code. */
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++) {
        const T value = *(const T *)(from + i * from_stride);
        *(T *)(to + i * to_stride) = swaps ? OF_TYPE(reversed)(value) : value;
    }
}

#if PARTS_OF_T == 1

/* Four items of four columns become four rows, in registers: a column at a time every
 * item would be a store of its own. ns an item of 8 columns of float64 in the first
 * cache (Zen 3): 0.19, item by item 0.45. */
TEMPLATE_INLINE void
OF_TYPE(turn_quads)(char *restrict to, int64_t to_stride, const int64_t *offset,
                    const char *restrict from)
{
    typedef PASTE2(quad, T) quad;
    quad a, b, c, d;
    memcpy(&a, from + offset[0], sizeof(quad));
    memcpy(&b, from + offset[1], sizeof(quad));
    memcpy(&c, from + offset[2], sizeof(quad));
    memcpy(&d, from + offset[3], sizeof(quad));
    const quad ab_even = __builtin_shuffle(a, b, (quad){0, 4, 2, 6});
    const quad ab_odd = __builtin_shuffle(a, b, (quad){1, 5, 3, 7});
    const quad cd_even = __builtin_shuffle(c, d, (quad){0, 4, 2, 6});
    const quad cd_odd = __builtin_shuffle(c, d, (quad){1, 5, 3, 7});
    a = __builtin_shuffle(ab_even, cd_even, (quad){0, 1, 4, 5});
    b = __builtin_shuffle(ab_odd, cd_odd, (quad){0, 1, 4, 5});
    c = __builtin_shuffle(ab_even, cd_even, (quad){2, 3, 6, 7});
    d = __builtin_shuffle(ab_odd, cd_odd, (quad){2, 3, 6, 7});
    memcpy(to, &a, sizeof(quad));
    memcpy(to + to_stride, &b, sizeof(quad));
    memcpy(to + 2 * to_stride, &c, sizeof(quad));
    memcpy(to + 3 * to_stride, &d, sizeof(quad));
}

/* Eight bytes of eight columns become eight rows, by three steps of pairs, fours and
 * eights. ns a byte of 8 columns in the first cache (Zen 3), by eights / fours / one by
 * one: 0.08 / 0.22 / 0.73. */
TEMPLATE_INLINE void
OF_TYPE(turn_octets)(char *restrict to, int64_t to_stride, const int64_t *offset,
                     const char *restrict from)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    const bytes low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    const bytes high = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    bytes pair[4];
    for (int k = 0; k < 4; k++) {
        uint64_t near, far;
        memcpy(&near, from + offset[k], sizeof(near));
        memcpy(&far, from + offset[k + 4], sizeof(far));
        pair[k] =
                __builtin_shuffle((bytes)(words){near, 0}, (bytes)(words){far, 0}, low);
    }
    const bytes even_low = __builtin_shuffle(pair[0], pair[2], low);
    const bytes even_high = __builtin_shuffle(pair[0], pair[2], high);
    const bytes odd_low = __builtin_shuffle(pair[1], pair[3], low);
    const bytes odd_high = __builtin_shuffle(pair[1], pair[3], high);
    const bytes rows[4] = {__builtin_shuffle(even_low, odd_low, low),
                           __builtin_shuffle(even_low, odd_low, high),
                           __builtin_shuffle(even_high, odd_high, low),
                           __builtin_shuffle(even_high, odd_high, high)};
    for (int k = 0; k < 4; k++) {
        const words two = (words)rows[k];
        const uint64_t first = two[0], second = two[1];
        memcpy(to + 2 * k * to_stride, &first, sizeof(first));
        memcpy(to + (2 * k + 1) * to_stride, &second, sizeof(second));
    }
}

/* Two items of eight bytes of two columns become two rows, where vectors hold no four.
 * ns an item of 8 columns at the baseline, by pairs / fours: 0.22 / 3.2. */
TEMPLATE_INLINE void
OF_TYPE(turn_pairs)(char *restrict to, int64_t to_stride, const int64_t *offset,
                    const char *restrict from)
{
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair a, b;
    memcpy(&a, from + offset[0], sizeof(pair));
    memcpy(&b, from + offset[1], sizeof(pair));
    const pair first = __builtin_shuffle(a, b, (pair){0, 2});
    const pair second = __builtin_shuffle(a, b, (pair){1, 3});
    memcpy(to, &first, sizeof(pair));
    memcpy(to + to_stride, &second, sizeof(pair));
}

/* A square of columns, of so many items a side, becomes rows in registers. A vector
 * that the level does not have is taken apart by the compiler, item by item and by way
 * of the stack, which is far slower than no vectors at all: so the side is chosen by
 * level. What is left at the right and at the bottom of the squares goes one by one.
 * offset [side], as in turn below; reads and writes side * side items, of any
 * alignment.
 */
#if defined(ISA_HAS_AVX2)
#define SIDE_OF_SQUARE (sizeof(T) == 1 ? 8 : 4)
#else
#define SIDE_OF_SQUARE (sizeof(T) == 1 ? 8 : sizeof(T) == 8 ? 2 : 4)
#endif

TEMPLATE_INLINE void
OF_TYPE(turn_square)(char *restrict to, int64_t to_stride, const int64_t *offset,
                     const char *restrict from)
{
    (SIDE_OF_SQUARE == 8   ? OF_TYPE(turn_octets)
     : SIDE_OF_SQUARE == 4 ? OF_TYPE(turn_quads)
                           : OF_TYPE(turn_pairs))(to, to_stride, offset, from);
}

#endif

/* to[r][c] = from[c][r]: column c starts `offset[c]` bytes into `from`, its items side
 * by side; row r starts r * to_stride bytes into `to`, its items side by side. The two
 * do not overlap. Moves 2 sizeof(T) bytes an item. Row by row, so that a line of `to`
 * is complete before the next one. */
TEMPLATE_INLINE void
OF_TYPE(turn)(char *restrict to, int64_t to_stride, const int64_t *offset,
              int64_t columns, const char *restrict from, int64_t rows)
{
    int64_t row = 0;
#if PARTS_OF_T == 1
    enum {
        SIDE = SIDE_OF_SQUARE
    };
    for (; row + SIDE <= rows;
         row += SIDE, to += SIDE * to_stride, from += SIDE * sizeof(T)) {
        int64_t column = 0;
        for (; column + SIDE <= columns; column += SIDE) {
            OF_TYPE(turn_square)
            (to + column * (int64_t)sizeof(T), to_stride, offset + column, from);
        }
        for (; column < columns; column++) {
            const T *const item = (const T *)(from + offset[column]);
            for (int k = 0; k < SIDE; k++) {
                ((T *)(to + k * to_stride))[column] = item[k];
            }
        }
    }
#endif
    for (; row < rows; row++, to += to_stride, from += sizeof(T)) {
        for (int64_t column = 0; column < columns; column++) {
            ((T *)to)[column] = *(const T *)(from + offset[column]);
        }
    }
}
#undef SIDE_OF_SQUARE
