/* delta: which elements of two arrays differ in any bit, and elements changed one by
 * one. T is an unaligned move type: bits are compared and moved, never read as numbers,
 * so each NaN, each -0.0 and each byte of padding counts and arrives as it was. Most
 * elements are equal in the arrays that people compare: that case is the fast one.
 */

/* Elements that one vector of 32 bytes compares. */
#define EQUAL_OF_move1 _mm256_cmpeq_epi8
#define EQUAL_OF_move2 _mm256_cmpeq_epi16
#define EQUAL_OF_move4 _mm256_cmpeq_epi32
#define EQUAL_OF_move8 _mm256_cmpeq_epi64
#define EQUAL_OF_move16 _mm256_cmpeq_epi64
#define EQUAL_OF_T PASTE2(EQUAL_OF, T)

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
 * the compiler turns into vectors where the level has no way of ours. */
TEMPLATE_INLINE uint64_t
OF_TYPE(few_differ)(const T *old, const T *now, int64_t n)
{
    char mask[64] = {0};
    for (int64_t i = 0; i < n; i++) {
        mask[i] = OF_TYPE(differ)(old[i], now[i]);
    }
    return word_of_bytes(mask);
}

#if defined(ISA_HAS_AVX2)
/* Bit i: element i of the 2 sizeof(T) vectors is not equal; lanes of equal ones are all
 * ones. */
TEMPLATE_INLINE uint64_t
OF_TYPE(unequal_lanes)(const __m256i *equal)
{
    uint64_t word = 0;
    if (sizeof(T) == 1) {
        for (int i = 0; i < 2; i++) {
            word |= (uint64_t)(uint32_t)_mm256_movemask_epi8(equal[i]) << (32 * i);
        }
    }
    else if (sizeof(T) == 2) {
        for (int i = 0; i < 2; i++) { /* packing interleaves quarters */
            const __m256i bytes = _mm256_permute4x64_epi64(
                    _mm256_packs_epi16(equal[2 * i], equal[2 * i + 1]), 0xd8);
            word |= (uint64_t)(uint32_t)_mm256_movemask_epi8(bytes) << (32 * i);
        }
    }
    else if (sizeof(T) == 4) {
        for (int i = 0; i < 8; i++) {
            const __m256 lanes = _mm256_castsi256_ps(equal[i]);
            word |= (uint64_t)(uint32_t)_mm256_movemask_ps(lanes) << (8 * i);
        }
    }
    else {
        for (int i = 0; i < 16; i++) {
            const __m256d lanes = _mm256_castsi256_pd(equal[i]);
            word |= (uint64_t)(uint32_t)_mm256_movemask_pd(lanes) << (4 * i);
        }
    }
    return ~word;
}

/* The word of 64 elements. All lanes are asked at once whether any differs, which for
 * most stretches is all there is to ask. Elements of 16 bytes come as 128 halves. */
TEMPLATE_INLINE uint64_t
OF_TYPE(word_of_unequal)(const T *old, const T *now)
{
    enum {
        VECTORS = sizeof(T) == 16 ? 16 : 2 * sizeof(T)
    };
    __m256i equal[VECTORS], all = _mm256_set1_epi64x(-1);
    for (int i = 0; i < VECTORS; i++) {
        const __m256i before =
                _mm256_loadu_si256((const __m256i *)(const void *)old + i);
        const __m256i after =
                _mm256_loadu_si256((const __m256i *)(const void *)now + i);
        equal[i] = EQUAL_OF_T(before, after);
        all = _mm256_and_si256(all, equal[i]);
    }
    return _mm256_movemask_epi8(all) == -1 ? 0 : OF_TYPE(unequal_lanes)(equal);
}
#endif

/* The word of 64 elements. */
TEMPLATE_INLINE uint64_t
OF_TYPE(changed_word)(const T *old, const T *now)
{
#if defined(ISA_HAS_AVX2) && PARTS_OF_T == 1
    return OF_TYPE(word_of_unequal)(old, now);
#elif defined(ISA_HAS_AVX2)
    /* 128 halves in two words: an element differs where either of its bits is set. */
    uint64_t word = 0;
    for (int part = 0; part < 2; part++) {
        const uint64_t halves =
                OF_TYPE(word_of_unequal)(old + 32 * part, now + 32 * part);
        const uint64_t either = (halves | halves >> 1) & 0x5555555555555555;
        word |= _pext_u64(either, 0x5555555555555555) << (32 * part);
    }
    return word;
#else
    return OF_TYPE(few_differ)(old, now, 64);
#endif
}

/* Bit i of word[i / 64]: does now[i] differ from old[i]? n elements; bits beyond them
 * are 0. Returns how many differ. Reads 2 n sizeof(T) bytes, writes n / 8. */
TEMPLATE_INLINE int64_t
OF_TYPE(delta_words)(uint64_t *restrict word, const char *restrict old,
                     const char *restrict now, int64_t n)
{
    const T *const before = (const T *)old, *const after = (const T *)now;
    int64_t count = 0, i = 0;
    for (; i + 64 <= n; i += 64) {
        const uint64_t bits = OF_TYPE(changed_word)(before + i, after + i);
        word[i / 64] = bits;
        count += __builtin_popcountll(bits);
    }
    if (i < n) {
        const uint64_t bits = OF_TYPE(few_differ)(before + i, after + i, n - i);
        word[i / 64] = bits;
        count += __builtin_popcountll(bits);
    }
    return count;
}

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
