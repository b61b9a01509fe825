/* pullback: the steps that take a cotangent back through a reduction (base/pullback.h).
 *
 * An entry k has the row to[k] of the result, whose elements are those of its own row,
 * one by one; where(k, j) below is element to[k] * width + j. Entries are taken in
 * order where that matters (first, before), from the last one in `after`. All is
 * contiguous and aligned; of_values and of_old share no byte with anything else. Shares
 * are computed in double precision and rounded once, as the general rule does.
 */
#if KIND_IS(FLOAT)

/* Rows: of_old = g where nothing has arrived: held[row], which entry stayed, is -1. A
 * row is overwritten as a whole or not at all. */
TEMPLATE_INLINE void
OF_TYPE(pull_keep)(const ps_pull *pull, int64_t from, int64_t to)
{
    const int64_t *const stayed = pull->held;
    const T *const g = pull->g;
    T *const of_old = pull->of_old;
    for (int64_t row = from; row < to && of_old != NULL; row++) {
        for (int64_t i = row * pull->width; i < (row + 1) * pull->width; i++) {
            of_old[i] = OF_TYPE(only_if)(stayed[row] < 0, g[i]);
        }
    }
}

/* Entries: of_values = g[where] for the one that stayed, 0 for the others, whose bytes
 * no result has seen. */
TEMPLATE_INLINE void
OF_TYPE(pull_moved)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    const int64_t *const stayed = pull->held;
    for (int64_t k = from; k < to; k++) {
        const bool stays = stayed[pull->to[k]] == k;
        const T *const g = (const T *)pull->g + pull->to[k] * width;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            made[j] = OF_TYPE(only_if)(stays, g[j]);
        }
    }
}

/* Rows: share = g over how many were averaged: held[row] entries, and the old value;
 * of_old = share. A row at which nothing arrived is its old value alone, and a segment
 * without entries has a share that nobody takes. */
TEMPLATE_INLINE void
OF_TYPE(pull_average)(const ps_pull *pull, int64_t from, int64_t to)
{
    const int64_t *const count = pull->held;
    const T *const g = pull->g;
    T *const share = pull->share, *const of_old = pull->of_old;
    for (int64_t row = from; row < to; row++) {
        const int64_t all = count[row] + (of_old != NULL);
        const double part = 1 / (double)(all > 1 ? all : 1);
        for (int64_t i = row * pull->width; i < (row + 1) * pull->width; i++) {
            share[i] = (T)((double)g[i] * part);
            if (of_old != NULL) {
                of_old[i] = share[i];
            }
        }
    }
}

/* Entries: of_values = share[where], a gather of rows. */
TEMPLATE_INLINE void
OF_TYPE(pull_spread)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        const T *const share = (const T *)pull->share + pull->to[k] * width;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            made[j] = share[j];
        }
    }
}

/* Elements: held = 1, the product of nothing. */
TEMPLATE_INLINE void
OF_TYPE(pull_ones)(const ps_pull *pull, int64_t from, int64_t to)
{
    T *const product = pull->held;
    for (int64_t i = from; i < to; i++) {
        product[i] = 1;
    }
}

/* Entries in order: of_values = held[where], the product of those before; then that
 * takes the value in. The gradient's own memory keeps these products until the pass
 * from the other end meets them, so that they cost no array of their own. */
TEMPLATE_INLINE void
OF_TYPE(pull_before)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        T *const product = (T *)pull->held + pull->to[k] * width;
        const T *const value = (const T *)pull->values + k * width;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            made[j] = product[j];
            product[j] *= value[j];
        }
    }
}

/* Elements: of_old = g times held, the product of all that arrived; held = 1 again, for
 * the pass from the other end. */
TEMPLATE_INLINE void
OF_TYPE(pull_product)(const ps_pull *pull, int64_t from, int64_t to)
{
    const T *const g = pull->g;
    T *const product = pull->held, *const of_old = pull->of_old;
    for (int64_t i = from; i < to; i++) {
        if (of_old != NULL) {
            of_old[i] = g[i] * product[i];
        }
        product[i] = 1;
    }
}

/* Entries from the last one: of_values, the product of those before, times the old
 * value and held[where], the product of those behind, times g; then that takes the
 * value in. */
TEMPLATE_INLINE void
OF_TYPE(pull_after)(const ps_pull *pull, const int64_t width, int64_t from, int64_t to)
{
    for (int64_t k = to - 1; k >= from; k--) {
        const int64_t place = pull->to[k] * width;
        const T *const old = pull->old != NULL ? (const T *)pull->old + place : NULL;
        const T *const g = (const T *)pull->g + place;
        const T *const value = (const T *)pull->values + k * width;
        T *const product = (T *)pull->held + place;
        T *const made = (T *)pull->of_values + k * width;
        for (int64_t j = 0; j < width; j++) {
            const T before = old != NULL ? old[j] * made[j] : made[j];
            made[j] = g[j] * (before * product[j]);
            product[j] *= value[j];
        }
    }
}

/* Steps over entries; `width` is a constant where rows are one element: the loop over a
 * row then has no turns to count, which is a third of what an entry takes. */
TEMPLATE_INLINE void
OF_TYPE(pull_entries)(enum ps_pull_step step, const ps_pull *pull, const int64_t width,
                      int64_t from, int64_t to)
{
    switch (step) {
        case PS_PULL_COUNT:
            OF_TYPE(pull_count)(pull, width, from, to);
            break;
        case PS_PULL_GIVE:
            OF_TYPE(pull_give)(pull, width, from, to);
            break;
        case PS_PULL_FIRST:
            OF_TYPE(pull_first)(pull, width, from, to);
            break;
        case PS_PULL_MOVED:
            OF_TYPE(pull_moved)(pull, width, from, to);
            break;
        case PS_PULL_SPREAD:
            OF_TYPE(pull_spread)(pull, width, from, to);
            break;
        case PS_PULL_BEFORE:
            OF_TYPE(pull_before)(pull, width, from, to);
            break;
        default:
            OF_TYPE(pull_after)(pull, width, from, to);
    }
}

/* One kernel for all steps: a step is thousands of items, the choice is made once for
 * them, and the table has one cell for a type. */
TEMPLATE_INLINE void
OF_TYPE(pull_step)(enum ps_pull_step step, const ps_pull *pull, int64_t from,
                   int64_t to)
{
    switch (step) {
        case PS_PULL_START:
            OF_TYPE(pull_start)(pull, from, to);
            break;
        case PS_PULL_SHARE:
            OF_TYPE(pull_share)(pull, from, to);
            break;
        case PS_PULL_KEEP:
            OF_TYPE(pull_keep)(pull, from, to);
            break;
        case PS_PULL_AVERAGE:
            OF_TYPE(pull_average)(pull, from, to);
            break;
        case PS_PULL_ONES:
            OF_TYPE(pull_ones)(pull, from, to);
            break;
        case PS_PULL_PRODUCT:
            OF_TYPE(pull_product)(pull, from, to);
            break;
        default:
            if (pull->width == 1) {
                OF_TYPE(pull_entries)(step, pull, 1, from, to);
            }
            else {
                OF_TYPE(pull_entries)(step, pull, pull->width, from, to);
            }
    }
}

#endif
