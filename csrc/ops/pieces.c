/* Running a piece of a scatter (contract in pieces.h): block after block of entries,
 * each made into a list, narrowed to what the piece owns, and applied to every outer
 * row.
 * The comments above each function name its part of that loop.
 */
#include "ops/pieces.h"

#include <stddef.h>

#include "base/pool.h"
#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/plan.h"
#include "ops/run.h"

enum {
    /* Packed values of a block stay within the second-level cache. */
    PACK_BYTES = 256 << 10,
    /* Bytes of values between two looks at a pending signal: about 1 ms. */
    LISTEN_BYTES = 8 << 20
};

/* Everything, unfiltered: the straight loop, and what the other splits start from. */
ps_piece
ps_whole_piece(const ps_ready_call *ready)
{
    return (ps_piece){.first = 0,
                      .last = ready->call->address.n,
                      .outer_first = 0,
                      .outer_last = ready->split.outer_count,
                      .column = 0,
                      .width = ready->split.width};
}

/* Short rows are items; items of odd sizes are rows of bytes. */
static void
move_rows(const ps_ready_call *ready, char *target, const ps_list *list,
          const char *values, int64_t value_stride, int64_t nbytes)
{
    const int size = ps_size_of(nbytes);
    if (size >= 0) {
        ps_kernels()->set[size](target, list, values, value_stride);
    }
    else {
        ps_kernels()->set_rows(target, list, values, value_stride, nbytes,
                               ready->ahead);
    }
}

/* Bytes between the stretches of an item belong to someone else. */
static void
move_spans(const ps_ready_call *ready, char *target, const ps_list *list,
           const char *values, int64_t value_stride, int64_t width)
{
    const ps_scatter_call *const call = ready->call;
    for (int64_t column = 0; column < width; column++) {
        for (int64_t i = 0; i < call->n_spans; i++) {
            const int64_t at = column * ready->itemsize + call->spans[i].first;
            move_rows(ready, target + at, list, values + at, value_stride,
                      call->spans[i].n);
        }
    }
}

/* Moves of rows or of parts of their items; reductions of elements and of rows, of
 * which those of one element are elements. */
void
ps_apply_list(const ps_ready_call *ready, char *target, const ps_list *list,
              const char *values, int64_t value_stride, int64_t width)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_op op = ready->call->op;
    const bool is_move = op == PS_set || op == PS_first;
    if (is_move && ready->call->spans != NULL) {
        move_spans(ready, target, list, values, value_stride, width);
    }
    else if (is_move) {
        move_rows(ready, target, list, values, value_stride, width * ready->itemsize);
    }
    else if (width > 1) {
        kernels->scatter_rows[op][ready->type](target, list, values, value_stride,
                                               width, ready->ahead);
    }
    else if (ready->uses_runs) {
        kernels->scatter_runs[op][ready->type](target, list, values, value_stride);
    }
    else {
        kernels->scatter[op][ready->type](target, list, values, value_stride);
    }
}

/* A block has PS_BLOCK entries, or fewer where packing them would fill more than a
 * second-level cache; at least one, however wide its row. */
bool
ps_open_piece_room(const ps_ready_call *ready, const ps_piece *piece,
                   ps_piece_room *room)
{
    const int64_t n = piece->last - piece->first;
    const int64_t per_entry =
            ready->values.is_constant ? 0 : ps_packed_nbytes(&ready->values, 1);
    int64_t capacity = ps_min(n, PS_BLOCK);
    if (ready->is_grouped) { /* no lists: as much as runs between two looks at signals
                              */
        const int64_t entry_nbytes = piece->width * ready->itemsize *
                                     (piece->outer_last - piece->outer_first);
        capacity = ps_min(n, ps_max(PS_BLOCK, LISTEN_BYTES / entry_nbytes));
    }
    if (per_entry > 0 && !ready->call->is_one_list) {
        capacity = ps_max(1, ps_min(capacity, PACK_BYTES / per_entry));
    }
    room->capacity = capacity;
    room->packed_nbytes = ps_packed_nbytes(&ready->values, capacity);
    room->packed = NULL;
    room->done = 0;
    room->owned.block = NULL;
    if (!ps_list_room_open(&room->lists, ready->is_grouped ? 0 : capacity) ||
        (piece->filters && !ps_list_room_open(&room->owned, capacity))) {
        return false;
    }
    if (room->packed_nbytes > 0) {
        room->packed = ps_scratch_get(room->packed_nbytes);
        return room->packed != NULL;
    }
    return true;
}

void
ps_close_piece_room(ps_piece_room *room)
{
    ps_list_room_close(&room->lists);
    ps_list_room_close(&room->owned);
    ps_scratch_put(room->packed, room->packed_nbytes);
}

/* op "first" is set walked backwards: the pairs of a block in reverse. */
static void
reverse_list(ps_list *list, int64_t *source_room)
{
    if (list->source == NULL) {
        for (int64_t i = 0; i < list->n; i++) {
            source_room[i] = i;
        }
        list->source = source_room;
    }
    for (int64_t i = 0, j = list->n - 1; i < j; i++, j--) {
        const int64_t offset = list->offset[i], source = list->source[i];
        list->offset[i] = list->offset[j];
        list->source[i] = list->source[j];
        list->offset[j] = offset;
        list->source[j] = source;
    }
}

/* Narrow a list to the offsets that the piece owns. */
static void
keep_owned(const ps_piece *piece, ps_list *list, ps_list_room *owned)
{
    const int64_t kept = ps_kernels()->list_filter(owned->offset, owned->source,
                                                   list->offset, list->source, list->n,
                                                   0, piece->low, piece->high);
    if (kept < list->n) {
        *list = (ps_list){owned->offset, owned->source, kept};
    }
}

/* Apply one list to every outer row of the piece: the list is made once, the values
 * are found (or packed) for each row. */
static void
apply_block(const ps_ready_call *ready, const ps_piece *piece, const ps_list *list,
            int64_t first, int64_t n, char *packed)
{
    const ps_scatter_call *const call = ready->call;
    for (int64_t outer = piece->outer_first; outer < piece->outer_last; outer++) {
        int64_t at, value_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &at, &value_offset);
        const char *const values =
                ps_block_values(&ready->values, first, n, value_offset, packed);
        ps_apply_list(ready, call->target.data + at + piece->column * ready->itemsize,
                      list, values + piece->column * ready->itemsize,
                      ready->values.stride, piece->width);
    }
}

/* The checked pass over one block; no list is made. */
static ps_status
run_checked_block(const ps_ready_call *ready, int64_t first, int64_t n, char *packed)
{
    const ps_scatter_call *const call = ready->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const index = &call->address.index[0];
    const bool is_wide = index->type == PS_INDEX_i64;
    const char *const values = ps_block_values(&ready->values, first, n, 0, packed);
    const char *const from = index->data + first * ps_index_itemsize(index->type);
    const int64_t stride = ready->values.stride;
    int64_t done;
    if (call->op == PS_set) {
        done = kernels->set_checked[ps_size_of(ready->itemsize)](
                is_wide, call->target.data, index->size, from, values, stride, n,
                ready->ahead);
    }
    else {
        done = (ready->uses_runs ? kernels->scatter_runs_checked
                                 : kernels->scatter_checked)[call->op][ready->type](
                is_wide, call->target.data, index->size,
                ps_counted_size(&call->address, 0), from, values, stride, n);
    }
    return done == n ? PS_SUCCESS : ps_fail(PS_INDEX_BAD);
}

/* A block of positions of the plan, to every outer row of the piece. No list: kernels
 * read the plan itself. */
static void
run_grouped_block(const ps_ready_call *ready, const ps_piece *piece, int64_t first,
                  int64_t n)
{
    const ps_scatter_call *const call = ready->call;
    const ps_address *const address = &call->address;
    const ps_groups groups =
            ps_plan_groups(address->plan, first, first + n, address->index[0].step);
    const int64_t column = piece->column * ready->itemsize;
    for (int64_t outer = piece->outer_first; outer < piece->outer_last; outer++) {
        int64_t at, value_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &at, &value_offset);
        const char *const values =
                ps_block_values(&ready->values, 0, 0, value_offset, NULL);
        ps_kernels()->plan_rows[call->op][ready->type](
                call->target.data + at + column, &groups, values + column,
                ready->values.stride, piece->width);
    }
}

/* One block: its list, narrowed to what the piece owns, applied. The list is complete
 * and checked before anything is written. */
static ps_status
run_block(const ps_ready_call *ready, const ps_piece *piece, int64_t first, int64_t n,
          ps_piece_room *room)
{
    ps_list list;
    if (ready->is_grouped) {
        run_grouped_block(ready, piece, first, n);
        return PS_SUCCESS;
    }
    if (ready->is_checked_pass && !piece->filters) {
        return run_checked_block(ready, first, n, room->packed);
    }
    PS_TRY(ps_address_list(&ready->call->address, first, n, &room->lists, &list));
    if (piece->filters) {
        keep_owned(piece, &list, &room->owned);
    }
    if (list.n == 0) {
        return PS_SUCCESS;
    }
    if (ready->call->op == PS_first) {
        reverse_list(&list, room->lists.source);
    }
    apply_block(ready, piece, &list, first, n, room->packed);
    return PS_SUCCESS;
}

void
ps_run_piece(const ps_ready_call *ready, const ps_piece *piece, ps_piece_room *room)
{
    const int64_t n = piece->last - piece->first;
    const int64_t row_nbytes =
            (piece->outer_last - piece->outer_first) * piece->width * ready->itemsize;
    /* Bytes since the last look at signals, which costs a reading of the clock. */
    int64_t heard = LISTEN_BYTES; /* so that the first block asks */
    while (room->done < n) {
        const int64_t count = ps_min(room->capacity, n - room->done);
        const int64_t first = ready->call->op == PS_first
                                      ? piece->last - room->done - count
                                      : piece->first + room->done;
        if (heard >= LISTEN_BYTES) {
            heard = 0;
            ps_rest();
            if (ps_run_stops(ready->run)) {
                break;
            }
        }
        heard += count * ps_max(row_nbytes, 16);
        const ps_status status = run_block(ready, piece, first, count, room);
        if (status.code != PS_OK) {
            ps_run_fail(ready->run, status.code);
            break;
        }
        room->done += count;
    }
}
