/* Sparse times sparse (contract in spgemm.h), by rows: row r of the result is the sum
 * of the rows of B that row r of A names, each times its value. Two passes:
 *
 *   sizes    A and B by rows, copied and checked (factor.h); chunks of rows of about as
 *            many terms each, which threads pick up; how many columns each row has
 *            (columns.h), which makes indptr
 *   values   the same chunks: each term is added to the sum of its column, then columns
 *            and sums come out in order, into the result's own arrays
 *
 * A row belongs to one chunk, and its terms come in A's order, then B's, so that no bit
 * depends on threads. There is a sum for each column, or, where the result is too wide
 * for that, a hash table; then the first pass keeps the columns that it has sorted.
 *
 * Both passes read every term. To keep what the first one finds would save the half of
 * it, at the price of memory for all columns and values beside the result: of a product
 * of graphs that is most of what there is.
 */
#include "ops/spgemm.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/buckets.h"
#include "ops/columns.h"
#include "ops/run.h"

enum {
    /* Terms of a chunk, 0.5 ms; and columns per term that its tables may cost. */
    CHUNK_TERMS = 1 << 17,
    COLUMNS_PER_TERM = 4,
    /* Columns up to which there is a sum for each: of 4,096 columns one flag is looked
     * at for every row. */
    MOST_DENSE = 1 << 24,
    /* Columns in fours that few terms may clear: 10 us. */
    DENSE_SPARE = 4096,
    /* Columns of a row that are put in order as they come. */
    FEW_COLUMNS = 12,
    /* Entries of A between two looks at signals. */
    SLICE = 1024,
    /* Terms of a row that are looked up in a hash table at a time. */
    LOOK_UPS = 256
};

/* A structure on its way. */
typedef struct {
    ps_run *run;
    ps_product *product;
} making;

/* ---- chunks ---- */

/* A chunk pays for marks or sums of every column. */
static int64_t
wanted_terms(const ps_product *product)
{
    return product->is_dense ? ps_max(CHUNK_TERMS, product->n_cols / COLUMNS_PER_TERM)
                             : CHUNK_TERMS;
}

/* Cut rows into chunks of about as many terms; returns how many. chunk NULL: they are
 * only counted. Rows without terms weigh something as well. A row is never cut: its
 * terms have an order. */
static int64_t
cut_rows(const ps_product *product, ps_product_chunk *chunk, ps_run *run)
{
    const int64_t wanted = wanted_terms(product);
    int64_t n = 0, first = 0, terms = 0, unheard = 0;
    for (int64_t row = 0; row < product->n_rows; row++) {
        terms += product->edge[row + 1];
        if (terms + row - first >= wanted || row == product->n_rows - 1) {
            if (chunk != NULL) {
                chunk[n] = (ps_product_chunk){.first = first, .last = row + 1};
            }
            n++;
            first = row + 1;
            terms = 0;
        }
        if (ps_run_stops_after(run, &unheard, 8)) {
            break;
        }
    }
    return n;
}

/* edge[row + 1] = the terms of the row, which say what it will cost. Their sum may be
 * beyond 64 bits where rows of B are named again and again. */
static ps_status
count_terms(ps_product *product, ps_run *run)
{
    int64_t unheard = 0;
    for (int64_t row = 0; row < product->n_rows; row++) {
        const int64_t terms = ps_row_terms(product, row);
        const int64_t entries = product->a.edge[row + 1] - product->a.edge[row];
        product->edge[row + 1] = terms;
        if (__builtin_add_overflow(product->n_terms, terms, &product->n_terms)) {
            return ps_fail(PS_TOO_LARGE);
        }
        if (ps_run_stops_after(run, &unheard, (entries + 1) * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* ---- structure ---- */

/* What one chunk finds nobody else writes to: its own rows of `edge`, and its own
 * number of entries. */
static void
columns_chunk(void *context, int64_t chunk)
{
    const making *const work = context;
    if (ps_run_stops(work->run)) {
        return;
    }
    const ps_status status =
            ps_count_columns(work->product, &work->product->chunk[chunk], work->run);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
}

/* edge[row + 1], the entries of a row, becomes the sum up to it: indptr, but for its
 * width. */
static ps_status
sum_edges(ps_product *product, ps_run *run)
{
    product->edge[0] = 0;
    ps_stretch part = ps_stretch_of(run, product->n_rows, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t row = part.first; row < part.last; row++) {
            product->edge[row + 1] += product->edge[row];
        }
    }
    product->nnz = product->edge[product->n_rows];
    return ps_run_status(run);
}

/* Columns of the right factor in 32 bits, where they fit: half of what every term
 * reads. */
static ps_status
narrow_right(ps_product *product, ps_run *run)
{
    const int64_t nnz = product->b.nnz;
    if (product->n_cols > INT32_MAX) {
        return PS_SUCCESS;
    }
    product->b_narrow = ps_scratch_get(4 * (nnz + 1));
    if (product->b_narrow == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_stretch part = ps_stretch_of(run, nnz, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            product->b_narrow[i] = (int32_t)product->b.col[i];
        }
    }
    return ps_run_status(run);
}

/* Terms, chunks, sizes, sums: each step is what the next one goes by. */
static ps_status
find_structure(ps_product *product, ps_run *run)
{
    PS_TRY(count_terms(product, run));
    product->is_dense =
            product->n_cols <= MOST_DENSE &&
            product->n_cols / COLUMNS_PER_TERM - DENSE_SPARE <= product->n_terms;
    const int64_t n_chunks = cut_rows(product, NULL, run);
    PS_TRY(ps_run_status(run));
    product->chunk = ps_scratch_get(n_chunks * (int64_t)sizeof(ps_product_chunk));
    if (product->chunk == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    memset(product->chunk, 0, (size_t)n_chunks * sizeof(ps_product_chunk));
    product->n_chunks = n_chunks;
    cut_rows(product, product->chunk, run);
    PS_TRY(ps_run_status(run));
    making work = {run, product};
    PS_TRY(ps_run_chunks(run, n_chunks, columns_chunk, &work));
    return sum_edges(product, run);
}

/* Factors first: all that follows reads memory of our own. */
ps_status
ps_make_product(void *argument, ps_run *run)
{
    ps_structure_call *const call = argument;
    ps_product *const product = call->product;
    *product = (ps_product){.n_rows = call->left.n_rows, .n_cols = call->right.n_cols};
    PS_TRY(ps_make_factors(&call->left, &call->right, &product->a, &product->b, run));
    product->edge = ps_scratch_get(8 * (product->n_rows + 1));
    if (product->edge == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(narrow_right(product, run));
    return find_structure(product, run);
}

/* Whatever has been made by then: sizes are kept beside what they are sizes of. */
void
ps_close_product(ps_product *product)
{
    for (int64_t i = 0; i < product->n_chunks; i++) {
        const ps_product_chunk *const chunk = &product->chunk[i];
        ps_scratch_put(chunk->col,
                       ps_width_bytes(ps_product_is_wide(product), chunk->n));
    }
    ps_scratch_put(product->chunk,
                   product->n_chunks * (int64_t)sizeof(ps_product_chunk));
    ps_scratch_put(product->edge, 8 * (product->n_rows + 1));
    ps_scratch_put(product->b_narrow, 4 * (product->b.nnz + 1));
    ps_close_factor(&product->a);
    ps_close_factor(&product->b);
}

/* ---- values: a sum for each column ---- */

typedef struct {
    ps_run *run;
    const ps_values_call *call;
    const char *a, *b; /* in the order of the factors' rows */
} multiplying;

/* The structure of a chunk's rows, whose columns are `col`: into the result, where
 * other chunks write other stretches. */
static void
write_structure(const multiplying *work, const ps_product_chunk *chunk, const void *col,
                bool is_wide)
{
    const ps_values_call *const call = work->call;
    const int64_t to = call->product->edge[chunk->first];
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        ps_put(call->is_wide, call->indptr, row + 1, call->product->edge[row + 1]);
    }
    if (col == (const int32_t *)call->indices + to) { /* they are in place */
        return;
    }
    for (int64_t i = 0; i < chunk->n; i++) {
        ps_put(call->is_wide, call->indices, to + i, ps_at(is_wide, col, i));
    }
}

/* Sums and flags, all zero, and a list, in one block of *nbytes. They are zero again
 * after every row, so a chunk clears them once. */
static char *
open_sums(const multiplying *work, ps_products *terms, int64_t *nbytes)
{
    const ps_product *const product = work->call->product;
    /* a whole number of words of flags, so that none is looked at by halves */
    const int64_t books = ps_ceil_div(product->n_cols, 64 * 64 * 8) * 8;
    const int64_t sums =
            ps_ceil_div(product->n_cols * ps_dtype_size[work->call->type], 8) * 8;
    const int64_t zeros = sums + books * (64 * 64 + 64 + 1);
    *nbytes = zeros + 4 * (product->n_cols + 4);
    char *const block = ps_scratch_get(*nbytes);
    if (block != NULL) {
        memset(block, 0, (size_t)zeros);
    }
    *terms = (ps_products){.a_col = product->a.col,
                           .b_edge = product->b.edge,
                           .b_col = product->b_narrow,
                           .a = work->a,
                           .b = work->b,
                           .sum = block,
                           .flag = (uint8_t *)block + sums,
                           .page = (uint8_t *)block + sums + books * 64 * 64,
                           .book = (uint8_t *)block + sums + books * (64 * 64 + 64),
                           .n_books = books,
                           .list = (int32_t *)(void *)(block + zeros)};
    return block;
}

/* Row `row` to col and out; returns how many entries it has. How many is known already,
 * and says which kernel it is; terms are added in slices, between which a long row
 * hears signals. */
static int64_t
multiply_row(const multiplying *work, const ps_products *terms, int64_t row,
             int32_t *col, char *out)
{
    const enum ps_dtype type = work->call->type;
    const ps_product *const product = work->call->product;
    const int64_t *const edge = product->a.edge;
    const int64_t last = edge[row + 1];
    if (product->edge[row + 1] - product->edge[row] <= FEW_COLUMNS) {
        return ps_kernels()->spgemm_few[type](terms, edge[row], last, col, out);
    }
    for (int64_t i = edge[row]; i < last; i += SLICE) {
        ps_kernels()->spgemm_add[type](terms, i, ps_min(i + SLICE, last));
        if (last - i > SLICE && ps_run_stops(work->run)) {
            break;
        }
    }
    return ps_kernels()->spgemm_take[type](terms, col, out);
}

/* A chunk by sums. Columns go into the result's own array or, where there is none of
 * that width, into room for them: a plan's call has seen them before. */
static ps_status
multiply_dense(const multiplying *work, const ps_product_chunk *chunk, char *out)
{
    const ps_values_call *const call = work->call;
    const int64_t size = ps_dtype_size[call->type];
    const bool is_direct = call->indices != NULL && !call->is_wide;
    const int64_t room_bytes = is_direct ? 0 : 4 * chunk->n;
    int32_t *const room = is_direct ? NULL : ps_scratch_get(room_bytes);
    int32_t *const col =
            is_direct ? (int32_t *)call->indices + call->product->edge[chunk->first]
                      : room;
    ps_products terms;
    int64_t nbytes, n = 0, unheard = 0;
    char *const block = open_sums(work, &terms, &nbytes);
    const bool has_memory = block != NULL && (is_direct || room != NULL);
    for (int64_t row = chunk->first; has_memory && row < chunk->last; row++) {
        n += multiply_row(work, &terms, row, col + n, out + n * size);
        if (ps_run_stops_after(work->run, &unheard, 4 * PS_LINE_BYTES)) {
            break;
        }
    }
    if (has_memory && call->indices != NULL) {
        write_structure(work, chunk, col, false);
    }
    ps_scratch_put(room, room_bytes);
    ps_scratch_put(block, nbytes);
    return has_memory ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* ---- values: hash tables ---- */

/* Row `row`, whose columns begin at `base` of the chunk's: they are put into the table,
 * then each term looks its column up. False: give up. */
static bool
multiply_by_hash(const multiplying *work, const ps_product_chunk *chunk, int64_t row,
                 int64_t base, const ps_column_table *table, char *out)
{
    const ps_product *const product = work->call->product;
    const ps_factor *const a = &product->a, *const b = &product->b;
    const bool is_wide = ps_product_is_wide(product);
    const int64_t size = ps_dtype_size[work->call->type];
    const int64_t n = product->edge[row + 1] - product->edge[row];
    int64_t place[LOOK_UPS], unheard = 0;
    /* all columns of the row, none twice */
    for (int64_t k = base; k < base + n; k++) {
        table->place[ps_table_find(table, is_wide, chunk->col, base,
                                   ps_at(is_wide, chunk->col, k))] = k;
    }
    memset(out, 0, (size_t)(n * size));
    for (int64_t i = a->edge[row]; i < a->edge[row + 1]; i++) {
        const int64_t last = b->edge[a->col[i] + 1];
        for (int64_t j = b->edge[a->col[i]]; j < last; j += LOOK_UPS) {
            const int64_t count = ps_min(LOOK_UPS, last - j);
            for (int64_t k = 0; k < count; k++) {
                const int64_t at = ps_table_find(table, is_wide, chunk->col, base,
                                                 ps_right_col(product, j + k));
                place[k] = table->place[at] - base;
            }
            ps_kernels()->spgemm_list[work->call->type](out, place, work->a + i * size,
                                                        work->b + j * size, count);
            if (ps_run_stops_after(work->run, &unheard, count * PS_LINE_BYTES)) {
                return false;
            }
        }
    }
    return true;
}

/* A chunk by hash tables, whose columns are known and in order, so that each term only
 * has to find its place. */
static ps_status
multiply_hashed(const multiplying *work, const ps_product_chunk *chunk, char *out)
{
    const ps_product *const product = work->call->product;
    const int64_t size = ps_dtype_size[work->call->type];
    int64_t most = 0, base = 0, unheard = 0;
    ps_column_table table;
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        most = ps_max(most, product->edge[row + 1] - product->edge[row]);
    }
    if (!ps_open_table(&table, most)) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        const int64_t n = product->edge[row + 1] - product->edge[row];
        if (!multiply_by_hash(work, chunk, row, base, &table, out + base * size) ||
            ps_run_stops_after(work->run, &unheard, (n + 1) * PS_LINE_BYTES)) {
            break;
        }
        base += n;
    }
    ps_close_table(&table);
    if (work->call->indices != NULL) {
        write_structure(work, chunk, chunk->col, ps_product_is_wide(product));
    }
    return PS_SUCCESS;
}

/* ---- values: all chunks ---- */

/* The values of a chunk go to a stretch of the result that is its own. */
static void
values_chunk(void *context, int64_t number)
{
    const multiplying *const work = context;
    const ps_product *const product = work->call->product;
    const ps_product_chunk *const chunk = &product->chunk[number];
    char *const out = work->call->out +
                      product->edge[chunk->first] * ps_dtype_size[work->call->type];
    if (ps_run_stops(work->run)) {
        return;
    }
    const ps_status status = product->is_dense ? multiply_dense(work, chunk, out)
                                               : multiply_hashed(work, chunk, out);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
}

/* Values in the order of a factor's rows: as they are, or a copy in *copy, since each
 * value of B is read once for every entry of A that names its row. */
static ps_status
order_values(const ps_factor *factor, int64_t size, const char **values, char **copy,
             ps_run *run)
{
    if (factor->order == NULL) {
        return PS_SUCCESS;
    }
    *copy = ps_scratch_get(factor->nnz * size);
    if (*copy == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_stretch part = ps_stretch_of(run, factor->nnz, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            memcpy(*copy + i * size, *values + factor->order[i] * size, (size_t)size);
        }
    }
    *values = *copy;
    return ps_run_status(run);
}

/* Values are read where they lie unless rows have another order than storage. */
ps_status
ps_multiply_values(void *argument, ps_run *run)
{
    const ps_values_call *const call = argument;
    const ps_product *const product = call->product;
    const int64_t size = ps_dtype_size[call->type];
    multiplying work = {run, call, call->a, call->b};
    char *a = NULL, *b = NULL;
    ps_status status = order_values(&product->a, size, &work.a, &a, run);
    if (status.code == PS_OK) {
        status = order_values(&product->b, size, &work.b, &b, run);
    }
    if (status.code == PS_OK) {
        if (call->indptr != NULL) {
            ps_put(call->is_wide, call->indptr, 0, 0);
        }
        status = ps_run_chunks(run, product->n_chunks, values_chunk, &work);
    }
    ps_scratch_put(a, product->a.nnz * size);
    ps_scratch_put(b, product->b.nnz * size);
    return status;
}
