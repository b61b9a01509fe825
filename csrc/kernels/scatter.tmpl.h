/* scatter: target[offset[i]] = combine(target[offset[i]], value[source[i]]), in order.
 *
 * Three loops for each element type and reduction, which give the same bits: values are
 * combined from left to right into what the target holds. (checked.tmpl.h has two that
 * need no list.)
 *   scatter        one element per pair; the plain loop
 *   scatter_runs   one element per pair; keeps the running value in a register while
 *                    the offset repeats, which turns 2.8 ns of store forwarding and add
 *                    into 0.6, but costs mispredictions where offsets differ at random
 *   scatter_rows   `width` contiguous elements per pair, with the target rows of the
 *                    next pairs on their way from memory
 * Contract: target is the first byte of the caller's target; the list's offset [n] has
 * been checked and is aligned for T; values holds source numbers 0, 1, ...
 * `value_stride` bytes apart, aligned; source [n], or NULL for 0, 1, ..., n - 1; target
 * and values are disjoint. Moves n * (8 + sizeof(T)) bytes and the touched target
 * twice.
 */

TEMPLATE_INLINE void
OF_TYPE(scatter)(const enum ps_op op, char *restrict target, const ps_list *list,
                 const char *restrict values, int64_t value_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    const int64_t n = list->n;
    if (source == NULL && value_stride == (int64_t)sizeof(T) &&
        !OF_TYPE(is_heavy)(op)) {
        const T *const value = (const T *)values;
#pragma GCC unroll 4
        for (int64_t i = 0; i < n; i++) {
            OF_TYPE(update)(op, (T *)(target + offset[i]), value[i]);
        }
        return;
    }
    if (source == NULL) {
        for (int64_t i = 0; i < n; i++) {
            OF_TYPE(update)
            (op, (T *)(target + offset[i]), *(const T *)(values + i * value_stride));
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T value = *(const T *)(values + source[i] * value_stride);
        OF_TYPE(update)(op, (T *)(target + offset[i]), value);
    }
}

TEMPLATE_INLINE void
OF_TYPE(scatter_runs)(const enum ps_op op, char *restrict target, const ps_list *list,
                      const char *restrict values, int64_t value_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    for (int64_t i = 0; i < list->n;) {
        const int64_t place = offset[i];
        T running = *(T *)(target + place);
        do {
            const int64_t from = source != NULL ? source[i] : i;
            const T value = *(const T *)(values + from * value_stride);
            if (!OF_TYPE(stays)(op, running, value)) {
                running = OF_TYPE(combine)(op, running, value);
            }
            i++;
        } while (i < list->n && offset[i] == place);
        *(T *)(target + place) = running;
    }
}

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
 * where they are listed: consecutive ones are fetched by the hardware. */
TEMPLATE_INLINE void
OF_TYPE(scatter_width)(const enum ps_op op, char *restrict target, const ps_list *list,
                       const char *restrict values, int64_t value_stride,
                       const int64_t width, int64_t ahead)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    const int64_t nbytes = width * (int64_t)sizeof(T);
    for (int64_t i = 0; i < list->n; i++) {
        ask_ahead(target, list, values, value_stride, i, ahead, nbytes);
        const int64_t from = source != NULL ? source[i] : i;
        OF_TYPE(combine_row)(op, (T *)(target + offset[i]),
                             (const T *)(values + from * value_stride), width);
    }
}

/* One cache line per row: the line stays in a register while the offset repeats, since
 * there is too little work in a row to hide the store and reload of it. */
TEMPLATE_INLINE void
OF_TYPE(scatter_lines)(const enum ps_op op, char *restrict target, const ps_list *list,
                       const char *restrict values, int64_t value_stride, int64_t ahead)
{
    enum {
        LINE = sizeof(T) < CACHE_LINE ? CACHE_LINE / sizeof(T) : 1
    };
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    for (int64_t i = 0; i < list->n;) {
        const int64_t place = offset[i];
        T running[LINE];
        ask_ahead(target, list, values, value_stride, i, ahead, CACHE_LINE);
        const int64_t first = source != NULL ? source[i] : i;
        OF_TYPE(combine_into)(op, running, (const T *)(target + place),
                              (const T *)(values + first * value_stride), LINE);
        for (i++; i < list->n && offset[i] == place; i++) {
            ask_ahead(target, list, values, value_stride, i, ahead, CACHE_LINE);
            const int64_t from = source != NULL ? source[i] : i;
            OF_TYPE(combine_row)(op, running, (const T *)(values + from * value_stride),
                                 LINE);
        }
        memcpy(target + place, running, sizeof(running));
    }
}

/* A width of one cache line, the commonest of short rows, has a loop of its own. */
TEMPLATE_INLINE void
OF_TYPE(scatter_rows)(const enum ps_op op, char *restrict target, const ps_list *list,
                      const char *restrict values, int64_t value_stride, int64_t width,
                      int64_t ahead)
{
    if (width * (int64_t)sizeof(T) == CACHE_LINE) {
        OF_TYPE(scatter_lines)(op, target, list, values, value_stride, ahead);
    }
    else {
        OF_TYPE(scatter_width)(op, target, list, values, value_stride, width, ahead);
    }
}
