/* Rows or columns of contributions (contract in coordinates.h).
 *
 * Numbers that are as many as the contributions are read as any index is, block by
 * block through lists (address.h), which check them in their copy. Element matrices
 * give a number for each of their rows, which is broadcast along them: runs of three or
 * four numbers, of which each would cost a call of a kernel. Such numbers are copied
 * once, checked, and spread from the copy by a walk, at 2 ns a contribution.
 */
#include "ops/coordinates.h"

#include <string.h>

#include "base/sizes.h"
#include "ops/address.h"
#include "ops/buckets.h"
#include "ops/run.h"
#include "ops/strided.h"

/* Numbers [first, first + n) of one index, checked in the copy. */
static ps_status
read_index(const ps_address *address, int64_t first, int64_t n, int64_t *number)
{
    ps_list_room room;
    ps_list list;
    if (!ps_list_room_open(&room, n)) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    for (int64_t done = 0; done < n && status.code == PS_OK; done += room.capacity) {
        const int64_t count = ps_min(room.capacity, n - done);
        status = ps_address_list(address, first + done, count, &room, &list);
        if (status.code == PS_OK) {
            memcpy(number + done, list.offset, (size_t)count * sizeof(*number));
        }
    }
    ps_list_room_close(&room);
    return status;
}

/* Numbers of contributions [first, first + n) from a copy that is broadcast. */
PS_WIDTH_INLINE void
spread(const bool is_wide, const ps_coordinates *part, int64_t first, int64_t n,
       int64_t *number)
{
    ps_walk at;
    ps_walk_to(&at, part->ndim, part->shape, first);
    int64_t offset = ps_walk_offset(&at, part->step), done = 0;
    const int64_t step = ps_inner_stride(part->ndim, part->step);
    while (done < n) {
        const int64_t left = ps_min(n - done, ps_walk_left(&at));
        for (int64_t i = 0; i < left; i++) {
            number[done + i] = ps_at(is_wide, part->number, offset + i * step);
        }
        done += left;
        ps_walk_on(&at, part->step, &offset);
    }
}

/* The copy of numbers that are broadcast: short runs of an index cost more than this.
 */
ps_status
ps_copy_coordinates(ps_coordinates *part, ps_run *run)
{
    int64_t number[PS_BUCKET_BLOCK];
    const int64_t own = part->number != NULL ? part->address.n : 0;
    int64_t unheard = 0;
    ps_address_merge(&part->address, NULL);
    for (int64_t first = 0; first < own; first += PS_BUCKET_BLOCK) {
        const int64_t n = ps_min(PS_BUCKET_BLOCK, own - first);
        PS_TRY(read_index(&part->address, first, n, number));
        for (int64_t i = 0; i < n; i++) {
            ps_put(part->is_wide, part->number, first + i, number[i]);
        }
        if (ps_run_stops_after(run, &unheard, n * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* What is broadcast comes from the copy, the rest as it lies. */
ps_status
ps_read_coordinates(const ps_coordinates *part, int64_t first, int64_t n,
                    int64_t *number)
{
    if (part->number == NULL) {
        return read_index(&part->address, first, n, number);
    }
    part->is_wide ? spread(true, part, first, n, number)
                  : spread(false, part, first, n, number);
    return PS_SUCCESS;
}
