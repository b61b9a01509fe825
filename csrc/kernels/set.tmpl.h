/* set: target[offset[i]] = value[source[i]], in order, so that the last of equal
 * offsets stays. A pure move: one instance per item size (T is an unaligned move type),
 * and one for rows of any length. The contract is that of scatter.tmpl.h without
 * alignment.
 */

TEMPLATE_INLINE void
OF_TYPE(set)(char *restrict target, const ps_list *list, const char *restrict values,
             int64_t value_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    enum {
        AHEAD = 32 /* no load asks for a line before the store, so a miss would wait
                      there */
    };
    if (source == NULL) {
        int64_t done = 0;
        for (; done + AHEAD < list->n; done++) {
            __builtin_prefetch(target + offset[done + AHEAD], 1);
            *(T *)(target + offset[done]) = *(const T *)(values + done * value_stride);
        }
        for (int64_t i = done; i < list->n; i++) {
            *(T *)(target + offset[i]) = *(const T *)(values + i * value_stride);
        }
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        *(T *)(target + offset[i]) = *(const T *)(values + source[i] * value_stride);
    }
}

/* The loop of set_checked from entry i on, as scatter_from in scatter.tmpl.h. */
TEMPLATE_INLINE int64_t
OF_TYPE(set_from)(const bool is_wide, const bool counts, int64_t i,
                  char *restrict target, int64_t size, const char *restrict index,
                  const char *restrict values, int64_t value_stride, int64_t n,
                  int64_t ahead)
{
    T *const at = (T *)target;
    for (; i < n; i++) {
        const int64_t named = index_at(is_wide, index, i);
        const int64_t row = counts ? counted_row(named, size) : named;
        if (__builtin_expect((uint64_t)row >= (uint64_t)size, 0)) {
            break;
        }
        if (ahead > 0 && i + ahead < n) {
            const uint64_t next = (uint64_t)index_at(is_wide, index, i + ahead);
            __builtin_prefetch(target + next * sizeof(T), 1);
        }
        at[row] = *(const T *)(values + i * value_stride);
    }
    return i;
}

/* The same straight from the caller's index, checked in the register: contract and
 * result of scatter_checked. `ahead`: how many entries ahead a place is asked for, 0
 * where the target is near; asking needs no check. */
TEMPLATE_INLINE int64_t
OF_TYPE(set_checked)(const bool is_wide, char *restrict target, int64_t size,
                     const char *restrict index, const char *restrict values,
                     int64_t value_stride, int64_t n, int64_t ahead)
{
    const int64_t done = OF_TYPE(set_from)(is_wide, false, 0, target, size, index,
                                           values, value_stride, n, ahead);
    return done == n ? n
                     : OF_TYPE(set_from)(is_wide, true, done, target, size, index,
                                         values, value_stride, n, ahead);
}
