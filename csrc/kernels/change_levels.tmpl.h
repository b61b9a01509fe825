/* The other loops of change.tmpl.h over a block: products and levels, zeros and signs,
 * under its contract.
 *
 * Squares of both arrays and their product are summed in the same lanes, so that equal
 * arrays have a cosine of exactly 1. Only a block whose least square is zero
 * may hold a zero, and is looked at once more: without zeros the signs that differ are
 * those that the first loop has counted, and values differ where bits do.
 *
 * The next block is asked for meanwhile: a block is a page, at whose end the hardware
 * stops reading ahead. 2.5 million pairs of f32 take 1.6 ms, and 2.5 without.
 */

/* Sums of squares and of products; the sum of the new elements; extremes. */
typedef struct {
    OF_TYPE(lanes_of) old, now, dot, sum, low, high, least;
} OF_TYPE(levels);

/* A group of eight: lanes that are no elements add nothing, and leave extremes alone.
 */
TEMPLATE_INLINE void
OF_TYPE(take_levels)(OF_TYPE(levels) * s, const bool has_old, const bool is_part,
                     const T *old, const T *now, const OF_TYPE(counts_of) * live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const VECTOR n = *(const VECTOR *)(now + at);
        const LANES kept = live->part[k];
        VECTOR least = n * n;
        s->now.part[k] += OF_TYPE(kept_lanes)(is_part, least, kept);
        s->sum.part[k] += OF_TYPE(kept_lanes)(is_part, n, kept);
        if (has_old) {
            const VECTOR o = *(const VECTOR *)(old + at), square = o * o;
            s->old.part[k] += OF_TYPE(kept_lanes)(is_part, square, kept);
            s->dot.part[k] += OF_TYPE(kept_lanes)(is_part, o * n, kept);
            least = OF_TYPE(least_size_lanes)(least, square);
        }
        s->least.part[k] = OF_TYPE(least_size_lanes)(least, s->least.part[k]);
        s->low.part[k] = OF_TYPE(least_lanes)(n, s->low.part[k]);
        s->high.part[k] = OF_TYPE(greatest_lanes)(n, s->high.part[k]);
    }
}

/* A group of eight: zeros [0] of the new array, [1] of the old one, [2] of both; [3]:
 * other signs, where neither is zero. A sign is the top bit of the xor of both. */
TEMPLATE_INLINE void
OF_TYPE(take_zeros)(OF_TYPE(counts_of) * s, const bool has_old, const bool is_part,
                    const T *old, const T *now, const OF_TYPE(counts_of) * live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const LANES kept = live->part[k];
        const VECTOR n = *(const VECTOR *)(now + at);
        const LANES zero =
                OF_TYPE(kept_counts)(is_part, (LANES)(n == (VECTOR){0}), kept);
        s[0].part[k] += zero;
        if (has_old) {
            const VECTOR o = *(const VECTOR *)(old + at);
            const LANES was =
                    OF_TYPE(kept_counts)(is_part, (LANES)(o == (VECTOR){0}), kept);
            const LANES turned = OF_TYPE(kept_counts)(
                    is_part, ((LANES)o ^ (LANES)n) < (LANES){0}, kept);
            s[1].part[k] += was;
            s[2].part[k] += zero & was;
            s[3].part[k] += turned & ~(zero | was);
            s[4].part[k] += OF_TYPE(kept_counts)(is_part, (LANES)(o != n), kept);
        }
    }
}

/* Zeros and signs of a block; *old_zeros, too, which say whether a sum of squares may
 * be zero. What became zero is what is zero now but not in both. */
TEMPLATE_INLINE void
OF_TYPE(change_zeros)(const bool has_old, const ps_change_block *block,
                      ps_change *change, int64_t *old_zeros)
{
    const T *const now = block->now, *const old = has_old ? block->old : now;
    const OF_TYPE(counts_of) none = OF_TYPE(first_lanes)(0);
    OF_TYPE(counts_of) s[5] = {none, none, none, none, none};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        OF_TYPE(take_zeros)(s, has_old, false, old + i, now + i, &none);
    }
    if (whole < n) {
        T group[2][CHANGE_LANES];
        const OF_TYPE(counts_of) live = OF_TYPE(first_lanes)(n - whole);
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        OF_TYPE(take_zeros)(s, has_old, true, group[0], group[1], &live);
    }
    const int64_t both = OF_TYPE(count_of_lanes)(&s[2]);
    *old_zeros = OF_TYPE(count_of_lanes)(&s[1]);
    change->n_zero = OF_TYPE(count_of_lanes)(&s[0]);
    change->n_became_zero = has_old ? change->n_zero - both : 0;
    change->n_left_zero = *old_zeros - both;
    change->n_sign_flips = OF_TYPE(count_of_lanes)(&s[3]);
    change->n_changed_value = OF_TYPE(count_of_lanes)(&s[4]);
}

/* Norms, products, and the moments and extremes of the new array; false: see
 * are_squares_good. has_old: there is an old array. */
TEMPLATE_INLINE bool
OF_TYPE(change_levels)(const bool has_old, const ps_change_block *block,
                       ps_change *change)
{
    const T *const now = block->now, *const old = has_old ? block->old : now;
    const T *const next = block->next;
    const OF_TYPE(lanes_of) zero = OF_TYPE(lanes_with)(0);
    const OF_TYPE(lanes_of) first = OF_TYPE(lanes_with)(now[0]);
    const OF_TYPE(lanes_of) least = OF_TYPE(lanes_with)(now[0] * now[0]);
    const OF_TYPE(counts_of) none = OF_TYPE(first_lanes)(0);
    OF_TYPE(levels) s = {zero, zero, zero, zero, first, first, least};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        __builtin_prefetch(old + i + PS_CHANGE_BLOCK);
        __builtin_prefetch(next + i);
        OF_TYPE(take_levels)(&s, has_old, false, old + i, now + i, &none);
    }
    if (whole < n) {
        T group[2][CHANGE_LANES];
        const OF_TYPE(counts_of) live = OF_TYPE(first_lanes)(n - whole);
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        OF_TYPE(take_levels)(&s, has_old, true, group[0], group[1], &live);
    }
    /* Zeros are asked for first: whether a sum of squares may be zero depends on them.
     */
    int64_t old_zeros = 0;
    change->n_changed_value = change->n_changed;
    if (!(OF_TYPE(extreme_of_lanes)(true, &s.least) > 0)) {
        OF_TYPE(change_zeros)(has_old, block, change, &old_zeros);
    }
    change->new_min = (double)OF_TYPE(extreme_of_lanes)(true, &s.low);
    change->new_max = (double)OF_TYPE(extreme_of_lanes)(false, &s.high);
    change->new_sum = OF_TYPE(sum_of_lanes)(&s.sum);
    change->new_squares = OF_TYPE(sum_of_lanes)(&s.now);
    change->old_squares = OF_TYPE(sum_of_lanes)(&s.old);
    change->dot = OF_TYPE(sum_of_lanes)(&s.dot);
    double squares = change->new_squares; /* which round as those of the old array */
    return OF_TYPE(settle_moments)(block, false, change->new_min, change->new_max,
                                   &change->new_sum, &squares, &change->new_m2) &&
           OF_TYPE(are_squares_good)(change->new_squares, change->n_zero == n) &&
           OF_TYPE(are_squares_good)(change->old_squares, old_zeros == n || !has_old);
}

/* change (contract in change.tmpl.h): *change becomes what the block comes to. The
 * constants make five loops for each type; differences that are given are those of wide
 * integers, whose tolerance the caller has looked at. */
TEMPLATE_INLINE void
OF_TYPE(change)(const ps_change_block *block, ps_change *change)
{
    const bool has_tol = block->atol != 0 || block->rtol != 0;
    bool is_good = true;
    *change = (ps_change){.n = block->old != NULL ? block->n : 0,
                          .n_new = block->n,
                          .argmax_abs = -1,
                          .first_nonfinite = -1};
    if (block->old == NULL) {
        is_good = OF_TYPE(change_levels)(false, block, change);
    }
    else {
        if (sizeof(T) == sizeof(f64) && block->diff != NULL) {
            is_good = OF_TYPE(change_differences)(true, true, block, change);
        }
        else if (has_tol) {
            is_good = OF_TYPE(change_differences)(true, false, block, change);
        }
        else {
            is_good = OF_TYPE(change_differences)(false, false, block, change);
        }
        is_good = OF_TYPE(change_levels)(true, block, change) && is_good;
        change->n_over_tol = has_tol ? change->n_over_tol : change->n_changed_value;
    }
    if (!is_good) {
        OF_TYPE(change_exactly)(block, change);
    }
}
