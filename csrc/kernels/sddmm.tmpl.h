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

/* The upper half of the lanes joins the lower until one vector is left. */
TEMPLATE_INLINE VECTOR
OF_TYPE(sddmm_halves)(VECTOR *lane)
{
    for (size_t n = sizeof(OF_TYPE(dot_lanes)) / VECTOR_BYTES / 2; n > 0; n /= 2) {
        for (size_t v = 0; v < n; v++) {
            lane[v] += lane[v + n];
        }
    }
    return lane[0];
}

/* ... until one is left. */
TEMPLATE_INLINE T
OF_TYPE(sddmm_total)(VECTOR *lane)
{
    return OF_TYPE(total)(OF_TYPE(sddmm_halves)(lane));
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

/* The lanes of one inner product. What is missing of the last sixteen products is taken
 * as 0 times 0: lanes never hold -0, so adding +0 changes nothing, and they stay in
 * registers. is_whole: nothing is missing. */
TEMPLATE_INLINE void
OF_TYPE(sddmm_lanes)(const bool is_whole, OF_TYPE(dot_lanes) lane, const T *restrict x,
                     const T *restrict y, int64_t width)
{
    memset(lane, 0, sizeof(OF_TYPE(dot_lanes)));
    int64_t j = 0;
    for (; width - j >= DOT_LANES; j += DOT_LANES) {
        OF_TYPE(sddmm_step)(lane, x + j, y + j);
    }
    if (!is_whole && j < width) {
        T x_rest[DOT_LANES], y_rest[DOT_LANES];
        memset(x_rest, 0, sizeof(x_rest));
        memset(y_rest, 0, sizeof(y_rest));
        memcpy(x_rest, x + j, (size_t)(width - j) * sizeof(T));
        memcpy(y_rest, y + j, (size_t)(width - j) * sizeof(T));
        OF_TYPE(sddmm_step)(lane, x_rest, y_rest);
    }
}

#if KIND_IS(FLOAT)

/* How HALVE lets two vectors meet: there is one way. */
TEMPLATE_INLINE VECTOR
OF_TYPE(join)(const enum ps_op op, VECTOR a, VECTOR b)
{
    (void)op;
    return a + b;
}

/* The last steps of as many inner products as a vector has lanes, at once; their
 * vectors stand where sddmm_slot says. */
TEMPLATE_INLINE VECTOR
OF_TYPE(sddmm_together)(VECTOR *lane)
{
    const int lanes = VECTOR_BYTES / sizeof(T);
#pragma GCC unroll 4
    for (int k = 0; k < lanes / 2; k++) {
        lane[k] = HALVE(PS_add, lane[2 * k], lane[2 * k + 1], 0);
    }
#pragma GCC unroll 4
    for (int k = 0; k < lanes / 4; k++) {
        lane[k] = HALVE(PS_add, lane[2 * k], lane[2 * k + 1], 1);
    }
#pragma GCC unroll 4
    for (int k = 0; k < lanes / 8; k++) {
        lane[k] = HALVE(PS_add, lane[2 * k], lane[2 * k + 1], 2);
    }
    return lane[0];
}

/* Halves of 32 bytes meet first, and sums are to come out in order. */
TEMPLATE_INLINE int
OF_TYPE(sddmm_slot)(const int i)
{
    const int room = 16 / (int)sizeof(T), halves = VECTOR_BYTES / 16;
    return i % room * halves + i / room;
}

/* As many entries as a vector has lanes. */
TEMPLATE_INLINE void
OF_TYPE(sddmm_group)(const bool is_whole, const ps_dots *dots, T *restrict out,
                     const int64_t *row, const int64_t *col, int64_t i)
{
    enum {
        GROUP = VECTOR_BYTES / sizeof(T)
    };
    VECTOR lane[GROUP];
    for (int k = 0; k < GROUP; k++) {
        OF_TYPE(dot_lanes) own;
        OF_TYPE(sddmm_lanes)(
                is_whole, own, (const T *)(dots->x + row[i + k] * dots->x_step),
                (const T *)(dots->y + col[i + k] * dots->y_step), dots->width);
        lane[OF_TYPE(sddmm_slot)(k)] = OF_TYPE(sddmm_halves)(own);
    }
    VECTOR sum = OF_TYPE(sddmm_together)(lane);
    if (dots->data != NULL) {
        sum = *(const VECTOR *)((const T *)dots->data + i) * sum;
    }
    *(VECTOR *)(out + i) = sum;
}

#endif

/* Rows of y come in no order and are asked for ahead of time: those of the entries
 * [from, to). A row that begins within a line ends in one more. */
TEMPLATE_INLINE void
OF_TYPE(sddmm_ask)(const ps_dots *dots, const int64_t *col, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const char *const next = dots->y + col[i] * dots->y_step;
        for (int64_t byte = 0; byte < dots->asked; byte += CACHE_LINE) {
            __builtin_prefetch(next + byte);
        }
        __builtin_prefetch(next + dots->asked - 1);
    }
}

/* n entries, in groups as long as these are whole. Narrow rows are asked for earlier:
 * 16 entries instead of 8 ahead take 5 % less for rows of 64 bytes, and 5 % more for
 * rows of 256 (Zen 3). */
TEMPLATE_INLINE void
OF_TYPE(sddmm)(const ps_dots *dots, char *restrict out, const int64_t *row,
               const int64_t *col, int64_t n)
{
    const T *const data = (const T *)dots->data;
    const int64_t ahead = dots->asked <= 2 * CACHE_LINE ? 16 : 8;
    const int64_t asked_until = dots->asked > 0 ? n - ahead : 0;
    int64_t i = 0;
#if KIND_IS(FLOAT)
    enum {
        GROUP = VECTOR_BYTES / sizeof(T)
    };
    const bool is_whole = dots->width % DOT_LANES == 0;
    for (; n - i >= GROUP; i += GROUP) {
        const int64_t until = i + GROUP < asked_until ? i + GROUP : asked_until;
        OF_TYPE(sddmm_ask)(dots, col, i + ahead, until + ahead);
        if (is_whole) {
            OF_TYPE(sddmm_group)(true, dots, (T *)out, row, col, i);
        }
        else {
            OF_TYPE(sddmm_group)(false, dots, (T *)out, row, col, i);
        }
    }
#endif
    for (; i < n; i++) {
        if (i < asked_until) {
            OF_TYPE(sddmm_ask)(dots, col, i + ahead, i + ahead + 1);
        }
        OF_TYPE(dot_lanes) lane;
        OF_TYPE(sddmm_lanes)(false, lane, (const T *)(dots->x + row[i] * dots->x_step),
                             (const T *)(dots->y + col[i] * dots->y_step), dots->width);
        const T dot = OF_TYPE(sddmm_total)(lane);
        ((T *)out)[i] = data != NULL ? OF_TYPE(combine)(PS_mul, data[i], dot) : dot;
    }
}

#endif
