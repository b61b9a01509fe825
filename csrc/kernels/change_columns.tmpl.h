/* columns: moments, extremes and counts of the features of several rows at once.
 *
 * What is known of a feature takes 88 bytes, ten times as many as the two elements that
 * meet it; so a vector of features stays in registers while all rows of a group go by.
 * Each is the same sum in the same order as by change_spread and change_moments,
 * element by element, so it does not matter which of them a row takes.
 *
 * T is f32 or f64; every number has to be finite, and so its differences, which the
 * sums of these tell.
 */

#define COLUMNS PASTE2(few, T)
#define FLAGS PASTE2(flags, T)

/* A vector of features, in float64. */
typedef struct {
    vector_f64 diff_pivot, diff_sum, diff_squares, now_pivot, now_sum, now_squares;
    vector_f64 size;
    FLAGS equal, zero; /* -1 for each that is */
} OF_TYPE(columns_state);

/* Pivots are those that are known, or the numbers of the first row. */
TEMPLATE_INLINE vector_f64
OF_TYPE(pivots_of)(const ps_change_moments *moments, int64_t at, vector_f64 first)
{
    const lanes_f64 n =
            (lanes_f64) * (const vector_f64 *)(const void *)(moments->n + at);
    const lanes_f64 is_new = n == 0;
    const vector_f64 known = *(const vector_f64 *)(moments->pivot + at);
    return (vector_f64)(((lanes_f64)known & ~is_new) | ((lanes_f64)first & is_new));
}

/* Elements of one row. */
TEMPLATE_INLINE void
OF_TYPE(take_columns)(OF_TYPE(columns_state) * s, const T *old, const T *now)
{
    const COLUMNS o = *(const COLUMNS *)old, n = *(const COLUMNS *)now;
    const vector_f64 diff = OF_TYPE(widen)(n - o);
    const vector_f64 far = diff - s->diff_pivot;
    const vector_f64 level = OF_TYPE(widen)(n) - s->now_pivot;
    s->size = greatest_lanes_f64(size_of_lanes_f64(diff), s->size);
    s->equal += (FLAGS)n == (FLAGS)o;
    s->zero += n == (COLUMNS){0};
    s->diff_sum += far;
    s->diff_squares += far * far;
    s->now_sum += level;
    s->now_squares += level * level;
}

/* What is left of four features goes back to their words. */
TEMPLATE_INLINE void
OF_TYPE(put_columns)(const OF_TYPE(columns_state) * s, const ps_change_columns *to,
                     int64_t at, int64_t rows)
{
    *(vector_f64 *)(to->max + at) = s->size;
    count_columns(to->n_changed + at, rows + OF_TYPE(flags_of)(s->equal));
    count_columns(to->n_alive + at, rows + OF_TYPE(flags_of)(s->zero));
    count_columns(to->diff.n + at, rows - (lanes_f64){0});
    count_columns(to->now.n + at, rows - (lanes_f64){0});
    *(vector_f64 *)(to->diff.pivot + at) = s->diff_pivot;
    *(vector_f64 *)(to->diff.sum + at) = s->diff_sum;
    *(vector_f64 *)(to->diff.squares + at) = s->diff_squares;
    *(vector_f64 *)(to->now.pivot + at) = s->now_pivot;
    *(vector_f64 *)(to->now.sum + at) = s->now_sum;
    *(vector_f64 *)(to->now.squares + at) = s->now_squares;
}

/* columns: features [at, at + n) meet their elements in `rows` rows, `pitch` elements
 * apart. Returns how many features have been done: a multiple of four, up to those
 * among which something is not finite, or n & -4. Reads 2 n rows elements; reads and
 * writes 88 n bytes. */
TEMPLATE_INLINE int64_t
OF_TYPE(change_columns)(const ps_change_columns *to, int64_t at, const void *old,
                        const void *now, int64_t pitch, int64_t rows, int64_t n)
{
    const T *const o = old, *const a = now;
    int64_t j = 0;
    for (; j + CHANGE_COLUMNS <= n; j += CHANGE_COLUMNS) {
        const int64_t k = at + j;
        const COLUMNS was = *(const COLUMNS *)(o + j), is = *(const COLUMNS *)(a + j);
        const vector_f64 first = OF_TYPE(widen)(is - was);
        OF_TYPE(columns_state)
        s = {.diff_pivot = OF_TYPE(pivots_of)(&to->diff, k, first),
             .now_pivot = OF_TYPE(pivots_of)(&to->now, k, OF_TYPE(widen)(is)),
             .diff_sum = *(const vector_f64 *)(to->diff.sum + k),
             .diff_squares = *(const vector_f64 *)(to->diff.squares + k),
             .now_sum = *(const vector_f64 *)(to->now.sum + k),
             .now_squares = *(const vector_f64 *)(to->now.squares + k),
             .size = *(const vector_f64 *)(to->max + k)};
        for (int64_t r = 0; r < rows; r++) {
            const T *const was_at = o + r * pitch + j, *const is_at = a + r * pitch + j;
            __builtin_prefetch((const char *)was_at + CHANGE_AHEAD);
            __builtin_prefetch((const char *)is_at + CHANGE_AHEAD);
            OF_TYPE(take_columns)(&s, was_at, is_at);
        }
        if (has_any_lane(~(size_of_lanes_f64(s.diff_sum) <= DBL_MAX))) {
            break;
        }
        OF_TYPE(put_columns)(&s, to, k, rows);
    }
    return j;
}

#undef COLUMNS
#undef FLAGS
