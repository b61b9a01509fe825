/* The choice for a pass (contract in choose.h): sizes first, then a sample of the
 * index.
 *
 * The sample (sample.h) tells how often an offset repeats at once (register
 * accumulation), whether neighbours lie near each other (nothing to ask for ahead),
 * where to cut the target so that owners get equal work, and whether one row takes so
 * much that cutting by rows is useless (column split).
 * Figures: two cores each of AMD EPYC Zen 4 and Zen 5, gcc 12 (docs/design/scatter.md).
 */
#include "ops/choose.h"

#include <stddef.h>

#include "base/sizes.h"
#include "ops/plan.h"
#include "ops/run.h"
#include "ops/sample.h"

enum {
    /* Below this a sample costs more than any choice can win. */
    LOOK_FROM = 4096,
    /* Bytes of index, values and target that one thread moves in about 30 us, the cost
     * of waking another. */
    PARALLEL_BYTES = 1 << 20,
    /* A target up to this stays in the second-level cache: nothing to fetch ahead. */
    NEAR_BYTES = 1 << 20,
    /* The same for rows, which share it with their values: ns a row of 16 float32,
     * 20,000 of them into 320 / 640 KB, asked for / not: 8.6 / 11, 10 / 15 (Zen 3);
     * 200,000, whose values come from memory, take the same either way. */
    NEAR_ROWS_BYTES = 1 << 18,
    /* A target up to this stays in the last-level cache that one guest really has (8 to
     * 10 MiB of the 32 shown). */
    CACHED_BYTES = 8 << 20,
    /* Pairs ahead at which rows are asked for: 4 is too late on Zen 4, 16 no better. */
    AHEAD = 8,
    /* The same for rows of up to SHORT_ROW bytes, which are done sooner: 1.17e6 rows of
     * one line into 170,000 take 17.8 ms with 8, 14.1 with 16 (Zen 1). */
    SHORT_AHEAD = 16,
    SHORT_ROW = 128,
    /* The same for rows of one line and less: ns a row of 16 float32, 16 / 24 / 32 / 48
     * ahead, 1.17e6 by a power law into 170,000 11.4 / 10.4 / 9.6 / 9.4, 200,000 into
     * 10,000 6.5 / 6.4 / 6.5 / 7.1 (Zen 3). */
    LINE_AHEAD = 32,
    /* The same for moves of single elements, which wait in the store buffer for lines
     * that no load asks for: 7e6 into 121,801 float64 9.3 ms with, 12.3 without; into
     * 1,000 0.59 with, 0.48 without (Zen 4). */
    SET_NEAR_BYTES = 64 << 10,
    SET_AHEAD = 32,
    /* Entries ahead at which elements are asked for, in targets beyond NEAR_BYTES and
     * beyond four times as much, unless neighbours in the index are near each other,
     * where it costs 0.3 of the time. */
    ELEMENT_AHEAD = 32,
    ELEMENT_FAR_AHEAD = 64,
    /* Bytes of target per bin of a partition: half of a second-level cache for
     * elements, so that a bin is worked on inside it. */
    BIN_BYTES = 1 << 19,
    /* The same without lists, whose bins are brought near before they are met, and
     * where FEW_BINS of these are too few: ns an entry by two threads (Zen 3), in bins
     * of 2^17 / 2^18 bytes: 1e7 float32 into 1e7, 306 of the smaller bins, 4.8 / 5.3;
     * 3e6 float64 into 3e6, 184 of them, 4.8 / 6.0; 1e7 float64 into 1e7, 611 of them,
     * whose streams are more than a first cache has lines, 6.8 / 6.1. */
    DIRECT_BIN_BYTES = 1 << 17,
    MANY_BIN_BYTES = 1 << 18,
    FEW_BINS = 512,
    MAX_BINS = 1024,
    /* Bytes of a row from which threads share its columns, and from which they share
     * rows at all (measured above choose_for_rows). */
    WIDE_ROW = 2048,
    SHARED_ROW = 192,
    /* With a plan, bytes of a row from which several threads take group by group, which
     * they can share without owners, in a target that is not cached. One thread would
     * only read the values at random instead of the target, so it does where the
     * entries are in order. ns a row of float32, power law, on one thread (Zen 3),
     * straight / grouped: 600,000 rows of 16 into 170,000: 14 / 19, 300,000 of 32 into
     * 170,000: 18 / 35, 300,000 of 64 into 60,000: 40 / 53, 150,000 of 128 into 60,000:
     * 63 / 81. */
    GROUPED_ROW = 64,
    /* Parts that each thread has of the groups of a plan. */
    PARTS = 4,
    /* Bytes of a row per thread from which columns are worth sharing. */
    LINES_TO_SHARE = 128,
    /* Of 8 neighbours, how many at least name the row before them where it pays to keep
     * a row of one line in registers: ns a row of 16 float32, kept / stored, in runs of
     * about 7: 4.4 / 4.2, of 20: 3.8 / 4.5, of one: 2.6 / 4.4 (Zen 3). */
    RUNS_OF_ROWS = 7,
    /* The same of 4 for wider rows, which are kept group by group; and entries that the
     * rows of a plan in order have on the average where it takes groups: time of
     * straight over time of groups, in runs of 4 / 7 / 20 rows of 64 float32 1.11
     * / 1.28 / 1.2, of 128 float32 0.98 / 1.15 / 1.14 (Zen 3). */
    RUNS_OF_WIDE_ROWS = 3,
    RUN_OF_A_PLAN = 5,
    /* Without a plan only of values up to this, which are in a cache: those from memory
     * are all that such a call waits for. Straight over groups, 400,000 rows in runs of
     * 4 / 7 / 20 / 100, of 64 float32 0.94 / 0.92 / 0.93 / 0.94, of 128 float32 0.84 /
     * 0.90 / 0.97 / 1.02, of 100 float64 0.98 / 0.83 / 0.83 / 0.86 (Zen 3). */
    RUNS_NEAR_BYTES = 3 << 20,
    /* Of 7 entries of a sample, how many at least name the element before them where it
     * pays to keep the running value, since the end of a run is mispredicted: ns an
     * entry of 1e6 float64, kept / stored, in runs of 5: 2.7 / 1.5, of 10: 1.9 / 1.6,
     * of 20: 1.6 / 2.2, of 50: 1.4 / 2.8 (Zen 3). */
    RUNS_OF_ELEMENTS = 6,
    /* Partitioning costs about 2 ns a pair: it wants a long index. */
    PARTITION_FROM = 1 << 19
};

#define ALGORITHM_NAME(name) [PS_ALGORITHM_##name] = #name,
static const char *const algorithm_names[PS_NUM_ALGORITHMS] = {
        PS_FOR_EACH_ALGORITHM(ALGORITHM_NAME)};

const char *
ps_algorithm_name(enum ps_algorithm algorithm)
{
    return algorithm_names[algorithm];
}

/* Bytes from the lowest to the highest element that the index can name. */
static int64_t
target_span(const ps_ready_call *ready, int64_t *lowest)
{
    const ps_address *const address = &ready->call->address;
    int64_t low = 0, high = ready->split.width * ready->itemsize;
    for (int i = 0; i < address->flat_ndim; i++) {
        const int64_t reach = (address->flat_shape[i] - 1) * address->flat_strides[i];
        *(reach < 0 ? &low : &high) += reach;
    }
    for (int m = 0; m < address->n_index && address->flat_ndim == 0; m++) {
        const int64_t reach = (address->index[m].size - 1) * address->index[m].step;
        *(reach < 0 ? &low : &high) += reach;
    }
    for (int i = 0; i < address->ndim; i++) {
        const int64_t reach = (address->shape[i] - 1) * address->link[i];
        *(reach < 0 ? &low : &high) += reach;
    }
    *lowest = low;
    return high - low;
}

/* ---- algorithms and their pieces ---- */

/* One thread, all of it. */
static void
choose_straight(const ps_ready_call *ready, ps_choice *choice)
{
    choice->algorithm = PS_ALGORITHM_straight;
    choice->n_pieces = 1;
    choice->pieces[0] = ps_whole_piece(ready);
}

/* Owners by quantiles of the sample, so that each has about the same number of pairs.
 */
static void
choose_owners(const ps_ready_call *ready, const ps_sample *seen, int threads,
              ps_choice *choice)
{
    choice->algorithm = PS_ALGORITHM_owners;
    choice->n_pieces = 0;
    int64_t low = INT64_MIN / 2;
    for (int k = 1; k <= threads; k++) {
        const int64_t high =
                k == threads ? INT64_MAX / 2 : seen->offset[seen->n * k / threads];
        if (high <= low) {
            continue;
        }
        ps_piece piece = ps_whole_piece(ready);
        piece.filters = true;
        piece.low = low;
        piece.high = high;
        choice->pieces[choice->n_pieces++] = piece;
        low = high;
    }
}

/* Columns in multiples of a cache line, so that no two threads share one. */
static void
choose_columns(const ps_ready_call *ready, int threads, ps_choice *choice)
{
    const int64_t line = ps_max(1, 64 / ready->itemsize);
    const int64_t width = ready->split.width;
    const int64_t part = ps_ceil_div(ps_ceil_div(width, threads), line) * line;
    choice->algorithm = PS_ALGORITHM_columns;
    choice->n_pieces = 0;
    for (int64_t column = 0; column < width; column += part) {
        ps_piece piece = ps_whole_piece(ready);
        piece.column = column;
        piece.width = ps_min(part, width - column);
        choice->pieces[choice->n_pieces++] = piece;
    }
}

/* Outer rows, or entries of batches that are disjoint in the target. */
static bool
choose_ranges(const ps_ready_call *ready, int threads, ps_choice *choice)
{
    const ps_address *const address = &ready->call->address;
    const bool has_batches = address->ndim > 1 && address->link[0] != 0;
    const int64_t outer = ready->split.outer_count;
    const int64_t count = has_batches ? address->shape[0] : outer;
    if (count < threads) {
        return false;
    }
    const int64_t per_batch = has_batches ? address->n / count : 0;
    choice->algorithm = PS_ALGORITHM_straight;
    choice->n_pieces = threads;
    for (int k = 0; k < threads; k++) {
        ps_piece piece = ps_whole_piece(ready);
        const int64_t from = count * k / threads, to = count * (k + 1) / threads;
        if (has_batches) {
            piece.first = from * per_batch;
            piece.last = to * per_batch;
        }
        else {
            piece.outer_first = from;
            piece.outer_last = to;
        }
        choice->pieces[k] = piece;
    }
    return true;
}

/* Bins of 2^shift bytes over the span of the target. */
static bool
choose_bins(const ps_ready_call *ready, ps_choice *choice)
{
    int64_t low;
    const int64_t span = target_span(ready, &low);
    int shift = 10;
    const bool is_direct = choice->manner.is_checked_pass && ready->split.width == 1;
    const int64_t least = !is_direct                           ? BIN_BYTES
                          : span / DIRECT_BIN_BYTES < FEW_BINS ? DIRECT_BIN_BYTES
                                                               : MANY_BIN_BYTES;
    while (((int64_t)1 << shift) < least || (span >> shift) >= MAX_BINS) {
        shift++;
    }
    choice->bins = (ps_bins){low, shift, (span >> shift) + 1};
    return shift <= 32;
}

/* May the call be partitioned at all? Values or source numbers have to be carried. */
static bool
can_partition(const ps_ready_call *ready)
{
    const ps_scatter_call *const call = ready->call;
    return ready->split.outer_count == 1 && call->op != PS_first &&
           !ready->values.packs && ready->values.stride != 0 && call->address.n > 1 &&
           call->address.n < INT32_MAX &&
           (ready->split.width > 1 || ready->itemsize == 4 || ready->itemsize == 8);
}

static void
choose_partition(const ps_ready_call *ready, ps_choice *choice)
{
    if (choose_bins(ready, choice)) {
        choice->algorithm = PS_ALGORITHM_partition;
        choice->n_pieces = 0;
    }
}

/* ---- with a plan ---- */

/* Can kernels take the entries group by group? Rows that are reduced, whose values lie
 * as they are needed. */
static bool
can_group(const ps_ready_call *ready)
{
    const ps_plan *const plan = ready->call->address.plan;
    return plan != NULL && !plan->is_wide && plan->n_kept > 0 &&
           ready->call->op < PS_NUM_REDUCTIONS && ready->split.width > 1 &&
           !ready->values.packs;
}

/* Pieces that were cut by columns or outer rows, or not at all, take whole groups. */
static void
use_groups(const ps_ready_call *ready, ps_choice *choice)
{
    choice->manner.is_grouped = true;
    choice->algorithm = PS_ALGORITHM_grouped;
    for (int k = 0; k < choice->n_pieces; k++) {
        choice->pieces[k].first = 0;
        choice->pieces[k].last = ready->call->address.plan->n_kept;
    }
}

/* Cut positions between groups, into parts of about equal work: several for each
 * thread, so that one with a busy neighbour holds up the others by a part of its share.
 */
static void
choose_stretches(const ps_ready_call *ready, int threads, ps_choice *choice)
{
    const ps_plan *const plan = ready->call->address.plan;
    const int64_t parts =
            threads > 1 ? ps_min(PARTS * (int64_t)threads, PS_MAX_PIECES) : 1;
    const int64_t part = plan->n_kept / parts;
    choice->n_pieces = 0;
    for (int64_t k = 0; k < parts; k++) {
        ps_piece piece = ps_whole_piece(ready);
        piece.first = ps_plan_cut(plan, part * k);
        piece.last = k + 1 < parts ? ps_plan_cut(plan, part * (k + 1)) : plan->n_kept;
        if (piece.first < piece.last) {
            choice->pieces[choice->n_pieces++] = piece;
        }
    }
}

/* Threads share groups; or columns, where one row takes more than a thread's part. */
static void
choose_groups(const ps_ready_call *ready, int threads, ps_choice *choice)
{
    const ps_plan *const plan = ready->call->address.plan;
    const int64_t row_nbytes = ready->split.width * ready->itemsize;
    const bool is_hot = plan->largest > plan->n_kept / threads / 4 * 5;
    if (threads > 1 && choose_ranges(ready, threads, choice)) {
        use_groups(ready, choice);
    }
    else if (threads > 1 && is_hot && row_nbytes >= LINES_TO_SHARE * threads) {
        choose_columns(ready, threads, choice);
        use_groups(ready, choice);
    }
    else {
        use_groups(ready, choice);
        choose_stretches(ready, threads, choice);
    }
}

/* Do groups pay? In order, where they are long; else by the figures above GROUPED_ROW.
 */
static bool
pays_to_group(const ps_ready_call *ready, int64_t span, int threads)
{
    const ps_plan *const plan = ready->call->address.plan;
    if (plan->order == NULL) {
        return plan->n_kept / RUN_OF_A_PLAN >= plan->n_named;
    }
    return threads > 1 && span > CACHED_BYTES &&
           ready->split.width * ready->itemsize >= GROUPED_ROW;
}

/* With a plan: group by group where that is faster. Where it is not, but the entries
 * are in order, threads share these. False: as without a plan. */
static bool
choose_for_plan(const ps_ready_call *ready, int64_t span, int threads,
                ps_choice *choice)
{
    const ps_plan *const plan = ready->call->address.plan;
    const bool is_in_order = plan->order == NULL;
    if (can_group(ready) && pays_to_group(ready, span, threads)) {
        choose_groups(ready, threads, choice);
        return true;
    }
    if (threads == 1 || !is_in_order || ready->split.outer_count > 1) {
        return false;
    }
    choose_stretches(ready, threads, choice);
    choice->manner.uses_runs = plan->n_named < plan->n_kept / 4;
    return true;
}

/* What a test asked for, where it applies. */
static void
choose_forced(const ps_ready_call *ready, enum ps_algorithm forced, int threads,
              ps_choice *choice)
{
    ps_sample seen;
    switch (forced) {
        case PS_ALGORITHM_runs:
            choice->manner.uses_runs = true;
            return;
        case PS_ALGORITHM_columns:
            if (ready->split.width > 1) {
                choose_columns(ready, threads, choice);
            }
            return;
        case PS_ALGORITHM_owners:
            if (ready->call->address.n >= PS_SAMPLE_FROM &&
                ps_look(&ready->call->address, &seen)) {
                choose_owners(ready, &seen, threads, choice);
            }
            return;
        case PS_ALGORITHM_partition:
            if (can_partition(ready)) {
                choose_partition(ready, choice);
            }
            return;
        case PS_ALGORITHM_grouped:
            if (can_group(ready)) {
                choose_groups(ready, threads, choice);
            }
            return;
        default:
            return;
    }
}

/* Several threads, rows of several elements. ns a row of float32 on two Zen 5 cores,
 * one thread / owners / partition: 170,000 rows of 16: 3.8 / 5.9 / 8.5; of 64: 18 / 19
 * / 15; of 128: 29 / 29 / 22; 20,000 rows of 64: 12 / 14 / 14. One core's stream of
 * short rows, or into a cached target, is what memory gives. */
static void
choose_for_rows(const ps_ready_call *ready, ps_sample *seen, int64_t span, int threads,
                ps_choice *choice)
{
    const int64_t row_nbytes = ready->split.width * ready->itemsize;
    ps_summarise(seen);
    const bool is_hot = seen->hottest * 2 > seen->n;
    if (row_nbytes >= WIDE_ROW * threads && (is_hot || span <= CACHED_BYTES)) {
        choose_columns(ready, threads, choice);
    }
    else if (is_hot || span <= CACHED_BYTES || row_nbytes < SHARED_ROW) {
        return;
    }
    else if (can_partition(ready) && seen->repeats * 2 <= seen->n) {
        choose_partition(ready, choice);
    }
    else {
        choose_owners(ready, seen, threads, choice);
    }
}

/* Several threads, one element per pair. ns an element, one thread / owners /
 * partition: 1e6 float64 into 1e3: 0.40 / 0.68 / 2; into 1e6: 1.05 / 1.06 / 2.1, but
 * 1.2 / 3.3 / 3 beside a busy neighbour; 1e7 float64 into 1e7: 4.6 / 5.1 / 3.7. */
static void
choose_for_elements(const ps_ready_call *ready, ps_sample *seen, int64_t span,
                    int threads, ps_choice *choice)
{
    const int64_t n = ready->call->address.n;
    const bool is_dense = n >= span / ready->itemsize / 4;
    if (span <= CACHED_BYTES) {
        return;
    }
    if (is_dense && n >= PARTITION_FROM && can_partition(ready) &&
        !choice->manner.uses_runs && seen->near * 2 <= seen->n) {
        choose_partition(ready, choice);
        return;
    }
    ps_summarise(seen);
    if (seen->hottest * 2 <= seen->n) {
        choose_owners(ready, seen, threads, choice);
    }
}

/* May rows be taken straight from the caller's index? An int64 one, which a kernel
 * reads as it reads a list: 6,000 rows of 16 float32 into 300 take 1.6 ns each, by
 * lists 1.9 (Zen 3). Rows that are moved as items have kernels of lists alone. */
static bool
takes_rows(const ps_ready_call *ready)
{
    const ps_index *const index = &ready->call->address.index[0];
    const int64_t nbytes = ready->split.width * ready->itemsize;
    return index->type == PS_INDEX_i64 && index->size > 0 &&
           (uintptr_t)index->data % sizeof(int64_t) == 0 &&
           (!ready->call->traits.is_move || ps_size_of(nbytes) < 0);
}

/* May the pass be straight from the caller's index, checked as it is used? The target
 * is private, or its index has been checked: in a visible one, the pass finds nothing
 * but what another thread changed. Moves count negatives from the end, which ids of
 * segments do not. */
static bool
is_checked_pass(const ps_ready_call *ready, enum ps_way way)
{
    const ps_scatter_call *const call = ready->call;
    const ps_address *const address = &call->address;
    const bool is_set = call->op == PS_set && call->address.mode == PS_MODE_RAISE &&
                        call->spans == NULL;
    if (way == PS_WAY_LIST || ready->split.outer_count > 1 ||
        (call->op >= PS_NUM_REDUCTIONS && !is_set)) {
        return false;
    }
    if (ready->split.width > 1) {
        return ps_address_is_direct(address) && ps_mode_refuses(address->mode) &&
               takes_rows(ready);
    }
    return (!is_set || ps_size_of(ready->itemsize) >= 0) &&
           ps_address_is_plain(address, ready->itemsize);
}

/* Pairs ahead at which rows or elements of a target of `span` bytes are asked for. */
static int64_t
look_ahead(const ps_ready_call *ready, int64_t span)
{
    if (ready->call->op == PS_set && ready->split.width == 1) {
        return span > SET_NEAR_BYTES ? SET_AHEAD : 0;
    }
    if (span <= (ready->split.width > 1 ? NEAR_ROWS_BYTES : NEAR_BYTES)) {
        return 0;
    }
    if (ready->split.width == 1) {
        return span <= 4 * NEAR_BYTES ? ELEMENT_AHEAD : ELEMENT_FAR_AHEAD;
    }
    const int64_t row_nbytes = ready->split.width * ready->itemsize;
    return row_nbytes <= PS_LINE_BYTES ? LINE_AHEAD
           : row_nbytes <= SHORT_ROW   ? SHORT_AHEAD
                                       : AHEAD;
}

/* Are the values of all rows near when they are met? */
static bool
has_near_values(const ps_ready_call *ready)
{
    const int64_t row_nbytes = ready->split.width * ready->itemsize;
    return ready->call->address.n <= RUNS_NEAR_BYTES / ps_max(1, row_nbytes);
}

/* Do numbers repeat so often that to keep what they name in registers pays? */
static bool
repeats_enough(const ps_ready_call *ready, const ps_sample *seen)
{
    if (ready->split.width == 1) {
        return seen->repeats * 7 > seen->n * RUNS_OF_ELEMENTS;
    }
    return ready->split.width * ready->itemsize > PS_LINE_BYTES
                   ? seen->repeats * 4 > seen->n * RUNS_OF_WIDE_ROWS &&
                             has_near_values(ready)
                   : seen->repeats * 8 > seen->n * RUNS_OF_ROWS;
}

/* Sizes first: many calls are not worth a look at their index. */
static void
choose_by_sizes(const ps_ready_call *ready, int64_t span, ps_choice *choice)
{
    const ps_address *const address = &ready->call->address;
    const int threads = (int)ps_min(ready->run->threads, PS_MAX_PIECES);
    const int64_t row_nbytes = ready->split.width * ready->itemsize;
    const int64_t moved = address->n * ready->split.outer_count * (16 + row_nbytes);
    const bool is_parallel = threads > 1 && moved >= PARALLEL_BYTES;
    ps_sample seen;
    if (address->plan != NULL &&
        choose_for_plan(ready, span, is_parallel ? threads : 1, choice)) {
        return;
    }
    if (address->n < LOOK_FROM && ready->split.outer_count == 1 &&
        address->n * row_nbytes < PARALLEL_BYTES) {
        return;
    }
    if (is_parallel && choose_ranges(ready, threads, choice)) {
        return;
    }
    if (address->n < LOOK_FROM || !ps_look(address, &seen)) {
        return;
    }
    choice->manner.uses_runs = repeats_enough(ready, &seen);
    if (seen.near * 2 > seen.n &&
        (ready->split.width > 1 || ready->call->op != PS_set)) {
        choice->manner.ahead = 0;
    }
    if (is_parallel && ready->split.width > 1) {
        choose_for_rows(ready, &seen, span, threads, choice);
    }
    else if (is_parallel) {
        choose_for_elements(ready, &seen, span, threads, choice);
    }
}

/* May the kernel turn values of float32 into float64 itself? One that is reduced
 * straight from the index, by groups. ns an entry of 1e6 added into 1,000, in the
 * kernel / packed a block at a time: 0.59 / 0.84 (Zen 3). */
static bool
can_widen(const ps_ready_call *ready, const ps_choice *choice)
{
    const ps_scatter_call *const call = ready->call;
    const ps_values *const values = &call->values;
    return choice->algorithm == PS_ALGORITHM_straight &&
           choice->manner.is_checked_pass && !choice->manner.uses_runs &&
           ready->split.width == 1 && !call->traits.is_move &&
           call->traits.type == PS_f64 && values->dtype == PS_f32 && !values->swapped &&
           values->aligned && values->offset == NULL && values->weights == NULL &&
           values->entry_strides[0] == ps_dtype_size[PS_f32];
}

void
ps_choose(const ps_ready_call *ready, enum ps_way way, ps_choice *choice)
{
    const int threads = (int)ps_min(ready->run->threads, PS_MAX_PIECES);
    const enum ps_algorithm forced = (enum ps_algorithm)ps_forced_choice();
    int64_t low;
    const int64_t span = target_span(ready, &low);
    choose_straight(ready, choice);
    choice->manner = (ps_manner){.is_one_list = way == PS_WAY_LIST,
                                 .is_checked_pass = is_checked_pass(ready, way),
                                 .ahead = look_ahead(ready, span)};
    if (way == PS_WAY_LIST) {
        return;
    }
    if (forced == PS_ALGORITHM_automatic) {
        choose_by_sizes(ready, span, choice);
    }
    else {
        choose_forced(ready, forced, threads, choice);
    }
    choice->manner.widens = can_widen(ready, choice);
}
