/* Using a delta: applied, taken from another array, and checksums of arrays (contract
 * in delta.h).
 *
 * The delta cannot change and was checked when it was made, so a call has nothing to
 * refuse once it writes. Numbers are decoded some thousand at a time, in the first
 * cache, and are places in the target at once where that is contiguous.
 *
 * A checksum of what a target would become is made without touching it: a window of 8
 * KB goes over the array, receives what the delta has for it, and is summed. Units may
 * reach over the ends of windows, so a delta on its way remembers the unit it stands
 * at.
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

/* Side by side in both. Side by side as they are, both are walked in stretches,
 * between which signals are heard. */
static ps_status
meet_all(const ps_delta_apply_call *call, ps_run *run)
{
    const ps_delta *const delta = call->delta;
    ps_stretch part = ps_stretch_of(run, delta->n, delta->itemsize);
    while (ps_next_stretch(&part)) {
        run->has_written = true;
        const int64_t offset = part.first * delta->itemsize;
        ps_kernels()->delta->meet[ps_size_of(delta->itemsize)](
                delta->op, call->target.data + offset, delta->values + offset,
                part.last - part.first);
    }
    return ps_run_status(run);
}

/* Numbers ascend, so lines are visited in the order of memory; a call that has begun
 * is left to finish for half a second before it hears of signals (ops/run.h). */
ps_status
ps_delta_apply(void *argument, ps_run *run)
{
    const ps_delta_apply_call *const call = argument;
    const bool is_flat = is_contiguous(&call->target);
    if (is_flat && call->delta->encoding == PS_DELTA_dense) {
        return meet_all(call, run);
    }
    int64_t at[PS_DELTA_BLOCK + 64], n, unheard = 0;
    const char *values = call->delta->values;
    ps_delta_reader reader = ps_delta_read(call->delta);
    const int64_t nbytes = call->delta->width * call->delta->itemsize + PS_LINE_BYTES;
    while ((n = ps_delta_next(&reader, at)) > 0) {
        run->has_written = true;
        values = meet_units(call, is_flat, at, n, values);
        if (ps_run_stops_after(run, &unheard, n * nbytes)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
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

/* ---- checksums ---- */

/* Filling up with zeros leaves sums as they are but for the keys that meet them;
 * arrays of different lengths are told apart by the seed. */
void
ps_hash_blocks(uint64_t *sum, const char *bytes, int64_t nbytes)
{
    while (nbytes > 0) {
        const int64_t part = ps_min(nbytes, PS_HASH_BLOCK), whole = part / 64 * 64;
        if (part == whole) {
            ps_kernels()->delta->hash(sum, bytes, part / 64);
        }
        else { /* the last block, filled up with zeros */
            char block[PS_HASH_BLOCK];
            memcpy(block, bytes, (size_t)part);
            memset(block + part, 0, (size_t)(whole + 64 - part));
            ps_kernels()->delta->hash(sum, block, whole / 64 + 1);
        }
        sum += PS_HASH_LANES;
        bytes += part;
        nbytes -= part;
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

/* Elements [first, stop) of the array, in `bytes`, meet those of the delta. A unit
 * that goes on beyond them stays where it is, for the next window. */
static void
meet_window(applying *way, char *bytes, int64_t first, int64_t stop)
{
    const ps_delta *const delta = way->reader.delta;
    const int size = ps_size_of(delta->itemsize);
    for (;;) {
        if (way->i == way->n) {
            way->i = 0;
            way->n = ps_delta_next(&way->reader, way->at);
            if (way->n == 0) {
                return;
            }
        }
        const int64_t unit = way->at[way->i], start = unit * delta->width;
        const int64_t behind = start + ps_delta_width(delta, unit);
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

/* Sums of what the array becomes, block by block. The array itself is copied into the
 * window, never changed. */
static ps_status
hash_applied(const ps_hash_call *call, uint64_t *sum, ps_run *run)
{
    char block[PS_HASH_BLOCK];
    int64_t unheard = 0;
    applying *const way = ps_scratch_get((int64_t)sizeof(applying));
    if (way == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    way->reader = ps_delta_read(call->delta);
    way->values = call->delta->values;
    way->i = way->n = 0;
    for (int64_t at = 0; at < call->nbytes; at += PS_HASH_BLOCK) {
        const int64_t part = ps_min(PS_HASH_BLOCK, call->nbytes - at);
        const int64_t itemsize = call->delta->itemsize;
        memcpy(block, call->bytes + at, (size_t)part);
        meet_window(way, block, at / itemsize, (at + part) / itemsize);
        ps_hash_blocks(sum + at / PS_HASH_BLOCK * PS_HASH_LANES, block, part);
        if (ps_run_stops_after(run, &unheard, part)) {
            break;
        }
    }
    ps_scratch_put(way, (int64_t)sizeof(applying));
    return ps_run_status(run);
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

/* Up to four blocks, which is all that tiny calls have, need no work memory. Threads
 * share an array as it is; under a delta it is made on the way, one block after the
 * other. */
ps_status
ps_hash_array(void *argument, ps_run *run)
{
    ps_hash_call *const call = argument;
    uint64_t few[PS_FEW_BLOCKS * PS_HASH_LANES] = {0};
    const int64_t blocks = ps_hash_count(call->nbytes);
    const int64_t sums_nbytes = 8 * PS_HASH_LANES * blocks;
    const bool is_few = blocks <= PS_FEW_BLOCKS;
    ready_hash ready = {.run = run,
                        .call = call,
                        .sum = is_few ? few : ps_scratch_get(sums_nbytes)};
    if (ready.sum == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    if (call->delta != NULL) {
        status = hash_applied(call, ready.sum, run);
    }
    else if (blocks > 0) {
        status = ps_run_chunks(run, ps_ceil_div(blocks, BLOCKS), hash_chunk, &ready);
    }
    call->checksum = ps_hash_finish(ready.sum, call->nbytes);
    if (!is_few) {
        ps_scratch_put(ready.sum, sums_nbytes);
    }
    return status;
}
