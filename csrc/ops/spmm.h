/* The spmm op on its way: what its two ways, by rows and by list, share. */
#ifndef PS_OPS_SPMM_H
#define PS_OPS_SPMM_H

#include "base/sizes.h"
#include "ops/sparse_products.h"
#include "ops/run.h"

typedef struct {
    ps_run *run;
    const ps_spmm_call *call;
    const ps_kernel_table *kernels;
    ps_matrix a; /* the call's, or the offsets of an ordered COO */
    ps_sparse_rows rows;
    ps_row_finish finish;
    bool finishes;
    int64_t itemsize;
    int64_t parts; /* of each batch */
    char *sums;    /* with a beta: of each chunk, or of all of out; else NULL */
    int64_t sum_bytes;
    int64_t *count; /* by list: of each row, as offsets; NULL: not wanted */
} ps_spmm_job;

/* Bytes that an entry moves. */
static inline int64_t
ps_spmm_entry_bytes(const ps_spmm_job *work)
{
    return 16 + ps_max(work->rows.width * work->itemsize, 8);
}

/* Bytes of a row that are asked for ahead of time. Matrices of up to 128 KiB are near
 * anyway; of a wide row what comes later is fetched as it is walked along. */
static inline int64_t
ps_spmm_asked(int64_t n, int64_t width, int64_t itemsize)
{
    const int64_t row_bytes = width * itemsize;
    return width == 1 || n <= (128 << 10) / row_bytes ? 0 : ps_min(row_bytes, 1024);
}

/* Something in the structure is wrong. What, is looked for in reading order when all
 * have stopped, so that the message does not depend on threads. */
static inline void
ps_spmm_note_fault(const ps_spmm_job *work)
{
    ps_run_fail(work->run, PS_STRUCTURE_BAD);
}

/* `n` copies of one element. */
static inline void
ps_spmm_fill(char *to, const void *element, int64_t itemsize, int64_t n)
{
    const int64_t nbytes = n * itemsize;
    memcpy(to, element, (size_t)itemsize);
    for (int64_t done = itemsize; done < nbytes; done += done) {
        memcpy(to + done, to, (size_t)ps_min(done, nbytes - done));
    }
}

/* Rows that begin anew, of which `step` bytes lie from one to the next. */
static inline void
ps_spmm_fill_rows(const ps_spmm_job *work, char *rows, int64_t step, int64_t width,
                  int64_t n)
{
    const int64_t row_bytes = width * work->itemsize;
    const bool is_whole = step == row_bytes;
    for (int64_t r = 0; r < (is_whole ? 1 : n); r++) {
        ps_spmm_fill(rows + r * step, work->call->start, work->itemsize,
                     is_whole ? n * width : width);
    }
}

/* CSR, and what has been made to look like it. */
ps_status ps_spmm_by_rows(ps_spmm_job *work);

/* CSC whose entries by rows are kept. *is_done: false where this does not pay, or is no
 * longer right, and nothing has been written. */
ps_status ps_spmm_by_kept(ps_spmm_job *work, ps_keeping *keeping, bool *is_done);

/* CSC and COO, sorted by rows first. */
ps_status ps_spmm_by_turning(ps_spmm_job *work);

/* Entries as they are stored meet in memory: CSC, COO in any order. */
ps_status ps_spmm_by_list(ps_spmm_job *work);

#endif
