/* truth: to[i] = 1 where from[i] has a bit of `bits`, else 0. T is an unaligned move
 * type, so from may lie anywhere, `stride` bytes apart; to [n] is contiguous bytes.
 *
 * Truth of every type is a question about bits: an integer, a time or NaT is true when
 * any bit is set, a float when any bit but its sign is (so NaN is true and -0.0 is
 * not), a complex number when either part is. Foreign byte order is another `bits`,
 * which come repeated in 16 bytes.
 * Moves n (sizeof(T) + 1) bytes.
 */

/* Elements that a register of 512 bits tests at once, and the test; 0: none. */
#define LANES_OF_move1 64
#define LANES_OF_move2 32
#define LANES_OF_move4 16
#define LANES_OF_move8 8
#define LANES_OF_move16 0
#define LANES_OF_T PASTE2(LANES_OF, T)
#define TEST_OF_move1 _mm512_test_epi8_mask
#define TEST_OF_move2 _mm512_test_epi16_mask
#define TEST_OF_move4 _mm512_test_epi32_mask
#define TEST_OF_move8 _mm512_test_epi64_mask
#define TEST_OF_T PASTE2(TEST_OF, T)

TEMPLATE_INLINE char
OF_TYPE(is_true)(const T value, const T bits)
{
#if LANES_OF_T == 0 /* two numbers */
    return ((value.low & bits.low) | (value.high & bits.high)) != 0;
#else
    return (value & bits) != 0;
#endif
}

/* The contiguous loop stands alone, so that the compiler turns it into vectors. */
TEMPLATE_INLINE void
OF_TYPE(truth)(char *restrict to, const char *restrict from, int64_t stride, int64_t n,
               const char *bits_of_type)
{
    const T bits = *(const T *)bits_of_type;
    if (stride == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = OF_TYPE(is_true)(((const T *)from)[i], bits);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = OF_TYPE(is_true)(*(const T *)(from + i * stride), bits);
    }
}

/* The word of 64 contiguous elements: bit i is element i. AVX-512 tests lanes into bits
 * at once, which takes a fifth less time than bytes in between. */
TEMPLATE_INLINE uint64_t
OF_TYPE(word_of)(const char *from, const char *bits_of_type)
{
#if defined(ISA_HAS_AVX512) && LANES_OF_T > 0
    const __m512i bits = _mm512_broadcast_i32x4(*(const __m128i_u *)bits_of_type);
    uint64_t word = 0;
    for (int lane = 0; lane < 64; lane += LANES_OF_T) {
        const __m512i lanes = _mm512_loadu_si512(from + lane * (int)sizeof(T));
        word |= (uint64_t)TEST_OF_T(lanes, bits) << lane;
    }
    return word;
#else
    char mask[64];
    OF_TYPE(truth)(mask, from, (int64_t)sizeof(T), 64, bits_of_type);
    return word_of_bytes(mask);
#endif
}

/* word[i] = truth of elements 64 i, 64 i + 1, ... of from [n], contiguous; bits beyond
 * n are 0. Returns the number of true elements. Moves n (sizeof(T) + 1 / 8) bytes. */
TEMPLATE_INLINE int64_t
OF_TYPE(truth_words)(uint64_t *restrict word, const char *restrict from, int64_t n,
                     const char *bits_of_type)
{
    int64_t count = 0;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        word[i / 64] = OF_TYPE(word_of)(from + i * (int64_t)sizeof(T), bits_of_type);
        count += __builtin_popcountll(word[i / 64]);
    }
    if (i < n) {
        char last[64] = {0};
        OF_TYPE(truth)(last, from + i * (int64_t)sizeof(T), (int64_t)sizeof(T), n - i,
                       bits_of_type);
        word[i / 64] = word_of_bytes(last);
        count += __builtin_popcountll(word[i / 64]);
    }
    return count;
}
