/* Few elements of halves: the stage of stage.c for calls that fit the stack.
 *
 * Each place that is named gets one accumulator, which a small table of open addressing
 * finds by its offset: as in the stage, an element is rounded once, after its last
 * value. All indices are checked before the first write, in a copy of our own. Ten
 * entries take 0.2 us, through the op and the stage 1.4, np.add.at 1.2 (Zen 3).
 */
#include "ops/stage_few.h"

#include <stddef.h>

#include "ops/values.h"

enum {
    /* Twice as many as entries and more, so that a free cell is near. */
    CELL_BITS = 7,
    CELLS = 1 << CELL_BITS,
    ROOM = PS_FEW_ENTRIES + PS_LIST_SPARE,
    HALF = sizeof(f16)
};

/* offset[i] of an element becomes that of its accumulator; place[k] is the offset of
 * the element whose accumulator is number k. Returns how many there are. */
static int64_t
number_places(int64_t *offset, int64_t n, int64_t *place)
{
    uint8_t cell[CELLS] = {0}; /* the number and 1; 0: free */
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = offset[i];
        uint64_t at = (uint64_t)own * 0x9e3779b97f4a7c15u >> (64 - CELL_BITS);
        while (cell[at] != 0 && place[cell[at] - 1] != own) {
            at = (at + 1) % CELLS;
        }
        if (cell[at] == 0) {
            place[count++] = own;
            cell[at] = (uint8_t)count;
        }
        offset[i] = (cell[at] - 1) * (int64_t)sizeof(f32);
    }
    return count;
}

bool
ps_update_few_halves(enum ps_op op, enum ps_dtype type, const ps_entries *entries)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_index_type index_type =
            entries->is_wide ? PS_INDEX_i64 : PS_INDEX_i32;
    const ps_numbering numbering = {(uint64_t)entries->size - 1, entries->size, HALF};
    const int64_t n = entries->n;
    int64_t offset[ROOM], place[ROOM];
    f32 sum[ROOM];
    f16 half[ROOM];
    if (kernels->place[index_type](offset, entries->index, n,
                                   ps_index_itemsize(index_type), &numbering, 0,
                                   false) > 0) {
        return false;
    }
    const ps_list places = {place, NULL, number_places(offset, n, place)};
    const ps_list list = {offset, NULL, n};
    char *const halves = (char *)half, *const sums = (char *)sum;
    kernels->gather[PS_SIZE_2](halves, &places, entries->target, HALF);
    ps_convert(PS_f32, sums, type, HALF, false, halves, HALF, places.n);
    kernels->scatter[op][PS_f32](sums, &list, entries->values, entries->value_stride);
    ps_convert(type, halves, PS_f32, sizeof(f32), false, sums, sizeof(f32), places.n);
    kernels->set[PS_SIZE_2](entries->target, &places, halves, HALF);
    return true;
}
