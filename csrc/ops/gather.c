/* The gather op: rows named by an index are copied side by side.
 *
 * out is native and C-contiguous, so source number e of outer row o has one place in it
 * and any split of entries or outer rows is a split of out. A fresh out is filled while
 * the index is checked; a visible one only after all of the index has been. Entries
 * that name nothing (mode "fill", where=) leave the fill value, put there first.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/address.h"
#include "ops/ops.h"
#include "ops/run.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Bytes of one chunk: about 0.1 ms, so that threads even out and signals are heard.
     */
    CHUNK_BYTES = 4 << 20,
    /* Bytes moved below which another thread costs more than it brings. */
    PARALLEL_BYTES = 1 << 20,
    /* An output beyond this leaves every cache before it is read again; rows of at
     * least a line are then written past the caches (1.4 times faster at 300 MB). */
    STREAM_BYTES = 16 << 20,
    STREAM_ROW = 64
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_gather_call *call;
    ps_row_split split;
    int64_t entry_stride; /* of out, within `even_run` entries */
    int64_t even_run;
    int64_t width_nbytes;
    int64_t column; /* bytes of a row before those at hand */
    bool streams;
    bool takes_index; /* straight from the caller's index, without lists */
    int64_t entry_chunks, chunk_entries; /* entries are cut into these, ... */
    int64_t outer_chunks, chunk_outers;  /* outer rows into these, ... */
    int64_t width_chunks, chunk_width;   /* and long rows into these, of elements */
} ready_gather;

/* out[e] = the fill value, in every element of n entries. */
static void
fill_entries(const ready_gather *ready, char *out, int64_t n)
{
    const ps_gather_call *const call = ready->call;
    const int64_t itemsize = call->source.itemsize;
    for (int64_t i = 0; i < n; i++, out += ready->entry_stride) {
        for (int64_t at = 0; at < ready->width_nbytes; at += itemsize) {
            memcpy(out + at, call->fill, (size_t)itemsize);
        }
    }
}

/* Bytes were moved as they are: booleans become 0 or 1, foreign byte order native. */
static void
normalise_entries(const ready_gather *ready, char *out, int64_t n)
{
    const ps_target *const source = &ready->call->source;
    if (source->dtype != PS_b1 && !source->swapped) {
        return;
    }
    for (int64_t i = 0; i < n; i++, out += ready->entry_stride) {
        ps_convert(source->dtype, out, source->dtype, source->itemsize, source->swapped,
                   out, source->itemsize, ready->split.width);
    }
}

/* out[e] = from[offset[i]] for entry e = source[i]: single items by the kernel of
 * their size, everything else as rows of bytes. Every offset has been checked. */
static void
gather_list(const ready_gather *ready, char *out, const ps_list *list, const char *from)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int size = ready->split.width == 1 ? ps_size_of(ready->width_nbytes) : -1;
    if (size >= 0) {
        kernels->gather[size](out, list, from, ready->entry_stride);
    }
    else {
        kernels->gather_rows(out, list, from, ready->entry_stride, ready->width_nbytes,
                             ready->streams);
    }
}

/* May items be moved straight from the caller's index, to items side by side? The
 * kernel reads each number once and checks it in a register. */
static bool
takes_index(const ready_gather *ready)
{
    return ready->split.width == 1 && ready->split.outer_count == 1 &&
           ready->entry_stride == ready->width_nbytes &&
           ps_size_of(ready->width_nbytes) >= 0 &&
           ps_address_is_plain(&ready->call->address, ready->width_nbytes);
}

/* out[e] = a[index[e]] for n entries from `first` on. An index out of bounds ends it,
 * PS_INDEX_BAD; out is private then, or the index was good when it was checked. */
static ps_status
gather_taken(const ready_gather *ready, int64_t first, int64_t n)
{
    const ps_gather_call *const call = ready->call;
    const ps_index *const index = &call->address.index[0];
    char *const out = call->out.data + first * ready->entry_stride;
    const int64_t done = ps_kernels()->gather_checked[ps_size_of(ready->width_nbytes)](
            index->type == PS_INDEX_i64, out, call->source.data, index->size,
            index->data + first * ps_index_itemsize(index->type), n);
    normalise_entries(ready, out, done);
    return done == n ? PS_SUCCESS : ps_fail(PS_INDEX_BAD);
}

/* The list of n entries from `first` on, once, then every outer row in [outer_first,
 * outer_last). Entries that name nothing are left out of the list and keep the fill
 * value, put there before. */
static ps_status
gather_block(const ready_gather *ready, int64_t first, int64_t n, int64_t outer_first,
             int64_t outer_last, ps_list_room *room)
{
    const ps_gather_call *const call = ready->call;
    const ps_address *const address = &call->address;
    const int64_t entry_offset =
            ps_offset_of(address->ndim, address->shape, call->out.entry_strides, first);
    ps_list list;
    PS_TRY(ps_address_list(&call->address, first, n, room, &list));
    for (int64_t outer = outer_first; outer < outer_last; outer++) {
        int64_t at, out_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &at, &out_offset);
        char *const out = call->out.data + out_offset + entry_offset + ready->column;
        if (list.n < n) {
            fill_entries(ready, out, n);
        }
        gather_list(ready, out, &list, call->source.data + at + ready->column);
        normalise_entries(ready, out, n);
    }
    return PS_SUCCESS;
}

/* The blocks of one chunk: as long as a list has room and the output one stride. */
static void
gather_entries(const ready_gather *ready, int64_t chunk)
{
    const int64_t n = ready->call->address.n;
    const int64_t first = chunk % ready->entry_chunks * ready->chunk_entries;
    const int64_t last = ps_min(n, first + ready->chunk_entries);
    const int64_t outer_first = chunk / ready->entry_chunks * ready->chunk_outers;
    const int64_t outer_last =
            ps_min(ready->split.outer_count, outer_first + ready->chunk_outers);
    ps_list_room room;
    if (ps_run_stops(ready->run)) {
        return;
    }
    if (!ps_list_room_open(&room, last - first)) {
        /* Other chunks may have written: go on with what the stack holds. */
        ps_list_room_open(&room, PS_FEW_ENTRIES);
    }
    for (int64_t at = first, count; at < last; at += count) {
        count = ps_min(room.capacity, last - at);
        count = ps_min(count, ready->even_run - at % ready->even_run);
        const ps_status status = ready->takes_index
                                         ? gather_taken(ready, at, count)
                                         : gather_block(ready, at, count, outer_first,
                                                        outer_last, &room);
        if (status.code != PS_OK) {
            ps_run_fail(ready->run, status.code);
            break;
        }
    }
    ps_list_room_close(&room);
}

/* A chunk of entries and outer rows, or one of the parts of their rows. */
static void
gather_chunk(void *context, int64_t chunk)
{
    const ready_gather *const ready = context;
    if (ready->width_chunks == 1) {
        gather_entries(ready, chunk);
        return;
    }
    ready_gather part = *ready;
    const int64_t first = chunk % ready->width_chunks * ready->chunk_width;
    const int64_t itemsize = ready->call->source.itemsize;
    part.split.width = ps_min(ready->chunk_width, ready->split.width - first);
    part.width_nbytes = part.split.width * itemsize;
    part.column = first * itemsize;
    gather_entries(&part, chunk / ready->width_chunks);
}

/* Cut the work: entries first, outer rows where entries are few, rows where one is more
 * than a chunk. */
static void
cut(ready_gather *ready)
{
    const int64_t n = ready->call->address.n, outers = ready->split.outer_count;
    const int64_t per_entry = 16 + 2 * ready->width_nbytes;
    int64_t entries = ps_max(1, CHUNK_BYTES / per_entry);
    if (ready->run->threads > 1 && n * outers * per_entry >= PARALLEL_BYTES) {
        entries = ps_min(entries, ps_ceil_div(n * outers, 4 * ready->run->threads));
    }
    ready->chunk_entries = ps_min(n, entries);
    ready->chunk_outers = ps_max(1, ps_min(outers, entries / ready->chunk_entries));
    ready->entry_chunks = ps_ceil_div(n, ready->chunk_entries);
    ready->outer_chunks = ps_ceil_div(outers, ready->chunk_outers);
    ready->chunk_width = ps_min(ready->split.width,
                                CHUNK_BYTES / ps_max(1, ready->call->source.itemsize));
    ready->chunk_width = ps_max(1, ready->chunk_width);
    ready->width_chunks = ps_ceil_div(ready->split.width, ready->chunk_width);
}

/* All chunks. `out` is written once each; past the caches where it is too large to be
 * read again from them. */
static ps_status
run_gather(ps_gather_call *call, ps_run *run)
{
    ready_gather ready = {.run = run, .call = call};
    ready.split = ps_split_rows(&call->rows, call->source.itemsize, true);
    ready.width_nbytes = ready.split.width * call->source.itemsize;
    ready.even_run = ps_even_run(call->address.ndim, call->address.shape,
                                 call->out.entry_strides, &ready.entry_stride);
    ready.takes_index = takes_index(&ready);
    cut(&ready);
    const int64_t out_nbytes =
            call->address.n * ready.split.outer_count * ready.width_nbytes;
    ready.streams = out_nbytes > STREAM_BYTES && ready.width_nbytes >= STREAM_ROW;
    run->has_written = !call->is_private;
    const int64_t chunks = ready.entry_chunks * ready.outer_chunks * ready.width_chunks;
    return ps_run_chunks(run, chunks, gather_chunk, &ready);
}

/* A handful of single elements that are copied as they are? */
static bool
is_short(const ps_gather_call *call)
{
    const ps_address *const address = &call->address;
    return address->n <= PS_FEW_ENTRIES && address->ndim <= 1 && call->rows.ndim == 0 &&
           ps_size_of(call->source.itemsize) >= 0 && call->source.dtype != PS_b1 &&
           !call->source.swapped && call->fill == NULL;
}

/* out[e] = a[offset[e]]: one list on the stack, one kernel call; the list is checked
 * whole before. */
static ps_status
gather_short(const ps_gather_call *call)
{
    const ps_address *const address = &call->address;
    const int64_t itemsize = call->source.itemsize;
    ps_list_room room;
    ps_list list;
    ps_list_room_open(&room, address->n);
    PS_TRY(ps_address_list(address, 0, address->n, &room, &list));
    ps_kernels()->gather[ps_size_of(itemsize)](call->out.data, &list, call->source.data,
                                               itemsize);
    return PS_SUCCESS;
}

/* Who checks the index follows from who can see the output: a fresh one is filled
 * while it is checked, by a pass that then looks for the first bad number. */
ps_status
ps_gather(void *argument, ps_run *run)
{
    ps_gather_call *const call = argument;
    int64_t row_count;
    ps_address_merge(&call->address, call->out.entry_strides);
    if (is_short(call)) {
        return gather_short(call);
    }
    if (!ps_count(call->rows.ndim, call->rows.shape, &row_count)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (call->address.n == 0 || row_count == 0 || call->source.itemsize == 0) {
        return ps_address_check(&call->address, run);
    }
    const bool checks_first = !call->is_private;
    if (checks_first) {
        PS_TRY(ps_address_check(&call->address, run));
    }
    const ps_status status = run_gather(call, run);
    if (status.code != PS_INDEX_BAD) {
        return status;
    }
    return checks_first ? ps_fail(PS_INDEX_CHANGED)
                        : ps_address_find_bad(&call->address, run);
}
