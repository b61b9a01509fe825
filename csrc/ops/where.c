/* The where op: out[i] = condition[i] ? x[i] : y[i] over arrays of one shape.
 *
 * Broadcast axes have stride 0, and each array is walked for itself (ops/operand.h):
 * one that is contiguous is read where it lies, one that is not is packed a block at a
 * time, so that no cast and no broadcast ever makes a copy of full size. The output is
 * walked in the order in which it lies in memory. Where the inputs lie across that (in
 * Fortran order, and the output in C order), they are walked in their own order: tiles
 * of the output are made column by column in the first cache, and turned on their way
 * out. An element belongs to one chunk and is a copy of one element, so neither threads
 * nor chunks can change a bit.
 */
#include <stddef.h>
#include <string.h>

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
    /* Elements of a block for which there is no memory but the stack's, and the columns
     * of such a tile. */
    SMALL_BLOCK = 32,
    SMALL_COLUMNS = 4,
    /* A tile is half of a first cache. Its columns lie in the buffer a line further
     * apart than they are long, lest those of 4096 bytes share the sets of the cache.
     */
    TILE_BYTES = 16 << 10,
    LINE = 64,
    MOST_COLUMNS = 256,
    /* Rows from which columns are looked at one by one for a condition that is theirs;
     * shorter ones are made many at a time. */
    LEAST_ROWS = 256
};

/* The axes of a call that turns, in the order in which the inputs lie: outer ones, the
 * innermost one of the output (columns), and those behind it (rows, as the inputs have
 * them side by side). */
typedef struct {
    int n_outer, n_row; /* axes before the columns, and behind */
    int64_t columns, rows;
    int64_t tile_columns, tile_rows;
    int64_t column_tiles, row_tiles;
    const int64_t *shape, *out_strides;
    int64_t row_shape[PS_MAX_DIMS], row_strides[PS_MAX_DIMS]; /* of out, merged */
    bool by_columns; /* the condition is the same for all rows of a column */
} tiling;

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_mask_source mask;
    ps_operand x, y, out;
    int64_t n, chunk;
    int size;     /* of an item, as the kernels' tables count it */
    bool is_flat; /* nothing needs a buffer */
    bool streams;
    bool turns;
    tiling tiles;
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
    int64_t gap;      /* bytes between the columns of a tile */
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
    room->gap = ready->turns ? LINE : 0;
    room->nbytes += room->gap * MOST_COLUMNS;
    room->block = ps_scratch_get(room->nbytes);
    char *at = room->block;
    if (at == NULL) {
        room->capacity = SMALL_BLOCK;
        room->gap = 0;
        at = room->small;
    }
    room->x = at;
    room->y = room->x + room->capacity * itemsize;
    room->mask = room->y + room->capacity * itemsize;
    room->out = room->mask + room->capacity;
}

/* out[i] = element first + i, n of them. Each array is found, or packed, for itself;
 * then one kernel call. */
static void
choose_block(const ready_where *ready, const where_room *room, int64_t first, int64_t n,
             char *out)
{
    int64_t x_step, y_step;
    const char *const mask = ps_mask_block(&ready->mask, first, n, room->mask);
    const char *const x = ps_operand_block(&ready->x, first, n, room->x, &x_step);
    const char *const y = ps_operand_block(&ready->y, first, n, room->y, &y_step);
    ps_kernels()->where[ready->size](out, mask, x, x_step, y, y_step, n,
                                     ready->streams);
}

/* The same to where the output lies: in place, or by way of the buffer, from which a
 * strided copy takes it. */
static void
run_block(const ready_where *ready, const where_room *room, int64_t first, int64_t n)
{
    if (ready->out.is_flat) {
        choose_block(ready, room, first, n,
                     ready->out.data + first * ready->out.itemsize);
        return;
    }
    choose_block(ready, room, first, n, room->out);
    ps_operand_store(&ready->out, first, n, room->out);
}

/* Rows of `out` that lie one step apart, run by run: to[r][c] = column c of the buffer,
 * item r, for n rows from `row` on. */
static void
turn_rows(const ready_where *ready, char *out, const int64_t *offset, int64_t columns,
          const char *from, int64_t row, int64_t n)
{
    const tiling *const tiles = &ready->tiles;
    const int64_t step = ps_inner_stride(tiles->n_row, tiles->row_strides);
    ps_walk run;
    ps_walk_to(&run, tiles->n_row, tiles->row_shape, row);
    int64_t at = ps_walk_offset(&run, tiles->row_strides);
    for (int64_t done = 0;;) {
        const int64_t count = ps_min(ps_walk_left(&run), n - done);
        ps_kernels()->turn[ready->size](out + at, step, offset, columns,
                                        from + done * ready->out.itemsize, count);
        done += count;
        if (done >= n) {
            return;
        }
        ps_walk_on(&run, tiles->row_strides, &at);
    }
}

/* A part of a column, n elements from `first` on: where it lies, in bytes from the
 * buffer. A condition for all of it chooses one of two sides, which is read where it
 * is: ns for each of 1e6 float64 in 8 columns 0.54, by way of the buffer 1.15, np.where
 * 0.70 (Zen 3). Else it is made in the buffer, at `own`. */
static int64_t
find_column(const ready_where *ready, const where_room *room, int64_t first, int64_t n,
            char *own)
{
    char truth;
    int64_t step = 0;
    if (ready->tiles.by_columns) {
        const bool is_true = *ps_mask_block(&ready->mask, first, 1, &truth) != 0;
        const char *const side = ps_operand_block(is_true ? &ready->x : &ready->y,
                                                  first, n, room->x, &step);
        if (step != 0 && side != room->x) {
            return (int64_t)((intptr_t)side - (intptr_t)room->out);
        }
    }
    choose_block(ready, room, first, n, own);
    return own - room->out;
}

/* Columns [column, column + columns) and rows [row, row + rows) of an outer place, no
 * more of them than the room holds. Whole columns are one stretch of the inputs. */
static void
turn_block(const ready_where *ready, const where_room *room, int64_t outer,
           int64_t column, int64_t columns, int64_t row, int64_t rows)
{
    const tiling *const tiles = &ready->tiles;
    const int64_t itemsize = ready->out.itemsize;
    const int64_t first = (outer * tiles->columns + column) * tiles->rows + row;
    const bool is_whole = rows == tiles->rows && !tiles->by_columns;
    const int64_t pitch = rows * itemsize + (is_whole ? 0 : room->gap);
    int64_t offset[MOST_COLUMNS];
    if (is_whole) {
        choose_block(ready, room, first, rows * columns, room->out);
    }
    for (int64_t i = 0; i < columns; i++) {
        offset[i] = i * pitch;
        if (!is_whole) {
            offset[i] = find_column(ready, room, first + i * tiles->rows, rows,
                                    room->out + i * pitch);
        }
    }
    char *const out =
            ready->out.data + column * itemsize +
            ps_offset_of(tiles->n_outer, tiles->shape, tiles->out_strides, outer);
    turn_rows(ready, out, offset, columns, room->out, row, rows);
}

/* One tile, in as many parts as the room makes of it. */
static void
turn_tile(const ready_where *ready, const where_room *room, int64_t tile)
{
    const tiling *const tiles = &ready->tiles;
    const bool is_small = room->block == NULL;
    const int64_t most_columns = is_small ? SMALL_COLUMNS : tiles->tile_columns;
    const int64_t most_rows = is_small ? SMALL_BLOCK / SMALL_COLUMNS : tiles->tile_rows;
    const int64_t row = tile % tiles->row_tiles * tiles->tile_rows;
    const int64_t rest = tile / tiles->row_tiles;
    const int64_t column = rest % tiles->column_tiles * tiles->tile_columns;
    const int64_t outer = rest / tiles->column_tiles;
    const int64_t last_column = ps_min(tiles->columns, column + tiles->tile_columns);
    const int64_t last_row = ps_min(tiles->rows, row + tiles->tile_rows);
    for (int64_t c = column; c < last_column; c += most_columns) {
        for (int64_t r = row; r < last_row; r += most_rows) {
            turn_block(ready, room, outer, c, ps_min(most_columns, last_column - c), r,
                       ps_min(most_rows, last_row - r));
        }
    }
}

/* Tiles in the place of elements: those of a chunk. */
static void
turn_chunk(void *context, int64_t chunk)
{
    const ready_where *const ready = context;
    const int64_t last = ps_min(ready->n, (chunk + 1) * ready->chunk);
    where_room room;
    if (ps_run_stops(ready->run)) {
        return;
    }
    open_room(ready, &room);
    for (int64_t tile = chunk * ready->chunk; tile < last; tile++) {
        turn_tile(ready, &room, tile);
    }
    ps_scratch_put(room.block, room.nbytes);
}

/* Elements [first, last) of the chunk, block by block; flat calls are one block a
 * chunk, since nothing of theirs needs a buffer. */
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

/* Chunks of about a tenth of a millisecond. An output that is streamed has to lie at
 * multiples of its items, since whole lines are written. */
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

/* ---- inputs that lie across the output ---- */

/* The axis along which neighbours of an array are nearest, -1: it is a constant. */
static int
inner_axis(int ndim, const int64_t *shape, const int64_t *strides)
{
    int inner = -1;
    int64_t nearest = INT64_MAX;
    for (int axis = 0; axis < ndim; axis++) {
        const int64_t distance = strides[axis] < 0 ? -strides[axis] : strides[axis];
        if (shape[axis] > 1 && distance != 0 && distance <= nearest) {
            nearest = distance;
            inner = axis;
        }
    }
    return inner;
}

/* Each array has as many votes as an element has bytes. -1: the output's order is as
 * good as any. */
static int
axis_across(const ps_where_call *call, int q)
{
    const ps_view *const views[] = {&call->out, &call->condition, &call->x, &call->y};
    int64_t votes[PS_MAX_DIMS] = {0};
    int best = q;
    for (int v = 0; v < 4; v++) {
        const int axis = inner_axis(call->out.ndim, call->out.shape, views[v]->strides);
        if (axis >= 0) {
            votes[axis] += views[v]->itemsize;
            best = votes[axis] > votes[best] ? axis : best;
        }
    }
    return best == q ? -1 : best;
}

/* The order in which an input lies whose neighbours are nearest along axis `p`; axes
 * over which it is broadcast come first. Returns where axis `q` of the old order is. */
static int
order_as_inputs(const ps_where_call *call, int p, int q, int64_t *shape,
                int64_t (*strides)[PS_MAX_DIMS])
{
    const int ndim = call->out.ndim;
    const int input = inner_axis(ndim, shape, strides[2]) == p   ? 2
                      : inner_axis(ndim, shape, strides[3]) == p ? 3
                                                                 : 1;
    int64_t number[PS_MAX_DIMS], order[PS_MAX_DIMS];
    for (int axis = 0; axis < ndim; axis++) {
        const bool moves = shape[axis] > 1 && strides[input][axis] != 0;
        number[axis] = axis;
        order[axis] = moves ? strides[input][axis] : INT64_MAX;
    }
    int64_t *const rows[] = {order,      strides[0], strides[1],
                             strides[2], strides[3], number};
    ps_order_axes(ndim, shape, rows, 6);
    int at = 0;
    while (number[at] != q) {
        at++;
    }
    return at;
}

/* As many columns as fill a line of the output, more where they are short, and as many
 * rows as there is room for then. */
static void
size_tiles(tiling *tiles, int64_t itemsize)
{
    const int64_t most = ps_min(PS_OPERAND_BLOCK * 1 * 1, TILE_BYTES / itemsize);
    const int64_t wanted = ps_min(LINE / 2, ps_max(4, LINE / itemsize));
    int64_t rows = most / ps_min(tiles->columns, wanted);
    rows = tiles->rows <= rows ? tiles->rows : rows / PS_WORD_BITS * PS_WORD_BITS;
    /* Short columns are whole, and many. */
    const int64_t columns = ps_min(MOST_COLUMNS, most / rows);
    tiles->tile_rows = rows;
    tiles->tile_columns = ps_min(tiles->columns, columns);
    tiles->row_tiles = ps_ceil_div(tiles->rows, rows);
    tiles->column_tiles = ps_ceil_div(tiles->columns, tiles->tile_columns);
}

/* Do the inputs lie across an output whose rows lie side by side? All axes are then in
 * the order of the inputs. */
static bool
turn_axes(const ps_where_call *call, int64_t *shape, int64_t (*strides)[PS_MAX_DIMS],
          tiling *tiles)
{
    const int ndim = call->out.ndim;
    const int q = inner_axis(ndim, shape, strides[0]);
    const int p =
            q < 0 || strides[0][q] != call->out.itemsize ? -1 : axis_across(call, q);
    if (p < 0) {
        return false;
    }
    const int at = order_as_inputs(call, p, q, shape, strides);
    tiles->n_outer = at;
    tiles->columns = shape[at];
    tiles->shape = shape;
    tiles->out_strides = strides[0];
    const int64_t *const out_strides = strides[0] + at + 1;
    int64_t *const row_strides = tiles->row_strides;
    tiles->n_row = ps_merge_into(ndim - at - 1, shape + at + 1, &out_strides, 1,
                                 tiles->row_shape, &row_strides);
    tiles->rows = 1;
    for (int axis = 0; axis < tiles->n_row; axis++) {
        tiles->rows *= tiles->row_shape[axis];
    }
    size_tiles(tiles, call->out.itemsize);
    tiles->by_columns = tiles->rows >= LEAST_ROWS;
    for (int axis = at + 1; axis < ndim; axis++) {
        tiles->by_columns &= strides[1][axis] == 0 || shape[axis] == 1;
    }
    return true;
}

/* Tiles are counted from here on, in the place of elements. */
static ps_status
run_turned(ready_where *ready, int64_t n)
{
    const tiling *const tiles = &ready->tiles;
    const int64_t of_place = tiles->columns * tiles->rows;
    ready->streams = false;
    ready->n = n / of_place * tiles->column_tiles * tiles->row_tiles;
    ready->chunk = ps_max(1, ready->chunk / (tiles->tile_columns * tiles->tile_rows));
    return ps_run_chunks(ready->run, ps_ceil_div(ready->n, ready->chunk), turn_chunk,
                         ready);
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
    ready.turns = turn_axes(call, shape, strides, &ready.tiles);
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
    if (ready.turns) {
        return run_turned(&ready, ready.n);
    }
    const int64_t chunks = ps_ceil_div(ready.n, ready.chunk);
    return ps_run_chunks(run, chunks, run_chunk, &ready);
}
