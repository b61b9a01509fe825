/* The scan op: running forms of segments (contract in ops.h).
 *
 * By ids it is one pass over the entries in the caller's order, with a row for each
 * segment in scratch: nothing is sorted, and nothing that is made grows with the ids,
 * since ids that are far more than entries are ranked first. A thread owns columns:
 * segments would have each thread read all ids.
 * By offsets one running row suffices, and a thread owns segments.
 * Blocks of entries lie between two looks at signals; where a cast is needed they are
 * small and packed, on the way in and on the way out. The result is written while ids
 * and offsets are checked: nobody sees it before.
 */
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/group.h"
#include "ops/ops.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Entries of a block at most, and ids that are copied at a time: 16 KiB of them, so
     * that they stay in the first cache beside their values. */
    BLOCK = 2048,
    /* Offsets that are copied at a time, to 4 KiB of the stack. */
    SEGMENTS = 512,
    /* Bytes of a block that is packed: half of a first cache. */
    PACKED_BYTES = 16 << 10,
    /* Bytes of a chunk of segments, on average. */
    CHUNK_BYTES = 256 << 10,
    /* Running rows exist for all numbers up to the highest id while these are at most
     * so many for each entry, as row pointers of plans do; else ids are ranked, which
     * costs ten times the pass itself. */
    DENSE = 4,
    DENSE_SPARE = 1024,
    /* Bits of an id that are ranked in a second step, where it exceeds int64. */
    LOW_BITS = 2,
    /* Columns are shared out in parts of so many bytes: eight cache lines. */
    COLUMN_BYTES = 512
};

/* What all chunks of a call share; it does not change once chunks run. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_scan_call *call;
    bool packs, unpacks; /* are values, or results, of another type? */
    int64_t capacity;    /* entries of a block */
    int64_t nbytes;      /* of a row of `type` */
    int64_t chunk;       /* segments, or columns, of a chunk */
    int64_t size;        /* ids are below it */
    const char *index;   /* contiguous ids, or NULL: copied block by block */
    bool is_wide;        /* of int64, or int32 */
} ready_scan;

/* A chunk's work memory, and the column with which its part of the rows begins: 0 by
 * offsets. */
typedef struct {
    ps_scan scan;
    int64_t column;
    int64_t *id;
    char *values, *out;
    char *block;
    int64_t block_nbytes;
    int64_t unheard;
} scan_room;

/* Modular arithmetic and bits are those of any wider unsigned type, an order that of
 * any wider one of the same sign; of bools and, or and xor are all there is. */
enum ps_dtype
ps_scan_type(enum ps_dtype type, enum ps_op *op)
{
    const bool is_low = *op == PS_min || *op == PS_fmin;
    const bool is_high = *op == PS_max || *op == PS_fmax;
    if (type == PS_b1) {
        *op = is_high || *op == PS_add ? PS_or : is_low || *op == PS_mul ? PS_and : *op;
        return PS_u64;
    }
    if (type >= PS_NUM_DTYPES || ps_dtype_kind[type] != PS_KIND_INT) {
        return ps_dtype_kind[type] == PS_KIND_HALF ? PS_f32 : type;
    }
    *op = is_low ? PS_min : is_high ? PS_max : *op;
    const bool is_signed =
            type == PS_i8 || type == PS_i16 || type == PS_i32 || type == PS_i64;
    return is_signed && (is_low || is_high) ? PS_i64 : PS_u64;
}

/* Have both types the same bits for the same numbers? Such values are read, and results
 * written, where they lie. Bools are not among them: any byte but 0 is true. */
static bool
is_same(enum ps_dtype a, enum ps_dtype b)
{
    const bool are_wide = (a == PS_i64 || a == PS_u64) && (b == PS_i64 || b == PS_u64);
    return a == b || are_wide;
}

/* Memory for what is packed, `rows` running rows of scan.width elements, and a byte for
 * each, which says whether an entry has come. One block, so that it is there before the
 * first entry. False: no memory. */
static bool
open_room(scan_room *room, const ready_scan *ready, int64_t rows)
{
    const int64_t block = ready->capacity * ready->nbytes;
    const int64_t ids = ready->call->ids.data != NULL && ready->index == NULL
                                ? ready->capacity * (int64_t)sizeof(int64_t)
                                : 0;
    const int64_t in = ready->packs ? block : 0, out = ready->unpacks ? block : 0;
    const int64_t row = room->scan.width * ps_dtype_size[ready->call->type];
    int64_t running;
    if (!ps_multiply(rows, row + 1, &running) || running > INT64_MAX / 2) {
        return false;
    }
    room->block_nbytes = in + out + ids + running;
    room->block = ps_scratch_get(room->block_nbytes);
    room->id = (int64_t *)room->block;
    room->values = room->block + ids;
    room->out = room->values + in;
    room->scan.running = room->out + out;
    room->scan.seen = room->scan.running + rows * row;
    return room->block != NULL;
}

static void
close_room(scan_room *room)
{
    ps_scratch_put(room->block, room->block_nbytes);
}

/* Where kernels read entries [first, first + n), in the room's columns. */
static const char *
values_of(const scan_room *room, const ready_scan *ready, int64_t first, int64_t n)
{
    const ps_scan_call *const call = ready->call;
    const int64_t itemsize = ps_dtype_size[call->dtype];
    const char *const from = call->values + first * call->width * itemsize;
    if (!ready->packs) {
        return from + room->column * itemsize;
    }
    ps_convert(call->type, room->values, call->dtype, itemsize, false, from, itemsize,
               n * call->width);
    return room->values;
}

/* Where kernels write them: to the result, or beside it where it has another type. */
static char *
out_of(const scan_room *room, const ready_scan *ready, int64_t first)
{
    return ready->unpacks ? room->out
                          : ready->call->out + first * ready->nbytes +
                                    room->column * ps_dtype_size[ready->call->type];
}

/* Results that were written elsewhere go to their place, rounded once where they are
 * halves. False: give up. */
static bool
end_block(scan_room *room, const ready_scan *ready, int64_t first, int64_t n)
{
    const ps_scan_call *const call = ready->call;
    if (ready->unpacks) {
        const int64_t itemsize = ps_dtype_size[call->type];
        ps_convert(call->result,
                   call->out + first * call->width * ps_dtype_size[call->result],
                   call->type, itemsize, false, room->out, itemsize, n * call->width);
    }
    return !ps_run_stops_after(ready->run, &room->unheard,
                               n * ps_max(PS_LINE_BYTES, 2 * ready->nbytes));
}

/* ---- by ids ---- */

/* key[i] = id number first + i, n of them, with the bits of uint64; false: one is below
 * 0. */
static bool
read_ids(const ps_index *ids, int64_t first, int64_t n, int64_t *key)
{
    const int64_t stride = ids->strides[0];
    const char *const data = ids->data + first * stride;
    if (ids->type != PS_INDEX_i64 && ids->type != PS_INDEX_u64) {
        return ps_kernels()->rows[ids->type](PS_MODE_DROP, key, data, n, stride,
                                             INT64_MAX) == 0;
    }
    ps_kernels()->copy[PS_SIZE_8]((char *)key, sizeof(int64_t), data, stride, n);
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        all |= key[i];
    }
    return all >= 0 || ids->type == PS_INDEX_u64;
}

/* *top = the highest id. */
static ps_status
find_top(const ps_scan_call *call, uint64_t *top, ps_run *run)
{
    int64_t key[BLOCK];
    int64_t unheard = 0;
    *top = 0;
    for (int64_t first = 0; first < call->n; first += BLOCK) {
        const int64_t n = ps_min(BLOCK, call->n - first);
        if (!read_ids(&call->ids, first, n, key)) {
            return ps_fail(PS_INDEX_BAD);
        }
        for (int64_t i = 0; i < n; i++) {
            *top = (uint64_t)key[i] > *top ? (uint64_t)key[i] : *top;
        }
        if (ps_run_stops_after(run, &unheard, n * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* key[i] = id number i, without its lowest `bits`, for n ids. What another thread has
 * written meanwhile may lie beyond the bound; it is brought back. */
static ps_status
copy_ids(const ps_scan_call *call, int64_t *key, int bits, int64_t bound, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, call->n, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        read_ids(&call->ids, part.first, part.last - part.first, key + part.first);
        for (int64_t i = part.first; i < part.last; i++) {
            const uint64_t id = (uint64_t)key[i] >> bits;
            key[i] = id < (uint64_t)bound ? (int64_t)id : bound - 1;
        }
    }
    return ps_run_status(run);
}

/* Ranks of the upper bits become numbers that tell the lowest ones as well. */
static ps_status
add_low_bits(const ps_scan_call *call, int64_t *key, ps_run *run)
{
    int64_t id[BLOCK];
    int64_t unheard = 0;
    for (int64_t first = 0; first < call->n; first += BLOCK) {
        const int64_t n = ps_min(BLOCK, call->n - first);
        read_ids(&call->ids, first, n, id);
        for (int64_t i = 0; i < n; i++) {
            key[first + i] =
                    (key[first + i] << LOW_BITS) | (id[i] & ((1 << LOW_BITS) - 1));
        }
        if (ps_run_stops_after(run, &unheard, n * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* key[i] = rank of id number i among the distinct ids, *size of them. A key of the sort
 * is an int64 below a bound that is one as well; ids that are not are ranked in two
 * steps. */
static ps_status
rank_ids(const ps_scan_call *call, uint64_t top, int64_t *key, int64_t *distinct,
         int64_t *size, ps_run *run)
{
    const int bits = top >= INT64_MAX ? LOW_BITS : 0;
    const int64_t bound = (int64_t)(top >> bits) + 1;
    PS_TRY(copy_ids(call, key, bits, bound, run));
    PS_TRY(ps_rank_keys(key, call->n, bound, distinct, size, run));
    if (bits == 0) {
        return PS_SUCCESS;
    }
    PS_TRY(add_low_bits(call, key, run));
    return ps_rank_keys(key, call->n, *size << LOW_BITS, distinct, size, run);
}

/* All entries, in some columns, from first to last or from last to first. Ids are below
 * `size` unless another thread has written to them since they were looked at. */
static enum ps_code
scan_columns(scan_room *room, const ready_scan *ready)
{
    const ps_scan_call *const call = ready->call;
    const int64_t n_blocks = ps_ceil_div(call->n, ready->capacity);
    for (int64_t k = 0; k < n_blocks; k++) {
        const int64_t block = call->is_backward ? n_blocks - 1 - k : k;
        const int64_t first = block * ready->capacity;
        const int64_t n = ps_min(ready->capacity, call->n - first);
        const char *index = (char *)room->id;
        if (ready->index != NULL) {
            index = ready->index + first * (ready->is_wide ? 8 : 4);
        }
        else {
            read_ids(&call->ids, first, n, room->id);
        }
        const char *const values = values_of(room, ready, first, n);
        if (ps_kernels()->scan_checked[call->op][call->type](
                    ready->is_wide, out_of(room, ready, first), values, index, n,
                    &room->scan) > 0) {
            return PS_INDEX_CHANGED;
        }
        if (!end_block(room, ready, first, n)) {
            return PS_INTERRUPTED;
        }
    }
    return PS_OK;
}

/* A chunk by ids: it makes running rows of its columns, in which nothing has come yet.
 */
static void
run_columns(void *context, int64_t chunk)
{
    const ready_scan *const ready = context;
    const ps_scan_call *const call = ready->call;
    scan_room room = {.column = chunk * ready->chunk,
                      .scan = {.size = ready->size,
                               .stride = ready->nbytes,
                               .is_exclusive = call->is_exclusive,
                               .is_backward = call->is_backward,
                               .empty = call->empty}};
    room.scan.width = ps_min(ready->chunk, call->width - room.column);
    if (!open_room(&room, ready, ready->size)) {
        ps_run_fail(ready->run, PS_NO_MEMORY);
        return;
    }
    const int64_t nbytes = room.block + room.block_nbytes - room.scan.running;
    if (ps_run_fill(ready->run, room.scan.running, 0, nbytes).code == PS_OK) {
        const enum ps_code code = scan_columns(&room, ready);
        if (code != PS_OK) {
            ps_run_fail(ready->run, code);
        }
    }
    close_room(&room);
}

/* Columns to threads, in whole rows where they are packed. Bits do not depend on it: a
 * column's running values are its own. */
static ps_status
share_columns(ready_scan *ready)
{
    const ps_scan_call *const call = ready->call;
    const int64_t parts = ps_min(ready->run->threads, ready->nbytes / COLUMN_BYTES);
    const bool is_whole = ready->packs || ready->unpacks || parts < 2;
    if (call->width == 0) {
        return PS_SUCCESS;
    }
    ready->chunk = is_whole ? call->width : ps_ceil_div(call->width, parts);
    return ps_run_chunks(ready->run, ps_ceil_div(call->width, ready->chunk),
                         run_columns, ready);
}

/* Straight from the caller's ids where they are few numbers in the usual form, from
 * copies block by block where they have another, from their ranks where they are many
 * numbers. */
static ps_status
scan_ids(ready_scan *ready)
{
    const ps_scan_call *const call = ready->call;
    const ps_index *const ids = &call->ids;
    uint64_t top;
    PS_TRY(find_top(call, &top, ready->run));
    if (top < (uint64_t)(DENSE * call->n + DENSE_SPARE)) {
        const bool is_known = ids->type == PS_INDEX_i64 || ids->type == PS_INDEX_i32;
        const bool is_plain =
                is_known && ids->strides[0] == ps_index_itemsize(ids->type);
        ready->size = (int64_t)top + 1;
        ready->index = is_plain ? ids->data : NULL;
        ready->is_wide = !is_plain || ids->type == PS_INDEX_i64;
        return share_columns(ready);
    }
    const int64_t nbytes = 2 * call->n * (int64_t)sizeof(int64_t);
    int64_t *const key = ps_scratch_get(nbytes);
    if (key == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status =
            rank_ids(call, top, key, key + call->n, &ready->size, ready->run);
    if (status.code == PS_OK) {
        ready->index = (char *)key;
        ready->is_wide = true;
        status = share_columns(ready);
    }
    ps_scratch_put(key, nbytes);
    return status;
}

/* ---- by offsets ---- */

/* How many of n ascending limits are below x: where a block begins among them. */
static int64_t
count_below(const int64_t *limit, int64_t n, int64_t x)
{
    int64_t low = 0;
    while (low < n) {
        const int64_t middle = low + (n - low) / 2;
        if (limit[middle] < x) {
            low = middle + 1;
        }
        else {
            n = middle;
        }
    }
    return low;
}

/* Entries [first, last) of segments with these n limits. The segment that the block
 * before has left unfinished goes on from the running row: forwards that is the first
 * of the block, backwards the last. False: give up. */
static bool
scan_block(scan_room *room, const ready_scan *ready, const int64_t *limit, int64_t n,
           int64_t first, int64_t last)
{
    const ps_scan_call *const call = ready->call;
    int64_t edge[SEGMENTS + 2];
    int64_t n_parts = 0;
    const int64_t from = count_below(limit, n, first + 1);
    const int64_t to = count_below(limit, n, last);
    edge[0] = 0;
    for (int64_t i = from; i < to; i++) {
        edge[++n_parts] = limit[i] - first;
    }
    edge[++n_parts] = last - first;
    const bool continues =
            call->is_backward ? limit[to] != last : limit[from - 1] != first;
    const char *const values = values_of(room, ready, first, last - first);
    ps_kernels()->scan_runs[call->op][call->type](
            out_of(room, ready, first), values, edge, n_parts, continues, &room->scan);
    return end_block(room, ready, first, last - first);
}

/* All entries of segments with these n limits, block by block. False: give up. */
static bool
scan_blocks(scan_room *room, const ready_scan *ready, const int64_t *limit, int64_t n)
{
    const int64_t total = limit[n - 1] - limit[0];
    for (int64_t done = 0; done < total; done += ready->capacity) {
        const int64_t count = ps_min(ready->capacity, total - done);
        const int64_t first = ready->call->is_backward ? limit[n - 1] - done - count
                                                       : limit[0] + done;
        if (!scan_block(room, ready, limit, n, first, first + count)) {
            return false;
        }
    }
    return true;
}

/* limit[i] = offset number s + i, n of them; do they rise, within the entries, from 0
 * and to n where they should? */
static bool
read_limits(const ps_scan_call *call, int64_t s, int64_t n, int64_t *limit)
{
    const ps_index *const from = &call->offsets;
    const int64_t stride = from->strides[0];
    if (ps_kernels()->rows[from->type](PS_MODE_DROP, limit, from->data + s * stride, n,
                                       stride, call->n + 1) > 0) {
        return false;
    }
    bool rises = true;
    for (int64_t i = 1; i < n; i++) {
        rises = rises && limit[i - 1] <= limit[i];
    }
    return rises && (s > 0 || limit[0] == 0) &&
           (s + n <= call->n_segments || limit[n - 1] == call->n);
}

/* Segments [first, last) of a chunk by offsets. Limits are checked in the copy that is
 * used, so an offset that another thread rewrites can spoil numbers, not memory. */
static enum ps_code
scan_segments(scan_room *room, const ready_scan *ready, int64_t first, int64_t last)
{
    int64_t limit[SEGMENTS + 1];
    for (int64_t s = first; s < last; s += SEGMENTS) {
        const int64_t n = ps_min(SEGMENTS, last - s) + 1;
        if (!read_limits(ready->call, s, n, limit)) {
            return PS_INDEX_BAD;
        }
        if (!scan_blocks(room, ready, limit, n)) {
            return PS_INTERRUPTED;
        }
    }
    return PS_OK;
}

/* A chunk by offsets: one running row serves all of its segments, one after the other.
 */
static void
run_segments(void *context, int64_t chunk)
{
    const ready_scan *const ready = context;
    const ps_scan_call *const call = ready->call;
    const int64_t first = chunk * ready->chunk;
    const int64_t last = ps_min(call->n_segments, first + ready->chunk);
    scan_room room = {.scan = {.width = call->width,
                               .stride = ready->nbytes,
                               .is_exclusive = call->is_exclusive,
                               .is_backward = call->is_backward,
                               .empty = call->empty}};
    if (ps_run_stops(ready->run)) {
        return;
    }
    const enum ps_code code = open_room(&room, ready, 1)
                                      ? scan_segments(&room, ready, first, last)
                                      : PS_NO_MEMORY;
    close_room(&room);
    if (code != PS_OK) {
        ps_run_fail(ready->run, code);
    }
}

/* Segments to threads, as many as make a chunk worth its while. */
static ps_status
scan_offsets(ready_scan *ready)
{
    const ps_scan_call *const call = ready->call;
    if (call->n_segments == 0) {
        int64_t limit;
        return call->n == 0 && read_limits(call, 0, 1, &limit) ? PS_SUCCESS
                                                               : ps_fail(PS_INDEX_BAD);
    }
    const int64_t each = 8 + call->n * ready->nbytes / call->n_segments;
    ready->chunk = ps_max(1, CHUNK_BYTES / each);
    return ps_run_chunks(ready->run, ps_ceil_div(call->n_segments, ready->chunk),
                         run_segments, ready);
}

/* Sizes are checked once, for all products of them below. */
ps_status
ps_running(void *argument, ps_run *run)
{
    ps_scan_call *const call = argument;
    ready_scan ready = {.run = run,
                        .call = call,
                        .packs = !is_same(call->dtype, call->type),
                        .unpacks = !is_same(call->result, call->type)};
    int64_t nbytes;
    if (!ps_multiply(call->width, ps_dtype_size[call->type], &ready.nbytes) ||
        !ps_multiply(call->n, ps_max(64, ready.nbytes), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    const int64_t room = ready.packs || ready.unpacks ? PACKED_BYTES : PS_LISTEN_BYTES;
    ready.capacity = ps_max(1, ps_min(BLOCK, room / ps_max(1, ready.nbytes)));
    if (call->ids.data == NULL) {
        return scan_offsets(&ready);
    }
    return call->n > 0 ? scan_ids(&ready) : PS_SUCCESS;
}
