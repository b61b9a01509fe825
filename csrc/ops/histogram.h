/* Histograms: what an array holds (moments), and counts or sums of weights by bin. */
#ifndef PS_OPS_HISTOGRAM_H
#define PS_OPS_HISTOGRAM_H

#include "ops/bins.h"

/* A call in one pass or two. ps_histogram_measure fills `moments`. ps_histogram_count
 * fills counts and what lies outside; and moments too, unless it is told that they are
 * known. n elements of a view of a real type; the bins of `finder`, which was opened
 * for its dtype. */
typedef struct {
    ps_view x;
    int64_t n;
    ps_moments moments;
    bool is_measured;
    const ps_finder *finder;
    int64_t *count; /* [n_bins], zeroed, or NULL: */
    /* weights, a view of the shape of x, and their sums, [n_bins] of `type`: i64
     * (modulo 2^64, in any order), f64 or c128 (in order, by chunks of elements, whose
     * sums are added in order). */
    ps_view weights;
    enum ps_dtype type;
    char *sums;
    int64_t n_below, n_above; /* finite elements outside all bins */
} ps_histogram_call;

ps_status ps_histogram_measure(void *call, ps_run *run);
ps_status ps_histogram_count(void *call, ps_run *run);

#endif
