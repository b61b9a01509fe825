/* change: one block of two arrays of finite floats, measured in a few loops.
 *
 * Sums are kept in eight lanes of T, element i in lane i mod 8, and the lanes are added
 * up in f64, in order; every level has these lanes, so all give the same bits.
 * Variances are sums of squared distances from a pivot, the mean of sixteen elements of
 * the block: an outlier among these costs four bits at most, where the first element
 * alone would cost ten, and a pass for the mean of all half as much time again. The
 * loops take no heed of NaN and infinities, nor of squares beyond f32: where a sum of
 * squares tells of any, the block is done again by change_exact.tmpl.h. Three loops,
 * since the sums of one have to stay in registers.
 *
 * T is f32 or f64; block->old and now hold block->n >= 1 elements, anywhere in memory.
 * Reads 3 times 2 n elements from the first cache.
 */

enum {
    OF_TYPE(CHANGE_ITEMS) = VECTOR_BYTES / sizeof(T),
    OF_TYPE(CHANGE_VECTORS) = CHANGE_LANES / OF_TYPE(CHANGE_ITEMS)
};

/* Eight lanes, as vectors. */
typedef struct {
    VECTOR part[OF_TYPE(CHANGE_VECTORS)];
} OF_TYPE(lanes_of);
typedef struct {
    LANES part[OF_TYPE(CHANGE_VECTORS)];
} OF_TYPE(counts_of);

/* One number in every lane; adding 0 to a vector would lose -0.0. */
TEMPLATE_INLINE VECTOR
OF_TYPE(all_lanes)(T value)
{
    return value - (VECTOR){0};
}

/* |a|, lane by lane: the sign bits are cleared. */
TEMPLATE_INLINE VECTOR
OF_TYPE(size_of_lanes)(VECTOR a)
{
    return (VECTOR)((LANES)a & ~(LANES)OF_TYPE(all_lanes)((T)-0.0));
}

/* Lanes that are no elements of the block (a last group) add nothing. */
TEMPLATE_INLINE VECTOR
OF_TYPE(kept_lanes)(const bool is_part, VECTOR a, LANES live)
{
    return is_part ? (VECTOR)((LANES)a & live) : a;
}

TEMPLATE_INLINE LANES
OF_TYPE(kept_counts)(const bool is_part, LANES a, LANES live)
{
    return is_part ? a & live : a;
}

/* The lanes of a block meet in f64, in order: rounding of the sum of eight numbers in T
 * would be as large as that of all sums before it. */
TEMPLATE_INLINE double
OF_TYPE(sum_of_lanes)(const OF_TYPE(lanes_of) * lanes)
{
    T lane[CHANGE_LANES];
    double sum = 0;
    memcpy(lane, lanes, sizeof(lane));
    for (int i = 0; i < CHANGE_LANES; i++) {
        sum += (double)lane[i];
    }
    return sum;
}

TEMPLATE_INLINE int64_t
OF_TYPE(count_of_lanes)(const OF_TYPE(counts_of) * counts)
{
    KEY lane[CHANGE_LANES];
    int64_t sum = 0;
    memcpy(lane, counts, sizeof(lane));
    for (int i = 0; i < CHANGE_LANES; i++) {
        sum -= lane[i]; /* a true comparison is -1 */
    }
    return sum;
}

/* Order does not matter: all lanes hold numbers, or the block is done again. */
TEMPLATE_INLINE T
OF_TYPE(extreme_of_lanes)(const bool is_low, const OF_TYPE(lanes_of) * lanes)
{
    T lane[CHANGE_LANES];
    memcpy(lane, lanes, sizeof(lane));
    T best = lane[0];
    for (int i = 1; i < CHANGE_LANES; i++) {
        best = (is_low ? lane[i] < best : lane[i] > best) ? lane[i] : best;
    }
    return best;
}

/* The last n < 8 elements as a whole group, filled up with the first of them, which
 * leaves extremes as they are. */
TEMPLATE_INLINE void
OF_TYPE(fill_group)(T *group, const T *from, int64_t n)
{
    for (int i = 0; i < CHANGE_LANES; i++) {
        group[i] = from[i < n ? i : 0];
    }
}

/* ---- differences ---- */

typedef struct {
    OF_TYPE(lanes_of) size, distance, square, low, high;
    OF_TYPE(counts_of) bits, turned, over;
} OF_TYPE(differences);

typedef struct {
    T atol, rtol, pivot;
} OF_TYPE(difference_rule);

/* Vector k of a group meets the sums. */
TEMPLATE_INLINE void
OF_TYPE(take_difference)(OF_TYPE(differences) * s, const int k, const bool has_tol,
                         const bool is_part, VECTOR old, VECTOR now, VECTOR diff,
                         const OF_TYPE(difference_rule) * rule, LANES live)
{
    const VECTOR size = OF_TYPE(size_of_lanes)(diff);
    const VECTOR distance =
            OF_TYPE(kept_lanes)(is_part, diff - OF_TYPE(all_lanes)(rule->pivot), live);
    const LANES turned = ((LANES)old ^ (LANES)now) < (LANES){0};
    const VECTOR limit = OF_TYPE(all_lanes)(rule->atol) +
                         OF_TYPE(all_lanes)(rule->rtol) * OF_TYPE(size_of_lanes)(old);
    s->bits.part[k] += OF_TYPE(kept_counts)(is_part, (LANES)old != (LANES)now, live);
    s->turned.part[k] += OF_TYPE(kept_counts)(is_part, turned, live);
    if (has_tol) {
        s->over.part[k] += OF_TYPE(kept_counts)(is_part, ~(LANES)(size <= limit), live);
    }
    s->size.part[k] += OF_TYPE(kept_lanes)(is_part, size, live);
    s->distance.part[k] += distance;
    s->square.part[k] += distance * distance;
    s->low.part[k] = OF_TYPE(least_lanes)(diff, s->low.part[k]);
    s->high.part[k] = OF_TYPE(greatest_lanes)(diff, s->high.part[k]);
}

/* A group of eight. */
TEMPLATE_INLINE void
OF_TYPE(take_differences)(OF_TYPE(differences) * s, const bool has_tol,
                          const bool has_diff, const bool is_part, const T *old,
                          const T *now, const T *diff,
                          const OF_TYPE(difference_rule) * rule, const LANES *live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const VECTOR o = *(const VECTOR *)(old + at), n = *(const VECTOR *)(now + at);
        VECTOR d = n - o;
        if (has_diff) {
            d = *(const VECTOR *)(diff + at);
        }
        OF_TYPE(take_difference)(s, k, has_tol, is_part, o, n, d, rule, live[k]);
    }
}

/* Difference i, as the lanes take it. */
TEMPLATE_INLINE T
OF_TYPE(difference_at)(const ps_change_block *block, int64_t i)
{
    return block->diff != NULL
                   ? (T)block->diff[i]
                   : ((const T *)block->now)[i] - ((const T *)block->old)[i];
}

/* The pivot of numbers: the mean of sixteen of them. */
TEMPLATE_INLINE T
OF_TYPE(pivot_of)(const ps_change_block *block, const bool of_difference)
{
    double sum = 0;
    for (int64_t i = 0; i < 16; i++) {
        const int64_t at = (i * block->n) >> 4;
        sum += (double)(of_difference ? OF_TYPE(difference_at)(block, at)
                                      : ((const T *)block->now)[at]);
    }
    return (T)(sum / 16);
}

/* Sums of distances from a pivot become those of the numbers themselves. */
TEMPLATE_INLINE void
OF_TYPE(settle_moments)(double n, double pivot, double distance, double squares,
                        double *sum, double *m2)
{
    const double rest = squares - distance * distance / n;
    *sum = pivot * n + distance;
    *m2 = rest > 0 ? rest : 0;
}

/* False: some number is not finite, or its square not within T. Below 2^-116 the
 * squares of a lane, 128 of f32, may be off by more than its other roundings, since
 * terms below 2^-126 have fewer bits; f64 has no wider type to go to. */
TEMPLATE_INLINE bool
OF_TYPE(are_squares_good)(double squares, bool is_zero)
{
    const double least = sizeof(T) == sizeof(f32) ? 0x1p-116 : 0;
    return squares <= DBL_MAX && (is_zero || squares >= least);
}

/* Where |d| is largest, if it is larger than in all blocks before: a walk that few
 * blocks of a part need (about log n of n in random order). */
TEMPLATE_INLINE void
OF_TYPE(find_largest)(const ps_change_block *block, ps_change *change)
{
    if (change->max_abs > block->best) {
        int64_t i = 0;
        for (T d = 0; i < block->n; i++) {
            d = OF_TYPE(difference_at)(block, i);
            if ((double)(d < 0 ? -d : d) == change->max_abs) {
                break;
            }
        }
        change->argmax_abs = block->first + i;
    }
}

/* All statistics of the difference; false: see are_squares_good. has_tol: atol or rtol
 * is not zero, else what is over is what differs. has_diff: differences are given.
 * Products of tolerances are rounded in T, as numpy.isclose rounds them. */
TEMPLATE_INLINE bool
OF_TYPE(change_differences)(const bool has_tol, const bool has_diff,
                            const ps_change_block *block, ps_change *change)
{
    const T *const old = block->old, *const now = block->now;
    const T *const diff = has_diff ? (const T *)(const void *)block->diff : old;
    const OF_TYPE(difference_rule)
            rule = {(T)block->atol, (T)block->rtol, OF_TYPE(pivot_of)(block, true)};
    OF_TYPE(differences) s;
    const LANES all[OF_TYPE(CHANGE_VECTORS)] = {0};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    memset(&s, 0, sizeof(s));
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        s.low.part[k] = s.high.part[k] =
                OF_TYPE(all_lanes)(OF_TYPE(difference_at)(block, 0));
    }
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        OF_TYPE(take_differences)
        (&s, has_tol, has_diff, false, old + i, now + i, diff + i, &rule, all);
    }
    if (whole < n) {
        T group[3][CHANGE_LANES];
        LANES live[OF_TYPE(CHANGE_VECTORS)];
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        OF_TYPE(fill_group)(group[2], diff + whole, n - whole);
        memcpy(live, OF_TYPE(change_window) + CHANGE_LANES - (n - whole), sizeof(live));
        OF_TYPE(take_differences)
        (&s, has_tol, has_diff, true, group[0], group[1], group[2], &rule, live);
    }
    const double distance = OF_TYPE(sum_of_lanes)(&s.distance);
    const double squares = OF_TYPE(sum_of_lanes)(&s.square);
    const double pivot = (double)rule.pivot;
    change->min = (double)OF_TYPE(extreme_of_lanes)(true, &s.low);
    change->max = (double)OF_TYPE(extreme_of_lanes)(false, &s.high);
    change->max_abs = change->max > -change->min ? change->max : -change->min;
    change->sum_abs = OF_TYPE(sum_of_lanes)(&s.size);
    change->n_changed = OF_TYPE(count_of_lanes)(&s.bits);
    change->n_sign_flips = OF_TYPE(count_of_lanes)(&s.turned);
    change->n_over_tol = has_tol ? OF_TYPE(count_of_lanes)(&s.over) : 0;
    change->sum_squares =
            squares + 2 * pivot * distance + pivot * pivot * (double)block->n;
    OF_TYPE(settle_moments)
    ((double)block->n, pivot, distance, squares, &change->sum, &change->m2);
    OF_TYPE(find_largest)(block, change);
    return OF_TYPE(are_squares_good)(squares, change->min == change->max);
}
