/* segment: out[s] = value[start[s]] op ... op value[stop[s] - 1], rows of `width`.
 *
 * Two kernels for each element type and reduction that folds:
 *   segment       single elements, in a tree that their number alone fixes: blocks of
 *                 4,096; in a block element i goes to lane i mod 16; lane i then takes
 *                 lane i + 8, i + 4, i + 2, i + 1; blocks are added in order
 *   segment_rows  rows, from first to last, each column by itself
 * Sixteen lanes, because one running sum waits for itself (4 cycles an addition) and a
 * tree by the width of registers would differ between CPUs. Lanes without an element
 * hold the neutral value, which changes no bit of what it meets, or take no part.
 * Contract: ps_segments (kernels.h) says which rows belong to which output, all of them
 * in bounds; values and out are aligned for T; out is contiguous and disjoint from
 * everything. Moves the values once and the outputs once.
 */

/* out[s] = the tree of value[start[s]] ... value[stop[s] - 1], or `empty`. Blocks of a
 * segment are added in order; where the call goes on from another one, what out[0]
 * holds is the left side. Limits are in bounds: ops/segment.c has checked its copy of
 * them. */
TEMPLATE_INLINE void
OF_TYPE(segment)(const enum ps_op op, char *restrict out, const char *restrict values,
                 const ps_segments *segments)
{
    const T neutral = *(const T *)segments->neutral;
    const T empty = *(const T *)segments->empty;
    const T *const value = (const T *)values;
    T *const to = (T *)out;
    for (int64_t s = 0; s < segments->n; s++) {
#if KIND_IS(FLOAT)
        if ((op == PS_add || op == PS_mul) && !segments->continues &&
            s + OF_TYPE(PER_VECTOR) <= segments->n &&
            OF_TYPE(fold_group)(op, to + s, value, segments->start + s,
                                segments->stop + s, segments)) {
            s += OF_TYPE(PER_VECTOR) - 1;
            continue;
        }
#endif
        const int64_t first = segments->start[s], last = segments->stop[s];
        if (first == last) {
            to[s] = empty;
            continue;
        }
        int64_t at = first + PS_FOLD_BLOCK;
        T total = OF_TYPE(fold)(op, value + first, (at < last ? at : last) - first,
                                neutral, segments->readable - first);
        if (s == 0 && segments->continues) {
            total = OF_TYPE(combine)(op, to[0], total);
        }
        for (; at < last; at += PS_FOLD_BLOCK) {
            const int64_t n = last - at < PS_FOLD_BLOCK ? last - at : PS_FOLD_BLOCK;
            total = OF_TYPE(combine)(
                    op, total,
                    OF_TYPE(fold)(op, value + at, n, neutral, segments->readable - at));
        }
        to[s] = total;
    }
}

/* Columns [column, column + width) of row number `i` of a call; on the way, those of
 * the listed row some numbers on are asked for from memory. */
TEMPLATE_INLINE const T *
OF_TYPE(part_at)(const char *values, const ps_segments *segments, int64_t i,
                 int64_t column, const int64_t width)
{
    const int64_t *const row = segments->row;
    const int64_t stride = segments->value_stride;
    const int64_t nbytes = width * (int64_t)sizeof(T);
    const char *const at = values + column * (int64_t)sizeof(T);
    if (row == NULL) {
        return (const T *)(at + i * stride);
    }
    if (i + FOLD_AHEAD < segments->n_rows) {
        const char *const next = at + row[i + FOLD_AHEAD] * stride;
        for (int64_t byte = 0; byte < nbytes; byte += CACHE_LINE) {
            __builtin_prefetch(next + byte);
        }
        __builtin_prefetch(next + nbytes - 1);
    }
    return (const T *)(at + row[i] * stride);
}

/* Columns [column, column + width) of segment s, of at least one row: its first row, or
 * what `to` holds, then the others in order. */
TEMPLATE_INLINE void
OF_TYPE(fold_columns)(const enum ps_op op, T *restrict to, const char *restrict values,
                      const ps_segments *segments, int64_t s, int64_t column)
{
    const int64_t width = segments->width - column, last = segments->stop[s];
    int64_t i = segments->start[s];
    if (s > 0 || !segments->continues) {
        const T *const from = OF_TYPE(part_at)(values, segments, i++, column, width);
        for (int64_t j = 0; j < width; j++) {
            to[j] = OF_TYPE(settled)(from[j]);
        }
    }
    for (; i < last; i++) {
        const T *const from = OF_TYPE(part_at)(values, segments, i, column, width);
        OF_TYPE(combine_row)(op, to, from, width);
    }
}

#if KIND_IS(FLOAT)
/* The same for the columns of `count` vectors, whose sums stay in registers. The lines
 * to ask for are a constant number then: ns a row of 64 float32 in bags of 20 out of
 * 1,000 / 20,000 / 1e6, so 6.6 / 15.8 / 40, by a loop over the lines of whole rows 8.3
 * / 18.5 / 46 (Zen 3). */
TEMPLATE_INLINE void
OF_TYPE(fold_vectors)(const enum ps_op op, T *restrict to, const char *restrict values,
                      const ps_segments *segments, int64_t s, int64_t column,
                      const int count)
{
    VECTOR sum[8];
    const int64_t last = segments->stop[s], width = count * OF_TYPE(PER_VECTOR);
    int64_t i = segments->start[s];
    const T *from = to;
    if (s > 0 || !segments->continues) {
        from = OF_TYPE(part_at)(values, segments, i++, column, width);
    }
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        sum[k] = *(const VECTOR *)(from + k * OF_TYPE(PER_VECTOR));
    }
    for (; i < last; i++) {
        from = OF_TYPE(part_at)(values, segments, i, column, width);
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) {
            sum[k] = OF_TYPE(join)(op, sum[k],
                                   *(const VECTOR *)(from + k * OF_TYPE(PER_VECTOR)));
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        *(VECTOR *)(to + k * OF_TYPE(PER_VECTOR)) = sum[k];
    }
}
#endif

/* One segment of at least one row. */
TEMPLATE_INLINE void
OF_TYPE(fold_rows)(const enum ps_op op, T *restrict to, const char *restrict values,
                   const ps_segments *segments, int64_t s)
{
    int64_t column = 0;
#if KIND_IS(FLOAT)
    if (op == PS_add || op == PS_mul) {
        const int64_t wide = 8 * OF_TYPE(PER_VECTOR), narrow = 2 * OF_TYPE(PER_VECTOR);
        for (; column + wide <= segments->width; column += wide) {
            OF_TYPE(fold_vectors)(op, to + column, values, segments, s, column, 8);
        }
        for (; column + narrow <= segments->width; column += narrow) {
            OF_TYPE(fold_vectors)(op, to + column, values, segments, s, column, 2);
        }
    }
#endif
    if (column < segments->width) {
        OF_TYPE(fold_columns)(op, to + column, values, segments, s, column);
    }
}

/* out[s][j] = value[start[s]][j] op ... in order, rows of `width`; columns that fit
 * into registers are kept there from the first row to the last. */
TEMPLATE_INLINE void
OF_TYPE(segment_rows)(const enum ps_op op, char *restrict out,
                      const char *restrict values, const ps_segments *segments)
{
    const int64_t width = segments->width;
    const T empty = *(const T *)segments->empty;
    for (int64_t s = 0; s < segments->n; s++) {
        T *const to = (T *)out + s * width;
        const int64_t last = segments->stop[s];
        if (segments->start[s] == last) {
            for (int64_t j = 0; j < width; j++) {
                to[j] = empty;
            }
            continue;
        }
        OF_TYPE(fold_rows)(op, to, values, segments, s);
    }
}

/* value[i][j] = weight[i] * value[i][j], n rows of `width`, in place. */
TEMPLATE_INLINE void
OF_TYPE(scale)(char *restrict values, const char *restrict weights, int64_t n,
               int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        T *const value = (T *)values + i * width;
        const T weight = ((const T *)weights)[i];
        for (int64_t j = 0; j < width; j++) {
            value[j] = OF_TYPE(combine)(PS_mul, weight, value[j]);
        }
    }
}
