/* Assembly of a CSR from contributions (contract in assemble.h).
 *
 *   sort     contributions by row, stably (buckets.h)
 *   unify    row by row: its distinct columns, in the order in which they come, and
 *            the number of each contribution's column among these
 *   rank     these columns in ascending order, and the numbers with them
 *   write    row pointers by a sum, then columns and slots at their final places
 *
 * Values take no part: they are added to their slots in the order of the input by a
 * scatter, now or again with other values, and so all dtypes and layouts are served by
 * what scatters are.
 *
 * To unify, a table says where a column was seen last. What it says of earlier rows
 * lies before the row's first place, so it is never cleared: with ranks 3 ns a
 * contribution, of 18 to a row of 7 columns. The table has a place for each column
 * where there are not too many, and is a hash table otherwise. Columns are ranked by
 * counting smaller ones, eight at a time in vectors, which no order of columns makes
 * slower.
 */
#include "ops/assemble.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/buckets.h"
#include "ops/group.h"
#include "ops/run.h"

enum {
    /* A table for every column has at most so many places per contribution. */
    TABLE_PER_ENTRY = 4,
    TABLE_SPARE = 1024,
    /* Columns that are ranked by counting, in steps of RANK_STEP; more are sorted. */
    MOST_COUNTED = 32,
    RANK_STEP = 8,
    /* Contributions of a chunk of rows: 1 ms and less. */
    CHUNK_ENTRIES = 1 << 17,
    /* Contributions of a long row between two looks at signals. */
    STRETCH = 1 << 16
};

/* A reader for buckets: rows are the keys. */
static ps_status
read_numbers(const void *context, bool of_keys, int64_t first, int64_t n,
             int64_t *number)
{
    const ps_assembly_call *const call = context;
    return ps_read_coordinates(of_keys ? &call->row : &call->col, first, n, number);
}

/* ---- unify ---- */

typedef struct {
    void *seen;     /* [size] places in `distinct`, by column or by its hash */
    int64_t size;   /* a power of 2 where it is a hash table */
    int64_t nbytes; /* of `seen` */
    int shift;      /* of a hash to a place; 0: a place for each column */
} table;

/* The first place to look for a column: the upper bits of a product with 2^64 divided
 * by the golden ratio, which spreads neighbours and multiples alike. */
PS_WIDTH_INLINE int64_t
hash_of(const table *marks, int64_t column)
{
    return (int64_t)(((uint64_t)column * UINT64_C(0x9e3779b97f4a7c15)) >> marks->shift);
}

/* The distinct columns of contributions [from, to) of a row, whose columns begin at
 * `base`, follow those that are there up to `end`; returns their end. Without a branch:
 * which columns are new nobody can foretell. */
PS_WIDTH_INLINE int64_t
unify_by_column(const bool is_wide, const ps_assembly_call *call, const table *marks,
                int64_t base, int64_t end, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t column = ps_at(is_wide, call->other, i);
        const int64_t seen = ps_at(is_wide, marks->seen, column);
        const bool is_new = seen < base;
        const int64_t place = is_new ? end : seen;
        ps_put(is_wide, call->distinct, place, column);
        ps_put(is_wide, marks->seen, column, place);
        ps_put(is_wide, call->other, i, place - base);
        end += is_new;
    }
    return end;
}

/* The same by a hash table that is at most half full. */
PS_WIDTH_INLINE int64_t
unify_by_hash(const bool is_wide, const ps_assembly_call *call, const table *marks,
              int64_t base, int64_t end, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t column = ps_at(is_wide, call->other, i);
        int64_t at = hash_of(marks, column);
        int64_t place = ps_at(is_wide, marks->seen, at);
        while (place >= base && ps_at(is_wide, call->distinct, place) != column) {
            at = (at + 1) & (marks->size - 1);
            place = ps_at(is_wide, marks->seen, at);
        }
        if (place < base) {
            place = end++;
            ps_put(is_wide, call->distinct, place, column);
            ps_put(is_wide, marks->seen, at, place);
        }
        ps_put(is_wide, call->other, i, place - base);
    }
    return end;
}

/* ---- rank ---- */

/* Room of a chunk for the ranks of its largest row. */
typedef struct {
    ps_keyed *pairs; /* two halves */
    int32_t few[MOST_COUNTED];
} ranking;

/* Columns are compared with all others, RANK_STEP of them at a time in vectors.
 * few[i] = how many of the n <= MOST_COUNTED distinct columns from `base` on are less
 * than column i. */
PS_WIDTH_INLINE void
count_ranks(const bool is_wide, const ps_assembly_call *call, int64_t base, int64_t n,
            int32_t *few)
{
    int64_t padded[MOST_COUNTED]; /* half of it where columns are narrow */
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, padded, i, ps_at(is_wide, call->distinct, base + i));
    }
    for (int64_t i = n; i % RANK_STEP != 0; i++) {
        ps_put(is_wide, padded, i, 0);
    }
    for (int64_t step = 0; step < n; step += RANK_STEP) {
        int32_t count[RANK_STEP] = {0};
        for (int64_t j = 0; j < n; j++) {
            for (int i = 0; i < RANK_STEP; i++) {
                count[i] +=
                        ps_at(is_wide, padded, j) < ps_at(is_wide, padded, step + i);
            }
        }
        memcpy(few + step, count, sizeof(count));
    }
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, call->distinct, base + few[i], ps_at(is_wide, padded, i));
    }
}

/* The same of many columns, by a radix sort of (column, number in the row): when it is
 * done, the rank of column i stands in place of the key of pair i. */
PS_WIDTH_INLINE ps_status
sort_ranks(const bool is_wide, const ps_assembly_call *call, int64_t base, int64_t n,
           ps_keyed *pairs, ps_run *run)
{
    for (int64_t i = 0; i < n; i++) {
        pairs[i] = (ps_keyed){ps_at(is_wide, call->distinct, base + i), i};
    }
    const ps_keyed *const sorted =
            ps_sort_keyed(run, pairs, pairs + n, n, call->n_cols - 1);
    PS_TRY(ps_run_status(run));
    ps_keyed *const ranks = sorted == pairs ? pairs + n : pairs;
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, call->distinct, base + i, sorted[i].key);
        ranks[sorted[i].place].key = i;
    }
    if (ranks != pairs) {
        memcpy(pairs, ranks, (size_t)n * sizeof(*pairs));
    }
    return PS_SUCCESS;
}

/* Are n columns in order already? Those of sorted input are. Without branches, which
 * costs less than finding out early. */
PS_WIDTH_INLINE bool
ascends(const bool is_wide, const void *column, int64_t first, int64_t n)
{
    bool result = true;
    for (int64_t i = first + 1; i < first + n; i++) {
        result &= ps_at(is_wide, column, i - 1) < ps_at(is_wide, column, i);
    }
    return result;
}

/* The n distinct columns of a row, from `base` on, in ascending order; the numbers of
 * its contributions [first, last) follow. */
PS_WIDTH_INLINE ps_status
rank_row(const bool is_wide, const ps_assembly_call *call, int64_t first, int64_t last,
         int64_t base, int64_t n, ranking *ranks, ps_run *run)
{
    if (ascends(is_wide, call->distinct, base, n)) {
        return PS_SUCCESS;
    }
    const bool are_few = n <= MOST_COUNTED;
    if (are_few) {
        count_ranks(is_wide, call, base, n, ranks->few);
    }
    else {
        PS_TRY(sort_ranks(is_wide, call, base, n, ranks->pairs, run));
    }
    for (int64_t i = first; i < last; i++) {
        const int64_t place = ps_at(is_wide, call->other, i);
        ps_put(is_wide, call->other, i,
               are_few ? ranks->few[place] : ranks->pairs[place].key);
    }
    return PS_SUCCESS;
}

/* ---- rows, chunk by chunk ---- */

typedef struct {
    ps_run *run;
    ps_assembly_call *call;
} assembling;

/* Where the contributions of a row begin among all, which are sorted by row. */
static int64_t
start_of(const ps_assembly_call *call, int64_t row)
{
    return ps_at(call->is_wide, call->start, row);
}

/* The first row of a chunk: chunks have about as many contributions each. */
static int64_t
first_row(const ps_assembly_call *call, int64_t chunk)
{
    int64_t low = 0, high = call->n_rows;
    if (chunk == call->chunks) {
        return call->n_rows;
    }
    const int64_t wanted = call->n / call->chunks * chunk;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (start_of(call, middle) < wanted) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Contributions of the longest of rows [first, last): what a hash table and the room
 * for ranks are made for. */
static int64_t
longest_row(const ps_assembly_call *call, int64_t first, int64_t last)
{
    int64_t longest = 0;
    for (int64_t row = first; row < last; row++) {
        longest = ps_max(longest, start_of(call, row + 1) - start_of(call, row));
    }
    return longest;
}

/* A table for rows [first, last), all of whose places lie before every row; and the
 * room for ranks, where rows are long. False: no memory. */
static bool
open_chunk(const ps_assembly_call *call, int64_t first, int64_t last, table *marks,
           ranking *ranks, int64_t *longest)
{
    const int64_t n = start_of(call, last) - start_of(call, first);
    *longest = longest_row(call, first, last);
    *marks = (table){.size = call->n_cols};
    if (call->n_cols > TABLE_PER_ENTRY * n + TABLE_SPARE) {
        marks->size = 2;
        marks->shift = 63;
        while (marks->size < 2 * *longest) {
            marks->size *= 2;
            marks->shift--;
        }
    }
    marks->nbytes = ps_width_bytes(call->is_wide, marks->size);
    marks->seen = ps_scratch_get(marks->nbytes);
    ranks->pairs = NULL;
    if (*longest > MOST_COUNTED) {
        ranks->pairs = ps_scratch_get(2 * *longest * (int64_t)sizeof(ps_keyed));
    }
    if (marks->seen == NULL || (*longest > MOST_COUNTED && ranks->pairs == NULL)) {
        return false;
    }
    memset(marks->seen, 0xff, (size_t)marks->nbytes);
    return true;
}

/* A row whose columns begin at `base`; *end is where they end. */
PS_WIDTH_INLINE ps_status
unify_row(const bool is_wide, const ps_assembly_call *call, const table *marks,
          int64_t row, int64_t base, int64_t *end, ranking *ranks, ps_run *run)
{
    const int64_t first = ps_at(is_wide, call->start, row);
    const int64_t last = ps_at(is_wide, call->start, row + 1);
    for (int64_t from = first; from < last; from += STRETCH) {
        const int64_t to = ps_min(last, from + STRETCH);
        *end = marks->shift == 0
                       ? unify_by_column(is_wide, call, marks, base, *end, from, to)
                       : unify_by_hash(is_wide, call, marks, base, *end, from, to);
        if (to < last && ps_run_stops(run)) {
            return ps_run_status(run);
        }
    }
    return rank_row(is_wide, call, first, last, base, *end - base, ranks, run);
}

/* Rows [first, last): how many distinct columns each has goes to indptr, one place
 * further on. */
PS_WIDTH_INLINE ps_status
unify_rows(const bool is_wide, const ps_assembly_call *call, const table *marks,
           int64_t first, int64_t last, ranking *ranks, ps_run *run)
{
    int64_t unheard = 0, end = ps_at(is_wide, call->start, first);
    for (int64_t row = first; row < last; row++) {
        const int64_t base = end;
        PS_TRY(unify_row(is_wide, call, marks, row, base, &end, ranks, run));
        ps_put(call->is_wide_result, call->indptr, row + 1, end - base);
        if (ps_run_stops_after(run, &unheard, (end - base + 1) * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* A chunk takes its table and room from scratch and gives them back: chunks are few,
 * and any thread may pick up any of them. */
static void
unify_chunk(void *context, int64_t chunk)
{
    const assembling *const work = context;
    const ps_assembly_call *const call = work->call;
    const int64_t first = first_row(call, chunk), last = first_row(call, chunk + 1);
    table marks;
    ranking ranks;
    int64_t longest;
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (open_chunk(call, first, last, &marks, &ranks, &longest)) {
        status = call->is_wide ? unify_rows(true, call, &marks, first, last, &ranks,
                                            work->run)
                               : unify_rows(false, call, &marks, first, last, &ranks,
                                            work->run);
    }
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
    ps_scratch_put(marks.seen, marks.nbytes);
    ps_scratch_put(ranks.pairs, 2 * longest * (int64_t)sizeof(ps_keyed));
}

/* Small chunks, which threads pick up, as far as they pay for their tables: a table is
 * cleared at the cost of writing it, 0.1 ns a column. */
static int64_t
chunks_of(const ps_assembly_call *call)
{
    const int64_t wanted = call->n / CHUNK_ENTRIES;
    const int64_t paid = call->n_cols > TABLE_PER_ENTRY * call->n + TABLE_SPARE
                                 ? wanted
                                 : 4 * call->n / (call->n_cols + 1);
    return ps_max(1, ps_min(wanted, paid));
}

/* indptr[row + 1] was the row's count; now it is the sum up to it. */
static ps_status
sum_rows(ps_assembly_call *call, ps_run *run)
{
    int64_t sum = 0;
    ps_put(call->is_wide_result, call->indptr, 0, 0);
    ps_stretch part = ps_stretch_of(run, call->n_rows, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t row = part.first + 1; row <= part.last; row++) {
            sum += ps_at(call->is_wide_result, call->indptr, row);
            ps_put(call->is_wide_result, call->indptr, row, sum);
        }
    }
    call->nnz = sum;
    return ps_run_status(run);
}

/* Does it have fewer numbers than there are contributions? */
static int64_t
copied(const ps_assembly_call *call, const ps_coordinates *part)
{
    return part->address.n < call->n ? part->address.n : 0;
}

/* All work memory in one block, which few contributions feel. False: there is none. */
static bool
open_block(ps_assembly_call *call)
{
    const int64_t rows = copied(call, &call->row), cols = copied(call, &call->col);
    const int64_t count[] = {call->n_rows + 1, call->n, call->n, call->n, rows, cols};
    void **const array[] = {&call->start,    &call->order,      &call->other,
                            &call->distinct, &call->row.number, &call->col.number};
    for (int i = 0; i < 6; i++) {
        call->block_bytes += ps_width_bytes(call->is_wide, count[i]);
    }
    call->block = ps_scratch_get(call->block_bytes);
    int64_t offset = 0;
    for (int i = 0; call->block != NULL && i < 6; i++) {
        *array[i] = count[i] > 0 ? call->block + offset : NULL;
        offset += ps_width_bytes(call->is_wide, count[i]);
    }
    return call->block != NULL;
}

/* The keys of the sort are kept where slots will be written: both are one number for
 * each contribution in the order of the input. */
ps_status
ps_find_slots(void *argument, ps_run *run)
{
    ps_assembly_call *const call = argument;
    if (!ps_fits_buckets(call->n, call->n_rows)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (!open_block(call)) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(ps_copy_coordinates(&call->row, run));
    PS_TRY(ps_copy_coordinates(&call->col, run));
    ps_buckets buckets = {.read = read_numbers,
                          .context = call,
                          .n = call->n,
                          .n_keys = call->n_rows,
                          .is_wide = call->is_wide,
                          .key = call->slot,
                          .start = call->start,
                          .other = call->other,
                          .order = call->order};
    PS_TRY(ps_fill_buckets(&buckets, run));
    call->chunks = chunks_of(call);
    assembling work = {run, call};
    PS_TRY(ps_run_chunks(run, call->chunks, unify_chunk, &work));
    return sum_rows(call, run);
}

/* ---- write ---- */

/* A row whose columns begin at `base`; returns where they end. Its contributions may be
 * anywhere in the input, but those of neighbouring rows mostly are neighbours. */
PS_WIDTH_INLINE int64_t
write_row(const bool is_wide, const ps_assembly_call *call, int64_t row, int64_t base)
{
    const int64_t first = ps_at(is_wide, call->start, row);
    const int64_t last = ps_at(is_wide, call->start, row + 1);
    const int64_t to = ps_at(call->is_wide_result, call->indptr, row);
    const int64_t n = ps_at(call->is_wide_result, call->indptr, row + 1) - to;
    for (int64_t i = 0; i < n; i++) {
        ps_put(call->is_wide_result, call->indices, to + i,
               ps_at(is_wide, call->distinct, base + i));
    }
    for (int64_t i = first; i < last; i++) {
        ps_put(is_wide, call->slot, ps_at(is_wide, call->order, i),
               to + ps_at(is_wide, call->other, i));
    }
    return base + n;
}

/* The chunks are those of unify_chunk, since each has its columns in one stretch. A
 * slot is the place of its column in the row, from where the row begins. */
static void
write_chunk(void *context, int64_t chunk)
{
    const assembling *const work = context;
    const ps_assembly_call *const call = work->call;
    const int64_t first = first_row(call, chunk), last = first_row(call, chunk + 1);
    int64_t unheard = 0, base = start_of(call, first);
    for (int64_t row = first; row < last; row++) {
        const int64_t n = start_of(call, row + 1) - start_of(call, row);
        base = call->is_wide ? write_row(true, call, row, base)
                             : write_row(false, call, row, base);
        if (ps_run_stops_after(work->run, &unheard, (n + 1) * PS_LINE_BYTES)) {
            return;
        }
    }
}

/* Each contribution is written once, by whoever has its row. */
ps_status
ps_write_slots(void *argument, ps_run *run)
{
    ps_assembly_call *const call = argument;
    assembling work = {run, call};
    return ps_run_chunks(run, call->chunks, write_chunk, &work);
}

/* All arrays lie in one block, which is kept for the next call unless it is large. */
void
ps_close_assembly(ps_assembly_call *call)
{
    ps_scratch_put(call->block, call->block_bytes);
}
