/* nonzero: the places of the true bits of a mask, and their coordinates. T is the type
 * of a place. Machinery of masks: kernels/mask.h.
 *
 * positions writes to[0..room) and not a byte beyond: its stretches of eight places
 * overrun what they find, so they are taken only while there is room for 64 places, and
 * the last are written one by one. The memory behind may be another thread's.
 */

/* NTH_BIT(b, k): the place of the k-th true bit of the byte b, which is the number of
 * leading stretches of b that have at most k true bits; 7 when there is no such bit. */
#define FEW_BITS(b, last, k) (__builtin_popcount((b) & ((2 << (last)) - 1)) <= (k))
#define FEW_LOW(b, k) FEW_BITS(b, 0, k) + FEW_BITS(b, 1, k) + FEW_BITS(b, 2, k)
#define FEW_HIGH(b, k) FEW_BITS(b, 3, k) + FEW_BITS(b, 4, k) + FEW_BITS(b, 5, k)
#define NTH_BIT(b, k) FEW_LOW(b, k) + FEW_HIGH(b, k) + FEW_BITS(b, 6, k)
#define BITS_LOW(b) NTH_BIT(b, 0), NTH_BIT(b, 1), NTH_BIT(b, 2), NTH_BIT(b, 3)
#define BITS_HIGH(b) NTH_BIT(b, 4), NTH_BIT(b, 5), NTH_BIT(b, 6), NTH_BIT(b, 7)
#define BITS_1(b) {BITS_LOW(b), BITS_HIGH(b)}
#define BITS_4(b) BITS_1(b), BITS_1((b) + 1), BITS_1((b) + 2), BITS_1((b) + 3)
#define BITS_16(b) BITS_4(b), BITS_4((b) + 4), BITS_4((b) + 8), BITS_4((b) + 12)
#define BITS_64(b) BITS_16(b), BITS_16((b) + 16), BITS_16((b) + 32), BITS_16((b) + 48)

static const uint8_t places_of_byte[256][8] = {BITS_64(0), BITS_64(64), BITS_64(128),
                                               BITS_64(192)};

/* Up to eight true bits, found from the lowest: writes eight places, of which the first
 * popcount(word) are meant. */
TEMPLATE_INLINE void
OF_TYPE(few_places)(T *restrict to, uint64_t word, int count, T base)
{
    for (int i = 0; i < 4; i++) {
        to[i] = base + (T)__builtin_ctzll(word | (uint64_t)1 << 63);
        word &= word - 1;
    }
    if (count > 4) {
        for (int i = 4; i < 8; i++) {
            to[i] = base + (T)__builtin_ctzll(word | (uint64_t)1 << 63);
            word &= word - 1;
        }
    }
}

/* Any number of true bits, eight places from the table for each byte of the word. */
TEMPLATE_INLINE void
OF_TYPE(many_places)(T *restrict to, uint64_t word, T base)
{
    for (int byte = 0; byte < 8; byte++) {
        const unsigned bits = (unsigned)(word >> (8 * byte)) & 255;
        const uint8_t *const place = places_of_byte[bits];
        for (int i = 0; i < 8; i++) {
            to[i] = base + 8 * byte + place[i];
        }
        to += __builtin_popcount(bits);
    }
}

/* The same for all 64 bits of a word. */
TEMPLATE_INLINE void
OF_TYPE(all_places)(T *restrict to, T base)
{
    for (int i = 0; i < 64; i++) {
        to[i] = base + i;
    }
}

/* to[k] = base + place of the k-th true bit of word [n_words], for the first `room`
 * true bits. Ascending. Returns how many places were written. Moves 8 bytes a word and
 * 8 a place; 0.01 ns a bit when few are true, 0.1 when many are. */
TEMPLATE_INLINE int64_t
OF_TYPE(positions)(T *restrict to, const uint64_t *restrict word, int64_t n_words,
                   T base, int64_t room)
{
    T *const start = to;
    T *const end = to + room;
    int64_t i = 0;
    for (; i < n_words && end - to >= 64; i++, base += 64) {
        if (word[i] == 0) {
            continue;
        }
        const int found = __builtin_popcountll(word[i]);
        if (found <= 8) {
            OF_TYPE(few_places)(to, word[i], found, base);
        }
        else if (found < 64) {
            OF_TYPE(many_places)(to, word[i], base);
        }
        else {
            OF_TYPE(all_places)(to, base);
        }
        to += found;
    }
    for (; i < n_words && to < end; i++, base += 64) {
        for (uint64_t bits = word[i]; bits != 0 && to < end; bits &= bits - 1) {
            *to++ = base + (T)__builtin_ctzll(bits);
        }
    }
    return to - start;
}

/* One step from places to coordinates: list[i], in [0, PS_SPLIT_REACH), plus `add`, in
 * [0, size), is divided by `size`: quotient back to list [n], remainder to
 * remainder[i * step]. The quotient is that by a multiplied reciprocal 2^32 / size,
 * rounded up: for x < 2 PS_SPLIT_REACH and size < PS_SPLIT_REACH the error x / 2^32
 * stays below 1 / size, so it is exact; for a larger size the quotient is 0 or 1. */
TEMPLATE_INLINE void
OF_TYPE(split)(T *restrict list, T *restrict remainder, int64_t step, int64_t n, T add,
               T size)
{
    if (size >= PS_SPLIT_REACH) {
        for (int64_t i = 0; i < n; i++) {
            const T x = list[i] + add;
            const T quotient = x >= size;
            remainder[i * step] = x - (quotient ? size : 0);
            list[i] = quotient;
        }
        return;
    }
    if (size == 1) {
        for (int64_t i = 0; i < n; i++) {
            remainder[i * step] = 0;
        }
        return;
    }
    const uint32_t reciprocal = (uint32_t)(((uint64_t)1 << 32) / (uint64_t)size + 1);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)(list[i] + add);
        const uint32_t quotient = (uint32_t)((uint64_t)x * reciprocal >> 32);
        remainder[i * step] = (T)(x - quotient * (uint32_t)size);
        list[i] = (T)quotient;
    }
}
