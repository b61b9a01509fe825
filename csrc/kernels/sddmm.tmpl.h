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

#if KIND_IS(FLOAT)

typedef VECTOR OF_TYPE(dot_lanes)[DOT_LANES * sizeof(T) / VECTOR_BYTES];

/* lane[k] += x[k] * y[k], for sixteen k. */
TEMPLATE_INLINE void
OF_TYPE(sddmm_step)(VECTOR *lane, const T *x, const T *y)
{
    const VECTOR *const x_lane = (const VECTOR *)x, *const y_lane = (const VECTOR *)y;
    for (size_t v = 0; v < sizeof(OF_TYPE(dot_lanes)) / VECTOR_BYTES; v++) {
        lane[v] += x_lane[v] * y_lane[v];
    }
}

/* The upper half of the lanes joins the lower until one is left. */
TEMPLATE_INLINE T
OF_TYPE(sddmm_total)(VECTOR *lane)
{
    for (size_t n = sizeof(OF_TYPE(dot_lanes)) / VECTOR_BYTES / 2; n > 0; n /= 2) {
        for (size_t v = 0; v < n; v++) {
            lane[v] += lane[v + n];
        }
    }
    return OF_TYPE(total)(lane[0]);
}

#else

typedef T OF_TYPE(dot_lanes)[DOT_LANES];

TEMPLATE_INLINE void
OF_TYPE(sddmm_step)(T *restrict lane, const T *restrict x, const T *restrict y)
{
    for (int k = 0; k < DOT_LANES; k++) {
        const T product = OF_TYPE(combine)(PS_mul, x[k], y[k]);
        lane[k] = OF_TYPE(combine)(PS_add, lane[k], product);
    }
}

TEMPLATE_INLINE T
OF_TYPE(sddmm_total)(T *lane)
{
    for (int n = DOT_LANES / 2; n > 0; n /= 2) {
        for (int k = 0; k < n; k++) {
            lane[k] = OF_TYPE(combine)(PS_add, lane[k], lane[k + n]);
        }
    }
    return lane[0];
}

#endif

/* One inner product. What is missing of the last sixteen products is taken as 0 times
 * 0: lanes never hold -0, so adding +0 changes nothing, and they stay in registers. */
TEMPLATE_INLINE T
OF_TYPE(sddmm_dot)(const T *restrict x, const T *restrict y, int64_t width)
{
    OF_TYPE(dot_lanes) lane;
    memset(lane, 0, sizeof(lane));
    int64_t j = 0;
    for (; width - j >= DOT_LANES; j += DOT_LANES) {
        OF_TYPE(sddmm_step)(lane, x + j, y + j);
    }
    if (j < width) {
        T x_rest[DOT_LANES], y_rest[DOT_LANES];
        memset(x_rest, 0, sizeof(x_rest));
        memset(y_rest, 0, sizeof(y_rest));
        memcpy(x_rest, x + j, (size_t)(width - j) * sizeof(T));
        memcpy(y_rest, y + j, (size_t)(width - j) * sizeof(T));
        OF_TYPE(sddmm_step)(lane, x_rest, y_rest);
    }
    return OF_TYPE(sddmm_total)(lane);
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
