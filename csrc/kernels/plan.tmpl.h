/* plan: entries that a plan has brought together by row, combined row by row.
 *
 * For g over the groups of positions [first, last), in order of positions p:
 *     target[row[g]][j] = combine(target[row[g]][j], values[order[p]][j]),  0 <= j <
 * width A row meets its values in the order of the index, from left to right, as in the
 * other scatter loops, so the bits are theirs. Contract: `groups` comes from a plan
 * whose rows have been checked against the target; rows are `step` bytes apart and,
 * like the values, aligned for T; values holds entry 0, 1, ... `value_stride` bytes
 * apart; target and values are disjoint. Moves 4 + width * sizeof(T) bytes an entry and
 * each touched row twice.
 *
 * Why this beats the straight loop: a row of the target is touched once, so a target
 * that is larger than the caches costs two passes over it instead of a miss for each
 * entry. What misses instead is the source, which nothing has to be written back to and
 * which the order names far ahead of time. Sources are asked for past the outer caches
 * (locality 0), since each is read once: 1.17e6 rows of 64 float32 into 170,000 take 50
 * ms so and 97 where they displace each other (Zen, pages of 4 KiB).
 */

/* The value of the entry at a position; on the way, `asked` bytes of the one that comes
 * some positions later are asked for. */
TEMPLATE_INLINE const char *
OF_TYPE(plan_value)(const ps_groups *groups, int64_t p, const char *values,
                    int64_t value_stride, int64_t asked)
{
    enum {
        AHEAD = 16
    };
    const int32_t *const order = groups->order;
    if (asked > 0 && p + AHEAD < groups->last) {
        const char *const next = values + order[p + AHEAD] * value_stride;
        for (int64_t byte = 0; byte < asked; byte += CACHE_LINE) {
            __builtin_prefetch(next + byte, 0, 0);
        }
        __builtin_prefetch(next + asked - 1, 0, 0);
    }
    return values + (order != NULL ? order[p] : p) * value_stride;
}

/* Combine `n_lines` cache lines of columns of a stretch of positions, from < to, with
 * the lines in registers. Each is an array of its own, which is what makes gcc 12 keep
 * it there. */
TEMPLATE_INLINE void
OF_TYPE(plan_lines)(const enum ps_op op, T *restrict at, const ps_groups *groups,
                    int64_t from, int64_t to, const char *restrict values,
                    int64_t value_stride, int64_t asked, const int n_lines)
{
    enum {
        MOST = 8,
        LINE = sizeof(T) < CACHE_LINE ? CACHE_LINE / sizeof(T) : 1
    };
    T running[MOST][LINE];
    const T *value =
            (const T *)OF_TYPE(plan_value)(groups, from, values, value_stride, asked);
#pragma GCC unroll 8
    for (int line = 0; line < n_lines; line++) {
        OF_TYPE(combine_into)
        (op, running[line], at + line * LINE, value + line * LINE, LINE);
    }
    for (int64_t p = from + 1; p < to; p++) {
        value = (const T *)OF_TYPE(plan_value)(groups, p, values, value_stride, asked);
#pragma GCC unroll 8
        for (int line = 0; line < n_lines; line++) {
            OF_TYPE(combine_row)(op, running[line], value + line * LINE, LINE);
        }
    }
#pragma GCC unroll 8
    for (int line = 0; line < n_lines; line++) {
        memcpy(at + line * LINE, running[line], sizeof(running[line]));
    }
}

/* The columns behind the last whole block: few, and worked on in memory. */
TEMPLATE_INLINE void
OF_TYPE(plan_rest)(const enum ps_op op, char *restrict at, const ps_groups *groups,
                   int64_t from, int64_t to, const char *restrict values,
                   int64_t value_stride, int64_t width)
{
    const int32_t *const restrict order = groups->order;
    for (int64_t p = from; p < to; p++) {
        const int64_t entry = order != NULL ? order[p] : p;
        OF_TYPE(combine_row)(op, (T *)at, (const T *)(values + entry * value_stride),
                             width);
    }
}

/* All columns of a stretch, eight lines at a time, then four, then one, then the rest.
 * The first of these asks for what comes next, where sources are not in order. */
TEMPLATE_INLINE void
OF_TYPE(plan_stretch)(const enum ps_op op, char *restrict at, const ps_groups *groups,
                      int64_t from, int64_t to, const char *restrict values,
                      int64_t value_stride, int64_t nbytes)
{
    int64_t asked = groups->order != NULL ? nbytes : 0;
    int64_t done = 0;
    for (; nbytes - done >= 8 * CACHE_LINE; done += 8 * CACHE_LINE) {
        OF_TYPE(plan_lines)(op, (T *)(at + done), groups, from, to, values + done,
                            value_stride, asked, 8);
        asked = 0;
    }
    for (; nbytes - done >= 4 * CACHE_LINE; done += 4 * CACHE_LINE) {
        OF_TYPE(plan_lines)(op, (T *)(at + done), groups, from, to, values + done,
                            value_stride, asked, 4);
        asked = 0;
    }
    for (; nbytes - done >= CACHE_LINE; done += CACHE_LINE) {
        OF_TYPE(plan_lines)(op, (T *)(at + done), groups, from, to, values + done,
                            value_stride, asked, 1);
        asked = 0;
    }
    if (done < nbytes) {
        OF_TYPE(plan_rest)(op, at + done, groups, from, to, values + done, value_stride,
                           (nbytes - done) / (int64_t)sizeof(T));
    }
}

/* Group after group; a long one in stretches, so that the rows which its first block of
 * columns has fetched are still near for the next. */
TEMPLATE_INLINE void
OF_TYPE(plan_rows)(const enum ps_op op, char *restrict target, const ps_groups *groups,
                   const char *restrict values, int64_t value_stride, int64_t width)
{
    enum {
        STRETCH = 16
    };
    int64_t from = groups->first;
    for (int64_t g = groups->group; from < groups->last; g++) {
        int64_t end = groups->start[g + 1];
        end = end < groups->last ? end : groups->last;
        const int64_t row = groups->row != NULL ? groups->row[g] : g;
        while (from < end) {
            const int64_t to = from + STRETCH < end ? from + STRETCH : end;
            OF_TYPE(plan_stretch)(op, target + row * groups->step, groups, from, to,
                                  values, value_stride, width * (int64_t)sizeof(T));
            from = to;
        }
    }
}
