/* target[index[i]] = combine(target[index[i]], value[i]), in order, straight from the
 * caller's index: the loops of scatter.tmpl.h without a list, a quarter of the time
 * where all is in cache. Each index is read once, into a register, and checked there.
 *
 *   scatter_checked        in groups of eight, then one by one
 *   scatter_runs_checked   keeps the running value while the index repeats
 *
 * For a target that nobody can see, these are the pass that checks as it writes; for
 * one whose index has been checked they find only what another thread has changed.
 * Contract: ps_entries (kernels.h). The result is the first bad entry, the least i with
 * index[i] out of bounds, before which all has been applied; or n.
 *
 * Groups know no negatives, since one comparison is then all the check (1e6 into 1,000:
 * 0.51 ms, counting them 0.66), values side by side or one for all, and nothing that
 * asks for a whole rule. What they stop at is taken one by one, then they try again.
 * They ask for index and values ahead of the hardware, whose own asking random targets
 * disturb, and where `ahead` says so for elements of the target: 1e6 random float64
 * into 1e6 1.27 and 1.05 of the time of a loop that checks nothing (Zen 4).
 */

/* From entry i on, up to the first that does not fit; is_plain as in update.tmpl.h.
 * The loop counts by its pointer into the index: ns an entry of 1e5 into 1,000 / 2e4
 * sorted into 2e4, with a counter and by the pointer (Zen 3): float32 added 0.60 /
 * 0.72 and 0.56 / 0.70, int64 added 0.86 / 1.07 and 0.79 / 1.01, its maxima 1.11 / 1.43
 * and 1.04 / 1.34. */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_groups)(const enum ps_op op, const bool is_wide, const bool is_plain,
                        const ps_entries *entries, const char *values,
                        int64_t value_stride, int64_t i)
{
    enum {
        /* Types that nobody times are not worth the bytes. */
        UNROLL = KIND_IS(FLOAT) || (KIND_IS(INT) && sizeof(T) >= 4) ? IN_GROUP : 1
    };
    T *const restrict at = (T *)entries->target;
    const int64_t itemsize = is_wide ? 8 : 4;
    const uint64_t size = (uint64_t)entries->size;
    const int64_t ahead = entries->ahead, step = IN_GROUP * value_stride;
    const bool widens = entries->widens;
    const int64_t last = entries->n - ahead - IN_GROUP;
    if (i > last) {
        return i;
    }
    const char *index = entries->index + i * itemsize;
    const char *const stop = entries->index + last * itemsize;
    const char *group = values + i * value_stride;
    for (; index <= stop; index += IN_GROUP * itemsize, group += step) {
        __asm__("" : "+r"(index)); /* one pointer, no counter beside it */
        __builtin_prefetch(index + STREAM_BYTES);
        __builtin_prefetch(group + STREAM_BYTES);
        if (ahead > 0) {
            const char *const next = index + ahead * itemsize;
#pragma GCC unroll UNROLL
            for (int k = 0; k < IN_GROUP; k++) {
                __builtin_prefetch(at + index_at(is_wide, next, k), 1);
            }
        }
#if HAS_LANES
        OF_TYPE(lane) value[IN_GROUP];
        if (!OF_TYPE(load_group)(op, is_plain, widens, value, group)) {
            break;
        }
#pragma GCC unroll 8
        for (int k = 0; k < IN_GROUP; k++) {
            const uint64_t row = (uint64_t)index_at(is_wide, index, k);
            if (__builtin_expect(row >= size, 0)) {
                return (index - entries->index) / itemsize + k;
            }
            OF_TYPE(update_lane)(op, is_plain, at + row, value[k]);
        }
#else
        (void)is_plain;
#pragma GCC unroll UNROLL
        for (int k = 0; k < IN_GROUP; k++) {
            const uint64_t row = (uint64_t)index_at(is_wide, index, k);
            if (__builtin_expect(row >= size, 0)) {
                return (index - entries->index) / itemsize + k;
            }
            T wide;
            const char *const value = group + k * value_stride;
            OF_TYPE(update_by)
            (op, at + row, OF_TYPE(value_at)(widens, value, &wide));
        }
#endif
    }
    return (index - entries->index) / itemsize;
}

/* One by one, by the whole rules, up to entry `stop`. */
TEMPLATE_INLINE int64_t
OF_TYPE(scatter_singles)(const enum ps_op op, const bool is_wide,
                         const ps_entries *entries, int64_t i, int64_t stop)
{
    T *const restrict at = (T *)entries->target;
    const int64_t size = entries->size, counted = entries->counted;
    int64_t row;
    for (; i < stop && is_row_of(is_wide, entries->index, i, size, counted, &row);
         i++) {
        T wide;
        const char *const value = entries->values + i * entries->value_stride;
        OF_TYPE(update_by)
        (op, at + row, OF_TYPE(value_at)(entries->widens, value, &wide));
    }
    return i;
}

#if HAS_LANES
/* May one of the values from entry i on be -0.0? What is left of an index in groups is
 * looked at; where groups stopped, the answer is yes. */
TEMPLATE_INLINE bool
OF_TYPE(brings_minus)(const ps_entries *entries, const char *values,
                      int64_t value_stride, int64_t i)
{
    bool is_found = i <= entries->n - entries->ahead - IN_GROUP;
    for (; !is_found && i < entries->n; i++) {
        T wide;
        const T value = *(const T *)OF_TYPE(value_at)(entries->widens,
                                                      values + i * value_stride, &wide);
        is_found = value == 0 && __builtin_signbit(value);
    }
    return is_found;
}
#endif

TEMPLATE_INLINE int64_t
OF_TYPE(scatter_checked)(const enum ps_op op, const bool is_wide,
                         const ps_entries *entries)
{
    const int64_t n = entries->n;
    const char *values = entries->values;
    int64_t value_stride = entries->value_stride, i = 0;
    bool has_groups = !OF_TYPE(is_heavy)(op);
#if HAS_LANES
    T same[IN_GROUP];
    has_groups = has_groups &&
                 (value_stride == sizeof(T) || value_stride == 0 || entries->widens);
    if (value_stride == 0 && n > 0) {
        for (int k = 0; k < IN_GROUP; k++) {
            same[k] = *(const T *)values;
        }
        values = (const char *)same;
    }
    if (is_extreme(op) && has_groups && entries->is_plain != NULL &&
        *entries->is_plain) {
        i = OF_TYPE(scatter_groups)(op, is_wide, true, entries, values, value_stride,
                                    i);
        *entries->is_plain = !OF_TYPE(brings_minus)(entries, values, value_stride, i);
    }
#endif
    for (;;) {
        if (has_groups) {
            i = OF_TYPE(scatter_groups)(op, is_wide, false, entries, values,
                                        value_stride, i);
        }
        const int64_t left = n - i;
        const int64_t stop = has_groups && left > IN_SINGLES ? i + IN_SINGLES : n;
        i = OF_TYPE(scatter_singles)(op, is_wide, entries, i, stop);
        if (i < stop || i == n) {
            return i;
        }
    }
}

TEMPLATE_INLINE int64_t
OF_TYPE(scatter_runs_checked)(const enum ps_op op, const bool is_wide,
                              const ps_entries *entries)
{
    T *const restrict at = (T *)entries->target;
    const char *const restrict index = entries->index;
    const char *const restrict values = entries->values;
    const int64_t n = entries->n, value_stride = entries->value_stride;
    for (int64_t i = 0; i < n;) {
        const int64_t named = index_at(is_wide, index, i);
        const int64_t row = counted_row(named, entries->counted);
        if ((uint64_t)row >= (uint64_t)entries->size) {
            return i;
        }
        T running = at[row];
        do {
            const T value = *(const T *)(values + i * value_stride);
            if (!OF_TYPE(stays)(op, running, value)) {
                running = OF_TYPE(combine)(op, running, value);
            }
            i++;
        } while (i < n && index_at(is_wide, index, i) == named);
        at[row] = running;
    }
    return n;
}
