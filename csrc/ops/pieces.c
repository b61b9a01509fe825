/* Running a piece of a scatter (contract in pieces.h): block after block of entries,
 * each made into a list, narrowed to what the piece owns, and applied to every outer
 * row.
 *
 * Order: entries of a block are applied from left to right, blocks one after the other,
 * and an element belongs to one piece; "first" walks all of that backwards. Indices are
 * checked when a list is made, before its first pair is applied.
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
    /* What a row of a block counts for at least: a kernel call for each outer row, or a
     * line of a target that is far. */
    LEAST_BYTES = 16,
    /* Entries of a list that is made of groups: 4 KiB on the stack. */
    GROUPED = 256,
    /* Entries of which runs are made into groups at a time: 16 KiB on the stack. */
    IN_RUNS = 1024,
    /* Entries that are moved one by one, each to a stretch of outer rows of so many
     * bytes, instead of all of them to one outer row after the other: 12,500 rows of 8
     * float64, of which 4 are set, take 4 to 8 times as long row by row;
     * 32 of 64 1.3 times (Zen 3). */
    FEW_COLUMNS = 32,
    TURN_BYTES = 16 << 10
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

/* target[offset[i]] = values[source[i]], nbytes each. Short rows are items; items of
 * odd sizes are rows of bytes. */
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
                               ready->manner.ahead);
    }
}

/* The same for rows of `width` items of which only some stretches are written: bytes
 * between them belong to someone else. */
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

/* target[offset[i]] = target[offset[i]] op values[source[i]] for rows of `width`
 * elements, from left to right: moves of rows or of parts of their items; reductions
 * of elements and of rows, of which those of one element are elements. Every offset
 * has been checked. */
void
ps_apply_list(const ps_ready_call *ready, char *target, const ps_list *list,
              const char *values, int64_t value_stride, int64_t width)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_traits *const traits = &ready->call->traits;
    const enum ps_op op = traits->applied;
    const enum ps_dtype type = traits->type;
    if (traits->is_move && ready->call->spans != NULL) {
        move_spans(ready, target, list, values, value_stride, width);
    }
    else if (traits->is_move) {
        move_rows(ready, target, list, values, value_stride, width * ready->itemsize);
    }
    else if (width > 1) {
        kernels->scatter_rows[op][type](target, list, &ps_are_offsets, values,
                                        value_stride, width, ready->manner.ahead,
                                        ready->manner.uses_runs);
    }
    else if (ready->manner.uses_runs) {
        kernels->scatter_runs[op][type](target, list, values, value_stride);
    }
    else {
        kernels->scatter[op][type](target, list, values, value_stride);
    }
}

/* Rows wider than what is moved between two looks at signals are applied by parts, each
 * to all entries: the columns of a part. A few rows that are packed first go by parts
 * that stay near until they are applied: ns an element of 4 of 8 columns of 125,000
 * float64, set in Fortran order, by parts / whole (Zen 3):
 * 0.58 / 1.1. */
static int64_t
part_width(const ps_ready_call *ready, const ps_piece *piece)
{
    const bool is_near = ready->values.packs && !ready->values.is_constant &&
                         !ready->manner.is_one_list &&
                         ready->call->address.n <= FEW_COLUMNS;
    const int64_t nbytes = is_near ? TURN_BYTES : PS_LISTEN_BYTES;
    return ps_min(piece->width, ps_max(1, nbytes / ps_max(1, ready->itemsize)));
}

/* Entries that are grouped, or taken as they come, need none. */
static bool
needs_lists(const ps_ready_call *ready, const ps_piece *piece)
{
    return !ready->manner.is_grouped &&
           (!ready->manner.is_checked_pass || piece->filters);
}

/* A block that needs lists, or values packed, which then stay in the first cache (1e6
 * of float32 packed for 1,000 of float64: 0.76 ns an entry, with blocks of 256 KB 0.82,
 * Zen 3), has PS_BLOCK entries, others have all, or fewer where packing them would fill
 * more than a second-level cache, or where their rows are what is moved between two
 * looks at signals; at least one. */
static int64_t
block_entries(const ps_ready_call *ready, const ps_piece *piece, int64_t packed_nbytes)
{
    const int64_t n = piece->last - piece->first;
    const int64_t row_nbytes = part_width(ready, piece) * ready->itemsize;
    if (ready->manner.is_one_list) {
        return n;
    }
    const bool takes_all = ready->manner.is_grouped ||
                           (packed_nbytes == 0 && !needs_lists(ready, piece));
    int64_t capacity = takes_all ? n : ps_min(n, PS_BLOCK);
    if (packed_nbytes > 0) {
        capacity = ps_min(capacity, PACK_BYTES / packed_nbytes);
    }
    return ps_max(1,
                  ps_min(capacity, PS_LISTEN_BYTES / ps_max(row_nbytes, LEAST_BYTES)));
}

/* Lists for as many entries as a block has, and packed values for as many. Opened by
 * the caller's thread before any piece runs. */
bool
ps_open_piece_room(const ps_ready_call *ready, const ps_piece *piece,
                   ps_piece_room *room)
{
    const ps_value_source values =
            ps_narrow_values(&ready->values, 0, part_width(ready, piece));
    const int64_t per_entry = values.is_constant ? 0 : ps_packed_nbytes(&values, 1);
    const int64_t capacity = block_entries(ready, piece, per_entry);
    room->capacity = capacity;
    room->packed_nbytes = ps_packed_nbytes(&values, capacity);
    room->packed = NULL;
    room->done = room->unheard = 0;
    room->is_plain = ready->call->target.is_plain;
    room->owned.block = NULL;
    if (!ps_list_room_open(&room->lists, needs_lists(ready, piece) ? capacity : 0) ||
        (piece->filters && !ps_list_room_open(&room->owned, capacity))) {
        return false;
    }
    if (room->packed_nbytes > 0) {
        room->packed = ps_scratch_get(room->packed_nbytes);
        return room->packed != NULL;
    }
    return true;
}

/* Also what was opened in part. */
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

/* Narrow a list to the offsets in [low, high) of the piece; their order stays. */
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

/* What is at hand: a block of a part of a piece. */
typedef struct {
    const ps_ready_call *ready;
    ps_piece piece;         /* narrowed to some columns */
    ps_value_source values; /* so are these */
    int64_t first, n;       /* entries */
    ps_piece_room *room;
} block;

/* Have signals been heard, after one outer row of n entries has been applied? A row
 * counts for LEAST_BYTES at least. */
static bool
is_stopped(const block *at, int64_t n)
{
    const int64_t nbytes = at->piece.width * at->ready->itemsize;
    return ps_run_stops_after(at->ready->run, &at->room->unheard,
                              n * ps_max(nbytes, LEAST_BYTES));
}

/* Do few entries arrive in many outer rows, as in a set along the last axis? Items that
 * are moved as they lie, with one stride from outer row to outer row. */
static bool
sets_columns(const block *at, const ps_list *list)
{
    const ps_ready_call *const ready = at->ready;
    return ready->call->op == PS_set && ready->call->spans == NULL &&
           ready->split.n_outer == 1 && !at->values.packs && list->n <= FEW_COLUMNS &&
           list->n < at->piece.outer_last - at->piece.outer_first &&
           ps_size_of(at->piece.width * ready->itemsize) >= 0;
}

/* Each entry of the list for a stretch of outer rows that stays in the first cache, a
 * strided copy: of equal offsets the last stays, as in any order of outer rows. */
static ps_status
set_columns(const block *at, const ps_list *list)
{
    const ps_ready_call *const ready = at->ready;
    const ps_rows *const rows = &ready->call->rows;
    const int64_t step = rows->target_strides[0], value_step = rows->value_strides[0];
    const int64_t width = ps_max(step, -step);
    const int64_t turn = ps_max(16, TURN_BYTES / ps_max(1, width));
    const int size = ps_size_of(at->piece.width * ready->itemsize);
    char *const data = ready->call->target.data + at->piece.column * ready->itemsize;
    const char *const values =
            ps_block_values(&at->values, at->first, at->n, 0, at->room->packed);
    for (int64_t row = at->piece.outer_first, n; row < at->piece.outer_last; row += n) {
        n = ps_min(turn, at->piece.outer_last - row);
        for (int64_t i = 0; i < list->n; i++) {
            const int64_t entry = list->source != NULL ? list->source[i] : i;
            ps_kernels()->copy[size](
                    data + list->offset[i] + row * step, step,
                    values + entry * at->values.stride + row * value_step, value_step,
                    n);
        }
        if (is_stopped(at, list->n * n)) {
            return ps_run_status(ready->run);
        }
    }
    return PS_SUCCESS;
}

/* Apply one list to every outer row of the piece: the list is made once, the values
 * are found (or packed) for each row. */
static ps_status
apply_block(const block *at, const ps_list *list)
{
    const ps_ready_call *const ready = at->ready;
    const ps_scatter_call *const call = ready->call;
    char *const data = call->target.data + at->piece.column * ready->itemsize;
    if (sets_columns(at, list)) {
        return set_columns(at, list);
    }
    for (int64_t outer = at->piece.outer_first; outer < at->piece.outer_last; outer++) {
        int64_t offset, value_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &offset, &value_offset);
        const char *const values = ps_block_values(&at->values, at->first, at->n,
                                                   value_offset, at->room->packed);
        ps_apply_list(ready, data + offset, list, values, at->values.stride,
                      at->piece.width);
        if (is_stopped(at, at->n)) {
            return ps_run_status(ready->run);
        }
    }
    return PS_SUCCESS;
}

/* Each index is read once and checked in a register; no list is made. Moves have a
 * kernel for each item size, reductions one for each type, and one that keeps the
 * running value where an index repeats. */
bool
ps_apply_entries(const ps_scatter_call *call, const ps_manner *manner,
                 const ps_entries *entries)
{
    const ps_kernel_table *const kernels = ps_kernels();
    int64_t done;
    if (call->op == PS_set) {
        done = kernels->set_checked[ps_size_of(call->target.itemsize)](entries);
    }
    else {
        const enum ps_op op = call->traits.applied;
        const enum ps_dtype type = call->traits.type;
        done = manner->uses_runs ? kernels->scatter_runs_checked[op][type](entries)
                                 : kernels->scatter_checked[op][type](entries);
    }
    return done == entries->n;
}

/* The values lie `value_stride` bytes apart. */
ps_entries
ps_plain_entries(const ps_scatter_call *call, const ps_manner *manner, int64_t first,
                 int64_t n, const char *values, int64_t value_stride)
{
    const ps_index *const index = &call->address.index[0];
    return (ps_entries){.is_wide = index->type == PS_INDEX_i64,
                        .target = call->target.data,
                        .size = index->size,
                        .counted = ps_counted_size(&call->address, 0),
                        .index = index->data + first * ps_index_itemsize(index->type),
                        .values = values,
                        .value_stride = value_stride,
                        .widens = manner->widens,
                        .n = n,
                        .ahead = manner->ahead};
}

/* n entries from `first` on as they come. An index out of bounds ends the block before
 * it is used: PS_INDEX_BAD, with entries before it applied, which only a private
 * target, or an index that another thread has rewritten, ever shows. Blocks of a piece
 * follow each other into the same elements: whether these hold no -0.0 is asked before
 * the first one and kept in the room, where a kernel that brings one takes it back. */
static ps_status
run_checked_block(const ps_ready_call *ready, int64_t first, int64_t n,
                  ps_piece_room *room)
{
    const char *const values =
            ps_block_values(&ready->values, first, n, 0, room->packed);
    ps_entries entries = ps_plain_entries(ready->call, &ready->manner, first, n, values,
                                          ready->values.stride);
    entries.is_plain = &room->is_plain;
    return ps_apply_entries(ready->call, &ready->manner, &entries)
                   ? PS_SUCCESS
                   : ps_fail(PS_INDEX_BAD);
}

/* The same for rows of several elements: the caller's int64 index is the list, whose
 * numbers the kernel turns into places, reads once and checks (kernels/rows.h). Nothing
 * writes to it, though lists are of the kind that may be written. */
static ps_status
run_checked_rows(const block *at)
{
    const ps_ready_call *const ready = at->ready;
    const ps_scatter_call *const call = ready->call;
    const ps_traits *const traits = &call->traits;
    const ps_numbering numbering = ps_address_numbering(&call->address, 0);
    char *const index = (char *)(uintptr_t)call->address.index[0].data;
    const ps_list list = {(int64_t *)(void *)index + at->first, NULL, at->n};
    char *const target = call->target.data + at->piece.column * ready->itemsize;
    const int64_t width = at->piece.width, stride = at->values.stride;
    const char *const values =
            ps_block_values(&at->values, at->first, at->n, 0, at->room->packed);
    const int64_t done =
            traits->is_move ? ps_kernels()->set_rows_checked(
                                      target, &list, &numbering, values, stride,
                                      width * ready->itemsize, ready->manner.ahead)
                            : ps_kernels()->scatter_rows[traits->applied][traits->type](
                                      target, &list, &numbering, values, stride, width,
                                      ready->manner.ahead, ready->manner.uses_runs);
    return done == at->n ? PS_SUCCESS : ps_fail(PS_INDEX_BAD);
}

/* Runs of equal numbers as groups of positions; `start` has room for n + 1. */
static ps_groups
groups_of_runs(const int64_t *number, int32_t n, int32_t *start, int32_t *row)
{
    int32_t run = 0;
    start[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        row[run] = (int32_t)number[i];
        start[run + 1] = i + 1;
        run += i + 1 == n || number[i + 1] != number[i];
    }
    return (ps_groups){.start = start, .row = row, .last = n};
}

/* Rows wider than a line, whose numbers repeat: runs of them become groups, whose rows
 * a kernel keeps in registers. Each number is read once, and checked in the copy. */
static ps_status
run_row_runs(const block *at)
{
    const ps_ready_call *const ready = at->ready;
    const ps_scatter_call *const call = ready->call;
    const ps_index *const index = &call->address.index[0];
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t itemsize = ps_index_itemsize(index->type), stride = at->values.stride;
    const char *const numbers = index->data + at->first * itemsize;
    const char *const values =
            ps_block_values(&at->values, at->first, at->n, 0, at->room->packed);
    char *const target = call->target.data + at->piece.column * ready->itemsize;
    ps_numbering numbering = ps_address_numbering(&call->address, 0);
    numbering.step = 1;
    int64_t number[IN_RUNS];
    int32_t start[IN_RUNS + 1], row[IN_RUNS];
    for (int64_t first = 0; first < at->n; first += IN_RUNS) {
        const int32_t n = (int32_t)ps_min(IN_RUNS, at->n - first);
        if (kernels->place[index->type](number, numbers + first * itemsize, n, itemsize,
                                        &numbering, 0, false) > 0) {
            return ps_fail(PS_INDEX_BAD);
        }
        ps_groups groups = groups_of_runs(number, n, start, row);
        groups.step = index->step;
        kernels->plan_rows[call->traits.applied][call->traits.type](
                target, &groups, values + first * stride, stride, at->piece.width);
    }
    return PS_SUCCESS;
}

/* May rows be taken so? */
static bool
takes_row_runs(const ps_ready_call *ready)
{
    const ps_traits *const traits = &ready->call->traits;
    return ready->manner.uses_runs && !traits->is_move &&
           ready->split.width * ready->itemsize > PS_LINE_BYTES &&
           ready->call->address.index[0].size <= INT32_MAX &&
           ps_kernels()->plan_rows[traits->applied][traits->type] != NULL;
}

/* Groups of a reduction that has no kernel for them: lists in the order of the plan. A
 * row of the target then stays in the first cache while it meets its values, if not in
 * registers. */
static void
apply_groups(const ps_ready_call *ready, char *target, const ps_groups *groups,
             const char *values, int64_t value_stride, int64_t width)
{
    int64_t offset[GROUPED], source[GROUPED];
    ps_list list = {offset, source, 0};
    int64_t position = groups->first;
    for (int64_t g = groups->group; position < groups->last; g++) {
        const int64_t row = groups->row != NULL ? groups->row[g] : g;
        const int64_t end = ps_min(groups->start[g + 1], groups->last);
        for (; position < end; position++) {
            offset[list.n] = row * groups->step;
            source[list.n] = groups->order != NULL ? groups->order[position] : position;
            list.n++;
            if (list.n == GROUPED || position + 1 == groups->last) {
                ps_apply_list(ready, target, &list, values, value_stride, width);
                list.n = 0;
            }
        }
    }
}

/* Positions [first, first + n) of the plan's order, whole groups, to every outer row
 * of the piece: rows of a group are reduced in registers, in the order of the index.
 * Most kernels read the plan itself, whose rows were checked when it was made. */
static ps_status
run_grouped_block(const block *at)
{
    const ps_ready_call *const ready = at->ready;
    const ps_scatter_call *const call = ready->call;
    const ps_address *const address = &call->address;
    const ps_groups groups = ps_plan_groups(address->plan, at->first, at->first + at->n,
                                            address->index[0].step);
    char *const data = call->target.data + at->piece.column * ready->itemsize;
    for (int64_t outer = at->piece.outer_first; outer < at->piece.outer_last; outer++) {
        int64_t offset, value_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &offset, &value_offset);
        const char *const values =
                ps_block_values(&at->values, 0, 0, value_offset, NULL);
        if (ps_kernels()->plan_rows[call->traits.applied][call->traits.type] != NULL) {
            ps_kernels()->plan_rows[call->traits.applied][call->traits.type](
                    data + offset, &groups, values, at->values.stride, at->piece.width);
        }
        else {
            apply_groups(ready, data + offset, &groups, values, at->values.stride,
                         at->piece.width);
        }
        if (is_stopped(at, at->n)) {
            return ps_run_status(ready->run);
        }
    }
    return PS_SUCCESS;
}

/* One block: its list, narrowed to what the piece owns, applied. The list is complete
 * and checked before anything is written. */
static ps_status
run_block(const block *at)
{
    const ps_ready_call *const ready = at->ready;
    ps_piece_room *const room = at->room;
    ps_list list;
    if (ready->manner.is_grouped) {
        return run_grouped_block(at);
    }
    if (ready->manner.is_checked_pass && !at->piece.filters) {
        const ps_status status =
                ready->split.width == 1
                        ? run_checked_block(ready, at->first, at->n, room)
                : takes_row_runs(ready) ? run_row_runs(at)
                                        : run_checked_rows(at);
        return status.code == PS_OK && is_stopped(at, at->n) ? ps_run_status(ready->run)
                                                             : status;
    }
    PS_TRY(ps_address_list(&ready->call->address, at->first, at->n, &room->lists,
                           &list));
    if (at->piece.filters) {
        keep_owned(&at->piece, &list, &room->owned);
    }
    if (list.n == 0) {
        return is_stopped(at, at->n) ? ps_run_status(ready->run) : PS_SUCCESS;
    }
    if (ready->call->op == PS_first) {
        reverse_list(&list, room->lists.source);
    }
    return apply_block(at, &list);
}

/* The next block of a piece, of which room->done entries have been applied: parts of
 * columns come one after the other, each with all entries; `first` from the last block
 * to the first. */
static block
next_block(const ps_ready_call *ready, const ps_piece *piece, ps_piece_room *room)
{
    const int64_t n = piece->last - piece->first, width = part_width(ready, piece);
    const int64_t column = room->done / n * width, done = room->done % n;
    block at = {.ready = ready, .piece = *piece, .room = room};
    at.piece.column += column;
    at.piece.width = ps_min(width, piece->width - column);
    at.values = ps_narrow_values(&ready->values, at.piece.column, at.piece.width);
    at.n = ps_min(room->capacity, n - done);
    at.first = ready->call->op == PS_first ? piece->last - done - at.n
                                           : piece->first + done;
    return at;
}

/* Called again where a fork has left a thread behind: it then goes on from room->done,
 * as if it had never stopped. A failure of any thread ends it at the next block. */
void
ps_run_piece(const ps_ready_call *ready, const ps_piece *piece, ps_piece_room *room)
{
    const int64_t n_parts = ps_ceil_div(piece->width, part_width(ready, piece));
    const int64_t n = n_parts * (piece->last - piece->first);
    if (room->done == 0 && ps_run_stops(ready->run)) {
        return;
    }
    while (room->done < n) {
        const block at = next_block(ready, piece, room);
        ps_rest();
        const ps_status status = run_block(&at);
        if (status.code != PS_OK) {
            ps_run_fail(ready->run, status.code);
            break;
        }
        room->done += at.n;
    }
}
