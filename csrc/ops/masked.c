/* Updates under a mask: ps_scatter without index arrays.
 *
 * What the kernels can do in place (a native aligned target of the accumulator's type,
 * single elements side by side) goes block by block through the masked kernels, which
 * read 64 mask bytes at a time. Where elements lie apart, the trues of a block become a
 * list. A target of another type, byte order or alignment is
 * worked on in a copy of the selected elements of a block, which is put back: one
 * rounding, and nothing else is read. All else is an ordinary scatter whose entries the
 * mask thins out. A mask names no element twice, so both give the same bits, and the
 * target may be walked in the order in which it lies in memory.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/choose.h"
#include "ops/mask.h"
#include "ops/operand.h"
#include "ops/run.h"
#include "ops/finish.h"
#include "ops/stage.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Shorter runs of the target are left to lists: a kernel call for each would cost
     * more than its elements. */
    SHORTEST_RUN = 16,
    /* Elements of a block for which there is no memory but the stack's. */
    SMALL_BLOCK = 32
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_mask_source mask;
    ps_operand values, target;
    int64_t n, chunk;
    const ps_target *target_type;
    enum ps_op op; /* PS_set for moves */
    bool is_mean;
    enum ps_dtype computed; /* what kernels work in */
    int size;               /* of an item, as the kernels' tables count it */
    bool stages;            /* kernels cannot work on the target itself */
    bool lists;             /* elements of the target lie apart */
} ready_masked;

/* Buffers of a block; the last four for staged targets, offsets and the first of them
 * for lists as well. */
typedef struct {
    char *block;
    int64_t nbytes;
    int64_t capacity;
    char *values, *mask, *raw, *chosen, *accumulators;
    int64_t *offset;
    _Alignas(64) char small[SMALL_BLOCK * (4 * 16 + 8 + 1)];
} masked_room;

/* Room of one chunk: values and mask, for staged targets what is taken out, chosen,
 * computed, and where it lies, for lists places and offsets. As in ops/where.c, no
 * memory means short blocks, not an error: other chunks may have written by then. A few
 * elements need no more. */
static void
open_room(const ready_masked *ready, masked_room *room)
{
    const int64_t per_element = ready->stages  ? 4 * 16 + 8 + 1
                                : ready->lists ? 2 * 16 + 8 + 1
                                               : 16 + 1;
    const bool is_small = ready->n <= SMALL_BLOCK;
    room->capacity = PS_OPERAND_BLOCK;
    room->nbytes = PS_OPERAND_BLOCK * per_element;
    room->block = is_small ? NULL : ps_scratch_get(room->nbytes);
    char *at = room->block;
    if (at == NULL) {
        room->capacity = SMALL_BLOCK;
        at = room->small;
    }
    room->values = at;
    room->mask = at + 16 * room->capacity;
    if (ready->stages) {
        room->raw = at + 16 * room->capacity;
        room->chosen = room->raw + 16 * room->capacity;
        room->accumulators = room->chosen + 16 * room->capacity;
        room->offset = (int64_t *)(void *)(room->accumulators + 16 * room->capacity);
        room->mask = (char *)(room->offset + room->capacity);
    }
    else if (ready->lists) {
        room->raw = at + 16 * room->capacity;
        room->offset = (int64_t *)(void *)(room->raw + 16 * room->capacity);
        room->mask = (char *)(room->offset + room->capacity);
    }
}

/* Mask bytes of a block in memory of our own: where they are read more than once, every
 * reading has to find the same trues, whatever another thread does to the mask. */
static const char *
own_mask(const ready_masked *ready, const masked_room *room, int64_t first, int64_t n)
{
    const char *const mask = ps_mask_block(&ready->mask, first, n, room->mask);
    if (mask != room->mask) {
        memcpy(room->mask, mask, (size_t)n);
    }
    return room->mask;
}

/* The values of the trues as `computed`, side by side or one for all (*step). They are
 * chosen before they are converted, so that nothing else is read where values lie side
 * by side.
 */
static const char *
chosen_values(const ready_masked *ready, const masked_room *room, const char *mask,
              int64_t first, int64_t n, int64_t count, int64_t *step)
{
    const enum ps_dtype own = ready->values.type;
    const int64_t size = own == PS_raw ? ready->values.itemsize : ps_dtype_size[own];
    const char *values = ps_operand_block(&ready->values, first, n, room->values, step);
    char *converted = room->chosen;
    if (*step != 0) {
        ps_kernels()->compress[ps_size_of(size)](room->chosen, values, mask, n, count);
        values = room->chosen;
        converted = room->values;
    }
    if (own == ready->computed) {
        return values;
    }
    ps_convert(ready->computed, converted, own, size, false, values, size,
               *step != 0 ? count : ps_min(count, PS_WORD_BITS));
    return converted;
}

/* n elements `stride` bytes apart of a target that kernels cannot work on: selected
 * elements are taken out, converted, combined, converted back, and put back. */
static void
run_staged_block(const ready_masked *ready, const masked_room *room, char *target,
                 int64_t stride, int64_t first, int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_target *const type = ready->target_type;
    const enum ps_dtype computed = ready->computed;
    int64_t step;
    const char *const mask = own_mask(ready, room, first, n);
    int64_t *const place = (int64_t *)(void *)room->accumulators; /* still free */
    ps_list list = {room->offset, NULL, ps_mask_positions(place, mask, n, 0)};
    if (list.n == 0) {
        return;
    }
    const char *results = chosen_values(ready, room, mask, first, n, list.n, &step);
    kernels->list_place(list.offset, place, list.n, stride, 0);
    if (ready->op != PS_set) {
        kernels->gather[ready->size](room->raw, &list, target, type->itemsize);
        ps_convert(computed, room->accumulators, type->dtype, type->itemsize,
                   type->swapped, room->raw, type->itemsize, list.n);
        memset(room->mask, 1, (size_t)list.n);
        kernels->masked[ready->op][computed](room->accumulators, room->mask, results,
                                             step, list.n);
        results = room->accumulators;
        step = PS_WORD_BITS;
        if (ready->is_mean) { /* of the old value and the one that arrives */
            ps_divide_sums(computed, room->accumulators, list.n, 2);
        }
    }
    ps_store(type->dtype, type->itemsize, type->swapped, room->raw, type->itemsize,
             computed, results, step != 0 ? list.n : 1);
    kernels->set[ready->size](target, &list, room->raw, step != 0 ? type->itemsize : 0);
}

/* The same for n elements `stride` bytes apart that kernels can work on: the trues are
 * a list. ns an element of a column of 8, half of it set, by these / by an address that
 * the mask thins out / np.copyto (Zen 3): of 100 7.1 / 10.5 / 7.2; of 1,000 1.8 / 3.2 /
 * 2.7; of 10,000 1.4 / 1.8 / 2.6. */
static void
run_listed_block(const ready_masked *ready, const masked_room *room, char *target,
                 int64_t stride, int64_t first, int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    int64_t step;
    const char *const mask = ps_mask_block(&ready->mask, first, n, room->mask);
    const char *const values =
            ps_operand_block(&ready->values, first, n, room->values, &step);
    int64_t *const place = (int64_t *)(void *)room->raw;
    const ps_list list = {room->offset, place, ps_mask_positions(place, mask, n, 0)};
    kernels->list_place(list.offset, place, list.n, stride, 0);
    if (ready->op == PS_set) {
        kernels->set[ready->size](target, &list, values,
                                  step != 0 ? ready->target.itemsize : 0);
    }
    else {
        kernels->scatter[ready->op][ready->values.type](
                target, &list, values, step != 0 ? ready->target.itemsize : 0);
    }
}

/* target[i] = target[i] op values[i] where mask[i], for n elements that lie side by
 * side in the target. Each element is read and written once, and only where the mask
 * is true. */
static void
run_block(const ready_masked *ready, const masked_room *room, char *target,
          int64_t first, int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    int64_t step;
    const char *const mask = ps_mask_block(&ready->mask, first, n, room->mask);
    const char *const values =
            ps_operand_block(&ready->values, first, n, room->values, &step);
    if (ready->op == PS_set) {
        kernels->where_set[ready->size](target, mask, values, step, n);
    }
    else {
        kernels->masked[ready->op][ready->values.type](target, mask, values, step, n);
    }
}

/* Blocks end where a run of the target ends, so that a kernel sees one stride. */
static void
run_chunk(void *context, int64_t chunk)
{
    const ready_masked *const ready = context;
    const int64_t last = ps_min(ready->n, (chunk + 1) * ready->chunk);
    masked_room room;
    if (ps_run_stops(ready->run)) {
        return;
    }
    open_room(ready, &room);
    for (int64_t at = chunk * ready->chunk, count; at < last; at += count) {
        int64_t stride;
        char *const target = ps_operand_run(&ready->target, at, &count, &stride);
        count = ps_min(ps_min(count, room.capacity), last - at);
        if (ready->stages) {
            run_staged_block(ready, &room, target, stride, at, count);
        }
        else if (ready->lists) {
            run_listed_block(ready, &room, target, stride, at, count);
        }
        else {
            run_block(ready, &room, target, at, count);
        }
    }
    ps_scratch_put(room.block, room.nbytes);
}

/* Innermost axes over which the mask is broadcast are rows: all of one, or nothing.
 * Their strides move to the front of the row axes. */
static void
move_axes_to_rows(ps_scatter_call *call)
{
    ps_address *const address = &call->address;
    ps_rows *const rows = &call->rows;
    while (address->ndim > 0 && address->mask_strides[address->ndim - 1] == 0 &&
           address->shape[address->ndim - 1] > 0) {
        const int axis = --address->ndim;
        const size_t nbytes = (size_t)rows->ndim * sizeof(int64_t);
        memmove(rows->shape + 1, rows->shape, nbytes);
        memmove(rows->target_strides + 1, rows->target_strides, nbytes);
        memmove(rows->value_strides + 1, rows->value_strides, nbytes);
        rows->shape[0] = address->shape[axis];
        rows->target_strides[0] = address->link[axis];
        rows->value_strides[0] = call->values.entry_strides[axis];
        rows->ndim++;
        address->n /= address->shape[axis];
    }
}

/* Make a call ready for the masked kernels; false: it is not for them. */
static bool
make_ready(ps_scatter_call *call, ready_masked *ready, int64_t *shape,
           int64_t (*strides)[PS_MAX_DIMS])
{
    ps_address *const address = &call->address;
    ps_target *const target = &call->target;
    const ps_values *const values = &call->values;
    const ps_traits *const traits = &call->traits;
    if (call->rows.ndim > 0 || call->compensated || ps_forced_choice() != 0 ||
        ps_size_of(target->itemsize) < 0 || call->spans != NULL ||
        (!traits->is_move && traits->applied >= PS_NUM_REDUCTIONS)) {
        return false;
    }
    ready->stages = traits->needs_stage;
    ready->target_type = target;
    const size_t nbytes = (size_t)address->ndim * sizeof(int64_t);
    /* Bytes move as they are where both sides have the same order. */
    const bool swaps = traits->is_move && !ready->stages && target->swapped;
    ps_view views[3] = {
            {.data = target->data, .dtype = PS_raw, .itemsize = target->itemsize},
            {.data = (char *)(uintptr_t)address->mask, .dtype = PS_b1, .itemsize = 1},
            {.data = values->data,
             .dtype = values->dtype,
             .itemsize = values->itemsize,
             .swapped = values->swapped && !swaps}};
    int64_t *const rows[3] = {strides[0], strides[1], strides[2]};
    memcpy(shape, address->shape, nbytes);
    memcpy(strides[0], address->link, nbytes);
    memcpy(strides[1], address->mask_strides, nbytes);
    memcpy(strides[2], values->entry_strides, nbytes);
    for (int v = 0; v < 3; v++) {
        views[v].ndim = address->ndim;
        views[v].shape = shape;
        views[v].strides = rows[v];
    }
    ps_order_axes(address->ndim, shape, rows, 3);
    ps_operand_open(&ready->target, &views[0], PS_raw);
    ps_mask_open(&ready->mask, &views[1]);
    ready->computed = traits->type;
    ps_operand_open(&ready->values, &views[2],
                    ready->stages ? values->dtype : ready->computed);
    if (!traits->is_move && !values->aligned) {
        ps_operand_pack(&ready->values);
    }
    const int last = ready->target.ndim - 1;
    ready->lists = last >= 0 && !ready->stages &&
                   ready->target.strides[last] != target->itemsize;
    return last <= 0 || ready->target.shape[last] >= SHORTEST_RUN;
}

/* Nothing can fail once the first byte has been written, but for Ctrl-C. What the
 * masked kernels cannot do is a scatter whose entries the mask thins out. */
ps_status
ps_scatter_where(void *argument, ps_run *run)
{
    ps_scatter_call *const call = argument;
    int64_t shape[PS_MAX_DIMS], strides[3][PS_MAX_DIMS];
    ready_masked ready;
    call->traits = ps_traits_of(call);
    if (call->address.n > 0) {
        move_axes_to_rows(call);
    }
    if (call->address.n == 0 || !make_ready(call, &ready, shape, strides)) {
        return ps_scatter(call, run);
    }
    ready.run = run;
    ready.n = call->address.n;
    ready.is_mean = call->traits.is_mean;
    ready.op = call->traits.is_move ? PS_set : call->traits.applied;
    ready.size = ps_size_of(call->target.itemsize);
    ready.chunk = ps_mask_chunk(ready.n, 1 + 3 * ready.target.itemsize, run->threads);
    run->has_written = !call->target.is_private;
    const int64_t chunks = ps_ceil_div(ready.n, ready.chunk);
    return ps_run_chunks(run, chunks, run_chunk, &ready);
}
