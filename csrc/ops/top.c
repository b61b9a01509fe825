/* How far the numbers of an index reach (contract in ops.h).
 *
 * An index without gaps is scanned for the first number that is not below the bound
 * found so far, which needs no copy; only the block that it begins is looked at number
 * by number. Everything else goes through lists.
 */
#include <stddef.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/address.h"
#include "ops/run.h"

enum {
    /* Half a millisecond: the scan takes 0.2 to 1 ns a number.
     * Numbers that are scanned between two looks at signals. */
    STRETCH = 1 << 19
};

/* The largest of n numbers and one, or `top`, n <= PS_BLOCK: in a copy, where negatives
 * and numbers without a successor are -1; *n_bad counts these. */
static int64_t
top_of_block(const ps_index *index, const char *from, int64_t n, int64_t top,
             int64_t *n_bad)
{
    int64_t row[PS_BLOCK];
    *n_bad += ps_kernels()->rows[index->type](
            PS_MODE_DROP, row, from, n, ps_index_itemsize(index->type), INT64_MAX);
    for (int64_t i = 0; i < n; i++) {
        top = row[i] >= top ? row[i] + 1 : top;
    }
    return top;
}

/* Contiguous numbers in native order. Ascending ones begin a block each time, at the
 * price of a copy; ids in any order have a new largest some ten times in a million. */
static ps_status
find_in_plain(ps_top_call *call, ps_run *run)
{
    const ps_index *const index = call->address.index;
    const int64_t n = call->address.n, size = ps_index_itemsize(index->type);
    int64_t n_bad = 0;
    for (int64_t first = 0; first < n;) {
        const char *const from = index->data + first * size;
        const int64_t count = ps_min(STRETCH, n - first);
        const int64_t found = call->top == 0 ? 0
                                             : ps_kernels()->scan[index->type](
                                                       from, count, size, call->top);
        first += found < 0 ? count : found;
        if (found >= 0) {
            const int64_t length = ps_min(PS_BLOCK, n - first);
            call->top = top_of_block(index, index->data + first * size, length,
                                     call->top, &n_bad);
            first += length;
        }
        if (ps_run_stops(run)) {
            return ps_run_status(run);
        }
    }
    /* Both ends of int64 are beyond this scan; ids are neither. */
    const bool may_be_vast = n_bad > 0;
    return may_be_vast && ps_kernels()->scan[index->type](index->data, n, size,
                                                          INT64_MAX) >= 0
                   ? ps_fail(PS_TOO_LARGE)
                   : PS_SUCCESS;
}

/* Any other layout, or a mask: entries that take part, block by block. */

static ps_status
find_in_lists(ps_top_call *call, ps_run *run)
{
    ps_list_room room;
    ps_status status = PS_SUCCESS;
    int64_t unheard = 0;
    call->address.mode = PS_MODE_RAISE; /* takes whatever has a successor */
    if (ps_address_check(&call->address, run).code == PS_INDEX_BAD) {
        return ps_fail(PS_TOO_LARGE);
    }
    call->address.mode = PS_MODE_DROP;
    if (!ps_list_room_open(&room, PS_BLOCK)) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t first = 0; first < call->address.n && status.code == PS_OK;
         first += PS_BLOCK) {
        ps_list list = {.n = 0};
        const int64_t n = ps_min(PS_BLOCK, call->address.n - first);
        status = ps_address_list(&call->address, first, n, &room, &list);
        for (int64_t i = 0; i < list.n && status.code == PS_OK; i++) {
            call->top = list.offset[i] >= call->top ? list.offset[i] + 1 : call->top;
        }
        if (ps_run_stops_after(run, &unheard, n * PS_LINE_BYTES)) {
            status = ps_run_status(run);
        }
    }
    ps_list_room_close(&room);
    return status;
}

/* Axes are merged first: an index that a transpose has turned may be plain after all.
 */
ps_status
ps_find_top(void *argument, ps_run *run)
{
    ps_top_call *const call = argument;
    ps_address *const address = &call->address;
    ps_index *const index = address->index;
    call->top = 0;
    index->size = INT64_MAX;
    index->step = 1;
    ps_address_merge(address, NULL);
    const bool is_plain =
            address->mask == NULL && address->ndim <= 1 && !index->swapped &&
            (address->ndim == 0 || index->strides[0] == ps_index_itemsize(index->type));
    return is_plain ? find_in_plain(call, run) : find_in_lists(call, run);
}
