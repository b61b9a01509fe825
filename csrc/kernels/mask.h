/* Masks: bytes of which every non-zero one is true, and words of 64 such bits.
 *
 * A word is the handy form of 64 mask bytes: one test tells that none or all of them
 * are true, so empty and full stretches cost next to nothing, and a pass that has read
 * the bytes once need not read them again. Bit i of a word is byte i.
 */

/* The word of 64 mask bytes. Without vectors: the top bit of each byte tells whether
 * the byte is non-zero, and a product brings eight top bits together. */
TEMPLATE_INLINE uint64_t
word_of_bytes(const char *mask)
{
#if defined(ISA_HAS_AVX512)
    /* One instruction that sets a bit for each non-zero byte. */
    const __m512i bytes = _mm512_loadu_si512(mask);
    return _mm512_test_epi8_mask(bytes, bytes);
#elif defined(ISA_HAS_AVX2)
    /* Zero bytes are found, their top bits gathered, and the word turned round. */
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)mask);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(mask + 32));
    const uint32_t low_zeros =
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, zero));
    const uint32_t high_zeros =
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, zero));
    return ~((uint64_t)high_zeros << 32 | low_zeros);
#elif defined(__SSE2__)
    uint64_t zeros = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes =
                _mm_loadu_si128((const __m128i *)(const void *)(mask + 16 * i));
        const __m128i is_zero = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
        zeros |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_zero) << (16 * i);
    }
    return ~zeros;
#else
    const uint64_t sevens = 0x7f7f7f7f7f7f7f7f;
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t bytes = 0;
        for (int k = 0; k < 8; k++) {
            bytes |= (uint64_t)(uint8_t)mask[8 * i + k] << (8 * k);
        }
        const uint64_t tops = (((bytes & sevens) + sevens) | bytes) & ~sevens;
        word |= ((tops >> 7) * 0x0102040810204080) >> 56 << (8 * i);
    }
    return word;
#endif
}

/* word[i] = bits 64 i, 64 i + 1, ... of mask [n]; bits beyond n are 0. word has room
 * for n / 64 words, rounded up. Returns the number of true bytes. Reads n bytes, writes
 * n / 8. */
OF_UNIT int64_t
mask_words(uint64_t *restrict word, const char *restrict mask, int64_t n)
{
    int64_t count = 0;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const uint64_t bits = word_of_bytes(mask + i);
        word[i / 64] = bits;
        count += __builtin_popcountll(bits);
    }
    if (i < n) { /* not a byte behind the mask is read */
        char last[64] = {0};
        memcpy(last, mask + i, (size_t)(n - i));
        word[i / 64] = word_of_bytes(last);
        count += __builtin_popcountll(word[i / 64]);
    }
    return count;
}

/* The number of true bytes of mask [n]. 64 counters of a byte each are as fast as
 * AVX-512's test and popcount (0.012 ns a byte), and the compiler finds them on every
 * level; they are added up before the first of them can overflow. */
OF_UNIT int64_t
mask_count(const char *mask, int64_t n)
{
    int64_t count = 0;
    int64_t i = 0;
    while (i + 64 <= n) {
        const int64_t rounds = (n - i) / 64 < 255 ? (n - i) / 64 : 255;
        uint8_t counter[64] = {0};
        for (int64_t round = 0; round < rounds; round++, i += 64) {
            for (int k = 0; k < 64; k++) {
                counter[k] = (uint8_t)(counter[k] + (mask[i + k] != 0));
            }
        }
        for (int k = 0; k < 64; k++) {
            count += counter[k];
        }
    }
    for (; i < n; i++) {
        count += mask[i] != 0;
    }
    return count;
}

/* The sum of each column of mask [rows, width], whose rows are `pitch` bytes apart, is
 * added to the int64 at to + j * step. Up to 255 rows are added up in bytes. */
static void
mask_sum_columns(char *restrict to, int64_t step, const char *restrict mask,
                 int64_t rows, int64_t width, int64_t pitch)
{
    uint8_t counter[256];
    for (int64_t row = 0; row < rows; row += 255) {
        const int64_t last = rows - row < 255 ? rows : row + 255;
        memset(counter, 0, (size_t)width);
        for (int64_t i = row; i < last; i++) {
            for (int64_t j = 0; j < width; j++) {
                counter[j] = (uint8_t)(counter[j] + (mask[i * pitch + j] != 0));
            }
        }
        for (int64_t j = 0; j < width; j++) {
            *(int64_t *)(to + j * step) += counter[j];
        }
    }
}

/* The int64 at to + j * step goes up by one where mask [n] is true. */
TEMPLATE_INLINE void
mask_raise(char *restrict to, int64_t step, const char *restrict mask, int64_t n)
{
    if (step == (int64_t)sizeof(int64_t)) {
        for (int64_t j = 0; j < n; j++) {
            ((int64_t *)to)[j] += mask[j] != 0;
        }
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        *(int64_t *)(to + j * step) += mask[j] != 0;
    }
}

/* The int64 at to + i * row_step + j * step goes up by one where mask [rows, width],
 * contiguous, is true. step 0: rows are counted; row_step 0: columns are. Reads a byte
 * an element; a row of three costs 3 ns, a wide one 0.02 ns a byte. */
OF_UNIT void
mask_add(char *restrict to, int64_t row_step, int64_t step, const char *restrict mask,
         int64_t rows, int64_t width)
{
    if (step != 0 && row_step == 0 && rows > 1) {
        /* 256 counters at a time stay in registers and the first cache. */
        for (int64_t j = 0; j < width; j += 256) {
            mask_sum_columns(to + j * step, step, mask + j, rows,
                             width - j < 256 ? width - j : 256, width);
        }
        return;
    }
    for (int64_t i = 0; i < rows; i++, to += row_step, mask += width) {
        if (step == 0 && width >= 64) {
            *(int64_t *)to += mask_count(mask, width);
        }
        else if (step == 0) {
            int64_t count = 0;
            for (int64_t j = 0; j < width; j++) {
                count += mask[j] != 0;
            }
            *(int64_t *)to += count;
        }
        else {
            mask_raise(to, step, mask, width);
        }
    }
}
