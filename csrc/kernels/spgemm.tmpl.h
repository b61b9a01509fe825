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
 *
 * Why not for few terms: looking through pages costs what those of a short row do. They
 * are laid side by side, listed by column and ranked in vectors, without a branch that
 * depends on columns; a row of a single entry of A is a copy. Rows of up to 200 terms
 * take two thirds of the time of flags (Zen 3), a third of that by asking ahead.
 */
#if KIND_IS(BOOL) || KIND_IS(INT) || KIND_IS(FLOAT) || KIND_IS(COMPLEX)

/* a * b, and a sum with it. */
TEMPLATE_INLINE T
OF_TYPE(term)(T a, T b)
{
#if KIND_IS(BOOL)
    return (T)((a != 0) & (b != 0));
#else
    return OF_TYPE(combine)(PS_mul, a, b);
#endif
}

TEMPLATE_INLINE T
OF_TYPE(add_term)(T sum, T term)
{
#if KIND_IS(BOOL)
    return sum | term;
#else
    return OF_TYPE(combine)(PS_add, sum, term);
#endif
}

/* The terms of one entry of A. */
TEMPLATE_INLINE int64_t
OF_TYPE(row_length)(const ps_products *terms, int64_t entry)
{
    const int64_t row = terms->a_col[entry];
    return terms->b_edge[row + 1] - terms->b_edge[row];
}

/* Ask for the row of B that an entry of A a few places on names, and for the edges of
 * one behind it. */
TEMPLATE_INLINE void
OF_TYPE(ask_ahead)(const ps_products *terms, int64_t i)
{
    const int64_t from = terms->b_edge[terms->a_col[i + PS_TERMS_AHEAD]];
    __builtin_prefetch(terms->b_edge + terms->a_col[i + 2 * PS_TERMS_AHEAD]);
    __builtin_prefetch(terms->b_col + from);
    __builtin_prefetch((const T *)(const void *)terms->b + from);
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
        OF_TYPE(ask_ahead)(terms, i);
        for (int64_t j = edge[a_col[i]]; j < to; j++) {
            const uint32_t column = (uint32_t)b_col[j];
            sum[column] = OF_TYPE(add_term)(sum[column], OF_TYPE(term)(value, b[j]));
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

/* The terms of entries [first, last) of A, which are few, side by side: their columns
 * and products. Returns how many there are. Steps of a fixed length run over the end
 * of a row, where the next one goes on, since how long it is nobody can foretell. */
TEMPLATE_INLINE int64_t
OF_TYPE(lay_terms)(const ps_products *terms, int64_t first, int64_t last,
                   int32_t *restrict column, T *restrict product)
{
    const T *const restrict a = (const T *)(const void *)terms->a;
    const T *const restrict b = (const T *)(const void *)terms->b;
    const int32_t *const restrict b_col = terms->b_col;
    int64_t n = 0;
    for (int64_t i = first; i < last; i++) {
        const int64_t from = terms->b_edge[terms->a_col[i]];
        const int64_t length = OF_TYPE(row_length)(terms, i);
        const bool has_room = b_col[from + length + PS_TERMS_STEP - 1] >= 0;
        OF_TYPE(ask_ahead)(terms, i);
        for (int64_t j = 0; has_room && j < length; j += PS_TERMS_STEP) {
            for (int64_t k = j; k < j + PS_TERMS_STEP; k++) {
                column[n + k] = b_col[from + k];
                product[n + k] = OF_TYPE(term)(a[i], b[from + k]);
            }
        }
        for (int64_t j = 0; !has_room && j < length; j++) {
            column[n + j] = b_col[from + j];
            product[n + j] = OF_TYPE(term)(a[i], b[from + j]);
        }
        n += length;
    }
    return n;
}

/* The n terms of one entry of A, a row of B, if their columns ascend: they are what
 * comes out. False: they do not, and nothing has been written. */
TEMPLATE_INLINE bool
OF_TYPE(scale_row)(const ps_products *terms, int64_t entry, int64_t n,
                   int32_t *restrict col, T *restrict value)
{
    const int64_t from = terms->b_edge[terms->a_col[entry]];
    const int32_t *const restrict b_col = terms->b_col + from;
    const T *const restrict b = (const T *)(const void *)terms->b + from;
    const T a = ((const T *)(const void *)terms->a)[entry];
    int32_t falls = 0;
    OF_TYPE(ask_ahead)(terms, entry);
    for (int64_t j = 1; j < n; j++) {
        falls |= b_col[j - 1] >= b_col[j];
    }
    for (int64_t j = 0; falls == 0 && j < n; j++) {
        col[j] = b_col[j];
        value[j] = OF_TYPE(add_term)((T){0}, OF_TYPE(term)(a, b[j]));
    }
    return falls == 0;
}

/* Both at once for a row of up to PS_FEW_TERMS terms, or of a single entry of A. Of the
 * columns those are listed whose flag is not up yet, and ranked; of many their pages
 * are looked through. Returns how many there are; -1: a single entry has more terms,
 * and their columns do not ascend. */
static int64_t
OF_TYPE(product_few)(const ps_products *terms, int64_t first, int64_t last,
                     int32_t *restrict col, char *out)
{
    enum {
        ROOM = PS_FEW_TERMS + 16
    };
    T *const restrict sum = (T *)(void *)terms->sum;
    T *const restrict value = (T *)(void *)out;
    uint8_t *const restrict flag = terms->flag;
    int32_t column[ROOM], list[ROOM], rank[ROOM];
    T product[ROOM];
    int64_t n = 0;
    if (last - first == 1) {
        const int64_t length = OF_TYPE(row_length)(terms, first);
        const bool is_done = OF_TYPE(scale_row)(terms, first, length, col, value);
        if (is_done || length > PS_FEW_TERMS) {
            return is_done ? length : -1;
        }
    }
    const int64_t n_terms = OF_TYPE(lay_terms)(terms, first, last, column, product);
    for (int64_t k = 0; k < n_terms; k++) {
        const int32_t at = column[k];
        list[n] = at;
        n += flag[at] == 0;
        flag[at] = 0xff;
        sum[at] = OF_TYPE(add_term)(sum[at], product[k]);
    }
    if (n > MOST_RANKED) {
        for (int64_t i = 0; i < n; i++) {
            terms->page[list[i] >> 6] = 0xff;
            terms->book[list[i] >> 12] = 0xff;
        }
        return OF_TYPE(product_take)(terms, col, out);
    }
    rank_columns(list, n, rank);
    for (int64_t i = 0; i < n; i++) {
        const int32_t at = list[i];
        col[rank[i]] = at;
        value[rank[i]] = sum[at];
        sum[at] = (T){0};
        flag[at] = 0;
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
        row[place[j]] =
                OF_TYPE(add_term)(row[place[j]], OF_TYPE(term)(value, right[j]));
    }
}

#endif
