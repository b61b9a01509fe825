/* The structure of a sparse product (contract in spgemm.h), by rows: row r of the
 * result is the sum of the rows of B that row r of A names, each times its value.
 *
 *   factors  A and B by rows, copied and checked (factor.h)
 *   terms    how many each row adds up: what it will cost, and how many entries it has
 *            at most
 *   chunks   of rows of about as many terms each, which threads pick up
 *   sizes    how many columns each row has, which makes indptr
 *
 * A row belongs to one chunk, and its terms come in A's order, then B's, so that no bit
 * depends on threads. There is a sum for each column, or, where the result is too wide
 * for that, a hash table; then the pass for sizes keeps the columns that it has sorted.
 *
 * That pass reads every term, and so does the one for values. Where there is a sum for
 * each column and the terms are not too many, there is no such pass: values are found
 * in room for all terms, of which only what is written to becomes memory, sizes with
 * them, and then both are copied (spgemm_values.c). It saves a third of the time of
 * short rows, and costs the result once more in memory until the call has ended.
 */
#include "ops/spgemm.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
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
    /* Entries of the result for which there may be room before their number is known:
     * 200 MB of doubles and columns. */
    MOST_ROOM = 1 << 24
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
    int64_t n = 0, first = 0, terms = 0, most = 0, at = 0, unheard = 0;
    for (int64_t row = 0; row < product->n_rows; row++) {
        terms += product->terms[row];
        most += ps_min(product->terms[row], product->n_cols);
        if (terms + row - first >= wanted || row == product->n_rows - 1) {
            if (chunk != NULL) {
                chunk[n] = (ps_product_chunk){
                        .first = first, .last = row + 1, .most = most, .at = at};
            }
            n++;
            at += most;
            first = row + 1;
            terms = most = 0;
        }
        if (ps_run_stops_after(run, &unheard, 8)) {
            break;
        }
    }
    return n;
}

/* Products of values that a row of the result adds up: each of its entries meets those
 * of a row of B, whose edges may lie anywhere. */
static int64_t
row_terms(const ps_product *product, int64_t row, ps_run *run)
{
    const ps_factor *const a = &product->a, *const b = &product->b;
    ps_stretch part =
            ps_stretch_of(run, a->edge[row + 1] - a->edge[row], PS_LINE_BYTES);
    int64_t terms = 0;
    while (ps_next_stretch(&part)) {
        const int64_t *const col = a->col + a->edge[row];
        for (int64_t i = part.first; i < part.last; i++) {
            terms += b->edge[col[i] + 1] - b->edge[col[i]];
        }
    }
    return terms;
}

/* The terms of each row, which say what it will cost. Their sum may be beyond 64 bits
 * where rows of B are named again and again. */
static ps_status
count_terms(ps_product *product, ps_run *run)
{
    int64_t unheard = 0;
    for (int64_t row = 0; row < product->n_rows; row++) {
        const int64_t terms = row_terms(product, row, run);
        const int64_t entries = product->a.edge[row + 1] - product->a.edge[row];
        product->terms[row] = terms;
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

/* In stretches, since rows may be many and empty. */
ps_status
ps_sum_sizes(ps_product *product, ps_run *run)
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

/* Chunks, and whether there is room for all that they may have. */
static ps_status
make_chunks(ps_product *product, ps_run *run)
{
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
    const ps_product_chunk *const end = &product->chunk[n_chunks - 1];
    product->nnz = n_chunks > 0 ? end->at + end->most : 0;
    product->is_open = product->is_dense && product->nnz <= MOST_ROOM;
    return PS_SUCCESS;
}

/* Terms, chunks, sizes, sums: each step is what the next one goes by. */
static ps_status
find_structure(ps_product *product, ps_run *run)
{
    PS_TRY(count_terms(product, run));
    product->is_dense =
            product->n_cols <= MOST_DENSE &&
            product->n_cols / COLUMNS_PER_TERM - DENSE_SPARE <= product->n_terms;
    PS_TRY(make_chunks(product, run));
    if (product->is_open) {
        return PS_SUCCESS;
    }
    making work = {run, product};
    PS_TRY(ps_run_chunks(run, product->n_chunks, columns_chunk, &work));
    return ps_sum_sizes(product, run);
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
    product->terms = ps_scratch_get(8 * (product->n_rows + 1));
    if (product->edge == NULL || product->terms == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
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
    ps_scratch_put(product->terms, 8 * (product->n_rows + 1));
    ps_close_room(product);
    ps_close_factor(&product->a);
    ps_close_factor(&product->b);
}
