/* The nonzero op: places of the true elements, and their number along axes.
 *
 * Two passes. The first reads the array, block by block in the first cache, and keeps
 * one bit for each element and one count for each chunk; the second turns bits into
 * places. The number of places is known in between, so the result is made in its exact
 * size and nothing is copied; and the array is read once, so another thread that writes
 * to it can spoil numbers, but not make the passes disagree.
 *
 * Chunks know how many true elements lie before them, so each writes a stretch of the
 * result of its own, in any order, on any thread.
 *
 * In more than one axis a block's places are divided, axis by axis, by a multiplied
 * reciprocal; true divisions happen once a block (docs/design/nonzero.md).
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/ops.h"
#include "ops/run.h"

enum {
    /* Elements of a chunk: 2 us of mask bytes, 15 to 100 us of places when many are
     * true; its words, 16 KB, leave room in the first cache. */
    CHUNK = 1 << 17,
    /* Bytes read and written below which another thread costs more than it brings:
     * 4 MB take 0.07 ms on one. */
    PARALLEL_BYTES = 4 << 20,
    CHUNK_WORDS = CHUNK / 64,
    BLOCK_WORDS = PS_MASK_BLOCK / 64,
    /* Arrays of so many bytes leave the caches before they are read again. */
    FAR_ELEMENTS = 16 << 20,
    /* A list of a block's places has room for the stretches that kernels overrun by. */
    LIST_ITEMS = PS_MASK_BLOCK + 64
};

_Static_assert(CHUNK % PS_MASK_BLOCK == 0, "whole blocks of words");

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_nonzero_call *call;
    ps_mask_source source;
    _Atomic int64_t next_area;  /* areas below have been taken */
    _Atomic int64_t spare_area; /* one that was taken and is free again, or -1 */
} ready_nonzero;

/* ---- find ---- */

/* The words of n elements from `first` on. Bytes that come from beyond the caches are
 * counted first, block by block: that reads memory 1.3 times faster than making words,
 * which a block without a true element does not need. */
static int64_t
find_words(const ready_nonzero *ready, int64_t first, int64_t n, uint64_t *word)
{
    const ps_mask_source *const source = &ready->source;
    if (!source->is_bytes || !source->is_contiguous || source->n < FAR_ELEMENTS) {
        return ps_mask_words(source, first, n, word);
    }
    int64_t count = 0;
    for (int64_t at = 0; at < n; at += PS_MASK_BLOCK) {
        const int64_t part = ps_min(PS_MASK_BLOCK, n - at);
        if (ps_mask_count(source, first + at, part) == 0) {
            memset(word + at / 64, 0, (size_t)ps_ceil_div(part, 64) * 8);
            continue;
        }
        count += ps_mask_words(source, first + at, part, word + at / 64);
    }
    return count;
}

/* A chunk in which nothing is true needs no words: its area serves the next chunk and
 * stays in the cache. A long array of zeros is then read and nothing else (1.2 times
 * faster beyond the caches). */
static void
find_chunk(void *context, int64_t chunk)
{
    ready_nonzero *const ready = context;
    const ps_nonzero_call *const call = ready->call;
    const int64_t first = chunk * CHUNK;
    if (ps_run_stops(ready->run)) {
        return;
    }
    int64_t area = atomic_exchange(&ready->spare_area, -1);
    if (area < 0) {
        area = atomic_fetch_add(&ready->next_area, 1);
    }
    const int64_t count = find_words(ready, first, ps_min(CHUNK, call->n - first),
                                     call->word + area * CHUNK_WORDS);
    call->before[chunk + 1] = count;
    call->area[chunk] = area;
    if (count == 0) {
        atomic_store(&ready->spare_area, area);
    }
}

/* Words, counts and areas in one block of work memory. */
static bool
take_memory(ps_nonzero_call *call, int64_t chunks)
{
    const int64_t words = chunks * CHUNK_WORDS;
    call->scratch_nbytes = 8 * (words + 2 * chunks + 1);
    call->word = ps_scratch_get(call->scratch_nbytes);
    call->before = (int64_t *)call->word + words;
    call->area = call->before + chunks + 1;
    return call->word != NULL;
}

/* One thread where the pass is short. */
static ps_status
run_chunks(ready_nonzero *ready, int64_t nbytes, void (*fn)(void *, int64_t))
{
    const int64_t chunks = ps_ceil_div(ready->call->n, CHUNK);
    const int threads = ready->run->threads;
    ready->run->threads = nbytes < PARALLEL_BYTES ? 1 : threads;
    const ps_status status = ps_run_chunks(ready->run, chunks, fn, ready);
    ready->run->threads = threads;
    return status;
}

ps_status
ps_nonzero_find(void *argument, ps_run *run)
{
    ps_nonzero_call *const call = argument;
    ready_nonzero ready = {.run = run, .call = call};
    atomic_init(&ready.next_area, 0);
    atomic_init(&ready.spare_area, -1);
    call->word = NULL;
    ps_mask_open(&ready.source, &call->view);
    call->n = ready.source.n;
    if (call->n <= PS_FEW_WORDS * 64) {
        call->word = call->few;
        call->count = ps_mask_words(&ready.source, 0, call->n, call->few);
        return PS_SUCCESS;
    }
    const int64_t chunks = ps_ceil_div(call->n, CHUNK);
    if (!take_memory(call, chunks)) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(run_chunks(&ready, call->n * call->view.itemsize, find_chunk));
    call->before[0] = 0;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        call->before[chunk + 1] += call->before[chunk];
    }
    call->count = call->before[chunks];
    return PS_SUCCESS;
}

/* ---- write ---- */

/* Coordinates of list [n], places counted from element `first`: axis after axis is
 * divided out, from the last to the first, which takes what is left. They go to place
 * `at` and on. */
static void
write_coordinates(const ps_nonzero_call *call, int64_t *list, int64_t n, int64_t first,
                  int64_t at)
{
    const ps_kernel_table *const kernels = ps_kernels();
    for (int axis = call->n_axes - 1; axis >= 0; axis--) {
        const int64_t size = axis > 0 ? call->sizes[axis] : INT64_MAX;
        kernels->split(list, call->out[axis] + at * call->step, call->step, n,
                       first % size, size);
        first /= size;
    }
}

/* The n places from number `at` on, which stand in word [n_words], the first of them
 * that of element `first`: at most PS_MASK_BLOCK bits at a time. */
static void
write_blocks(const ps_nonzero_call *call, const uint64_t *word, int64_t n_words,
             int64_t first, int64_t at, int64_t n, int64_t *list)
{
    const ps_kernel_table *const kernels = ps_kernels();
    for (int64_t i = 0; i < n_words && n > 0; i += BLOCK_WORDS) {
        const int64_t block = ps_min(BLOCK_WORDS, n_words - i);
        const int64_t found =
                ps_min(n, kernels->positions(list, word + i, block, 0, LIST_ITEMS));
        if (found > 0) {
            write_coordinates(call, list, found, first + 64 * i, at);
        }
        at += found;
        n -= found;
    }
}

/* The same for any number of axes. */
static ps_status
write_places(const ps_nonzero_call *call, const uint64_t *word, int64_t n_words,
             int64_t first, int64_t at, int64_t n)
{
    if (call->n_axes == 1) {
        ps_kernels()->positions(call->out[0] + at, word, n_words, first, n);
        return PS_SUCCESS;
    }
    int64_t *const list = ps_scratch_get(LIST_ITEMS * 8);
    if (list == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    write_blocks(call, word, n_words, first, at, n, list);
    ps_scratch_put(list, LIST_ITEMS * 8);
    return PS_SUCCESS;
}

static void
write_chunk(void *context, int64_t chunk)
{
    const ready_nonzero *const ready = context;
    const ps_nonzero_call *const call = ready->call;
    const int64_t at = call->before[chunk];
    const int64_t n = ps_min(call->before[chunk + 1], call->room) - at;
    if (n <= 0 || ps_run_stops(ready->run)) {
        return;
    }
    const int64_t first = chunk * CHUNK;
    const int64_t n_words = ps_ceil_div(ps_min(CHUNK, call->n - first), 64);
    const uint64_t *const word = call->word + call->area[chunk] * CHUNK_WORDS;
    const ps_status status = write_places(call, word, n_words, first, at, n);
    if (status.code != PS_OK) {
        ps_run_fail(ready->run, status.code);
    }
}

ps_status
ps_nonzero_write(void *argument, ps_run *run)
{
    ps_nonzero_call *const call = argument;
    ready_nonzero ready = {.run = run, .call = call};
    const int64_t n = ps_min(call->count, call->room);
    if (n == 0 || call->n_axes == 0) {
        return PS_SUCCESS;
    }
    if (call->word == call->few) {
        return write_places(call, call->few, ps_ceil_div(call->n, 64), 0, 0, n);
    }
    return run_chunks(&ready, call->n / 8 + 8 * n * call->n_axes, write_chunk);
}

void
ps_nonzero_close(ps_nonzero_call *call)
{
    if (call->word != call->few) {
        ps_scratch_put(call->word, call->scratch_nbytes);
    }
}
