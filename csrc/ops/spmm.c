/* The spmm op: a sparse matrix times dense ones.
 *
 * Two ways give the same bits, since both let the entries of a row meet in the order in
 * which they are stored.
 *   By rows: CSR, and COO whose rows ascend, for which offsets are counted first. A row
 *   of out is made whole in registers and written once. Rows are cut into parts of as
 *   many entries, several for each thread, so that a thread that is held up by others
 *   leaves its parts to the rest; a row is never cut between threads.
 *   By list: CSC and other COO. Entries come as they are stored and meet in rows of out
 *   in memory. Where there are several threads and rows are wide, entries are sorted by
 *   rows first, and then go by rows; where rows are narrow, threads own ranges of rows.
 * Nothing is written to an out that others see before the whole structure has been
 * checked; a private one is filled while it is, and so is one in place of a small out,
 * which is then copied. In both cases the numbers that are used
 * have been checked in registers or in a block of scratch memory.
 */
#include "ops/spmm.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Rows whose offsets are copied at a time, and entries of a list: both stay in the
     * first cache beside the rows that they name. */
    ROWS = 256,
    ENTRIES = 512,
    /* Parts for each thread. Eight leave a held-up thread at most an eighth behind. */
    PARTS = 8,
    /* Bytes that a part moves at least: 10 us, ten times what handing it out costs. */
    PART_BYTES = 64 << 10,
    /* With a beta, sums are made apart from out, in blocks of columns and rows. */
    BLOCK_BYTES = 4096,
    SUM_BYTES = 64 << 10,
    /* Rows of out, and entries, from which sorting first pays on several threads. */
    TURN_BYTES = 256,
    TURN_ENTRIES = 1024,
    /* A result apart from out has at most so many times fewer bytes than the numbers of
     * entries, and as many entries at least: one column of 169,000 rows with 7 entries
     * each takes 0.1 ms for the copy, 0.3 for a scan of the structure. */
    APART_TIMES = 4,
    APART_ENTRIES = 4096
};

/* The work of a batch in bytes, by which parts are made; no more than an int64 holds.
 */
static int64_t
batch_bytes(const ps_spmm_job *work)
{
    int64_t nbytes;
    const int64_t n = work->a.nnz + work->a.n_rows;
    return ps_multiply(n, ps_spmm_entry_bytes(work), &nbytes) ? nbytes : INT64_MAX;
}

/* What both ways need, from a call that is not changed. */
static ps_spmm_job
job_of(const ps_spmm_call *call, ps_run *run)
{
    ps_spmm_job work = {.run = run,
                        .call = call,
                        .kernels = ps_kernels(),
                        .a = call->a,
                        .itemsize = ps_dtype_size[call->type]};
    const bool has_data = call->a.data != NULL;
    work.rows = (ps_sparse_rows){
            .index = call->a.col.data,
            .is_wide = call->a.col.is_wide,
            .nnz = call->a.nnz,
            .size = call->a.n_cols,
            .data = has_data ? call->a.data : call->one,
            .data_step = has_data ? work.itemsize : 0,
            .x_step = call->x_step,
            .out_step = call->out_step,
            .width = call->width,
            .asked = ps_spmm_asked(call->a.n_cols, call->width, work.itemsize),
            .start = call->start};
    work.finish = (ps_row_finish){.width = call->width,
                                  .out_step = call->out_step,
                                  .sum_step = call->out_step,
                                  .is_mean = call->is_mean,
                                  .alpha = call->alpha,
                                  .beta = call->beta,
                                  .empty = call->empty};
    work.finishes = call->is_mean || call->alpha != NULL || call->beta != NULL ||
                    call->empty != NULL;
    return work;
}

/* What has been found by the way is looked for in reading order, so that the message
 * does not depend on threads; if another thread has put it right, that is said. */
static ps_status
fault_of(const ps_spmm_call *call)
{
    PS_TRY(ps_check_matrix(&call->a, NULL));
    return ps_fail(PS_INDEX_CHANGED);
}

/* ---- by rows ---- */

/* Rows side by side that are made at a time. */
typedef struct {
    ps_sparse_rows rows; /* of these columns; out_step is that of `sum` */
    char *sum;           /* of the first row */
    const int64_t *edge; /* [n + 1] */
    int64_t n;
    int64_t most; /* entries between two looks at a signal */
} row_block;

/* A row with more entries than signals may wait for: after the first stretch it goes on
 * from what it holds, which is exact, since sums are kept in the type that they are
 * made in. Returns what kernels do. */
static int64_t
run_long_row(const ps_spmm_job *work, const row_block *block, int64_t row)
{
    const ps_spmm_call *const call = work->call;
    const int64_t end = block->edge[row + 1];
    ps_sparse_rows rows = block->rows;
    int64_t span[2] = {block->edge[row], block->edge[row]}, bad = -1;
    while (bad < 0 && span[1] < end && !ps_run_stops(work->run)) {
        span[0] = span[1];
        span[1] = ps_min(span[0] + block->most, end);
        bad = work->kernels->spmm_rows[call->op][call->type](
                &rows, block->sum + row * rows.out_step, span, 1);
        rows.start = NULL;
    }
    return bad;
}

/* As many rows for each call of the kernel as have no more entries than that. False: a
 * fault, or stop. */
static bool
run_block(const ps_spmm_job *work, const row_block *block)
{
    const ps_spmm_call *const call = work->call;
    const int64_t *const edge = block->edge;
    int64_t next, bad = -1;
    for (int64_t i = 0; i < block->n && bad < 0; i = next) {
        next = edge[block->n] - edge[i] <= block->most ? block->n : i + 1;
        while (next < block->n && edge[next + 1] - edge[i] <= block->most) {
            next++;
        }
        bad = edge[next] - edge[i] > block->most
                      ? run_long_row(work, block, i)
                      : work->kernels->spmm_rows[call->op][call->type](
                                &block->rows, block->sum + i * block->rows.out_step,
                                edge + i, next - i);
        if (bad < 0 && ps_run_stops(work->run)) {
            return false;
        }
    }
    if (bad >= 0) {
        ps_spmm_note_fault(work);
    }
    return bad < 0;
}

/* The same by lists, for types without a kernel for rows. Rows are numbered from that
 * of the block, whose part of the sums stays in the first cache. */
static bool
run_block_by_list(const ps_spmm_job *work, const row_block *block)
{
    int64_t row[ENTRIES], col[ENTRIES], at = 0;
    const int64_t *const edge = block->edge;
    const int64_t most = ps_min(block->most, ENTRIES);
    ps_spmm_fill_rows(work, block->sum, block->rows.out_step, block->rows.width,
                      block->n);
    for (int64_t e = edge[0], n; e < edge[block->n]; e += n) {
        n = ps_min(most, edge[block->n] - e);
        if (ps_read_places(&work->a, false, e, n, col).code != PS_OK) {
            ps_spmm_note_fault(work);
            return false;
        }
        for (int64_t i = 0; i < n; i++) {
            while (edge[at + 1] <= e + i) {
                at++;
            }
            row[i] = at;
        }
        const ps_triplets list = {.row = row, .col = col, .first = e, .n = n};
        work->kernels->spmm_list[work->call->type](work->call->op, &block->rows,
                                                   block->sum, &list);
        if (ps_run_stops(work->run)) {
            return false;
        }
    }
    return true;
}

/* Types and ways to meet that people wait for have one. */
static bool
has_row_kernel(const ps_spmm_job *work)
{
    return work->kernels->spmm_rows[work->call->op][work->call->type] != NULL;
}

/* Columns [column, column + width) of rows [first, last) of a batch. */
static void
run_columns(const ps_spmm_job *work, int64_t chunk, const int64_t *part, int64_t column,
            int64_t width)
{
    const ps_spmm_call *const call = work->call;
    const int64_t batch = chunk / work->parts, shift = column * work->itemsize;
    char *const out = call->out + batch * call->out_batch_step + shift;
    int64_t edge[ROWS + 1];
    row_block block = {.rows = work->rows, .edge = edge};
    block.rows.x = call->x + batch * call->x_batch_step + shift;
    block.rows.width = width;
    block.most = ps_max(PS_LISTEN_BYTES / ps_spmm_entry_bytes(work), 1);
    int64_t most = ROWS;
    if (work->sums != NULL) {
        block.rows.out_step = width * work->itemsize;
        most = ps_min(ROWS, ps_max(work->sum_bytes / block.rows.out_step, 1));
    }
    for (int64_t first = part[0]; first < part[1]; first += block.n) {
        block.n = ps_min(most, part[1] - first);
        if (ps_read_edges(&work->a, first, block.n, edge).code != PS_OK) {
            ps_spmm_note_fault(work);
            return;
        }
        char *const at = out + first * call->out_step;
        block.sum = work->sums != NULL ? work->sums + chunk * work->sum_bytes : at;
        if (!(has_row_kernel(work) ? run_block(work, &block)
                                   : run_block_by_list(work, &block))) {
            return;
        }
        if (work->finishes) {
            ps_row_finish finish = work->finish;
            finish.width = width;
            finish.sum_step = block.rows.out_step;
            work->kernels->spmm_finish[call->type](&finish, at, block.sum, edge,
                                                   block.n);
        }
    }
}

/* One part of one batch. With a beta, a block of columns at a time, so that the sums of
 * a block need little room whatever the width. Parts lie between slices that a binary
 * search finds; in a structure that is not monotone the searches still chain, so every
 * row is in some part and the fault is met. */
static void
run_part(void *context, int64_t chunk)
{
    const ps_spmm_job *const work = context;
    const int64_t part = chunk % work->parts, n = work->a.n_rows;
    const int64_t share = (work->a.nnz + n) / work->parts;
    const int64_t width = work->call->width;
    const int64_t columns =
            work->sums != NULL ? ps_min(width, BLOCK_BYTES / work->itemsize) : width;
    const int64_t rows[2] = {
            part == 0 ? 0 : ps_slice_at(&work->a, share * part),
            part + 1 == work->parts ? n : ps_slice_at(&work->a, share * (part + 1))};
    for (int64_t column = 0; column < width; column += columns) {
        if (ps_run_stops(work->run)) {
            return;
        }
        run_columns(work, chunk, rows, column, ps_min(columns, width - column));
    }
}

/* Enough for all threads, and none too small. */
static int64_t
count_parts(const ps_spmm_job *work)
{
    const int64_t threads = work->run->threads, batch = work->call->batch;
    const int64_t wanted = ps_ceil_div(threads * PARTS, batch);
    const int64_t most = ps_max(batch_bytes(work) / PART_BYTES, 1);
    return threads == 1 ? 1 : ps_max(ps_min(ps_min(wanted, most), work->a.n_rows), 1);
}

/* The room for sums is taken for all chunks before any runs, since a failure then must
 * leave out alone. */
ps_status
ps_spmm_by_rows(ps_spmm_job *work)
{
    const int64_t batch = work->call->batch;
    int64_t chunks, nbytes = 0;
    work->parts = count_parts(work);
    if (!ps_multiply(batch, work->parts, &chunks)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (work->call->beta != NULL) {
        const int64_t width = ps_min(work->call->width, BLOCK_BYTES / work->itemsize);
        const int64_t row_bytes = width * work->itemsize;
        const int64_t rows = ps_max(ps_min(work->a.n_rows, SUM_BYTES / row_bytes), 1);
        work->sum_bytes = rows * row_bytes;
        work->sums = ps_multiply(chunks, work->sum_bytes, &nbytes)
                             ? ps_scratch_get(nbytes)
                             : NULL;
        if (work->sums == NULL) {
            return ps_fail(PS_NO_MEMORY);
        }
    }
    const ps_status status = ps_run_chunks(work->run, chunks, run_part, work);
    ps_scratch_put(work->sums, nbytes);
    return status;
}

/* Offsets of a COO whose rows ascend, in `offset` [n_rows + 1]. False: they do not, or
 * a row is out of bounds. */
static ps_status
count_offsets(const ps_spmm_job *work, int64_t *offset, bool *is_ordered)
{
    int64_t row[ENTRIES], at = 0, unheard = 0;
    offset[0] = 0;
    *is_ordered = true;
    for (int64_t e = 0; e < work->a.nnz && *is_ordered; e += ENTRIES) {
        const int64_t n = ps_min(ENTRIES, work->a.nnz - e);
        PS_TRY(ps_read_places(&work->a, true, e, n, row));
        for (int64_t i = 0; i < n && *is_ordered; i++) {
            *is_ordered = row[i] >= at;
            while (at < row[i]) {
                offset[++at] = e + i;
            }
        }
        if (ps_run_stops_after(work->run, &unheard, 16 * n)) {
            return ps_run_status(work->run);
        }
    }
    while (at < work->a.n_rows) {
        offset[++at] = work->a.nnz;
    }
    return PS_SUCCESS;
}

/* ---- which of them ---- */

/* Wide rows and several threads: sorted by rows first. 64 columns of float32 on two
 * threads are where the sort has paid for itself (1.17e6 entries in 169,000 rows). */
static ps_status
run_unordered(ps_spmm_job *work)
{
    const int64_t row_bytes = work->call->width * work->itemsize;
    const bool turns = work->run->threads > 1 && row_bytes >= TURN_BYTES &&
                       work->a.nnz >= TURN_ENTRIES;
    return turns ? ps_spmm_by_turning(work) : ps_spmm_by_list(work);
}

/* A COO in the order of rows is a CSR without its offsets. Finding that out reads the
 * rows once, which the check would do anyway, and ends at the first that is out of
 * order. */
static ps_status
run_triples(ps_spmm_job *work)
{
    const int64_t nbytes = 8 * (work->a.n_rows + 1);
    int64_t *const offset = ps_scratch_get(nbytes);
    bool is_ordered;
    if (offset == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = count_offsets(work, offset, &is_ordered);
    if (status.code == PS_OK && is_ordered) {
        work->a.format = PS_CSR;
        work->a.indptr = (ps_numbers){.data = (const char *)offset, .is_wide = true};
        status = ps_spmm_by_rows(work);
    }
    else if (status.code == PS_OK) {
        status = run_unordered(work);
    }
    ps_scratch_put(offset, nbytes);
    return status;
}

/* As the entries are stored. */
static ps_status
run_as_stored(ps_spmm_job *work)
{
    const ps_spmm_call *const call = work->call;
    if (!call->is_private) {
        PS_TRY(ps_check_matrix(&call->a, work->run));
    }
    else if (call->a.format == PS_CSR) {
        PS_TRY(ps_check_ends(&call->a));
    }
    else {
        PS_TRY(ps_check_edges(&call->a, work->run));
    }
    work->run->has_written = !call->is_private;
    return call->a.format == PS_CSR   ? ps_spmm_by_rows(work)
           : call->a.format == PS_CSC ? run_unordered(work)
                                      : run_triples(work);
}

static ps_status
run_product(const ps_spmm_call *call, ps_run *run)
{
    ps_spmm_job work = job_of(call, run);
    bool is_done = false;
    if (call->keeping != NULL) {
        PS_TRY(ps_spmm_by_kept(&work, call->keeping, &is_done));
    }
    return is_done ? PS_SUCCESS : run_as_stored(&work);
}

/* Bytes of a result beside an out that others see, if they are so few that a copy costs
 * less than a pass over the structure before the first write; else 0. */
static int64_t
apart_bytes(const ps_spmm_call *call)
{
    const ps_numbers *const places =
            call->a.col.data != NULL ? &call->a.col : &call->a.row;
    const int64_t row_bytes = call->width * ps_dtype_size[call->type];
    int64_t nbytes;
    const bool pays = !call->is_private && call->beta == NULL &&
                      call->a.nnz >= APART_ENTRIES &&
                      ps_multiply(row_bytes, call->batch, &nbytes) &&
                      ps_multiply(nbytes, call->a.n_rows, &nbytes) &&
                      nbytes <= call->a.nnz / APART_TIMES * (places->is_wide ? 8 : 4);
    return pays ? nbytes : 0;
}

/* Finished rows to where others see them, all at once where these lie side by side. */
static ps_status
copy_rows(const ps_spmm_call *from, const ps_spmm_call *to, ps_run *run)
{
    const int64_t step = from->out_step;
    run->has_written = true;
    for (int64_t batch = 0; batch < to->batch; batch++) {
        const char *const rows = from->out + batch * from->out_batch_step;
        char *const out = to->out + batch * to->out_batch_step;
        ps_stretch part = ps_stretch_of(run, to->a.n_rows, step);
        while (ps_next_stretch(&part)) {
            const bool is_whole = to->out_step == step;
            const int64_t n = is_whole ? 1 : part.last - part.first;
            const int64_t nbytes = is_whole ? (part.last - part.first) * step : step;
            for (int64_t i = part.first; i < part.first + n; i++) {
                memcpy(out + i * to->out_step, rows + i * step, (size_t)nbytes);
            }
        }
    }
    return ps_run_status(run);
}

/* The product beside out, filled while the structure is checked. */
static ps_status
run_apart(const ps_spmm_call *call, int64_t nbytes, ps_run *run)
{
    ps_spmm_call apart = *call;
    apart.is_private = true;
    apart.out_step = call->width * ps_dtype_size[call->type];
    apart.out_batch_step = apart.out_step * call->a.n_rows;
    apart.out = ps_scratch_get(nbytes);
    if (apart.out == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = run_product(&apart, run);
    if (status.code == PS_OK) {
        status = copy_rows(&apart, call, run);
    }
    ps_scratch_put(apart.out, nbytes);
    return status;
}

/* Without columns, rows or batches there is nothing to write, and still everything to
 * check. */
ps_status
ps_spmm(void *argument, ps_run *run)
{
    const ps_spmm_call *const call = argument;
    const bool is_empty = call->batch == 0 || call->width == 0 || call->a.n_rows == 0;
    const int64_t nbytes = is_empty ? 0 : apart_bytes(call);
    const ps_status status = is_empty     ? ps_check_matrix(&call->a, run)
                             : nbytes > 0 ? run_apart(call, nbytes, run)
                                          : run_product(call, run);
    return status.code == PS_STRUCTURE_BAD ? fault_of(call) : status;
}
