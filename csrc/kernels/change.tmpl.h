/* change: one block of two arrays of finite floats, measured in a few loops.
 *
 * Sums are kept in eight lanes of T, element i in lane i mod 8, and the lanes are added
 * up in f64, as a tree; every level has these lanes, so all give the same bits. Two
 * loops, since the sums of one have to stay in registers. A variance is what squares
 * leave when the mean is taken off, as long as that is a sixteenth of them, which costs
 * four bits at most; a block that lies farther from zero is walked once more, for
 * distances from its mean. Distances from the start would take a third longer for all.
 * The loops take no heed of NaN and infinities, nor of squares beyond f32: where a sum
 * of squares tells of any, the block is done again by change_exact.tmpl.h.
 *
 * T is f32 or f64; block->old and now hold block->n >= 1 elements, anywhere in memory.
 * Reads 2 times 2 n elements from the first cache.
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

/* The lanes of a block meet in f64, by halves: rounding of the sum of eight numbers in
 * T would be as large as that of all sums before it. */
TEMPLATE_INLINE double
OF_TYPE(sum_of_lanes)(const OF_TYPE(lanes_of) * lanes)
{
    T lane[CHANGE_LANES];
    double half[CHANGE_LANES / 2];
    memcpy(lane, lanes, sizeof(lane));
    for (int i = 0; i < CHANGE_LANES / 2; i++) {
        half[i] = (double)lane[i] + (double)lane[i + CHANGE_LANES / 2];
    }
    return (half[0] + half[2]) + (half[1] + half[3]);
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

TEMPLATE_INLINE
OF_TYPE(lanes_of) OF_TYPE(lanes_with)(T value)
{
    OF_TYPE(lanes_of) lanes;
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        lanes.part[k] = OF_TYPE(all_lanes)(value);
    }
    return lanes;
}

/* Which lanes of the last group, of n elements, are elements. */
TEMPLATE_INLINE
OF_TYPE(counts_of) OF_TYPE(first_lanes)(int64_t n)
{
    OF_TYPE(counts_of) live;
    memcpy(&live, OF_TYPE(change_window) + CHANGE_LANES - n, sizeof(live));
    return live;
}

/* ---- moments ---- */

/* Difference i, as the lanes take it. */
TEMPLATE_INLINE T
OF_TYPE(difference_at)(const ps_change_block *block, int64_t i)
{
    return block->diff != NULL
                   ? (T)block->diff[i]
                   : ((const T *)block->now)[i] - ((const T *)block->old)[i];
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

/* Sums of the distances of all differences (or new elements) from the pivot, and of
 * their squares. */
TEMPLATE_INLINE void
OF_TYPE(add_distances_from)(const ps_change_block *block, const bool of_difference,
                            T pivot, double *distances, double *squares)
{
    T lane[CHANGE_LANES] = {0}, square[CHANGE_LANES] = {0};
    OF_TYPE(lanes_of) sums, sums_of_squares;
    for (int64_t i = 0; i < block->n; i += CHANGE_LANES) {
        const int64_t n = block->n - i < CHANGE_LANES ? block->n - i : CHANGE_LANES;
        for (int64_t k = 0; k < n; k++) {
            const T value = of_difference ? OF_TYPE(difference_at)(block, i + k)
                                          : ((const T *)block->now)[i + k];
            lane[k] += value - pivot;
            square[k] += (value - pivot) * (value - pivot);
        }
    }
    memcpy(&sums, lane, sizeof(sums));
    memcpy(&sums_of_squares, square, sizeof(sums_of_squares));
    *distances = OF_TYPE(sum_of_lanes)(&sums);
    *squares = OF_TYPE(sum_of_lanes)(&sums_of_squares);
}

/* What is left of the sum of squares when the mean is taken off: *m2, from the sum and
 * the extremes. The mean of equal numbers is that number. Where distances are summed,
 * *sum and *squares follow from these. False: see are_squares_good. */
TEMPLATE_INLINE bool
OF_TYPE(settle_moments)(const ps_change_block *block, const bool of_difference,
                        double low, double high, double *sum, double *squares,
                        double *m2)
{
    const double n = (double)block->n, mean = *sum / n;
    *m2 = *squares - *sum * mean;
    if (!(*squares <= DBL_MAX) || *m2 * 16 >= *squares) {
        return OF_TYPE(are_squares_good)(*squares, low == 0 && high == 0);
    }
    const T pivot = (T)(mean < low ? low : mean > high ? high : mean);
    double distances, left;
    OF_TYPE(add_distances_from)(block, of_difference, pivot, &distances, &left);
    const double rest = left - distances * distances / n;
    *sum = (double)pivot * n + distances;
    *squares = left + (double)pivot * (distances + *sum);
    *m2 = rest > 0 ? rest : 0;
    return OF_TYPE(are_squares_good)(left, low == high);
}

/* ---- differences ---- */

typedef struct {
    OF_TYPE(lanes_of) sum, size, square, low, high;
    OF_TYPE(counts_of) equal, turned, over;
} OF_TYPE(differences);

/* Vector k of a group, then all of it, meets the sums. live: lanes that count. */
TEMPLATE_INLINE void
OF_TYPE(take_difference)(OF_TYPE(differences) * s, const int k, const bool has_tol,
                         const bool is_part, VECTOR old, VECTOR now, VECTOR diff,
                         const ps_change_block *block, LANES live)
{
    const VECTOR d = OF_TYPE(kept_lanes)(is_part, diff, live);
    const VECTOR size = OF_TYPE(size_of_lanes)(d);
    const LANES turned = ((LANES)old ^ (LANES)now) < (LANES){0};
    s->equal.part[k] += OF_TYPE(kept_counts)(is_part, (LANES)old == (LANES)now, live);
    s->turned.part[k] += OF_TYPE(kept_counts)(is_part, turned, live);
    if (has_tol) {
        const VECTOR limit =
                OF_TYPE(all_lanes)((T)block->atol) +
                OF_TYPE(all_lanes)((T)block->rtol) * OF_TYPE(size_of_lanes)(old);
        s->over.part[k] += OF_TYPE(kept_counts)(is_part, ~(LANES)(size <= limit), live);
    }
    s->sum.part[k] += d;
    s->size.part[k] += size;
    s->square.part[k] += d * d;
    s->low.part[k] = OF_TYPE(least_lanes)(diff, s->low.part[k]);
    s->high.part[k] = OF_TYPE(greatest_lanes)(diff, s->high.part[k]);
}

TEMPLATE_INLINE void
OF_TYPE(take_differences)(OF_TYPE(differences) * s, const bool has_tol,
                          const bool has_diff, const T *old, const T *now,
                          const T *diff, const ps_change_block *block,
                          const OF_TYPE(counts_of) * live)
{
#pragma GCC unroll 4
    for (int k = 0; k < OF_TYPE(CHANGE_VECTORS); k++) {
        const int at = k * OF_TYPE(CHANGE_ITEMS);
        const VECTOR o = *(const VECTOR *)(old + at), n = *(const VECTOR *)(now + at);
        const LANES kept = live != NULL ? live->part[k] : (LANES){0};
        VECTOR d = n - o;
        if (has_diff) {
            d = *(const VECTOR *)(diff + at);
        }
        OF_TYPE(take_difference)
        (s, k, has_tol, live != NULL, o, n, d, block, kept);
    }
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
 * Products of tolerances are rounded in T, as by numpy.isclose; 0 - 0 is never -0. */
TEMPLATE_INLINE bool
OF_TYPE(change_differences)(const bool has_tol, const bool has_diff,
                            const ps_change_block *block, ps_change *change)
{
    const T *const old = block->old, *const now = block->now;
    const T *const diff = has_diff ? (const T *)(const void *)block->diff : old;
    const OF_TYPE(lanes_of) zero = OF_TYPE(lanes_with)(0);
    const OF_TYPE(lanes_of) first =
            OF_TYPE(lanes_with)(OF_TYPE(difference_at)(block, 0));
    const OF_TYPE(counts_of) none = OF_TYPE(first_lanes)(0);
    OF_TYPE(differences) s = {zero, zero, zero, first, first, none, none, none};
    const int64_t n = block->n, whole = n & -CHANGE_LANES;
    for (int64_t i = 0; i < whole; i += CHANGE_LANES) {
        OF_TYPE(take_differences)
        (&s, has_tol, has_diff, old + i, now + i, diff + i, block, NULL);
    }
    if (whole < n) {
        T group[3][CHANGE_LANES];
        const OF_TYPE(counts_of) live = OF_TYPE(first_lanes)(n - whole);
        OF_TYPE(fill_group)(group[0], old + whole, n - whole);
        OF_TYPE(fill_group)(group[1], now + whole, n - whole);
        OF_TYPE(fill_group)(group[2], diff + whole, n - whole);
        OF_TYPE(take_differences)
        (&s, has_tol, has_diff, group[0], group[1], group[2], block, &live);
    }
    change->min = (double)OF_TYPE(extreme_of_lanes)(true, &s.low);
    change->max = (double)OF_TYPE(extreme_of_lanes)(false, &s.high);
    change->max_abs = change->max > -change->min ? change->max : 0 - change->min;
    change->sum = OF_TYPE(sum_of_lanes)(&s.sum);
    change->sum_abs = OF_TYPE(sum_of_lanes)(&s.size);
    change->sum_squares = OF_TYPE(sum_of_lanes)(&s.square);
    change->n_changed = n - OF_TYPE(count_of_lanes)(&s.equal);
    change->n_sign_flips = OF_TYPE(count_of_lanes)(&s.turned);
    change->n_over_tol = has_tol ? OF_TYPE(count_of_lanes)(&s.over) : 0;
    OF_TYPE(find_largest)(block, change);
    return OF_TYPE(settle_moments)(block, true, change->min, change->max, &change->sum,
                                   &change->sum_squares, &change->m2);
}
