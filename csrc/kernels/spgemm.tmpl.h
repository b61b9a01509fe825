/* spgemm: rows of a sparse product: products of values, added up by column.
 *
 * For entries i of a row of A in order, j over the entries of row a_col[i] of B in
 * order: sum[b_col[j]] += a[i] * b[j] starting from zero, products rounded before the
 * sum; bools are or of ands. So an entry of the result meets its terms in A's order,
 * then B's, whatever the chunk or thread. Contract: all arrays are private and checked:
 * rows and columns are in range. Between rows the sums and the flags are zero. Moves 4
 * + sizeof(T) bytes a term beside sums.
 *
 * Why three flags for each term: stores that wait for nothing. They say which columns a
 * row has, in which 64 columns (page), in which 64 pages (book), so that the columns
 * come out in order without a sort, and what was touched is clean again. A bit in place
 * of a byte would be read before it is written, by terms that stand in a line for it.
 */
#if KIND_IS(BOOL) || KIND_IS(INT) || KIND_IS(FLOAT) || KIND_IS(COMPLEX)

/* sum + a * b. */
TEMPLATE_INLINE T
OF_TYPE(add_product)(T sum, T a, T b)
{
#if KIND_IS(BOOL)
    return sum | (T)((a != 0) & (b != 0));
#else
    return OF_TYPE(combine)(PS_add, sum, OF_TYPE(combine)(PS_mul, a, b));
#endif
}

/* The terms of entries [first, last) of A go to the sums, and raise their flags. */
static void
OF_TYPE(product_add)(const ps_products *terms, int64_t first, int64_t last)
{
    const T *const restrict a = (const T *)(const void *)terms->a;
    const T *const restrict b = (const T *)(const void *)terms->b;
    const int64_t *const restrict a_col = terms->a_col;
    const int64_t *const restrict edge = terms->b_edge;
    const int32_t *const restrict b_col = terms->b_col;
    T *const restrict sum = (T *)(void *)terms->sum;
    uint8_t *const restrict flag = terms->flag;
    uint8_t *const restrict page = terms->page;
    uint8_t *const restrict book = terms->book;
    for (int64_t i = first; i < last; i++) {
        const int64_t to = edge[a_col[i] + 1];
        const T value = a[i];
        for (int64_t j = edge[a_col[i]]; j < to; j++) {
            const uint32_t column = (uint32_t)b_col[j];
            sum[column] = OF_TYPE(add_product)(sum[column], value, b[j]);
            flag[column] = 0xff;
            page[column >> 6] = 0xff;
            book[column >> 12] = 0xff;
        }
    }
}

/* The columns whose flags are up, ascending, and their sums; all is zero again. Returns
 * how many. They are listed first, with some room to spare behind the list. */
static int64_t
OF_TYPE(product_take)(const ps_products *terms, int32_t *restrict col, char *out)
{
    T *const restrict sum = (T *)(void *)terms->sum;
    T *const restrict value = (T *)(void *)out;
    int32_t *const restrict list = terms->list;
    int64_t n = 0;
    for (int64_t book = 0; book < terms->n_books; book += 8) {
        for (uint64_t books = take_flags(terms->book + book); books != 0;
             books &= books - 1) {
            const int64_t first = (book + __builtin_ctzll(books)) * 64;
            for (uint64_t pages = take_page(terms->page + first); pages != 0;
                 pages &= pages - 1) {
                const int64_t base = (first + __builtin_ctzll(pages)) * 64;
                n += list_bits(take_page(terms->flag + base), base, list + n);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        col[i] = list[i];
        value[i] = sum[list[i]];
        sum[list[i]] = (T){0};
    }
    return n;
}

/* Both at once for a few terms, without sums and flags: each column goes to where those
 * that are larger make room. Returns how many there are. */
static int64_t
OF_TYPE(product_few)(const ps_products *terms, int64_t first, int64_t last,
                     int32_t *restrict col, char *out)
{
    const T *const restrict a = (const T *)(const void *)terms->a;
    const T *const restrict b = (const T *)(const void *)terms->b;
    T *const restrict value = (T *)(void *)out;
    int64_t n = 0;
    for (int64_t i = first; i < last; i++) {
        const int64_t to = terms->b_edge[terms->a_col[i] + 1];
        for (int64_t j = terms->b_edge[terms->a_col[i]]; j < to; j++) {
            const int32_t column = terms->b_col[j];
            int64_t at = n;
            while (at > 0 && col[at - 1] > column) {
                at--;
            }
            if (at == 0 || col[at - 1] != column) {
                for (int64_t k = n++; k > at; k--) {
                    col[k] = col[k - 1];
                    value[k] = value[k - 1];
                }
                col[at] = column;
                value[at++] = (T){0};
            }
            value[at - 1] = OF_TYPE(add_product)(value[at - 1], a[i], b[j]);
        }
    }
    return n;
}

/* out[place[j]] += a * b[j] for n terms, whose places somebody else has found. */
static void
OF_TYPE(product_list)(char *out, const int64_t *place, const char *a, const char *b,
                      int64_t n)
{
    T *const row = (T *)(void *)out;
    const T *const right = (const T *)(const void *)b;
    const T value = *(const T *)(const void *)a;
    for (int64_t j = 0; j < n; j++) {
        row[place[j]] = OF_TYPE(add_product)(row[place[j]], value, right[j]);
    }
}

#endif
