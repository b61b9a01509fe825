/* change_exactly: one block element by element in f64, by the rules for NaN, infinities
 * and squares that T does not hold; and all complex numbers, of which sizes are moduli.
 *
 * A difference is taken in T, as elsewhere, and again in f64 where that overflows. What
 * NaN and infinities make of sums is left to IEEE arithmetic; extremes propagate NaN.
 * finite_only: pairs with a NaN or an infinity count for no statistic of the pair, and
 * such elements for none of the new array. Two walks: variances are of distances from
 * the mean. About 4 ns an element. T is f32, f64, c64 or c128.
 *
 * A block is seldom so, and then only it takes this way: an array with one NaN costs
 * three microseconds more. What finite blocks give here and in the loops of
 * change.tmpl.h differs in rounding alone, and which way a block goes follows from its
 * numbers, so levels and threads agree.
 */

/* One element: its difference, and what decides what becomes of it. */
typedef struct {
    double old, old_imag, now, now_imag;
    double diff, diff_imag, size;
    bool has_bits_changed, is_nan, was_nan, is_infinite, was_infinite;
} OF_TYPE(pair);

#if KIND_IS(COMPLEX)
#define CHANGE_RE(x) ((double)(x).re)
#define CHANGE_IM(x) ((double)(x).im)
#define CHANGE_PART REAL
#else
#define CHANGE_RE(x) ((double)(x))
#define CHANGE_IM(x) ((void)(x), 0.0)
#define CHANGE_PART T
#endif

/* Of one part, in T; in f64 where that overflows, and for infinities, which come out
 * the same. */
TEMPLATE_INLINE double
OF_TYPE(part_difference)(double old, double now)
{
    const double diff = (double)((CHANGE_PART)now - (CHANGE_PART)old);
    return isfinite(diff) ? diff : now - old;
}

/* |re + i im|, without overflow; the C library's, one result on a machine whatever the
 * level. */
TEMPLATE_INLINE double
OF_TYPE(modulus)(double re, double im)
{
    return KIND_IS(COMPLEX) ? hypot(re, im) : fabs(re);
}

TEMPLATE_INLINE
OF_TYPE(pair) OF_TYPE(pair_at)(const ps_change_block *block, int64_t i)
{
    const T now = ((const T *)block->now)[i];
    const T old = block->old != NULL ? ((const T *)block->old)[i] : now;
    OF_TYPE(pair)
    p = {.old = CHANGE_RE(old),
         .old_imag = CHANGE_IM(old),
         .now = CHANGE_RE(now),
         .now_imag = CHANGE_IM(now)};
    p.has_bits_changed = memcmp(&old, &now, sizeof(T)) != 0;
    p.is_nan = isnan(p.now) || isnan(p.now_imag);
    p.was_nan = isnan(p.old) || isnan(p.old_imag);
    p.is_infinite = !p.is_nan && (isinf(p.now) || isinf(p.now_imag));
    p.was_infinite = !p.was_nan && (isinf(p.old) || isinf(p.old_imag));
    p.diff = block->diff != NULL ? block->diff[i]
                                 : OF_TYPE(part_difference)(p.old, p.now);
    p.diff_imag =
            KIND_IS(COMPLEX) ? OF_TYPE(part_difference)(p.old_imag, p.now_imag) : 0;
    p.size = OF_TYPE(modulus)(p.diff, p.diff_imag);
    return p;
}

/* numpy.isclose with the old value as the reference, NaN being equal to NaN. */
TEMPLATE_INLINE bool
OF_TYPE(is_over)(const ps_change_block *block, const OF_TYPE(pair) * p)
{
    const CHANGE_PART size = (CHANGE_PART)p->size;
    const CHANGE_PART old = (CHANGE_PART)OF_TYPE(modulus)(p->old, p->old_imag);
    const CHANGE_PART limit = (CHANGE_PART)block->atol + (CHANGE_PART)block->rtol * old;
    const bool is_close = size <= limit && !p->was_infinite && !p->was_nan;
    return !is_close;
}

/* Extremes: the first number begins, NaN stays. */
TEMPLATE_INLINE void
OF_TYPE(raise_extreme)(double value, double *low, double *high, bool is_first)
{
    if (is_first || isnan(value)) {
        *low = *high = value;
    }
    else if (!isnan(*low)) {
        *low = value < *low ? value : *low;
        *high = value > *high ? value : *high;
    }
}

/* What is counted of all elements, whatever finite_only says: bits and values, zeros,
 * and what is not finite. */
TEMPLATE_INLINE void
OF_TYPE(count_pair)(const ps_change_block *block, const OF_TYPE(pair) * p, int64_t i,
                    ps_change *change)
{
    const bool is_zero = p->now == 0 && p->now_imag == 0;
    const bool was_zero = p->old == 0 && p->old_imag == 0;
    const bool is_equal = (p->now == p->old && p->now_imag == p->old_imag) ||
                          (p->is_nan && p->was_nan);
    const bool is_positive = p->now == INFINITY || p->now_imag == INFINITY;
    change->n_zero += is_zero;
    change->n_nan += p->is_nan;
    change->n_posinf += p->is_infinite && is_positive;
    change->n_neginf += p->is_infinite && !is_positive;
    if ((p->is_nan || p->is_infinite) && change->first_nonfinite < 0) {
        change->first_nonfinite = block->first + i;
    }
    if (block->old != NULL) {
        change->n_changed += p->has_bits_changed;
        change->n_changed_value += !is_equal;
        change->n_over_tol += !is_equal && OF_TYPE(is_over)(block, p);
        change->n_became_zero += is_zero && !was_zero;
        change->n_left_zero += was_zero && !is_zero;
        change->n_sign_flips += !KIND_IS(COMPLEX) && !is_zero && !was_zero &&
                                signbit(p->now) != signbit(p->old);
    }
}

/* A pair that counts: sums, and extremes of the difference. The first of equal sizes
 * keeps its place, and so does the first NaN. */
TEMPLATE_INLINE void
OF_TYPE(add_pair)(const ps_change_block *block, const OF_TYPE(pair) * p, int64_t i,
                  ps_change *change)
{
    OF_TYPE(raise_extreme)(p->diff, &change->min, &change->max, change->n == 0);
    const bool is_largest = change->n == 0 ||
                            (!isnan(change->max_abs) && !(p->size <= change->max_abs));
    if (is_largest) {
        change->max_abs = p->size;
        change->argmax_abs = block->first + i;
    }
    change->n++;
    change->sum += p->diff;
    change->sum_imag += p->diff_imag;
    change->sum_abs += p->size;
    change->sum_squares += p->diff * p->diff + p->diff_imag * p->diff_imag;
    change->old_squares += p->old * p->old + p->old_imag * p->old_imag;
    change->new_squares += p->now * p->now + p->now_imag * p->now_imag;
    change->dot += p->old * p->now + p->old_imag * p->now_imag;
}

/* An element of the new array that counts. Its norm is that of pairs where there are
 * any, since it is compared with the norm of the old array. */
TEMPLATE_INLINE void
OF_TYPE(add_new)(const OF_TYPE(pair) * p, bool has_old, ps_change *change)
{
    OF_TYPE(raise_extreme)(p->now, &change->new_min, &change->new_max, !change->n_new);
    change->n_new++;
    change->new_sum += p->now;
    change->new_sum_imag += p->now_imag;
    if (!has_old) {
        change->new_squares += p->now * p->now + p->now_imag * p->now_imag;
    }
}

/* Does the difference count? There is none without an old array. */
TEMPLATE_INLINE bool
OF_TYPE(pair_counts)(const ps_change_block *block, const OF_TYPE(pair) * p)
{
    return block->old != NULL &&
           !(block->finite_only &&
             (p->is_nan || p->was_nan || p->is_infinite || p->was_infinite));
}

/* Does the new element count? */
TEMPLATE_INLINE bool
OF_TYPE(new_counts)(const ps_change_block *block, const OF_TYPE(pair) * p)
{
    return !(block->finite_only && (p->is_nan || p->is_infinite));
}

/* The second walk: squared distances from the means that the first one has left. */
TEMPLATE_INLINE void
OF_TYPE(add_distances)(const ps_change_block *block, ps_change *change)
{
    const double n = (double)change->n, n_new = (double)change->n_new;
    const double mean = change->sum / n, mean_imag = change->sum_imag / n;
    const double level = change->new_sum / n_new;
    const double level_imag = change->new_sum_imag / n_new;
    for (int64_t i = 0; i < block->n; i++) {
        const OF_TYPE(pair) p = OF_TYPE(pair_at)(block, i);
        if (OF_TYPE(pair_counts)(block, &p)) {
            const double re = p.diff - mean, im = p.diff_imag - mean_imag;
            change->m2 += re * re + im * im;
        }
        if (OF_TYPE(new_counts)(block, &p)) {
            const double re = p.now - level, im = p.now_imag - level_imag;
            change->new_m2 += re * re + im * im;
        }
    }
}

/* change (contract in change.tmpl.h), for any numbers. Called, since it is rare for
 * real ones. Complex numbers have no order, and so no extremes but of their moduli.
 * Another thread that writes to the arrays between both walks spoils numbers alone: no
 * place in memory follows from what is read. */
static __attribute__((noinline)) void
OF_TYPE(change_exactly)(const ps_change_block *block, ps_change *change)
{
    *change = (ps_change){.argmax_abs = -1, .first_nonfinite = -1};
    for (int64_t i = 0; i < block->n; i++) {
        const OF_TYPE(pair) p = OF_TYPE(pair_at)(block, i);
        OF_TYPE(count_pair)(block, &p, i, change);
        if (OF_TYPE(pair_counts)(block, &p)) {
            OF_TYPE(add_pair)(block, &p, i, change);
        }
        else {
            change->n_skipped += block->old != NULL || !OF_TYPE(new_counts)(block, &p);
        }
        if (OF_TYPE(new_counts)(block, &p)) {
            OF_TYPE(add_new)(&p, block->old != NULL, change);
        }
    }
    OF_TYPE(add_distances)(block, change);
#if KIND_IS(COMPLEX)
    change->min = change->max = change->new_min = change->new_max = NAN;
#endif
}

/* One element of a spread, by all rules. */
TEMPLATE_INLINE void
OF_TYPE(spread_pair)(const ps_change_block *block, const ps_change_spread *to,
                     int64_t i)
{
    const OF_TYPE(pair) p = OF_TYPE(pair_at)(block, i);
    to->diff[i] = p.diff;
    to->size[i] = p.size;
    to->now[i] = p.now;
    if (KIND_IS(COMPLEX)) {
        to->diff_imag[i] = p.diff_imag;
        to->now_imag[i] = p.now_imag;
    }
    to->changed[i] = p.has_bits_changed;
    if (to->is_pair != NULL) {
        to->is_pair[i] = OF_TYPE(pair_counts)(block, &p);
        to->is_new[i] = OF_TYPE(new_counts)(block, &p);
    }
}

#if !KIND_IS(COMPLEX)
/* The same for real numbers that all count, without a branch. */
TEMPLATE_INLINE void
OF_TYPE(spread_plain)(const T *restrict old, const T *restrict now,
                      const double *restrict known, double *restrict diff,
                      double *restrict size, double *restrict new_of,
                      uint8_t *restrict changed, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double near = (double)(T)(now[i] - old[i]);
        const double far = (double)now[i] - (double)old[i];
        const double d = fabs(near) <= DBL_MAX ? near : far;
        diff[i] = known != NULL ? known[i] : d;
        size[i] = fabs(diff[i]);
        new_of[i] = (double)now[i];
    }
    for (int64_t i = 0; i < n; i++) {
        changed[i] = memcmp(old + i, now + i, sizeof(T)) != 0;
    }
}
#endif

/* spread: *to receives for each of block->n elements the numbers that a change is made
 * of, in float64. is_pair and is_new are NULL where every pair and element counts.
 * Moves 2 elements and 25 bytes or more for each. */
TEMPLATE_INLINE void
OF_TYPE(change_spread)(const ps_change_block *block, const ps_change_spread *to)
{
#if !KIND_IS(COMPLEX)
    if (to->is_pair == NULL && block->old != NULL) {
        OF_TYPE(spread_plain)
        (block->old, block->now, block->diff, to->diff, to->size, to->now, to->changed,
         block->n);
        return;
    }
#endif
    for (int64_t i = 0; i < block->n; i++) {
        OF_TYPE(spread_pair)(block, to, i);
    }
}

#undef CHANGE_RE
#undef CHANGE_IM
#undef CHANGE_PART
