/* Checksums of arrays and gaps between positions: what deltas need of bytes, whatever
 * the element type.
 *
 * An array's checksum is built of sums of blocks of 8 KB, so that blocks may be summed
 * in any order, on any thread, while they are in the first cache for another reason.
 */

enum {
    HASH_LANES = 8
};

/* The first digits of the square roots of 2, 3, 5, 7, 11, 13, 17 and 19, and the golden
 * ratio: they tell lanes and stripes apart. */
static const uint64_t hash_key[HASH_LANES] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
#define HASH_STEP 0x9e3779b97f4a7c15

/* Lane l of stripe t, a number x of 64 bits, adds the product of the halves of
 * x ^ (key[l] + t * step) to sum l, and x to sum l ^ 1. A change of one lane always
 * changes the second; no order of stripes or lanes gives the sums of another. Lines at
 * `ahead` and `beside`, as many as stripes, are asked for: memory has nothing else to
 * do while a block is summed in the first cache. */
#if defined(ISA_HAS_AVX2)
OF_UNIT void
delta_hash(uint64_t *restrict sum, const char *restrict bytes, int64_t n_stripes,
           const char *ahead, const char *beside)
{
    const __m256i step = _mm256_set1_epi64x((int64_t)HASH_STEP);
    __m256i low = _mm256_setzero_si256(), high = low;
    __m256i low_key = _mm256_loadu_si256((const __m256i *)(const void *)hash_key);
    __m256i high_key =
            _mm256_loadu_si256((const __m256i *)(const void *)(hash_key + 4));
    for (int64_t t = 0; t < n_stripes; t++, bytes += 64) {
        __builtin_prefetch(ahead + 64 * t, 0, 2);
        __builtin_prefetch(beside + 64 * t, 0, 2);
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
        const __m256i b =
                _mm256_loadu_si256((const __m256i *)(const void *)(bytes + 32));
        const __m256i p = _mm256_xor_si256(a, low_key);
        const __m256i q = _mm256_xor_si256(b, high_key);
        low = _mm256_add_epi64(low, _mm256_mul_epu32(p, _mm256_srli_epi64(p, 32)));
        high = _mm256_add_epi64(high, _mm256_mul_epu32(q, _mm256_srli_epi64(q, 32)));
        low = _mm256_add_epi64(low, _mm256_shuffle_epi32(a, 0x4e));
        high = _mm256_add_epi64(high, _mm256_shuffle_epi32(b, 0x4e));
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
    for (int64_t t = 0; t < n_stripes; t++, bytes += 64) {
        __builtin_prefetch(ahead + 64 * t, 0, 2);
        __builtin_prefetch(beside + 64 * t, 0, 2);
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
 * is not set; the first bit counts as such. */
OF_UNIT void
delta_tally(ps_bits *bits, const uint64_t *word, int64_t n_words)
{
    uint64_t carry = 0;
    *bits = (ps_bits){.last = -1};
    for (int64_t i = 0; i < n_words; i++) {
        const uint64_t starts = word[i] & ~(word[i] << 1 | carry);
        carry = word[i] >> 63;
        if (word[i] == 0) {
            continue;
        }
        if (bits->last < 0) {
            bits->first = 64 * i + __builtin_ctzll(word[i]);
        }
        bits->last = 64 * i + 63 - __builtin_clzll(word[i]);
        bits->count += __builtin_popcountll(word[i]);
        bits->runs += __builtin_popcountll(starts);
    }
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

/* The positions that gap [n] names; *last goes on with them. Returns how many. */
OF_UNIT int64_t
delta_ungap(int64_t *restrict at, const uint16_t *restrict gap, int64_t n,
            int64_t *last)
{
    int64_t *const start = at;
    int64_t position = *last;
    for (int64_t i = 0; i < n; i++) {
        const bool is_far = gap[i] == UINT16_MAX;
        position += gap[i] + !is_far;
        *at = position;
        at += !is_far;
    }
    *last = position;
    return at - start;
}
