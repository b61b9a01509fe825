/* quantile: values brought together by segment as keys, and what becomes of these.
 *
 * Keys (ranks.tmpl.h) of a column, a segment's elements of one place in the rows, lie
 * side by side. Once the ranks between which a result lies are in place, it is computed
 * from the two keys there. Keys are put where they belong straight from the entries: an
 * order of these would be one more array, and a random read for each random write.
 */
#if KIND_IS(FLOAT) || KIND_IS(LONG) || KIND_IS(TIME)

/* keys[column (g, j) + rank] = key of values[source][j], for each pair (g, source) of
 * the list, where rank counts what has come to the group, in columns->taken [size].
 * Columns of group g begin at start[g] * width and have room for start[g + 1] -
 * start[g] keys each. Returns the number of pairs for which there was no room: none,
 * unless the groups of the list are others than were counted. */
static int64_t
OF_TYPE(quantile_place)(const ps_columns *columns, const ps_list *list,
                        const char *restrict values)
{
    OF_TYPE(rank_key) *const keys = columns->keys;
    const int64_t *const start = columns->start, width = columns->width;
    int64_t n_bad = 0;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t group = list->offset[i];
        const int64_t source = list->source != NULL ? list->source[i] : i;
        const T *const value = (const T *)values + source * width;
        const int64_t room = start[group + 1] - start[group];
        const int64_t rank = columns->taken[group];
        OF_TYPE(rank_key) *const column = keys + start[group] * width;
        if (rank >= room) {
            n_bad++;
            continue;
        }
        for (int64_t j = 0; j < width; j++) {
            column[j * room + rank] = OF_TYPE(key_of_value)(value[j]);
        }
        columns->taken[group] = rank + 1;
    }
    return n_bad;
}

/* The same of those elements whose `mask`, (entries, width) bools, is true; taken is
 * (size, width). */
static int64_t
OF_TYPE(quantile_pick)(const ps_columns *columns, const ps_list *list,
                       const char *restrict values, const char *restrict mask)
{
    OF_TYPE(rank_key) *const keys = columns->keys;
    const int64_t *const start = columns->start, width = columns->width;
    int64_t n_bad = 0;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t group = list->offset[i];
        const int64_t source = list->source != NULL ? list->source[i] : i;
        const T *const value = (const T *)values + source * width;
        const int64_t room = start[group + 1] - start[group];
        OF_TYPE(rank_key) *const column = keys + start[group] * width;
        int64_t *const taken = columns->taken + group * width;
        for (int64_t j = 0; j < width; j++) {
            if (mask[source * width + j] != 0) {
                const bool fits = taken[j] < room;
                n_bad += !fits;
                if (fits) {
                    column[j * room + taken[j]++] = OF_TYPE(key_of_value)(value[j]);
                }
            }
        }
    }
    return n_bad;
}

/* NaN or NaT. */
TEMPLATE_INLINE T
OF_TYPE(nothing)(void)
{
#if KIND_IS(TIME)
    return (T){INT64_MIN};
#else
    return (T)NAN;
#endif
}

#if !KIND_IS(TIME)

/* As numpy.median: the mean of the middle two, summed from zero. Where their sum
 * overflows, that of their halves. */
TEMPLATE_INLINE T
OF_TYPE(median_of)(T low, T high, bool is_one)
{
    if (is_one) {
        return 0 + low;
    }
    const T sum = (0 + low) + high;
    return isinf(sum) && isfinite(low) && isfinite(high) ? low / 2 + high / 2 : sum / 2;
}

/* What lies t of the way from low to high, as numpy.quantile has it: from the nearer
 * end, so that both ends are met. Equals need no walk, which spares infinities a NaN;
 * ends so far apart that their distance overflows are halved, which is exact. */
TEMPLATE_INLINE T
OF_TYPE(between)(T low, T high, f64 t)
{
    if (t == 0 || low == high) {
        return low;
    }
    T apart = high - low;
    const bool is_wide = isinf(apart) && isfinite(low) && isfinite(high);
    if (is_wide) {
        low /= 2;
        high /= 2;
        apart = high - low;
    }
    const T result = t >= 0.5 ? high - apart * (T)(1 - t) : low + apart * (T)t;
    return is_wide ? 2 * result : result;
}

#else

/* As numpy.median of timedeltas: the half of the sum, towards zero; without overflow.
 */
TEMPLATE_INLINE T
OF_TYPE(median_of)(T low, T high, bool is_one)
{
    const int64_t a = low.ticks, b = high.ticks;
    const int64_t down = (a & b) + ((a ^ b) >> 1);
    return is_one ? low : (T){down + (down < 0 ? (a ^ b) & 1 : 0)};
}

/* Distances as doubles, cut to whole ticks, as NumPy multiplies timedeltas. */
TEMPLATE_INLINE T
OF_TYPE(between)(T low, T high, f64 t)
{
    const uint64_t apart = (uint64_t)high.ticks - (uint64_t)low.ticks;
    if (t >= 0.5) {
        return (T){(int64_t)((uint64_t)high.ticks - (uint64_t)((f64)apart * (1 - t)))};
    }
    return (T){(int64_t)((uint64_t)low.ticks + (uint64_t)((f64)apart * t))};
}

#endif

/* The statistics of a column of n keys whose wanted ranks are in place, or whose last
 * key is missing: out[l] at l * levels->step, for each level, or the
 * median where none is named. */
static void
OF_TYPE(quantile_finish)(char *out, const void *column, int64_t n,
                         const ps_levels *levels)
{
    const OF_TYPE(rank_key) *const key = column;
    const bool has_none = n == 0 || OF_TYPE(is_missing)(key[n - 1]);
    for (int64_t l = 0; l < levels->n; l++) {
        T result = OF_TYPE(nothing)();
        if (!has_none && levels->q == NULL) {
            result = OF_TYPE(median_of)(OF_TYPE(value_of_key)(key[(n - 1) / 2]),
                                        OF_TYPE(value_of_key)(key[n / 2]), n % 2 == 1);
        }
        else if (!has_none) {
            const f64 place = (f64)(n - 1) * levels->q[l];
            const int64_t at = (int64_t)place;
            const int64_t next = at + 1 < n ? at + 1 : n - 1;
            result =
                    OF_TYPE(between)(OF_TYPE(value_of_key)(key[at]),
                                     OF_TYPE(value_of_key)(key[next]), place - (f64)at);
        }
        memcpy(out + l * levels->step, &result, sizeof(T));
    }
}

/* The same of at most PS_FEW_KEYS keys in any order: they are put in order first. */
static void
OF_TYPE(quantile_few)(char *out, void *column, int64_t n, const ps_levels *levels)
{
    if (!OF_TYPE(quantile_missing)(column, n)) {
        OF_TYPE(quantile_sort)(column, n);
    }
    OF_TYPE(quantile_finish)(out, column, n, levels);
}

#endif
