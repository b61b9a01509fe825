/* How many columns the rows of a sparse product have (contract in columns.h), by the
 * width of a row:
 *
 *   marks    which row a column was last seen in, for a result that is not too wide:
 *            1.5 ns a term, without a branch
 *   hash     what is wider or emptier: a hash table that keeps distinct columns, and a
 *            radix sort of these, since they are found here once and for all
 *
 * Columns are those of a factor that has been copied and checked (factor.h), so they
 * may be used as places without another look. Both ways agree on how many there are.
 */
#include "ops/columns.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/buckets.h"
#include "ops/group.h"
#include "ops/run.h"

/* ---- marks ---- */

/* The distinct columns of a row: those that do not carry its mark yet. Whether one does
 * nobody can foretell, so both ways do the same. */
static int64_t
count_row(const ps_product *product, int64_t row, int32_t mark, int32_t *marks,
          ps_run *run, int64_t *unheard)
{
    const ps_factor *const a = &product->a, *const b = &product->b;
    const int32_t *const b_col = product->b.narrow;
    int64_t n = 0;
    for (int64_t i = a->edge[row]; i < a->edge[row + 1]; i++) {
        const int64_t from = b->edge[a->col[i]], to = b->edge[a->col[i] + 1];
        for (int64_t j = from; j < to; j++) {
            n += marks[b_col[j]] != mark;
            marks[b_col[j]] = mark;
        }
        if (ps_run_stops_after(run, unheard, (to - from + 1) * PS_LINE_BYTES)) {
            break;
        }
    }
    return n;
}

/* Marks are numbers of rows, so that nothing is cleared from one row to the next; a
 * chunk begins with none, at the cost of 0.1 ns a column. */
static ps_status
count_by_marks(ps_product *product, ps_product_chunk *chunk, ps_run *run)
{
    const int64_t nbytes = product->n_cols * (int64_t)sizeof(int32_t);
    int32_t *const marks = ps_scratch_get(nbytes);
    int64_t unheard = 0;
    if (marks == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    memset(marks, 0, (size_t)nbytes);
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        const int32_t mark = (int32_t)(row - chunk->first) + 1;
        const int64_t n = count_row(product, row, mark, marks, run, &unheard);
        product->edge[row + 1] = n;
        chunk->n += n;
        if (ps_run_stops_after(run, &unheard, PS_LINE_BYTES)) {
            break;
        }
    }
    ps_scratch_put(marks, nbytes);
    return ps_run_status(run);
}

/* ---- hash ---- */

/* Twice as many places as columns, and a power of 2, so that the upper bits of a hash
 * are a place. */
bool
ps_open_table(ps_column_table *table, int64_t most)
{
    *table = (ps_column_table){.size = 2, .shift = 63};
    while (table->size < 2 * most) {
        table->size *= 2;
        table->shift--;
    }
    table->place = ps_scratch_get(table->size * 8);
    if (table->place == NULL) {
        return false;
    }
    memset(table->place, 0xff, (size_t)table->size * 8);
    return true;
}

/* A table that could not be opened has none. */
void
ps_close_table(ps_column_table *table)
{
    ps_scratch_put(table->place, table->size * 8);
}

/* The upper bits of a product with 2^64 over the golden ratio, which spreads neighbours
 * and multiples alike; then the next place and the next. */
int64_t
ps_table_find(const ps_column_table *table, bool is_wide, const void *col, int64_t base,
              int64_t column)
{
    int64_t at = (int64_t)(((uint64_t)column * UINT64_C(0x9e3779b97f4a7c15)) >>
                           table->shift);
    while (table->place[at] >= base &&
           ps_at(is_wide, col, table->place[at]) != column) {
        at = (at + 1) & (table->size - 1);
    }
    return at;
}

/* A row's distinct columns as they come, at `base` of `room`; returns how many. What
 * the table says of earlier rows is below `base`, and so no more than a free place. */
static int64_t
gather_by_hash(const ps_product *product, int64_t row, const ps_column_table *table,
               void *room, int64_t base, ps_run *run)
{
    const ps_factor *const a = &product->a, *const b = &product->b;
    const bool is_wide = ps_product_is_wide(product);
    int64_t end = base, unheard = 0;
    for (int64_t i = a->edge[row]; i < a->edge[row + 1]; i++) {
        const int64_t from = b->edge[a->col[i]], to = b->edge[a->col[i] + 1];
        if (ps_run_stops_after(run, &unheard, (to - from + 1) * PS_LINE_BYTES)) {
            break;
        }
        for (int64_t j = from; j < to; j++) {
            const int64_t column = ps_right_col(product, j);
            const int64_t at = ps_table_find(table, is_wide, room, base, column);
            if (table->place[at] < base) {
                ps_put(is_wide, room, end, column);
                table->place[at] = end++;
            }
        }
    }
    return end - base;
}

/* n columns at `base` of `room` in ascending order, by bytes of their numbers. They
 * differ, so that nothing has to be stable. */
static ps_status
sort_columns(const ps_product *product, void *room, int64_t base, int64_t n,
             ps_keyed *pairs, ps_run *run)
{
    const bool is_wide = ps_product_is_wide(product);
    for (int64_t i = 0; i < n; i++) {
        pairs[i] = (ps_keyed){ps_at(is_wide, room, base + i), i};
    }
    const ps_keyed *const sorted =
            ps_sort_keyed(run, pairs, pairs + n, n, product->n_cols - 1);
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, room, base + i, sorted[i].key);
    }
    return ps_run_status(run);
}

/* Row after row: columns as they come, then in order. */
static ps_status
find_rows_by_hash(ps_product *product, const ps_product_chunk *chunk,
                  const ps_column_table *table, ps_keyed *pairs, void *room, int64_t *n,
                  ps_run *run)
{
    int64_t unheard = 0;
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        const int64_t found = gather_by_hash(product, row, table, room, *n, run);
        PS_TRY(sort_columns(product, room, *n, found, pairs, run));
        product->edge[row + 1] = found;
        *n += found;
        if (ps_run_stops_after(run, &unheard, (found + 1) * 4 * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* A table and room for pairs serve the longest row of the chunk, and so all. */
static ps_status
find_by_hash(ps_product *product, const ps_product_chunk *chunk, void *room, int64_t *n,
             ps_run *run)
{
    int64_t most = 0;
    *n = 0;
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        most = ps_max(most, ps_min(product->terms[row], product->n_cols));
    }
    ps_column_table table;
    const int64_t nbytes = 2 * most * (int64_t)sizeof(ps_keyed);
    ps_keyed *const pairs = ps_scratch_get(nbytes);
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (ps_open_table(&table, most) && pairs != NULL) {
        status = find_rows_by_hash(product, chunk, &table, pairs, room, n, run);
    }
    ps_close_table(&table);
    ps_scratch_put(pairs, nbytes);
    return status;
}

/* The columns of a chunk are gathered in room for as many as there can be, of which
 * only what is written to becomes memory, and kept in room for as many as there are. */
static ps_status
keep_by_hash(ps_product *product, ps_product_chunk *chunk, ps_run *run)
{
    const bool is_wide = ps_product_is_wide(product);
    int64_t most = 0;
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        most += ps_min(product->terms[row], product->n_cols);
    }
    void *const room = ps_scratch_get(ps_width_bytes(is_wide, most));
    if (room == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = find_by_hash(product, chunk, room, &chunk->n, run);
    if (status.code == PS_OK) {
        chunk->col = ps_scratch_get(ps_width_bytes(is_wide, chunk->n));
        status = chunk->col != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
    }
    if (status.code == PS_OK) {
        memcpy(chunk->col, room, (size_t)ps_width_bytes(is_wide, chunk->n));
    }
    ps_scratch_put(room, ps_width_bytes(is_wide, most));
    return status;
}

/* ---- a chunk ---- */

/* One decision for the whole product, since its width is what counts. */
ps_status
ps_count_columns(ps_product *product, ps_product_chunk *chunk, ps_run *run)
{
    return product->is_dense ? count_by_marks(product, chunk, run)
                             : keep_by_hash(product, chunk, run);
}
