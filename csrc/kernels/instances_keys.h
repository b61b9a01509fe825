/* Stamps the kernels of keys (keys.tmpl.h, keys_words.tmpl.h), for the baseline, whose
 * kernels serve all levels: each key goes where its hash says, and no level makes
 * vectors of that.
 */
#include "kernels/stamps.h"

#include <float.h>

#define KIND_NUMBER_HALF 128

enum {
    /* Keys whose places are asked for at a time: their hashes take 1 KiB. */
    KEYS_AT_A_TIME = 128
};

/* ---- words ---- */

/* The bits of a float of `nbits` bits whose infinity is `infinity`, in the order of the
 * numbers, in the lowest bits of the word: their size is added to the sign bit, or
 * taken from it, which gives both zeros one word. NaN is all ones there. */
TEMPLATE_INLINE uint64_t
ordered_bits(uint64_t bits, int nbits, uint64_t infinity)
{
    const uint64_t sign = UINT64_C(1) << (nbits - 1), ones = sign | (sign - 1);
    const uint64_t size = bits & (sign - 1), minus = 0 - (bits >> (nbits - 1));
    return size > infinity ? ones : sign + ((size ^ minus) - minus);
}

/* Halves are ordered by their bits, as floats are: no conversion is needed. */
TEMPLATE_INLINE uint64_t
ordered_f16(uint64_t bits)
{
    return ordered_bits(bits, 16, 0x7c00);
}

TEMPLATE_INLINE uint64_t
ordered_bf16(uint64_t bits)
{
    return ordered_bits(bits, 16, 0x7f80);
}

TEMPLATE_INLINE uint64_t
ordered_f32(uint64_t bits)
{
    return ordered_bits(bits, 32, 0x7f800000);
}

TEMPLATE_INLINE uint64_t
ordered_f64(uint64_t bits)
{
    return ordered_bits(bits, 64, UINT64_C(0x7ff) << 52);
}

/* Both parts in one word. */
TEMPLATE_INLINE void
join_c64(uint64_t re, uint64_t im, uint64_t *word)
{
    const uint64_t high = ordered_f32(re), low = ordered_f32(im);
    const bool is_missing = high == UINT32_MAX || low == UINT32_MAX;
    *word = is_missing ? UINT64_MAX : high << 32 | low;
}

/* Each in its own. */
TEMPLATE_INLINE void
join_c128(uint64_t re, uint64_t im, uint64_t *word)
{
    const uint64_t high = ordered_f64(re), low = ordered_f64(im);
    const bool is_missing = high == UINT64_MAX || low == UINT64_MAX;
    word[0] = is_missing ? UINT64_MAX : high;
    word[1] = is_missing ? UINT64_MAX : low;
}

/* A long double, which the addition brings into its normal form (x87 has several): sign
 * and exponent, then the mantissa; where it is no wider than a double, that and 0. */
TEMPLATE_INLINE void
order_long(f80 key, uint64_t *word)
{
    key = key + 0.0L;
#if LDBL_MANT_DIG == 53
    uint64_t bits;
    memcpy(&bits, &key, sizeof(bits));
    word[0] = ordered_f64(bits);
    word[1] = 0;
#else
    uint64_t part[2];
    memcpy(part, &key, sizeof(part));
    uint64_t high = LDBL_MANT_DIG == 64 ? part[1] & 0xffff : part[1], low = part[0];
    const uint64_t sign = UINT64_C(1) << (LDBL_MANT_DIG == 64 ? 15 : 63);
    const bool is_negative = (high & sign) != 0;
    word[0] = is_negative ? ~high & (sign | (sign - 1)) : high | sign;
    word[1] = is_negative ? ~low : low;
    if (key != key) {
        word[0] = word[1] = UINT64_MAX;
    }
#endif
}

/* word[i] = the bytes of a short item in the order of its characters, of `unit` bytes
 * each (1, or 4 native ones), of which 8 or fewer bytes. */
static void
NAME(keys_pack, word, raw)(uint64_t *restrict word, const char *restrict keys,
                           int64_t n, int64_t itemsize, int unit)
{
    for (int64_t i = 0; i < n; i++) {
        const char *const item = keys + i * itemsize;
        uint64_t packed = 0;
        for (int64_t k = 0; k < itemsize; k += unit) {
            uint32_t character = 0;
            memcpy(&character, item + k, unit == 4 ? 4 : 1);
            if (unit == 1) {
                character = (uint8_t)item[k];
            }
            packed = packed << 8 * unit | character;
        }
        word[i] = itemsize > 0 && itemsize < 8 ? packed << 8 * (8 - itemsize) : packed;
    }
}

/* The least and the largest of n words, and of *low and *high. Two of each are kept,
 * since every one waits for the one before it. */
static void
NAME(keys_range, word, u64)(const uint64_t *word, int64_t n, uint64_t *low,
                            uint64_t *high)
{
    uint64_t least = *low, most = *high, other_least = *low, other_most = *high;
    int64_t i = 0;
    for (; i + 1 < n; i += 2) {
        least = word[i] < least ? word[i] : least;
        most = word[i] > most ? word[i] : most;
        other_least = word[i + 1] < other_least ? word[i + 1] : other_least;
        other_most = word[i + 1] > other_most ? word[i + 1] : other_most;
    }
    if (i < n) {
        least = word[i] < least ? word[i] : least;
        most = word[i] > most ? word[i] : most;
    }
    least = other_least < least ? other_least : least;
    most = other_most > most ? other_most : most;
    *low = least;
    *high = most;
}

/* count[d][b]: of how many words is digit d (from the lowest) b? */
static void
NAME(keys_digits, word, u64)(const uint64_t *word, int64_t n, int64_t (*count)[256])
{
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 8; d++) {
            count[d][word[i] >> 8 * d & 255]++;
        }
    }
}

#define T f16
#define KIND HALF
#include "kernels/keys_words.tmpl.h"
#undef T
#define T bf16
#include "kernels/keys_words.tmpl.h"
#undef T
#undef KIND
#define TEMPLATE "kernels/keys_words.tmpl.h"
#include "kernels/foreach_dtype.h"

/* ---- hashes ---- */

/* Every word has a hash of its own, whose highest bits depend on all bits of the word.
 */
TEMPLATE_INLINE uint64_t
hash_of_word(uint64_t word, bool is_second)
{
    word *= is_second ? UINT64_C(0xa0761d6478bd642f) : UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    return word * UINT64_C(0xd6e8feb86659fd93);
}

/* Eight bytes of an item, or the n < 8 that are left and zeros. */
TEMPLATE_INLINE uint64_t
load_word(const char *item)
{
    uint64_t word;
    memcpy(&word, item, sizeof(word));
    return word;
}

/* Byte by byte: nothing behind the item may be read, and the order of bytes does not
 * matter, since all sides load alike. */
TEMPLATE_INLINE uint64_t
load_rest(const char *item, int64_t n)
{
    uint64_t word = 0;
    for (int64_t i = 0; i < n; i++) {
        word = word << 8 | (uint8_t)item[i];
    }
    return word;
}

/* Eight bytes at a time, each mixed with all before it; the last step brings what lies
 * low to the highest bits, of which places are made. Two functions: who has made keys
 * collide in the first has not done so in the second.
 */
TEMPLATE_INLINE uint64_t
hash_of_item(const char *item, int64_t size, bool is_second)
{
    const uint64_t factor =
            is_second ? UINT64_C(0xa0761d6478bd642f) : UINT64_C(0xff51afd7ed558ccd);
    const int shift = is_second ? 37 : 31;
    uint64_t hash = is_second ? UINT64_C(0xe7037ed1a0b428db) : 0;
    for (int64_t k = 0; k + 8 <= size; k += 8) {
        hash = (hash ^ load_word(item + k)) * factor;
        hash ^= hash >> shift;
    }
    if (size % 8 != 0) {
        hash = (hash ^ load_rest(item + size / 8 * 8, size % 8)) * factor;
        hash ^= hash >> shift;
    }
    return hash * UINT64_C(0xd6e8feb86659fd93);
}

/* ---- items ---- */

/* Are they equal byte by byte? Word by word, without a call: most items that are
 * compared are equal and short. */
TEMPLATE_INLINE bool
same_items(const char *a, const char *b, int64_t size)
{
    for (int64_t k = 0; k + 8 <= size; k += 8) {
        if (load_word(a + k) != load_word(b + k)) {
            return false;
        }
    }
    const int64_t whole = size / 8 * 8;
    return load_rest(a + whole, size - whole) == load_rest(b + whole, size - whole);
}

/* Whole numbers are compared, since their bytes lie in the machine's order. Less than,
 * equal to or more than 0, as a comes before b, is b or comes after it, in the order of
 * bytes, of native characters of four bytes, or of pairs of words. */
TEMPLATE_INLINE int
compare_items(enum ps_key_kind kind, const char *a, const char *b, int64_t size)
{
    if (kind == PS_KEYS_BYTES) {
        return memcmp(a, b, (size_t)size);
    }
    const int64_t unit = kind == PS_KEYS_UNITS ? 4 : 8;
    for (int64_t k = 0; k < size; k += unit) {
        uint64_t one = 0, other = 0;
        if (unit == 4) {
            uint32_t left, right;
            memcpy(&left, a + k, sizeof(left));
            memcpy(&right, b + k, sizeof(right));
            one = left;
            other = right;
        }
        else {
            one = load_word(a + k);
            other = load_word(b + k);
        }
        if (one != other) {
            return one < other ? -1 : 1;
        }
    }
    return 0;
}

#define T i32
#include "kernels/keys.tmpl.h"
#undef T
#define T i64
#include "kernels/keys.tmpl.h"
#undef T

/* clang-format off */
#define CANON_CELL(dtype) \
    [PS_##dtype] = NAME(keys_canon, word, dtype),
#define NUMBER_CELLS(family) {NAME(family, number, i32), NAME(family, number, i64)}

const ps_key_kernels GRID(keys, ISA) = {
    .canon = {CANON_CELL(b1) CANON_CELL(i8) CANON_CELL(u8) CANON_CELL(i16)
              CANON_CELL(u16) CANON_CELL(i32) CANON_CELL(u32) CANON_CELL(i64)
              CANON_CELL(u64) CANON_CELL(f32) CANON_CELL(f64) CANON_CELL(f80)
              CANON_CELL(c64) CANON_CELL(c128) CANON_CELL(t64) CANON_CELL(f16)
              CANON_CELL(bf16)},
    .pack = NAME(keys_pack, word, raw),
    .range = NAME(keys_range, word, u64),
    .digits = NAME(keys_digits, word, u64),
    .words = NUMBER_CELLS(keys_words),
    .items = NUMBER_CELLS(keys_items),
    .near = NUMBER_CELLS(keys_near),
    .refill = NUMBER_CELLS(keys_refill),
    .radix = NUMBER_CELLS(keys_radix),
    .insert = NUMBER_CELLS(keys_insert),
    .merge = NUMBER_CELLS(keys_merge),
    .runs = NUMBER_CELLS(keys_runs),
};
/* clang-format on */
