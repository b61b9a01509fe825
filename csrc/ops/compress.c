/* Compress: the elements under the trues of a mask, side by side (contract in ops.h).
 *
 * Trues are counted first, chunk by chunk, so that the result is allocated once and
 * every chunk knows where it writes, whichever thread runs it. A chunk never writes
 * more than was counted for it, and one that finds less says so: a mask that another
 * thread rewrites meanwhile ends in an error, not beyond the result.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/operand.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Elements of a chunk: 5 to 30 us. */
    CHUNK = 16 * PS_MASK_BLOCK
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_compress_call *call;
    ps_mask_source mask;
    ps_operand a;
    int size; /* of an item, as the kernels' tables count it */
} ready_compress;

/* Bytes of the counts before each chunk, and behind the last one. */
static int64_t
start_nbytes(const ps_compress_call *call)
{
    return (call->chunks + 1) * (int64_t)sizeof(int64_t);
}

/* start[chunk + 1] = trues of the chunk: into the place behind it, where they are
 * added up later. A mask is read here and once more when its elements are moved. */
static void
count_chunk(void *context, int64_t chunk)
{
    const ready_compress *const ready = context;
    char buffer[PS_MASK_BLOCK];
    const int64_t last = ps_min(ready->call->n, (chunk + 1) * CHUNK);
    int64_t count = 0;
    if (ps_run_stops(ready->run)) {
        return;
    }
    for (int64_t at = chunk * CHUNK; at < last; at += PS_MASK_BLOCK) {
        const int64_t n = ps_min(PS_MASK_BLOCK, last - at);
        const char *const mask = ps_mask_block(&ready->mask, at, n, buffer);
        count += ps_kernels()->mask_count(mask, n);
    }
    ready->call->start[chunk + 1] = count;
}

/* The first of the two passes; what it counted is what the second may write. */
ps_status
ps_count_where(void *argument, ps_run *run)
{
    ps_compress_call *const call = argument;
    ready_compress ready; /* not cleared, as in ops/where.c */
    ready.run = run;
    ready.call = call;
    call->start = NULL;
    if (!ps_count(call->mask.ndim, call->mask.shape, &call->n)) {
        return ps_fail(PS_TOO_LARGE);
    }
    call->chunks = ps_ceil_div(call->n, CHUNK);
    call->start =
            call->chunks <= 1 ? call->one_start : ps_scratch_get(start_nbytes(call));
    if (call->start == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_mask_open(&ready.mask, &call->mask);
    call->start[0] = 0;
    PS_TRY(ps_run_chunks(run, call->chunks, count_chunk, &ready));
    for (int64_t chunk = 0; chunk < call->chunks; chunk++) {
        call->start[chunk + 1] += call->start[chunk];
    }
    call->count = call->start[call->chunks];
    return PS_SUCCESS;
}

/* A single chunk keeps its counts in the call itself. */
void
ps_end_gather_where(ps_compress_call *call)
{
    if (call->start != NULL && call->start != call->one_start) {
        ps_scratch_put(call->start, start_nbytes(call));
    }
}

/* Bytes were moved as they are: booleans become 0 or 1, foreign byte order native. */
static void
normalise(const ps_compress_call *call, char *out, int64_t n)
{
    const ps_view *const a = &call->a;
    if (a->dtype == PS_b1 || a->swapped) {
        ps_convert(a->dtype, out, a->dtype, a->itemsize, a->swapped, out, a->itemsize,
                   n);
    }
}

/* out[k] = the k-th element of [first, last) under a true mask byte; `out` has room
 * for `room`, and no more is ever written, whatever the mask has become since it was
 * counted. Returns how many there were. */
static int64_t
compress_range(const ready_compress *ready, char *out, int64_t first, int64_t last,
               int64_t room, char *buffer)
{
    const int64_t itemsize = ready->a.itemsize;
    char mask_bytes[PS_OPERAND_BLOCK];
    const ps_kernel_table *const kernels = ps_kernels();
    int64_t kept = 0;
    int64_t step;
    for (int64_t at = first; at < last; at += PS_OPERAND_BLOCK) {
        const int64_t n = ps_min(PS_OPERAND_BLOCK, last - at);
        const char *const mask = ps_mask_block(&ready->mask, at, n, mask_bytes);
        const int64_t count = ps_min(kernels->mask_count(mask, n), room - kept);
        if (count == 0) {
            continue;
        }
        const char *const a = ps_operand_block(&ready->a, at, n, buffer, &step);
        char *const to = out + kept * itemsize;
        if (step == 0) {
            kernels->copy[ready->size](to, itemsize, a, 0, count);
            kept += count;
        }
        else {
            kept += kernels->compress[ready->size](to, a, mask, n, room - kept);
        }
    }
    return kept;
}

/* A result that needs packing is private: a chunk that gets no memory for it fails the
 * call. */
static void
gather_chunk(void *context, int64_t chunk)
{
    const ready_compress *const ready = context;
    const ps_compress_call *const call = ready->call;
    const int64_t first = call->start[chunk];
    const int64_t room = call->start[chunk + 1] - first;
    const int64_t nbytes = ps_operand_nbytes(&ready->a);
    if (room == 0 || ps_run_stops(ready->run)) {
        return;
    }
    char *const buffer = nbytes > 0 ? ps_scratch_get(nbytes) : NULL;
    if (nbytes > 0 && buffer == NULL) {
        ps_run_fail(ready->run, PS_NO_MEMORY);
        return;
    }
    char *const out = call->out + first * call->a.itemsize;
    const int64_t last = ps_min(call->n, (chunk + 1) * CHUNK);
    const int64_t kept = compress_range(ready, out, chunk * CHUNK, last, room, buffer);
    normalise(call, out, kept);
    ps_scratch_put(buffer, nbytes);
    if (kept < room) {
        ps_run_fail(ready->run, PS_INDEX_CHANGED);
    }
}

/* Bytes are moved as they are, whatever their type and order, and set right
 * afterwards, while a chunk of them is near. A chunk that finds less than was counted
 * fails the call. */
ps_status
ps_gather_where(void *argument, ps_run *run)
{
    ps_compress_call *const call = argument;
    ready_compress ready; /* not cleared, as in ops/where.c */
    ready.run = run;
    ready.call = call;
    ps_view bytes = call->a;
    bytes.dtype = PS_raw; /* moved as they are */
    bytes.swapped = false;
    ps_mask_open(&ready.mask, &call->mask);
    ps_operand_open(&ready.a, &bytes, PS_raw);
    ready.size = ps_size_of(bytes.itemsize);
    run->has_written = !call->is_private;
    return ps_run_chunks(run, call->chunks, gather_chunk, &ready);
}

/* As blocks of longer calls are, whose memory this spares. */
bool
ps_open_few_where(const ps_view *a, const ps_view *mask, ps_few_where *few)
{
    ps_mask_source source;
    ps_operand operand;
    int64_t step;
    ps_mask_open(&source, mask);
    ps_operand_open(&operand, a, PS_raw);
    few->mask = ps_mask_block(&source, 0, source.n, few->mask_bytes);
    few->a = ps_operand_block(&operand, 0, source.n, few->items, &step);
    return step != 0;
}
