/* Moves of whole rows of `nbytes` bytes, for set and gather; no element type matters.
 *
 * `ahead` in set_rows and AHEAD in gather_rows: how many pairs ahead rows are asked for
 * from memory (8 hides a miss behind the copies of the rows between: 23 ns a row of 64
 * float32 in 43 MB).
 */

/* Ask for the rows of the pair `ahead` pairs on, if there is one: the target's, and the
 * source's where sources are listed (consecutive ones are fetched by the hardware). */
TEMPLATE_INLINE void
ask_ahead(const char *target, const ps_list *list, const char *values,
          int64_t value_stride, int64_t i, int64_t ahead, int64_t nbytes)
{
    if (ahead == 0 || i + ahead >= list->n) {
        return;
    }
    prefetch_row(target + list->offset[i + ahead], nbytes);
    if (list->source != NULL) {
        prefetch_row(values + list->source[i + ahead] * value_stride, nbytes);
    }
}

/* A memcpy that the compiler unrolls for the common short rows. */
TEMPLATE_INLINE void
copy_row(char *restrict to, const char *restrict from, int64_t nbytes)
{
    if (nbytes == 64) {
        memcpy(to, from, 64);
        return;
    }
    memcpy(to, from, (size_t)nbytes);
}

OF_UNIT void
set_rows(char *restrict target, const ps_list *list, const char *restrict values,
         int64_t value_stride, int64_t nbytes, int64_t ahead)
{
    for (int64_t i = 0; i < list->n; i++) {
        if (ahead > 0 && i + ahead < list->n) {
            prefetch_row(target + list->offset[i + ahead], nbytes);
        }
        const int64_t from = list->source != NULL ? list->source[i] : i;
        copy_row(target + list->offset[i], values + from * value_stride, nbytes);
    }
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

/* out row source[i] = row of `a` at offset[i]. `streams`: out is too large to stay in
 * any cache, so it is written past them, which saves reading it first; only where every
 * row of it is aligned for that. */
OF_UNIT void
gather_rows(char *restrict out, const ps_list *list, const char *restrict a,
            int64_t out_stride, int64_t nbytes, bool streams)
{
    enum {
        AHEAD = 8
    };
    const uintptr_t places = (uintptr_t)out | (uintptr_t)out_stride | (uintptr_t)nbytes;
    streams = streams && places % 16 == 0;
    for (int64_t i = 0; i < list->n; i++) {
        if (i + AHEAD < list->n) {
            const char *const next = a + list->offset[i + AHEAD];
            for (int64_t byte = 0; byte < nbytes; byte += CACHE_LINE) {
                __builtin_prefetch(next + byte);
            }
        }
        const int64_t to = list->source != NULL ? list->source[i] : i;
#if defined(__x86_64__)
        if (streams) {
            stream_row(out + to * out_stride, a + list->offset[i], nbytes);
            continue;
        }
#endif
        copy_row(out + to * out_stride, a + list->offset[i], nbytes);
    }
#if defined(__x86_64__)
    if (streams) {
        _mm_sfence();
    }
#endif
    (void)streams;
}
