/* The scatter op: what a call goes through from checked arguments to changed memory.
 *
 *   check    every index, before the first byte that the caller can see is written;
 *            skipped where nobody can see it (a fresh result) and where the whole index
 *            fits into one list, which is complete before it is applied
 *   prefill  destinations whose old value takes no part get the op's identity
 *   stage    wide accumulators, means and strange targets work in rows of their own
 *   copied   small targets that meet many values: what has changed is written back
 *   direct   everything else: choose.c splits the work into pieces, one for a thread
 *
 * Order: an element meets its values in C order of the index, from left to right, on
 * top of what it holds; pieces and algorithms cannot change that, so neither can the
 * number of threads (docs/design/scatter.md).
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/copied.h"
#include "ops/direct.h"
#include "ops/identity.h"
#include "ops/joined.h"
#include "ops/run.h"
#include "ops/stage.h"
#include "ops/strided.h"

enum {
    /* What a look at values packs at a time. */
    LOOK_BYTES = 256 << 10
};

/* A call that sets every named destination to the op's identity, and the arrays that it
 * needs beside those of the call itself. */
typedef struct {
    ps_scatter_call call;
    _Alignas(16) char identity[16];
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], zeros[PS_MAX_DIMS];
} prefill;

/* The prefill of a call: set, of one identity for all entries, with strides of 0.
 * Traits are found anew, since a move has others. */
static void
make_prefill(const ps_scatter_call *call, prefill *fill)
{
    const size_t nbytes = (size_t)call->rows.ndim * sizeof(int64_t);
    ps_write_identity(call->op, call->target.dtype, fill->identity);
    memcpy(fill->shape, call->rows.shape, nbytes);
    memcpy(fill->strides, call->rows.target_strides, nbytes);
    memset(fill->zeros, 0, sizeof(fill->zeros));
    fill->call = *call;
    fill->call.rows =
            (ps_rows){call->rows.ndim, fill->shape, fill->strides, fill->zeros};
    fill->call.op = PS_set;
    fill->call.values = (ps_values){.data = fill->identity,
                                    .dtype = call->target.dtype,
                                    .itemsize = call->target.itemsize,
                                    .entry_strides = fill->zeros,
                                    .aligned = true};
    fill->call.traits = ps_traits_of(&fill->call);
}

/* One pass; with `fill`, a prefill before it. All memory is taken before either, so
 * that a lack of it leaves the target alone. */
static ps_status
run_passes(ps_scatter_call *call, ps_scatter_call *fill, enum ps_way way, ps_run *run)
{
    ps_direct main_pass, fill_pass;
    ps_status status = PS_SUCCESS;
    if (fill != NULL) {
        status = ps_open_direct(fill, way, run, &fill_pass);
    }
    if (status.code == PS_OK) {
        status = ps_open_direct(call, way, run, &main_pass);
        if (status.code == PS_OK && fill != NULL) {
            status = ps_run_direct(&fill_pass);
        }
        if (status.code == PS_OK) {
            status = ps_run_direct(&main_pass);
        }
        ps_close_direct(&main_pass);
    }
    if (fill != NULL) {
        ps_close_direct(&fill_pass);
    }
    return status;
}

/* Stage, prefill, direct: whatever the traits ask for. */
static ps_status
run_steps(ps_scatter_call *call, enum ps_way way, ps_run *run)
{
    if (call->traits.needs_stage) {
        return ps_run_stage(call, run);
    }
    if (!call->traits.needs_prefill) {
        return run_passes(call, NULL, way, run);
    }
    prefill fill;
    make_prefill(call, &fill);
    return run_passes(call, &fill.call, way, run);
}

/* target[offset[i]] = target[offset[i]] op values[i]: one list on the stack, one
 * kernel call. The list is complete, and so checked, before it is applied. What is set
 * is moved by the size of an item, what is reduced combined by its type. */
static ps_status
run_few(const ps_scatter_call *call)
{
    const ps_address *const address = &call->address;
    const int64_t stride = ps_inner_stride(address->ndim, call->values.entry_strides);
    ps_list_room room;
    ps_list list;
    ps_list_room_open(&room, address->n);
    PS_TRY(ps_address_list(address, 0, address->n, &room, &list));
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_target *const target = &call->target;
    if (call->op == PS_set) {
        kernels->set[ps_size_of(target->itemsize)](target->data, &list,
                                                   call->values.data, stride);
    }
    else {
        kernels->scatter[call->op][target->dtype](target->data, &list,
                                                  call->values.data, stride);
    }
    return PS_SUCCESS;
}

/* Few entries, or a short index that a kernel reads as it lies: then one scan and one
 * kernel call; what the scan stops at, ps_address_check tells. */
static ps_status
run_short(const ps_scatter_call *call, ps_run *run)
{
    const ps_address *const address = &call->address;
    const ps_index *const index = &address->index[0];
    if (address->n <= PS_FEW_ENTRIES) {
        return run_few(call);
    }
    if (ps_kernels()->scan[index->type](index->data, address->n, index->strides[0],
                                        index->size) >= 0) {
        return ps_address_find_bad(address, run);
    }
    const ps_manner manner = {.uses_runs = false};
    const ps_entries entries =
            ps_plain_entries(call, &manner, 0, address->n, call->values.data,
                             call->values.entry_strides[0]);
    return ps_apply_entries(call, &manner, &entries) ? PS_SUCCESS
                                                     : ps_fail(PS_INDEX_CHANGED);
}

/* By way of one index instead of a tuple of them. It is checked as it is made, and then
 * beyond the reach of others: no pass over it finds it bad. */
static ps_status
run_joined(const ps_scatter_call *call, ps_run *run)
{
    /* Kernels of rows read int64, of elements less; places of rows are any bytes apart.
     */
    const bool is_of_rows = call->rows.ndim > 0;
    const int64_t step =
            is_of_rows ? ps_common_step(&call->address) : call->target.itemsize;
    ps_joined joined;
    ps_scatter_call by_one = *call;
    ps_status status = ps_join(&call->address, step, is_of_rows, run, &joined);
    if (status.code == PS_OK) {
        by_one.address = ps_joined_address(&call->address, &joined);
        status = run_steps(&by_one, PS_WAY_JOINED, run);
    }
    ps_close_joined(&joined);
    return status;
}

/* The way decides who checks the index (choose.h). A pass that finds a bad one
 * although all had been checked has met another thread's writing; one that is the
 * check itself says which is the first. */
ps_status
ps_scatter(void *argument, ps_run *run)
{
    ps_scatter_call *const call = argument;
    int64_t row_count;
    ps_address_merge(&call->address, call->values.entry_strides);
    call->traits = ps_traits_of(call);
    if (!ps_count(call->rows.ndim, call->rows.shape, &row_count)) {
        return ps_fail(PS_TOO_LARGE);
    }
    const enum ps_way way = ps_choose_way(call, row_count);
    if (way == PS_WAY_SHORT) {
        return run_short(call, run);
    }
    if (way == PS_WAY_NONE || way == PS_WAY_CHECKED) {
        const ps_status checked = ps_address_check(&call->address, run);
        if (checked.code != PS_OK || way == PS_WAY_NONE) {
            return checked;
        }
    }
    if (call->traits.is_move && !call->traits.needs_stage && call->target.swapped) {
        /* bytes move as they are */
        call->target.swapped = call->values.swapped = false;
    }
    if (way == PS_WAY_PRIVATE && ps_is_extreme(call->op) && ps_meets_many(call)) {
        ps_look_for_minus(call);
    }
    const ps_status status = way == PS_WAY_COPIED   ? ps_run_copied(call, run)
                             : way == PS_WAY_JOINED ? run_joined(call, run)
                                                    : run_steps(call, way, run);
    if (status.code != PS_INDEX_BAD) {
        return status;
    }
    return way == PS_WAY_CHECKED ? ps_fail(PS_INDEX_CHANGED)
                                 : ps_address_find_bad(&call->address, run);
}

/* What is looked for among the values that take part: `n` of them at `value`, side by
 * side. True: no need to look further. */
typedef bool (*look_fn)(const char *value, enum ps_dtype type, int64_t n, void *found);

/* By size, so that the compiler makes vector code of each loop. */
bool
ps_has_zero(enum ps_dtype type, const char *value, int64_t n)
{
    int is_found = 0;
    switch (ps_dtype_size[type]) {
        case 1:
            for (int64_t i = 0; i < n; i++) {
                is_found |= ((const u8 *)value)[i] == 0;
            }
            break;
        case 2:
            for (int64_t i = 0; i < n; i++) {
                is_found |= ((const u16 *)value)[i] == 0;
            }
            break;
        case 4:
            for (int64_t i = 0; i < n; i++) {
                is_found |= ((const u32 *)value)[i] == 0;
            }
            break;
        default:
            for (int64_t i = 0; i < n; i++) {
                is_found |= ((const u64 *)value)[i] == 0;
            }
    }
    return is_found != 0;
}

/* The same as a look at values, which ends with the first zero. */
static bool
look_for_zero(const char *value, enum ps_dtype type, int64_t n, void *found)
{
    *(bool *)found = ps_has_zero(type, value, n);
    return *(bool *)found;
}

/* Of f64, or of the parts of c128. */
static bool
look_for_largest(const char *value, enum ps_dtype type, int64_t n, void *found)
{
    const f64 *const part = (const f64 *)(const void *)value;
    f64 *const largest = found;
    const int64_t n_parts = type == PS_c128 ? 2 * n : n;
    for (int64_t i = 0; i < n_parts; i++) {
        const f64 size = fabs(part[i]);
        *largest = isfinite(size) && size > *largest ? size : *largest;
    }
    return false;
}

/* A look at values: a block at a time of some columns. */
typedef struct {
    const ps_scatter_call *call;
    ps_run *run;
    ps_value_source source; /* of these columns */
    int64_t capacity;       /* entries of a block */
    char *packed;
    look_fn look;
    void *found;
    bool is_done;    /* the rest need not be looked at */
    int64_t unheard; /* bytes since the last look at signals */
} value_search;

/* Look at the values of one block that take part, over all outer rows; n entries from
 * `first` on, of which `list` names those. Where all of them do and lie side by side,
 * they are one stretch. True: found. */
static bool
look_at_block(value_search *search, const ps_list *list, int64_t first, int64_t n)
{
    const ps_value_source *const source = &search->source;
    const int64_t size = ps_dtype_size[source->type], width = source->width;
    const bool is_stretch = list->source == NULL && source->stride == size * width;
    for (int64_t outer = 0; outer < source->split.outer_count; outer++) {
        int64_t at, value_offset;
        ps_outer_offsets(source->rows, &source->split, outer, &at, &value_offset);
        const char *const values =
                ps_block_values(source, first, n, value_offset, search->packed);
        if (is_stretch &&
            search->look(values, source->type, list->n * width, search->found)) {
            return true;
        }
        for (int64_t i = 0; !is_stretch && i < list->n; i++) {
            const int64_t from = list->source != NULL ? list->source[i] : i;
            if (search->look(values + from * source->stride, source->type, width,
                             search->found)) {
                return true;
            }
        }
        if (ps_run_stops_after(search->run, &search->unheard,
                               n * (16 + size * width))) {
            return false;
        }
    }
    return false;
}

/* All entries in the columns at hand, block by block; the list of a block says which
 * of its values take part. Nothing is written. */
static ps_status
search_columns(value_search *search, ps_list_room *room)
{
    const ps_address *const address = &search->call->address;
    for (int64_t first = 0; first < address->n && !search->is_done;
         first += search->capacity) {
        ps_list list;
        const int64_t n = ps_min(search->capacity, address->n - first);
        PS_TRY(ps_address_list(address, first, n, room, &list));
        search->is_done = look_at_block(search, &list, first, n);
        PS_TRY(ps_run_status(search->run));
    }
    return PS_SUCCESS;
}

/* Look at all values that take part, as `type`, a block at a time: as many columns as
 * fit into LOOK_BYTES, then as many entries. Indices are checked first, as the call
 * itself would, so that its errors come before any warning. */
static ps_status
look_at_values(ps_scatter_call *call, ps_run *run, enum ps_dtype type, look_fn look,
               void *found)
{
    PS_TRY(ps_address_check(&call->address, run));
    int64_t row_count;
    if (!ps_count(call->rows.ndim, call->rows.shape, &row_count)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (call->address.n == 0 || row_count == 0) {
        return PS_SUCCESS;
    }
    const ps_row_split split = ps_split_rows(&call->rows, call->target.itemsize, false);
    const ps_value_source whole =
            ps_value_source_of(&call->address, &call->rows, &call->values, split, type);
    const int64_t most = ps_min(split.width, LOOK_BYTES / 8); /* columns at a time */
    value_search search = {
            .call = call,
            .run = run,
            .look = look,
            .found = found,
            .source = ps_narrow_values(&whole, 0, most),
            .capacity = ps_max(1, ps_min(PS_BLOCK, LOOK_BYTES / (most * 8)))};
    const int64_t nbytes = ps_packed_nbytes(&search.source, search.capacity);
    search.packed = ps_scratch_get(nbytes);
    ps_list_room room;
    if (search.packed == NULL || !ps_list_room_open(&room, search.capacity)) {
        ps_scratch_put(search.packed, nbytes);
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    for (int64_t column = 0;
         column < split.width && status.code == PS_OK && !search.is_done;
         column += most) {
        search.source =
                ps_narrow_values(&whole, column, ps_min(most, split.width - column));
        status = search_columns(&search, &room);
    }
    ps_list_room_close(&room);
    ps_scratch_put(search.packed, nbytes);
    return status;
}

/* Is there no zero among all values, whether they take part or not, which lie side by
 * side as what they are computed in, or are one? Then nothing else need be looked at:
 * 1e5 uint32 into as many 3.6 ns each, with a look at those that take part 4.6 (Zen 3).
 */
static bool
have_no_zero(const ps_scatter_call *call, ps_run *run)
{
    const ps_address *const address = &call->address;
    const ps_values *const values = &call->values;
    const int64_t stride = ps_inner_stride(address->ndim, values->entry_strides);
    if (address->ndim > 1 || call->rows.ndim > 0 ||
        values->dtype != call->accumulator || values->swapped || !values->aligned ||
        values->offset != NULL || (stride != values->itemsize && stride != 0)) {
        return false;
    }
    const int64_t n = stride != 0 ? address->n : ps_min(1, address->n);
    ps_stretch part = ps_stretch_of(run, n, values->itemsize);
    while (ps_next_stretch(&part)) {
        if (ps_has_zero(values->dtype, values->data + part.first * values->itemsize,
                        part.last - part.first)) {
            return false;
        }
    }
    return ps_run_status(run).code == PS_OK;
}

/* The values are looked at as what they are computed in. */
ps_status
ps_check_divisors(void *argument, ps_run *run)
{
    ps_divisor_check *const check = argument;
    check->has_zero = false;
    if (have_no_zero(check->call, run)) {
        return PS_SUCCESS;
    }
    return look_at_values(check->call, run, check->call->accumulator, look_for_zero,
                          &check->has_zero);
}

/* As they came: the rounding to the target's type is what may overflow. */
ps_status
ps_find_largest(void *argument, ps_run *run)
{
    ps_largest_search *const search = argument;
    search->largest = 0;
    return look_at_values(search->call, run, search->call->values.dtype,
                          look_for_largest, &search->largest);
}
