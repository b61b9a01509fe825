/* What becomes of slots (bins.tmpl.h): numbers of bins, and counts and sums by bin.
 *
 * Slots and numbers are in scratch memory, and in range: their makers see to that.
 */

/* The bin that a slot stands for on an axis of n_bins; -1: none. */
TEMPLATE_INLINE int32_t
bin_of_slot(const enum ps_outside outside, int32_t slot, int32_t n_bins)
{
    const int32_t bin = slot - 1;
    switch (outside) {
        case PS_OUTSIDE_drop:
            return (uint32_t)bin < (uint32_t)n_bins ? bin : -1;
        case PS_OUTSIDE_clip: {
            const int32_t low = bin > 0 ? bin : 0;
            const int32_t high = low < n_bins ? low : n_bins - 1;
            return slot == n_bins + 2 ? -1 : high;
        }
        default:
            return slot < n_bins + 1 ? slot : n_bins + 1;
    }
}

/* number[i] = number[i] * size + bin(slot[i]), the size being that of the axis, or -1
 * where either has no bin; is_first: the bin alone. */
/* Numbers are below 2^31, which whoever made the edges has seen to, so that products do
 * not overflow where both have a bin; where one has none, they may, and are dropped. */
TEMPLATE_INLINE void
bins_join_as(const enum ps_outside outside, const bool is_first, int32_t *number,
             const int32_t *slot, int64_t n, int32_t n_bins)
{
    const int32_t size = outside == PS_OUTSIDE_extend ? n_bins + 2 : n_bins;
    for (int64_t i = 0; i < n; i++) {
        const int32_t bin = bin_of_slot(outside, slot[i], n_bins);
        if (is_first) {
            number[i] = bin;
        }
        else {
            const int32_t joined = number[i] * size + bin;
            number[i] = (number[i] | bin) < 0 ? -1 : joined;
        }
    }
}

/* The same with a rule that is known when it is called: six loops. */
OF_UNIT void
NAME(bins_join, any, i32)(enum ps_outside outside, bool is_first, int32_t *number,
                          const int32_t *slot, int64_t n, int32_t n_bins)
{
    /* clang-format off */
#define JOIN(rule)                                                           \
    case PS_OUTSIDE_##rule:                                                  \
        is_first ? bins_join_as(PS_OUTSIDE_##rule, true, number, slot, n, n_bins)  \
                 : bins_join_as(PS_OUTSIDE_##rule, false, number, slot, n, n_bins); \
        return;
    /* clang-format on */
    switch (outside) {
        JOIN(drop)
        JOIN(clip)
        JOIN(extend)
        default:
            return;
    }
}

/* What a caller gets to see, once, in as many bytes as were asked for: 8 for ids, fewer
 * where they are kept for later. */
/* to[i] = number[i] in integers of `nbytes` bytes. */
OF_UNIT void
NAME(bins_number, any, i32)(char *restrict to, int nbytes,
                            const int32_t *restrict number, int64_t n)
{
    switch (nbytes) {
        case 1:
            for (int64_t i = 0; i < n; i++) {
                ((int8_t *)to)[i] = (int8_t)number[i];
            }
            return;
        case 2:
            for (int64_t i = 0; i < n; i++) {
                ((int16_t *)to)[i] = (int16_t)number[i];
            }
            return;
        case 4:
            memcpy(to, number, (size_t)n * sizeof(*number));
            return;
        default:
            for (int64_t i = 0; i < n; i++) {
                ((int64_t *)to)[i] = number[i];
            }
    }
}

/* count[slot[i]]++ in one of `n_tables` tables, 1 or 4, that lie `step` apart: equal
 * slots that follow one another would wait for each other's store in a single one. */
OF_UNIT void
NAME(bins_count, any, i32)(uint32_t *count, int64_t step, int n_tables,
                           const int32_t *slot, int64_t n)
{
    int64_t i = 0;
    if (n_tables == 4) {
        uint32_t *const second = count + step, *const third = second + step,
                        *const fourth = third + step;
        for (; i + 4 <= n; i += 4) {
            count[slot[i]]++;
            second[slot[i + 1]]++;
            third[slot[i + 2]]++;
            fourth[slot[i + 3]]++;
        }
    }
    for (; i < n; i++) {
        count[slot[i]]++;
    }
}

/* sum[slot[i]] += weight[i], in order: integers modulo 2^64, floats, and complex
 * numbers as pairs of these. */
OF_UNIT void
NAME(bins_weigh, any, i32)(enum ps_dtype type, char *sum, const int32_t *slot,
                           const char *weight, int64_t n)
{
    switch (type) {
        /* Unsigned, so that sums wrap. */
        case PS_i64:
            for (int64_t i = 0; i < n; i++) {
                ((uint64_t *)sum)[slot[i]] += ((const uint64_t *)weight)[i];
            }
            return;
        /* In order, one after the other: bits depend on it. */
        case PS_f64:
            for (int64_t i = 0; i < n; i++) {
                ((double *)sum)[slot[i]] += ((const double *)weight)[i];
            }
            return;
        /* Both parts of a complex number, in its two float64. */
        default:
            for (int64_t i = 0; i < n; i++) {
                ((double *)sum)[2 * slot[i]] += ((const double *)weight)[2 * i];
                ((double *)sum)[2 * slot[i] + 1] += ((const double *)weight)[2 * i + 1];
            }
    }
}
