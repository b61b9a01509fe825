/* The spmm op by rows for a CSC whose entries by rows are kept (transpose.h).
 *
 * A product of a container makes them from the second time on, and the products after
 * it go as those of a CSR do: on all threads, each row of out made in registers and
 * written once. Values are the caller's of each call, brought into the order of rows
 * first. Rows meet their entries as they are stored, so the bits are those of the other
 * ways.
 *
 * What is kept is a copy that has been checked. It is compared with the caller's arrays
 * before anything is written; where these have changed the call goes another way, and
 * tells whoever keeps it.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "ops/spmm.h"

enum {
    /* Bytes of a row of out from which it pays, on one thread and on several. On one,
     * 64 columns of float32 take as long or up to a quarter less, 16 a fifth more,
     * since values have to be brought into order; on two, 32 take as long or a tenth
     * less, and 64 two thirds (1.17e6 entries in 169,000 rows, Zen 3). */
    ALONE_BYTES = 256,
    SHARED_BYTES = 128,
    /* Fewer entries take microseconds in any way. */
    KEPT_ENTRIES = 1024
};

/* Are entries that are kept better than those of the matrix as it lies? */
static bool
pays(const ps_spmm_job *work)
{
    const int64_t least = work->run->threads > 1 ? SHARED_BYTES : ALONE_BYTES;
    return work->a.nnz >= KEPT_ENTRIES && work->rows.width * work->itemsize >= least;
}

/* The job goes on with these entries as a CSR, which nobody else writes to. */
static ps_status
run_by_rows(const ps_spmm_job *work, const ps_row_order *kept, char *data)
{
    ps_spmm_job turned = *work;
    turned.a.format = PS_CSR;
    turned.a.indptr =
            (ps_numbers){.data = (const char *)kept->start, .is_wide = kept->is_wide};
    turned.a.col =
            (ps_numbers){.data = (const char *)kept->col, .is_wide = kept->is_wide};
    turned.rows.index = kept->col;
    turned.rows.is_wide = kept->is_wide;
    if (data != NULL) {
        PS_TRY(ps_order_items(kept, work->rows.data, work->itemsize, data, work->run));
        turned.rows.data = data;
    }
    return ps_spmm_by_rows(&turned);
}

/* Is there something kept to go by, made now or still true? Memory that is refused is
 * no reason to fail. */
static ps_status
make_ready(const ps_spmm_job *work, ps_keeping *keeping, bool *is_ready)
{
    ps_status status;
    *is_ready = false;
    if (keeping->makes) {
        status = ps_make_row_order(&work->a, keeping->turned, work->run);
        *is_ready = keeping->is_made = status.code == PS_OK;
    }
    else {
        status = ps_compare_row_order(keeping->turned, &work->a, work->run, is_ready);
        keeping->is_stale = status.code == PS_OK && !*is_ready;
    }
    return status.code == PS_NO_MEMORY || status.code == PS_TOO_LARGE ? PS_SUCCESS
                                                                      : status;
}

ps_status
ps_spmm_by_kept(ps_spmm_job *work, ps_keeping *keeping, bool *is_done)
{
    const int64_t nbytes = work->rows.data_step > 0 ? work->a.nnz * work->itemsize : 0;
    bool is_ready;
    *is_done = false;
    if (!pays(work)) {
        return PS_SUCCESS;
    }
    PS_TRY(make_ready(work, keeping, &is_ready));
    char *const data = is_ready && nbytes > 0 ? ps_scratch_get(nbytes) : NULL;
    if (!is_ready || (nbytes > 0 && data == NULL)) {
        return PS_SUCCESS;
    }
    work->run->has_written = !work->call->is_private;
    const ps_status status = run_by_rows(work, keeping->turned, data);
    ps_scratch_put(data, nbytes);
    *is_done = true;
    return status;
}
