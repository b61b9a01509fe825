/* softmax: exponentials and logarithms of blocks, and values met by those of their
 * group.
 *
 * The steps of softmax, log_softmax and logsumexp that no reduction has; the others
 * (tops, sums) are folds and scatters. Types of kind FLOAT alone. All arrays are
 * contiguous and aligned; `to` may be the array that it is made from, and meets no
 * other; the pragmas say so, since compilers take any other way in for granted.
 */
#if KIND_IS(FLOAT)

/* to[i] = e^from[i], n elements; moves each once. */
TEMPLATE_INLINE void
OF_TYPE(exp)(T *to, const T *from, int64_t n)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        to[i] = (T)exponential((f64)from[i]);
    }
}

/* A top as it is subtracted and added again: infinite ones have nothing to shift. */
TEMPLATE_INLINE T
OF_TYPE(settled_top)(T top)
{
    return top - top == 0 ? top : 0;
}

/* to[i] = log(from[i]), n elements, plus top[i] where there is a `top`. Most may be the
 * zeros of groups to which nothing came, which are not worth 10 ns each: stretches of
 * nothing but zeros are passed over. */
TEMPLATE_INLINE void
OF_TYPE(log)(T *to, const T *from, const T *top, int64_t n)
{
    enum {
        STRETCH = 64
    };
    for (int64_t first = 0; first < n; first += STRETCH) {
        const int64_t last = n - first < STRETCH ? n : first + STRETCH;
        bool are_zeros = true;
        for (int64_t i = first; i < last; i++) {
            are_zeros &= from[i] == 0;
        }
#pragma GCC ivdep
        for (int64_t i = first; i < last; i++) {
            to[i] = are_zeros ? -(T)INFINITY : (T)logarithm((f64)from[i]);
        }
        for (int64_t i = first; top != NULL && !are_zeros && i < last; i++) {
            to[i] += OF_TYPE(settled_top)(top[i]);
        }
    }
}

/* to[i][j] = from[i][j] - group[row[i]][j], or the quotient: n rows of `width`, whose
 * numbers in `row` have been checked. settles: the groups are tops that may be
 * infinite. Moves a row of each array for each i. */
TEMPLATE_INLINE void
OF_TYPE(meet)(const enum ps_op op, const bool settles, T *to, const T *from,
              const T *group, const int64_t *row, int64_t n, const int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        const T *const of_group = group + row[i] * width;
#pragma GCC ivdep
        for (int64_t j = 0; j < width; j++) {
            const T value = from[i * width + j];
            const T other = settles ? OF_TYPE(settled_top)(of_group[j]) : of_group[j];
            to[i * width + j] = op == PS_sub ? value - other : value / other;
        }
    }
}

/* The same for single elements and for rows. */
TEMPLATE_INLINE void
OF_TYPE(meet_groups)(const enum ps_op op, const bool settles, T *to, const T *from,
                     const T *group, const int64_t *row, int64_t n, int64_t width)
{
    if (width == 1) {
        OF_TYPE(meet)(op, settles, to, from, group, row, n, 1);
    }
    else {
        OF_TYPE(meet)(op, settles, to, from, group, row, n, width);
    }
}

#endif
