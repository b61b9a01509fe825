/* The quantile op: order statistics of segments (contract in ops.h).
 *
 * Values are brought together by segment as keys (quantile.tmpl.h), a column for each
 * place in the rows, and the wanted ranks of each column are selected (ranks.c).
 *
 * By ids there are two passes over the entries: the first counts each segment's, the
 * second puts keys where its column has room. The lists of the second pass are checked
 * anew: what another thread has written to the ids meanwhile finds no room, or leaves
 * some. Both passes are one thread's: they write all over the keys, and each thread
 * would have to read all ids. Then threads own segments.
 *
 * By runs it goes segment by segment, in scratch that is as large as the longest one.
 *
 * Memory, besides values that NumPy has had to cast: by ids one key for each element
 * that takes part and two numbers for each segment (or one for each, and one for each
 * of its columns, where a mask chooses elements); by runs the keys of one segment a
 * thread. An order of entries, as plans have, would cost as much again as the keys, and
 * a random read of each value on top of the random write of its key.
 */
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/address.h"
#include "ops/ops.h"
#include "ops/ranks.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Segments whose limits are copied at a time: 8 KiB of them. */
    SEGMENTS = 512,
    /* Bytes of a block of rows that is packed: half of a first cache. */
    PACKED_BYTES = 16 << 10,
    /* Bytes of a chunk of segments, on average: some 0.3 ms of selection. */
    CHUNK_BYTES = 256 << 10
};

/* What all chunks of a call share. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_quantile_call *call;
    const double *sorted;      /* levels, ascending */
    const ps_columns *columns; /* of all segments, by ids; NULL by runs */
    bool packs;                /* are rows cast, or gathered, before keys are made? */
    int64_t capacity;          /* entries of a block */
    int64_t key_nbytes;
    int64_t n_taken; /* counters of a segment: of its entries, or of each column's */
    int64_t chunk;   /* segments of a chunk */
} ready_quantile;

/* Memory for a block of entries on their way to keys: their list, and their rows where
 * these are packed. */
typedef struct {
    ps_list_room list;
    char *packed;
    int64_t packed_nbytes;
} block_room;

/* ---- blocks of entries ---- */

/* False: no memory; the room has to be closed all the same. */
static bool
open_block(block_room *room, const ready_quantile *ready)
{
    const ps_quantile_call *const call = ready->call;
    const int64_t row = call->width * ps_dtype_size[call->type];
    room->packed_nbytes = ready->packs ? ready->capacity * row : 0;
    room->packed = NULL;
    if (!ps_list_room_open(&room->list, ready->capacity)) {
        room->list.block = NULL;
        return false;
    }
    if (ready->packs) {
        room->packed = ps_scratch_get(room->packed_nbytes);
    }
    return !ready->packs || room->packed != NULL;
}

static void
close_block(block_room *room)
{
    ps_list_room_close(&room->list);
    ps_scratch_put(room->packed, room->packed_nbytes);
}

/* Entries [first, first + n) as rows of `type`, in place or packed. Every row that
 * gather names is checked, whether a mask takes it or not. NULL: a row that does not
 * exist. */
static const char *
rows_of(block_room *room, const ready_quantile *ready, int64_t first, int64_t n)
{
    const ps_quantile_call *const call = ready->call;
    const ps_index *const gather = &call->gather;
    const int64_t row = call->width * call->itemsize;
    const int64_t packed_row = call->width * ps_dtype_size[call->type];
    if (gather->data == NULL) {
        const char *const from = call->values + first * row;
        if (ready->packs) {
            ps_convert(call->type, room->packed, call->dtype, call->itemsize, false,
                       from, call->itemsize, n * call->width);
        }
        return ready->packs ? room->packed : from;
    }
    int64_t *const number = room->list.row;
    if (ps_kernels()->rows[gather->type](PS_MODE_RAISE, number,
                                         gather->data + first * gather->strides[0], n,
                                         gather->strides[0], gather->size) > 0) {
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        ps_convert(call->type, room->packed + i * packed_row, call->dtype,
                   call->itemsize, false, call->values + number[i] * row,
                   call->itemsize, call->width);
    }
    return room->packed;
}

/* Put the list's entries, of those from `first` on, into columns. The list says where
 * in `rows` each is, and with it in the mask of elements. False: some found no room. */
static bool
place(const ready_quantile *ready, const ps_columns *columns, const ps_list *list,
      const char *rows, int64_t first)
{
    const ps_quantile_call *const call = ready->call;
    if (call->elements == NULL) {
        return ps_kernels()->quantile_place[call->type](columns, list, rows) == 0;
    }
    return ps_kernels()->quantile_pick[call->type](
                   columns, list, rows, call->elements + first * call->width) == 0;
}

/* ---- statistics of columns ---- */

/* The ranks between which the levels of n keys lie, ascending and each once; returns
 * their number. rank has room for two for each level. The products are those of
 * quantile_finish, so that what it reads is what was selected. */
static int64_t
wanted_ranks(const ready_quantile *ready, int64_t n, int64_t *rank)
{
    const ps_quantile_call *const call = ready->call;
    int64_t count = 0;
    if (call->q == NULL) {
        rank[count++] = (n - 1) / 2;
        rank[count++] = n / 2;
        return count;
    }
    for (int64_t l = 0; l < call->n_levels; l++) {
        const int64_t low = (int64_t)((double)(n - 1) * ready->sorted[l]);
        for (int64_t at = low; at < ps_min(low + 2, n); at++) {
            if (count == 0 || rank[count - 1] < at) {
                rank[count++] = at;
            }
        }
    }
    return count;
}

/* Put the wanted ranks of a column in place; *ranked says of how many keys `rank` holds
 * them, n_ranks of them, since columns of a segment have mostly the same number. A
 * column that holds a missing key needs no more than that. False: give up. */
static bool
select_column(const ready_quantile *ready, const ps_column *column, int64_t *rank,
              int64_t *ranked, int64_t *n_ranks, int64_t *unheard)
{
    if (ps_kernels()->quantile_missing[column->type](column->keys, column->n)) {
        return true;
    }
    if (column->n != *ranked) {
        *n_ranks = wanted_ranks(ready, column->n, rank);
        *ranked = column->n;
    }
    return ps_select_ranks(ready->run, column, rank, *n_ranks, unheard);
}

/* All columns of segment s, whose keys lie at `keys`, room for `room` of them side by
 * side; taken says how many there are, of each column where they differ. Few keys are
 * one kernel call. False: give up. */
static bool
finish_segment(const ready_quantile *ready, int64_t s, char *keys, int64_t room,
               const int64_t *taken, int64_t *rank, int64_t *unheard)
{
    const ps_quantile_call *const call = ready->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t itemsize = ps_dtype_size[call->type];
    const ps_levels levels = {.q = call->q,
                              .n = call->n_levels,
                              .step = call->n_segments * call->width * itemsize};
    int64_t ranked = -1, n_ranks = 0;
    for (int64_t j = 0; j < call->width; j++) {
        const int64_t n = taken[ready->n_taken > 1 ? j : 0];
        const ps_column column = {call->type, ready->key_nbytes,
                                  keys + j * room * ready->key_nbytes, n};
        char *const out = call->out + (s * call->width + j) * itemsize;
        if (n <= PS_FEW_KEYS) {
            kernels->quantile_few[call->type](out, column.keys, n, &levels);
        }
        else if (select_column(ready, &column, rank, &ranked, &n_ranks, unheard)) {
            kernels->quantile_finish[call->type](out, column.keys, n, &levels);
        }
        else {
            return false;
        }
        if (ps_run_stops_after(ready->run, unheard,
                               PS_LINE_BYTES + 4 * n * ready->key_nbytes)) {
            return false;
        }
    }
    return true;
}

/* ---- segments by runs ---- */

/* A chunk's keys: those of one segment, which is group 0 of its columns. */
typedef struct {
    block_room block;
    ps_columns columns;
    int64_t start[2];
    int64_t keys_nbytes, taken_nbytes;
} run_room;

/* Room for n entries, of which none has come. It only grows, so a chunk of short
 * segments asks for memory once. False: no memory. */
static bool
make_room(run_room *room, const ready_quantile *ready, int64_t n)
{
    int64_t nbytes;
    room->start[1] = n;
    memset(room->columns.taken, 0, (size_t)room->taken_nbytes);
    if (!ps_multiply(n, ready->call->width * ready->key_nbytes, &nbytes)) {
        return false;
    }
    if (nbytes > room->keys_nbytes || room->columns.keys == NULL) {
        ps_scratch_put(room->columns.keys, room->keys_nbytes);
        room->keys_nbytes = nbytes;
        room->columns.keys = ps_scratch_get(nbytes);
    }
    return room->columns.keys != NULL;
}

/* The entries of [first, first + n) that take part, as a list for one segment, whose
 * number is 0. */
static ps_list
list_run(const ready_quantile *ready, ps_list_room *room, int64_t first, int64_t n)
{
    const char *const mask = ready->call->mask;
    ps_list list = {room->offset, mask != NULL ? room->source : NULL, n};
    memset(room->offset, 0, (size_t)n * sizeof(int64_t));
    if (mask != NULL) {
        list.n = 0;
        for (int64_t i = 0; i < n; i++) {
            room->source[list.n] = i;
            list.n += mask[first + i] != 0;
        }
    }
    return list;
}

/* The keys of entries [first, last), one segment, in the room's columns. */
static enum ps_code
bring_run(run_room *room, const ready_quantile *ready, int64_t first, int64_t last,
          int64_t *unheard)
{
    if (!make_room(room, ready, last - first)) {
        return PS_NO_MEMORY;
    }
    for (; first < last; first += ready->capacity) {
        const int64_t n = ps_min(ready->capacity, last - first);
        const char *const rows = rows_of(&room->block, ready, first, n);
        if (rows == NULL) {
            return PS_INDEX_BAD;
        }
        const ps_list list = list_run(ready, &room->block.list, first, n);
        place(ready, &room->columns, &list, rows, first);
        if (ps_run_stops_after(ready->run, unheard,
                               n * ready->call->width * PS_LINE_BYTES)) {
            return PS_INTERRUPTED;
        }
    }
    return PS_OK;
}

/* Copies of the limits of n segments from `first` on; are they runs of entries? Runs
 * may overlap, leave entries out, and come in any order. */
static bool
read_limits(const ps_quantile_call *call, int64_t first, int64_t n, int64_t *start,
            int64_t *stop)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const from = &call->start, *const to = &call->stop;
    int64_t n_bad = kernels->rows[from->type](PS_MODE_DROP, start,
                                              from->data + first * from->strides[0], n,
                                              from->strides[0], call->n_entries + 1);
    n_bad += kernels->rows[to->type](PS_MODE_DROP, stop,
                                     to->data + first * to->strides[0], n,
                                     to->strides[0], call->n_entries + 1);
    for (int64_t i = 0; i < n; i++) {
        n_bad += start[i] > stop[i];
    }
    return n_bad == 0;
}

/* Segments [first, last), one after the other in the same room. Their limits are
 * checked in the copy that is used. */
static enum ps_code
finish_runs(run_room *room, const ready_quantile *ready, int64_t first, int64_t last,
            int64_t *rank)
{
    int64_t start[SEGMENTS], stop[SEGMENTS];
    int64_t unheard = 0;
    for (int64_t s = first; s < last; s += SEGMENTS) {
        const int64_t n = ps_min(SEGMENTS, last - s);
        if (!read_limits(ready->call, s, n, start, stop)) {
            return PS_INDEX_BAD;
        }
        for (int64_t i = 0; i < n; i++) {
            const enum ps_code code =
                    bring_run(room, ready, start[i], stop[i], &unheard);
            if (code != PS_OK) {
                return code;
            }
            if (!finish_segment(ready, s + i, room->columns.keys, room->start[1],
                                room->columns.taken, rank, &unheard)) {
                return PS_INTERRUPTED;
            }
        }
    }
    return PS_OK;
}

/* A chunk by runs, with memory of its own for one segment. */
static enum ps_code
run_runs(const ready_quantile *ready, int64_t first, int64_t last, int64_t *rank)
{
    run_room room = {.taken_nbytes = ready->n_taken * (int64_t)sizeof(int64_t),
                     .columns = {.width = ready->call->width}};
    room.columns.start = room.start;
    room.columns.taken = ps_scratch_get(room.taken_nbytes);
    const bool is_open = open_block(&room.block, ready) && room.columns.taken != NULL;
    const enum ps_code code =
            is_open ? finish_runs(&room, ready, first, last, rank) : PS_NO_MEMORY;
    close_block(&room.block);
    ps_scratch_put(room.columns.keys, room.keys_nbytes);
    ps_scratch_put(room.columns.taken, room.taken_nbytes);
    return code;
}

/* ---- segments by ids ---- */

/* The first pass by ids. start[g + 1] = entries of segment g that take part, then their
 * sum up to it; elements that a mask leaves out are counted here, so that a segment's
 * columns have room for the same number each. */
static ps_status
count_entries(const ready_quantile *ready, block_room *room, int64_t *start)
{
    const ps_quantile_call *const call = ready->call;
    int64_t unheard = 0;
    for (int64_t first = 0; first < call->n_entries; first += ready->capacity) {
        const int64_t n = ps_min(ready->capacity, call->n_entries - first);
        ps_list list;
        PS_TRY(ps_address_list(&call->address, first, n, &room->list, &list));
        for (int64_t i = 0; i < list.n; i++) {
            start[list.offset[i] + 1]++;
        }
        if (ps_run_stops_after(ready->run, &unheard, n * PS_LINE_BYTES)) {
            return ps_run_status(ready->run);
        }
    }
    ps_stretch part = ps_stretch_of(ready->run, call->n_segments, sizeof(int64_t));
    while (ps_next_stretch(&part)) {
        for (int64_t g = part.first; g < part.last; g++) {
            start[g + 1] += start[g];
        }
    }
    return ps_run_status(ready->run);
}

/* The second pass by ids: every entry's key, to its column. Rows are made ready first,
 * since they and the list share the room's numbers. */
static ps_status
place_entries(const ready_quantile *ready, block_room *room, const ps_columns *columns)
{
    const ps_quantile_call *const call = ready->call;
    int64_t unheard = 0;
    for (int64_t first = 0; first < call->n_entries; first += ready->capacity) {
        const int64_t n = ps_min(ready->capacity, call->n_entries - first);
        const char *const rows = rows_of(room, ready, first, n);
        ps_list list;
        if (rows == NULL) {
            return ps_fail(PS_INDEX_BAD);
        }
        PS_TRY(ps_address_list(&call->address, first, n, &room->list, &list));
        if (!place(ready, columns, &list, rows, first)) {
            return ps_fail(PS_INDEX_CHANGED);
        }
        if (ps_run_stops_after(ready->run, &unheard,
                               n * ps_max(1, call->width) * PS_LINE_BYTES)) {
            return ps_run_status(ready->run);
        }
    }
    return PS_SUCCESS;
}

/* The statistics of segments [first, last), whose keys are in place. Threads rearrange
 * keys of their own segments only. */
static enum ps_code
finish_ids(const ready_quantile *ready, int64_t first, int64_t last, int64_t *rank)
{
    const ps_columns *const columns = ready->columns;
    const int64_t row = columns->width * ready->key_nbytes;
    int64_t unheard = 0;
    for (int64_t s = first; s < last; s++) {
        const int64_t at = columns->start[s];
        if (!finish_segment(ready, s, (char *)columns->keys + at * row,
                            columns->start[s + 1] - at,
                            columns->taken + s * ready->n_taken, rank, &unheard)) {
            return PS_INTERRUPTED;
        }
    }
    return PS_OK;
}

/* A chunk of segments, either way. */
static void
run_chunk(void *context, int64_t chunk)
{
    const ready_quantile *const ready = context;
    const ps_quantile_call *const call = ready->call;
    const int64_t first = chunk * ready->chunk;
    const int64_t last = ps_min(call->n_segments, first + ready->chunk);
    const int64_t nbytes = 2 * ps_max(1, call->n_levels) * (int64_t)sizeof(int64_t);
    if (ps_run_stops(ready->run)) {
        return;
    }
    int64_t *const rank = ps_scratch_get(nbytes);
    enum ps_code code = PS_NO_MEMORY;
    if (rank != NULL) {
        code = ready->columns != NULL ? finish_ids(ready, first, last, rank)
                                      : run_runs(ready, first, last, rank);
    }
    ps_scratch_put(rank, nbytes);
    if (code != PS_OK) {
        ps_run_fail(ready->run, code);
    }
}

/* As many segments to a chunk as make it worth its while. */
static ps_status
run_chunks(ready_quantile *ready)
{
    const ps_quantile_call *const call = ready->call;
    if (call->n_segments == 0) {
        return PS_SUCCESS;
    }
    const int64_t share = call->n_entries / call->n_segments + call->n_levels;
    ready->chunk =
            ps_max(1, CHUNK_BYTES / ps_max(8, share * call->width * ready->key_nbytes));
    return ps_run_chunks(ready->run, ps_ceil_div(call->n_segments, ready->chunk),
                         run_chunk, ready);
}

/* Keys in place, then the statistics; start and taken are ready, n entries take part. A
 * column has as many keys as have come to it, whatever was counted: what has not been
 * written is never read. */
static ps_status
fill_columns(ready_quantile *ready, block_room *room, ps_columns *columns, int64_t n)
{
    int64_t nbytes;
    if (!ps_multiply(n, columns->width * ready->key_nbytes, &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    columns->keys = ps_scratch_get(nbytes);
    ready->columns = columns;
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (columns->keys != NULL) {
        status = place_entries(ready, room, columns);
        status = status.code == PS_OK ? run_chunks(ready) : status;
    }
    ps_scratch_put(columns->keys, nbytes);
    return status;
}

/* Segments by ids: start and taken in one block, keys in another. */
static ps_status
quantile_ids(ready_quantile *ready)
{
    const ps_quantile_call *const call = ready->call;
    int64_t taken, nbytes;
    if (!ps_multiply(call->n_segments, ready->n_taken, &taken) ||
        !ps_multiply(taken + call->n_segments + 1, sizeof(int64_t), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    block_room room;
    int64_t *const start = ps_scratch_get(nbytes);
    ps_columns columns = {.start = start, .width = call->width};
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (open_block(&room, ready) && start != NULL) {
        columns.taken = start + call->n_segments + 1;
        status = ps_run_fill(ready->run, start, 0, nbytes);
        status = status.code == PS_OK ? count_entries(ready, &room, start) : status;
        status = status.code == PS_OK
                         ? fill_columns(ready, &room, &columns, start[call->n_segments])
                         : status;
    }
    close_block(&room);
    ps_scratch_put(start, nbytes);
    return status;
}

/* ---- the whole ---- */

static int
compare_levels(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Kernels make keys of contiguous rows of the type that results have. */
static bool
must_pack(const ps_quantile_call *call)
{
    return call->gather.data != NULL || call->dtype != call->type;
}

/* Either way. */
static ps_status
run_ready(ready_quantile *ready)
{
    return ready->call->address.n_index > 0 ? quantile_ids(ready) : run_chunks(ready);
}

/* Levels are sorted once for all columns, so that wanted ranks come ascending; results
 * are written in the caller's order. */
ps_status
ps_quantile(void *argument, ps_run *run)
{
    ps_quantile_call *const call = argument;
    ready_quantile ready = {
            .run = run,
            .call = call,
            .packs = must_pack(call),
            .key_nbytes = ps_dtype_size[call->type],
            .n_taken = call->elements != NULL ? ps_max(1, call->width) : 1};
    int64_t row_nbytes, nbytes;
    if (!ps_multiply(call->width, 16, &row_nbytes) ||
        !ps_multiply(call->n_entries, ps_max(1, row_nbytes), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    ready.capacity = ps_min(PS_BLOCK, PACKED_BYTES / ps_max(8, row_nbytes));
    ready.capacity = ps_max(1, ready.packs ? ready.capacity : PS_BLOCK);
    if (call->q == NULL || call->n_levels == 0) {
        return run_ready(&ready);
    }
    const int64_t levels_nbytes = call->n_levels * (int64_t)sizeof(double);
    double *const sorted = ps_scratch_get(levels_nbytes);
    if (sorted == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    memcpy(sorted, call->q, (size_t)levels_nbytes);
    qsort(sorted, (size_t)call->n_levels, sizeof(double), compare_levels);
    ready.sorted = sorted;
    const ps_status status = run_ready(&ready);
    ps_scratch_put(sorted, levels_nbytes);
    return status;
}
