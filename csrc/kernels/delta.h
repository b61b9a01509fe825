/* Checksums of arrays and gaps between positions: what deltas need of bytes, whatever
 * the element type.
 *
 * An array's checksum is built of sums of blocks of 8 KB, so that blocks may be summed
 * in any order, on any thread, while they are in the first cache for another reason.
 */

enum {
    HASH_LANES = 8,
    STRIPE = 64 /* bytes of all lanes */
};

/* The first digits of the square roots of 2, 3, 5, 7, 11, 13, 17 and 19, and the golden
 * ratio: they tell lanes and stripes apart. */
static const uint64_t hash_key[HASH_LANES] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
#define HASH_STEP 0x9e3779b97f4a7c15

/* Bytes that a pass asks for ahead of those it sums: memory is read all the time then,
 * where the hardware alone, which asks within a page, stops at its end. 10 million
 * pairs of float32 take 4.5 ms with 1 to 2 KB, 4.9 with 512 bytes, 5.3 without. */
#define HASH_AHEAD 2048

#if defined(ISA_HAS_AVX2)
/* What four lanes of a stripe add to their sums. */
TEMPLATE_INLINE __m256i
hash_terms(__m256i lanes, __m256i key)
{
    const __m256i mixed = _mm256_xor_si256(lanes, key);
    const __m256i product = _mm256_mul_epu32(mixed, _mm256_srli_epi64(mixed, 32));
    return _mm256_add_epi64(product, _mm256_shuffle_epi32(lanes, 0x4e));
}
#endif

/* Lane l of stripe t, a number x of 64 bits, adds the product of the halves of
 * x ^ (key[l] + t * step) to sum l, and x to sum l ^ 1. A change of one lane always
 * changes the second; no order of stripes or lanes gives the sums of another. Lines at
 * `ahead` and `beside`, as many as stripes, are asked for. */
#if defined(ISA_HAS_AVX2)
OF_UNIT void
delta_hash(uint64_t *restrict sum, const char *restrict bytes, int64_t n_stripes,
           const char *ahead, const char *beside)
{
    const __m256i step = _mm256_set1_epi64x((int64_t)HASH_STEP);
    const __m256i *const key = (const __m256i *)(const void *)hash_key;
    __m256i low = _mm256_setzero_si256(), high = low;
    __m256i low_key = _mm256_loadu_si256(key), high_key = _mm256_loadu_si256(key + 1);
    for (int64_t t = 0; t < n_stripes; t++, bytes += STRIPE) {
        const __m256i *const lanes = (const __m256i *)(const void *)bytes;
        __builtin_prefetch(ahead + STRIPE * t);
        __builtin_prefetch(beside + STRIPE * t);
        low = _mm256_add_epi64(low, hash_terms(_mm256_loadu_si256(lanes), low_key));
        high = _mm256_add_epi64(high,
                                hash_terms(_mm256_loadu_si256(lanes + 1), high_key));
        low_key = _mm256_add_epi64(low_key, step);
        high_key = _mm256_add_epi64(high_key, step);
    }
    _mm256_storeu_si256((__m256i *)(void *)sum, low);
    _mm256_storeu_si256((__m256i *)(void *)(sum + 4), high);
}
#else
OF_UNIT void
delta_hash(uint64_t *restrict sum, const char *restrict bytes, int64_t n_stripes,
           const char *ahead, const char *beside)
{
    uint64_t key[HASH_LANES];
    memcpy(key, hash_key, sizeof(key));
    memset(sum, 0, sizeof(key));
    for (int64_t t = 0; t < n_stripes; t++, bytes += STRIPE) {
        __builtin_prefetch(ahead + STRIPE * t);
        __builtin_prefetch(beside + STRIPE * t);
        uint64_t x[HASH_LANES];
        memcpy(x, bytes, sizeof(x));
        for (int lane = 0; lane < HASH_LANES; lane++) {
            const uint64_t mixed = x[lane] ^ key[lane];
            sum[lane] += (mixed & UINT32_MAX) * (mixed >> 32) + x[lane ^ 1];
            key[lane] += HASH_STEP;
        }
    }
}
#endif

/* Bits of word [n_words]; some bit is set. A run begins at a bit whose lower neighbour
 * is not set; the first bit counts as such. Whether a word has any cannot be foreseen
 * where one change is in a hundred, so no branch asks it. */
OF_UNIT void
delta_tally(ps_bits *bits, const uint64_t *word, int64_t n_words)
{
    int64_t count = 0, runs = 0, first = 0, last = n_words - 1;
    uint64_t carry = 0;
    for (int64_t i = 0; i < n_words; i++) {
        count += __builtin_popcountll(word[i]);
        runs += __builtin_popcountll(word[i] & ~(word[i] << 1 | carry));
        carry = word[i] >> 63;
    }
    *bits = (ps_bits){.count = count, .runs = runs, .last = -1};
    if (count == 0) {
        return;
    }
    while (word[first] == 0) {
        first++;
    }
    while (word[last] == 0) {
        last--;
    }
    bits->first = 64 * first + __builtin_ctzll(word[first]);
    bits->last = 64 * last + 63 - __builtin_clzll(word[last]);
}

/* The place of the lowest bit; of no bits the last place, which is never looked at. */
TEMPLATE_INLINE int64_t
lowest_of(uint64_t bits)
{
    return __builtin_ctzll(bits | (uint64_t)1 << 63);
}

/* Words on their way to places: where the next place goes, runs so far, and whether the
 * last word ended in a true bit. */
typedef struct {
    uint16_t *to;
    int64_t runs;
    uint64_t carry;
} spreading;

/* Of n words, the first bit of which has place `base`. Two places are written without a
 * branch, which serves all but 1 in 40 words where one bit in a hundred is true, and
 * eight where there are more than two: up to eight behind the last are spoiled. */
TEMPLATE_INLINE void
spread_words(spreading *way, const uint64_t *word, int64_t n, int64_t base)
{
    for (int64_t i = 0; i < n; i++, base += 64) {
        uint64_t bits = word[i];
        uint16_t *const to = way->to;
        const int count = __builtin_popcountll(bits);
        way->runs += __builtin_popcountll(bits & ~(bits << 1 | way->carry));
        way->carry = bits >> 63;
        way->to += count;
        to[0] = (uint16_t)(base + lowest_of(bits));
        bits &= bits - 1;
        to[1] = (uint16_t)(base + lowest_of(bits));
        for (int k = 2; k < 8 && count > 2; k++) {
            bits &= bits - 1;
            __asm__("" : "+r"(bits)); /* stores of their own, no vectors */
            to[k] = (uint16_t)(base + lowest_of(bits));
        }
        for (int k = 8; k < count; k++) {
            bits &= bits - 1;
            to[k] = (uint16_t)(base + lowest_of(bits));
        }
    }
}

/* to[k] = the place of the k-th true bit of word [n_words], of at most 65,536 bits, and
 * what delta_tally says of them; `to` has room for 8 more. Four words are passed at
 * once where all are zero. A word takes 0.3 ns where one bit in ten thousand is
 * true, 2.4 where one in a hundred is, of which delta_tally alone takes 1.2 and a loop
 * over bits 6. */
OF_UNIT void
delta_spread(ps_bits *bits, uint16_t *restrict to, const uint64_t *restrict word,
             int64_t n_words)
{
    spreading way = {.to = to};
    int64_t i = 0;
    for (; i + 4 <= n_words; i += 4) {
        if ((word[i] | word[i + 1] | word[i + 2] | word[i + 3]) == 0) {
            way.carry = 0;
            continue;
        }
        spread_words(&way, word + i, 4, 64 * i);
    }
    spread_words(&way, word + i, n_words - i, 64 * i);
    const int64_t count = way.to - to;
    *bits = (ps_bits){.count = count,
                      .runs = way.runs,
                      .first = count > 0 ? to[0] : 0,
                      .last = count > 0 ? to[count - 1] : -1};
}

/* Gaps of ascending positions: each is the distance from *last, less one, and becomes
 * the next *last; 65,535 in the place of a gap adds so much and names no position.
 * Returns how many were written; there is room for what ps_delta_items says. */
OF_UNIT int64_t
delta_gaps(uint16_t *restrict to, const int64_t *restrict at, int64_t n, int64_t *last)
{
    uint16_t *const start = to;
    int64_t before = *last;
    for (int64_t i = 0; i < n; i++) {
        int64_t gap = at[i] - before - 1;
        for (; gap >= UINT16_MAX; gap -= UINT16_MAX) {
            *to++ = UINT16_MAX;
        }
        *to++ = (uint16_t)gap;
        before = at[i];
    }
    *last = before;
    return to - start;
}

/* One gap after the other; *at moves on by the positions that they name. */
TEMPLATE_INLINE int64_t
ungap_few(int64_t **at, const uint16_t *gap, int64_t n, int64_t position)
{
    int64_t *to = *at;
    for (int64_t i = 0; i < n; i++) {
        const bool is_far = gap[i] == UINT16_MAX;
        position += gap[i] + !is_far;
        *to = position;
        to += !is_far;
    }
    *at = to;
    return position;
}

#if defined(ISA_HAS_AVX2)
/* Distances of eight positions from the one before them, from their gaps: sums of each
 * half, and those of the high half go on from the last of the low one. */
TEMPLATE_INLINE __m256i
distances_of(__m128i gaps)
{
    const __m256i is_high = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1);
    __m256i sums = _mm256_add_epi32(_mm256_cvtepu16_epi32(gaps), _mm256_set1_epi32(1));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 8));
    const __m256i low = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3));
    return _mm256_add_epi32(sums, _mm256_and_si256(low, is_high));
}
#endif

/* The positions that gap [n] names; *last goes on with them. Returns how many. Eight
 * gaps without an escape are eight sums: 0.45 ns a gap, 0.95 one after the other. */
OF_UNIT int64_t
delta_ungap(int64_t *restrict at, const uint16_t *restrict gap, int64_t n,
            int64_t *last)
{
    int64_t *to = at;
    int64_t position = *last, i = 0;
#if defined(ISA_HAS_AVX2)
    __m256i before = _mm256_set1_epi64x(position);
    for (; i + 8 <= n; i += 8) {
        const __m128i gaps = _mm_loadu_si128((const __m128i *)(const void *)(gap + i));
        if (_mm_movemask_epi8(_mm_cmpeq_epi16(gaps, _mm_set1_epi16(-1))) != 0) {
            position = ungap_few(&to, gap + i, 8, _mm256_extract_epi64(before, 0));
            before = _mm256_set1_epi64x(position);
            continue;
        }
        const __m256i sums = distances_of(gaps);
        const __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(sums));
        const __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(sums, 1));
        __m256i *const eight = (__m256i *)(void *)to;
        _mm256_storeu_si256(eight, _mm256_add_epi64(before, low));
        _mm256_storeu_si256(eight + 1, _mm256_add_epi64(before, high));
        before = _mm256_add_epi64(before, _mm256_permute4x64_epi64(high, 0xff));
        to += 8;
    }
    position = _mm256_extract_epi64(before, 0);
#endif
    *last = ungap_few(&to, gap + i, n - i, position);
    return to - at;
}
