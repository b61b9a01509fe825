/* Blocks of elements under a word of mask bits (kernels/mask.h): what the where family
 * does to 64 of them at a time. Bit i of a word belongs to element i of the block.
 *
 * With AVX-512 an element that a bit leaves out is a lane that is neither loaded nor
 * stored, so it cannot fault and another thread may own it.
 */
#include "kernels/move_types.h"

enum {
    BLOCK = PS_WORD_BITS,
    /* Up to so many set bits are cheaper walked one by one than by masked vectors. ns
     * an element on Zen 4, f64, 1e6 elements, walked against masked: 1 % set 0.03 /
     * 0.12, 10 % 0.17 / 0.23, 50 % 0.37 / 0.23. */
    FEW = 10
};

/* The word of the first n <= BLOCK mask bytes; bits behind them are 0. */
TEMPLATE_INLINE uint64_t
word_of_some(const char *mask, int64_t n)
{
    if (n >= BLOCK) {
        return word_of_bytes(mask);
    }
    char padded[BLOCK] = {0};
    memcpy(padded, mask, (size_t)n);
    return word_of_bytes(padded);
}

/* The place of the lowest set bit, which is cleared. */
TEMPLATE_INLINE int
take_bit(uint64_t *word)
{
    const int at = __builtin_ctzll(*word);
    *word &= *word - 1;
    return at;
}

/* Copy whole cache lines past the caches: the lines of `to` are neither read nor kept.
 */
TEMPLATE_INLINE void
stream_lines(char *restrict to, const char *restrict from, int64_t nbytes)
{
#if defined(__x86_64__)
    for (int64_t at = 0; at < nbytes; at += 16) {
        _mm_stream_si128((__m128i *)(void *)(to + at),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
    }
#else
    memcpy(to, from, (size_t)nbytes);
#endif
}

/* What was streamed is visible before any store that follows. */
TEMPLATE_INLINE void
end_stream(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

#if defined(ISA_HAS_AVX512)

/* Each bit twice, for items of two lanes. */
TEMPLATE_INLINE __mmask8
doubled_bits(uint64_t word)
{
    return (__mmask8)(_pdep_u32((uint32_t)word & 15, 0x55) * 3);
}

/* clang-format off */
#define LANES_MASK_1(word) ((__mmask64)(word))
#define LANES_MASK_2(word) ((__mmask32)(word))
#define LANES_MASK_4(word) ((__mmask16)(word))
#define LANES_MASK_8(word) ((__mmask8)(word))
#define LANES_MASK_16(word) doubled_bits(word)

/* lanes_load: the lanes that the low bits of `word` name; 0 elsewhere.
 * lanes_store: those lanes of a vector; nothing elsewhere. */
#define LANES_INSTANCES(size, lane)                                                       \
    TEMPLATE_INLINE __m512i lanes_load_move##size(uint64_t word, const void *from)        \
    { return _mm512_maskz_loadu_epi##lane(LANES_MASK_##size(word), from); }               \
    TEMPLATE_INLINE void lanes_store_move##size(void *to, uint64_t word, __m512i vector)  \
    { _mm512_mask_storeu_epi##lane(to, LANES_MASK_##size(word), vector); }
LANES_INSTANCES(1, 8) LANES_INSTANCES(2, 16) LANES_INSTANCES(4, 32)
LANES_INSTANCES(8, 64) LANES_INSTANCES(16, 64)

/* Named lanes moved together to the low end, in a register, since compress to memory is
 * microcode on Zen 4. This level has no such instruction for lanes of one or two bytes. */
TEMPLATE_INLINE __m512i lanes_pack_move4(uint64_t word, __m512i vector)
{ return _mm512_maskz_compress_epi32((__mmask16)word, vector); }
TEMPLATE_INLINE __m512i lanes_pack_move8(uint64_t word, __m512i vector)
{ return _mm512_maskz_compress_epi64((__mmask8)word, vector); }
TEMPLATE_INLINE __m512i lanes_pack_move16(uint64_t word, __m512i vector)
{ return _mm512_maskz_compress_epi64(doubled_bits(word), vector); }
/* clang-format on */

#define CAN_PACK_move1 0
#define CAN_PACK_move2 0
#define CAN_PACK_move4 1
#define CAN_PACK_move8 1
#define CAN_PACK_move16 1
#define CAN_PACK_T PASTE2(CAN_PACK, T)

#else
#define CAN_PACK_T 0
#endif
