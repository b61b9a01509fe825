/* The spmm op by list: entries meet rows of out in memory, in the order in which they
 * are stored.
 *
 * What a chunk makes is an area of out. One thread makes all of it; CSC with a kernel
 * of its own goes straight from the caller's row numbers. Several threads part the
 * columns where a row has enough lines for that, since each then does nothing twice but
 * read the structure; else each owns a range of rows, goes through all entries, block
 * by block in scratch, and keeps its own. No two areas
 * share an element, and each meets its entries in order:
 * that is why threads leave no trace in the bits.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "ops/spmm.h"

enum {
    /* Entries of a list, and slices whose offsets are copied at a time: a few KiB,
     * which stay in the first cache. */
    ENTRIES = 512,
    SLICES = 256,
    /* Bytes of a part of columns at least: two lines, which are fetched together. */
    COLUMN_BYTES = 128,
    /* Parts of columns for each thread. More would read the structure more often than
     * they save in waiting. */
    PARTS = 2
};

/* What a chunk makes, and from what: rows [rows[0], rows[1]) and columns of one batch.
 */
typedef struct {
    int64_t rows[2], batch;
    ps_sparse_rows entries; /* of these columns of x */
    char *out, *sum;        /* of row 0 in these columns; the same without a beta */
} area;

/* Parts of columns begin at whole lines, or two threads would write to one. */
static area
area_of(const ps_spmm_job *work, int64_t chunk)
{
    const ps_spmm_call *const call = work->call;
    const int64_t batch = chunk / work->parts, part = chunk % work->parts;
    const int64_t n = work->a.n_rows, width = call->width;
    const int64_t unit = work->parts_columns ? COLUMN_BYTES / work->itemsize : 1;
    const int64_t whole = ps_ceil_div(work->parts_columns ? width : n, unit);
    const int64_t share = ps_ceil_div(whole, work->parts) * unit;
    const int64_t low = share * part, high = share * (part + 1);
    area made = {.rows = {0, n}, .batch = batch, .entries = work->rows};
    int64_t shift = 0;
    if (work->parts_columns) {
        shift = ps_min(low, width) * work->itemsize;
        made.entries.width = ps_min(high, width) - ps_min(low, width);
        made.entries.asked =
                ps_min(work->rows.asked, made.entries.width * work->itemsize);
    }
    else {
        made.rows[0] = ps_min(low, n);
        made.rows[1] = ps_min(high, n);
    }
    made.entries.x = call->x + batch * call->x_batch_step + shift;
    made.out = call->out + batch * call->out_batch_step + shift;
    made.sum = work->sums == NULL
                       ? made.out
                       : work->sums + batch * n * work->rows.out_step + shift;
    return made;
}

/* Entries [first, first + n) as they are stored: their rows and columns, checked in the
 * copy. The columns of a CSC are its slices, along which *slice goes from block to
 * block. */
static bool
read_entries(const ps_spmm_job *work, int64_t first, int64_t n, int64_t *slice,
             int64_t *row, int64_t *col)
{
    if (ps_read_places(&work->a, true, first, n, row).code != PS_OK ||
        (work->a.format == PS_COO &&
         ps_read_places(&work->a, false, first, n, col).code != PS_OK)) {
        ps_spmm_note_fault(work);
        return false;
    }
    if (work->a.format == PS_CSC) {
        ps_read_slices(&work->a, first, n, slice, col);
    }
    return true;
}

/* Each owner sees all entries in the order in which they are stored, so its rows meet
 * theirs in that order, whatever the others do. Keep the entries whose rows are in
 * [range[0], range[1]), in order and without a branch. */
static ps_triplets
keep_own(const int64_t *range, int64_t first, int64_t n, int64_t *row, int64_t *col,
         int64_t *entry)
{
    const uint64_t size = (uint64_t)(range[1] - range[0]);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t r = row[i], c = col[i];
        row[kept] = r;
        col[kept] = c;
        entry[kept] = first + i;
        kept += (uint64_t)(r - range[0]) < size;
    }
    return (ps_triplets){.row = row, .col = col, .entry = entry, .n = kept};
}

/* All entries, block by block; those of other owners are dropped, which costs 1 ns
 * each. False: a fault, or stop. */
static bool
run_entries(const ps_spmm_job *work, const area *made)
{
    const ps_spmm_call *const call = work->call;
    const int64_t entry_bytes = ps_spmm_entry_bytes(work);
    const int64_t most = ps_min(ps_max(PS_LISTEN_BYTES / entry_bytes, 1), ENTRIES);
    const bool is_all = made->rows[1] - made->rows[0] == work->a.n_rows;
    int64_t row[ENTRIES], col[ENTRIES], entry[ENTRIES], slice = 0, unheard = 0;
    for (int64_t e = 0, n; e < work->a.nnz; e += n) {
        n = ps_min(most, work->a.nnz - e);
        if (!read_entries(work, e, n, &slice, row, col) ||
            ps_run_stops_after(work->run, &unheard, n * entry_bytes)) {
            return false;
        }
        const ps_triplets list =
                is_all ? (ps_triplets){.row = row, .col = col, .first = e, .n = n}
                       : keep_own(made->rows, e, n, row, col, entry);
        work->kernels->spmm_list[call->type](call->op, &made->entries, made->sum,
                                             &list);
    }
    return true;
}

/* A slice with more entries than signals may wait for, in stretches: rows lie in memory
 * anyway. Returns what kernels do. */
static int64_t
run_long_slice(const ps_spmm_job *work, const area *made, const ps_sparse_rows *entries,
               const int64_t *edge, int64_t most)
{
    int64_t span[2] = {edge[0], edge[0]}, bad = -1;
    while (bad < 0 && span[1] < edge[1] && !ps_run_stops(work->run)) {
        span[0] = span[1];
        span[1] = ps_min(span[0] + most, edge[1]);
        bad = work->kernels->spmm_slices[work->call->type](entries, made->sum, span, 1);
    }
    return bad;
}

/* A row of x for each slice; the kernel takes several, whose rows of x follow each
 * other. As many slices for each call of the kernel as have no more entries than that.
 * False: a fault, or stop. */
static bool
run_slices(const ps_spmm_job *work, const area *made)
{
    const int64_t n_slices = work->a.n_cols;
    const int64_t most = ps_max(PS_LISTEN_BYTES / ps_spmm_entry_bytes(work), 1);
    ps_sparse_rows entries = made->entries;
    int64_t edge[SLICES + 1], bad = -1;
    for (int64_t first = 0, n; first < n_slices && bad < 0; first += n) {
        n = ps_min(SLICES, n_slices - first);
        bad = ps_read_edges(&work->a, first, n, edge).code == PS_OK ? -1 : 0;
        for (int64_t i = 0, next; i < n && bad < 0; i = next) {
            next = i + 1;
            while (next < n && edge[next + 1] - edge[i] <= most) {
                next++;
            }
            entries.x = made->entries.x + (first + i) * entries.x_step;
            bad = edge[next] - edge[i] > most
                          ? run_long_slice(work, made, &entries, edge + i, most)
                          : work->kernels->spmm_slices[work->call->type](
                                    &entries, made->sum, edge + i, next - i);
            if (bad < 0 && ps_run_stops(work->run)) {
                return false;
            }
        }
    }
    if (bad >= 0) {
        ps_spmm_note_fault(work);
    }
    return bad < 0;
}

/* Rows of the area are finished where they lie; with a beta they join out. */
static void
finish_area(const ps_spmm_job *work, const area *made)
{
    const int64_t step = work->rows.out_step;
    ps_row_finish finish = work->finish;
    finish.width = made->entries.width;
    finish.sum_step = step;
    for (int64_t r = made->rows[0], n; r < made->rows[1]; r += n) {
        n = ps_min(SLICES, made->rows[1] - r);
        work->kernels->spmm_finish[work->call->type](
                &finish, made->out + r * finish.out_step, made->sum + r * step,
                work->count + r, n);
        if (ps_run_stops(work->run)) {
            return;
        }
    }
}

/* Sums of floats, doubles and complex numbers of a CSC go without lists, which would
 * cost 2 ns an entry. */
static bool
has_slices(const ps_spmm_job *work)
{
    return work->a.format == PS_CSC && work->call->op == PS_add_times &&
           work->kernels->spmm_slices[work->call->type] != NULL;
}

/* Sums begin in memory that nobody has written to yet: the area is filled first. An
 * owner's rows are a part of all, and then lists say which entries are its. */
static void
run_area(void *context, int64_t chunk)
{
    const ps_spmm_job *const work = context;
    const area made = area_of(work, chunk);
    const int64_t width = made.entries.width;
    const bool is_all = made.rows[1] - made.rows[0] == work->a.n_rows;
    int64_t unheard = 0;
    for (int64_t r = made.rows[0]; r < made.rows[1] && width > 0; r++) {
        ps_spmm_fill(made.sum + r * work->rows.out_step, work->call->start,
                     work->itemsize, width);
        if (ps_run_stops_after(work->run, &unheard, width * work->itemsize)) {
            return;
        }
    }
    if (width > 0 &&
        (has_slices(work) && is_all ? run_slices(work, &made)
                                    : run_entries(work, &made)) &&
        work->finishes) {
        finish_area(work, &made);
    }
}

/* count[r + 1] - count[r] = entries of row r, as offsets of a CSR would have it, since
 * means and empty rows ask for it in that form. */
static ps_status
count_rows(const ps_spmm_job *work)
{
    int64_t row[ENTRIES], unheard = 0;
    PS_TRY(ps_run_fill(work->run, work->count, 0, (work->a.n_rows + 1) * 8));
    for (int64_t e = 0, n; e < work->a.nnz; e += n) {
        n = ps_min(ENTRIES, work->a.nnz - e);
        PS_TRY(ps_read_places(&work->a, true, e, n, row));
        for (int64_t i = 0; i < n; i++) {
            work->count[row[i] + 1]++;
        }
        if (ps_run_stops_after(work->run, &unheard, n * PS_LINE_BYTES)) {
            return ps_run_status(work->run);
        }
    }
    for (int64_t r = 0; r < work->a.n_rows; r++) {
        work->count[r + 1] += work->count[r];
    }
    return PS_SUCCESS;
}

/* How many areas a batch falls into, and along which axis. A single column of a CSC
 * stays with one thread: going through the entries is all the work there is. */
static void
choose_parts(ps_spmm_job *work)
{
    const int64_t threads = work->run->threads / work->call->batch;
    const int64_t row_bytes = work->call->width * work->itemsize;
    const int64_t columns = ps_min(row_bytes / COLUMN_BYTES, threads * PARTS);
    work->parts = 1;
    work->parts_columns = has_slices(work);
    if (threads > 1 && work->parts_columns && columns > 1) {
        work->parts = columns;
    }
    else if (threads > 1 && work->a.nnz > ENTRIES &&
             !(work->parts_columns && work->call->width == 1)) {
        work->parts_columns = false;
        work->parts = ps_min(threads, work->a.n_rows);
    }
}

/* All memory is taken before the first area is begun. With a beta, sums are made beside
 * out, since alpha multiplies what is finished. */
ps_status
ps_spmm_by_list(ps_spmm_job *work)
{
    const ps_spmm_call *const call = work->call;
    const int64_t batch = call->batch, n = work->a.n_rows;
    const int64_t count_bytes = work->finishes ? 8 * (n + 1) : 0;
    int64_t chunks, row_bytes = call->width * work->itemsize, sum_bytes = 0;
    choose_parts(work);
    work->rows.asked = ps_spmm_asked(n, call->width, work->itemsize);
    if (has_slices(work)) {
        work->rows.index = work->a.row.data;
        work->rows.is_wide = work->a.row.is_wide;
        work->rows.size = n;
    }
    if (!ps_multiply(batch, work->parts, &chunks) ||
        (call->beta != NULL && (!ps_multiply(n, row_bytes, &sum_bytes) ||
                                !ps_multiply(sum_bytes, batch, &sum_bytes)))) {
        return ps_fail(PS_TOO_LARGE);
    }
    ps_status status = PS_SUCCESS;
    work->count = count_bytes > 0 ? ps_scratch_get(count_bytes) : NULL;
    work->sums = sum_bytes > 0 ? ps_scratch_get(sum_bytes) : NULL;
    if ((count_bytes > 0 && work->count == NULL) ||
        (sum_bytes > 0 && work->sums == NULL)) {
        status = ps_fail(PS_NO_MEMORY);
    }
    if (status.code == PS_OK && count_bytes > 0) {
        status = count_rows(work);
    }
    if (status.code == PS_OK) {
        work->rows.out_step = sum_bytes > 0 ? row_bytes : call->out_step;
        status = ps_run_chunks(work->run, chunks, run_area, work);
    }
    ps_scratch_put(work->sums, sum_bytes);
    ps_scratch_put(work->count, count_bytes);
    return status;
}
