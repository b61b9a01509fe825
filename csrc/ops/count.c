/* The count op: how many elements are true, along some axes or in all.
 *
 * Order does not matter to a count, so the array is walked as it lies in memory,
 * whatever the order of its axes: tile after tile of its two innermost ones. A tile's
 * elements become mask bytes, in the first cache, some thousand at a time, and one
 * kernel adds a block of them to its places, be they one, one a row, one a column, or
 * one each (0.01 to 0.02 ns a byte in wide rows).
 *
 * Pieces divide an axis that is not counted over, so that a place belongs to one piece;
 * when all axes are, each piece counts on its own, and integers are added in any order.
 */
#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/ops.h"
#include "ops/run.h"
#include "ops/strided.h"

enum {
    /* Bytes read below which another thread costs more than it brings:
     * 4 MB take 0.07 ms on one. */
    PARALLEL_BYTES = 4 << 20,
    /* Elements between two looks at signals: at most 2 ms in any layout. */
    STRETCH = 64 * PS_MASK_BLOCK,
    /* An innermost axis is cut into pieces of at least so many columns: its rows are
     * read in stretches of whole lines. */
    LEAST_COLUMNS = 1024,
    SHORT_ROW = 8
};

/* The walk: axes from the widest stride to the narrowest, merged; at least two. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_view view;
    char *out;
    int ndim;
    int64_t shape[PS_MAX_DIMS + 1];
    int64_t strides[PS_MAX_DIMS + 1];
    int64_t out_strides[PS_MAX_DIMS + 1];
    int cut; /* the axis that pieces divide */
    int64_t pieces;
    bool has_total; /* all axes are counted over */
    _Atomic int64_t total;
} count_walk;

/* What one piece holds while it walks. */
typedef struct {
    ps_walk walk;        /* over the axes but the innermost; its runs are tiles */
    ps_mask_source tile; /* the tile at hand */
    char *out;
    int64_t shape[PS_MAX_DIMS + 1];
    int64_t unheard; /* elements since the last look at signals */
    int64_t total;
} count_place;

/* ---- the walk ---- */

/* The three arrays of a walk always change together. */
static void
put_axis(count_walk *walk, int at, int64_t size, int64_t stride, int64_t out_stride)
{
    walk->shape[at] = size;
    walk->strides[at] = stride;
    walk->out_strides[at] = out_stride;
}

/* Axis `from` takes the place of axis `to`. */
static void
copy_axis(count_walk *walk, int to, int from)
{
    put_axis(walk, to, walk->shape[from], walk->strides[from], walk->out_strides[from]);
}

/* An axis that runs backwards is turned round, which changes no count. */
static void
add_axis(count_walk *walk, int64_t size, int64_t stride, int64_t out_stride)
{
    if (stride < 0) {
        walk->view.data += (size - 1) * stride;
        walk->out += (size - 1) * out_stride;
        stride = -stride;
        out_stride = -out_stride;
    }
    put_axis(walk, walk->ndim++, size, stride, out_stride);
}

/* Where a row of places meets the innermost axis, an axis that is counted over becomes
 * its partner in the tile: columns are added up before they go out. */
static void
choose_partner(count_walk *walk)
{
    const int partner = walk->ndim - 2;
    int found = partner;
    while (found >= 0 && walk->out_strides[found] != 0) {
        found--;
    }
    if (walk->out_strides[walk->ndim - 1] == 0 || found < 0) {
        return;
    }
    const int64_t size = walk->shape[found], stride = walk->strides[found];
    for (int axis = found; axis < partner; axis++) {
        copy_axis(walk, axis, axis + 1);
    }
    put_axis(walk, partner, size, stride, 0);
}

/* Short rows that all go to one place are read as a few long columns: the row of three
 * costs 5 ns as a row, 1 ns in columns. */
static void
turn_short_rows(count_walk *walk)
{
    const int inner = walk->ndim - 1;
    if (!walk->has_total || walk->shape[inner] > SHORT_ROW ||
        walk->shape[inner - 1] <= walk->shape[inner]) {
        return;
    }
    const int64_t size = walk->shape[inner], stride = walk->strides[inner];
    copy_axis(walk, inner, inner - 1);
    put_axis(walk, inner - 1, size, stride, 0);
}

/* From a call to a walk. Axes of length 1 do not take part; two are added where fewer
 * are left. False: the array is empty, so the zeros that the caller made are
 * right. */
static bool
open_walk(count_walk *walk, const ps_count_call *call, ps_run *run)
{
    const ps_view *const view = &call->view;
    walk->run = run;
    walk->view = *view;
    walk->out = call->out;
    walk->ndim = 0;
    walk->has_total = true;
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] == 0) {
            return false;
        }
        add_axis(walk, view->shape[axis], view->strides[axis], call->out_strides[axis]);
        walk->has_total = walk->has_total &&
                          (call->out_strides[axis] == 0 || view->shape[axis] == 1);
    }
    int64_t *const strides[] = {walk->strides, walk->out_strides};
    ps_order_axes(walk->ndim, walk->shape, strides, 2);
    walk->ndim = ps_merge_axes(walk->ndim, walk->shape, strides, 2);
    for (; walk->ndim < 2; walk->ndim++) {
        if (walk->ndim == 1) {
            copy_axis(walk, 1, 0);
        }
        put_axis(walk, 0, 1, 0, 0);
    }
    turn_short_rows(walk);
    choose_partner(walk);
    atomic_init(&walk->total, 0);
    return true;
}

/* The longest axis that is not counted over, or the longest where all are; one piece
 * when the work is small or would be cut too finely. */
static void
cut_walk(count_walk *walk)
{
    int64_t nbytes = walk->view.itemsize, best = 0;
    walk->cut = 0;
    for (int axis = 0; axis < walk->ndim; axis++) {
        nbytes *= walk->shape[axis];
        if ((walk->has_total || walk->out_strides[axis] != 0) &&
            walk->shape[axis] > best) {
            walk->cut = axis;
            best = walk->shape[axis];
        }
    }
    const int64_t finest = walk->cut == walk->ndim - 1 ? LEAST_COLUMNS : 1;
    walk->pieces = ps_min(4 * walk->run->threads, best / finest);
    if (walk->run->threads == 1 || nbytes < PARALLEL_BYTES || walk->pieces < 1) {
        walk->pieces = 1;
    }
}

/* ---- a piece of it ---- */

/* One block of a tile, from row `row` and column `column`. Where the whole tile goes to
 * one place, numbers need not become bytes (ps_mask_count). */
static void
count_block(const count_walk *walk, count_place *place, int64_t row, int64_t column,
            int64_t rows, int64_t width)
{
    const int inner = walk->ndim - 1;
    const int64_t row_step = walk->out_strides[inner - 1];
    const int64_t step = walk->out_strides[inner];
    const int64_t first = row * place->shape[inner] + column;
    char *const out = place->out + row * row_step + column * step;
    if (row_step == 0 && step == 0) {
        const int64_t count = ps_mask_count(&place->tile, first, rows * width);
        /* A place that all pieces share is left alone, even by adding 0. */
        *(walk->has_total ? &place->total : (int64_t *)out) += count;
        return;
    }
    char buffer[PS_MASK_BLOCK];
    const char *const mask = ps_mask_block(&place->tile, first, rows * width, buffer);
    ps_kernels()->mask_add(out, row_step, step, mask, rows, width);
}

/* Blocks of whole rows, or of parts of a long one. False: the call has been stopped. */
static bool
count_tile(const count_walk *walk, count_place *place)
{
    const int inner = walk->ndim - 1;
    const int64_t size = place->shape[inner], length = place->shape[inner - 1];
    const int64_t width = ps_min(size, PS_MASK_BLOCK), height = PS_MASK_BLOCK / width;
    for (int64_t row = 0; row < length; row += height) {
        for (int64_t column = 0; column < size; column += width) {
            const int64_t rows = ps_min(height, length - row);
            const int64_t columns = ps_min(width, size - column);
            count_block(walk, place, row, column, rows, columns);
            place->unheard += rows * columns;
            if (place->unheard >= STRETCH) {
                place->unheard = 0;
                if (ps_run_stops(walk->run)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* The walk with the axis `cut` narrowed to this piece's share of it. */
static void
count_piece(void *context, int64_t piece)
{
    count_walk *const walk = context;
    const int partner = walk->ndim - 2;
    const int64_t share = ps_ceil_div(walk->shape[walk->cut], walk->pieces);
    const int64_t first = piece * share;
    count_place place;
    place.unheard = place.total = 0;
    memcpy(place.shape, walk->shape, (size_t)walk->ndim * sizeof(int64_t));
    place.shape[walk->cut] = ps_min(share, walk->shape[walk->cut] - first);
    if (place.shape[walk->cut] <= 0 || ps_run_stops(walk->run)) {
        return;
    }
    ps_view tile = walk->view;
    tile.ndim = 2;
    tile.shape = &place.shape[partner];
    tile.strides = &walk->strides[partner];
    ps_mask_open(&place.tile, &tile);
    char *const data = walk->view.data + first * walk->strides[walk->cut];
    char *const out = walk->out + first * walk->out_strides[walk->cut];
    ps_walk_to(&place.walk, partner + 1, place.shape, 0);
    do {
        place.tile.data = data + ps_walk_offset(&place.walk, walk->strides);
        place.out = out + ps_walk_offset(&place.walk, walk->out_strides);
    } while (count_tile(walk, &place) && ps_walk_on(&place.walk, NULL, NULL));
    atomic_fetch_add_explicit(&walk->total, place.total, memory_order_relaxed);
}

/* A short call stays on this thread and on the stack. */
ps_status
ps_count_nonzero(void *argument, ps_run *run)
{
    ps_count_call *const call = argument;
    count_walk walk;
    if (!open_walk(&walk, call, run)) {
        return PS_SUCCESS;
    }
    cut_walk(&walk);
    PS_TRY(ps_run_chunks(run, walk.pieces, count_piece, &walk));
    if (walk.has_total) {
        *(int64_t *)walk.out = atomic_load(&walk.total);
    }
    return PS_SUCCESS;
}
