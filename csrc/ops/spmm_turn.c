/* The spmm op by rows for what is not stored by rows: CSC and unordered COO, whose
 * entries are brought into the order of rows first.
 *
 * A counting sort that keeps the order of equals, so each row meets its entries as they
 * are stored and the bits are those of the other ways. Threads take stretches of the
 * entries: each counts its rows, the counts become places, and each puts its entries
 * there. It costs some 5 ns an entry and a copy of the entries, and pays where rows of
 * the product are wide and there are threads to share them: rows of out then belong to
 * one thread each, and are written once.
 *
 * Another thread may rewrite the row numbers between the two readings. Every place is
 * compared with the room before it is written to, and the columns that come out are
 * checked again where they are used.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "ops/spmm.h"

enum {
    /* Entries that are read and checked at a time. */
    ENTRIES = 512
};

/* A sort on its way. */
typedef struct {
    ps_run *run;
    const ps_spmm_job *work;
    int64_t parts;   /* stretches of entries */
    int64_t *cursor; /* [parts][n_rows]: counts, then places */
    int64_t *offset; /* [n_rows + 1] */
    char *col;       /* [nnz] int32, or int64 where is_wide */
    char *data;      /* [nnz] items; NULL: ones */
    bool is_wide, places;
} turning;

/* One item of 1, 2, 4, 8 or 16 bytes. */
static inline void
copy_item(char *to, const char *from, int64_t itemsize)
{
    switch (itemsize) {
        case 4:
            memcpy(to, from, 4);
            return;
        case 8:
            memcpy(to, from, 8);
            return;
        default:
            memcpy(to, from, (size_t)itemsize);
    }
}

/* Entries [first, first + n), whose rows and columns are given, go to their places. */
static void
place_entries(const turning *turn, int64_t *cursor, int64_t first, int64_t n,
              const int64_t *row, const int64_t *col)
{
    const int64_t nnz = turn->work->a.nnz, itemsize = turn->work->itemsize;
    const char *const data = turn->work->rows.data;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = cursor[row[i]]++;
        if ((uint64_t)at >= (uint64_t)nnz) {
            continue;
        }
        if (turn->is_wide) {
            memcpy(turn->col + 8 * at, &col[i], 8);
        }
        else {
            const int32_t narrow = (int32_t)col[i];
            memcpy(turn->col + 4 * at, &narrow, 4);
        }
        if (turn->data != NULL) {
            copy_item(turn->data + at * itemsize, data + (first + i) * itemsize,
                      itemsize);
        }
    }
}

/* A stretch of entries: count their rows, or put them in their places. Both read the
 * rows block by block and check them in the copy. */
static void
run_part(void *context, int64_t part)
{
    const turning *const turn = context;
    const ps_matrix *const a = &turn->work->a;
    const int64_t share = ps_ceil_div(a->nnz, turn->parts);
    const int64_t first = ps_min(share * part, a->nnz);
    const int64_t last = ps_min(first + share, a->nnz);
    int64_t *const cursor = turn->cursor + part * a->n_rows;
    int64_t row[ENTRIES], col[ENTRIES], unheard = 0;
    int64_t slice = a->format == PS_CSC ? ps_slice_of(a, first) : 0;
    for (int64_t e = first, n; e < last; e += n) {
        n = ps_min(ENTRIES, last - e);
        if (ps_read_places(a, true, e, n, row).code != PS_OK ||
            (a->format == PS_COO && turn->places &&
             ps_read_places(a, false, e, n, col).code != PS_OK)) {
            ps_spmm_note_fault(turn->work);
            return;
        }
        if (!turn->places) {
            for (int64_t i = 0; i < n; i++) {
                cursor[row[i]]++;
            }
        }
        else {
            if (a->format == PS_CSC) {
                ps_read_slices(a, e, n, &slice, col);
            }
            place_entries(turn, cursor, e, n, row, col);
        }
        if (ps_run_stops_after(turn->run, &unheard, n * PS_LINE_BYTES)) {
            return;
        }
    }
}

/* Counts become places: row after row, in a row part after part. */
static void
add_counts(const turning *turn)
{
    const int64_t n_rows = turn->work->a.n_rows;
    int64_t running = 0;
    for (int64_t r = 0; r < n_rows; r++) {
        turn->offset[r] = running;
        for (int64_t part = 0; part < turn->parts; part++) {
            int64_t *const at = turn->cursor + part * n_rows + r;
            const int64_t count = *at;
            *at = running;
            running += count;
        }
    }
    turn->offset[n_rows] = running;
}

/* Count, add up, place. */
static ps_status
sort_entries(turning *turn, int64_t cursor_bytes)
{
    PS_TRY(ps_run_fill(turn->run, turn->cursor, 0, cursor_bytes));
    PS_TRY(ps_run_chunks(turn->run, turn->parts, run_part, turn));
    add_counts(turn);
    turn->places = true;
    return ps_run_chunks(turn->run, turn->parts, run_part, turn);
}

/* The job goes on with the sorted entries as a CSR. */
static ps_status
run_sorted(const turning *turn, ps_spmm_job *work)
{
    ps_spmm_job turned = *work;
    turned.a.format = PS_CSR;
    turned.a.indptr = (ps_numbers){.data = (const char *)turn->offset, .is_wide = true};
    turned.a.col = (ps_numbers){.data = turn->col, .is_wide = turn->is_wide};
    turned.rows.index = turn->col;
    turned.rows.is_wide = turn->is_wide;
    if (turn->data != NULL) {
        turned.rows.data = turn->data;
    }
    return ps_spmm_by_rows(&turned);
}

/* Parts share no counter, and their counters take no more room than the entries. */
ps_status
ps_spmm_by_turning(ps_spmm_job *work)
{
    const int64_t n = work->a.n_rows, nnz = work->a.nnz;
    const int64_t most = ps_max(ps_min(work->run->threads, nnz / n), 1);
    turning turn = {.run = work->run,
                    .work = work,
                    .parts = most,
                    .is_wide = work->a.n_cols > INT32_MAX};
    const int64_t cursor_bytes = 8 * turn.parts * n, offset_bytes = 8 * (n + 1);
    const int64_t col_bytes = nnz * (turn.is_wide ? 8 : 4);
    const int64_t data_bytes = work->rows.data_step > 0 ? nnz * work->itemsize : 0;
    turn.cursor = ps_scratch_get(cursor_bytes);
    turn.offset = ps_scratch_get(offset_bytes);
    turn.col = ps_scratch_get(col_bytes);
    turn.data = data_bytes > 0 ? ps_scratch_get(data_bytes) : NULL;
    ps_status status = PS_SUCCESS;
    if (turn.cursor == NULL || turn.offset == NULL || turn.col == NULL ||
        (data_bytes > 0 && turn.data == NULL)) {
        status = ps_fail(PS_NO_MEMORY);
    }
    if (status.code == PS_OK) {
        status = sort_entries(&turn, cursor_bytes);
    }
    ps_scratch_put(turn.cursor, cursor_bytes);
    if (status.code == PS_OK) {
        status = run_sorted(&turn, work);
    }
    ps_scratch_put(turn.data, data_bytes);
    ps_scratch_put(turn.col, col_bytes);
    ps_scratch_put(turn.offset, offset_bytes);
    return status;
}
