/* Moves of whole rows of `nbytes` bytes, for set and gather; no element type matters.
 *
 * Rows come in shapes, which are constants of the loops: so many units of 32 bytes, of
 * which the last may overlap the one before it, or two overlapping words of 16, 8 or 4
 * bytes. A row is then some loads and stores without a branch. ns a row of 12 / 24 / 32
 * / 64 / 100 bytes, 100,000 out of 10,000, by shapes and by memcpy, whose length is not
 * known: 1.6 / 1.5 / 1.7 / 2.6 / 5.8, 3.9 / 3.9 / 4.8 / 4.2 / 8.0 (Zen 3).
 */

enum {
    ROW_OF_3 = -4,  /* bytes: 3, ... */
    ROW_OF_4 = -3,  /* 4 to 7, ... */
    ROW_OF_8 = -2,  /* 8 to 15, ... */
    ROW_OF_16 = -1, /* 16 to 31 */
    ROW_LONG = 0,   /* more than ROW_UNITS units, or less than 3 bytes */
    ROW_UNITS = 8,  /* 1 to 8: units */
    UNIT_BYTES = 32
};

#if defined(ISA_HAS_AVX2)
typedef int64_t row_unit __attribute__((vector_size(32), aligned(1), may_alias));
#else
typedef int64_t row_half __attribute__((vector_size(16), aligned(1), may_alias));
typedef struct {
    row_half low, high;
} row_unit;
#endif

/* The shape of rows of some bytes: the same for all rows of a call, so that one switch
 * in front of a loop chooses. */
TEMPLATE_INLINE int
shape_of_row(int64_t nbytes)
{
    if (nbytes >= UNIT_BYTES) {
        return nbytes <= ROW_UNITS * UNIT_BYTES
                       ? (int)((nbytes + UNIT_BYTES - 1) / UNIT_BYTES)
                       : ROW_LONG;
    }
    return nbytes >= 16  ? ROW_OF_16
           : nbytes >= 8 ? ROW_OF_8
           : nbytes >= 4 ? ROW_OF_4
           : nbytes == 3 ? ROW_OF_3
                         : ROW_LONG;
}

/* The first and the last `size` bytes, which together are all of them. */
TEMPLATE_INLINE void
copy_ends(char *restrict to, const char *restrict from, int64_t nbytes,
          const int64_t size)
{
    memcpy(to, from, (size_t)size);
    memcpy(to + nbytes - size, from + nbytes - size, (size_t)size);
}

/* A copy of a row of this shape: each byte is read from `from` and written once or, in
 * the overlap of two words or units, twice with the same value. Nothing before or
 * behind the row is touched: it may be somebody else's. */
TEMPLATE_INLINE void
copy_row(char *restrict to, const char *restrict from, int64_t nbytes, const int shape)
{
    switch (shape) {
        case ROW_OF_3:
            copy_ends(to, from, 3, 2);
            break;
        case ROW_OF_4:
            copy_ends(to, from, nbytes, 4);
            break;
        case ROW_OF_8:
            copy_ends(to, from, nbytes, 8);
            break;
        case ROW_OF_16:
            copy_ends(to, from, nbytes, 16);
            break;
        case ROW_LONG:
            memcpy(to, from, (size_t)nbytes);
            break;
        default:
#pragma GCC unroll 8
            for (int unit = 0; unit < shape - 1; unit++) {
                *(row_unit *)(to + UNIT_BYTES * unit) =
                        *(const row_unit *)(from + UNIT_BYTES * unit);
            }
            *(row_unit *)(to + nbytes - UNIT_BYTES) =
                    *(const row_unit *)(from + nbytes - UNIT_BYTES);
    }
}

/* Ask for the lines of a row of this shape, to be written or not. */
TEMPLATE_INLINE void
ask_for_row(const char *at, int64_t nbytes, const int shape, const bool writes)
{
    const int64_t known = shape > 0 ? UNIT_BYTES * (shape - 1) : shape < 0 ? 1 : nbytes;
    for (int64_t byte = 0; byte < known || byte == 0; byte += CACHE_LINE) {
        if (writes) {
            __builtin_prefetch(at + byte, 1);
        }
        else {
            __builtin_prefetch(at + byte, 0);
        }
    }
    if (writes) {
        __builtin_prefetch(at + nbytes - 1, 1);
    }
    else {
        __builtin_prefetch(at + nbytes - 1, 0);
    }
}

/* How rows are moved: the pairs of a list between an array whose rows it names and one
 * whose rows have numbers, `stride` bytes apart. */
typedef struct {
    const ps_list *list;
    const ps_numbering *numbering;
    int64_t stride;
    int64_t nbytes;
    int64_t ahead; /* pairs ahead at which named rows are asked for; 0: they are near */
    bool streams;
} row_moves;

/* The loop of set_rows_checked, for a shape that is a constant. */
TEMPLATE_INLINE int64_t
set_shaped(char *restrict target, const char *restrict values, const row_moves *moves,
           const int shape)
{
    const ps_list list = *moves->list; /* in registers: stores might change them */
    const ps_numbering numbering = *moves->numbering;
    const int64_t nbytes = moves->nbytes, stride = moves->stride, ahead = moves->ahead;
    int64_t place;
    for (int64_t i = 0; i < list.n; i++) {
        if (ahead > 0 && i + ahead < list.n) {
            const uint64_t row = (uint64_t)list.offset[i + ahead];
            ask_for_row(target + row * (uint64_t)numbering.step, nbytes, shape, true);
        }
        if (!place_of(&list, &numbering, i, &place)) {
            return i;
        }
        const int64_t from = list.source != NULL ? list.source[i] : i;
        copy_row(target + place, values + from * stride, nbytes, shape);
    }
    return list.n;
}

#if defined(__x86_64__)
TEMPLATE_INLINE void
stream_word(char *to, const char *from)
{
    _mm_stream_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
}
#endif

/* copy_row past the caches: the line of `to` is neither read nor kept. `to` is aligned
 * to 16 and nbytes a multiple of 16. */
TEMPLATE_INLINE void
stream_row(char *restrict to, const char *restrict from, int64_t nbytes,
           const int shape)
{
#if defined(__x86_64__)
    const int64_t before_last = shape > 0   ? UNIT_BYTES * (shape - 1)
                                : shape < 0 ? 0
                                            : nbytes - 16;
#pragma GCC unroll 14
    for (int64_t done = 0; done < before_last; done += 16) {
        stream_word(to + done, from + done);
    }
    if (shape > 0) { /* one or two words are left */
        stream_word(to + before_last, from + before_last);
    }
    if (shape <= 0 || nbytes == UNIT_BYTES * shape) {
        stream_word(to + nbytes - 16, from + nbytes - 16);
    }
#else
    copy_row(to, from, nbytes, shape);
#endif
}

/* The loop of gather_rows_checked, for a shape that is a constant. */
TEMPLATE_INLINE int64_t
gather_shaped(char *restrict out, const char *restrict a, const row_moves *moves,
              const int shape)
{
    const ps_list list = *moves->list; /* in registers: stores might change them */
    const ps_numbering numbering = *moves->numbering;
    const int64_t nbytes = moves->nbytes, stride = moves->stride, ahead = moves->ahead;
    const bool streams = moves->streams;
    int64_t place;
    for (int64_t i = 0; i < list.n; i++) {
        if (ahead > 0 && i + ahead < list.n) {
            const uint64_t row = (uint64_t)list.offset[i + ahead];
            ask_for_row(a + row * (uint64_t)numbering.step, nbytes, shape, false);
        }
        if (!place_of(&list, &numbering, i, &place)) {
            return i;
        }
        char *const to = out + (list.source != NULL ? list.source[i] : i) * stride;
        if (streams) {
            stream_row(to, a + place, nbytes, shape);
        }
        else {
            copy_row(to, a + place, nbytes, shape);
        }
    }
    return list.n;
}

/* One of the two loops, whose shape and direction are constants. */
TEMPLATE_INLINE int64_t
move_shaped(char *restrict to, const char *restrict from, const row_moves *moves,
            const bool gathers, const int shape)
{
    return gathers ? gather_shaped(to, from, moves, shape)
                   : set_shaped(to, from, moves, shape);
}

/* The loop for the shape of these rows. */
TEMPLATE_INLINE int64_t
move_rows(char *restrict to, const char *restrict from, const row_moves *moves,
          const bool gathers)
{
    switch (shape_of_row(moves->nbytes)) {
        case ROW_OF_3:
            return move_shaped(to, from, moves, gathers, ROW_OF_3);
        case ROW_OF_4:
            return move_shaped(to, from, moves, gathers, ROW_OF_4);
        case ROW_OF_8:
            return move_shaped(to, from, moves, gathers, ROW_OF_8);
        case ROW_OF_16:
            return move_shaped(to, from, moves, gathers, ROW_OF_16);
        case 1:
            return move_shaped(to, from, moves, gathers, 1);
        case 2:
            return move_shaped(to, from, moves, gathers, 2);
        case 3:
            return move_shaped(to, from, moves, gathers, 3);
        case 4:
            return move_shaped(to, from, moves, gathers, 4);
        case 5:
            return move_shaped(to, from, moves, gathers, 5);
        case 6:
            return move_shaped(to, from, moves, gathers, 6);
        case 7:
            return move_shaped(to, from, moves, gathers, 7);
        case 8:
            return move_shaped(to, from, moves, gathers, 8);
        default:
            return move_shaped(to, from, moves, gathers, ROW_LONG);
    }
}

/* target row place(offset[i]) = values row source[i], in order, so that the last one
 * stays where places repeat. Offsets of a list have been checked; numbers of the
 * caller's index are checked here. Moves n * (8 + 2 nbytes). `ahead`: how many pairs
 * ahead rows are asked for from memory. Returns n, or how many were moved before a
 * number out of bounds. */
OF_UNIT int64_t
set_rows_checked(char *restrict target, const ps_list *list,
                 const ps_numbering *numbering, const char *restrict values,
                 int64_t value_stride, int64_t nbytes, int64_t ahead)
{
    const row_moves moves = {list, numbering, value_stride, nbytes, ahead, false};
    return move_rows(target, values, &moves, false);
}

OF_UNIT void
set_rows(char *restrict target, const ps_list *list, const char *restrict values,
         int64_t value_stride, int64_t nbytes, int64_t ahead)
{
    set_rows_checked(target, list, &ps_are_offsets, values, value_stride, nbytes,
                     ahead);
}

/* out row source[i] = row of `a` at place(offset[i]), disjoint arrays; which numbers
 * are checked here is said above set_rows_checked. Moves n * (8 + 2 nbytes). `streams`:
 * out is too large to stay in any cache, so it is written past them, which saves
 * reading it first; only where every row of it is aligned for that. Returns n, or how
 * many were moved before a number out of bounds. */
OF_UNIT int64_t
gather_rows_checked(char *restrict out, const ps_list *list,
                    const ps_numbering *numbering, const char *restrict a,
                    int64_t out_stride, int64_t nbytes, bool streams)
{
    enum {
        /* A source up to this is in the second cache: ns a row, 100,000 out of 10,000,
         * asked for / not, of 12 bytes 1.6 / 1.1, of 24 1.5 / 1.6, of 40 2.2 / 2.5 (Zen
         * 3). */
        NEAR_BYTES = 256 << 10,
        AHEAD = 8,
        /* Rows of up to SHORT_ROW bytes are done sooner: ns a row of 24 / 64 / 100 /
         * 200 bytes, 1.17e6 out of 170,000, 8 ahead 5.5 / 14.3 / 14.3 / 32, 16 4.2 /
         * 11.2 / 13.1 / 35 (Zen 3). */
        SHORT_AHEAD = 16,
        SHORT_ROW = 128
    };
    const bool is_near = numbering->last <= (uint64_t)(NEAR_BYTES / (nbytes + 1));
    const uintptr_t places = (uintptr_t)out | (uintptr_t)out_stride | (uintptr_t)nbytes;
    const int64_t ahead = is_near ? 0 : nbytes <= SHORT_ROW ? SHORT_AHEAD : AHEAD;
    streams = streams && places % 16 == 0 && nbytes > 0;
    const row_moves moves = {list, numbering, out_stride, nbytes, ahead, streams};
    const int64_t done = move_rows(out, a, &moves, true);
#if defined(__x86_64__)
    if (streams) {
        _mm_sfence();
    }
#endif
    return done;
}

OF_UNIT void
gather_rows(char *restrict out, const ps_list *list, const char *restrict a,
            int64_t out_stride, int64_t nbytes, bool streams)
{
    gather_rows_checked(out, list, &ps_are_offsets, a, out_stride, nbytes, streams);
}

/* to[i] = the item at from + i * stride, n of them. Unrolled, since how fast a loop of
 * a single move is depends on where it lies: time of np.take over that of rows of 8
 * float64 apart, 1,250 and 12,500 of them, so 1.1 to 1.4, else 0.7 to 1.1 (Zen 3). */
TEMPLATE_INLINE void
copy_apart(char *restrict to, const char *restrict from, int64_t stride, int64_t n,
           const int64_t size)
{
    if (stride == -size) { /* vectors */
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * size, from - i * size, (size_t)size);
        }
        return;
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * size, from + i * stride, (size_t)size);
    }
}

/* The loop of gather_apart, for a size that is a constant. */
TEMPLATE_INLINE void
gather_items_apart(char *restrict out, const ps_list *list, const char *restrict a,
                   int64_t out_stride, int64_t item_stride, int64_t width,
                   const int64_t size)
{
    enum {
        AHEAD = 8
    };
    const ps_list pairs = *list; /* in registers: stores might change it */
    for (int64_t i = 0; i < pairs.n; i++) {
        if (i + AHEAD < pairs.n) {
            const char *const next = a + pairs.offset[i + AHEAD];
            __builtin_prefetch(next);
            __builtin_prefetch(next + (width - 1) * item_stride);
        }
        const int64_t to = pairs.source != NULL ? pairs.source[i] : i;
        copy_apart(out + to * out_stride, a + pairs.offset[i], item_stride, width,
                   size);
    }
}

/* out row source[i] = the items at a + offset[i], `width` of them, which lie
 * `item_stride` bytes apart there and side by side in out: rows of reversed and strided
 * arrays. size: of an item, 1, 2, 4, 8 or 16. */
OF_UNIT void
gather_apart(char *restrict out, const ps_list *list, const char *restrict a,
             int64_t out_stride, int64_t item_stride, int64_t width, int64_t size)
{
    switch (size) {
        case 1:
            gather_items_apart(out, list, a, out_stride, item_stride, width, 1);
            break;
        case 2:
            gather_items_apart(out, list, a, out_stride, item_stride, width, 2);
            break;
        case 4:
            gather_items_apart(out, list, a, out_stride, item_stride, width, 4);
            break;
        case 8:
            gather_items_apart(out, list, a, out_stride, item_stride, width, 8);
            break;
        default:
            gather_items_apart(out, list, a, out_stride, item_stride, width, 16);
    }
}
