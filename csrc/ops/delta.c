/* Making a delta: two passes over memory's caches, one over memory (contract in
 * delta.h).
 *
 * The first pass reads both arrays, chunk by chunk, and keeps a bit for each element,
 * sums for the checksums, and numbers of each chunk: how many units differ, the first
 * and the last. From these the size of every encoding is known, so the smallest is
 * chosen and its room made before a byte of it is written. The second pass turns bits
 * into numbers. While a chunk is in the cache, its values are put aside, as long as
 * they are few: memory would be read a second time for them. Where little differs, the
 * places of its bits are put aside, too: a loop over bits costs more than what it
 * finds.
 *
 * Units are elements in most calls, and then a bit of the first pass is a bit of the
 * delta. Rows and blocks go through the same pass, since bits of elements are what a
 * kernel makes fast; whatever differs in a unit marks it, and the search goes on behind
 * it. Parts then count units.
 *
 * Work memory is one block: words, parts, sums, and values that wait. Its size depends
 * on the array alone, so the next call of the kind finds the block that scratch has
 * kept.
 *
 * Each chunk writes a stretch of its own, on any thread. What another thread writes to
 * the arrays meanwhile can spoil values; numbers come from the bits alone.
 */
#include "ops/delta.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Units of a chunk. Gaps between its numbers fit in 16 bits, so escapes stand
     * between chunks alone; two chunks of 4-byte elements fit in the second cache. */
    CHUNK = 1 << 15,
    CHUNK_WORDS = CHUNK / 64,
    /* Elements that differ of a chunk up to which their places are made at once. Beyond
     * 1 in 16 a bitmap is the smallest, which needs no places, and a loop over bits
     * that takes values alone is as fast. */
    FEW_PLACES = CHUNK / 16,
    /* Bytes of both arrays below which another thread costs more than it brings. */
    PARALLEL_BYTES = 2 << 20,
    BLOCK_WORDS = PS_DELTA_BLOCK / 64
};

_Static_assert(CHUNK % PS_HASH_BLOCK == 0, "a chunk of bytes is whole blocks of sums");
_Static_assert(CHUNK <= UINT16_MAX, "no escape within a chunk");

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_delta_call *call;
    _Atomic int64_t staged; /* bytes of staging that have been given away */
} ready_delta;

/* One thread where the pass is short. */
static ps_status
run_chunks(ready_delta *ready, int64_t nbytes, int64_t chunks,
           void (*fn)(void *, int64_t))
{
    const int threads = ready->run->threads;
    ready->run->threads = nbytes < PARALLEL_BYTES ? 1 : threads;
    const ps_status status =
            chunks > 0 ? ps_run_chunks(ready->run, chunks, fn, ready) : PS_SUCCESS;
    ready->run->threads = threads;
    return status;
}

/* ---- find ---- */

/* Words and sums of a block. What is missing of its last stripe is filled up with
 * zeros in copies, which are equal there. Returns how many elements differ. */
static int64_t
find_block(const ps_delta_call *call, int64_t offset, int64_t nbytes, uint64_t *word)
{
    const int64_t stripes = ps_ceil_div(nbytes, PS_HASH_STRIPE);
    const int64_t n = stripes * PS_HASH_STRIPE / call->itemsize;
    const int64_t at = offset / PS_HASH_BLOCK * PS_HASH_LANES;
    const char *old = call->old + offset, *now = call->now + offset;
    char block[2][PS_HASH_BLOCK];
    if (nbytes % PS_HASH_STRIPE != 0) {
        const size_t missing = (size_t)(stripes * PS_HASH_STRIPE - nbytes);
        old = memcpy(block[0], old, (size_t)nbytes);
        now = memcpy(block[1], now, (size_t)nbytes);
        memset(block[0] + nbytes, 0, missing);
        memset(block[1] + nbytes, 0, missing);
    }
    const int64_t count =
            ps_kernels()->delta->words[ps_size_of(call->itemsize)](word, old, now, n);
    const uint64_t *const sums = word + ps_ceil_div(n, 64);
    memcpy(call->sum_old + at, sums, 8 * PS_HASH_LANES);
    memcpy(call->sum_new + at, sums + PS_HASH_LANES, 8 * PS_HASH_LANES);
    return count;
}

/* Words of n elements from `first` on, with room for the sums behind the last one.
 * Returns how many differ. */
static int64_t
find_words(const ps_delta_call *call, int64_t first, int64_t n, uint64_t *word)
{
    const int64_t start = first * call->itemsize, nbytes = n * call->itemsize;
    const int64_t block_words = PS_HASH_BLOCK / call->itemsize / 64;
    int64_t count = 0;
    for (int64_t at = 0; at < nbytes; at += PS_HASH_BLOCK, word += block_words) {
        count += find_block(call, start + at, ps_min(PS_HASH_BLOCK, nbytes - at), word);
    }
    return count;
}

/* What the bits of a chunk say of it. Its first run is counted here, and taken back
 * where it goes on from another chunk. */
static void
set_part(ps_delta_part *part, const ps_bits *bits, int64_t base)
{
    part->count = bits->count;
    part->runs = bits->runs;
    part->first = base + bits->first;
    part->last = bits->last < 0 ? -1 : base + bits->last;
}

/* From words, some bit of which is set. */
static void
tally_part(ps_delta_part *part, const uint64_t *word, int64_t n_words, int64_t base)
{
    ps_bits bits;
    ps_kernels()->delta->tally(&bits, word, n_words);
    set_part(part, &bits, base);
}

/* Room for bytes of a chunk that are put aside, where the next ones may be words of two
 * bytes; -1: there is none. Whoever comes first takes it, in any order, since each part
 * remembers its place. */
static int64_t
take_staging(ready_delta *ready, int64_t n_bytes)
{
    const int64_t nbytes = ps_ceil_div(n_bytes, 2) * 2;
    const int64_t room = ready->call->staging_nbytes - nbytes;
    const int64_t at = room >= 0 ? atomic_fetch_add(&ready->staged, nbytes) : 0;
    return at <= room ? at : -1;
}

/* Put the chunk's values aside, if there is room; otherwise the second pass reads the
 * arrays again. */
static void
stage_values(ready_delta *ready, ps_delta_part *part, int64_t first,
             const uint64_t *word, int64_t n_words)
{
    const ps_delta_call *const call = ready->call;
    const int64_t at = take_staging(ready, part->count * call->itemsize);
    const int64_t offset = first * call->itemsize;
    if (at < 0) {
        return;
    }
    ps_kernels()->delta->take[ps_size_of(call->itemsize)](
            call->op, call->staging + at, word, n_words, call->old + offset,
            call->now + offset);
    /* Only now: a part that says so has its values there. */
    part->staged = at;
}

/* Numbers of a chunk in which little differs, and its values aside, from the places of
 * its bits, which are aside as well: words are gone through once for all of these. */
static void
stage_places(ready_delta *ready, ps_delta_part *part, int64_t first,
             const uint64_t *word, int64_t n_words)
{
    const ps_delta_call *const call = ready->call;
    uint16_t place[FEW_PLACES + 8];
    ps_bits bits;
    ps_kernels()->delta->spread(&bits, place, word, n_words);
    set_part(part, &bits, first);
    const int64_t at = take_staging(ready, bits.count * (2 + call->itemsize));
    const int64_t offset = first * call->itemsize;
    if (at < 0) {
        return;
    }
    char *const to = call->staging + at;
    memcpy(to, place, (size_t)(2 * bits.count));
    ps_kernels()->delta->pick[ps_size_of(call->itemsize)](
            call->op, to + 2 * bits.count, place, bits.count, call->old + offset,
            call->now + offset);
    part->has_places = true;
    part->staged = at + 2 * bits.count;
}

/* Words are made in the first cache and kept only if some bit is set: of an array in
 * which little differs, most of the memory for words is never touched. */
static void
find_chunk(void *context, int64_t chunk)
{
    ready_delta *const ready = context;
    ps_delta_call *const call = ready->call;
    ps_delta_part *const part = call->part + chunk;
    const int64_t first = chunk * CHUNK, n = ps_min(CHUNK, call->n - first);
    const int64_t n_words = ps_ceil_div(n, 64);
    uint64_t word[CHUNK_WORDS + 2 * PS_HASH_LANES];
    *part = (ps_delta_part){.last = -1, .staged = -1};
    if (ps_run_stops(ready->run)) {
        return;
    }
    const int64_t count = find_words(call, first, n, word);
    if (count == 0) {
        return;
    }
    memcpy(call->word + chunk * CHUNK_WORDS, word, (size_t)n_words * 8);
    if (count <= FEW_PLACES && call->staging_nbytes > 0) {
        stage_places(ready, part, first, word, n_words);
        return;
    }
    tally_part(part, word, n_words, first);
    if (call->staging_nbytes > 0) {
        stage_values(ready, part, first, word, n_words);
    }
}

/* The next true bit from element `at` on, of chunks that have any; n: there is none.
 * Parts say where a chunk ends as far as changes go, so words that were never written
 * are not read. */
static int64_t
next_changed(const ps_delta_call *call, int64_t at)
{
    while (at < call->n) {
        if (call->part[at / CHUNK].last < at) {
            at = (at / CHUNK + 1) * CHUNK;
            continue;
        }
        const uint64_t bits = call->word[at / 64] >> (at % 64);
        if (bits != 0) {
            return at + __builtin_ctzll(bits);
        }
        at = (at / 64 + 1) * 64;
    }
    return call->n;
}

/* A bit for each unit of which some element differs; then parts are those of units. */
static ps_status
mark_units(ps_delta_call *call, ps_run *run)
{
    const int64_t units = ps_delta_units(&call->delta);
    int64_t unheard = 0, before = 0;
    memset(call->unit_word, 0, (size_t)(8 * ps_ceil_div(units, 64)));
    for (int64_t at = next_changed(call, 0); at < call->n;) {
        const int64_t unit = at / call->width;
        call->unit_word[unit / 64] |= (uint64_t)1 << (unit % 64);
        if (ps_run_stops_after(run, &unheard, (at - before) / 8 + 8)) {
            return ps_run_status(run);
        }
        before = at;
        at = next_changed(call, ps_min((unit + 1) * call->width, call->n));
    }
    call->n_parts = ps_ceil_div(units, CHUNK);
    for (int64_t i = 0; i < call->n_parts; i++) {
        const int64_t n_words = ps_ceil_div(ps_min(CHUNK, units - i * CHUNK), 64);
        call->part[i] = (ps_delta_part){.staged = -1};
        tally_part(call->part + i, call->unit_word + i * CHUNK_WORDS, n_words,
                   i * CHUNK);
    }
    return PS_SUCCESS;
}

/* Where each part begins, and what all of them come to. A run that goes on from one
 * part to the next is one; escapes stand at the first number of a part, since no gap
 * within one is as long. */
static ps_delta_tally
join_parts(ps_delta_call *call)
{
    ps_delta_tally tally = {.last = -1};
    for (int64_t i = 0; i < call->n_parts; i++) {
        ps_delta_part *const part = call->part + i;
        part->before = tally.count;
        part->items_before = tally.count + tally.escapes;
        part->last_before = tally.last;
        if (part->last < 0) {
            continue;
        }
        /* The first gap of all counts from -1, as a writer does. */
        const int64_t gap = part->first - tally.last - 1;
        tally.runs += part->runs - (gap == 0 && tally.count > 0);
        tally.escapes += gap / UINT16_MAX;
        tally.count += part->count;
        tally.last = part->last;
    }
    return tally;
}

/* Numbers of the parts, some of whose bits a selection has taken back. */
static void
tally_selected(ps_delta_call *call)
{
    for (int64_t i = 0; i < call->n_parts; i++) {
        const int64_t units = ps_delta_units(&call->delta) - i * CHUNK;
        if (call->part[i].last >= 0) {
            tally_part(call->part + i, call->unit_word + i * CHUNK_WORDS,
                       ps_ceil_div(ps_min(CHUNK, units), 64), i * CHUNK);
        }
    }
}

/* One block for everything: words of elements and units, parts, sums, staging, which
 * has room for the values of an eighth of the array and the places of a sixteenth.
 * Words of chunks in which nothing differs, and staging that is not needed, are never
 * touched, so they cost no memory. */
static bool
take_memory(ps_delta_call *call)
{
    const int64_t words = ps_ceil_div(call->n, CHUNK) * CHUNK_WORDS;
    const int64_t unit_words =
            call->width == 1 ? 0 : ps_ceil_div(ps_delta_units(&call->delta), 64);
    const int64_t sums = ps_hash_count(call->n * call->itemsize) * PS_HASH_LANES;
    const int64_t fixed = 8 * (words + unit_words + 2 * sums);
    const int64_t parts = call->n_parts * (int64_t)sizeof(ps_delta_part);
    call->staging_nbytes =
            call->width == 1 && !call->selects && call->encoding != PS_DELTA_dense
                    ? call->n / 8 * (call->itemsize + 1)
                    : 0;
    call->scratch_nbytes = fixed + parts + call->staging_nbytes;
    call->scratch = ps_scratch_get(call->scratch_nbytes);
    if (call->scratch == NULL) {
        return false;
    }
    call->word = (uint64_t *)(void *)call->scratch;
    call->unit_word = call->width == 1 ? call->word : call->word + words;
    call->sum_old = call->word + words + unit_words;
    call->sum_new = call->sum_old + sums;
    call->part = (ps_delta_part *)(void *)(call->scratch + fixed);
    call->staging = call->scratch + fixed + parts;
    return true;
}

/* Memory in the call itself: tiny calls take none. */
static void
use_few(ps_delta_call *call)
{
    const int64_t units = ps_delta_units(&call->delta);
    call->staging_nbytes = 0;
    call->word = call->few_words;
    call->unit_word = call->few_words;
    if (call->width > 1) {
        call->unit_word += PS_FEW_WORDS - ps_ceil_div(units, 64);
    }
    call->part = call->few_parts;
    call->sum_old = call->few_sums;
    call->sum_new = call->few_sums + PS_HASH_LANES * PS_FEW_BLOCKS;
}

/* Half of the words are for units, which are half as many at most. */
static bool
is_few(const ps_delta_call *call)
{
    return call->n <= PS_FEW_WORDS * 32 &&
           call->n * call->itemsize <= PS_FEW_BLOCKS * PS_HASH_BLOCK;
}

/* Passes in order: bits and sums of chunks, on threads; bits of units; what a
 * selection takes back; places and sizes. */
ps_status
ps_delta_find(void *argument, ps_run *run)
{
    ps_delta_call *const call = argument;
    /* What is found is said of the delta itself, which has no memory yet. */
    ready_delta ready = {.run = run, .call = call};
    atomic_init(&ready.staged, 0);
    call->delta = (ps_delta){.op = call->op,
                             .n = call->n,
                             .itemsize = call->itemsize,
                             .width = call->width};
    call->n_parts = ps_ceil_div(call->n, CHUNK);
    if (is_few(call)) {
        use_few(call);
    }
    else if (!take_memory(call)) {
        return ps_fail(PS_NO_MEMORY);
    }
    const int64_t nbytes = call->n * call->itemsize;
    PS_TRY(run_chunks(&ready, 2 * nbytes, call->n_parts, find_chunk));
    call->checksum_old = ps_hash_finish(call->sum_old, nbytes);
    call->checksum_new = ps_hash_finish(call->sum_new, nbytes);
    if (call->width > 1) {
        PS_TRY(mark_units(call, run));
    }
    if (call->selects) {
        PS_TRY(ps_delta_select(call, run));
        tally_selected(call);
    }
    const ps_delta_tally tally = join_parts(call);
    call->is_possible = ps_delta_choose(&call->delta, &tally, call->encoding, true);
    return PS_SUCCESS;
}

/* ---- write ---- */

/* The values of units, each `width` elements side by side. Rows and blocks are walked
 * as they lie in both arrays: the kernel of pairs side by side stores what the op
 * stores. */
static void
write_units(const ps_delta_call *call, const int64_t *at, int64_t n, char *values)
{
    const int size = ps_size_of(call->itemsize);
    for (int64_t i = 0; i < n; i++) {
        const int64_t width = ps_delta_width(&call->delta, at[i]);
        const int64_t offset = at[i] * call->width * call->itemsize;
        ps_kernels()->delta->store[size](call->op, values, call->old + offset,
                                         call->now + offset, width);
        values += width * call->itemsize;
    }
}

/* Numbers of a chunk, block by block, to the head, and units to the values. A block
 * has as many numbers as 2,048 bits can name, so it stays on the stack, and the kernel
 * that turns bits into places has room for its stretches. */
static void
write_numbers(const ps_delta_call *call, const ps_delta_part *part, int64_t chunk,
              int64_t n_words)
{
    const ps_delta *const delta = &call->delta;
    const uint64_t *const word = call->unit_word + chunk * CHUNK_WORDS;
    const int64_t step = call->width * call->itemsize;
    char *values = (char *)delta->values + part->before * step;
    ps_delta_writer writer = {.delta = delta,
                              .head = (char *)delta->head,
                              .items = delta->encoding == PS_DELTA_gap16
                                               ? part->items_before
                                               : part->before,
                              .last = part->last_before};
    if (part->has_places) {
        const char *const place = call->staging + part->staged - 2 * part->count;
        ps_delta_write_places(&writer, (const uint16_t *)(const void *)place,
                              part->count, chunk * CHUNK);
        return;
    }
    int64_t at[PS_DELTA_BLOCK + 64];
    for (int64_t i = 0; i < n_words; i += BLOCK_WORDS) {
        const int64_t n =
                ps_kernels()->positions(at, word + i, ps_min(BLOCK_WORDS, n_words - i),
                                        chunk * CHUNK + 64 * i, PS_DELTA_BLOCK + 64);
        if (call->width > 1) {
            write_units(call, at, n, values);
            values += n * step;
        }
        if (delta->encoding < PS_DELTA_runs) {
            ps_delta_write_head(&writer, at, n);
        }
    }
}

/* Head and values of a chunk: both have places that the parts before it fix. Words of
 * a chunk without changes were never written, and are zeros in a bitmap. */
static void
write_chunk(void *context, int64_t chunk)
{
    const ready_delta *const ready = context;
    const ps_delta_call *const call = ready->call;
    const ps_delta *const delta = &call->delta;
    const ps_delta_part *const part = call->part + chunk;
    const int64_t units = ps_min(CHUNK, ps_delta_units(delta) - chunk * CHUNK);
    const int64_t n_words = ps_ceil_div(units, 64);
    const uint64_t *const word = call->unit_word + chunk * CHUNK_WORDS;
    if (ps_run_stops(ready->run)) {
        return;
    }
    if (delta->encoding == PS_DELTA_bitmap) {
        uint64_t *const to = (uint64_t *)(char *)delta->head + chunk * CHUNK_WORDS;
        memset(to, 0, (size_t)n_words * 8);
        if (part->last >= 0) {
            memcpy(to, word, (size_t)n_words * 8);
        }
    }
    if (part->last < 0) {
        return;
    }
    /* Bitmaps have their words, and runs are written at the end, so without rows or
     * blocks there is nothing to do for them number by number. */
    if (call->width > 1 || delta->encoding < PS_DELTA_runs) {
        write_numbers(call, part, chunk, n_words);
    }
    if (call->width > 1) {
        return;
    }
    char *const values = (char *)delta->values + part->before * call->itemsize;
    if (part->staged >= 0) {
        memcpy(values, call->staging + part->staged,
               (size_t)(part->count * call->itemsize));
        return;
    }
    const int64_t offset = chunk * CHUNK * call->itemsize;
    ps_kernels()->delta->take[ps_size_of(call->itemsize)](
            call->op, values, word, n_words, call->old + offset, call->now + offset);
}

/* Of every element: what is stored of a pair of equals, or of the pair. A selection
 * leaves out units that differ: they are stored as if they did not. */
static void
write_dense(void *context, int64_t chunk)
{
    const ready_delta *const ready = context;
    const ps_delta_call *const call = ready->call;
    const int size = ps_size_of(call->itemsize);
    const int64_t first = chunk * CHUNK, n = ps_min(CHUNK, call->n - first);
    const int64_t offset = first * call->itemsize;
    char *const to = (char *)call->delta.values + offset;
    if (ps_run_stops(ready->run)) {
        return;
    }
    ps_kernels()->delta->store[size](call->op, to, call->old + offset,
                                     (call->selects ? call->old : call->now) + offset,
                                     n);
    for (int64_t i = first; call->selects && i < first + n; i++) {
        const int64_t unit = i / call->width;
        if (call->part[unit / CHUNK].last >= 0 &&
            (call->unit_word[unit / 64] >> (unit % 64) & 1)) {
            const int64_t at = i * call->itemsize;
            ps_kernels()->delta->store[size](call->op, (char *)call->delta.values + at,
                                             call->old + at, call->now + at, 1);
        }
    }
}

/* Runs go over the ends of chunks, and are few where they are chosen: one after the
 * other. */
static void
write_runs(const ps_delta_call *call)
{
    ps_delta_writer writer = {
            .delta = &call->delta, .head = (char *)call->delta.head, .last = -1};
    int64_t at[PS_DELTA_BLOCK + 64];
    for (int64_t chunk = 0; chunk < call->n_parts; chunk++) {
        if (call->part[chunk].last < 0) {
            continue;
        }
        const int64_t units = ps_delta_units(&call->delta) - chunk * CHUNK;
        const int64_t n_words = ps_ceil_div(ps_min(CHUNK, units), 64);
        for (int64_t i = 0; i < n_words; i += BLOCK_WORDS) {
            const int64_t n = ps_kernels()->positions(
                    at, call->unit_word + chunk * CHUNK_WORDS + i,
                    ps_min(BLOCK_WORDS, n_words - i), chunk * CHUNK + 64 * i,
                    PS_DELTA_BLOCK + 64);
            ps_delta_write_head(&writer, at, n);
        }
    }
}

/* The caller has made room for head and values and put their places into the delta. */
ps_status
ps_delta_write(void *argument, ps_run *run)
{
    ps_delta_call *const call = argument;
    ready_delta ready = {.run = run, .call = call};
    const int64_t nbytes = call->delta.head_nbytes + call->delta.values_nbytes;
    if (call->delta.encoding == PS_DELTA_dense) {
        return run_chunks(&ready, nbytes, ps_ceil_div(call->n, CHUNK), write_dense);
    }
    PS_TRY(run_chunks(&ready, nbytes, call->n_parts, write_chunk));
    if (call->delta.encoding == PS_DELTA_runs) {
        write_runs(call);
    }
    return PS_SUCCESS;
}

void
ps_delta_close(ps_delta_call *call)
{
    ps_scratch_put(call->scratch, call->scratch_nbytes);
    call->scratch = NULL;
}
