/* gather: out[source[i]] = a[offset[i]]. A pure move: one instance per item size (T is
 * an unaligned move type). out holds source numbers 0, 1, ... `out_stride` bytes apart;
 * source NULL means 0, 1, ..., n - 1. offset [n] has been checked. Moves
 * n * (8 + 2 sizeof(T)) bytes.
 */

TEMPLATE_INLINE void
OF_TYPE(gather)(char *restrict out, const ps_list *list, const char *restrict a,
                int64_t out_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    if (source == NULL && out_stride == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < list->n; i++) {
            *(T *)(out + i * (int64_t)sizeof(T)) = *(const T *)(a + offset[i]);
        }
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t to = source != NULL ? source[i] : i;
        *(T *)(out + to * out_stride) = *(const T *)(a + offset[i]);
    }
}

/* out[i] = a[row of index[i]] straight from the caller's index; returns n, or how many
 * have been moved before a group that holds an index out of bounds. index: n contiguous
 * int32 or int64 (is_wide), negatives from the end; a: `size` contiguous items. A group
 * is copied to the stack and checked there as a whole, so that no check stands between
 * the loads: more misses are under way than with a check for each (1e6 of 1e6: 1.6 ms
 * against 2.1 by lists, 1e7 of 1e7: 72 against 80, Zen 4). */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_checked)(const bool is_wide, char *restrict out, const char *restrict a,
                        int64_t size, const char *restrict index, int64_t n)
{
    enum {
        GROUP = 32
    };
    int64_t row[GROUP];
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    int64_t done = 0;
    for (; done + GROUP <= n; done += GROUP) {
        if (!rows_of_group(is_wide, row, index, done, GROUP, size)) {
            return done;
        }
        for (int64_t i = 0; i < GROUP; i++) {
            to[done + i] = from[row[i]];
        }
    }
    if (!rows_of_group(is_wide, row, index, done, n - done, size)) {
        return done;
    }
    for (int64_t i = 0; i < n - done; i++) {
        to[done + i] = from[row[i]];
    }
    return n;
}
