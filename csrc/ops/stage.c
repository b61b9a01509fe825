/* Scatter through an accumulator of its own (contract in stage.h).
 *
 * The accumulator is a private, native, contiguous array with one row for each place of
 * the target that the index can name ("dense"), or, where that would be much larger
 * than the index, for each place that it does name ("compact": places are ranked by a
 * radix sort). It is loaded from the target, worked on as any other target would be,
 * with all algorithms and threads, and stored back where something arrived. So a wide
 * accumulator is rounded once, an untouched element keeps its bits, and a strange
 * target (byte-swapped, unaligned, a field of records) is never copied whole for ten
 * updates.
 *
 *   place   a position that the index can name: linked entry axes, then indexed ones
 *   slot    a row of the accumulator: dense, the place itself; compact, its rank
 *   row     accumulators of one slot, side by side in C order of the row axes
 *
 * Nothing of the target is written before ps_store_slots, which takes no memory and
 * meets no index: all of both is behind it by then.
 */
#include "ops/stage.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/address.h"
#include "ops/direct.h"
#include "ops/finish.h"
#include "ops/group.h"
#include "ops/identity.h"
#include "ops/places.h"
#include "ops/run.h"
#include "ops/stage_slots.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Dense up to this many places per entry: below it loading all is cheaper than
     * ranking the named ones. ns an entry, dense / ranked, into 1e6 (Zen 3): add of
     * float16 with 8 places 15 / 25, with 16 28 / 26; the mean of float32 with 8 30 /
     * 33, with 12 43 / 29; compensated with 8 37 / 35. */
    DENSE_PLACES = 8
};

/* ---- which slots, and what arrives there ---- */

typedef void (*list_fn)(ps_stage *work, const ps_list *list, int64_t first);

/* Call fn with every list of places of the call, in order of the entries: source
 * number s of a list is entry first + s. The lists are checked as they are made;
 * nothing is written but what fn notes in memory of the stage. */
static ps_status
walk_places(ps_stage *work, list_fn fn)
{
    const ps_address *const address = &work->call->address;
    const int64_t n_index = ps_max(address->n_index, 1);
    ps_index *const index = ps_scratch_get(n_index * (int64_t)sizeof(ps_index));
    int64_t link[PS_MAX_DIMS];
    ps_address of_places;
    ps_list_room room;
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (index == NULL || !ps_list_room_open(&room, PS_BLOCK)) {
        ps_scratch_put(index, n_index * (int64_t)sizeof(ps_index));
        return status;
    }
    ps_address_of_places(address, &work->places, 1, &of_places, link, index);
    status = PS_SUCCESS;
    int64_t unheard = 0;
    for (int64_t first = 0; first < address->n && status.code == PS_OK;
         first += PS_BLOCK) {
        ps_list list;
        const int64_t n = ps_min(PS_BLOCK, address->n - first);
        status = ps_run_stops_after(work->run, &unheard, n * PS_LINE_BYTES)
                         ? ps_run_status(work->run)
                         : ps_address_list(&of_places, first, n, &room, &list);
        if (status.code == PS_OK) {
            fn(work, &list, first);
        }
    }
    ps_list_room_close(&room);
    ps_scratch_put(index, n_index * (int64_t)sizeof(ps_index));
    return status;
}

/* For ranking: the place of every entry; those left out keep -1. */
static void
note_keys(ps_stage *work, const ps_list *list, int64_t first)
{
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t from = list->source != NULL ? list->source[i] : i;
        work->key[first + from] = list->offset[i];
    }
}

/* key[e] = the rank of the place of entry e among those that are named, -1 for none;
 * place[slot] the other way. Both [n], taken here, given back by close_slots. */
static ps_status
rank_places(ps_stage *work)
{
    const int64_t n = work->call->address.n;
    work->key = ps_scratch_get(n * (int64_t)sizeof(int64_t));
    work->place = ps_scratch_get(n * (int64_t)sizeof(int64_t));
    if (work->key == NULL || work->place == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    /* -1: takes no part */
    PS_TRY(ps_run_fill(work->run, work->key, 0xff, n * (int64_t)sizeof(int64_t)));
    PS_TRY(walk_places(work, note_keys));
    return ps_rank_keys(work->key, n, work->places.count, work->place, &work->n_slots,
                        work->run);
}

/* arrivals[slot] = how many of the n entries have the key `slot`, for compact slots;
 * dense ones are counted as they are noted. */
static ps_status
count_arrivals(ps_stage *work)
{
    ps_stretch part = ps_stretch_of(work->run, work->call->address.n, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (work->key[i] >= 0) {
                work->arrivals[work->key[i]]++;
            }
        }
    }
    return ps_run_status(work->run);
}

/* Rows, what the target holds, arrivals or what is touched, in one block, which the
 * next call then finds as it is: pages that are mapped anew take longer than all of the
 * work (300,000 of float32 into 1e6, a mean: 110 ns each, with one block 30, Zen 3). */
static ps_status
take_block(ps_stage *work, bool is_dense, bool compares)
{
    const bool is_mean = work->call->traits.is_mean;
    const int64_t counts = is_mean ? (int64_t)sizeof(int64_t) : 0;
    const int64_t marks = is_dense && !is_mean && !compares;
    const int64_t old = compares ? work->call->target.itemsize : 0;
    const int64_t of_slot = counts + marks, word = sizeof(int64_t);
    int64_t row_nbytes, nbytes;
    if (!ps_multiply(work->row_count, work->size, &row_nbytes) ||
        __builtin_add_overflow(row_nbytes, of_slot + old, &nbytes) ||
        !ps_multiply(work->n_slots, nbytes, &nbytes) ||
        __builtin_add_overflow(nbytes, word, &work->nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    work->rows = ps_scratch_get(work->nbytes);
    if (work->rows == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const int64_t rows_nbytes = ps_ceil_div(work->n_slots * row_nbytes, word) * word;
    char *const behind = work->rows + rows_nbytes; /* arrivals are aligned */
    work->arrivals = counts > 0 ? (int64_t *)(void *)behind : NULL;
    work->touched = marks > 0 ? (uint8_t *)behind : NULL;
    work->before = compares ? behind : NULL;
    return ps_run_fill(work->run, behind, 0, work->n_slots * of_slot);
}

/* ---- the same entries on arrays beside the target ---- */

static ps_status
run_private(ps_scatter_call *call, ps_run *run)
{
    ps_direct direct;
    call->compensated = false;
    call->include_self = true;
    call->traits = ps_traits_of(call);
    ps_status status = ps_open_direct(call, PS_WAY_PRIVATE, run, &direct);
    if (status.code == PS_OK) {
        status = ps_run_direct(&direct);
    }
    ps_close_direct(&direct);
    return status;
}

/* slots[place of e] op= 1 for every entry e that takes part, of one element each. It is
 * a scatter like any other: 300,000 entries are counted in 1e6 places in 2.5 ns each,
 * by lists in 8 (Zen 3). */
static ps_status
run_ones(ps_stage *work, void *slots, enum ps_dtype type, enum ps_op op)
{
    const ps_address *const address = &work->call->address;
    const int64_t n_index = ps_max(address->n_index, 1), size = ps_dtype_size[type];
    int64_t link[PS_MAX_DIMS], still[PS_MAX_DIMS] = {0};
    int64_t count = 1;
    uint8_t mark = 1;
    ps_scatter_call ones = *work->call;
    ps_index *const index = ps_scratch_get(n_index * (int64_t)sizeof(ps_index));
    if (index == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_address_of_places(address, &work->places, size, &ones.address, link, index);
    ones.rows.ndim = 0;
    ones.values = (ps_values){.data = size == 1 ? (char *)&mark : (char *)&count,
                              .dtype = type,
                              .itemsize = size,
                              .entry_strides = still,
                              .aligned = true};
    ones.target = (ps_target){.data = slots,
                              .dtype = type,
                              .itemsize = size,
                              .aligned = true,
                              .is_private = true};
    ones.op = op;
    ones.accumulator = type;
    const ps_status status = run_private(&ones, work->run);
    ps_scratch_put(index, n_index * (int64_t)sizeof(ps_index));
    return status;
}

/* All memory of the stage, and which slots are touched. Nothing visible is written.
 * Dense as long as loading every place is cheaper than ranking the named ones. Where
 * the old values take part, what has changed is what is written, and nothing needs
 * marks. */
static ps_status
open_slots(ps_stage *work)
{
    const ps_scatter_call *const call = work->call;
    const bool is_dense = work->places.count <= DENSE_PLACES * call->address.n + 64;
    work->n_slots = work->places.count;
    if (!is_dense) {
        PS_TRY(rank_places(work));
    }
    const bool compares = is_dense && ps_slots_compare(work);
    PS_TRY(take_block(work, is_dense, compares));
    if (work->touched != NULL) {
        return run_ones(work, work->touched, PS_u8, PS_set);
    }
    if (work->arrivals != NULL) {
        return is_dense ? run_ones(work, work->arrivals, PS_i64, PS_add)
                        : count_arrivals(work);
    }
    return PS_SUCCESS;
}

/* Whatever has been taken; sizes are those by which it was. */
static void
close_slots(ps_stage *work)
{
    const int64_t words = work->call->address.n * (int64_t)sizeof(int64_t);
    ps_scratch_put(work->rows, work->nbytes);
    ps_scratch_put(work->place, words);
    ps_scratch_put(work->key, words);
}

/* ---- the call on the accumulator ---- */

/* Keys in the place of the call's own indices; those left out are -1. */
static void
address_keys(const ps_stage *work, ps_index *index, int64_t *strides,
             ps_address *address)
{
    int64_t stride = sizeof(int64_t);
    for (int i = address->ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= address->shape[i];
    }
    *index = (ps_index){.data = (char *)work->key,
                        .strides = strides,
                        .type = PS_INDEX_i64,
                        .size = work->n_slots,
                        .step = work->row_count * work->size};
    address->n_index = 1;
    address->index = index;
    address->mask = NULL;
    address->plan = NULL;
    address->flat_ndim = 0;
    address->mode = PS_MODE_DROP;
}

/* row[slot of e] = row[slot of e] op value[e]: the call as it came, but for a target
 * and indices of our own, by all algorithms and threads. Compact slots are an index of
 * keys of which -1 is dropped; dense ones the old index with other steps. The arrays
 * of row axes are copied, since running merges them. */
static ps_status
run_on_rows(ps_stage *work)
{
    const ps_scatter_call *const call = work->call;
    const ps_address *const address = &call->address;
    const int64_t nbytes = work->row_count * work->size;
    ps_scatter_call staged = *call;
    int64_t link[PS_MAX_DIMS] = {0}, row_shape[PS_MAX_DIMS], row_strides[PS_MAX_DIMS],
            value_strides[PS_MAX_DIMS], key_strides[PS_MAX_DIMS];
    const int64_t n_index = ps_max(address->n_index, 1);
    ps_index *const index = ps_scratch_get(n_index * (int64_t)sizeof(ps_index));
    if (index == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    if (work->key == NULL) {
        ps_address_of_places(address, &work->places, nbytes, &staged.address, link,
                             index);
    }
    else {
        address_keys(work, index, key_strides, &staged.address);
        staged.address.link = link;
    }
    int64_t stride = work->size;
    for (int i = call->rows.ndim - 1; i >= 0; i--) {
        row_shape[i] = call->rows.shape[i];
        value_strides[i] = call->rows.value_strides[i];
        row_strides[i] = stride;
        stride *= row_shape[i];
    }
    staged.rows = (ps_rows){call->rows.ndim, row_shape, row_strides, value_strides};
    staged.target = (ps_target){.data = work->rows,
                                .dtype = work->type,
                                .itemsize = work->size,
                                .aligned = true,
                                .is_private = true};
    staged.op = call->traits.applied;
    staged.accumulator = work->type;
    const ps_status status = run_private(&staged, work->run);
    ps_scratch_put(index, n_index * (int64_t)sizeof(ps_index));
    return status;
}

/* Complex sums are compensated part by part: one more row axis of two real numbers.
 * There is room for it, since axes of length 1 go: 63 longer ones have more elements
 * than 64 bits count. */
static void
view_as_parts(ps_scatter_call *call, int64_t *shape, int64_t *target_strides,
              int64_t *value_strides)
{
    const ps_rows *const rows = &call->rows;
    int ndim = 0;
    for (int i = 0; i < rows->ndim; i++) {
        if (rows->shape[i] != 1) {
            shape[ndim] = rows->shape[i];
            target_strides[ndim] = rows->target_strides[i];
            value_strides[ndim++] = rows->value_strides[i];
        }
    }
    call->target.itemsize /= 2;
    call->values.itemsize /= 2;
    shape[ndim] = 2;
    target_strides[ndim] = call->target.itemsize;
    value_strides[ndim] = call->values.itemsize;
    call->rows = (ps_rows){ndim + 1, shape, target_strides, value_strides};
    call->target.dtype = call->target.dtype == PS_c64 ? PS_f32 : PS_f64;
    call->values.dtype = call->values.dtype == PS_c64 ? PS_f32 : PS_f64;
    call->accumulator = call->accumulator == PS_c64 ? PS_f32 : PS_f64;
}

/* The order matters: everything that can fail comes before the first visible byte. */
static ps_status
run_slots(ps_stage *work)
{
    PS_TRY(ps_find_places(&work->call->address, &work->places));
    PS_TRY(open_slots(work));
    PS_TRY(ps_load_slots(work));
    PS_TRY(run_on_rows(work));
    work->run->has_written = !work->call->target.is_private;
    return ps_store_slots(work);
}

/* Complex sums that are compensated become pairs of real ones first, since what is
 * lost is lost part by part. */
ps_status
ps_run_stage(const ps_scatter_call *call, ps_run *run)
{
    int64_t shape[PS_MAX_DIMS], target_strides[PS_MAX_DIMS], value_strides[PS_MAX_DIMS];
    ps_scatter_call parts = *call;
    const bool is_float = ps_dtype_kind[call->accumulator] == PS_KIND_FLOAT ||
                          ps_dtype_kind[call->accumulator] == PS_KIND_COMPLEX;
    const bool is_compensated = call->compensated && is_float;
    if (is_compensated && ps_dtype_kind[call->target.dtype] == PS_KIND_COMPLEX) {
        view_as_parts(&parts, shape, target_strides, value_strides);
    }
    ps_stage work = {.call = &parts, .run = run, .type = parts.accumulator};
    if (is_compensated) {
        work.type = parts.accumulator == PS_f32 ? PS_k32 : PS_k64;
    }
    work.size = ps_dtype_size[work.type];
    if (!ps_count(parts.rows.ndim, parts.rows.shape, &work.row_count)) {
        return ps_fail(PS_TOO_LARGE);
    }
    const ps_status status = run_slots(&work);
    close_slots(&work);
    return status;
}
