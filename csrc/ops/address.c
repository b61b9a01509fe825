/* From an address to lists of pairs (contract in address.h).
 *
 * This is where negative indices, modes, masks, tuples, batch axes, along-axis forms
 * and index types vanish. Entries are walked in C order, in runs along the innermost
 * entry axis; each run costs one call of a `rows` kernel per index array. For the
 * common flat index a whole block is one run.
 *
 * Safety: indices are read once into scratch by the `rows` kernels, which check the
 * copy. ps_address_check is a read of its own, before the first visible write, which is
 * what makes a failing call leave its target alone.
 */
#include "ops/address.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/mask.h"
#include "ops/run.h"
#include "ops/strided.h"

enum {
    /* Numbers of index arrays between two looks at a pending signal: 0.1 ms of
     * scanning.
     */
    CHECK_STRETCH = 1 << 18,
    /* The same of several index arrays, which may be columns of one: a stretch stays in
     * the second cache until the last of them has been scanned. */
    COLUMNS_STRETCH = 1 << 15
};

/* Four arrays of one length behind each other: in the struct for a few entries, else
 * in one block of scratch memory. Each has PS_LIST_SPARE items more than the list,
 * since kernels store whole vectors. */
bool
ps_list_room_open(ps_list_room *room, int64_t n)
{
    room->block = NULL;
    room->nbytes = 0;
    int64_t *base = room->small;
    int64_t stride = PS_FEW_ENTRIES + PS_LIST_SPARE;
    room->capacity = ps_min(n, PS_BLOCK);
    if (room->capacity > PS_FEW_ENTRIES) {
        stride = room->capacity + PS_LIST_SPARE;
        room->nbytes = 4 * stride * (int64_t)sizeof(int64_t);
        room->block = ps_scratch_get(room->nbytes);
        base = (int64_t *)room->block;
    }
    room->offset = base;
    room->source = base + stride;
    room->row = base + 2 * stride;
    room->flag = base + 3 * stride;
    return base != NULL;
}

/* A room that could not be opened has no block. */
void
ps_list_room_close(ps_list_room *room)
{
    if (room->block != NULL) {
        ps_scratch_put(room->block, room->nbytes);
    }
}

/* Every array that is walked by entries has a say: link, values, mask, and each index.
 * A single axis, as tiny calls have it, is what it is. */
void
ps_address_merge(ps_address *address, int64_t *extra_strides)
{
    int64_t *strides[PS_MAX_DIMS + 3];
    int n = 0;
    if (address->ndim < 2) {
        return;
    }
    strides[n++] = address->link;
    if (extra_strides != NULL) {
        strides[n++] = extra_strides;
    }
    if (address->mask != NULL) {
        strides[n++] = address->mask_strides;
    }
    for (int m = 0; m < address->n_index; m++) {
        strides[n++] = address->index[m].strides;
    }
    address->ndim = ps_merge_axes(address->ndim, address->shape, strides, n);
}

/* What scatter_checked and its kin can be handed: they read index[e] for entry e,
 * compare it with the size themselves, and know neither masks nor strides. */
bool
ps_address_is_direct(const ps_address *address)
{
    const ps_index *const index = address->index;
    return address->ndim == 1 && address->n_index == 1 && address->mask == NULL &&
           address->link[0] == 0 && address->flat_ndim == 0 &&
           (index->type == PS_INDEX_i64 || index->type == PS_INDEX_i32) &&
           !index->swapped && index->strides[0] == ps_index_itemsize(index->type);
}

/* Items `step` bytes apart, and numbers that are an error where they are out of bounds.
 */
bool
ps_address_is_plain(const ps_address *address, int64_t step)
{
    return ps_address_is_direct(address) && ps_mode_refuses(address->mode) &&
           address->index->step == step;
}

/* The axis has rows: `last` of none would let every number pass. */
ps_numbering
ps_address_numbering(const ps_address *address, int m)
{
    const ps_index *const index = &address->index[m];
    return (ps_numbering){.last = (uint64_t)(index->size - 1),
                          .counted = ps_counted_size(address, m),
                          .step = index->step};
}

/* From entry to entry of a run. */
static int64_t
inner_stride(const ps_address *address, const int64_t *strides)
{
    return ps_inner_stride(address->ndim, strides);
}

/* To entry `first`. */
static void
walk_to(ps_walk *at, const ps_address *address, int64_t first)
{
    ps_walk_to(at, address->ndim, address->shape, first);
}

/* row[e] = the row that index m names for entry e of a run of n, -1 where it is out of
 * bounds; returns how many are. The kernel reads each value once and checks what it
 * has read. Values of foreign byte order are turned round first, a small piece at a
 * time, and a `size` of 0 is settled here, since clip and wrap would divide by it. */
static int64_t
resolve_run(const ps_address *address, int m, const ps_walk *at, int64_t n,
            int64_t *row)
{
    const ps_index *const index = &address->index[m];
    const ps_kernel_table *const kernels = ps_kernels();
    const char *data = index->data + ps_walk_offset(at, index->strides);
    int64_t stride = inner_stride(address, index->strides);
    if (index->size == 0) { /* nothing to name, and nothing to divide by */
        for (int64_t i = 0; i < n; i++) {
            row[i] = -1;
        }
        return n;
    }
    if (!index->swapped) {
        return kernels->rows[index->type](address->mode, row, data, n, stride,
                                          index->size);
    }
    static const enum ps_size sizes[] = {PS_SIZE_1, PS_SIZE_1, PS_SIZE_2, PS_SIZE_2,
                                         PS_SIZE_4, PS_SIZE_4, PS_SIZE_8, PS_SIZE_8};
    const int64_t itemsize = ps_index_itemsize(index->type);
    int64_t n_bad = 0;
    enum {
        PIECE = 128
    };
    int64_t native[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t count = ps_min(PIECE, n - i);
        kernels->swap[sizes[index->type]]((char *)native, itemsize, data + i * stride,
                                          stride, count);
        n_bad += kernels->rows[index->type](address->mode, row + i, (char *)native,
                                            count, itemsize, index->size);
    }
    return n_bad;
}

/* The status for entry `number`, whose index m is out of bounds. The value is read
 * again for the message; at worst another thread makes it a lie. */
static ps_status
bad_index(const ps_address *address, int m, int64_t number)
{
    const ps_index *const index = &address->index[m];
    ps_walk at;
    walk_to(&at, address, number);
    char bytes[8] = {0};
    const char *const data = index->data + ps_walk_offset(&at, index->strides);
    const int64_t itemsize = ps_index_itemsize(index->type);
    for (int64_t i = 0; i < itemsize; i++) {
        bytes[i] = data[index->swapped ? itemsize - 1 - i : i];
    }
    uint64_t value = 0;
    memcpy(&value, bytes, sizeof(value)); /* little-endian, like every level we build */
    const bool is_unsigned = index->type % 2 == 1;
    if (!is_unsigned && itemsize < 8) {
        const int shift = (int)(64 - 8 * itemsize);
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return (ps_status){.code = PS_INDEX_BAD,
                       .axis = index->axis,
                       .is_unsigned = is_unsigned,
                       .value = (int64_t)value,
                       .size = index->size,
                       .position = number,
                       .total = address->n};
}

/* flag[i] = -1 where the mask leaves entry i of the run out, else 0. The mask is read
 * here, once: what another thread does to it later changes nothing. */
static void
flag_masked(const ps_address *address, const ps_walk *at, int64_t n, int64_t *flag)
{
    const char *const mask = address->mask + ps_walk_offset(at, address->mask_strides);
    const int64_t stride = inner_stride(address, address->mask_strides);
    for (int64_t i = 0; i < n; i++) {
        flag[i] = mask[i * stride] != 0 ? 0 : -1;
    }
}

/* Entries whose row is -1 take no part; under "raise" the first of them that is not
 * masked is an error. Returns its number in the run, or -1. */
static int64_t
flag_bad(const ps_address *address, const int64_t *row, int64_t n, int64_t *flag)
{
    const bool drops = address->mode == PS_MODE_DROP || address->mode == PS_MODE_FILL;
    for (int64_t i = 0; i < n; i++) {
        if (row[i] < 0) {
            if (flag[i] == 0 && !drops) {
                return i;
            }
            flag[i] = -1;
        }
    }
    return -1;
}

/* The offsets of the common run: native indices of one axis or of several, out of
 * bounds an error, nothing masked. False: not that, or something is out of bounds,
 * which list_run then looks at; offsets are spoilt then. */
static bool
place_run(const ps_address *address, const ps_walk *at, int64_t n, int64_t *offset)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t link = inner_stride(address, address->link);
    int64_t base = ps_walk_offset(at, address->link);
    if (address->n_index == 0 || address->mask != NULL ||
        !ps_mode_refuses(address->mode)) {
        return false;
    }
    if (link != 0) {
        kernels->list_ramp(offset, n, link, base);
        base = 0;
    }
    for (int m = 0; m < address->n_index; m++, base = 0) {
        const ps_index *const index = &address->index[m];
        const ps_numbering numbering = ps_address_numbering(address, m);
        if (index->swapped || index->size == 0 ||
            kernels->place[index->type](
                    offset, index->data + ps_walk_offset(at, index->strides), n,
                    inner_stride(address, index->strides), &numbering, base,
                    m > 0 || link != 0) > 0) {
            return false;
        }
    }
    return true;
}

/* offset[e] = base + link * e + sum over m of row(index[m][e]) * step[m], for a run of
 * n entries that begins with entry `number`. flag[e] is -1 where one takes no part;
 * *has_flags says whether any flag has been set in this list, for until then nobody
 * has cleared them. The first index out of bounds that is not masked is the status. */
static ps_status
list_run(const ps_address *address, int64_t number, const ps_walk *at, int64_t n,
         int64_t *offset, ps_list_room *room, int64_t *flag, bool *has_flags)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t link = inner_stride(address, address->link);
    const int64_t base = ps_walk_offset(at, address->link);
    const bool is_plain = address->n_index > 0 && link == 0;
    if (!is_plain) {
        kernels->list_ramp(offset, n, link, base);
    }
    if (address->mask != NULL) {
        flag_masked(address, at, n, flag);
        *has_flags = true;
    }
    for (int m = 0; m < address->n_index; m++) {
        const int64_t step = address->index[m].step;
        const int64_t n_bad = resolve_run(address, m, at, n, room->row);
        if (n_bad > 0) {
            if (!*has_flags) {
                memset(room->flag, 0, (size_t)room->capacity * sizeof(int64_t));
                *has_flags = true;
            }
            const int64_t bad = flag_bad(address, room->row, n, flag);
            if (bad >= 0) {
                return bad_index(address, m, number + bad);
            }
        }
        if (m == 0 && is_plain) {
            kernels->list_place(offset, room->row, n, step, base);
        }
        else {
            kernels->list_shift(offset, room->row, n, step);
        }
    }
    return PS_SUCCESS;
}

/* Mask bytes of a run of n entries, side by side; in `buffer`, n bytes of the
 * caller's, where they do not lie so. */
static const char *
mask_bytes(const ps_address *address, const ps_walk *at, int64_t n, char *buffer)
{
    const char *const mask = address->mask + ps_walk_offset(at, address->mask_strides);
    const int64_t stride = inner_stride(address, address->mask_strides);
    if (stride == 1) {
        return mask;
    }
    ps_kernels()->copy[PS_SIZE_1](buffer, 1, mask, stride, n);
    return buffer;
}

/* offset[k] = link * e + base and source[k] = e for every true e of n entries that a
 * mask alone names: the places of its trues, which cost next to nothing where there
 * are few. Nothing here can be out of bounds. */
static ps_status
list_masked(const ps_address *address, int64_t n, ps_walk *at, ps_list_room *room,
            ps_list *list)
{
    const int64_t link = inner_stride(address, address->link);
    char buffer[PS_BLOCK];
    int64_t kept = 0;
    for (int64_t done = 0; done < n;) {
        const int64_t count = ps_min(ps_walk_left(at), n - done);
        int64_t *const source = room->source + kept, *const row = room->row;
        const char *const mask = mask_bytes(address, at, count, buffer);
        const int64_t found = ps_mask_positions(row, mask, count, 0);
        ps_kernels()->list_place(room->offset + kept, row, found, link,
                                 ps_walk_offset(at, address->link));
        ps_kernels()->list_place(source, row, found, 1, done);
        kept += found;
        done += count;
        ps_walk_on(at, NULL, NULL);
    }
    *list = (ps_list){room->offset, room->source, kept};
    return PS_SUCCESS;
}

/* Numbers of elements in C order become their offsets. A division costs 2 to 4 ns, a
 * copy of the whole array in C order as much for each of its elements. */
static void
unravel(const ps_address *address, int64_t *number, int64_t n)
{
    const int64_t *const shape = address->flat_shape;
    const int64_t *const strides = address->flat_strides;
    for (int64_t i = 0; i < n; i++) {
        uint64_t rest = (uint64_t)number[i];
        int64_t offset = 0;
        for (int axis = address->flat_ndim - 1; axis > 0; axis--) {
            const uint64_t length = (uint64_t)shape[axis];
            offset += (int64_t)(rest % length) * strides[axis];
            rest /= length;
        }
        number[i] = offset + (int64_t)rest * strides[0];
    }
}

/* Run by run: place_run as long as that serves, list_run for the rest. Pairs that take
 * no part are dropped at the end, in one pass that keeps the order; `source` is only
 * made where some are. */
ps_status
ps_address_list(const ps_address *address, int64_t first, int64_t n, ps_list_room *room,
                ps_list *list)
{
    ps_walk at;
    walk_to(&at, address, first);
    if (address->n_index == 0 && address->mask != NULL) {
        return list_masked(address, n, &at, room, list);
    }
    bool has_flags = false;
    for (int64_t done = 0; done < n;) {
        const int64_t count = ps_min(ps_walk_left(&at), n - done);
        if (has_flags || !place_run(address, &at, count, room->offset + done)) {
            PS_TRY(list_run(address, first + done, &at, count, room->offset + done,
                            room, room->flag + done, &has_flags));
        }
        done += count;
        ps_walk_on(&at, NULL, NULL);
    }
    list->offset = room->offset;
    list->source = NULL;
    list->n = n;
    if (has_flags) {
        list->n = ps_kernels()->list_keep(room->offset, room->source, room->flag, n, 0);
        list->source = room->source;
    }
    if (address->flat_ndim > 0) {
        unravel(address, list->offset, list->n);
    }
    return PS_SUCCESS;
}

/* A part of the check: one stretch of one index array, or a stretch of entries. */
typedef struct {
    ps_run *run;
    const ps_address *address;
    int64_t stretch; /* entries of a chunk */
    int64_t chunks;
    _Atomic int64_t first_bad; /* number of a bad entry; not yet the first one */
} check_state;

/* Can index m be scanned as one strided stretch of all entries, without a list? */
static bool
is_flat(const ps_address *address, int m)
{
    const ps_index *const index = &address->index[m];
    int64_t stride;
    return !index->swapped && ps_even_run(address->ndim, address->shape, index->strides,
                                          &stride) == address->n;
}

/* Scan entries [first, first + n) of every index array, all of them flat. The first
 * bad entry of the first array that has one, in *m; or -1. The kernels count negatives
 * from the end, as mode `raise` does, which is the only mode that comes here. */
static int64_t
scan_flat(const ps_address *address, int64_t first, int64_t n, int *m)
{
    for (*m = 0; *m < address->n_index; (*m)++) {
        const ps_index *const index = &address->index[*m];
        const int64_t stride = inner_stride(address, index->strides);
        const int64_t bad = ps_kernels()->scan[index->type](
                index->data + first * stride, n, stride, index->size);
        if (bad >= 0) {
            return first + bad;
        }
    }
    return -1;
}

/* A stretch of every index array. Chunks are scanned from the last to the first, so
 * that the start of the index is still near when the work that follows reads it again.
 */
static void
check_chunk(void *context, int64_t chunk)
{
    check_state *const state = context;
    if (ps_run_stops(state->run)) {
        return;
    }
    const int64_t first = (state->chunks - 1 - chunk) * state->stretch;
    const int64_t n = ps_min(state->stretch, state->address->n - first);
    int m = 0;
    const int64_t bad = scan_flat(state->address, first, n, &m);
    if (bad >= 0) {
        atomic_store(&state->first_bad, bad);
    }
}

/* The check of flat index arrays on all threads. A bad entry that some thread has
 * found need not be the first: then all is scanned again, in order, by one. */
static ps_status
check_flat(const ps_address *address, ps_run *run)
{
    const int64_t stretch =
            address->n_index > 1 ? COLUMNS_STRETCH / address->n_index : CHECK_STRETCH;
    const int64_t chunks = ps_ceil_div(address->n, stretch);
    check_state state = {.run = run,
                         .address = address,
                         .stretch = stretch,
                         .chunks = chunks,
                         .first_bad = -1};
    PS_TRY(ps_run_chunks(run, chunks, check_chunk, &state));
    if (atomic_load(&state.first_bad) < 0) {
        return PS_SUCCESS;
    }
    for (int64_t first = 0; first < address->n; first += stretch) {
        int m = 0;
        const int64_t n = ps_min(stretch, address->n - first);
        const int64_t bad = scan_flat(address, first, n, &m);
        if (bad >= 0) {
            return bad_index(address, m, bad);
        }
    }
    return ps_fail(PS_INDEX_CHANGED);
}

/* The check by making every list and throwing it away: masks, byte-swapped or
 * broadcast indices, empty axes. Slower by the writing of the lists, which stay in the
 * first cache. */
static ps_status
check_by_lists(const ps_address *address, ps_run *run)
{
    ps_list_room room;
    if (!ps_list_room_open(&room, address->n)) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    int64_t unheard = 0;
    const int64_t nbytes = PS_LINE_BYTES * (address->n_index + 1);
    for (int64_t first = 0; first < address->n; first += room.capacity) {
        ps_list list;
        const int64_t n = ps_min(room.capacity, address->n - first);
        if (ps_run_stops_after(run, &unheard, n * nbytes)) {
            status = ps_run_status(run);
            break;
        }
        status = ps_address_list(address, first, n, &room, &list);
        if (status.code != PS_OK) {
            break;
        }
    }
    ps_list_room_close(&room);
    return status;
}

/* Modes that clip, wrap or drop find no fault with a number, unless there is no row at
 * all; a plan's rows were in bounds when it was made, and a mask alone names what is
 * there. */
ps_status
ps_address_check(const ps_address *address, ps_run *run)
{
    bool is_simple = address->mask == NULL && address->mode == PS_MODE_RAISE;
    bool can_fail = ps_mode_refuses(address->mode);
    for (int m = 0; m < address->n_index; m++) {
        is_simple = is_simple && is_flat(address, m);
        can_fail = can_fail || address->index[m].size == 0;
    }
    if (!can_fail || address->n == 0 || address->n_index == 0 ||
        address->plan != NULL) {
        return PS_SUCCESS;
    }
    return is_simple ? check_flat(address, run) : check_by_lists(address, run);
}

/* None is bad any more where another thread rewrites the index. */
ps_status
ps_address_find_bad(const ps_address *address, ps_run *run)
{
    atomic_store(&run->failed, PS_OK);
    const ps_status status = ps_address_check(address, run);
    return status.code != PS_OK ? status : ps_fail(PS_INDEX_CHANGED);
}
