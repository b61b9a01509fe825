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

/* The loop of set_checked from entry i on; `counted` as in ps_entries. */
TEMPLATE_INLINE int64_t
OF_TYPE(set_from)(const bool is_wide, const ps_entries *entries, int64_t counted,
                  int64_t i)
{
    T *const at = (T *)entries->target;
    const char *const restrict index = entries->index;
    const char *const restrict values = entries->values;
    const int64_t n = entries->n, size = entries->size, ahead = entries->ahead;
    for (; i < n; i++) {
        int64_t row;
        if (__builtin_expect(!is_row_of(is_wide, index, i, size, counted, &row), 0)) {
            break;
        }
        if (ahead > 0 && i + ahead < n) {
            const uint64_t next = (uint64_t)index_at(is_wide, index, i + ahead);
            __builtin_prefetch(entries->target + next * sizeof(T), 1);
        }
        at[row] = *(const T *)(values + i * entries->value_stride);
    }
    return i;
}

/* The same straight from the caller's index, checked in the register: contract and
 * result of scatter_checked. Asking for places ahead needs no check. Until the first
 * negative, one comparison is all the check. */
TEMPLATE_INLINE int64_t
OF_TYPE(set_checked)(const bool is_wide, const ps_entries *entries)
{
    const int64_t done = OF_TYPE(set_from)(is_wide, entries, 0, 0);
    return done == entries->n
                   ? done
                   : OF_TYPE(set_from)(is_wide, entries, entries->counted, done);
}
