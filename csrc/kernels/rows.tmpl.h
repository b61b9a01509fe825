/* scatter_rows: target row = combine(target row, value row), in order.
 *
 * `width` contiguous elements per pair, with the rows of the next pairs on their way
 * from memory. Contract and order are those of scatter.tmpl.h. The numbers of the list
 * are offsets that have been checked, or row numbers straight from a contiguous int64
 * index, which are checked as they are used (rows.h). Moves n * (8 + row bytes) and the
 * touched target twice.
 */

/* Combine `width` elements of one row. A function of its own, so that the compiler
 * knows that the two rows are disjoint and makes vector code of it. */
TEMPLATE_INLINE void
OF_TYPE(combine_row)(const enum ps_op op, T *restrict at, const T *restrict value,
                     const int64_t width)
{
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int64_t j = 0; j < width; j++) {
        at[j] = OF_TYPE(combine)(op, at[j], value[j]);
    }
}

/* to = combine(at, value), for a row that stays in registers from here on. The first
 * value meets the target on its way into them: a copy before would be made by stores
 * half as wide as the loads that follow, which then wait for each of them (a third of
 * the time of a row of one line). */
TEMPLATE_INLINE void
OF_TYPE(combine_into)(const enum ps_op op, T *restrict to, const T *restrict at,
                      const T *restrict value, const int64_t width)
{
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int64_t j = 0; j < width; j++) {
        to[j] = OF_TYPE(combine)(op, at[j], value[j]);
    }
}

/* The loop over pairs, for a width that is a constant or not. `ahead`: how many pairs
 * ahead rows are asked for; 0 where they are near anyway. Sources are asked for only
 * where they are listed: consecutive ones are fetched by the hardware, but for rows of
 * one line, of which it is not sure soon enough between targets at random: ns a row of
 * 16 float32, asked for / not: 200,000 into 10,000 6.5 / 7.8, 1.17e6 sorted into
 * 170,000 6.1 / 6.7; rows of two lines and more take the same or longer (Zen 3).
 * Returns how many pairs were applied: all, or those before a number out of bounds. */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_width)(const enum ps_op op, char *restrict target, const ps_list *list,
                       const ps_numbering *numbering, const char *restrict values,
                       int64_t value_stride, const int64_t width, int64_t ahead)
{
    const int64_t *const restrict source = list->source;
    const int64_t nbytes = width * (int64_t)sizeof(T);
    const bool asks_for_values = nbytes == CACHE_LINE && source == NULL;
    int64_t place;
    for (int64_t i = 0; i < list->n; i++) {
        ask_ahead(target, list, numbering, values, value_stride, i, ahead, nbytes);
        if (asks_for_values) {
            __builtin_prefetch(values + i * value_stride + STREAM_BYTES);
        }
        if (!place_of(list, numbering, i, &place)) {
            return i;
        }
        const int64_t from = source != NULL ? source[i] : i;
        OF_TYPE(combine_row)(op, (T *)(target + place),
                             (const T *)(values + from * value_stride), width);
    }
    return list->n;
}

#if KIND_IS(FLOAT) || KIND_IS(INT)

/* Rows of several lines: what two rows further on have to be brought near is asked for
 * line by line, beside the lines that are combined. NULL: nothing. */
typedef struct {
    const char *at, *value;
} OF_TYPE(rows_ahead);

/* Combine `n_lines` lines from byte `done` of a row on. */
TEMPLATE_INLINE void
OF_TYPE(combine_lines)(const enum ps_op op, char *restrict at,
                       const char *restrict value, int64_t done,
                       OF_TYPE(rows_ahead) next, const int n_lines)
{
    enum {
        LINE = sizeof(T) < CACHE_LINE ? CACHE_LINE / sizeof(T) : 1
    };
    if (next.at != NULL) {
#pragma GCC unroll 4
        for (int line = 0; line < n_lines; line++) {
            __builtin_prefetch(next.at + done + line * CACHE_LINE, 1);
        }
    }
    if (next.value != NULL) {
#pragma GCC unroll 4
        for (int line = 0; line < n_lines; line++) {
            __builtin_prefetch(next.value + done + line * CACHE_LINE);
        }
    }
#pragma GCC unroll 4
    for (int line = 0; line < n_lines; line++) {
        OF_TYPE(combine_row)(op, (T *)(at + done) + line * LINE,
                             (const T *)(value + done) + line * LINE, LINE);
    }
}

/* The contract of scatter_width, for rows of some lines that come from far: four lines
 * at a time, then one, then the rest, so that all but the last are loops of constant
 * lengths. Values that are not listed are asked for where targets are near. ns a row of
 * 64 / 128 / 300 float32, so / as a loop of any width: 200,000 into 10,000 20 / 22, 36
 * / 40, 98 / 117; 400,000 into 150,000 41 / 49, 95 / 101, 189 / 218 (Zen 3). */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_blocks)(const enum ps_op op, char *restrict target, const ps_list *list,
                        const ps_numbering *numbering, const char *restrict values,
                        int64_t value_stride, int64_t width, int64_t ahead)
{
    enum {
        BLOCK = 4 * CACHE_LINE,
        VALUES_AHEAD = 1024 /* bytes */
    };
    const int64_t *const restrict source = list->source;
    const int64_t nbytes = width * (int64_t)sizeof(T);
    const bool asks_for_values = ahead == 0 && source == NULL;
    int64_t place;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t from = source != NULL ? source[i] : i;
        const char *const value = values + from * value_stride;
        OF_TYPE(rows_ahead) next = {NULL, NULL};
        if (ahead > 0 && i + ahead < list->n) {
            const uint64_t row = (uint64_t)list->offset[i + ahead];
            next.at = target + row * (uint64_t)numbering->step;
            __builtin_prefetch(next.at + nbytes - 1, 1);
            if (source != NULL) {
                next.value = values + source[i + ahead] * value_stride;
            }
        }
        else if (asks_for_values) {
            next.value = value + VALUES_AHEAD;
        }
        if (!place_of(list, numbering, i, &place)) {
            return i;
        }
        char *const at = target + place;
        int64_t done = 0;
        for (; nbytes - done >= BLOCK; done += BLOCK) {
            OF_TYPE(combine_lines)(op, at, value, done, next, 4);
        }
        for (; nbytes - done >= CACHE_LINE; done += CACHE_LINE) {
            OF_TYPE(combine_lines)(op, at, value, done, next, 1);
        }
        OF_TYPE(combine_row)(op, (T *)(at + done), (const T *)(value + done),
                             (nbytes - done) / (int64_t)sizeof(T));
    }
    return list->n;
}

#endif

#if KIND_IS(FLOAT)

/* One cache line per row, whose numbers repeat: the line stays in a register while they
 * do, since there is too little work in a row to hide the store and reload of it. The
 * contract of scatter_width. */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_lines)(const enum ps_op op, char *restrict target, const ps_list *list,
                       const ps_numbering *numbering, const char *restrict values,
                       int64_t value_stride, int64_t ahead)
{
    enum {
        LINE = CACHE_LINE / sizeof(T)
    };
    const int64_t *const restrict source = list->source;
    int64_t place, next;
    for (int64_t i = 0; i < list->n;) {
        T running[LINE];
        ask_ahead(target, list, numbering, values, value_stride, i, ahead, CACHE_LINE);
        if (!place_of(list, numbering, i, &place)) {
            return i;
        }
        const int64_t first = source != NULL ? source[i] : i;
        OF_TYPE(combine_into)(op, running, (const T *)(target + place),
                              (const T *)(values + first * value_stride), LINE);
        for (i++; i < list->n && place_of(list, numbering, i, &next) && next == place;
             i++) {
            ask_ahead(target, list, numbering, values, value_stride, i, ahead,
                      CACHE_LINE);
            const int64_t from = source != NULL ? source[i] : i;
            OF_TYPE(combine_row)(op, running, (const T *)(values + from * value_stride),
                                 LINE);
        }
        memcpy(target + place, running, sizeof(running));
    }
    return list->n;
}

#endif

/* target row place(offset[i]) = target row op values row source[i], in order; returns
 * n, or how many pairs were applied before a number out of bounds. The numbers of the
 * list are offsets that have been checked, or row numbers straight from a contiguous
 * int64 index (rows.h). A width of one cache line, the commonest of short rows, has a
 * loop of its own for the types that vectors hold, and for floats one for numbers that
 * repeat
 * (`uses_runs`): 6,000 rows of 16 float32 into 300 take 1.6 ns each at random, 3.3 with
 * the row in registers; all into one 4.4 and 2.6 (Zen 3). */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_rows)(const enum ps_op op, char *restrict target,
                      const ps_list *given_list, const ps_numbering *given,
                      const char *restrict values, int64_t value_stride, int64_t width,
                      int64_t ahead, bool uses_runs)
{
    const ps_list list = *given_list; /* in registers: stores might change them */
    const ps_numbering numbering = *given;
#if KIND_IS(FLOAT) || KIND_IS(INT)
    enum {
        /* Values from which they are far: 3,000 rows of 64 float32 into 100 take 7.9 ns
         * each as a loop of any width, in blocks 8.6 (Zen 3). */
        FAR_BYTES = 2 << 20
    };
    const bool is_line = width * (int64_t)sizeof(T) == CACHE_LINE && sizeof(T) >= 4 &&
                         !OF_TYPE(is_heavy)(op);
#if KIND_IS(FLOAT)
    if (is_line && uses_runs) {
        return OF_TYPE(scatter_lines)(op, target, &list, &numbering, values,
                                      value_stride, ahead);
    }
#endif
    if (is_line) {
        return OF_TYPE(scatter_width)(op, target, &list, &numbering, values,
                                      value_stride, CACHE_LINE / sizeof(T), ahead);
    }
    const int64_t nbytes = width * (int64_t)sizeof(T);
    const bool is_far = ahead > 0 || list.n * nbytes > FAR_BYTES;
    if (nbytes >= 4 * CACHE_LINE && is_far && sizeof(T) >= 4 &&
        !OF_TYPE(is_heavy)(op)) {
        return OF_TYPE(scatter_blocks)(op, target, &list, &numbering, values,
                                       value_stride, width, ahead);
    }
#endif
    (void)uses_runs;
    return OF_TYPE(scatter_width)(op, target, &list, &numbering, values, value_stride,
                                  width, ahead);
}
