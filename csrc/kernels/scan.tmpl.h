/* scan: each entry receives what its segment has come to.
 *
 * For entries in order, forwards or backwards: running[g][j] becomes values[i][j] for
 * the first entry i of segment g, and then combine(running[g][j], values[i][j]), for 0
 * <= j < width; out[i][j] is running[g][j] after it, or before. A segment starts from
 * its first entry as it is, never from a neutral value: the bits are those of a loop
 * over that segment alone. The types are few, since narrow ones are widened while they
 * are packed, which is exact for what is narrowed again; sums and products of integers
 * are unsigned.
 */
#define IS_SCANNED                                                           \
    (KIND_IS(FLOAT) || KIND_IS(LONG) || KIND_IS(COMPLEX) || KIND_IS(TIME) || \
     KIND_IS(INT))
#if IS_SCANNED

/* One entry's row. `empty` is what an exclusive scan writes for the first entry. The
 * choice by is_first is a selection, since a branch on it would be guessed wrong once
 * for most segments. */
TEMPLATE_INLINE void
OF_TYPE(scan_row)(const enum ps_op op, T *restrict out, T *restrict running,
                  const T *restrict value, bool is_first, bool is_exclusive, T empty,
                  int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        const T before = running[j];
        const T joined = OF_TYPE(combine)(op, before, value[j]);
        const T next = is_first ? value[j] : joined;
        const T shown = is_first ? empty : before;
        running[j] = next;
        out[j] = is_exclusive ? shown : next;
    }
}

/* scan_checked of single elements. The running value of the group at hand stays in a
 * register until another group comes: through memory a run of equals would cost the
 * time from a store to the next load for each entry. */
TEMPLATE_INLINE int64_t
OF_TYPE(scan_elements)(const enum ps_op op, const bool is_wide, T *restrict out,
                       const T *restrict value, const char *restrict index, int64_t n,
                       const ps_scan *scan)
{
    T *const running = (T *)scan->running;
    char *const seen = scan->seen;
    const bool is_exclusive = scan->is_exclusive, is_backward = scan->is_backward;
    const int64_t size = scan->size;
    int64_t n_bad = 0, last = -1;
    T empty, current;
    memcpy(&empty, scan->empty, sizeof(T));
    current = empty;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = is_backward ? n - 1 - k : k;
        const int64_t group = index_at(is_wide, index, i);
        bool is_first = false;
        if (__builtin_expect((uint64_t)group >= (uint64_t)size, 0)) {
            n_bad++;
            continue;
        }
        if (group != last) {
            if (last >= 0) {
                running[last] = current;
            }
            current = running[group];
            is_first = seen[group] == 0;
            seen[group] = 1;
            last = group;
        }
        OF_TYPE(scan_row)(op, out + i, &current, value + i, is_first, is_exclusive,
                          empty, 1);
    }
    if (last >= 0) {
        running[last] = current;
    }
    return n_bad;
}

/* By ids: index holds the groups of n entries, contiguous int32 or int64 (is_wide),
 * each read and checked in a register; one out of bounds takes no part, and their
 * number is returned. scan->running is (size, width), scan->seen one byte for each
 * group. Each entry costs one visit of its group's row. */
TEMPLATE_INLINE int64_t
OF_TYPE(scan_checked)(const enum ps_op op, const bool is_wide, char *restrict out,
                      const char *restrict values, const char *restrict index,
                      int64_t n, const ps_scan *scan)
{
    if (scan->width == 1 && scan->stride == sizeof(T)) {
        return OF_TYPE(scan_elements)(op, is_wide, (T *)out, (const T *)values, index,
                                      n, scan);
    }
    T *const running = (T *)scan->running;
    char *const seen = scan->seen;
    const bool is_exclusive = scan->is_exclusive, is_backward = scan->is_backward;
    const int64_t size = scan->size, stride = scan->stride, width = scan->width;
    T empty;
    memcpy(&empty, scan->empty, sizeof(T));
    int64_t n_bad = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = is_backward ? n - 1 - k : k;
        const int64_t group = index_at(is_wide, index, i);
        if (__builtin_expect((uint64_t)group >= (uint64_t)size, 0)) {
            n_bad++;
            continue;
        }
        OF_TYPE(scan_row)(op, (T *)(out + i * stride), running + group * width,
                          (const T *)(values + i * stride), seen[group] == 0,
                          is_exclusive, empty, width);
        seen[group] = 1;
    }
    return n_bad;
}

/* Entries [first, last) of one segment, single elements, with the running value in a
 * register. */
TEMPLATE_INLINE void
OF_TYPE(scan_line)(const enum ps_op op, T *restrict out, const T *restrict value,
                   int64_t first, int64_t last, bool is_first, const ps_scan *scan)
{
    const bool is_exclusive = scan->is_exclusive;
    const int64_t step = scan->is_backward ? -1 : 1;
    int64_t n = last - first, i = scan->is_backward ? last - 1 : first;
    T running;
    if (n == 0) {
        return;
    }
    if (is_first) {
        running = value[i];
        memcpy(out + i, is_exclusive ? scan->empty : value + i, sizeof(T));
        i += step;
        n--;
    }
    else {
        memcpy(&running, scan->running, sizeof(T));
    }
    for (; is_exclusive && n > 0; n--, i += step) {
        const T before = running;
        running = OF_TYPE(combine)(op, running, value[i]);
        out[i] = before;
    }
    for (; n > 0; n--, i += step) {
        running = OF_TYPE(combine)(op, running, value[i]);
        out[i] = running;
    }
    memcpy(scan->running, &running, sizeof(T));
}

/* By runs: part k of the entries is [edge[k], edge[k + 1]), a segment of its own; the
 * one that comes first goes on from scan->running, one row, if `continues`. The last
 * row that was reached is left there. */
TEMPLATE_INLINE void
OF_TYPE(scan_runs)(const enum ps_op op, char *restrict out, const char *restrict values,
                   const int64_t *edge, int64_t n_parts, bool continues,
                   const ps_scan *scan)
{
    const int64_t stride = scan->stride, width = scan->width;
    T empty;
    memcpy(&empty, scan->empty, sizeof(T));
    for (int64_t k = 0; k < n_parts; k++) {
        const int64_t part = scan->is_backward ? n_parts - 1 - k : k;
        const int64_t first = edge[part], last = edge[part + 1];
        bool is_first = k > 0 || !continues;
        if (width == 1) {
            OF_TYPE(scan_line)(op, (T *)out, (const T *)values, first, last, is_first,
                               scan);
            continue;
        }
        for (int64_t m = 0; m < last - first; m++) {
            const int64_t i = scan->is_backward ? last - 1 - m : first + m;
            OF_TYPE(scan_row)(op, (T *)(out + i * stride), (T *)scan->running,
                              (const T *)(values + i * stride), is_first,
                              scan->is_exclusive, empty, width);
            is_first = false;
        }
    }
}

#endif
#undef IS_SCANNED
