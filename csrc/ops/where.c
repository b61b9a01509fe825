/* The where op: out[i] = condition[i] ? x[i] : y[i] over arrays of one shape.
 *
 * Broadcast axes have stride 0, and each array is walked for itself (ops/operand.h):
 * one that is contiguous is read where it lies, one that is not is packed a block at a
 * time, so that no cast and no broadcast ever makes a copy of full size. The output is
 * walked in the order in which it lies in memory. An element belongs to one chunk and
 * is a copy of one element, so neither threads nor chunks can change a bit.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/operand.h"
#include "ops/run.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Beyond this the inputs push the output out of the last cache before it is read
     * again, so it is written past the caches: 1e6 float64 (25 MB) take 0.40 ns an
     * element instead of 0.60, 32e6 0.8 instead of 0.9. */
    STREAM_BYTES = 16 << 20,
    /* Elements of a block for which there is no memory but the stack's. */
    SMALL_BLOCK = 32
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_mask_source mask;
    ps_operand x, y, out;
    int64_t n, chunk;
    int size;     /* of an item, as the kernels' tables count it */
    bool is_flat; /* nothing needs a buffer */
    bool streams;
} ready_where;

/* Bytes in a row are their own mask. */
static bool
is_flat_mask(const ps_mask_source *mask)
{
    return mask->is_bytes && mask->ndim == 1 && mask->strides[0] == 1;
}

/* Buffers of a block: x, y, the output and mask bytes, each used where it is needed. */
typedef struct {
    char *block;
    int64_t nbytes;
    char *x, *y, *out, *mask;
    int64_t capacity; /* elements */
    _Alignas(64) char small[SMALL_BLOCK * (3 * 16 + 1)];
} where_room;

/* Where there is no memory the stack holds short blocks: other chunks may have written
 * to an output that the caller can see. */
static void
open_room(const ready_where *ready, where_room *room)
{
    const int64_t itemsize = ready->out.itemsize;
    room->block = NULL;
    room->nbytes = 0;
    room->capacity = INT64_MAX;
    if (ready->is_flat) {
        return;
    }
    room->capacity = PS_OPERAND_BLOCK;
    room->nbytes = PS_OPERAND_BLOCK * (3 * itemsize + 1);
    room->block = ps_scratch_get(room->nbytes);
    char *at = room->block;
    if (at == NULL) {
        room->capacity = SMALL_BLOCK;
        at = room->small;
    }
    room->x = at;
    room->y = room->x + room->capacity * itemsize;
    room->out = room->y + room->capacity * itemsize;
    room->mask = room->out + room->capacity * itemsize;
}

/* Each array is found, or packed, for itself; then one kernel call. */
static void
run_block(const ready_where *ready, const where_room *room, int64_t first, int64_t n)
{
    int64_t x_step, y_step;
    const char *const mask = ps_mask_block(&ready->mask, first, n, room->mask);
    const char *const x = ps_operand_block(&ready->x, first, n, room->x, &x_step);
    const char *const y = ps_operand_block(&ready->y, first, n, room->y, &y_step);
    char *const out = ready->out.is_flat ? ready->out.data + first * ready->out.itemsize
                                         : room->out;
    ps_kernels()->where[ready->size](out, mask, x, x_step, y, y_step, n,
                                     ready->streams);
    if (!ready->out.is_flat) {
        ps_operand_store(&ready->out, first, n, out);
    }
}

/* Flat calls are one block a chunk. */
static void
run_chunk(void *context, int64_t chunk)
{
    const ready_where *const ready = context;
    const int64_t last = ps_min(ready->n, (chunk + 1) * ready->chunk);
    where_room room;
    if (ps_run_stops(ready->run)) {
        return;
    }
    open_room(ready, &room);
    for (int64_t at = chunk * ready->chunk, count; at < last; at += count) {
        count = ps_min(room.capacity, last - at);
        run_block(ready, &room, at, count);
    }
    ps_scratch_put(room.block, room.nbytes);
}

static void
cut(ready_where *ready)
{
    const int sides = 3 - ready->x.is_constant - ready->y.is_constant;
    const int64_t per_element = 1 + ready->out.itemsize * sides;
    const int64_t nbytes = ready->n * per_element;
    ready->chunk = ps_mask_chunk(ready->n, per_element, ready->run->threads);
    ready->streams = ready->out.is_flat && nbytes > STREAM_BYTES &&
                     (uintptr_t)ready->out.data % (uintptr_t)ready->out.itemsize == 0;
}

/* The order of axes does not matter to the result, so it is the output's own. */
static void
order_axes(ps_where_call *call, int64_t *shape, int64_t (*strides)[PS_MAX_DIMS])
{
    ps_view *const views[] = {&call->out, &call->condition, &call->x, &call->y};
    const int ndim = call->out.ndim;
    int64_t *rows[4];
    for (int axis = 0; axis < ndim; axis++) {
        shape[axis] = call->out.shape[axis];
        for (int v = 0; v < 4; v++) {
            strides[v][axis] = views[v]->strides[axis];
        }
    }
    for (int v = 0; v < 4; v++) {
        rows[v] = strides[v];
        views[v]->shape = shape;
        views[v]->strides = rows[v];
    }
    ps_order_axes(ndim, shape, rows, 4);
}

ps_status
ps_where(void *argument, ps_run *run)
{
    ps_where_call *const call = argument;
    int64_t shape[PS_MAX_DIMS], strides[4][PS_MAX_DIMS];
    ready_where ready; /* not cleared: that would take longer than a short call */
    ready.run = run;
    if (!ps_count(call->out.ndim, call->out.shape, &ready.n)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (ready.n == 0) {
        return PS_SUCCESS;
    }
    const enum ps_dtype type = call->out.dtype;
    order_axes(call, shape, strides);
    ps_mask_open(&ready.mask, &call->condition);
    ps_operand_open(&ready.x, &call->x, type);
    ps_operand_open(&ready.y, &call->y, type);
    call->out.dtype = PS_raw; /* written as it comes, booleans included */
    ps_operand_open(&ready.out, &call->out, PS_raw);
    ready.size = ps_size_of(call->out.itemsize);
    ready.is_flat = is_flat_mask(&ready.mask) && ready.x.is_flat && ready.y.is_flat &&
                    ready.out.is_flat;
    cut(&ready);
    run->has_written = !call->is_private;
    const int64_t chunks = ps_ceil_div(ready.n, ready.chunk);
    return ps_run_chunks(run, chunks, run_chunk, &ready);
}
