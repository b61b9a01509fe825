/* Moves of whole rows of `nbytes` bytes, for set and gather; no element type matters.
 *
 * The numbers of a list are offsets that have been checked, or row numbers straight
 * from a contiguous int64 index, which `numbering` turns into places (kernels.h): one
 * loop serves both.
 *
 * `ahead` in set_rows and AHEAD in gather_rows: how many pairs ahead rows are asked for
 * from memory (8 hides a miss behind the copies of the rows between: 23 ns a row of 64
 * float32 in 43 MB).
 */

/* The place of pair i, from numbers that may lie in the caller's memory: each is read
 * once, into a register (the empty asm keeps the compiler from reading it again), and
 * checked there. False: out of bounds. */
TEMPLATE_INLINE bool
place_of(const ps_list *list, const ps_numbering *numbering, int64_t i, int64_t *place)
{
    int64_t row = list->offset[i];
    __asm__("" : "+r"(row));
    row = counted_row(row, numbering->counted);
    *place = (int64_t)((uint64_t)row * (uint64_t)numbering->step);
    return (uint64_t)row <= numbering->last;
}

/* Ask for the rows of the pair `ahead` pairs on, if there is one: the target's, and the
 * source's where sources are listed (consecutive ones are fetched by the hardware).
 * Asking needs no check. */
TEMPLATE_INLINE void
ask_ahead(const char *target, const ps_list *list, const ps_numbering *numbering,
          const char *values, int64_t value_stride, int64_t i, int64_t ahead,
          int64_t nbytes)
{
    if (ahead == 0 || i + ahead >= list->n) {
        return;
    }
    const uint64_t row = (uint64_t)list->offset[i + ahead];
    prefetch_row(target + row * (uint64_t)numbering->step, nbytes);
    if (list->source != NULL) {
        prefetch_row(values + list->source[i + ahead] * value_stride, nbytes);
    }
}

/* memcpy without a call for short rows: blocks from the front and from the back, which
 * overlap where they have to. ns a row of those gathered from 1,000, so / by a call
 * (Zen 3): of 24 bytes 2.6 / 4.6, of 32 2.2 / 3.8, of 48 2.5 / 3.7. */
TEMPLATE_INLINE void
copy_row(char *restrict to, const char *restrict from, int64_t nbytes)
{
    typedef uint64_t half __attribute__((aligned(1), may_alias));
    typedef char block __attribute__((vector_size(16), aligned(1), may_alias));
    if (nbytes < 8 || nbytes > 64) {
        memcpy(to, from, (size_t)nbytes);
    }
    else if (nbytes < 16) {
        *(half *)to = *(const half *)from;
        *(half *)(to + nbytes - 8) = *(const half *)(from + nbytes - 8);
    }
    else {
        *(block *)to = *(const block *)from;
        if (nbytes > 32) {
            *(block *)(to + 16) = *(const block *)(from + 16);
            *(block *)(to + nbytes - 32) = *(const block *)(from + nbytes - 32);
        }
        *(block *)(to + nbytes - 16) = *(const block *)(from + nbytes - 16);
    }
}

/* target row place(offset[i]) = values row source[i], in order. Returns n, or how many
 * were moved before a number out of bounds. */
OF_UNIT int64_t
set_rows_checked(char *restrict target, const ps_list *list,
                 const ps_numbering *numbering, const char *restrict values,
                 int64_t value_stride, int64_t nbytes, int64_t ahead)
{
    const ps_list pairs = *list; /* in registers: stores might change it */
    const ps_numbering by = *numbering;
    int64_t place;
    for (int64_t i = 0; i < pairs.n; i++) {
        if (ahead > 0 && i + ahead < pairs.n) {
            const uint64_t row = (uint64_t)pairs.offset[i + ahead];
            prefetch_row(target + row * (uint64_t)by.step, nbytes);
        }
        if (!place_of(&pairs, &by, i, &place)) {
            return i;
        }
        const int64_t from = pairs.source != NULL ? pairs.source[i] : i;
        copy_row(target + place, values + from * value_stride, nbytes);
    }
    return pairs.n;
}

OF_UNIT void
set_rows(char *restrict target, const ps_list *list, const char *restrict values,
         int64_t value_stride, int64_t nbytes, int64_t ahead)
{
    set_rows_checked(target, list, &ps_are_offsets, values, value_stride, nbytes,
                     ahead);
}

#if defined(__x86_64__)
/* copy_row past the caches: the line of `to` is neither read nor kept. `to` is aligned
 * to 16 and nbytes a multiple of 16. */
TEMPLATE_INLINE void
stream_row(char *restrict to, const char *restrict from, int64_t nbytes)
{
    for (int64_t done = 0; done < nbytes; done += 16) {
        _mm_stream_si128((__m128i *)(to + done),
                         _mm_loadu_si128((const __m128i *)(from + done)));
    }
}
#endif

/* The loop of gather_rows_checked for rows side by side in out of a source that is
 * near; how copy_row goes about them is asked once. */
TEMPLATE_INLINE int64_t
gather_near_rows(char *restrict out, const ps_list *list, const ps_numbering *numbering,
                 const char *restrict a, int64_t nbytes, const int64_t least,
                 const int64_t most)
{
    const ps_list pairs = *list; /* in registers: stores might change it */
    const ps_numbering by = *numbering;
    int64_t i = 0, place;
    if (nbytes < least || nbytes > most) {
        __builtin_unreachable();
    }
    for (; i < pairs.n && place_of(&pairs, &by, i, &place); i++, out += nbytes) {
        copy_row(out, a + place, nbytes);
    }
    return i;
}

/* out row source[i] = row of `a` at place(offset[i]). `streams`: out is too large to
 * stay in any cache, so it is written past them, which saves reading it first; only
 * where every row of it is aligned for that. Returns n, or how many were moved before a
 * number out of bounds. */
OF_UNIT int64_t
gather_rows_checked(char *restrict out, const ps_list *list,
                    const ps_numbering *numbering, const char *restrict a,
                    int64_t out_stride, int64_t nbytes, bool streams)
{
    enum {
        AHEAD = 8,
        NEAR_BYTES = 512 << 10 /* a source up to this is in the second cache */
    };
    const bool is_near = numbering->last <= (uint64_t)(NEAR_BYTES / (nbytes + 1));
    const int64_t ahead = is_near ? list->n : AHEAD;
    if (is_near && list->source == NULL && out_stride == nbytes && nbytes > 16 &&
        nbytes <= 64) {
        return nbytes <= 32 ? gather_near_rows(out, list, numbering, a, nbytes, 17, 32)
                            : gather_near_rows(out, list, numbering, a, nbytes, 33, 64);
    }
    const uintptr_t places = (uintptr_t)out | (uintptr_t)out_stride | (uintptr_t)nbytes;
    streams = streams && places % 16 == 0;
    const ps_list pairs = *list; /* in registers: stores might change it */
    const ps_numbering by = *numbering;
    int64_t i = 0, place;
    for (; i < pairs.n; i++) {
        if (i + ahead < pairs.n) {
            const uint64_t row = (uint64_t)pairs.offset[i + ahead];
            const char *const next = a + row * (uint64_t)by.step;
            for (int64_t byte = 0; byte < nbytes; byte += CACHE_LINE) {
                __builtin_prefetch(next + byte);
            }
        }
        if (!place_of(&pairs, &by, i, &place)) {
            break;
        }
        const int64_t to = pairs.source != NULL ? pairs.source[i] : i;
#if defined(__x86_64__)
        if (streams) {
            stream_row(out + to * out_stride, a + place, nbytes);
            continue;
        }
#endif
        copy_row(out + to * out_stride, a + place, nbytes);
    }
#if defined(__x86_64__)
    if (streams) {
        _mm_sfence();
    }
#endif
    return i;
}

OF_UNIT void
gather_rows(char *restrict out, const ps_list *list, const char *restrict a,
            int64_t out_stride, int64_t nbytes, bool streams)
{
    gather_rows_checked(out, list, &ps_are_offsets, a, out_stride, nbytes, streams);
}

/* to[i] = the item at from + i * stride, n of them. */
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
