/* What scattered entries say of their groups beside sums: where an extreme is, and how
 * far values are from a centre.
 *
 * index holds the groups of n entries, contiguous int32 or int64 (is_wide), each read
 * and checked in a register: one out of bounds takes no part, and their number is
 * returned. values holds n rows of `width` contiguous elements; the results are (size,
 * width). Entries are taken in order. Each costs one visit of its group's results.
 */

/* Is `value` what `op` returns in place of `best`, and not only equal to it? The first
 * of equals stays, -0.0 is below +0.0; the first NaN stays under min and max, and any
 * number takes the place of a NaN under fmin and fmax. */
TEMPLATE_INLINE bool
OF_TYPE(beats)(const enum ps_op op, T value, T best)
{
    const bool is_low = op == PS_min || op == PS_fmin;
    const bool is_plain = op == PS_min || op == PS_max;
#if KIND_IS(COMPLEX) || KIND_IS(PAIR)
    (void)value, (void)best, (void)is_low, (void)is_plain;
    return false; /* no order */
#elif KIND_IS(BOOL)
    (void)is_plain;
    return is_low ? value == 0 && best != 0 : value != 0 && best == 0;
#elif KIND_IS(INT)
    (void)is_plain;
    return is_low ? value < best : value > best;
#elif KIND_IS(TIME)
    const bool value_is_nat = value.ticks == INT64_MIN;
    const bool best_is_nat = best.ticks == INT64_MIN;
    if (value_is_nat || best_is_nat) {
        return is_plain ? value_is_nat && !best_is_nat : !value_is_nat;
    }
    return is_low ? value.ticks < best.ticks : value.ticks > best.ticks;
#else
    if (is_low ? value < best : value > best) {
        return true;
    }
    if (__builtin_expect(is_low ? value > best : value < best, 1)) {
        return false;
    }
    if (value != value || best != best) {
        return is_plain ? value != value && best == best : value == value;
    }
    return value == 0 && signbit(value) != signbit(best) &&
           (signbit(value) != 0) == is_low;
#endif
}

/* Many parameters: the arrays of one pass have nothing in common.
 * place[g][j] = number of the entry whose element j is the extreme of group g so far,
 * best[g][j] = that element. place is -1 where nothing has come; numbers are first + i.
 */
TEMPLATE_INLINE int64_t
OF_TYPE(find_checked)(const enum ps_op op, const bool is_wide, char *restrict best,
                      int64_t *restrict place, int64_t size, const char *restrict index,
                      const char *restrict values, int64_t first, int64_t n,
                      int64_t width)
{
    int64_t n_bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t group = index_at(is_wide, index, i);
        if (__builtin_expect((uint64_t)group >= (uint64_t)size, 0)) {
            n_bad++;
            continue;
        }
        T *const found = (T *)best + group * width;
        int64_t *const at = place + group * width;
        const T *const value = (const T *)values + i * width;
        for (int64_t j = 0; j < width; j++) {
            if (at[j] < 0 || OF_TYPE(beats)(op, value[j], found[j])) {
                found[j] = value[j];
                at[j] = first + i;
            }
        }
    }
    return n_bad;
}

#if KIND_IS(FLOAT)

/* sum[g][j] += (value - centre[g][j])^2 for each entry, the square rounded first. */
TEMPLATE_INLINE int64_t
OF_TYPE(deviate_checked)(const bool is_wide, char *restrict sum,
                         const char *restrict centre, int64_t size,
                         const char *restrict index, const char *restrict values,
                         int64_t n, int64_t width)
{
    int64_t n_bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t group = index_at(is_wide, index, i);
        if (__builtin_expect((uint64_t)group >= (uint64_t)size, 0)) {
            n_bad++;
            continue;
        }
        T *const to = (T *)sum + group * width;
        const T *const from = (const T *)centre + group * width;
        const T *const value = (const T *)values + i * width;
        for (int64_t j = 0; j < width; j++) {
            const T distance = value[j] - from[j];
            to[j] += distance * distance;
        }
    }
    return n_bad;
}

#endif
