/* delta: which elements of two arrays differ in any bit, and elements changed one by
 * one. T is an unaligned move type: bits are compared and moved, never read as numbers,
 * so each NaN, each -0.0 and each byte of padding counts and arrives as it was.
 *
 * Comparing and summing are one loop, so that each line of memory is loaded once and
 * the arithmetic of the sums hides behind the loads: 10 million pairs of float32 take
 * 4.5 ms where the loads alone take 4.2, whatever differs. In loops of their own, block
 * by block in the first cache, the two take 5.9 to 9 ms.
 */

#if defined(ISA_HAS_AVX2)
/* Bit i: element i of a stripe differs. Both halves come as the comparison left them:
 * lanes of equal ones are all ones. Elements of 16 bytes are compared as two halves. */
TEMPLATE_INLINE uint64_t
OF_TYPE(unequal)(__m256i low, __m256i high)
{
    const uint64_t all = UINT64_MAX >> (64 - STRIPE / sizeof(T));
    if (sizeof(T) == 1) {
        const uint64_t bytes = (uint32_t)_mm256_movemask_epi8(low);
        return ~(bytes | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32);
    }
    if (sizeof(T) == 2) { /* packing interleaves quarters */
        const __m256i bytes =
                _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
        return ~(uint64_t)(uint32_t)_mm256_movemask_epi8(bytes) & all;
    }
    if (sizeof(T) == 4) {
        const int first = _mm256_movemask_ps(_mm256_castsi256_ps(low));
        const int second = _mm256_movemask_ps(_mm256_castsi256_ps(high));
        return ~(uint64_t)(first | second << 8) & all;
    }
    const int first = _mm256_movemask_pd(_mm256_castsi256_pd(low));
    const uint64_t words =
            (uint64_t)(first | _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4);
    return sizeof(T) == 8 ? ~words & all : _pext_u64(~(words & words >> 1), 0x55);
}

/* Lanes of T of two vectors: all ones where they are equal. */
TEMPLATE_INLINE __m256i
OF_TYPE(equal_lanes)(__m256i before, __m256i after)
{
    return sizeof(T) == 1   ? _mm256_cmpeq_epi8(before, after)
           : sizeof(T) == 2 ? _mm256_cmpeq_epi16(before, after)
           : sizeof(T) == 4 ? _mm256_cmpeq_epi32(before, after)
                            : _mm256_cmpeq_epi64(before, after);
}

/* A pass that compares and sums: sums and keys of the low and the high lanes. The keys
 * go on from word to word, as the stripes of a block do. */
typedef struct {
    __m256i old_low, old_high, now_low, now_high, low_key, high_key;
} OF_TYPE(looking);

/* The word of n <= sizeof(T) stripes. No branch depends on what differs: where a tenth
 * of all words has a changed element, to skip the others costs more than it saves. */
TEMPLATE_INLINE uint64_t
OF_TYPE(look_at)(OF_TYPE(looking) * pass, const char *old, const char *now, int64_t n)
{
    const __m256i step = _mm256_set1_epi64x((int64_t)HASH_STEP);
    uint64_t word = 0;
    for (int64_t i = 0; i < n; i++, old += STRIPE, now += STRIPE) {
        const __m256i *const before = (const __m256i *)(const void *)old;
        const __m256i *const after = (const __m256i *)(const void *)now;
        const __m256i a = _mm256_loadu_si256(before), b = _mm256_loadu_si256(after);
        const __m256i c = _mm256_loadu_si256(before + 1);
        const __m256i d = _mm256_loadu_si256(after + 1);
        __builtin_prefetch(old + HASH_AHEAD);
        __builtin_prefetch(now + HASH_AHEAD);
        word |= OF_TYPE(unequal)(OF_TYPE(equal_lanes)(a, b), OF_TYPE(equal_lanes)(c, d))
                << (STRIPE / sizeof(T) * (size_t)i);
        pass->old_low = _mm256_add_epi64(pass->old_low, hash_terms(a, pass->low_key));
        pass->now_low = _mm256_add_epi64(pass->now_low, hash_terms(b, pass->low_key));
        pass->old_high =
                _mm256_add_epi64(pass->old_high, hash_terms(c, pass->high_key));
        pass->now_high =
                _mm256_add_epi64(pass->now_high, hash_terms(d, pass->high_key));
        pass->low_key = _mm256_add_epi64(pass->low_key, step);
        pass->high_key = _mm256_add_epi64(pass->high_key, step);
    }
    return word;
}
#endif

/* Bit i of found[i / 64]: does now[i] differ from old[i]? Bits beyond n are 0. Behind
 * the words stand the sums of delta_hash, of old and then of now. n elements are whole
 * stripes, at least one. Returns how many differ. Reads 2 n sizeof(T) bytes, writes
 * n / 8 + 128. */
#if defined(ISA_HAS_AVX2)
TEMPLATE_INLINE int64_t
OF_TYPE(delta_words)(uint64_t *restrict found, const char *restrict old,
                     const char *restrict now, int64_t n)
{
    const int64_t step = sizeof(T); /* stripes of a word */
    const __m256i *const key = (const __m256i *)(const void *)hash_key;
    const __m256i zero = _mm256_setzero_si256();
    OF_TYPE(looking)
    pass = {zero,
            zero,
            zero,
            zero,
            _mm256_loadu_si256(key),
            _mm256_loadu_si256(key + 1)};
    int64_t count = 0;
    for (int64_t left = n * (int64_t)sizeof(T) / STRIPE; left > 0; left -= step) {
        const uint64_t bits = left >= step ? OF_TYPE(look_at)(&pass, old, now, step)
                                           : OF_TYPE(look_at)(&pass, old, now, left);
        *found++ = bits;
        count += __builtin_popcountll(bits);
        old += STRIPE * step;
        now += STRIPE * step;
    }
    __m256i *const sum = (__m256i *)(void *)found;
    _mm256_storeu_si256(sum, pass.old_low);
    _mm256_storeu_si256(sum + 1, pass.old_high);
    _mm256_storeu_si256(sum + 2, pass.now_low);
    _mm256_storeu_si256(sum + 3, pass.now_high);
    return count;
}
#else
/* In any bit, those of both halves where T has two. */
TEMPLATE_INLINE bool
OF_TYPE(differ)(T old, T now)
{
#if PARTS_OF_T == 2
    return ((old.low ^ now.low) | (old.high ^ now.high)) != 0;
#else
    return old != now;
#endif
}

/* Bit i: element i of n <= 64 differs. The mask is made in a loop of its own, which
 * the compiler turns into vectors. */
TEMPLATE_INLINE uint64_t
OF_TYPE(few_differ)(const T *old, const T *now, int64_t n)
{
    char mask[64] = {0};
    for (int64_t i = 0; i < n; i++) {
        mask[i] = OF_TYPE(differ)(old[i], now[i]);
    }
    return word_of_bytes(mask);
}

TEMPLATE_INLINE int64_t
OF_TYPE(delta_words)(uint64_t *restrict found, const char *restrict old,
                     const char *restrict now, int64_t n)
{
    const T *const before = (const T *)old, *const after = (const T *)now;
    const int64_t n_stripes = n * (int64_t)sizeof(T) / STRIPE;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        const uint64_t bits =
                n - i >= 64 ? OF_TYPE(few_differ)(before + i, after + i, 64)
                            : OF_TYPE(few_differ)(before + i, after + i, n - i);
        *found++ = bits;
        count += __builtin_popcountll(bits);
    }
    delta_hash(found, old, n_stripes, old, old);
    delta_hash(found + HASH_LANES, now, n_stripes, now, now);
    return count;
}
#endif

/* What a delta stores of an element, and what comes of an element that meets it. */
TEMPLATE_INLINE T
OF_TYPE(stored)(const enum ps_delta_op op, T old, T now)
{
#if PARTS_OF_T == 2
    const T both = {old.low ^ now.low, old.high ^ now.high};
    return op == PS_DELTA_XOR ? both : now;
#else
    return op == PS_DELTA_XOR   ? (T)(old ^ now)
           : op == PS_DELTA_ADD ? (T)(now - old)
                                : now;
#endif
}

/* The way back of `stored`: what `old` becomes. Sums of 16 bytes do not exist:
 * integers have 8 at most. */
TEMPLATE_INLINE T
OF_TYPE(changed)(const enum ps_delta_op op, T old, T value)
{
#if PARTS_OF_T == 2
    const T both = {old.low ^ value.low, old.high ^ value.high};
    return op == PS_DELTA_XOR ? both : value;
#else
    return op == PS_DELTA_XOR   ? (T)(old ^ value)
           : op == PS_DELTA_ADD ? (T)(old + value)
                                : value;
#endif
}

/* to[k] = stored(old[i], now[i]) for the k-th true bit i of word [n_words]. old and
 * now have elements up to the last true bit. Returns how many there are. Whole words,
 * of stretches that have changed as one, are a loop of vectors. Reads what is stored
 * and n_words, writes what is stored; 1 ns a bit. */
TEMPLATE_INLINE int64_t
OF_TYPE(delta_take)(const enum ps_delta_op op, char *restrict to,
                    const uint64_t *restrict word, int64_t n_words,
                    const char *restrict old, const char *restrict now)
{
    const T *before = (const T *)old, *after = (const T *)now;
    T *out = (T *)to;
    for (int64_t w = 0; w < n_words; w++, before += 64, after += 64) {
        if (word[w] == UINT64_MAX) {
            for (int i = 0; i < 64; i++) {
                *out++ = OF_TYPE(stored)(op, before[i], after[i]);
            }
            continue;
        }
        for (uint64_t bits = word[w]; bits != 0; bits &= bits - 1) {
            const int i = __builtin_ctzll(bits);
            *out++ = OF_TYPE(stored)(op, before[i], after[i]);
        }
    }
    return out - (T *)to;
}

/* to[k] = stored(old[at[k]], now[at[k]]) for k in [0, n): places within the memory of
 * both, whatever they are. Without a branch: 0.6 ns each. Vectors put together of
 * single loads would be no faster, and ten times the code. */
TEMPLATE_INLINE void
OF_TYPE(delta_pick)(const enum ps_delta_op op, char *restrict to,
                    const uint16_t *restrict at, int64_t n, const char *restrict old,
                    const char *restrict now)
{
    for (int64_t i = 0; i < n; i++) {
        size_t place = at[i];
        __asm__("" : "+r"(place)); /* no vectors */
        ((T *)to)[i] =
                OF_TYPE(stored)(op, ((const T *)old)[place], ((const T *)now)[place]);
    }
}

/* target[at[i]] = changed(target[at[i]], values[i]) for i in [0, n). `at` was checked.
 * Numbers ascend strictly and were checked when the delta was made, so no order
 * matters. Lines of the target are asked for ahead: no load does it for a store. */
TEMPLATE_INLINE void
OF_TYPE(delta_put)(const enum ps_delta_op op, char *restrict target,
                   const int64_t *restrict at, const char *restrict values, int64_t n)
{
    enum {
        AHEAD = 32
    };
    T *const to = (T *)target;
    const T *const value = (const T *)values;
    int64_t i = 0;
    for (; i + AHEAD < n; i++) {
        __builtin_prefetch(to + at[i + AHEAD], 1);
        to[at[i]] = OF_TYPE(changed)(op, to[at[i]], value[i]);
    }
    for (; i < n; i++) {
        to[at[i]] = OF_TYPE(changed)(op, to[at[i]], value[i]);
    }
}

/* to[i] = changed(to[i], values[i]) for i in [0, n), side by side. */
TEMPLATE_INLINE void
OF_TYPE(delta_meet)(const enum ps_delta_op op, char *restrict to,
                    const char *restrict values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ((T *)to)[i] = OF_TYPE(changed)(op, ((T *)to)[i], ((const T *)values)[i]);
    }
}

/* to[i] = stored(old[i], now[i]) for i in [0, n), side by side. */
TEMPLATE_INLINE void
OF_TYPE(delta_store)(const enum ps_delta_op op, char *restrict to,
                     const char *restrict old, const char *restrict now, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ((T *)to)[i] = OF_TYPE(stored)(op, ((const T *)old)[i], ((const T *)now)[i]);
    }
}
