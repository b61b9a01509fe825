/* What entries say of their groups beside sums: where extremes are, and squared
 * distances from a centre (contract in ops.h).
 *
 * One thread walks the entries in blocks; kernels check ids as they read them.
 * Splitting the groups among threads would have each of them read all ids; up to a
 * thousand groups the passes take 1 ns an entry, which leaves nothing to win.
 */
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/ops.h"
#include "ops/run.h"

enum {
    /* Entries whose ids are copied at a time, to 16 KiB of the stack. */
    BLOCK = 2048,
    /* Elements of a block at most. */
    STRETCH = 1 << 19
};

/* Visit n entries from `first` on; index holds their ids. Returns how many of these are
 * out of bounds. */
typedef int64_t (*visit_fn)(const ps_visit_call *call, bool is_wide, const char *index,
                            int64_t first, int64_t n);

static int64_t
visit_find(const ps_visit_call *call, bool is_wide, const char *index, int64_t first,
           int64_t n)
{
    const int64_t nbytes = call->width * ps_dtype_size[call->type];
    return ps_kernels()->find_checked[call->op][call->type](
            is_wide, call->result, call->place, call->ids.size, index,
            call->values + first * nbytes, first, n, call->width);
}

static int64_t
visit_deviate(const ps_visit_call *call, bool is_wide, const char *index, int64_t first,
              int64_t n)
{
    const int64_t nbytes = call->width * ps_dtype_size[call->type];
    return ps_kernels()->deviate_checked[call->type](
            is_wide, call->result, call->centre, call->ids.size, index,
            call->values + first * nbytes, n, call->width);
}

/* Contiguous ids of the usual types are read where they are, others through rows. */
static ps_status
visit_all(ps_visit_call *call, ps_run *run, visit_fn visit)
{
    const ps_index *const ids = &call->ids;
    const bool is_wide = ids->type == PS_INDEX_i64;
    const bool is_plain = (is_wide || ids->type == PS_INDEX_i32) &&
                          ids->strides[0] == ps_index_itemsize(ids->type);
    const int64_t block = ps_max(1, ps_min(BLOCK, STRETCH / ps_max(1, call->width)));
    const int64_t nbytes = ps_max(PS_LINE_BYTES, call->width * 8);
    int64_t row[BLOCK];
    int64_t unheard = 0;
    for (int64_t first = 0; first < call->n; first += block) {
        const int64_t n = ps_min(block, call->n - first);
        const char *const from = ids->data + first * ids->strides[0];
        if (is_plain) {
            call->n_bad += visit(call, is_wide, from, first, n);
        }
        else {
            ps_kernels()->rows[ids->type](PS_MODE_DROP, row, from, n, ids->strides[0],
                                          ids->size);
            call->n_bad += visit(call, true, (const char *)row, first, n);
        }
        if (ps_run_stops_after(run, &unheard, n * nbytes)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

ps_status
ps_find(ps_visit_call *call, ps_run *run)
{
    const int64_t places = call->ids.size * call->width;
    PS_TRY(ps_run_fill(run, call->place, 0xff, places * (int64_t)sizeof(int64_t)));
    return visit_all(call, run, visit_find);
}

ps_status
ps_deviate(ps_visit_call *call, ps_run *run)
{
    return visit_all(call, run, visit_deviate);
}
