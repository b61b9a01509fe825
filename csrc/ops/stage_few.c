/* Few elements of halves: the stage of stage.c for calls that are made often.
 *
 * Each place that is named gets one accumulator, which a small table of open addressing
 * finds by its offset: as in the stage, an element is rounded once, after its last
 * value. All indices are checked before the first write, in a copy of our own. Ten
 * entries take 0.2 us, through the op and the stage 1.4, np.add.at 1.2; 100 take 0.7,
 * 5.8 and 2.0 (Zen 3).
 */
#include "ops/stage_few.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "ops/address.h"
#include "ops/values.h"

enum {
    /* Of an entry: offset, place, value, accumulator, the same as it is stored, and two
     * to four cells of the table, of which half and more are free. */
    ENTRY_BYTES =
            2 * sizeof(int64_t) + 2 * sizeof(f32) + sizeof(f16) + 4 * sizeof(uint16_t),
    SMALL_BYTES = (PS_FEW_ENTRIES + PS_LIST_SPARE) * ENTRY_BYTES
};

typedef struct {
    int64_t *offset, *place;
    f32 *value, *sum;
    f16 *half;
    uint16_t *cell; /* the number of an accumulator and 1; 0: free */
    int bits;       /* of the number of cells */
} few_room;

/* offset[i] of an element becomes that of its accumulator; place[k] is the offset of
 * the element whose accumulator is number k. Returns how many there are. */
static int64_t
number_places(const few_room *room, int64_t n)
{
    const uint64_t last = ((uint64_t)1 << room->bits) - 1;
    int64_t count = 0;
    memset(room->cell, 0, (last + 1) * sizeof(*room->cell));
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = room->offset[i];
        uint64_t at = (uint64_t)own * 0x9e3779b97f4a7c15u >> (64 - room->bits);
        while (room->cell[at] != 0 && room->place[room->cell[at] - 1] != own) {
            at = (at + 1) & last;
        }
        if (room->cell[at] == 0) {
            room->place[count++] = own;
            room->cell[at] = (uint16_t)count;
        }
        room->offset[i] = (room->cell[at] - 1) * (int64_t)sizeof(f32);
    }
    return count;
}

/* The parts of a block of n entries. */
static few_room
divide(char *block, int64_t n)
{
    few_room room = {.offset = (int64_t *)(void *)block, .bits = 2};
    while ((int64_t)1 << room.bits < 2 * n) {
        room.bits++;
    }
    room.place = room.offset + n;
    room.value = (f32 *)(void *)(room.place + n);
    room.sum = room.value + n;
    room.cell = (uint16_t *)(void *)(room.sum + n);
    room.half = (f16 *)(void *)(room.cell + ((int64_t)1 << room.bits));
    return room;
}

/* The call in a block of its own: false as in ps_update_few_halves. */
static bool
update(enum ps_op op, enum ps_dtype type, const ps_entries *entries, char *block)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_index_type index_type =
            entries->is_wide ? PS_INDEX_i64 : PS_INDEX_i32;
    const int64_t n = entries->n, nbytes = ps_dtype_size[type];
    const ps_numbering numbering = {(uint64_t)entries->size - 1, entries->size, nbytes};
    const int size = ps_size_of(nbytes);
    const few_room room = divide(block, n);
    if (kernels->place[index_type](room.offset, entries->index, n,
                                   ps_index_itemsize(index_type), &numbering, 0,
                                   false) > 0) {
        return false;
    }
    const ps_list places = {room.place, NULL, number_places(&room, n)};
    const ps_list list = {room.offset, NULL, n};
    char *const halves = (char *)room.half, *const sums = (char *)room.sum;
    kernels->gather[size](halves, &places, entries->target, nbytes);
    ps_convert(PS_f32, sums, type, nbytes, false, halves, nbytes, places.n);
    const char *values = entries->values;
    if (entries->value_stride != 0) {
        ps_convert(PS_f32, (char *)room.value, type, nbytes, false, values, nbytes, n);
        values = (const char *)room.value;
    }
    kernels->scatter[op][PS_f32](sums, &list, values,
                                 entries->value_stride != 0 ? (int64_t)sizeof(f32) : 0);
    ps_convert(type, halves, PS_f32, sizeof(f32), false, sums, sizeof(f32), places.n);
    kernels->set[size](entries->target, &places, halves, nbytes);
    return true;
}

bool
ps_update_few_halves(enum ps_op op, enum ps_dtype type, const ps_entries *entries)
{
    _Alignas(64) char small[SMALL_BYTES];
    const int64_t nbytes = entries->n * ENTRY_BYTES;
    if (entries->n <= PS_FEW_ENTRIES) {
        return update(op, type, entries, small);
    }
    char *const block = ps_scratch_get(nbytes);
    const bool is_done = block != NULL && update(op, type, entries, block);
    ps_scratch_put(block, nbytes);
    return is_done;
}
