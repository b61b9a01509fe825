/* The kernels of spmm whose entries meet rows of out in memory (spmm.tmpl.h has the
 * equation), and what becomes of finished rows.
 *
 *   spmm_slices  CSC: the entries of a column of the matrix, which share a row of x.
 * Row numbers are checked as they are read spmm_list    any entries, whose rows and
 * columns have been read and checked: for COO in any order, for threads that keep some
 * of the entries, and for types without kernels of their own spmm_finish  means, what
 * empty rows are, alpha and beta
 *
 * Contract as in spmm.tmpl.h. Entries meet in the order in which they come, so the bits
 * are those of rows in registers. Moves per entry a row of x and a row of out twice;
 * the latter is asked for ahead of time.
 */

#if !KIND_IS(LONG) && !KIND_IS(TIME) && !KIND_IS(PAIR)

/* Entries of one column of x and out. */
TEMPLATE_INLINE void
OF_TYPE(spmm_list_column)(const enum ps_product op, const ps_sparse_rows *m,
                          char *restrict out, const ps_triplets *list)
{
    const int64_t *const restrict row = list->row, *const restrict col = list->col;
    const int64_t *const restrict entry = list->entry;
    const char *const x = m->x, *const data = m->data;
    const int64_t x_step = m->x_step, out_step = m->out_step;
    const int64_t data_step = m->data_step, first = list->first, n = list->n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = entry != NULL ? entry[i] : first + i;
        const T a = *(const T *)(data + e * data_step);
        T *const at = (T *)(out + row[i] * out_step);
        *at = OF_TYPE(meeting)(
                op, *at, OF_TYPE(product)(op, a, *(const T *)(x + col[i] * x_step)));
    }
}

/* One entry and all columns. */
TEMPLATE_INLINE void
OF_TYPE(spmm_entry)(const enum ps_product op, T *restrict at, T a, const T *restrict x,
                    int64_t width)
{
    enum {
        LINE = CACHE_LINE / sizeof(T)
    };
    int64_t j = 0;
    for (; width - j >= LINE; j += LINE) {
        for (int k = 0; k < LINE; k++) {
            at[j + k] =
                    OF_TYPE(meeting)(op, at[j + k], OF_TYPE(product)(op, a, x[j + k]));
        }
    }
    for (; j < width; j++) {
        at[j] = OF_TYPE(meeting)(op, at[j], OF_TYPE(product)(op, a, x[j]));
    }
}

/* is_column: one column, whose numbers lie side by side as those of data do.
 * CSC: entries [edge[i], edge[i + 1]) belong to row i of x, and meet the rows of out
 * that they name, which hold what sums begin with. Row numbers are checked as they are
 * read. Returns -1, or the first entry out of bounds, by when out holds anything. */
TEMPLATE_INLINE int64_t
OF_TYPE(spmm_slices)(const enum ps_product op, const bool is_wide, const bool is_column,
                     const ps_sparse_rows *m, char *restrict out, const int64_t *edge,
                     int64_t n)
{
    enum {
        AHEAD = 16
    };
    const char *const row_of = m->index, *const data = m->data;
    const int64_t data_step = is_column ? (int64_t)sizeof(T) : m->data_step;
    const int64_t out_step = is_column ? (int64_t)sizeof(T) : m->out_step;
    const int64_t x_step = m->x_step;
    const int64_t width = m->width, asked = m->asked;
    const int64_t asked_until = asked > 0 ? m->nnz - AHEAD : 0;
    const uint64_t size = (uint64_t)m->size;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = edge[i + 1];
        const T *const restrict x = (const T *)(m->x + i * x_step);
        for (int64_t e = edge[i]; e < end; e++) {
            const int64_t row = index_at(is_wide, row_of, e);
            if (__builtin_expect((uint64_t)row >= size, 0)) {
                return e;
            }
            if (!is_column && e < asked_until) {
                OF_TYPE(spmm_ask)(is_wide, row_of, e + AHEAD, out, out_step, asked);
            }
            const T a = *(const T *)(data + e * data_step);
            T *const restrict at = (T *)(out + row * out_step);
            OF_TYPE(spmm_entry)(op, at, a, x, is_column ? 1 : width);
        }
    }
    return -1;
}

/* Entry i of the list, whose number is first + i or entry[i], meets row[i] of out. row
 * and col [n] have been checked. */
TEMPLATE_INLINE void
OF_TYPE(spmm_list)(const enum ps_product op, const ps_sparse_rows *m,
                   char *restrict out, const ps_triplets *list)
{
    enum {
        AHEAD = 8
    };
    if (m->width == 1) {
        OF_TYPE(spmm_list_column)(op, m, out, list);
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t e = list->entry != NULL ? list->entry[i] : list->first + i;
        if (m->asked > 0 && i + AHEAD < list->n) {
            prefetch_row(out + list->row[i + AHEAD] * m->out_step, m->asked);
        }
        OF_TYPE(spmm_entry)
        (op, (T *)(out + list->row[i] * m->out_step),
         *(const T *)(m->data + e * m->data_step),
         (const T *)(m->x + list->col[i] * m->x_step), m->width);
    }
}

/* The number of entries as T; integers have no means. */
TEMPLATE_INLINE T
OF_TYPE(spmm_mean)(T sum, int64_t count)
{
#if KIND_IS(FLOAT)
    return sum / (T)count;
#elif KIND_IS(COMPLEX)
    return (T){sum.re / (REAL)count, sum.im / (REAL)count};
#else
    (void)count;
    return sum;
#endif
}

/* sum[i][j] = alpha * v, where v is what it holds, or its mean over the edge[i + 1] -
 * edge[i] entries of the row, or `empty` where there are none; then, where there is a
 * beta, out[i][j] = sum[i][j] + beta * out[i][j]. What is NULL takes no part. */
TEMPLATE_INLINE void
OF_TYPE(spmm_finish)(const ps_row_finish *f, char *restrict out, char *restrict sum,
                     const int64_t *edge, int64_t n)
{
    const int64_t width = f->width;
    for (int64_t i = 0; i < n; i++) {
        T *const restrict at = (T *)(sum + i * f->sum_step);
        const int64_t count = edge[i + 1] - edge[i];
        if (f->empty != NULL && count == 0) {
            for (int64_t j = 0; j < width; j++) {
                at[j] = *(const T *)f->empty;
            }
        }
        else if (f->is_mean) {
            for (int64_t j = 0; j < width; j++) {
                at[j] = OF_TYPE(spmm_mean)(at[j], count);
            }
        }
        if (f->alpha != NULL) {
            const T alpha = *(const T *)f->alpha;
            for (int64_t j = 0; j < width; j++) {
                at[j] = OF_TYPE(combine)(PS_mul, alpha, at[j]);
            }
        }
        if (f->beta != NULL) {
            const T beta = *(const T *)f->beta;
            T *const restrict to = (T *)(out + i * f->out_step);
            for (int64_t j = 0; j < width; j++) {
                to[j] = OF_TYPE(combine)(PS_add, at[j],
                                         OF_TYPE(combine)(PS_mul, beta, to[j]));
            }
        }
    }
}

#endif
