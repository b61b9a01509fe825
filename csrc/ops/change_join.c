/* What two stretches of elements come to, as one (contract in change.h).
 *
 * Sums and counts are added; of equal extremes the earlier keeps its place; NaN wins
 * over all other extremes. Squared distances go along by the formula of Chan, Golub and
 * LeVeque, from means that are sums over counts. All of it in float64, whose rounding
 * is far below that of a block. A set of no elements changes nothing, on either side,
 * so that parts and records may be empty.
 */
#include <math.h>

#include "ops/change.h"

const ps_change ps_no_change = {.argmax_abs = -1, .first_nonfinite = -1};

/* NaN is the largest; so the smallest is found as the largest of what is negated. */
static double
larger(double a, double b)
{
    return b <= a || isnan(a) ? a : b;
}

/* What the distance of two means adds to squared distances: of infinities a NaN, which
 * is what their variance is. */
static double
distance_of_means(double re, double re_imag, double n, double sum, double sum_imag,
                  double other)
{
    const double delta = sum / other - re / n,
                 delta_imag = sum_imag / other - re_imag / n;
    return (delta * delta + delta_imag * delta_imag) * (n * (other / (n + other)));
}

/* Statistics of differences; before *to takes the counts and sums of the other, which
 * means are made of. */
static void
join_pairs(ps_change *to, const ps_change *part)
{
    if (part->n == 0) {
        return;
    }
    if (to->n == 0) {
        to->min = part->min;
        to->max = part->max;
        to->max_abs = part->max_abs;
        to->argmax_abs = part->argmax_abs;
        to->m2 = part->m2;
        return;
    }
    if (!isnan(to->max_abs) && !(part->max_abs <= to->max_abs)) {
        to->max_abs = part->max_abs;
        to->argmax_abs = part->argmax_abs;
    }
    to->min = -larger(-to->min, -part->min);
    to->max = larger(to->max, part->max);
    to->m2 += part->m2 + distance_of_means(to->sum, to->sum_imag, (double)to->n,
                                           part->sum, part->sum_imag, (double)part->n);
}

/* The same of the new array alone, of which finite_only may count other elements. */
static void
join_levels(ps_change *to, const ps_change *part)
{
    if (part->n_new == 0) {
        return;
    }
    if (to->n_new == 0) {
        to->new_min = part->new_min;
        to->new_max = part->new_max;
        to->new_m2 = part->new_m2;
        return;
    }
    to->new_min = -larger(-to->new_min, -part->new_min);
    to->new_max = larger(to->new_max, part->new_max);
    to->new_m2 +=
            part->new_m2 + distance_of_means(to->new_sum, to->new_sum_imag,
                                             (double)to->n_new, part->new_sum,
                                             part->new_sum_imag, (double)part->n_new);
}

/* Extremes and distances ask for counts and sums as they have been. Positions stay as
 * they are: those of one array are counted from its start in every part. */
void
ps_change_join(ps_change *to, const ps_change *part)
{
    join_pairs(to, part);
    join_levels(to, part);
    to->n += part->n;
    to->n_new += part->n_new;
    to->n_changed += part->n_changed;
    to->n_changed_value += part->n_changed_value;
    to->n_over_tol += part->n_over_tol;
    to->n_sign_flips += part->n_sign_flips;
    to->n_zero += part->n_zero;
    to->n_became_zero += part->n_became_zero;
    to->n_left_zero += part->n_left_zero;
    to->n_nan += part->n_nan;
    to->n_posinf += part->n_posinf;
    to->n_neginf += part->n_neginf;
    to->n_skipped += part->n_skipped;
    if (to->first_nonfinite < 0) {
        to->first_nonfinite = part->first_nonfinite;
    }
    to->sum += part->sum;
    to->sum_imag += part->sum_imag;
    to->sum_abs += part->sum_abs;
    to->sum_squares += part->sum_squares;
    to->dot += part->dot;
    to->old_squares += part->old_squares;
    to->new_squares += part->new_squares;
    to->new_sum += part->new_sum;
    to->new_sum_imag += part->new_sum_imag;
}

/* What is no number is the same NaN on every level. */
#define PS_SETTLE_REAL(name) change->name = isnan(change->name) ? NAN : change->name;
void
ps_change_settle(ps_change *change)
{
    PS_FOR_EACH_CHANGE_REAL(PS_SETTLE_REAL)
}
