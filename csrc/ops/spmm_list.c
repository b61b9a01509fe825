/* The spmm op by list: entries meet rows of out in memory, in the order in which they
 * are stored.
 *
 * CSC with a kernel of its own goes straight from the caller's row numbers, on one
 * thread for each batch: rows that are wide enough for more are sorted first
 * (spmm_turn.c). For other types and COO each thread owns a range of rows, goes through
 * all entries, block by block in scratch, and keeps its own. No two chunks share an
 * element, and each meets its entries in order: that is why threads leave no trace in
 * the bits.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "ops/spmm.h"

enum {
    /* Entries of a list, and slices whose offsets are copied at a time: a few KiB,
     * which stay in the first cache. */
    ENTRIES = 512,
    SLICES = 256
};

/* What a chunk makes, and from what: rows [rows[0], rows[1]) of one batch. */
typedef struct {
    int64_t rows[2];
    ps_sparse_rows entries; /* of this batch's x */
    char *out, *sum;        /* of row 0; the same without a beta */
} area;

/* Rows are shared out evenly, since a list says nothing of how many entries each has.
 */
static area
area_of(const ps_spmm_job *work, int64_t chunk)
{
    const ps_spmm_call *const call = work->call;
    const int64_t batch = chunk / work->parts, part = chunk % work->parts;
    const int64_t n = work->a.n_rows, share = ps_ceil_div(n, work->parts);
    area made = {.rows = {ps_min(share * part, n), ps_min(share * (part + 1), n)},
                 .entries = work->rows,
                 .out = call->out + batch * call->out_batch_step};
    made.entries.x = call->x + batch * call->x_batch_step;
    made.sum = work->sums == NULL ? made.out
                                  : work->sums + batch * n * work->rows.out_step;
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
            next = edge[n] - edge[i] <= most ? n : i + 1;
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

/* Rows of the area are finished where they lie, a block at a time for the signals; with
 * a beta they join out. */
static void
finish_area(const ps_spmm_job *work, const area *made)
{
    const int64_t step = work->rows.out_step;
    ps_row_finish finish = work->finish;
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

/* Sums begin in memory that nobody has written to yet: the area is filled first. */
static void
run_area(void *context, int64_t chunk)
{
    const ps_spmm_job *const work = context;
    const area made = area_of(work, chunk);
    const int64_t width = made.entries.width;
    int64_t unheard = 0;
    for (int64_t r = made.rows[0], n; r < made.rows[1]; r += n) {
        n = ps_min(SLICES, made.rows[1] - r);
        ps_spmm_fill_rows(work, made.sum + r * work->rows.out_step, work->rows.out_step,
                          width, n);
        if (ps_run_stops_after(work->run, &unheard, n * width * work->itemsize)) {
            return;
        }
    }
    if ((has_slices(work) ? run_slices(work, &made) : run_entries(work, &made)) &&
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

/* All memory is taken before the first area is begun. With a beta, sums are made beside
 * out, since alpha multiplies what is finished. */
ps_status
ps_spmm_by_list(ps_spmm_job *work)
{
    const ps_spmm_call *const call = work->call;
    const int64_t batch = call->batch, n = work->a.n_rows;
    const int64_t count_bytes = work->finishes ? 8 * (n + 1) : 0;
    int64_t chunks, row_bytes = call->width * work->itemsize, sum_bytes = 0;
    const int64_t owners = ps_min(work->run->threads / batch, n);
    work->parts = has_slices(work) || work->a.nnz <= ENTRIES ? 1 : ps_max(owners, 1);
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
