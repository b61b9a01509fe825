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

/* Do all elements count? Whatever else is found is noted in *moments. */
TEMPLATE_INLINE bool
OF_TYPE(moment_takes)(ps_moments *moments, T x)
{
    moments->n_nan += x != x;
    moments->n_posinf += x == (T)INFINITY;
    moments->n_neginf += x == -(T)INFINITY;
    return x - x == 0;
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

/* A block of n elements joins *moments. */
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
    for (int64_t i = 0; i < n; i++) {
        const T value = x[i];
        if (OF_TYPE(moment_takes)(moments, value)) {
            moments->n_finite++;
            OF_TYPE(moment_add)(&lanes, i % OF_TYPE(SUM_LANES), value);
        }
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
