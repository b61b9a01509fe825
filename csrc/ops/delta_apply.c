/* Using a delta: applied, taken from another array, and checksums of arrays (contract
 * in delta.h).
 *
 * The delta cannot change and was checked when it was made, so a call has nothing to
 * refuse once it writes. Numbers are decoded some thousand at a time, in the first
 * cache, and are places in the target at once where that is contiguous.
 *
 * A checksum of what a target would become is made without touching it: blocks of 8 KB
 * that the delta touches are copied, receive what it has for them, and are summed;
 * others are summed where they lie. Units may reach over the ends of blocks, so a delta
 * on its way remembers the unit it stands at. The array as it is can be summed on the
 * way, so that a target is read once for both.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "base/xxh64.h"
#include "ops/delta.h"
#include "ops/run.h"
#include "ops/strided.h"
#include "ops/values.h"

/* Elements side by side, native: numbers are places then. Nothing is said of
 * alignment, which the kernels do not need. */
static bool
is_contiguous(const ps_view *view)
{
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS];
    const int ndim = ps_merge_view(view, shape, strides);
    return !view->swapped && (ndim == 0 || (ndim == 1 && strides[0] == view->itemsize));
}

/* ---- apply ---- */

/* Bytes of each number of an element in reverse. */
static void
turn_item(char *item, int64_t itemsize, int parts)
{
    const int64_t size = itemsize / parts;
    for (int part = 0; part < parts; part++, item += size) {
        for (int64_t i = 0; i < size / 2; i++) {
            const char byte = item[i];
            item[i] = item[size - 1 - i];
            item[size - 1 - i] = byte;
        }
    }
}

/* n elements from number `first` on meet their values, wherever they lie. Each is
 * read, turned to the byte order of the machine, changed, turned back and written.
 * Rare enough for a division for each axis. */
static void
meet_strided(const ps_delta_apply_call *call, int64_t first, const char *values,
             int64_t n)
{
    const ps_view *const target = &call->target;
    const size_t itemsize = (size_t)target->itemsize;
    const int size = ps_size_of(target->itemsize);
    char item[16];
    for (int64_t i = 0; i < n; i++, values += itemsize) {
        char *const at = target->data + ps_offset_of(target->ndim, target->shape,
                                                     target->strides, first + i);
        memcpy(item, at, itemsize);
        /* Values are native: so is the element while they meet. */
        if (target->swapped) {
            turn_item(item, target->itemsize, call->parts);
        }
        ps_kernels()->delta->meet[size](call->delta->op, item, values, 1);
        if (target->swapped) {
            turn_item(item, target->itemsize, call->parts);
        }
        memcpy(at, item, itemsize);
    }
}

/* Units at[0..n) meet their values, which lie side by side. Returns behind these. The
 * commonest delta is one kernel call a block; rows and blocks are a kernel call each,
 * which their length pays for. */
static const char *
meet_units(const ps_delta_apply_call *call, bool is_flat, const int64_t *at, int64_t n,
           const char *values)
{
    const ps_delta *const delta = call->delta;
    const int size = ps_size_of(delta->itemsize);
    if (is_flat && delta->width == 1) {
        ps_kernels()->delta->put[size](delta->op, call->target.data, at, values, n);
        return values + n * delta->itemsize;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t width = ps_delta_width(delta, at[i]);
        const int64_t first = at[i] * delta->width;
        if (is_flat) {
            ps_kernels()->delta->meet[size](delta->op,
                                            call->target.data + first * delta->itemsize,
                                            values, width);
        }
        else {
            meet_strided(call, first, values, width);
        }
        values += width * delta->itemsize;
    }
    return values;
}

/* A call, and where its pieces begin: readers, of which each has so many blocks to
 * read. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_delta_apply_call *call;
    bool is_flat;
    const ps_delta_reader *mark;
    int64_t blocks; /* of a piece */
} ready_apply;

enum {
    /* Blocks of numbers of a piece: 0.1 ms where each number is a line of memory. */
    PIECE = 16,
    /* Elements of a piece of a dense delta. */
    DENSE_PIECE = 1 << 17,
    /* Bytes of a delta below which another thread costs more than it brings: 300,000
     * elements of 2 bytes take 2 ms in a large array. */
    PARALLEL_BYTES = 1 << 20
};

/* Side by side in both: no numbers to read. The kernel is that of rows. */
static void
meet_dense(void *context, int64_t piece)
{
    const ready_apply *const ready = context;
    const ps_delta *const delta = ready->call->delta;
    const int64_t first = piece * DENSE_PIECE, offset = first * delta->itemsize;
    if (!ps_run_stops(ready->run)) {
        ps_kernels()->delta->meet[ps_size_of(delta->itemsize)](
                delta->op, ready->call->target.data + offset, delta->values + offset,
                ps_min(DENSE_PIECE, delta->n - first));
    }
}

/* Units belong to one piece each, and only the last one of an array may be shorter. A
 * thread that finds the call given up stops where it is: half a second has passed
 * then. */
static void
meet_piece(void *context, int64_t piece)
{
    const ready_apply *const ready = context;
    const ps_delta *const delta = ready->call->delta;
    const int64_t unit_nbytes = delta->width * delta->itemsize;
    ps_delta_reader reader = ready->mark[piece];
    const char *values = delta->values + reader.done * unit_nbytes;
    int64_t at[PS_DELTA_BLOCK + 64], n, unheard = 0;
    for (int64_t block = 0;
         block < ready->blocks && (n = ps_delta_next(&reader, at)) > 0; block++) {
        values = meet_units(ready->call, ready->is_flat, at, n, values);
        if (ps_run_stops_after(ready->run, &unheard,
                               n * (unit_nbytes + PS_LINE_BYTES))) {
            return;
        }
    }
}

/* Items of gaps and words are read block by block, all others number by number. An
 * upper bound: blocks of escapes or zeros alone are none. */
static int64_t
count_blocks(const ps_delta *delta)
{
    switch (delta->encoding) {
        case PS_DELTA_gap16:
            return ps_ceil_div(delta->items, PS_DELTA_BLOCK);
        case PS_DELTA_bitmap:
            return ps_ceil_div(delta->items, PS_DELTA_BLOCK / 64);
        default:
            return ps_ceil_div(delta->count, PS_DELTA_BLOCK);
    }
}

/* Where pieces of PIECE blocks begin; returns how many there are. Skipping reads the
 * head alone, a few bytes for each number. */
static int64_t
mark_pieces(const ps_delta *delta, ps_delta_reader *mark)
{
    ps_delta_reader reader = ps_delta_read(delta);
    int64_t n_pieces = 0, n = 1;
    while (n > 0) {
        mark[n_pieces] = reader;
        for (int block = 0; block < PIECE && n > 0; block++) {
            n = ps_delta_skip(&reader);
        }
        n_pieces += reader.done > mark[n_pieces].done;
    }
    return n_pieces;
}

/* All memory is taken before the first write. One thread has one piece, and nothing is
 * skipped to find where others begin. A call that has begun is left to finish
 * for half a second before it hears of signals (ops/run.h). */
ps_status
ps_delta_apply(void *argument, ps_run *run)
{
    const ps_delta_apply_call *const call = argument;
    const ps_delta *const delta = call->delta;
    ready_apply ready = {
            .run = run, .call = call, .is_flat = is_contiguous(&call->target)};
    if (delta->head_nbytes + delta->values_nbytes < PARALLEL_BYTES) {
        run->threads = 1;
    }
    if (ready.is_flat && delta->encoding == PS_DELTA_dense) {
        run->has_written = true;
        const int64_t pieces = ps_ceil_div(delta->n, DENSE_PIECE);
        return pieces > 0 ? ps_run_chunks(run, pieces, meet_dense, &ready) : PS_SUCCESS;
    }
    const int64_t blocks = count_blocks(delta);
    const bool is_whole = run->threads == 1 || blocks <= PIECE;
    const int64_t nbytes = (blocks / PIECE + 2) * (int64_t)sizeof(ps_delta_reader);
    ps_delta_reader one = ps_delta_read(delta);
    ps_delta_reader *const mark = is_whole ? &one : ps_scratch_get(nbytes);
    if (mark == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const int64_t pieces = is_whole ? 1 : mark_pieces(delta, mark);
    ready.blocks = is_whole ? ps_max(blocks, 1) : PIECE;
    ready.mark = mark;
    run->has_written = true;
    const ps_status status = ps_run_chunks(run, pieces, meet_piece, &ready);
    if (!is_whole) {
        ps_scratch_put(mark, nbytes);
    }
    return status;
}

/* ---- take ---- */

/* A unit is a few bytes or many: memcpy serves both. */
ps_status
ps_delta_gather(void *argument, ps_run *run)
{
    const ps_delta_gather_call *const call = argument;
    const ps_delta *const delta = call->delta;
    int64_t at[PS_DELTA_BLOCK + 64], n, unheard = 0;
    char *values = call->values;
    ps_delta_reader reader = ps_delta_read(delta);
    while ((n = ps_delta_next(&reader, at)) > 0) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t nbytes = ps_delta_width(delta, at[i]) * delta->itemsize;
            memcpy(values, call->array + at[i] * delta->width * delta->itemsize,
                   (size_t)nbytes);
            values += nbytes;
        }
        if (ps_run_stops_after(run, &unheard, n * delta->width * delta->itemsize)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* What a kernel stores of the pair (value, 0). */
void
ps_delta_negate(const ps_delta *delta, char *values)
{
    const int64_t n = delta->values_nbytes / delta->itemsize;
    const int size = ps_size_of(delta->itemsize);
    const char zero[16] = {0};
    for (int64_t i = 0; i < n; i++) { /* 0 - value */
        char *const at = values + i * delta->itemsize;
        char value[16];
        memcpy(value, at, (size_t)delta->itemsize);
        ps_kernels()->delta->store[size](PS_DELTA_ADD, at, value, zero, 1);
    }
}

/* Block by block, since the last one has room beyond the numbers. */
ps_status
ps_delta_list(void *argument, ps_run *run)
{
    const ps_delta_list_call *const call = argument;
    int64_t block[PS_DELTA_BLOCK + 64], *to = call->at, n, unheard = 0;
    ps_delta_reader reader = ps_delta_read(call->delta);
    while ((n = ps_delta_next(&reader, block)) > 0) {
        memcpy(to, block, (size_t)n * 8);
        to += n;
        if (ps_run_stops_after(run, &unheard, 8 * n)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* ---- checksums ---- */

/* Copies and sums at the speed of memory: a gigabyte takes a tenth of a second, which
 * is as long as nobody hears of signals. */
ps_status
ps_seal(void *argument, ps_run *run)
{
    (void)run;
    ps_seal_call *const call = argument;
    if (call->delta != NULL) {
        memcpy(call->head, call->delta->head, (size_t)call->delta->head_nbytes);
        memcpy(call->values, call->delta->values, (size_t)call->delta->values_nbytes);
    }
    call->checksum = ps_xxh64(call->bytes, call->nbytes, 0);
    return PS_SUCCESS;
}

enum {
    /* Bytes that are asked for ahead: without, memory waits at each page's end. */
    HASH_AHEAD = 2048
};

/* The last stripe is filled up with zeros, which leaves sums as they are but for the
 * keys that meet them; arrays of different lengths are told apart by the seed. */
static void
hash_block(uint64_t *sum, const char *bytes, int64_t nbytes, const char *ahead)
{
    const int64_t stripes = ps_ceil_div(nbytes, PS_HASH_STRIPE);
    char block[PS_HASH_BLOCK];
    if (nbytes % PS_HASH_STRIPE != 0) {
        memcpy(block, bytes, (size_t)nbytes);
        memset(block + nbytes, 0, (size_t)(stripes * PS_HASH_STRIPE - nbytes));
        bytes = block;
    }
    ps_kernels()->delta->hash(sum, bytes, stripes, ahead, bytes);
}

void
ps_hash_blocks(uint64_t *sum, const char *bytes, int64_t nbytes)
{
    for (int64_t at = 0; at < nbytes; at += PS_HASH_BLOCK, sum += PS_HASH_LANES) {
        const bool is_last = nbytes - at < PS_HASH_BLOCK + HASH_AHEAD;
        hash_block(sum, bytes + at, ps_min(PS_HASH_BLOCK, nbytes - at),
                   bytes + at + (is_last ? 0 : HASH_AHEAD));
    }
}

/* Sums are numbers of the machine; their bytes are made little-endian. */
uint64_t
ps_hash_finish(const uint64_t *sum, int64_t nbytes)
{
    return ps_xxh64(sum, 8 * PS_HASH_LANES * ps_hash_count(nbytes), (uint64_t)nbytes);
}

enum {
    BLOCKS = 64 /* of a chunk: half a megabyte */
};

/* A delta on its way through an array: units at[i..n) are to come, the first of which
 * has its values at `values`. */
typedef struct {
    ps_delta_reader reader;
    int64_t i, n;
    const char *values;
    int64_t at[PS_DELTA_BLOCK + 64];
} applying;

/* From a reader's place on. Units before it have values of full width each: only the
 * last unit of an array may be shorter. */
static void
start_applying(applying *way, const ps_delta_reader *reader)
{
    const ps_delta *const delta = reader->delta;
    way->reader = *reader;
    way->i = way->n = 0;
    way->values = delta->values + reader->done * delta->width * delta->itemsize;
}

/* The first element of the unit that is next; that behind the array: none is. */
static int64_t
next_element(applying *way)
{
    const ps_delta *const delta = way->reader.delta;
    if (way->i == way->n) {
        way->i = 0;
        way->n = ps_delta_next(&way->reader, way->at);
    }
    return way->n > 0 ? way->at[way->i] * delta->width : delta->n;
}

/* Elements [first, stop) of the array, in `bytes`, meet those of the delta. A unit
 * that goes on beyond them stays where it is, for the next window. */
static void
meet_window(applying *way, char *bytes, int64_t first, int64_t stop)
{
    const ps_delta *const delta = way->reader.delta;
    const int size = ps_size_of(delta->itemsize);
    int64_t start;
    while ((start = next_element(way)) < stop) {
        const int64_t behind = start + ps_delta_width(delta, way->at[way->i]);
        const int64_t low = ps_max(start, first), high = ps_min(behind, stop);
        if (low < high) {
            ps_kernels()->delta->meet[size](
                    delta->op, bytes + (low - first) * delta->itemsize,
                    way->values + (low - start) * delta->itemsize, high - low);
        }
        /* Its rest belongs to the next window, and its values stay where they are. */
        if (behind > stop) {
            return;
        }
        way->values += (behind - start) * delta->itemsize;
        way->i++;
    }
}

/* Sums of what the array becomes, and of what it is: blocks that the delta does not
 * touch have the same, and are summed where they lie. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_hash_call *call;
    uint64_t *sum, *base;        /* base NULL: not wanted */
    const ps_delta_reader *mark; /* of each chunk */
    int64_t chunk_nbytes;
} ready_applied;

/* The block at byte `at` becomes what the delta makes of it, in a copy. */
static void
hash_met(const ready_applied *ready, applying *way, int64_t at, int64_t nbytes)
{
    const int64_t itemsize = ready->call->delta->itemsize;
    const int64_t slot = at / PS_HASH_BLOCK * PS_HASH_LANES;
    const char *const bytes = ready->call->bytes + at;
    const bool is_last = ready->call->nbytes - at < 2 * PS_HASH_BLOCK;
    char block[PS_HASH_BLOCK];
    memcpy(block, bytes, (size_t)nbytes);
    if (ready->base != NULL) {
        ps_hash_blocks(ready->base + slot, block, nbytes);
    }
    meet_window(way, block, at / itemsize, (at + nbytes) / itemsize);
    hash_block(ready->sum + slot, block, nbytes,
               is_last ? block : bytes + PS_HASH_BLOCK);
}

/* Blocks from byte `at` on, at least one of them: those up to `stop`, or up to the one
 * that byte `next` is in, where the next unit begins. Returns where it has come. */
static int64_t
hash_plain(const ready_applied *ready, int64_t at, int64_t next, int64_t stop)
{
    const int64_t slot = at / PS_HASH_BLOCK * PS_HASH_LANES;
    const int64_t end = next < stop ? next / PS_HASH_BLOCK * PS_HASH_BLOCK : stop;
    ps_hash_blocks(ready->sum + slot, ready->call->bytes + at, end - at);
    if (ready->base != NULL) {
        memcpy(ready->base + slot, ready->sum + slot,
               (size_t)(8 * PS_HASH_LANES * ps_hash_count(end - at)));
    }
    return end;
}

/* One stretch after the other: a block that the delta touches, or those before the next
 * such block, which are summed in one go so that memory is asked for ahead. Where a
 * unit begins is known without reading its values, so blocks that stay as they are cost
 * what they cost without a delta. */
static void
hash_applied_chunk(void *context, int64_t chunk)
{
    const ready_applied *const ready = context;
    const ps_hash_call *const call = ready->call;
    const int64_t first = chunk * ready->chunk_nbytes;
    const int64_t stop = ps_min(first + ready->chunk_nbytes, call->nbytes);
    int64_t unheard = 0, moved;
    applying way;
    if (ps_run_stops(ready->run)) {
        return;
    }
    start_applying(&way, &ready->mark[chunk]);
    for (int64_t at = first; at < stop; at += moved) {
        const int64_t left = ps_min(stop - at, BLOCKS * PS_HASH_BLOCK);
        const int64_t next = next_element(&way) * call->delta->itemsize;
        moved = ps_min(PS_HASH_BLOCK, left);
        if (next < at + moved) {
            hash_met(ready, &way, at, moved);
        }
        else {
            moved = hash_plain(ready, at, next, at + left) - at;
        }
        if (ps_run_stops_after(ready->run, &unheard, moved)) {
            return;
        }
    }
}

/* Where the delta is to be read from for each chunk: no unit before reaches into it.
 * Readers stand at the beginning of blocks of numbers, so some of these may lie before
 * the chunk; they are passed without being met. */
static void
mark_chunks(const ready_applied *ready, ps_delta_reader *mark, int64_t n_chunks)
{
    const ps_delta *const delta = ready->call->delta;
    const int64_t unit_nbytes = delta->width * delta->itemsize;
    ps_delta_reader reader = ps_delta_read(delta), before;
    int64_t chunk = 0, n;
    do {
        before = reader;
        n = ps_delta_skip(&reader);
        while (chunk < n_chunks &&
               (n == 0 ||
                chunk * ready->chunk_nbytes / unit_nbytes < ps_delta_least(&reader))) {
            mark[chunk++] = before;
        }
    } while (n > 0);
}

/* One thread has one chunk, and nothing is skipped to find where others begin. So has
 * an array whose blocks are summed in 0.1 ms. */
static ps_status
hash_applied(const ps_hash_call *call, uint64_t *sum, uint64_t *base, ps_run *run)
{
    const ps_delta_reader start = ps_delta_read(call->delta);
    const bool is_whole = run->threads == 1 || call->nbytes < PARALLEL_BYTES;
    ready_applied ready = {
            .run = run,
            .call = call,
            .sum = sum,
            .base = base,
            .mark = &start,
            .chunk_nbytes = is_whole ? call->nbytes : BLOCKS * PS_HASH_BLOCK};
    if (is_whole) {
        hash_applied_chunk(&ready, 0);
        return ps_run_status(run);
    }
    const int64_t n_chunks = ps_ceil_div(call->nbytes, ready.chunk_nbytes);
    const int64_t marks_nbytes = n_chunks * (int64_t)sizeof(ps_delta_reader);
    ps_delta_reader *const mark = ps_scratch_get(marks_nbytes);
    if (mark == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    mark_chunks(&ready, mark, n_chunks);
    ready.mark = mark;
    const ps_status status = ps_run_chunks(run, n_chunks, hash_applied_chunk, &ready);
    ps_scratch_put(mark, marks_nbytes);
    return status;
}

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_hash_call *call;
    uint64_t *sum;
} ready_hash;

/* Blocks belong to one chunk each. */
static void
hash_chunk(void *context, int64_t chunk)
{
    const ready_hash *const ready = context;
    const int64_t first = chunk * BLOCKS * PS_HASH_BLOCK;
    if (!ps_run_stops(ready->run)) {
        ps_hash_blocks(ready->sum + chunk * BLOCKS * PS_HASH_LANES,
                       ready->call->bytes + first,
                       ps_min(BLOCKS * PS_HASH_BLOCK, ready->call->nbytes - first));
    }
}

/* Up to four blocks, which is all that tiny calls have, need no work memory. Sums of
 * the array as it is come behind those of what it becomes. */
ps_status
ps_hash_array(void *argument, ps_run *run)
{
    ps_hash_call *const call = argument;
    uint64_t few[2 * PS_FEW_BLOCKS * PS_HASH_LANES] = {0};
    const int64_t blocks = ps_hash_count(call->nbytes);
    const int64_t sums_nbytes = 2 * 8 * PS_HASH_LANES * blocks;
    const bool is_few = blocks <= PS_FEW_BLOCKS;
    uint64_t *const sum = is_few ? few : ps_scratch_get(sums_nbytes);
    uint64_t *const base = sum != NULL ? sum + PS_HASH_LANES * blocks : NULL;
    ready_hash ready = {.run = run, .call = call, .sum = sum};
    if (sum == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    if (blocks > 0 && call->delta != NULL) {
        status = hash_applied(call, sum, call->wants_base ? base : NULL, run);
    }
    else if (blocks > 0) {
        status = ps_run_chunks(run, ps_ceil_div(blocks, BLOCKS), hash_chunk, &ready);
    }
    call->checksum = ps_hash_finish(sum, call->nbytes);
    if (call->wants_base) {
        call->checksum_base = ps_hash_finish(base, call->nbytes);
    }
    if (!is_few) {
        ps_scratch_put(sum, sums_nbytes);
    }
    return status;
}
