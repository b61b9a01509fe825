/* Buffers of a block: how large they are, and where each lies (contract in
 * change_parts.h). Both follow from the call alone, before anything has been read, so
 * that memory for all parts that are run at a time is taken before the first copy.
 */
#include <stddef.h>

#include "base/sizes.h"
#include "ops/change_parts.h"

enum {
    ITEM = 16, /* bytes of the largest */
    N_SPREAD = 5,
    N_FLAGS = 3
};

/* Only what a call needs: tiny calls on contiguous arrays need a byte. Words are not
 * there yet when this is asked; whether there will be any is known by their number. */
static int64_t
bytes_of(const ps_change_ready *ready, int64_t n)
{
    const bool converts = ready->type != ready->call->now.dtype || ready->is_wide;
    const bool packs =
            ps_operand_nbytes(&ready->now) > 0 || ready->now.is_constant ||
            (ready->call->old.data != NULL &&
             (ps_operand_nbytes(&ready->old) > 0 || ready->old.is_constant)) ||
            (ready->call->copy.data != NULL && !ready->is_copied_first);
    return n * ((packs ? 2 * ITEM : 0) + (converts ? PS_CHANGE_WIDE * 8 : 0) +
                (ready->lines.items > 0 ? N_SPREAD * 8 + N_FLAGS : 0) + 1);
}

/* Of the longest block of the array. */
int64_t
ps_change_room_nbytes(const ps_change_ready *ready)
{
    return bytes_of(ready, ps_min(ready->n, PS_CHANGE_BLOCK));
}

/* float64 first, then blocks as they lie, then flags: all are aligned. */
void
ps_change_lay_room(const ps_change_ready *ready, ps_change_room *room)
{
    const int64_t n = ps_min(ready->n, PS_CHANGE_BLOCK);
    const bool converts = ready->type != ready->call->now.dtype || ready->is_wide;
    double *at = (double *)(void *)room->block;
    for (int i = 0; i < PS_CHANGE_WIDE && converts; i++, at += n) {
        room->wide[i] = at;
    }
    if (ready->lines.items > 0) {
        room->spread = (ps_change_spread){.diff = at,
                                          .diff_imag = at + n,
                                          .size = at + 2 * n,
                                          .now = at + 3 * n,
                                          .now_imag = at + 4 * n};
        at += N_SPREAD * n;
    }
    char *const bytes = (char *)at;
    const int64_t packed = bytes_of(ready, n) - (bytes - room->block) -
                           (ready->lines.items > 0 ? N_FLAGS + 1 : 1) * n;
    room->old = bytes;
    room->now = bytes + packed / 2;
    uint8_t *const flags = (uint8_t *)bytes + packed;
    room->changed = flags;
    room->spread.changed = flags + n;
    room->spread.is_pair = ready->call->finite_only ? flags + 2 * n : NULL;
    room->spread.is_new = ready->call->finite_only ? flags + 3 * n : NULL;
}
