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
 * Nothing of the target is written before walk_slots(STORE), which takes no memory and
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
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Dense up to this many places per entry: below it loading all is cheaper than
     * ranking the named ones (about 10 ns an entry). */
    DENSE_PLACES = 4
};

typedef struct {
    const ps_scatter_call *call;
    ps_run *run;
    ps_places places;
    enum ps_dtype type; /* of the accumulator */
    int64_t size;       /* of one accumulator */
    int64_t row_count;  /* accumulators of one place */
    int64_t n_slots;    /* rows of the accumulator */
    int64_t *place;     /* [n_slots] for compact, else NULL: slot == place */
    int64_t *key;       /* [n] for compact: slot of each entry, or -1 */
    uint8_t *touched;   /* [n_slots] for dense */
    int64_t *arrivals;  /* [n_slots], for mean */
    char *rows;         /* [n_slots][row_count] */
    int64_t unheard;    /* bytes of rows since the last look at signals */
} stage;

/* ---- which slots, and what arrives there ---- */

typedef void (*list_fn)(stage *work, const ps_list *list, int64_t first);

/* Call fn with every list of places of the call, in order of the entries: source
 * number s of a list is entry first + s. The lists are checked as they are made;
 * nothing is written but what fn notes in memory of the stage. */
static ps_status
walk_places(stage *work, list_fn fn)
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
note_keys(stage *work, const ps_list *list, int64_t first)
{
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t from = list->source != NULL ? list->source[i] : i;
        work->key[first + from] = list->offset[i];
    }
}

/* For dense slots: where something arrives, and how often. Offsets of the list are
 * places of one byte each. */
static void
note_touched(stage *work, const ps_list *list, int64_t first)
{
    (void)first;
    for (int64_t i = 0; i < list->n; i++) {
        work->touched[list->offset[i]] = 1;
    }
    if (work->arrivals != NULL) {
        for (int64_t i = 0; i < list->n; i++) {
            work->arrivals[list->offset[i]]++;
        }
    }
}

/* key[e] = the rank of the place of entry e among those that are named, -1 for none;
 * place[slot] the other way. Both [n], taken here, given back by close_slots. */
static ps_status
rank_places(stage *work)
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
count_arrivals(stage *work)
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

/* All memory of the stage: rows, arrivals, and which slots are touched. Nothing
 * visible is written. Dense as long as loading every place is cheaper than ranking the
 * named ones. */
static ps_status
open_slots(stage *work)
{
    const int64_t n = work->call->address.n;
    const bool is_dense = work->places.count <= DENSE_PLACES * n + 64;
    work->n_slots = work->places.count;
    if (!is_dense) {
        PS_TRY(rank_places(work));
    }
    int64_t nbytes;
    if (!ps_multiply(work->n_slots, work->row_count * work->size, &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    work->rows = ps_scratch_get(nbytes);
    if (work->call->traits.is_mean) {
        const int64_t counts = work->n_slots * (int64_t)sizeof(int64_t);
        work->arrivals = ps_scratch_get(counts);
        if (work->arrivals == NULL) {
            return ps_fail(PS_NO_MEMORY);
        }
        PS_TRY(ps_run_fill(work->run, work->arrivals, 0, counts));
    }
    if (is_dense) {
        work->touched = ps_scratch_get(work->n_slots);
        if (work->touched == NULL) {
            return ps_fail(PS_NO_MEMORY);
        }
        PS_TRY(ps_run_fill(work->run, work->touched, 0, work->n_slots));
        PS_TRY(walk_places(work, note_touched));
    }
    else if (work->arrivals != NULL) {
        PS_TRY(count_arrivals(work));
    }
    return work->rows != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* Whatever has been taken; sizes are those by which it was. */
static void
close_slots(stage *work)
{
    const int64_t n = work->call->address.n, word = sizeof(int64_t);
    ps_scratch_put(work->rows, work->n_slots * work->row_count * work->size);
    ps_scratch_put(work->touched, work->n_slots);
    ps_scratch_put(work->arrivals, work->n_slots * word);
    ps_scratch_put(work->place, n * word);
    ps_scratch_put(work->key, n * word);
}

/* ---- loading and storing the rows of a slot ---- */

typedef void (*stretch_fn)(const stage *work, char *target, int64_t stride, char *row,
                           int64_t n);

/* Call fn for the stretches of one stride of the target row at `target`: n elements,
 * in parts between which signals are heard. False: give up. */
static bool
walk_stretch(stage *work, char *target, int64_t stride, char *row, int64_t n,
             stretch_fn fn)
{
    const int64_t most = PS_LISTEN_BYTES / work->size;
    for (int64_t done = 0; done < n; done += most) {
        const int64_t count = ps_min(most, n - done);
        fn(work, target + done * stride, stride, row + done * work->size, count);
        if (ps_run_stops_after(work->run, &work->unheard, count * work->size)) {
            return false;
        }
    }
    return true;
}

/* The same for a whole row, run by run along the last of the row axes; an element
 * where there are none. */
static bool
walk_row(stage *work, char *target, char *row, stretch_fn fn)
{
    const ps_rows *const rows = &work->call->rows;
    const int64_t stride = ps_inner_stride(rows->ndim, rows->target_strides);
    ps_walk run;
    if (rows->ndim == 0) {
        fn(work, target, 0, row, 1);
        return true;
    }
    int64_t offset = 0;
    ps_walk_to(&run, rows->ndim, rows->shape, 0);
    do {
        const int64_t n = ps_walk_left(&run);
        if (!walk_stretch(work, target + offset, stride, row, n, fn)) {
            return false;
        }
        row += n * work->size;
    } while (ps_walk_on(&run, rows->target_strides, &offset));
    return true;
}

/* row[i] = target[i], cast: what arrives is combined with it. */
static void
load_stretch(const stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    const ps_target *const from = &work->call->target;
    ps_convert(work->type, row, from->dtype, from->itemsize, from->swapped, target,
               stride, n);
}

/* row[i] = the identity of what kernels apply: the old value takes no part. */
static void
fill_stretch(const stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    (void)target, (void)stride;
    _Alignas(16) char identity[16];
    ps_write_identity(work->call->traits.applied, work->type, identity);
    for (int64_t i = 0; i < n; i++) {
        memcpy(row + i * work->size, identity, (size_t)work->size);
    }
}

/* Bring the sums of pairs together: n plain values at the start of the stretch. */
static void
pack_sums(enum ps_dtype type, char *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == PS_k32) {
            ((f32 *)row)[i] = ((k32 *)row)[i].sum;
        }
        else {
            ((f64 *)row)[i] = ((k64 *)row)[i].sum;
        }
    }
}

/* target[i] = row[i], rounded once: the only write that anybody can see. Pairs give
 * their sums, completed by finish_row. */
static void
store_stretch(const stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    const ps_target *const to = &work->call->target;
    enum ps_dtype type = work->type;
    if (type == PS_k32 || type == PS_k64) {
        pack_sums(type, row, n);
        type = type == PS_k32 ? PS_f32 : PS_f64;
    }
    ps_store(to->dtype, to->itemsize, to->swapped, target, stride, type, row, n);
}

/* Sums take in what they had lost. One that is not finite stays what plain summation
 * made of it. */
static void
complete_sums(enum ps_dtype type, char *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == PS_k32) {
            k32 *const pair = (k32 *)row + i;
            pair->sum = isfinite(pair->sum) ? pair->sum + pair->rest : pair->sum;
        }
        else {
            k64 *const pair = (k64 *)row + i;
            pair->sum = isfinite(pair->sum) ? pair->sum + pair->rest : pair->sum;
        }
    }
}

/* Sums of a slot become results: what compensation kept is added, means are divided by
 * the number of arrivals, and by one more where the old value counts. False: give up.
 */
static bool
finish_row(stage *work, int64_t slot, char *row)
{
    const bool are_pairs = work->type == PS_k32 || work->type == PS_k64;
    const int64_t most = PS_LISTEN_BYTES / work->size;
    if (!are_pairs && work->arrivals == NULL) {
        return true;
    }
    for (int64_t done = 0; done < work->row_count; done += most) {
        const int64_t n = ps_min(most, work->row_count - done);
        char *const part = row + done * work->size;
        if (are_pairs) {
            complete_sums(work->type, part, n);
        }
        if (work->arrivals != NULL) {
            const int64_t self = work->call->include_self;
            ps_divide_sums(work->type, part, n, work->arrivals[slot] + self);
        }
        if (ps_run_stops_after(work->run, &work->unheard, n * work->size)) {
            return false;
        }
    }
    return true;
}

enum phase {
    LOAD,
    STORE
};

/* LOAD: row[slot] from its place in the target, or the identity; STORE: finished, and
 * back. In the order of slots, so that the target is walked upwards. Slots at which
 * nothing arrives are left alone in both: they keep their bits. */
static ps_status
walk_slots(stage *work, enum phase phase)
{
    const ps_places *const all = &work->places;
    const int64_t nbytes = work->row_count * work->size;
    const stretch_fn load = work->call->include_self ? load_stretch : fill_stretch;
    for (int64_t slot = 0; slot < work->n_slots; slot++) {
        if (ps_run_stops_after(work->run, &work->unheard, PS_LINE_BYTES)) {
            break;
        }
        if (work->touched != NULL && !work->touched[slot]) {
            continue;
        }
        const int64_t place = work->place != NULL ? work->place[slot] : slot;
        char *const target =
                work->call->target.data +
                ps_offset_of(all->ndim, all->shape, all->target_strides, place);
        char *const row = work->rows + slot * nbytes;
        if ((phase == STORE && !finish_row(work, slot, row)) ||
            !walk_row(work, target, row, phase == LOAD ? load : store_stretch)) {
            break;
        }
    }
    return ps_run_status(work->run);
}

/* ---- the call on the accumulator ---- */

/* Keys in the place of the call's own indices; those left out are -1. */
static void
address_keys(const stage *work, ps_index *index, int64_t *strides, ps_address *address)
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
    address->mode = PS_MODE_DROP;
}

/* row[slot of e] = row[slot of e] op value[e]: the call as it came, but for a target
 * and indices of our own, by all algorithms and threads. Compact slots are an index of
 * keys of which -1 is dropped; dense ones the old index with other steps. The arrays
 * of row axes are copied, since running merges them. */
static ps_status
run_on_rows(stage *work)
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
    staged.compensated = false;
    staged.include_self = true;
    staged.traits = ps_traits_of(&staged);
    ps_direct direct;
    ps_status status = ps_open_direct(&staged, PS_WAY_PRIVATE, work->run, &direct);
    if (status.code == PS_OK) {
        status = ps_run_direct(&direct);
    }
    ps_close_direct(&direct);
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
run_slots(stage *work)
{
    PS_TRY(ps_find_places(&work->call->address, &work->places));
    PS_TRY(open_slots(work));
    PS_TRY(walk_slots(work, LOAD));
    PS_TRY(run_on_rows(work));
    work->run->has_written = !work->call->target.is_private;
    return walk_slots(work, STORE);
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
    stage work = {.call = &parts, .run = run, .type = parts.accumulator};
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
