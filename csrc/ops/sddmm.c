/* The sddmm op: inner products at the entries of a sparse matrix.
 *
 * Entries are cut into parts of equal number, several for each thread; what one entry
 * becomes depends on nothing else. In a part, a block of entries at a time is read into
 * scratch, checked there, and handed to the kernel, which has a fixed order for the
 * products of two rows (kernels/sddmm.tmpl.h).
 */
#include "ops/sparse_products.h"

#include <stddef.h>

#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Entries of a block: its rows and columns stay in the first cache. */
    ENTRIES = 512,
    /* Parts for each thread, and entries of a part at least: as for products. */
    PARTS = 8,
    PART_ENTRIES = 2048,
    /* Dense matrices up to this size are near anyway: nothing is asked for. */
    NEAR_BYTES = 128 << 10,
    ASKED_BYTES = 1024
};

typedef struct {
    ps_run *run;
    const ps_sddmm_call *call;
    const ps_kernel_table *kernels;
    int64_t itemsize;
    int64_t parts; /* of each batch */
} job;

/* Rows and columns of entries [first, first + n). One of the two is said by offsets,
 * along which *slice goes from block to block. */
static ps_status
read_entries(const ps_matrix *a, int64_t first, int64_t n, int64_t *slice, int64_t *row,
             int64_t *col)
{
    if (a->format != PS_COO) {
        ps_read_slices(a, first, n, slice, a->format == PS_CSR ? row : col);
    }
    if (a->format != PS_CSR) {
        PS_TRY(ps_read_places(a, true, first, n, row));
    }
    return a->format != PS_CSC ? ps_read_places(a, false, first, n, col) : PS_SUCCESS;
}

/* A number times one is itself, unless it is complex: an infinity meets the zero. */
static bool
has_ones(const ps_sddmm_call *call)
{
    return call->scales && call->a.data == NULL &&
           ps_dtype_kind[call->type] == PS_KIND_COMPLEX;
}

/* Of a block of entries. */
static void
fill_ones(enum ps_dtype type, char *ones)
{
    for (int64_t i = 0; i < ENTRIES; i++) {
        if (type == PS_c64) {
            ((f32 *)(void *)ones)[2 * i] = 1;
        }
        else {
            ((f64 *)(void *)ones)[2 * i] = 1;
        }
    }
}

/* A part of a batch. What kernels see has been checked in the block. The rows of y come
 * in no order and are asked for where y is too large to be near; those of x follow each
 * other in a CSR, and in the other formats the out-of-order core reaches far enough. */
static void
run_part(void *context, int64_t chunk)
{
    const job *const work = context;
    const ps_sddmm_call *const call = work->call;
    const int64_t batch = chunk / work->parts, part = chunk % work->parts;
    const int64_t nnz = call->a.nnz, share = ps_ceil_div(nnz, work->parts);
    const int64_t last = ps_min(share * (part + 1), nnz);
    const int64_t row_bytes = call->width * work->itemsize;
    const bool is_near = row_bytes == 0 || call->a.n_cols <= NEAR_BYTES / row_bytes;
    ps_dots dots = {.x = call->x + batch * call->x_batch_step,
                    .y = call->y + batch * call->y_batch_step,
                    .x_step = call->x_step,
                    .y_step = call->y_step,
                    .width = call->width,
                    .asked = is_near ? 0 : ps_min(row_bytes, ASKED_BYTES)};
    _Alignas(16) char ones[16 * ENTRIES];
    if (has_ones(call)) {
        memset(ones, 0, sizeof(ones));
        fill_ones(call->type, ones);
        dots.data = ones;
    }
    const int64_t most = ps_min(
            ENTRIES, ps_max(PS_LISTEN_BYTES / (2 * row_bytes + PS_LINE_BYTES), 1));
    int64_t row[ENTRIES], col[ENTRIES], first = ps_min(share * part, nnz);
    int64_t slice = call->a.format != PS_COO ? ps_slice_of(&call->a, first) : 0;
    for (int64_t n; first < last && !ps_run_stops(work->run); first += n) {
        n = ps_min(most, last - first);
        if (read_entries(&call->a, first, n, &slice, row, col).code != PS_OK) {
            ps_run_fail(work->run, PS_STRUCTURE_BAD);
            return;
        }
        char *const out = call->out + (batch * nnz + first) * work->itemsize;
        if (call->a.data != NULL) {
            dots.data = call->a.data + first * work->itemsize;
        }
        work->kernels->sddmm[call->type](&dots, out, row, col, n);
    }
}

/* A visible out waits for the check of everything; a fresh one is filled beside it, and
 * only the offsets are checked first, since their blocks are taken for granted. A fault
 * is looked for in reading order once all have stopped. */
ps_status
ps_sddmm(void *argument, ps_run *run)
{
    const ps_sddmm_call *const call = argument;
    job work = {.run = run,
                .call = call,
                .kernels = ps_kernels(),
                .itemsize = ps_dtype_size[call->type]};
    int64_t chunks;
    if (!call->is_private || call->batch == 0) {
        PS_TRY(ps_check_matrix(&call->a, run));
    }
    else {
        PS_TRY(ps_check_edges(&call->a, run));
    }
    const int64_t most = ps_ceil_div(call->a.nnz, PART_ENTRIES);
    work.parts = run->threads == 1
                         ? 1
                         : ps_max(ps_min((int64_t)run->threads * PARTS, most), 1);
    if (!ps_multiply(call->batch, work.parts, &chunks)) {
        return ps_fail(PS_TOO_LARGE);
    }
    run->has_written = !call->is_private;
    const ps_status status = ps_run_chunks(run, chunks, run_part, &work);
    if (status.code != PS_STRUCTURE_BAD) {
        return status;
    }
    PS_TRY(ps_check_matrix(&call->a, NULL));
    return ps_fail(PS_INDEX_CHANGED);
}
