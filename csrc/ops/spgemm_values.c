/* The values of a sparse product (contract in spgemm.h), chunk by chunk: each term is
 * added to the sum of its column, then columns and sums come out in order.
 *
 * Where sizes are known, they go into the result's own arrays. Those of an open product
 * go to its room, where each chunk has a stretch for all that it may have, and from
 * there into arrays of the right length: memory that is used again from call to call,
 * while arrays that are cut to their length begin with new pages each time, which cost
 * more than the copy (2 us a page, Zen 3).
 *
 * A term that is not there makes no difference: which rows of B a row of A names, and
 * how many terms that makes, has been found in copies that nobody else can see
 * (factor.h), so that the kernels take columns for places. Values alone are read where
 * the caller has them; another thread that writes to them changes numbers.
 */
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "base/terms.h"
#include "kernels/kernels.h"
#include "ops/columns.h"
#include "ops/run.h"
#include "ops/spgemm.h"
#include "ops/widths.h"

enum {
    /* Entries of A, and terms of several, between two looks at signals: up to 0.5 ms.
     */
    SLICE = 1024,
    SLICE_TERMS = 1 << 17,
    /* Terms of a row that are looked up in a hash table at a time: their places stay in
     * the first cache beside what the kernel adds up. */
    LOOK_UPS = 256
};

/* What the chunks of a call share. */
typedef struct {
    ps_run *run;
    const ps_values_call *call;
    const char *a, *b; /* in the order of the factors' rows */
    /* Where values go, and columns of int32, unless that is NULL. */
    char *out;
    int32_t *col;
    bool is_alone; /* chunks are run in order: */
    int64_t end;   /* where the next one of an open product begins */
} multiplying;

/* The columns of n entries into the result, from entry `to` on, where they are wanted
 * and not there yet. */
static void
write_columns(const ps_values_call *call, const void *col, bool is_wide, int64_t to,
              int64_t n)
{
    for (int64_t i = 0; i < n && call->indices != NULL && col != NULL; i++) {
        ps_put(call->is_wide, call->indices, to + i, ps_at(is_wide, col, i));
    }
}

/* ---- a sum for each column ---- */

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
                           .b_col = product->b.narrow,
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

/* Where entries [first, last) of A that are added up at a time end: rows of B may have
 * any length. */
static int64_t
slice_end(const ps_product *product, int64_t first, int64_t last)
{
    const int64_t *const edge = product->b.edge, *const col = product->a.col;
    const int64_t end = ps_min(first + SLICE, last);
    int64_t terms = 0, i = first;
    while (i < end && terms < SLICE_TERMS) {
        terms += edge[col[i] + 1] - edge[col[i]];
        i++;
    }
    return i;
}

/* Row `row` to col and out; returns how many entries it has. How many terms it has says
 * which kernel it is; they are added in slices, between which a long row hears signals.
 */
static int64_t
multiply_row(const multiplying *work, const ps_products *terms, int64_t row,
             int32_t *col, char *out)
{
    const enum ps_dtype type = work->call->type;
    const ps_product *const product = work->call->product;
    const int64_t first = product->a.edge[row], last = product->a.edge[row + 1];
    const int64_t n_terms = product->terms[row];
    const bool are_few = n_terms <= PS_FEW_TERMS && last - first <= SLICE;
    if (are_few || last - first == 1) {
        const int64_t n = ps_kernels()->spgemm_few[type](terms, first, last, col, out);
        if (n >= 0) {
            return n;
        }
    }
    for (int64_t i = first, end; i < last; i = end) {
        end = n_terms <= SLICE_TERMS ? ps_min(i + SLICE, last)
                                     : slice_end(product, i, last);
        ps_kernels()->spgemm_add[type](terms, i, end);
        if (end < last && ps_run_stops(work->run)) {
            break;
        }
    }
    return ps_kernels()->spgemm_take[type](terms, col, out);
}

/* The rows of a chunk, one behind the other; returns how many entries they have, which
 * an open product learns here. */
static int64_t
multiply_rows(const multiplying *work, const ps_products *terms,
              const ps_product_chunk *chunk, int32_t *col, char *out)
{
    ps_product *const product = work->call->product;
    const int64_t size = ps_dtype_size[work->call->type];
    int64_t n = 0, unheard = 0;
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        const int64_t found = multiply_row(work, terms, row, col + n, out + n * size);
        n += found;
        if (product->is_open) {
            product->edge[row + 1] = found;
        }
        if (ps_run_stops_after(work->run, &unheard, (found + 4) * PS_LINE_BYTES)) {
            break;
        }
    }
    return n;
}

/* A chunk by sums, from entry `to` on. Where nobody wants columns, since a plan's call
 * has seen them before, there is room for them all the same. */
static ps_status
multiply_dense(const multiplying *work, ps_product_chunk *chunk, int64_t to)
{
    const int64_t room_bytes = work->col != NULL ? 0 : 4 * chunk->n;
    int32_t *const room = work->col != NULL ? NULL : ps_scratch_get(room_bytes);
    int32_t *const col = work->col != NULL ? work->col + to : room;
    ps_products terms;
    int64_t nbytes;
    char *const block = open_sums(work, &terms, &nbytes);
    const bool has_memory = block != NULL && col != NULL;
    if (has_memory) {
        const int64_t n =
                multiply_rows(work, &terms, chunk, col,
                              work->out + to * ps_dtype_size[work->call->type]);
        if (work->call->product->is_open) { /* else others may read it */
            chunk->n = n;
        }
        write_columns(work->call, room, false, to, n);
    }
    ps_scratch_put(room, room_bytes);
    ps_scratch_put(block, nbytes);
    return has_memory ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* ---- hash tables ---- */

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
        if (ps_run_stops_after(work->run, &unheard, PS_LINE_BYTES)) {
            return false;
        }
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
multiply_hashed(const multiplying *work, const ps_product_chunk *chunk, int64_t to)
{
    const ps_product *const product = work->call->product;
    const int64_t size = ps_dtype_size[work->call->type];
    char *const out = work->out + to * size;
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
    write_columns(work->call, chunk->col, ps_product_is_wide(product), to, chunk->n);
    return PS_SUCCESS;
}

/* ---- all chunks ---- */

/* The values of a chunk go to a stretch of the result, or of the room, that is its own.
 */
static void
values_chunk(void *context, int64_t number)
{
    multiplying *const work = context;
    ps_product *const product = work->call->product;
    ps_product_chunk *const chunk = &product->chunk[number];
    if (ps_run_stops(work->run)) {
        return;
    }
    if (product->is_open && work->is_alone) {
        chunk->at = work->end;
    }
    const int64_t to = product->is_open ? chunk->at : product->edge[chunk->first];
    const ps_status status = product->is_dense ? multiply_dense(work, chunk, to)
                                               : multiply_hashed(work, chunk, to);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
    if (work->is_alone) {
        work->end = to + chunk->n;
    }
}

/* What a chunk has found goes from the room into the result. Chunks do not meet there,
 * so that any thread may move any of them. */
static void
move_chunk(void *context, int64_t number)
{
    const multiplying *const work = context;
    const ps_values_call *const call = work->call;
    const ps_product *const product = call->product;
    const ps_product_chunk *const chunk = &product->chunk[number];
    const int64_t size = ps_dtype_size[call->type];
    const int64_t to = product->edge[chunk->first];
    if (ps_run_stops(work->run)) {
        return;
    }
    memcpy(call->out + to * size, work->out + chunk->at * size,
           (size_t)(chunk->n * size));
    if (call->is_wide) {
        write_columns(call, work->col + chunk->at, false, to, chunk->n);
    }
    else {
        memcpy((int32_t *)call->indices + to, work->col + chunk->at,
               (size_t)chunk->n * sizeof(int32_t));
    }
}

/* Edges of rows in the width of the result: all of them at once, since those of an open
 * product are sums over chunks. */
static ps_status
write_edges(const ps_values_call *call, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, call->product->n_rows + 1, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t row = part.first; row < part.last; row++) {
            ps_put(call->is_wide, call->indptr, row, call->product->edge[row]);
        }
    }
    return ps_run_status(run);
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

/* All chunks, whose values are read where they lie unless rows have another order than
 * storage. */
static ps_status
multiply_chunks(multiplying *work)
{
    const ps_product *const product = work->call->product;
    const int64_t size = ps_dtype_size[work->call->type];
    char *a = NULL, *b = NULL;
    ps_status status = order_values(&product->a, size, &work->a, &a, work->run);
    if (status.code == PS_OK) {
        status = order_values(&product->b, size, &work->b, &b, work->run);
    }
    if (status.code == PS_OK) {
        status = ps_run_chunks(work->run, product->n_chunks, values_chunk, work);
    }
    ps_scratch_put(a, product->a.nnz * size);
    ps_scratch_put(b, product->b.nnz * size);
    return status;
}

/* Values are first in the room, since they may be wider than columns. */
static int32_t *
room_columns(const ps_product *product, int64_t size)
{
    return (int32_t *)(void *)(product->room +
                               ps_ceil_div(product->n_room * size, 4) * 4);
}

/* What is written of the room is all that becomes memory. */
ps_status
ps_find_values(void *argument, ps_run *run)
{
    const ps_values_call *const call = argument;
    ps_product *const product = call->product;
    const int64_t size = ps_dtype_size[call->type];
    product->n_room = product->nnz;
    product->room_bytes = product->n_room * (size + (int64_t)sizeof(int32_t)) + 4;
    product->room = ps_scratch_get(product->room_bytes);
    if (product->room == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    multiplying work = {.run = run,
                        .call = call,
                        .a = call->a,
                        .b = call->b,
                        .out = product->room,
                        .col = room_columns(product, size),
                        .is_alone = run->threads == 1};
    PS_TRY(multiply_chunks(&work));
    PS_TRY(ps_sum_sizes(product, run));
    product->is_open = false;
    return PS_SUCCESS;
}

/* Nothing where there is none. */
void
ps_close_room(ps_product *product)
{
    ps_scratch_put(product->room, product->room_bytes);
    product->room = NULL;
}

/* Into the caller's arrays, once they are as long as what there is. */
ps_status
ps_multiply_values(void *argument, ps_run *run)
{
    const ps_values_call *const call = argument;
    ps_product *const product = call->product;
    const bool is_direct = call->indices != NULL && !call->is_wide && product->is_dense;
    multiplying work = {.run = run,
                        .call = call,
                        .a = call->a,
                        .b = call->b,
                        .out = call->out,
                        .col = is_direct ? call->indices : NULL};
    if (product->room != NULL) {
        work.out = product->room;
        work.col = room_columns(product, ps_dtype_size[call->type]);
        PS_TRY(ps_run_chunks(run, product->n_chunks, move_chunk, &work));
        ps_close_room(product);
    }
    else {
        PS_TRY(multiply_chunks(&work));
    }
    return call->indptr != NULL ? write_edges(call, run) : PS_SUCCESS;
}
