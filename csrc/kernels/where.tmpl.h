/* The moves of the where family, by item size (T is an unaligned move type).
 *
 *   where       out[i] = mask[i] ? x[i] : y[i]
 *   where_set   target[i] = value[i] if mask[i]
 *   compress    out[k] = a[place of the k-th true byte of mask]
 *
 * mask: n bytes, true unless 0, read BLOCK at a time: an empty or a full block costs a
 * copy, or nothing. x, y, value: n items side by side, or one for all (x_one, y_one,
 * is_one). `out` of where may be x or y; nothing else overlaps. where_set and compress
 * neither read nor write an element that the mask leaves out. An element moves 1 + 3
 * sizeof(T) bytes at most in where, 1 + 2 sizeof(T) in the others.
 */

/* Without a branch, and on bits, since the compiler makes vector code of that on every
 * level; a choice between loads it leaves as a branch below AVX2, 3.5 ns where the mask
 * is random instead of 0.3. */
TEMPLATE_INLINE T
OF_TYPE(choose)(char is_true, T a, T b)
{
#if PARTS_OF_T == 2
    const uint64_t take = (uint64_t)0 - (is_true != 0);
    return (T){b.low ^ ((a.low ^ b.low) & take), b.high ^ ((a.high ^ b.high) & take)};
#else
    const T take = (T)(0 - (is_true != 0));
    return (T)(b ^ ((a ^ b) & take));
#endif
}

/* n elements one by one; out may be x or y. */
TEMPLATE_INLINE void
OF_TYPE(where_loop)(T *out, const char *mask, const T *x, const T *y, const bool x_one,
                    const bool y_one, const int64_t n)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        out[i] = OF_TYPE(choose)(mask[i], x[x_one ? 0 : i], y[y_one ? 0 : i]);
    }
}

/* One block to `out`, by way of a buffer where it is streamed. A full or an empty block
 * is a copy of one side. */
TEMPLATE_INLINE void
OF_TYPE(where_block)(T *out, const char *mask, const T *x, const T *y, const bool x_one,
                     const bool y_one, bool streams)
{
    enum {
        NBYTES = BLOCK * sizeof(T)
    };
    const uint64_t word = word_of_bytes(mask);
    const T *const whole = word == 0 && !y_one ? y : ~word == 0 && !x_one ? x : NULL;
    if (!streams) {
        if (whole == NULL) {
            OF_TYPE(where_loop)(out, mask, x, y, x_one, y_one, BLOCK);
        }
        else if (whole != out) {
            memcpy(out, whole, NBYTES);
        }
        return;
    }
    _Alignas(CACHE_LINE) char buffer[NBYTES];
    if (whole == NULL) {
        OF_TYPE(where_loop)((T *)buffer, mask, x, y, x_one, y_one, BLOCK);
    }
    stream_lines((char *)out, whole != NULL ? (const char *)whole : buffer, NBYTES);
}

/* streams: past the caches, from the first cache line of `out` on. */
TEMPLATE_INLINE void
OF_TYPE(where)(char *out, const char *mask, const char *x, const char *y,
               const bool x_one, const bool y_one, int64_t n, bool streams)
{
    T *const to = (T *)out;
    const T *const yes = (const T *)x, *const no = (const T *)y;
    int64_t i = 0;
    if (streams) {
        const int64_t head = (int64_t)(-(uintptr_t)out % CACHE_LINE / sizeof(T));
        i = head < n ? head : n;
        OF_TYPE(where_loop)(to, mask, yes, no, x_one, y_one, i);
    }
    for (; i + BLOCK <= n; i += BLOCK) {
        OF_TYPE(where_block)(to + i, mask + i, yes + (x_one ? 0 : i),
                             no + (y_one ? 0 : i), x_one, y_one, streams);
    }
    OF_TYPE(where_loop)(to + i, mask + i, yes + (x_one ? 0 : i), no + (y_one ? 0 : i),
                        x_one, y_one, n - i);
    if (streams) {
        end_stream();
    }
}

#if defined(ISA_HAS_AVX512)

/* to[i] = value[i] for the set bits of a block. */
TEMPLATE_INLINE void
OF_TYPE(set_lanes)(T *restrict to, uint64_t word, const T *restrict value,
                   const bool is_one)
{
    enum {
        LANES = 64 / sizeof(T)
    };
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i += LANES) {
        const uint64_t bits = word >> i;
        const __m512i vector = is_one ? OF_TYPE(lanes_of)(value)
                                      : OF_TYPE(lanes_load)(bits, value + i);
        OF_TYPE(lanes_store)(to + i, bits, vector);
    }
}

#endif

/* A loop over set bits, or masked vectors where many are set. */
TEMPLATE_INLINE void
OF_TYPE(where_set)(char *restrict target, const char *restrict mask,
                   const char *restrict values, const bool is_one, int64_t n)
{
    T *const to = (T *)target;
    const T *const value = (const T *)values;
    for (int64_t i = 0; i < n; i += BLOCK) {
        uint64_t word = word_of_some(mask + i, n - i);
        if (~word == 0 && !is_one) {
            memcpy(to + i, value + i, BLOCK * sizeof(T));
            continue;
        }
#if defined(ISA_HAS_AVX512)
        if (__builtin_popcountll(word) > FEW) {
            OF_TYPE(set_lanes)(to + i, word, value + (is_one ? 0 : i), is_one);
            continue;
        }
#endif
        while (word != 0) {
            const int64_t at = i + take_bit(&word);
            to[at] = value[is_one ? 0 : at];
        }
    }
}

#if CAN_PACK_T

/* The elements of the set bits, side by side; writes BLOCK elements, of which those
 * that it returns the number of are meant. */
TEMPLATE_INLINE int64_t
OF_TYPE(compress_lanes)(T *restrict to, uint64_t word, const T *restrict from)
{
    enum {
        LANES = 64 / sizeof(T)
    };
    int64_t kept = 0;
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i += LANES) {
        const uint64_t bits = word >> i & (((uint64_t)1 << LANES) - 1);
        const __m512i vector = OF_TYPE(lanes_load)(bits, from + i);
        _mm512_storeu_si512(to + kept, OF_TYPE(lanes_pack)(bits, vector));
        kept += __builtin_popcountll(bits);
    }
    return kept;
}

#endif

/* Returns how many it wrote, never more than `room`, so that a mask which another
 * thread rewrites cannot make it write elsewhere. */
TEMPLATE_INLINE int64_t
OF_TYPE(compress)(char *restrict out, const char *restrict a, const char *restrict mask,
                  int64_t n, int64_t room)
{
    T *const to = (T *)out;
    const T *const from = (const T *)a;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        uint64_t word = word_of_some(mask + i, n - i);
        const bool has_room = room - kept >= BLOCK;
        if (~word == 0 && has_room) {
            memcpy(to + kept, from + i, BLOCK * sizeof(T));
            kept += BLOCK;
            continue;
        }
#if CAN_PACK_T
        if (has_room && __builtin_popcountll(word) > FEW) {
            kept += OF_TYPE(compress_lanes)(to + kept, word, from + i);
            continue;
        }
#endif
        while (word != 0 && kept < room) {
            to[kept++] = from[i + take_bit(&word)];
        }
    }
    return kept;
}
