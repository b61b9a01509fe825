/* From an address (indices, masks, modes, tuples, batches) to lists of pairs. */
#ifndef PS_OPS_ADDRESS_H
#define PS_OPS_ADDRESS_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* Entries that are made into a list at a time: offsets, sources and rows of a block are
 * 16 KiB each, so that they stay in the nearer caches beside the values. */
enum {
    PS_BLOCK = 2048
};

/* Room for one list; a few entries need no allocation, so opening it cannot fail. */
enum {
    PS_FEW_ENTRIES = 56,
    /* Spare room behind a list: the filter kernels store whole vectors. */
    PS_LIST_SPARE = 8
};
typedef struct {
    int64_t capacity;
    int64_t *offset;
    int64_t *source;
    int64_t *row;
    int64_t *flag;
    char *block; /* what was allocated, or NULL */
    int64_t nbytes;
    int64_t small[4 * (PS_FEW_ENTRIES + PS_LIST_SPARE)];
} ps_list_room;

/* False: no memory. */
bool ps_list_room_open(ps_list_room *room, int64_t n);

void ps_list_room_close(ps_list_room *room);

/* Can kernels take the index as it comes: one of the usual types, contiguous and
 * native, over all of an axis whose items are `step` bytes apart, nothing masked or
 * linked, and out of bounds an error? Entry axes have been merged. */
bool ps_address_is_plain(const ps_address *address, int64_t step);

/* The same but for what becomes of numbers out of bounds, for rows any bytes apart. */
bool ps_address_is_direct(const ps_address *address);

/* How index m numbers the rows of its axis, which has at least one, under a mode that
 * refuses numbers out of bounds. */
ps_numbering ps_address_numbering(const ps_address *address, int m);

/* Merge entry axes that every stride walks as one. extra_strides: one more array of
 * strides to keep in step (values), or NULL. */
void ps_address_merge(ps_address *address, int64_t *extra_strides);

/* ps_address_check, which ops.h declares, checks every index that takes part. */

/* After a pass that checks as it goes has found a bad index on some thread: the status
 * of the first one. */
ps_status ps_address_find_bad(const ps_address *address, ps_run *run);

/* The pairs of entries [first, first + n), n <= room->capacity, in order; source
 * numbers count from 0 at `first`. */
ps_status ps_address_list(const ps_address *address, int64_t first, int64_t n,
                          ps_list_room *room, ps_list *list);

#endif
