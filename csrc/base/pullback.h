/* Pullbacks of what is not linear: what their kernels are given, and their steps.
 *
 * A call that reduced n entries to rows of `width` elements is taken back in a few
 * steps. Steps over elements prepare what steps over entries then take.
 */
#ifndef PS_BASE_PULLBACK_H
#define PS_BASE_PULLBACK_H

#include <stdint.h>

/* to: the row of each entry, all checked. values, of_values: a row for each entry; out,
 * old, g, of_old, share: one for each row of the result. old and of_old are NULL where
 * there were no old values. held: what a step leaves for later ones, for each element
 * or for each row. */
typedef struct {
    int64_t width;
    const int64_t *to;
    const void *values, *out, *old, *g;
    void *of_values, *of_old;
    void *share, *held;
} ps_pull;

/* The steps. Extremes: start, count, share, then give or first; what stays alone: keep,
 * moved; means: average, spread; products: ones, before, product, after. */
enum ps_pull_step {
    PS_PULL_START,
    PS_PULL_COUNT,
    PS_PULL_SHARE,
    PS_PULL_GIVE,
    PS_PULL_FIRST,
    PS_PULL_KEEP,
    PS_PULL_MOVED,
    PS_PULL_AVERAGE,
    PS_PULL_SPREAD,
    PS_PULL_ONES,
    PS_PULL_BEFORE,
    PS_PULL_PRODUCT,
    PS_PULL_AFTER
};

/* Items [from, to) of elements, of rows or of entries, as the step says. */
typedef void (*ps_pull_kernel)(enum ps_pull_step step, const ps_pull *pull,
                               int64_t from, int64_t to);

#endif
