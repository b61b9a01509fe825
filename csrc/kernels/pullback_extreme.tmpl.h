/* pullback: what extremes give back (base/pullback.h; the other steps, and the kernel
 * of all, are in pullback.tmpl.h, which is included after this one).
 *
 * Those that equal the result have won; all of them share the cotangent, or the first
 * has it. Who wins is asked twice, when winners are counted and when shares are given:
 * to remember it would cost a byte for each element of all entries. Shares are made
 * once for each element of the result, in double precision, and rounded once, as the
 * general rule does, so that both give the same bits.
 */
#if KIND_IS(FLOAT)

/* Equal as winners are: NaN to NaN, and -0.0 to +0.0. Compared quietly: no flag of
 * floating-point numbers is raised. */
TEMPLATE_INLINE bool
OF_TYPE(ties)(T a, T b)
{
    return (a == b) | ((a != a) & (b != b));
}

/* The value where a condition holds, 0 elsewhere, without a branch: who wins nobody can
 * foretell, and a wrong guess costs more than all else that is done for an entry. */
TEMPLATE_INLINE T
OF_TYPE(only_if)(bool holds, T value)
{
    BITS bits;
    memcpy(&bits, &value, sizeof(bits));
    bits &= (BITS)0 - (BITS)holds;
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

/* The record of a row in `share`: its elements of out, then as many numbers, first of
 * winners, then their shares. So an entry visits one place in memory, not two. */
TEMPLATE_INLINE T *
OF_TYPE(record)(const ps_pull *pull, int64_t row)
{
    return (T *)pull->share + 2 * row * pull->width;
}

/* Rows: record = out, and 1 where the old value won, 0 elsewhere. Without old values
 * nothing but what arrived can win. */
TEMPLATE_INLINE void
OF_TYPE(pull_start)(const ps_pull *pull, int64_t from, int64_t to)
{
    const int64_t width = pull->width;
    for (int64_t row = from; row < to; row++) {
        const T *const old = pull->old;
        const T *const out = (const T *)pull->out + row * width;
        T *const record = OF_TYPE(record)(pull, row);
        BITS *const wins = (BITS *)(record + width);
        for (int64_t j = 0; j < width; j++) {
            record[j] = out[j];
            wins[j] = old != NULL && OF_TYPE(ties)(old[row * width + j], out[j]);
        }
    }
}

/* Entries: one more winner in the record for each that won. A count has the bits of an
 * element, which is enough: the binding sees to fewer than 2^32 entries. In any order,
 * but by one thread. */
TEMPLATE_INLINE void
OF_TYPE(pull_count)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        T *const record = OF_TYPE(record)(pull, pull->to[k]);
        BITS *const wins = (BITS *)(record + width);
        const T *const value = (const T *)pull->values + k * width;
        for (int64_t j = 0; j < width; j++) {
            wins[j] += OF_TYPE(ties)(value[j], record[j]);
        }
    }
}

/* Rows: in the record, g over the number of winners in the place of that; of_old = the
 * share where the old value won. Where nothing arrived it is the only winner. */
TEMPLATE_INLINE void
OF_TYPE(pull_share)(const ps_pull *pull, int64_t from, int64_t to)
{
    const int64_t width = pull->width;
    for (int64_t row = from; row < to; row++) {
        const int64_t place = row * width;
        const T *const g = (const T *)pull->g + place;
        const T *const old = pull->old;
        T *const of_old = pull->of_old;
        T *const record = OF_TYPE(record)(pull, row), *const share = record + width;
        const BITS *const wins = (const BITS *)share;
        for (int64_t j = 0; j < width; j++) {
            const BITS all = wins[j];
            share[j] = (T)((double)g[j] * (1 / (double)(all > 1 ? all : 1)));
            if (of_old != NULL) {
                const bool won = OF_TYPE(ties)(old[place + j], record[j]);
                of_old[place + j] = OF_TYPE(only_if)(won, share[j]);
            }
        }
    }
}

/* Entries: of_values = the share in the record for each that won, 0 for the others: a
 * selection, never a product with 0 or 1, since shares may be infinite. */
TEMPLATE_INLINE void
OF_TYPE(pull_give)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        const T *const record = OF_TYPE(record)(pull, pull->to[k]);
        const T *const value = (const T *)pull->values + k * width;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            const bool won = OF_TYPE(ties)(value[j], record[j]);
            made[j] = OF_TYPE(only_if)(won, record[width + j]);
        }
    }
}

/* Entries, in order: the same where the first one that won has all; the old value comes
 * before all others. The record says how many have won, at most one: a share of g is
 * then all of it. */
TEMPLATE_INLINE void
OF_TYPE(pull_first)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        T *const record = OF_TYPE(record)(pull, pull->to[k]);
        BITS *const wins = (BITS *)(record + width);
        const T *const g = (const T *)pull->g + pull->to[k] * width;
        const T *const value = (const T *)pull->values + k * width;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            const bool won = (wins[j] == 0) & OF_TYPE(ties)(value[j], record[j]);
            wins[j] |= won;
            made[j] = OF_TYPE(only_if)(won, g[j]);
        }
    }
}

#endif
