/* The moves of the where family, by item size (T is an unaligned move type).
 *
 *   where       out[i] = mask[i] ? x[i] : y[i]
 *   where_set   target[i] = value[i] if mask[i]
 *   compress    out[k] = a[place of the k-th true byte of mask]
 *
 * mask: n bytes, true unless 0, read BLOCK at a time: an empty or a full block costs a
 * copy, or nothing. x, y, value: n items side by side (a step of BLOCK), or BLOCK equal
 * items for all of them (a step of 0). `out` of where may be x or y; nothing else
 * overlaps. where_set and compress neither read nor write an element that the mask
 * leaves out. An element moves 1 + 3 sizeof(T) bytes at most in where, 1 + 2 sizeof(T)
 * in the others.
 */

/* One of two values that are at hand. */
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

#if PARTS_OF_T == 1

/* n elements one by one; out may be x or y. Without a branch, and on bits, since the
 * compiler makes vector code of that on every level; a choice between loads it leaves
 * as a branch below AVX2, 3.5 ns where the mask is random instead of 0.3. */
TEMPLATE_INLINE void
OF_TYPE(where_loop)(T *out, const char *mask, const T *x, const T *y, const int64_t n)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        out[i] = OF_TYPE(choose)(mask[i], x[i], y[i]);
    }
}

#else

/* The same by a choice of addresses, also without a branch: an item is a register, and
 * one of two is read. */
TEMPLATE_INLINE void
OF_TYPE(where_loop)(T *out, const char *mask, const T *x, const T *y, const int64_t n)
{
    const uintptr_t from = (uintptr_t)y, apart = (uintptr_t)x - (uintptr_t)y;
    for (int64_t i = 0; i < n; i++) {
        const uintptr_t take = (uintptr_t)0 - (mask[i] != 0);
        out[i] = ((const T *)(from + (apart & take)))[i];
    }
}

#endif

/* One block to `out`, by way of a buffer where it is streamed. A full or an empty block
 * is a copy of one side, but for single bytes: their loop is two vectors, cheaper than
 * a branch that is mispredicted (3e6 bytes, 1 % true, 0.13 ms instead of 0.39). */
TEMPLATE_INLINE void
OF_TYPE(where_block)(T *out, const char *mask, const T *x, const T *y, bool streams)
{
    enum {
        NBYTES = BLOCK * sizeof(T)
    };
    const uint64_t word = word_of_bytes(mask);
    const bool is_mixed = sizeof(T) == 1 || (word != 0 && ~word != 0);
    const T *from = word == 0 ? y : x;
    if (!streams) {
        if (is_mixed) {
            OF_TYPE(where_loop)(out, mask, x, y, BLOCK);
        }
        else if (from != out) {
            memcpy(out, from, NBYTES);
        }
        return;
    }
    _Alignas(CACHE_LINE) char buffer[NBYTES];
    if (is_mixed) {
        OF_TYPE(where_loop)((T *)buffer, mask, x, y, BLOCK);
        from = (T *)buffer;
    }
    stream_lines((char *)out, (const char *)from, NBYTES);
}

/* streams: past the caches, from the first cache line of `out` on. */
TEMPLATE_INLINE void
OF_TYPE(where)(char *out, const char *mask, const char *x, int64_t x_step,
               const char *y, int64_t y_step, int64_t n, bool streams)
{
    T *const to = (T *)out;
    const T *yes = (const T *)x, *no = (const T *)y;
    int64_t i = 0;
    if (streams) {
        const int64_t head = (int64_t)(-(uintptr_t)out % CACHE_LINE / sizeof(T));
        i = head < n ? head : n;
        OF_TYPE(where_loop)(to, mask, yes, no, i);
        yes += x_step != 0 ? i : 0;
        no += y_step != 0 ? i : 0;
    }
    for (; i + BLOCK <= n; i += BLOCK, yes += x_step, no += y_step) {
        OF_TYPE(where_block)(to + i, mask + i, yes, no, streams);
    }
    OF_TYPE(where_loop)(to + i, mask + i, yes, no, n - i);
    if (streams) {
        end_stream();
    }
}

#if defined(ISA_HAS_AVX512)

/* to[i] = value[i] for the set bits of a block. */
TEMPLATE_INLINE void
OF_TYPE(set_lanes)(T *restrict to, uint64_t word, const T *restrict value)
{
    enum {
        LANES = 64 / sizeof(T)
    };
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i += LANES) {
        const uint64_t bits = word >> i;
        OF_TYPE(lanes_store)(to + i, bits, OF_TYPE(lanes_load)(bits, value + i));
    }
}

#endif

/* A loop over set bits, or masked vectors where many are set. */
TEMPLATE_INLINE void
OF_TYPE(where_set)(char *restrict target, const char *restrict mask,
                   const char *restrict values, int64_t step, int64_t n)
{
    T *const to = (T *)target;
    const T *value = (const T *)values;
    for (int64_t i = 0; i < n; i += BLOCK, value += step) {
        uint64_t word = word_of_some(mask + i, n - i);
        if (~word == 0) {
            memcpy(to + i, value, BLOCK * sizeof(T));
            continue;
        }
#if defined(ISA_HAS_AVX512)
        if (__builtin_popcountll(word) > FEW) {
            OF_TYPE(set_lanes)(to + i, word, value);
            continue;
        }
#endif
        while (word != 0) {
            const int place = take_bit(&word);
            to[i + place] = value[place];
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
