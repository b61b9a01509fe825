/* scatter: target[offset[i]] = combine(target[offset[i]], value[source[i]]), in order.
 *
 * Three loops for each element type and reduction, which give the same bits: values are
 * combined from left to right into what the target holds.
 *   scatter       one element per pair; the plain loop
 *   scatter_runs  one element per pair; keeps the running value in a register while the
 *                 offset repeats, which turns 2.8 ns of store forwarding and add into
 * 0.7, but costs mispredictions where offsets differ at random scatter_rows  `width`
 * contiguous elements per pair, with the target rows of the next pairs on their way
 * from memory Contract of all: target is the first byte of the caller's target; the
 * list's offset [n] has been checked and is aligned for T; values holds source numbers
 * 0, 1, ... `value_stride` bytes apart, aligned; source [n], or NULL for 0, 1, ..., n -
 * 1; target and values are disjoint. Moves n * (8 + sizeof(T)) bytes and the touched
 * target twice.
 */

TEMPLATE_INLINE void
OF_TYPE(scatter)(const enum ps_op op, char *restrict target, const ps_list *list,
                 const char *restrict values, int64_t value_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    const int64_t n = list->n;
    if (source == NULL && value_stride == (int64_t)sizeof(T)) {
        const T *const value = (const T *)values;
        for (int64_t i = 0; i < n; i++) {
            T *const at = (T *)(target + offset[i]);
            *at = OF_TYPE(combine)(op, *at, value[i]);
        }
        return;
    }
    if (source == NULL) {
        for (int64_t i = 0; i < n; i++) {
            T *const at = (T *)(target + offset[i]);
            *at = OF_TYPE(combine)(op, *at, *(const T *)(values + i * value_stride));
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T *const at = (T *)(target + offset[i]);
        const T value = *(const T *)(values + source[i] * value_stride);
        *at = OF_TYPE(combine)(op, *at, value);
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
            running = OF_TYPE(combine)(op, running, value);
            i++;
        } while (i < list->n && offset[i] == place);
        *(T *)(target + place) = running;
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
        if (ahead > 0 && i + ahead < list->n) {
            prefetch_row(target + offset[i + ahead], nbytes);
            if (source != NULL) {
                prefetch_row(values + source[i + ahead] * value_stride, nbytes);
            }
        }
        const int64_t from = source != NULL ? source[i] : i;
        T *const restrict at = (T *)(target + offset[i]);
        const T *const restrict value = (const T *)(values + from * value_stride);
        for (int64_t j = 0; j < width; j++) {
            at[j] = OF_TYPE(combine)(op, at[j], value[j]);
        }
    }
}

/* Widths of one and four cache lines are constants, so that their rows become straight
 * vector code: embeddings of 16 and 64 floats are what users have most. */
TEMPLATE_INLINE void
OF_TYPE(scatter_rows)(const enum ps_op op, char *restrict target, const ps_list *list,
                      const char *restrict values, int64_t value_stride, int64_t width,
                      int64_t ahead)
{
    enum {
        LINE = sizeof(T) < CACHE_LINE ? CACHE_LINE / sizeof(T) : 1
    };
    if (width == LINE) {
        OF_TYPE(scatter_width)(op, target, list, values, value_stride, LINE, ahead);
    }
    else {
        OF_TYPE(scatter_width)(op, target, list, values, value_stride, width, ahead);
    }
}
