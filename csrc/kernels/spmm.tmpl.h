/* spmm: rows of out are sums of rows of x, weighted by the entries of a sparse matrix.
 *
 *     out[r][j] = meet over entries e of row r, in order, of data[e] (x) x[col[e]][j]
 *
 * What (x) and meet are says enum ps_product: times and plus; least or greatest of
 * products or of sums. Each product is rounded before it meets the others, and they
 * meet from left to right from `start` on, so every format, width and loop gives the
 * same bits.
 *
 *   spmm_rows    CSR: some columns of a row of out stay in registers while all of the
 *                row's entries meet in them; column numbers are checked as they are
 * read. The rows of x that come next are on their way from memory the others   entries
 * meet rows of out that lie in memory (spmm_list.tmpl.h)
 *
 * Contract: x and out are aligned for T; `m` describes x and the entries (kernels.h);
 * out is disjoint from all of them. Moves per entry 4 or 8 + sizeof(T) bytes and a row
 * of x, per row a row of out.
 *
 * Why this beats the straight loop, which adds each entry's row of x to a row of out in
 * memory: that loads and stores the row of out once for each entry, and waits for rows
 * of x one at a time. 1.17e6 entries in 169,000 rows of 64 float32 take a third of its
 * time (Zen 3).
 */

#if !KIND_IS(LONG) && !KIND_IS(TIME) && !KIND_IS(PAIR)

/* A stored value and an element of x. Values come first, so that complex products have
 * one order of terms. */
TEMPLATE_INLINE T
OF_TYPE(product)(const enum ps_product op, T a, T x)
{
    return op == PS_min_plus || op == PS_max_plus ? OF_TYPE(combine)(PS_add, a, x)
                                                  : OF_TYPE(combine)(PS_mul, a, x);
}

/* What a row has come to and the next product. */
TEMPLATE_INLINE T
OF_TYPE(meeting)(const enum ps_product op, T sum, T value)
{
    switch (op) {
        case PS_add_times:
            return OF_TYPE(combine)(PS_add, sum, value);
        case PS_min_times:
        case PS_min_plus:
            return OF_TYPE(combine)(PS_min, sum, value);
        default:
            return OF_TYPE(combine)(PS_max, sum, value);
    }
}

/* The row that comes some entries later is asked for; an index that is out of bounds
 * asks for nothing that could be missed. Large arrays of NumPy begin 16 bytes into a
 * line, so that a row of four lines lies in five: to ask for the last one as well takes
 * a fifth off 64 columns of float32 (169,000 rows, Zen 3). */
TEMPLATE_INLINE void
OF_TYPE(spmm_ask)(const bool is_wide, const char *col, int64_t e, const char *x,
                  int64_t x_step, int64_t asked)
{
    const uint64_t next = (uint64_t)index_at(is_wide, col, e);
    const char *const row = x + next * (uint64_t)x_step;
    for (int64_t byte = 0; byte < asked; byte += CACHE_LINE) {
        __builtin_prefetch(row + byte);
    }
    __builtin_prefetch(row + asked - 1);
}

/* Entries [from, to) of one row meet in n_lines times n columns, which lie `shift`
 * bytes into the rows of x and out. -1, or the first entry out of bounds. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_lines)(const enum ps_product op, const bool is_wide,
                    const ps_sparse_rows *m, char *restrict row, const int64_t *span,
                    int64_t shift, const int n_lines, const int n)
{
    enum {
        AHEAD = 16,
        MOST = 8,
        LINE = CACHE_LINE / sizeof(T)
    };
    const char *const col_of = m->index, *const x_of = m->x;
    const char *data = m->data + span[0] * m->data_step;
    const int64_t data_step = m->data_step, x_step = m->x_step;
    const uint64_t size = (uint64_t)m->size;
    const int64_t asked_until = shift == 0 && m->asked > 0 ? m->nnz - AHEAD : 0;
    T *const restrict out = (T *)(row + shift);
    T running[MOST][LINE];
#pragma GCC unroll 8
    for (int line = 0; line < n_lines; line++) {
        for (int j = 0; j < n; j++) {
            running[line][j] =
                    m->start == NULL ? out[line * LINE + j] : *(const T *)m->start;
        }
    }
    for (int64_t e = span[0]; e < span[1]; e++) {
        const int64_t col = index_at(is_wide, col_of, e);
        if (__builtin_expect((uint64_t)col >= size, 0)) {
            return e;
        }
        if (e < asked_until) {
            OF_TYPE(spmm_ask)(is_wide, col_of, e + AHEAD, x_of, x_step, m->asked);
        }
        const T a = *(const T *)data;
        const T *const x = (const T *)(x_of + col * x_step + shift);
        data += data_step;
#pragma GCC unroll 8
        for (int line = 0; line < n_lines; line++) {
            for (int j = 0; j < n; j++) {
                running[line][j] =
                        OF_TYPE(meeting)(op, running[line][j],
                                         OF_TYPE(product)(op, a, x[line * LINE + j]));
            }
        }
    }
#pragma GCC unroll 8
    for (int line = 0; line < n_lines; line++) {
        memcpy(out + line * LINE, running[line], (size_t)n * sizeof(T));
    }
    return -1;
}

/* All columns of a stretch of one row: as many lines at a time as registers hold, then
 * fewer, then parts of a line. Complex products and comparisons need registers of their
 * own, so fewer lines stay beside them. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_stretch)(const enum ps_product op, const bool is_wide,
                      const ps_sparse_rows *m, char *restrict row, const int64_t *span)
{
    enum {
        LINE = CACHE_LINE / sizeof(T)
    };
    const int most = op == PS_add_times && !KIND_IS(COMPLEX) ? LINES : 2;
    const int64_t nbytes = m->width * (int64_t)sizeof(T);
    int64_t done = 0, bad = -1;
    for (; bad < 0 && nbytes - done >= most * CACHE_LINE; done += most * CACHE_LINE) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, most, LINE);
    }
    if (most > 4 && bad < 0 && nbytes - done >= 4 * CACHE_LINE) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 4, LINE);
        done += 4 * CACHE_LINE;
    }
    if (most > 2 && bad < 0 && nbytes - done >= 2 * CACHE_LINE) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 2, LINE);
        done += 2 * CACHE_LINE;
    }
    if (bad < 0 && nbytes - done >= CACHE_LINE) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 1, LINE);
        done += CACHE_LINE;
    }
    if (LINE / 2 > 0 && bad < 0 && nbytes - done >= CACHE_LINE / 2) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 1, LINE / 2);
        done += CACHE_LINE / 2;
    }
    if (LINE / 4 > 0 && bad < 0 && nbytes - done >= CACHE_LINE / 4) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 1, LINE / 4);
        done += CACHE_LINE / 4;
    }
    for (; bad < 0 && done < nbytes; done += (int64_t)sizeof(T)) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, m, row, span, done, 1, 1);
    }
    return bad;
}

/* One column: the sum of a row is a register. is_plain: numbers of data and of x lie
 * side by side. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_column)(const enum ps_product op, const bool is_wide, const bool is_plain,
                     const ps_sparse_rows *m, char *restrict out, const int64_t *edge,
                     int64_t n)
{
    const char *const col_of = m->index, *const x_of = m->x, *const data = m->data;
    const int64_t x_step = is_plain ? (int64_t)sizeof(T) : m->x_step;
    const int64_t data_step = is_plain ? (int64_t)sizeof(T) : m->data_step;
    const int64_t out_step = m->out_step;
    const uint64_t size = (uint64_t)m->size;
    const T *const start = m->start;
    for (int64_t i = 0; i < n; i++) {
        T *const at = (T *)(out + i * out_step);
        const int64_t end = edge[i + 1];
        T sum = start == NULL ? *at : *start;
        for (int64_t e = edge[i]; e < end; e++) {
            const int64_t col = index_at(is_wide, col_of, e);
            if (__builtin_expect((uint64_t)col >= size, 0)) {
                return e;
            }
            const T a = *(const T *)(data + e * data_step);
            const T x = *(const T *)(x_of + col * x_step);
            sum = OF_TYPE(meeting)(op, sum, OF_TYPE(product)(op, a, x));
        }
        *at = sum;
    }
    return -1;
}

/* Row i of out, out_step bytes from the one before, has entries [edge[i], edge[i + 1])
 * and begins at `start`, or, where that is NULL, at what it holds. edge [n + 1] has
 * been checked; it never decreases. Returns -1, or the first entry whose column is out
 * of bounds; rows from there on hold anything. A wide row with many entries takes them
 * in stretches, so that the rows of x which its first columns have fetched are still
 * near for the next. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_rows)(const enum ps_product op, const bool is_wide,
                   const ps_sparse_rows *m, char *restrict out, const int64_t *edge,
                   int64_t n)
{
    enum {
        STRETCH = 32
    };
    if (m->width == 1) {
        const bool is_plain =
                m->x_step == (int64_t)sizeof(T) && m->data_step == (int64_t)sizeof(T);
        return is_plain ? OF_TYPE(spmm_column)(op, is_wide, true, m, out, edge, n)
                        : OF_TYPE(spmm_column)(op, is_wide, false, m, out, edge, n);
    }
    ps_sparse_rows rest = *m;
    rest.start = NULL;
    const bool is_narrow = m->width * (int64_t)sizeof(T) <= LINES * CACHE_LINE;
    const int64_t most = is_narrow ? INT64_MAX : STRETCH;
    int64_t bad = -1;
    for (int64_t i = 0; i < n && bad < 0; i++) {
        const ps_sparse_rows *now = m;
        int64_t span[2] = {edge[i], edge[i]};
        do {
            span[0] = span[1];
            span[1] = edge[i + 1] - span[0] <= most ? edge[i + 1] : span[0] + most;
            bad = OF_TYPE(spmm_stretch)(op, is_wide, now, out + i * m->out_step, span);
            now = &rest;
        } while (span[1] < edge[i + 1] && bad < 0);
    }
    return bad;
}

#endif
