/* spmm: rows of out are sums of rows of x, weighted by the entries of a sparse matrix.
 *
 *     out[r][j] = meet over entries e of row r, in order, of data[e] (x) x[col[e]][j]
 *
 * What (x) and meet are says enum ps_product: times and plus; least or greatest of
 * products or of sums. Each product is rounded before it meets the others, and they
 * meet from left to right from `start` on, so every format, width and loop gives the
 * same bits.
 *
 * - spmm_lines: CSR. Some columns of a row of out stay in registers while all of the
 *   row's entries meet in them; column numbers are checked as they are read. What comes
 *   next of x is on its way from memory.
 * - spmm_column is the same for one column, spmm_rest for less than a line of them.
 * - spmm_rows: all columns (instances_sparse.h).
 * - The others: entries meet rows of out that lie in memory (spmm_list.tmpl.h).
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

/* n_lines times n_columns columns of all rows, from where x and out begin, with what
 * spmm_rows is given. They stay in registers while a row's entries meet in them, so
 * each is a function of its own: in one with the others it finds too few free, and near
 * rows of one line, of ten entries each, take 1.4 times as long (Zen 3). */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_lines)(const enum ps_product op, const bool is_wide, const int n_lines,
                    const int n_columns, const ps_sparse_rows *m, char *restrict out,
                    const int64_t *edge, int64_t n)
{
    enum {
        AHEAD = 16,
        MOST = 8,
        LINE = CACHE_LINE / sizeof(T)
    };
    const char *const col_of = m->index, *const x_of = m->x, *const data = m->data;
    const int64_t data_step = m->data_step, x_step = m->x_step;
    const int64_t asked_until = m->asked > 0 ? m->nnz - AHEAD : 0;
    const int64_t nbytes = n_lines * n_columns * (int64_t)sizeof(T);
    const uint64_t size = (uint64_t)m->size;
    const T *const start = m->start;
    for (int64_t i = 0; i < n; i++) {
        T *const restrict row = (T *)(out + i * m->out_step);
        const int64_t end = edge[i + 1];
        T running[MOST][LINE];
#pragma GCC unroll 8
        for (int line = 0; line < n_lines; line++) {
            for (int j = 0; j < n_columns; j++) {
                running[line][j] = start == NULL ? row[line * LINE + j] : *start;
            }
        }
        for (int64_t e = edge[i]; e < end; e++) {
            const int64_t col = index_at(is_wide, col_of, e);
            if (__builtin_expect((uint64_t)col >= size, 0)) {
                return e;
            }
            if (e < asked_until) {
                OF_TYPE(spmm_ask)(is_wide, col_of, e + AHEAD, x_of, x_step, nbytes);
            }
            const T a = *(const T *)(data + e * data_step);
            const T *const x = (const T *)(x_of + col * x_step);
#pragma GCC unroll 8
            for (int line = 0; line < n_lines; line++) {
                for (int j = 0; j < n_columns; j++) {
                    running[line][j] = OF_TYPE(meeting)(
                            op, running[line][j],
                            OF_TYPE(product)(op, a, x[line * LINE + j]));
                }
            }
        }
#pragma GCC unroll 8
        for (int line = 0; line < n_lines; line++) {
            memcpy(row + line * LINE, running[line], (size_t)n_columns * sizeof(T));
        }
    }
    return -1;
}

/* The columns that are left beside whole lines: half a line, a quarter, single ones. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_rest)(const enum ps_product op, const bool is_wide,
                   const ps_sparse_rows *m, char *restrict out, const int64_t *edge,
                   int64_t n)
{
    enum {
        LINE = CACHE_LINE / sizeof(T)
    };
    ps_sparse_rows part = *m;
    int64_t done = 0, bad = -1;
    if (LINE / 2 > 1 && m->width >= LINE / 2) {
        bad = OF_TYPE(spmm_lines)(op, is_wide, 1, LINE / 2, &part, out, edge, n);
        done = LINE / 2;
    }
    if (LINE / 4 > 1 && bad < 0 && m->width - done >= LINE / 4) {
        part.x = m->x + done * (int64_t)sizeof(T);
        bad = OF_TYPE(spmm_lines)(op, is_wide, 1, LINE / 4, &part,
                                  out + done * (int64_t)sizeof(T), edge, n);
        done += LINE / 4;
    }
    for (; bad < 0 && done < m->width; done++) {
        part.x = m->x + done * (int64_t)sizeof(T);
        bad = OF_TYPE(spmm_lines)(op, is_wide, 1, 1, &part,
                                  out + done * (int64_t)sizeof(T), edge, n);
    }
    return bad;
}

/* One column, whose numbers lie side by side as those of data do: spmm_rows where the
 * sum of a row is one register. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_column)(const enum ps_product op, const bool is_wide,
                     const ps_sparse_rows *m, char *restrict out, const int64_t *edge,
                     int64_t n)
{
    const char *const col_of = m->index;
    const T *const x_of = (const T *)m->x, *const data = (const T *)m->data;
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
            sum = OF_TYPE(meeting)(op, sum, OF_TYPE(product)(op, data[e], x_of[col]));
        }
        *at = sum;
    }
    return -1;
}

#endif
