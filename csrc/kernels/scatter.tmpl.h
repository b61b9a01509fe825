/* scatter: target[offset[i]] = combine(target[offset[i]], value[source[i]]), in order.
 *
 * Two loops for each element type and reduction, which give the same bits: values are
 * combined from left to right into what the target holds. (checked.tmpl.h has two that
 * need no list, rows.tmpl.h one of rows.)
 *   scatter        one element per pair; the plain loop
 *   scatter_runs   one element per pair; keeps the running value in a register while
 *                    the offset repeats, which turns 2.8 ns of store forwarding and add
 *                    into 0.6, but costs mispredictions where offsets differ at random
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
#pragma GCC unroll 4
        for (int64_t i = 0; i < n; i++) {
            OF_TYPE(update_by)
            (op, (T *)(target + offset[i]), values + i * (int64_t)sizeof(T));
        }
        return;
    }
    if (source == NULL) {
        for (int64_t i = 0; i < n; i++) {
            OF_TYPE(update_by)
            (op, (T *)(target + offset[i]), values + i * value_stride);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        OF_TYPE(update_by)
        (op, (T *)(target + offset[i]), values + source[i] * value_stride);
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
