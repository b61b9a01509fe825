/* What is kept of a change by rows and features, and integers of 64 bits, which no
 * float holds: loops over blocks whose results do not depend on the level.
 *
 * Contracts stand in change.h; a block has n <= PS_CHANGE_BLOCK elements. A step of 0
 * has one place take all of a run in order, a step of 1 has each element a place of its
 * own. They are plain loops in which no sum crosses lanes that a level could choose, so
 * the compiler's vectors cannot change a bit.
 */

/* differ: changed[i] = whether the 16 bits of element i differ, for half types, whose
 * NaN do not keep their bits when they are widened. Returns how many do. Moves 5 bytes
 * an element. */
static int64_t
change_differ_u16(const void *old, const void *now, int64_t n, uint8_t *changed)
{
    const uint16_t *const o = old, *const a = now;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        changed[i] = o[i] != a[i];
    }
    for (int64_t i = 0; i < n; i++) {
        count += changed[i];
    }
    return count;
}

/* Is size > atol + rtol |old|, compared as integers? A limit of 2^64 and more has
 * nothing over it; NaN, an infinite tolerance of nothing, has everything. */
TEMPLATE_INLINE bool
is_wide_over(const ps_change_block *block, double old, uint64_t size)
{
    const double limit = block->atol + block->rtol * fabs(old);
    return !(limit >= 0x1p64) && !(limit >= 0 && size <= (uint64_t)limit);
}

/* *old, *now and *diff of element i, and whether it has changed and is over.
 * Differences have 65 bits and are rounded once. */
TEMPLATE_INLINE void
put_wide(const ps_change_block *block, bool is_less, uint64_t size, double old,
         double *diff, ps_change *change)
{
    *diff = is_less ? -(double)size : (double)size;
    change->n_changed += size != 0;
    change->n_over_tol += is_wide_over(block, old, size);
}

/* Numbers below 2^51 become float64 by their bits: with those of 1.5 * 2^52 added they
 * are the lowest of its mantissa. False: some are not below, and those of `to` are
 * wrong. */
TEMPLATE_INLINE bool
widen_small(const bool is_signed, const void *from, double *to, int64_t n)
{
    enum {
        ITEMS = VECTOR_BYTES / 8
    };
    typedef uint64_t words
            __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(8)));
    const int64_t *const x = from;
    const words sign = (words){0} - (uint64_t)is_signed; /* all bits, or none */
    words any = {0};
    int64_t i = 0, rest = 0;
    for (; i + ITEMS <= n; i += ITEMS) {
        const words bits = *(const words *)(const void *)(x + i);
        any |= bits ^ ((words)((lanes_f64)bits < 0) & sign);
        *(vector_f64 *)(to + i) =
                (vector_f64)(bits + UINT64_C(0x4338000000000000)) - 0x1.8p52;
    }
    for (; i < n; i++) {
        rest |= is_signed ? x[i] ^ -(int64_t)(x[i] < 0) : x[i];
        to[i] = (double)x[i];
    }
    for (int k = 0; k < ITEMS; k++) {
        rest |= (int64_t)any[k];
    }
    return (uint64_t)rest >> 51 == 0;
}

/* Both arrays, of which an absent one is left. Their differences are below 2^52 then,
 * so float64 subtracts them without rounding, and compares them with a tolerance as
 * integers compare. */
TEMPLATE_INLINE bool
widen_pair(const bool is_signed, const ps_change_block *block, double *old, double *now)
{
    return widen_small(is_signed, block->now, now, block->n) &&
           (block->old == NULL || widen_small(is_signed, block->old, old, block->n));
}

/* widen: old[i], now[i] and diff[i] become float64, and change says how many elements
 * differ and how many are over, both exactly: integers of 64 bits are subtracted as
 * they are. An absent old array counts as the new one. change->n becomes block->n where
 * float64 holds all numbers and all differences: old and now are all that is given
 * then. Moves 40 bytes an element. */
static void
change_widen_i64(const ps_change_block *block, double *old, double *now, double *diff,
                 ps_change *change)
{
    const int64_t *const a = block->now, *const o = block->old != NULL ? block->old : a;
    change->n = widen_pair(true, block, old, now) ? block->n : 0;
    if (change->n > 0) {
        return;
    }
    change->n_changed = change->n_over_tol = 0;
    for (int64_t i = 0; i < block->n; i++) {
        const bool is_less = a[i] < o[i];
        const uint64_t size = is_less ? (uint64_t)o[i] - (uint64_t)a[i]
                                      : (uint64_t)a[i] - (uint64_t)o[i];
        old[i] = (double)o[i];
        now[i] = (double)a[i];
        put_wide(block, is_less, size, old[i], &diff[i], change);
    }
}

static void
change_widen_u64(const ps_change_block *block, double *old, double *now, double *diff,
                 ps_change *change)
{
    const uint64_t *const a = block->now;
    const uint64_t *const o = block->old != NULL ? block->old : a;
    change->n = widen_pair(false, block, old, now) ? block->n : 0;
    if (change->n > 0) {
        return;
    }
    change->n_changed = change->n_over_tol = 0;
    for (int64_t i = 0; i < block->n; i++) {
        const bool is_less = a[i] < o[i];
        old[i] = (double)o[i];
        now[i] = (double)a[i];
        put_wide(block, is_less, is_less ? o[i] - a[i] : a[i] - o[i], old[i], &diff[i],
                 change);
    }
}

/* moments: place at + i * step meets from[i], for the i < n that count. The first
 * number of a place is its pivot, so that sums of distances lose little to
 * cancellation; a number that is not finite makes a pivot of 0 and shows in the sums.
 * Reads and writes four words a place: 32 bytes each way. */
TEMPLATE_INLINE void
add_moments(int64_t *restrict n_of, double *restrict pivot, double *restrict sum,
            double *restrict squares, const int64_t step, const double *restrict from,
            const uint8_t *restrict counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (counts != NULL && !counts[i]) {
            continue;
        }
        const int64_t j = i * step;
        const double value = from[i], begin = fabs(value) <= DBL_MAX ? value : 0;
        const double centre = n_of[j] == 0 ? begin : pivot[j];
        const double distance = value - centre;
        pivot[j] = centre;
        n_of[j] += 1;
        sum[j] += distance;
        squares[j] += distance * distance;
    }
}

/* Steps and missing flags are constants of each loop, so that those side by side are
 * vector code. */
static void
change_moments(const ps_change_moments *to, int64_t at, int64_t step,
               const double *from, const uint8_t *counts, int64_t n)
{
    int64_t *const n_of = to->n + at;
    double *const pivot = to->pivot + at, *const sum = to->sum + at;
    double *const squares = to->squares + at;
    if (counts != NULL) {
        add_moments(n_of, pivot, sum, squares, step, from, counts, n);
    }
    else if (step == 1) {
        add_moments(n_of, pivot, sum, squares, 1, from, NULL, n);
    }
    else {
        add_moments(n_of, pivot, sum, squares, 0, from, NULL, n);
    }
}

/* The larger of two sizes; NaN is the largest. */
TEMPLATE_INLINE double
larger_size(double best, double value)
{
    return value <= best || best != best ? best : value;
}

/* One place takes a whole run: eight lanes of its own, added up in order. */
TEMPLATE_INLINE void
add_run(double *sum, double *max, const double *from, int64_t n)
{
    double lane[CHANGE_LANES] = {0}, best[CHANGE_LANES] = {0};
    int64_t i = 0;
    for (; i + CHANGE_LANES <= n; i += CHANGE_LANES) {
        for (int k = 0; k < CHANGE_LANES; k++) {
            lane[k] += from[i + k];
            best[k] = larger_size(best[k], from[i + k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] += from[i];
        best[k] = larger_size(best[k], from[i]);
    }
    double total = 0;
    for (int k = 0; k < CHANGE_LANES; k++) {
        total += lane[k];
        *max = larger_size(*max, best[k]);
    }
    if (sum != NULL) {
        *sum += total;
    }
}

/* Sizes side by side with their places. */
TEMPLATE_INLINE void
add_places(double *restrict sum, double *restrict max, const double *restrict from,
           int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        max[i] = larger_size(max[i], from[i]);
    }
    for (int64_t i = 0; sum != NULL && i < n; i++) {
        sum[i] += from[i];
    }
}

/* totals: place at + i * step takes the size from[i] >= 0, for those i < n that count:
 * the sum, which may be NULL, and the maximum. */
static void
change_totals(double *sum, double *max, int64_t at, int64_t step, const double *from,
              const uint8_t *counts, int64_t n)
{
    double *const total = sum != NULL ? sum + at : NULL;
    if (counts == NULL && step == 0) {
        add_run(total, max + at, from, n);
        return;
    }
    if (counts == NULL) {
        add_places(total, max + at, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (counts[i]) {
            max[at + i * step] = larger_size(max[at + i * step], from[i]);
            if (total != NULL) {
                total[i * step] += from[i];
            }
        }
    }
}

/* tally: place at + i * step counts flag[i], 0 or 1, n of them. */
static void
change_tally(int64_t *count, int64_t at, int64_t step, const uint8_t *flag, int64_t n)
{
    int64_t *restrict const place = count + at;
    if (step == 1) {
        for (int64_t i = 0; i < n; i++) {
            place[i] += flag[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        place[0] += flag[i];
    }
}
