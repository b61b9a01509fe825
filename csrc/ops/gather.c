/* The gather op: rows named by an index are copied side by side.
 *
 * out is native and C-contiguous, so source number e of outer row o has one place in it
 * and any split of entries or outer rows is a split of out. A fresh out is filled while
 * the index is checked; a visible one only after all of the index has been. Entries
 * that name nothing (mode "fill", where=) leave the fill value, put there first.
 *
 * The usual index, contiguous and of the usual types, is read as it comes (items,
 * moded, rows); every other becomes lists. `choose_way` is the one decision. A long
 * tuple of indices becomes such a one for an output that is seen (ops/joined.h).
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/address.h"
#include "ops/joined.h"
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
    /* An output beyond this leaves every cache before it is read again; rows from
     * STREAM_ROW bytes on are then written past the caches: ns a row of 16 / 32 / 64 /
     * 256 bytes, 1.17e6 out of 170,000, so / not: 1.7 / 2.3, 2.5 / 3.8, 8.6 / 11.5, 32
     * / 41 (Zen 3). */
    STREAM_BYTES = 16 << 20,
    STREAM_ROW = 16,
    /* Entries side by side in `out`, up to which each is moved for a stretch of outer
     * rows of TURN_BYTES, instead of all of them for one outer row after the other: ns
     * a row of 64 float64, so / row by row, 8 of them 11.5 / 16.6, 16 16.8 / 16.0 (Zen
     * 3). Rows of `out` of which columns are written one by one come in blocks of as
     * many bytes. */
    FEW_COLUMNS = 12,
    TURN_BYTES = 16 << 10,
    /* Columns of the source that are read side by side: a line of each stays near. */
    TURNED_COLUMNS = 128,
    /* Bytes between the items of a row up to which a row is copied as a whole: 12,500
     * reversed rows of 8 float64 take 4.3 ns each, column by column 12.5 (Zen 3). */
    NARROW_STRIDE = 64,
    /* Entries from which a tuple of arrays becomes one index: ns a pair of int64 that
     * names float64, by lists / joined: of 7 KB, 3,000 pairs 1.5 / 1.7, 100,000 1.4 /
     * 1.3, 1e6 3.0 / 2.3; of 8 MB 2.2 / 2.2, 2.7 / 2.5, 7.5 / 5.4. Columns of one array
     * are joined whenever they are more than a list: 2.7 / 1.9, 2.5 / 1.6, 4.1 / 2.7;
     * 3.4 / 2.5, 3.9 / 3.1, 8.3 / 6.5 (Zen 3). */
    MANY_TUPLES = 16384
};

/* How entries find their way to `out`. */
enum way {
    BY_LISTS, /* an entry's offset in a list, for each outer row */
    ITEMS, /* items straight from the caller's index, which is checked as it is used */
    ROWS,  /* rows straight from an int64 index */
    COLUMNS, /* by lists, whose entries are few: each for a stretch of outer rows */
    TURNED,  /* the same where outer rows lie side by side in the source */
    STRIDED  /* by lists: the innermost outer axis is a row of items that lie apart */
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_gather_call *call;
    ps_row_split split;
    int64_t entry_stride; /* of out, within `even_run` entries */
    int64_t even_run;
    int64_t width_nbytes;
    int64_t column;      /* bytes of a row of out before those at hand, ... */
    int64_t from_column; /* and of the source's */
    int64_t item_stride; /* of the items of a row of the source, where they lie apart */
    bool streams;
    enum way way;
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

/* Bytes are moved as they are: booleans have to become 0 or 1, foreign byte order
 * native. */
static bool
needs_normal(const ready_gather *ready)
{
    return ready->call->source.dtype == PS_b1 || ready->call->source.swapped;
}

static void
normalise_entries(const ready_gather *ready, char *out, int64_t n)
{
    const ps_target *const source = &ready->call->source;
    if (!needs_normal(ready)) {
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
    if (ready->way == STRIDED) {
        kernels->gather_apart(out, list, from, ready->entry_stride, ready->item_stride,
                              ready->split.width, ready->call->source.itemsize);
        return;
    }
    const int size = ps_size_of(ready->width_nbytes);
    if (size >= 0) {
        kernels->gather[size](out, list, from, ready->entry_stride);
    }
    else {
        kernels->gather_rows(out, list, from, ready->entry_stride, ready->width_nbytes,
                             ready->streams);
    }
}

/* out[e] = a[index[e]] for n entries from `first` on, which lie side by side in out. An
 * index out of bounds ends it, PS_INDEX_BAD; out is private then, or the index was good
 * when it was checked. */
static ps_status
gather_taken(const ready_gather *ready, int64_t first, int64_t n)
{
    const ps_gather_call *const call = ready->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const index = &call->address.index[0];
    const int64_t nbytes = ready->width_nbytes;
    const int size = ps_size_of(nbytes);
    const bool is_wide = index->type == PS_INDEX_i64;
    const char *const from = index->data + first * ps_index_itemsize(index->type);
    const char *const a = call->source.data + ready->from_column;
    char *const out = call->out.data + first * ready->entry_stride + ready->column;
    int64_t done;
    if (ready->way == ITEMS) {
        done = kernels->gather_checked[size](call->address.mode, is_wide, out, a,
                                             index->size, from, n, call->fill);
    }
    else {
        const ps_list list = {(int64_t *)(void *)(uintptr_t)from, NULL, n};
        const ps_numbering numbering = ps_address_numbering(&call->address, 0);
        done = kernels->gather_rows_checked(
                out, &list, &numbering, a, ready->entry_stride, nbytes, ready->streams);
    }
    normalise_entries(ready, out, done);
    return done == n ? PS_SUCCESS : ps_fail(PS_INDEX_BAD);
}

/* out[r * out_step][i] = from[offset[i]] + r, n outer rows: by squares that are turned
 * in registers. */
static void
turn_columns(const ready_gather *ready, const ps_list *list, char *out,
             const char *from, int64_t n)
{
    const int64_t out_step = ready->call->rows.value_strides[0];
    const int size = ps_size_of(ready->width_nbytes);
    for (int64_t i = 0; i < list->n; i += TURNED_COLUMNS) {
        ps_kernels()->turn[size](out + i * ready->entry_stride, out_step,
                                 list->offset + i, ps_min(TURNED_COLUMNS, list->n - i),
                                 from, n);
    }
}

/* The same for any layout: a strided copy for each entry. */
static void
copy_columns(const ready_gather *ready, const ps_list *list, char *out,
             const char *from, int64_t n)
{
    const ps_rows *const rows = &ready->call->rows;
    const int size = ps_size_of(ready->width_nbytes);
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t entry = list->source != NULL ? list->source[i] : i;
        ps_kernels()->copy[size](out + entry * ready->entry_stride,
                                 rows->value_strides[0], from + list->offset[i],
                                 rows->target_strides[0], n);
    }
}

/* The entries of a list, all of a block's, each for outer rows [first, last), in turns
 * that keep the rows of both sides in the first cache. */
static void
gather_columns(const ready_gather *ready, const ps_list *list, char *out, int64_t first,
               int64_t last)
{
    const ps_rows *const rows = &ready->call->rows;
    const int64_t step = rows->target_strides[0], out_step = rows->value_strides[0];
    const int64_t widest = ps_max(ps_max(step, -step), out_step);
    const int64_t turn = ps_max(16, TURN_BYTES / ps_max(1, widest));
    const char *const from = ready->call->source.data;
    const bool turns = ready->way == TURNED && list->source == NULL;
    for (int64_t row = first, n; row < last; row += n) {
        n = ps_min(turn, last - row);
        (turns ? turn_columns : copy_columns)(ready, list, out + row * out_step,
                                              from + row * step, n);
        for (int64_t i = row; i < row + n && needs_normal(ready); i++) {
            normalise_entries(ready, out + i * out_step, list->n);
        }
    }
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
    char *const start = call->out.data + entry_offset + ready->column;
    ps_list list;
    PS_TRY(ps_address_list(&call->address, first, n, room, &list));
    if ((ready->way == COLUMNS || ready->way == TURNED) && list.n == n) {
        gather_columns(ready, &list, start, outer_first, outer_last);
        return PS_SUCCESS;
    }
    for (int64_t outer = outer_first; outer < outer_last; outer++) {
        int64_t at, out_offset;
        ps_outer_offsets(&call->rows, &ready->split, outer, &at, &out_offset);
        char *const out = start + out_offset;
        if (list.n < n) {
            fill_entries(ready, out, n);
        }
        gather_list(ready, out, &list, call->source.data + at + ready->from_column);
        normalise_entries(ready, out, n);
    }
    return PS_SUCCESS;
}

/* Was it a success? A failure is noted. */
static bool
note(ps_run *run, ps_status status)
{
    if (status.code != PS_OK) {
        ps_run_fail(run, status.code);
    }
    return status.code == PS_OK;
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
    if (ready->way == ITEMS || ready->way == ROWS) {
        note(ready->run, gather_taken(ready, first, last - first));
        return;
    }
    if (!ps_list_room_open(&room, last - first)) {
        /* Other chunks may have written: go on with what the stack holds. */
        ps_list_room_open(&room, PS_FEW_ENTRIES);
    }
    /* Outer rows that are columns of out: its rows stay in the first cache. */
    const bool has_columns = outer_last - outer_first > 1 && ready->way == BY_LISTS;
    const int64_t most =
            !has_columns
                    ? room.capacity
                    : ps_min(room.capacity,
                             ps_max(64, TURN_BYTES / ps_max(1, ready->entry_stride)));
    for (int64_t at = first, count; at < last; at += count) {
        count = ps_min(most, last - at);
        count = ps_min(count, ready->even_run - at % ready->even_run);
        if (!note(ready->run,
                  gather_block(ready, at, count, outer_first, outer_last, &room))) {
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
    part.from_column = first * ready->item_stride;
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

/* Rows whose items lie apart in the source, but side by side in out, become rows of the
 * split. Far apart, each item of a row is a line of its own, and columns are walked one
 * by one. */
static bool
takes_strided(ready_gather *ready)
{
    const ps_rows *const rows = &ready->call->rows;
    ps_row_split *const split = &ready->split;
    const int last = split->n_outer - 1;
    const int64_t itemsize = ready->call->source.itemsize;
    if (split->width > 1 || last < 0 || rows->value_strides[last] != itemsize ||
        rows->target_strides[last] > NARROW_STRIDE ||
        rows->target_strides[last] < -NARROW_STRIDE || ps_size_of(itemsize) < 0) {
        return false;
    }
    ready->item_stride = rows->target_strides[last];
    split->n_outer--;
    split->width = rows->shape[last];
    split->outer_count /= split->width;
    ready->width_nbytes = split->width * itemsize;
    return true;
}

/* May the caller's index be read as it comes? For items, and for rows of an int64 index
 * that refuses numbers, side by side in out. */
static enum way
choose_direct(const ready_gather *ready)
{
    const ps_address *const address = &ready->call->address;
    const ps_index *const index = &address->index[0];
    const int64_t nbytes = ready->width_nbytes;
    const bool refuses = ps_mode_refuses(address->mode);
    if (ready->split.outer_count > 1 || !ps_address_is_direct(address) ||
        index->size == 0) {
        return BY_LISTS;
    }
    const bool is_item = ps_size_of(nbytes) >= 0;
    const bool takes_rows = refuses && index->type == PS_INDEX_i64 &&
                            (uintptr_t)index->data % sizeof(int64_t) == 0;
    if (takes_rows && (!is_item || ready->streams)) {
        return ROWS;
    }
    if (is_item && index->step == nbytes && ready->entry_stride == nbytes) {
        const bool fills =
                address->mode == PS_MODE_DROP || address->mode == PS_MODE_FILL;
        return fills && ready->split.width > 1 ? BY_LISTS : ITEMS;
    }
    return BY_LISTS;
}

/* How the call runs. Every way gives the same bytes. */
static enum way
choose_way(ready_gather *ready)
{
    const ps_gather_call *const call = ready->call;
    const ps_rows *const rows = &call->rows;
    if (takes_strided(ready)) {
        return STRIDED;
    }
    if (ready->split.n_outer == 1 && ps_size_of(ready->width_nbytes) >= 0 &&
        ready->entry_stride < rows->value_strides[0]) {
        const int64_t itemsize = call->source.itemsize;
        if (rows->target_strides[0] == itemsize && ready->entry_stride == itemsize) {
            return TURNED;
        }
        if (call->address.n <= FEW_COLUMNS &&
            ready->split.outer_count > call->address.n) {
            return COLUMNS;
        }
    }
    return choose_direct(ready);
}

/* All chunks. `out` is written once each; past the caches where it is too large to be
 * read again from them. */
static ps_status
run_gather(ps_gather_call *call, ps_run *run)
{
    ready_gather ready = {.run = run, .call = call};
    ready.split = ps_split_rows(&call->rows, call->source.itemsize, true);
    ready.width_nbytes = ready.split.width * call->source.itemsize;
    ready.item_stride = call->source.itemsize;
    ready.even_run = ps_even_run(call->address.ndim, call->address.shape,
                                 call->out.entry_strides, &ready.entry_stride);
    const int64_t out_nbytes =
            call->address.n * ready.split.outer_count * ready.width_nbytes;
    ready.streams = out_nbytes > STREAM_BYTES && ready.width_nbytes >= STREAM_ROW;
    ready.way = choose_way(&ready);
    cut(&ready);
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

/* out[e] = a[offset[e]]: one kernel call, on the index itself where nobody sees an out
 * that is left half filled, else on a list on the stack, which is checked whole before.
 */
static ps_status
gather_short(const ps_gather_call *call)
{
    const ps_address *const address = &call->address;
    const int64_t itemsize = call->source.itemsize;
    const ps_index *const index = &address->index[0];
    if (call->is_private && ps_address_is_plain(address, itemsize) &&
        ps_kernels()->gather_checked[ps_size_of(itemsize)](
                address->mode, index->type == PS_INDEX_i64, call->out.data,
                call->source.data, index->size, index->data, address->n,
                NULL) == address->n) {
        return PS_SUCCESS;
    }
    ps_list_room room;
    ps_list list;
    ps_list_room_open(&room, address->n);
    PS_TRY(ps_address_list(address, 0, address->n, &room, &list));
    ps_kernels()->gather[ps_size_of(itemsize)](call->out.data, &list, call->source.data,
                                               itemsize);
    return PS_SUCCESS;
}

/* Does a tuple of indices of single elements become one first? Its numbers are those of
 * items then, which are read as they come. For an out that is seen: lists need a scan
 * of the tuple before, and are the faster ones where nobody sees it. */
static bool
is_joined(const ps_gather_call *call)
{
    const ps_address *const address = &call->address;
    const int64_t itemsize = call->source.itemsize;
    if (call->is_private || call->rows.ndim > 0 || address->n <= PS_BLOCK ||
        address->n > PS_JOINED_MOST || ps_size_of(itemsize) < 0) {
        return false;
    }
    const ps_index *const index = &address->index[0];
    const int64_t step = ps_common_step(address);
    const bool is_dense =
            step > 0 && index->strides[0] == ps_index_itemsize(index->type);
    return step > 0 && step % itemsize == 0 && (address->n >= MANY_TUPLES || !is_dense);
}

/* The tuple is checked as it is joined, and then beyond the reach of others: an output
 * that is seen is written afterwards. */
static ps_status
gather_joined(ps_gather_call *call, ps_run *run)
{
    ps_joined joined;
    ps_gather_call by_one = *call;
    ps_status status =
            ps_join(&call->address, call->source.itemsize, false, run, &joined);
    if (status.code == PS_OK) {
        by_one.address = ps_joined_address(&call->address, &joined);
        status = run_gather(&by_one, run);
    }
    ps_close_joined(&joined);
    return status.code == PS_INDEX_BAD ? ps_address_find_bad(&call->address, run)
                                       : status;
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
    if (is_joined(call)) {
        return gather_joined(call, run);
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
