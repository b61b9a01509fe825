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
 *
 * The norm of the new array is summed beside its distances from the pivot, although it
 * follows from these: it has to round as the norm of the old array does. Variances do
 * not follow from norms, since squares of 1e4 have no room for a variance of 1.
 */

/* Sums of squares and of products; distances of the new elements from the pivot, and
 * their squares; extremes. */
typedef struct {
    OF_TYPE(lanes_of) old, now, dot, distance, square, low, high, least;
} OF_TYPE(levels);

/* A group of eight: lanes that are no elements add nothing, and leave extremes alone.
 */
TEMPLATE_INLINE void
OF_TYPE(take_levels)(OF_TYPE(levels) * s, const bool has_old, const bool is_part,
                     const T *old, const T *now, T pivot, const LANES *live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const VECTOR n = *(const VECTOR *)(now + at);
        const VECTOR distance =
                OF_TYPE(kept_lanes)(is_part, n - OF_TYPE(all_lanes)(pivot), live[k]);
        VECTOR least = n * n;
        s->now.part[k] += OF_TYPE(kept_lanes)(is_part, least, live[k]);
        if (has_old) {
            const VECTOR o = *(const VECTOR *)(old + at), square = o * o;
            s->old.part[k] += OF_TYPE(kept_lanes)(is_part, square, live[k]);
            s->dot.part[k] += OF_TYPE(kept_lanes)(is_part, o * n, live[k]);
            least = OF_TYPE(least_lanes)(least, square);
        }
        s->least.part[k] = OF_TYPE(least_lanes)(least, s->least.part[k]);
        s->distance.part[k] += distance;
        s->square.part[k] += distance * distance;
        s->low.part[k] = OF_TYPE(least_lanes)(n, s->low.part[k]);
        s->high.part[k] = OF_TYPE(greatest_lanes)(n, s->high.part[k]);
    }
}

/* A group of eight: zeros [0] of the new array, [1] of the old one, [2] of both; [3]:
 * other signs, where neither is zero. A sign is the top bit of the xor of both. */
TEMPLATE_INLINE void
OF_TYPE(take_zeros)(OF_TYPE(counts_of) * s, const bool has_old, const bool is_part,
                    const T *old, const T *now, const LANES *live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const VECTOR n = *(const VECTOR *)(now + at);
        const LANES zero =
                OF_TYPE(kept_counts)(is_part, (LANES)(n == (VECTOR){0}), live[k]);
        s[0].part[k] += zero;
        if (has_old) {
            const VECTOR o = *(const VECTOR *)(old + at);
            const LANES was =
                    OF_TYPE(kept_counts)(is_part, (LANES)(o == (VECTOR){0}), live[k]);
            const LANES turned = OF_TYPE(kept_counts)(
                    is_part, ((LANES)o ^ (LANES)n) < (LANES){0}, live[k]);
            s[1].part[k] += was;
            s[2].part[k] += zero & was;
            s[3].part[k] += turned & ~(zero | was);
            s[4].part[k] += OF_TYPE(kept_counts)(is_part, (LANES)(o != n), live[k]);
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
    OF_TYPE(counts_of) s[5];
    const LANES all[OF_TYPE(CHANGE_VECTORS)] = {0};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    memset(s, 0, sizeof(s));
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        OF_TYPE(take_zeros)(s, has_old, false, old + i, now + i, all);
    }
    if (whole < n) {
        T group[2][CHANGE_LANES];
        LANES live[OF_TYPE(CHANGE_VECTORS)];
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        memcpy(live, OF_TYPE(change_window) + CHANGE_LANES - (n - whole), sizeof(live));
        OF_TYPE(take_zeros)(s, has_old, true, group[0], group[1], live);
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
    const T pivot = OF_TYPE(pivot_of)(block, false);
    OF_TYPE(levels) s;
    const LANES all[OF_TYPE(CHANGE_VECTORS)] = {0};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    memset(&s, 0, sizeof(s));
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        s.low.part[k] = s.high.part[k] = OF_TYPE(all_lanes)(now[0]);
        s.least.part[k] = OF_TYPE(all_lanes)(now[0] * now[0]);
    }
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        __builtin_prefetch(old + i + PS_CHANGE_BLOCK);
        __builtin_prefetch(now + i + PS_CHANGE_BLOCK);
        OF_TYPE(take_levels)(&s, has_old, false, old + i, now + i, pivot, all);
    }
    if (whole < n) {
        T group[2][CHANGE_LANES];
        LANES live[OF_TYPE(CHANGE_VECTORS)];
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        memcpy(live, OF_TYPE(change_window) + CHANGE_LANES - (n - whole), sizeof(live));
        OF_TYPE(take_levels)(&s, has_old, true, group[0], group[1], pivot, live);
    }
    /* Zeros are asked for first: whether a sum of squares may be zero depends on them.
     */
    const double distance = OF_TYPE(sum_of_lanes)(&s.distance);
    const double squares = OF_TYPE(sum_of_lanes)(&s.square);
    int64_t old_zeros = 0;
    change->n_changed_value = change->n_changed;
    if (!(OF_TYPE(extreme_of_lanes)(true, &s.least) > 0)) {
        OF_TYPE(change_zeros)(has_old, block, change, &old_zeros);
    }
    change->new_min = (double)OF_TYPE(extreme_of_lanes)(true, &s.low);
    change->new_max = (double)OF_TYPE(extreme_of_lanes)(false, &s.high);
    change->new_squares = OF_TYPE(sum_of_lanes)(&s.now);
    change->old_squares = OF_TYPE(sum_of_lanes)(&s.old);
    change->dot = OF_TYPE(sum_of_lanes)(&s.dot);
    OF_TYPE(settle_moments)
    ((double)n, (double)pivot, distance, squares, &change->new_sum, &change->new_m2);
    return OF_TYPE(are_squares_good)(squares, change->new_min == change->new_max) &&
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
