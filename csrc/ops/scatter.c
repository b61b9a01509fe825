/* The scatter op: what a call goes through from checked arguments to changed memory.
 *
 *   check    every index, before the first byte that the caller can see is written;
 *            skipped where nobody can see it (a fresh result) and where the whole index
 *            fits into one list, which is complete before it is applied
 *   prefill  destinations whose old value takes no part get the op's identity
 *   stage    wide accumulators, means and strange targets work in rows of their own
 *   direct   everything else: choose.c splits the work into pieces, one for a thread
 *
 * Order: an element meets its values in C order of the index, from left to right, on
 * top of what it holds; pieces and algorithms cannot change that, so neither can the
 * number of threads (docs/design/scatter.md).
 * The comments below are few: each function is a step of the list above.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/direct.h"
#include "ops/identity.h"
#include "ops/run.h"
#include "ops/stage.h"

enum {
    /* Calls up to this stay in one piece and one list. */
    ONE_LIST_BYTES = 256 << 10
};

/* A call that sets every named destination to the op's identity, and the arrays that it
 * needs beside those of the call itself. */
typedef struct {
    ps_scatter_call call;
    _Alignas(16) char identity[16];
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], zeros[PS_MAX_DIMS];
} prefill;

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
}

/* One pass; with `fill`, a prefill before it. All memory is taken before either. */
static ps_status
run_passes(ps_scatter_call *call, ps_scatter_call *fill, ps_run *run)
{
    ps_direct main_pass, fill_pass;
    ps_status status = PS_SUCCESS;
    if (fill != NULL) {
        status = ps_open_direct(fill, run, &fill_pass);
    }
    if (status.code == PS_OK) {
        status = ps_open_direct(call, run, &main_pass);
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

static ps_status
run_checked(ps_scatter_call *call, ps_run *run)
{
    if (ps_needs_stage(call)) {
        return ps_run_stage(call, run);
    }
    const bool is_move = call->op == PS_set || call->op == PS_first;
    if (is_move && call->target.swapped) {
        call->target.swapped = call->values.swapped =
                false; /* bytes move as they are */
    }
    if (call->include_self || is_move) {
        return run_passes(call, NULL, run);
    }
    prefill fill;
    make_prefill(call, &fill);
    return run_passes(call, &fill.call, run);
}

/* May the whole call be one list that a single piece makes before it writes? Then the
 * list is the check: ps_choose does not cut such a call, and its block is all of it.
 * Those that a test forces to be cut, and plans, whose rows are in bounds, are not for
 * that. */
static bool
is_one_list(const ps_scatter_call *call, int64_t row_count)
{
    int64_t nbytes;
    return call->address.n <= PS_BLOCK && call->address.plan == NULL &&
           ps_forced_choice() == PS_ALGORITHM_automatic && call->include_self &&
           !ps_needs_stage(call) &&
           ps_multiply(row_count, call->target.itemsize, &nbytes) &&
           nbytes <= ONE_LIST_BYTES &&
           call->address.n * (nbytes + 16) <= ONE_LIST_BYTES;
}

/* The shortest way, for a handful of single elements whose values need no packing: one
 * list on the stack, one kernel call. False: not such a call. It spares the tiny calls
 * that loops are full of a third of their time. */
static bool
run_small(const ps_scatter_call *call, ps_status *status)
{
    const ps_address *const address = &call->address;
    const ps_values *const values = &call->values;
    if (address->n > PS_FEW_ENTRIES || address->ndim > 1 || call->rows.ndim > 0 ||
        values->dtype != call->target.dtype || values->swapped || !values->aligned ||
        values->offset != NULL || values->weights != NULL ||
        call->target.dtype >= PS_NUM_DTYPES || call->target.dtype == PS_b1 ||
        call->op >= PS_NUM_REDUCTIONS || !call->include_self || ps_needs_stage(call)) {
        return false;
    }
    ps_list_room room;
    ps_list list;
    ps_list_room_open(&room, address->n);
    *status = ps_address_list(address, 0, address->n, &room, &list);
    if (status->code == PS_OK) {
        const int64_t stride = address->ndim > 0 ? values->entry_strides[0] : 0;
        ps_kernels()->scatter[call->op][call->target.dtype](call->target.data, &list,
                                                            values->data, stride);
    }
    return true;
}

/* A pass that checks as it goes found a bad index: which one is the first? */
static ps_status
find_bad_index(const ps_scatter_call *call, ps_run *run)
{
    atomic_store(&run->failed, PS_OK);
    const ps_status status = ps_address_check(&call->address, run);
    return status.code != PS_OK ? status : ps_fail(PS_INDEX_CHANGED);
}

ps_status
ps_scatter(ps_scatter_call *call, ps_run *run)
{
    ps_status status;
    int64_t row_count;
    ps_address_merge(&call->address, call->values.entry_strides);
    if (run_small(call, &status)) {
        return status;
    }
    if (!ps_count(call->rows.ndim, call->rows.shape, &row_count)) {
        return ps_fail(PS_TOO_LARGE);
    }
    if (call->address.n == 0 || row_count == 0 || call->target.itemsize == 0) {
        return ps_address_check(&call->address, run); /* nothing to move */
    }
    call->is_one_list = !call->target.is_private && is_one_list(call, row_count);
    if (call->target.is_private || call->is_one_list) {
        status = run_checked(call, run);
    }
    else {
        PS_TRY(ps_address_check(&call->address, run));
        call->is_checked = true;
        status = run_checked(call, run);
        return status.code == PS_INDEX_BAD ? ps_fail(PS_INDEX_CHANGED) : status;
    }
    return status.code == PS_INDEX_BAD ? find_bad_index(call, run) : status;
}

/* What is looked for among the values that take part: `n` of them at `value`, side by
 * side. True: no need to look further. */
typedef bool (*look_fn)(const char *value, enum ps_dtype type, int64_t n, void *found);

/* Is one of the integers zero? By size, so that the compiler makes vector code of each
 * loop. */
static bool
look_for_zero(const char *value, enum ps_dtype type, int64_t n, void *found)
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
    *(bool *)found = is_found != 0;
    return is_found != 0;
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

/* Look at the values of one block that take part, over all outer rows. Where all of
 * them do and lie side by side, they are one stretch. */
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

/* All entries in the columns at hand. */
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

/* Look at all values that take part, as `type`, a block at a time. */
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
    const int64_t most =
            ps_min(split.width, ONE_LIST_BYTES / 8); /* columns at a time */
    value_search search = {
            .call = call,
            .run = run,
            .look = look,
            .found = found,
            .source = ps_narrow_values(&whole, 0, most),
            .capacity = ps_max(1, ps_min(PS_BLOCK, ONE_LIST_BYTES / (most * 8)))};
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

ps_status
ps_has_zero_divisor(ps_scatter_call *call, ps_run *run, bool *has_zero)
{
    *has_zero = false;
    return look_at_values(call, run, call->accumulator, look_for_zero, has_zero);
}

ps_status
ps_find_largest(ps_scatter_call *call, ps_run *run, double *largest)
{
    *largest = 0;
    return look_at_values(call, run, call->values.dtype, look_for_largest, largest);
}
