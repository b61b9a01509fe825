/* The scatter of large targets by a stable partition (contract in partition.h).
 *
 * Segment after segment of the index, in three steps on all threads:
 *   count       each thread counts the pairs of its part of the segment by bin;
 *   distribute  each thread copies its pairs to where (bin, part) starts, so that
 *               within a bin they stand in the order of the index;
 *   apply       bins are shared out in groups of about equal work and applied.
 *
 * A segment bounds the work memory, which is
 * kept between calls; a target of 80 MB is walked once for each 4 Mi pairs, which costs
 * a fifth of what the misses would.
 *
 * Safety: another thread may rewrite the index between count and distribute. A cursor
 * then ends elsewhere, which is noticed before anything is applied: each part has a
 * cursor for each bin, and where all of them end as the count said, every pair between
 * start and end has been written, once, by the part that it belongs to. The work memory
 * has room for a whole part behind its end, so strays stay inside it.
 */
#include "ops/partition.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Pairs of a segment: 60 MB of float64 with their rows and a part as a margin,
     * which is what scratch memory keeps (base/scratch.c). Segments of 1e7 would take a
     * fifth less, those of 4 Mi a tenth more (Zen 4). */
    SEGMENT = 5000000,
    /* Groups per thread: enough to even out, few enough to cost nothing. */
    GROUPS = 8,
    /* Parts and groups of a call that needs no lists: a thread that is held up holds up
     * the others by one of these. */
    PARTS = 16,
    DIRECT_GROUPS = 64,
    /* Records that are taken apart at a time, within a first cache. */
    TAKEN = 1024
};

/* Entries of the segment are shared out evenly: part p has [part_first(p),
 * part_first(p + 1)). */
static int64_t
part_first(const ps_partition *work, int64_t part)
{
    return work->first + (work->last - work->first) * part / work->n_parts;
}

/* Rows carry the number of their source, single elements the value itself. */
static bool
is_rows(const ps_partition *work)
{
    return work->ready->split.width > 1;
}

/* Put the pairs of one list into their bins. */
static void
distribute_list(const ps_partition *work, int64_t *cursor, const ps_list *list,
                int64_t first)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_value_source *const source = &work->ready->values;
    if (is_rows(work)) {
        kernels->partition_sources(cursor, work->offset, (uint32_t *)work->carried,
                                   list, first - work->first, work->bins);
        return;
    }
    const char *const values = ps_block_values(source, first, list->n, 0, NULL);
    (work->payload == 4 ? kernels->partition_values4 : kernels->partition_values8)(
            cursor, work->offset, work->carried, list, values, source->stride,
            work->bins);
}

/* Entries of a part, in stretches between which signals are heard. */
static void
walk_entries(ps_partition *work, int64_t part, bool distributes)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_ready_call *const ready = work->ready;
    int64_t *const cursor = work->cursor + part * work->bins.n_bins;
    const int64_t last = part_first(work, part + 1);
    const int64_t step = PS_LISTEN_BYTES / PS_LINE_BYTES;
    for (int64_t first = part_first(work, part); first < last; first += step) {
        const int64_t n = ps_min(step, last - first);
        const char *const values = ps_block_values(&ready->values, first, n, 0, NULL);
        const ps_entries entries = ps_plain_entries(ready->call, &ready->manner, first,
                                                    n, values, ready->values.stride);
        if (distributes) {
            kernels->partition_put_rows(&entries, cursor, work->carried, work->payload,
                                        work->row_shift);
        }
        else if (kernels->partition_count_rows(&entries, cursor, work->row_shift) > 0) {
            ps_run_fail(work->run, PS_INDEX_BAD);
        }
        if (ps_run_stops(work->run)) {
            return;
        }
    }
}

/* Walk the lists of a part; `distributes` or counts. */
static void
walk_part(ps_partition *work, int64_t part, bool distributes)
{
    int64_t *const cursor = work->cursor + part * work->bins.n_bins;
    const int64_t last = part_first(work, part + 1);
    ps_list_room *const room = &work->rooms[part];
    int64_t unheard = 0;
    for (int64_t first = part_first(work, part); first < last; first += PS_BLOCK) {
        ps_list list;
        const int64_t n = ps_min(PS_BLOCK, last - first);
        const ps_status status =
                ps_address_list(&work->ready->call->address, first, n, room, &list);
        if (status.code != PS_OK) {
            ps_run_fail(work->run, status.code);
            break;
        }
        if (ps_run_stops_after(work->run, &unheard, n * PS_LINE_BYTES)) {
            break;
        }
        if (distributes) {
            distribute_list(work, cursor, &list, first);
        }
        else {
            ps_kernels()->partition_count(cursor, list.offset, list.n, work->bins);
        }
    }
}

/* cursor[bin] of this part = how many of its pairs fall into each bin. Indices are
 * checked as their lists are made; nothing has been written yet. */
static void
count_part(void *context, int64_t part)
{
    ps_partition *const work = context;
    memset(work->cursor + part * work->bins.n_bins, 0,
           (size_t)work->bins.n_bins * sizeof(int64_t));
    if (!ps_run_stops(work->run)) {
        (work->is_direct ? walk_entries : walk_part)(work, part, false);
    }
}

/* The same lists once more, each pair to its place: cursor[bin] moves on with it, and
 * must end where the count said (is_complete). */
static void
distribute_part(void *context, int64_t part)
{
    ps_partition *const work = context;
    if (!ps_run_stops(work->run)) {
        (work->is_direct ? walk_entries : walk_part)(work, part, true);
    }
}

/* One for each part and bin. */
static int64_t
n_cursors(const ps_partition *work)
{
    return work->n_parts * work->bins.n_bins;
}

/* Counts become starts and stops: bins in order, within a bin the parts in order. */
static void
place_bins(ps_partition *work)
{
    int64_t at = 0;
    for (int64_t bin = 0; bin < work->bins.n_bins; bin++) {
        work->start[bin] = at;
        for (int part = 0; part < work->n_parts; part++) {
            const int64_t number = part * work->bins.n_bins + bin;
            const int64_t count = work->cursor[number];
            work->cursor[number] = at;
            at += count;
            work->stop[number] = at;
        }
    }
    work->start[work->bins.n_bins] = at;
}

/* Has every part put into every bin what it had counted there? */
static bool
is_complete(const ps_partition *work)
{
    return memcmp(work->cursor, work->stop,
                  (size_t)n_cursors(work) * sizeof(int64_t)) == 0;
}

/* The rows of a bin are an index of int32 into its part of the target, whose lines are
 * asked for in the order in which they lie before they are met at random. */
static void
apply_rows(const ps_partition *work, int64_t bin)
{
    const ps_scatter_call *const call = work->ready->call;
    const int64_t first = bin << work->row_shift, itemsize = call->target.itemsize;
    const int64_t n = work->start[bin + 1] - work->start[bin];
    uint32_t row[TAKEN];
    _Alignas(16) char value[TAKEN * 8];
    ps_entries entries = {.target = call->target.data + first * itemsize,
                          .size = ps_min((int64_t)1 << work->row_shift,
                                         call->address.index[0].size - first),
                          .index = (const char *)row,
                          .values = value,
                          .value_stride = work->payload};
    const bool is_dense = n >= entries.size / 8;
    for (int64_t i = 0; is_dense && i < entries.size * itemsize; i += PS_LINE_BYTES) {
        __builtin_prefetch(entries.target + i, 1);
    }
    for (int64_t i = 0; i < n; i += TAKEN) {
        entries.n = ps_min(TAKEN, n - i);
        ps_kernels()->partition_take_rows(
                row, value, work->payload,
                work->carried + (work->start[bin] + i) * (4 + work->payload),
                entries.n);
        if (!ps_apply_entries(call, &work->ready->manner, &entries)) {
            ps_run_fail(work->run, PS_INDEX_CHANGED);
            return;
        }
    }
}

/* *unheard: bytes since the last look at signals. */
static void
apply_bin(const ps_partition *work, int64_t bin, ps_list_room *room, int64_t *unheard)
{
    const ps_ready_call *const ready = work->ready;
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t base = work->bins.low + (bin << work->bins.shift);
    const char *const rows = ps_block_values(&ready->values, work->first, 0, 0, NULL);
    for (int64_t i = work->start[bin]; i < work->start[bin + 1]; i += PS_BLOCK) {
        ps_list list = {room->offset, NULL, ps_min(PS_BLOCK, work->start[bin + 1] - i)};
        kernels->list_widen(room->offset, work->offset + i, list.n, base);
        if (is_rows(work)) {
            kernels->list_widen(room->source, (uint32_t *)work->carried + i, list.n, 0);
            list.source = room->source;
            ps_apply_list(ready, ready->call->target.data, &list, rows,
                          ready->values.stride, ready->split.width);
        }
        else {
            ps_apply_list(ready, ready->call->target.data, &list,
                          work->carried + i * work->payload, work->payload, 1);
        }
        const int64_t nbytes = ready->split.width * ready->itemsize;
        if (ps_run_stops_after(work->run, unheard, list.n * ps_max(nbytes, 16))) {
            return;
        }
    }
}

/* Bins that start in part `group` of all pairs, cut at bins: each bin belongs to one
 * group, so no two threads write the same element. */
static void
apply_group(void *context, int64_t group)
{
    ps_partition *const work = context;
    const int64_t total = work->start[work->bins.n_bins];
    const int64_t from = total * group / work->n_groups;
    const int64_t to = total * (group + 1) / work->n_groups;
    int64_t unheard = PS_LISTEN_BYTES; /* the first block asks */
    for (int64_t bin = 0; bin < work->bins.n_bins; bin++) {
        const int64_t start = work->start[bin];
        if (start >= from && start < to) {
            if (work->is_direct) {
                apply_rows(work, bin);
                ps_run_stops_after(
                        work->run, &unheard,
                        (work->start[bin + 1] - start) * (4 + work->payload));
            }
            else {
                apply_bin(work, bin, &work->rooms[group], &unheard);
            }
            if (atomic_load(&work->run->failed) != PS_OK) {
                return;
            }
        }
    }
}

/* Count, place, distribute, apply. The first byte that anybody can see is written by
 * apply, after every pair of the segment has been checked and found in its place;
 * pairs of earlier segments have been applied by then, which is why a visible target's
 * index has been checked as a whole before. */
static ps_status
run_segment(ps_partition *work)
{
    PS_TRY(ps_run_chunks(work->run, work->n_parts, count_part, work));
    place_bins(work);
    PS_TRY(ps_run_chunks(work->run, work->n_parts, distribute_part, work));
    if (!is_complete(work)) {
        return ps_fail(PS_INDEX_CHANGED);
    }
    work->run->has_written = !work->ready->call->target.is_private;
    return ps_run_chunks(work->run, work->n_groups, apply_group, work);
}

/* Segments of about equal length. */
static void
choose_parts(ps_partition *work)
{
    const int64_t n = work->ready->call->address.n;
    const int threads = (int)ps_min(ps_max(work->run->threads, 1), PS_MAX_PIECES);
    work->segment = ps_ceil_div(n, ps_ceil_div(n, SEGMENT));
    work->is_direct = work->ready->manner.is_checked_pass && !is_rows(work);
    work->n_parts = work->is_direct ? PARTS : threads;
    work->n_groups = work->is_direct ? DIRECT_GROUPS : (int64_t)GROUPS * threads;
    work->payload = is_rows(work) ? 4 : work->ready->itemsize;
    work->row_shift = work->bins.shift - (work->ready->itemsize == 8 ? 3 : 2);
}

/* All memory of all segments, in one block: cursors, stops and starts, rooms of lists,
 * what pairs carry (4 or 8 bytes), offsets or rows within a bin (4 bytes). Behind the
 * pairs there is room for one more part of a segment. */
bool
ps_open_partition(const ps_ready_call *ready, ps_bins bins, ps_partition *work)
{
    *work = (ps_partition){.run = ready->run, .ready = ready, .bins = bins};
    choose_parts(work);
    const int64_t n_rooms = work->is_direct ? 0 : work->n_groups;
    const int64_t n_pairs = work->segment + work->segment / work->n_parts + 1;
    const int64_t tables = (2 * n_cursors(work) + bins.n_bins + 1) * 8;
    const int64_t rooms = n_rooms * (int64_t)sizeof(ps_list_room);
    work->nbytes = tables + rooms + n_pairs * (4 + work->payload) + 8;
    work->block = ps_scratch_get(work->nbytes);
    if (work->block == NULL) {
        return false;
    }
    work->cursor = (int64_t *)work->block;
    work->stop = work->cursor + n_cursors(work);
    work->start = work->stop + n_cursors(work);
    work->rooms = (ps_list_room *)(work->block + tables);
    work->carried = work->block + tables + rooms;
    work->offset = (uint32_t *)(work->carried + n_pairs * work->payload);
    for (; work->n_rooms < n_rooms; work->n_rooms++) {
        if (!ps_list_room_open(&work->rooms[work->n_rooms], PS_BLOCK)) {
            return false;
        }
    }
    return true;
}

void
ps_close_partition(ps_partition *work)
{
    for (int64_t room = 0; room < work->n_rooms; room++) {
        ps_list_room_close(&work->rooms[room]);
    }
    ps_scratch_put(work->block, work->nbytes);
}

/* Segments one after the other: an element meets its values in the order of the index,
 * whichever bin and thread it belongs to. */
ps_status
ps_run_partition(ps_partition *work)
{
    const int64_t n = work->ready->call->address.n;
    for (int64_t first = 0; first < n; first += work->segment) {
        work->first = first;
        work->last = ps_min(n, first + work->segment);
        PS_TRY(run_segment(work));
    }
    return PS_SUCCESS;
}
