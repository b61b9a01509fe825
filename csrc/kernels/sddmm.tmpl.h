/* sddmm: inner products of rows of x and rows of y, at the entries of a sparse matrix.
 *
 *     out[i] = data[i] * sum over j of x[row[i]][j] * y[col[i]][j],  0 <= j < width
 *
 * where there are data; else the sum. The order is fixed: sixteen lanes start at +0 and
 * take every sixteenth product, each rounded, from left to right; then the upper half
 * of the lanes joins the lower until one is left. That is the order in which a vector
 * unit works fastest, and writing it down gives the same bits on every level and for
 * every format. Integers wrap, so that any order gives theirs.
 *
 * Contract: row and col [n] have been checked; x and y are aligned for T, out is
 * contiguous and disjoint from them. Moves n * (16 + 2 * width * sizeof(T)) bytes.
 */

#if !KIND_IS(LONG) && !KIND_IS(TIME) && !KIND_IS(PAIR)

/* One inner product. What is missing of the last sixteen products leaves its lanes
 * alone: they never hold -0, so adding +0 would change nothing. */
TEMPLATE_INLINE T
OF_TYPE(sddmm_dot)(const T *restrict x, const T *restrict y, int64_t width)
{
    enum {
        LANES_OF_DOT = 16
    };
    T lane[LANES_OF_DOT];
    memset(lane, 0, sizeof(lane));
    int64_t j = 0;
    for (; width - j >= LANES_OF_DOT; j += LANES_OF_DOT) {
        for (int k = 0; k < LANES_OF_DOT; k++) {
            lane[k] = OF_TYPE(combine)(PS_add, lane[k],
                                       OF_TYPE(combine)(PS_mul, x[j + k], y[j + k]));
        }
    }
    for (int k = 0; j + k < width; k++) {
        lane[k] = OF_TYPE(combine)(PS_add, lane[k],
                                   OF_TYPE(combine)(PS_mul, x[j + k], y[j + k]));
    }
    for (int k = 0; k < 8; k++) {
        lane[k] = OF_TYPE(combine)(PS_add, lane[k], lane[k + 8]);
    }
    for (int k = 0; k < 4; k++) {
        lane[k] = OF_TYPE(combine)(PS_add, lane[k], lane[k + 4]);
    }
    for (int k = 0; k < 2; k++) {
        lane[k] = OF_TYPE(combine)(PS_add, lane[k], lane[k + 2]);
    }
    return OF_TYPE(combine)(PS_add, lane[0], lane[1]);
}

/* n entries; rows of y come in no order and are asked for ahead of time. */
TEMPLATE_INLINE void
OF_TYPE(sddmm)(const ps_dots *dots, char *restrict out, const int64_t *row,
               const int64_t *col, int64_t n)
{
    enum {
        AHEAD = 8
    };
    const T *const data = (const T *)dots->data;
    for (int64_t i = 0; i < n; i++) {
        if (dots->asked > 0 && i + AHEAD < n) {
            const char *const next = dots->y + col[i + AHEAD] * dots->y_step;
            for (int64_t byte = 0; byte < dots->asked; byte += CACHE_LINE) {
                __builtin_prefetch(next + byte);
            }
        }
        const T dot = OF_TYPE(sddmm_dot)((const T *)(dots->x + row[i] * dots->x_step),
                                         (const T *)(dots->y + col[i] * dots->y_step),
                                         dots->width);
        ((T *)out)[i] = data != NULL ? OF_TYPE(combine)(PS_mul, data[i], dot) : dot;
    }
}

#endif
