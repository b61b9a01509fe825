/* What a change keeps by rows and features (contract in change_parts.h).
 *
 * A part of the array keeps words of its own, for all rows and features, and parts are
 * joined in order; how many there are follows from sizes, so bits do not depend on
 * threads. Runs of a block that belong to one row, or where rows are columns to one
 * feature, meet one place; the others meet places side by side.
 *
 * Words are float64 whatever the array is: a feature may have a billion rows. Moments
 * are distances from a pivot, the first number of the feature in the part, which costs
 * a comparison an element and no second pass; when parts are joined they become means
 * and squared distances from these. That a feature's number of elements is a word of
 * its own lets parts end in the midst of a row, and elements be left out.
 */
#include <math.h>
#include <stddef.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/change_parts.h"

enum {
    /* Arrays of words for a row; for a feature beside moments, and for one of these. */
    ROW_WORDS = 3,
    FEATURE_WORDS = 3,
    MOMENT_WORDS = 4,
    MOST_PARTS = 64,
    /* Rows of a part with features: joining a feature of two parts costs as much as to
     * add some thirty elements to it. */
    LEAST_ROWS = 128
};

/* Where the words of a part lie. */
typedef struct {
    double *row_sum, *row_max;
    int64_t *row_changed;
    double *max;
    int64_t *n_changed, *n_alive;
    ps_change_moments diff, now, diff_imag, now_imag;
} line_words;

/* Words are counts or float64, both of eight bytes, in one block of memory. */
static double *
reals(int64_t *words)
{
    return (double *)(void *)words;
}

/* Four arrays of n words, one after the other: numbers, pivots, sums and squares of the
 * distances. */
static ps_change_moments
moments_at(int64_t *words, int64_t n)
{
    return (ps_change_moments){words, reals(words + n), reals(words + 2 * n),
                               reals(words + 3 * n)};
}

/* Arrays by rows come first, then those by features, each as long as there are rows or
 * features; zeros are the state before the first element. */
static line_words
words_at(const ps_change_lines *lines, int64_t *words)
{
    line_words at = {.row_sum = reals(words)};
    if (lines->has_rows) {
        at.row_max = reals(words + lines->rows);
        at.row_changed = words + 2 * lines->rows;
        words += ROW_WORDS * lines->rows;
    }
    if (lines->has_features) {
        const int64_t n = lines->features;
        at.max = reals(words);
        at.n_changed = words + n;
        at.n_alive = words + 2 * n;
        words += FEATURE_WORDS * n;
        at.diff = moments_at(words, n);
        at.now = moments_at(words + MOMENT_WORDS * n, n);
        if (lines->is_complex) {
            at.diff_imag = moments_at(words + 2 * MOMENT_WORDS * n, n);
            at.now_imag = moments_at(words + 3 * MOMENT_WORDS * n, n);
        }
    }
    return at;
}

/* Axes before the rows' own, and those behind it, number features. Nothing is worked
 * out where nothing was asked for. */
bool
ps_change_lines_of(const ps_change_call *call, ps_change_lines *lines)
{
    const ps_view *const now = &call->now;
    const bool is_complex = ps_dtype_kind[now->dtype] == PS_KIND_COMPLEX;
    *lines = (ps_change_lines){.has_rows = call->axes.row_changed != NULL,
                               .has_features = call->axes.feature_is_dead != NULL,
                               .is_complex = is_complex,
                               .rows = 1,
                               .width = 1,
                               .features = 1};
    lines->takes_rows = lines->has_rows;
    lines->takes_features = lines->has_features;
    if (!lines->has_rows && !lines->has_features) {
        return true;
    }
    int64_t outer;
    lines->rows = now->ndim > 0 ? now->shape[call->axis] : 1;
    if (!ps_count(call->axis, now->shape, &outer) ||
        !ps_count(now->ndim - call->axis - (now->ndim > 0), /* axes behind it */
                  now->shape + call->axis + (now->ndim > 0), &lines->width) ||
        !ps_multiply(outer, lines->width, &lines->features)) {
        return false;
    }
    const int64_t moments = is_complex ? 4 : 2;
    int64_t row_items = 0, feature_items = 0;
    return (!lines->has_rows || ps_multiply(lines->rows, ROW_WORDS, &row_items)) &&
           (!lines->has_features ||
            ps_multiply(lines->features, FEATURE_WORDS + moments * MOMENT_WORDS,
                        &feature_items)) &&
           !__builtin_add_overflow(row_items, feature_items, &lines->items);
}

/* Words take no more room than elements of 16 bytes would: with features as many as
 * half of the elements there is one part. */
int64_t
ps_change_count_parts(const ps_change_lines *lines, int64_t n, int64_t wanted)
{
    if (lines->items == 0) {
        return wanted;
    }
    int64_t most = ps_min(n / (2 * lines->items), MOST_PARTS);
    if (lines->has_features) {
        most = ps_min(most, lines->rows / LEAST_ROWS);
    }
    return ps_max(1, ps_min(wanted, most));
}

/* A run of one line, or of one feature: `row` and `feature` are where it begins, and
 * steps of 1 lead on. */
static void
take_run(const ps_change_lines *lines, const line_words *at, int64_t row,
         int64_t row_step, int64_t feature, int64_t n, const ps_change_spread *from)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    const int64_t step = 1 - row_step;
    if (lines->takes_rows) {
        kernels->totals(at->row_sum, at->row_max, row, row_step, from->size,
                        from->is_pair, n);
        kernels->tally(at->row_changed, row, row_step, from->changed, n);
    }
    if (lines->takes_features) {
        kernels->totals(NULL, at->max, feature, step, from->size, from->is_pair, n);
        kernels->tally(at->n_changed, feature, step, from->changed, n);
        kernels->moments(&at->diff, feature, step, from->diff, from->is_pair, n);
        kernels->moments(&at->now, feature, step, from->now, from->is_new, n);
        if (lines->is_complex) {
            kernels->moments(&at->diff_imag, feature, step, from->diff_imag,
                             from->is_pair, n);
            kernels->moments(&at->now_imag, feature, step, from->now_imag, from->is_new,
                             n);
        }
    }
}

/* Which elements of a run are not zero, NaN included; `flag` has room for n. A feature
 * without any is dead. */
static void
take_alive(const ps_change_lines *lines, const line_words *at, int64_t feature,
           int64_t step, int64_t n, const ps_change_spread *from, uint8_t *flag)
{
    for (int64_t i = 0; lines->takes_features && i < n; i++) {
        flag[i] = from->now[i] != 0 || (lines->is_complex && from->now_imag[i] != 0);
    }
    if (lines->takes_features) {
        ps_kernels()->change->tally(at->n_alive, feature, step, flag, n);
    }
}

/* The same block from element i on; flags that are missing stay missing. */
static ps_change_spread
spread_from(const ps_change_spread *spread, int64_t i)
{
    return (ps_change_spread){spread->diff + i,
                              spread->diff_imag + i,
                              spread->size + i,
                              spread->now + i,
                              spread->now_imag + i,
                              spread->changed + i,
                              spread->is_pair != NULL ? spread->is_pair + i : NULL,
                              spread->is_new != NULL ? spread->is_new + i : NULL};
}

/* Where rows are columns (width 1) a run goes to the end of one feature, else to the
 * end of a line. Positions are divided out once a run. */
void
ps_change_take_lines(const ps_change_lines *lines, int64_t *words, int64_t first,
                     int64_t n, const ps_change_spread *spread)
{
    const line_words at = words_at(lines, words);
    const bool is_column = lines->width == 1;
    const int64_t run = is_column ? lines->rows : lines->width;
    uint8_t flag[PS_CHANGE_BLOCK];
    for (int64_t done = 0; done < n;) {
        const int64_t line = (first + done) / run, inner = (first + done) % run;
        const int64_t count = ps_min(run - inner, n - done);
        const int64_t row = is_column ? inner : line % lines->rows;
        const int64_t feature = is_column ? line : line / lines->rows * run + inner;
        const ps_change_spread from = spread_from(spread, done);
        take_run(lines, &at, row, is_column, feature, count, &from);
        take_alive(lines, &at, feature, !is_column, count, &from, flag);
        done += count;
    }
}

/* What the elements of one row come to, as rows know it. NaN before all, as everywhere;
 * a run of which nothing counts has no maximum. */
void
ps_change_take_row(const ps_change_lines *lines, int64_t *words, int64_t row,
                   const ps_change *change, bool has_changed)
{
    const line_words at = words_at(lines, words);
    double *const max = &at.row_max[row];
    at.row_sum[row] += change->sum_abs;
    at.row_changed[row] += has_changed;
    if (change->n > 0 && !(change->max_abs <= *max || isnan(*max))) {
        *max = change->max_abs;
    }
}

ps_change_columns
ps_change_columns_of(const ps_change_lines *lines, int64_t *words)
{
    const line_words at = words_at(lines, words);
    return (ps_change_columns){at.max, at.n_changed, at.n_alive, at.diff, at.now};
}

/* ---- joining ---- */

/* n, mean and squared distances from it. */
typedef struct {
    double n, mean, m2;
} moment;

/* Feature j of one part. Rounding may leave less than nothing of a sum of squares. */
static moment
moment_at(const ps_change_moments *from, int64_t j)
{
    const double n = (double)from->n[j];
    if (from->n[j] == 0) {
        return (moment){0, 0, 0};
    }
    const double m2 = from->squares[j] - from->sum[j] * from->sum[j] / n;
    return (moment){n, from->pivot[j] + from->sum[j] / n, m2 < 0 ? 0 : m2};
}

/* Chan, Golub and LeVeque; a mean that is no number any more is one of sums. */
static moment
join_moments(moment a, moment b)
{
    if (a.n == 0 || b.n == 0) {
        return a.n == 0 ? b : a;
    }
    const double n = a.n + b.n, delta = b.mean - a.mean;
    const double mean = isfinite(delta) ? a.mean + delta * (b.n / n)
                                        : (a.mean * a.n + b.mean * b.n) / n;
    return (moment){n, mean, a.m2 + b.m2 + delta * delta * (a.n * (b.n / n))};
}

/* Feature j of all parts, from words that lie `items` apart; joined in order, which
 * makes the result that of sizes alone. */
static moment
moment_of_parts(const ps_change_moments *from, int64_t j, int64_t items, int64_t parts)
{
    ps_change_moments at = *from;
    moment total = {0, 0, 0};
    for (int64_t part = 0; part < parts; part++) {
        total = join_moments(total, moment_at(&at, j));
        at.n += items;
        at.pivot += items;
        at.sum += items;
        at.squares += items;
    }
    return total;
}

/* NaN of one sign and payload, on every level: which of two NaN an addition keeps is
 * for the compiler to say. */
static double
settled(double value)
{
    return isnan(value) ? NAN : value;
}

/* The largest of a row or feature, NaN before all. Sizes are not negative, so a part
 * that has seen none gives 0. */
static double
max_of_parts(const double *from, int64_t items, int64_t parts)
{
    double max = from[0];
    for (int64_t part = 1; part < parts; part++) {
        const double value = from[part * items];
        max = value <= max || isnan(max) ? max : value;
    }
    return settled(max);
}

/* The sum of a count over all parts, which are zeros where a part has not been. No
 * count is above the number of rows. */
static int64_t
count_of_parts(const int64_t *from, int64_t items, int64_t parts)
{
    int64_t count = 0;
    for (int64_t part = 0; part < parts; part++) {
        count += from[part * items];
    }
    return count;
}

/* Rows of all parts, in order; parts that do not know a row have added zeros. */
static void
finish_rows(const ps_change_lines *lines, const line_words *at, int64_t parts,
            const ps_change_axes *axes)
{
    for (int64_t row = 0; row < lines->rows; row++) {
        double sum = at->row_sum[row];
        for (int64_t part = 1; part < parts; part++) {
            sum += at->row_sum[part * lines->items + row];
        }
        axes->row_abs_sum[row] = settled(sum);
        axes->row_max_abs[row] = max_of_parts(at->row_max + row, lines->items, parts);
        axes->row_changed[row] =
                count_of_parts(at->row_changed + row, lines->items, parts) > 0;
    }
}

/* Mean and squared distances of the numbers at feature j; `imag` of complex ones. */
static moment
finish_moments(const ps_change_lines *lines, const ps_change_moments *real,
               const ps_change_moments *imag, int64_t j, int64_t parts, double *mean,
               double *m2)
{
    moment re = moment_of_parts(real, j, lines->items, parts);
    const int n_means = lines->is_complex ? 2 : 1;
    mean[n_means * j] = re.n > 0 ? settled(re.mean) : NAN;
    if (lines->is_complex) {
        const moment im = moment_of_parts(imag, j, lines->items, parts);
        mean[2 * j + 1] = im.n > 0 ? settled(im.mean) : NAN;
        re.m2 += im.m2;
    }
    m2[j] = re.n > 0 ? settled(re.m2) : NAN;
    return re;
}

/* Features of all parts. One is dead that is zero in every row; without rows none is.
 */
static void
finish_features(const ps_change_lines *lines, const line_words *at, int64_t parts,
                const ps_change_axes *axes)
{
    for (int64_t j = 0; j < lines->features; j++) {
        const moment level =
                finish_moments(lines, &at->now, &at->now_imag, j, parts,
                               axes->feature_new_mean, axes->feature_new_m2);
        axes->feature_new_n[j] = (int64_t)level.n;
        const moment diff = finish_moments(lines, &at->diff, &at->diff_imag, j, parts,
                                           axes->feature_mean, axes->feature_m2);
        axes->feature_n[j] = (int64_t)diff.n;
        axes->feature_max_abs[j] =
                diff.n > 0 ? max_of_parts(at->max + j, lines->items, parts) : NAN;
        axes->feature_n_changed[j] =
                count_of_parts(at->n_changed + j, lines->items, parts);
        axes->feature_is_dead[j] =
                lines->rows > 0 &&
                count_of_parts(at->n_alive + j, lines->items, parts) == 0;
    }
}

/* After all parts have ended, on the caller's thread: it takes a visit to every word.
 */
void
ps_change_finish_lines(const ps_change_lines *lines, int64_t *words, int64_t parts,
                       const ps_change_axes *axes)
{
    const line_words at = words_at(lines, words);
    if (lines->has_rows) {
        finish_rows(lines, &at, parts, axes);
    }
    if (lines->has_features) {
        finish_features(lines, &at, parts, axes);
    }
}
