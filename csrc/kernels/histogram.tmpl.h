/* What a histogram says of its elements beside counts: extremes, sums, and what is not
 * finite; and the bins of the powers of two.
 *
 * Element i of a block belongs to lane i % 16 of the sums, which are f64 whatever the
 * elements are: the bits depend on the number of elements alone. Element 0 of a call
 * starts a block. Types of kind FLOAT.
 */
#if KIND_IS(FLOAT)

enum {
    OF_TYPE(SUM_LANES) = 16
};

/* Sums and extremes of a block, lane by lane. Comparisons that NaN loses keep it out of
 * extremes, but not out of sums: whoever adds has looked. */
typedef struct {
    T low[16], high[16];
    f64 sum[16], squares[16];
} OF_TYPE(moment_lanes);

/* One element joins lane k; what takes part is finite. */
TEMPLATE_INLINE void
OF_TYPE(moment_add)(OF_TYPE(moment_lanes) * lanes, int64_t k, T x)
{
    const f64 value = (f64)x;
    lanes->low[k] = x < lanes->low[k] ? x : lanes->low[k];
    lanes->high[k] = x > lanes->high[k] ? x : lanes->high[k];
    lanes->sum[k] += value;
    lanes->squares[k] += value * value;
}

/* What is not finite is noted in *moments. */
TEMPLATE_INLINE void
OF_TYPE(moment_spoilt)(ps_moments *moments, const T *x, int64_t n)
{
    int32_t n_nan = 0, n_posinf = 0, n_neginf = 0;
    for (int64_t i = 0; i < n; i++) {
        n_nan += x[i] != x[i];
        n_posinf += x[i] == (T)INFINITY;
        n_neginf += x[i] == -(T)INFINITY;
    }
    moments->n_nan += n_nan;
    moments->n_posinf += n_posinf;
    moments->n_neginf += n_neginf;
    moments->n_finite += n - n_nan - n_posinf - n_neginf;
}

/* One element joins lane k if it is finite: zero, and the extremes that there are,
 * change nothing. */
TEMPLATE_INLINE void
OF_TYPE(moment_choose)(OF_TYPE(moment_lanes) * lanes, int64_t k, T x)
{
    const bool is_finite = x - x == 0;
    const T low = is_finite ? x : lanes->low[k], high = is_finite ? x : lanes->high[k];
    const f64 value = is_finite ? (f64)x : 0;
    lanes->low[k] = low < lanes->low[k] ? low : lanes->low[k];
    lanes->high[k] = high > lanes->high[k] ? high : lanes->high[k];
    lanes->sum[k] += value;
    lanes->squares[k] += value * value;
}

/* The lanes of a block meet by halves and join what blocks before it have come to. */
TEMPLATE_INLINE void
OF_TYPE(moment_join)(ps_moments *moments, OF_TYPE(moment_lanes) * lanes)
{
    for (int half = 8; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            lanes->low[k] = lanes->low[k + half] < lanes->low[k] ? lanes->low[k + half]
                                                                 : lanes->low[k];
            lanes->high[k] = lanes->high[k + half] > lanes->high[k]
                                     ? lanes->high[k + half]
                                     : lanes->high[k];
            lanes->sum[k] += lanes->sum[k + half];
            lanes->squares[k] += lanes->squares[k + half];
        }
    }
    moments->min =
            (f64)lanes->low[0] < moments->min ? (f64)lanes->low[0] : moments->min;
    moments->max =
            (f64)lanes->high[0] > moments->max ? (f64)lanes->high[0] : moments->max;
    moments->sum += lanes->sum[0];
    moments->sum_squares += lanes->squares[0];
}

/* A block in which all may be finite: false, and nothing is said, where one is not. */
TEMPLATE_INLINE bool
OF_TYPE(moment_plain)(OF_TYPE(moment_lanes) * lanes, const T *x, int64_t n)
{
    /* x - x is zero unless x is infinite or NaN, and then it stays NaN in a sum. */
    T spoilt[16] = {0};
    OF_TYPE(moment_lanes) own = *lanes;
    int64_t i = 0;
    for (; i + OF_TYPE(SUM_LANES) <= n; i += OF_TYPE(SUM_LANES)) {
        for (int k = 0; k < OF_TYPE(SUM_LANES); k++) {
            OF_TYPE(moment_add)(&own, k, x[i + k]);
            spoilt[k] += x[i + k] - x[i + k];
        }
    }
    for (int k = 0; i < n; i++, k++) {
        OF_TYPE(moment_add)(&own, k, x[i]);
        spoilt[k] += x[i] - x[i];
    }
    T all = 0;
    for (int k = 0; k < OF_TYPE(SUM_LANES); k++) {
        all += spoilt[k];
    }
    *lanes = own;
    return all == 0;
}

/* Nearly all blocks are summed once; one in which something is not finite is summed
 * again with a choice for each element, in the same lanes, so that its bits are those
 * of a block of zeros in the places of what is left out. A block of n elements joins
 * *moments. */
TEMPLATE_INLINE void
OF_TYPE(histogram_measure)(ps_moments *moments, const T *x, int64_t n)
{
    OF_TYPE(moment_lanes) lanes = {.sum = {0}};
    for (int k = 0; k < OF_TYPE(SUM_LANES); k++) {
        lanes.low[k] = (T)INFINITY;
        lanes.high[k] = -(T)INFINITY;
    }
    OF_TYPE(moment_lanes) plain = lanes;
    if (OF_TYPE(moment_plain)(&plain, x, n)) {
        moments->n_finite += n;
        OF_TYPE(moment_join)(moments, &plain);
        return;
    }
    OF_TYPE(moment_spoilt)(moments, x, n);
    int64_t i = 0;
    for (; i + OF_TYPE(SUM_LANES) <= n; i += OF_TYPE(SUM_LANES)) {
        for (int k = 0; k < OF_TYPE(SUM_LANES); k++) {
            OF_TYPE(moment_choose)(&lanes, k, x[i + k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        OF_TYPE(moment_choose)(&lanes, k, x[i]);
    }
    OF_TYPE(moment_join)(moments, &lanes);
}

/* Bins whose limits are 2^e * (4 + k) / 4, of both signs: the order of float64, cut
 * behind two bits of the fraction. Slots as in bins.tmpl.h, of bins that begin with
 * number `first`; what is not finite is NaN here. */
TEMPLATE_INLINE void
OF_TYPE(bins_log2)(const ps_bin_edges *edges, int32_t *slot, const T *x, int64_t n)
{
    const int64_t first = edges->first, n_bins = edges->n_bins;
    for (int64_t i = 0; i < n; i++) {
        const T value = x[i];
        const int64_t bin = (bin_order_f64((f64)value) >> PS_LOG2_SHIFT) - first;
        const bool is_inside = value - value == 0 && bin >= 0 && bin < n_bins;
        slot[i] = is_inside ? (int32_t)bin + 1 : (int32_t)n_bins + 2;
    }
}
#endif
