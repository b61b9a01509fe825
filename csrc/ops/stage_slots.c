/* The slots of a stage loaded and stored (contract in stage_slots.h).
 *
 * Rows are walked one by one: stretches of them are cast between the target, of any
 * layout and byte order, and the accumulator. Single elements would spend their time in
 * calls, so they are taken some hundred at a time: gathered side by side, cast as one
 * stretch, and set where they belong. Those that lie side by side in the target are
 * loaded whole, without a list; if the old values take part, what differs from them in
 * the end is what is stored. All walk slots upwards, and so the target.
 */
#include "ops/stage_slots.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/copied.h"
#include "ops/finish.h"
#include "ops/identity.h"
#include "ops/mask.h"
#include "ops/run.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Elements of a batch: 24 KiB on the stack, within a first cache. */
    SLOTS = 512
};

typedef void (*stretch_fn)(const ps_stage *work, char *target, int64_t stride,
                           char *row, int64_t n);

/* Call fn for the stretches of one stride of the target row at `target`: n elements,
 * in parts between which signals are heard. False: give up. */
static bool
walk_stretch(ps_stage *work, char *target, int64_t stride, char *row, int64_t n,
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
walk_row(ps_stage *work, char *target, char *row, stretch_fn fn)
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
load_stretch(const ps_stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    const ps_target *const from = &work->call->target;
    ps_convert(work->type, row, from->dtype, from->itemsize, from->swapped, target,
               stride, n);
}

/* row[i] = the identity of what kernels apply: the old value takes no part. */
static void
fill_stretch(const ps_stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    (void)target, (void)stride;
    _Alignas(16) char identity[16];
    ps_write_identity(work->call->traits.applied, work->type, identity);
    for (int64_t i = 0; i < n; i++) {
        memcpy(row + i * work->size, identity, (size_t)work->size);
    }
}

/* From here on a row of pairs holds no pairs any more: it is on its way to the target.
 * Bring the sums of pairs together: n plain values at the start of the stretch. */
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

/* Sums with what they lost: a compensated call. */
static bool
are_pairs(const ps_stage *work)
{
    return work->type == PS_k32 || work->type == PS_k64;
}

/* The type of n results at `row`, where pairs give their sums alone. */
static enum ps_dtype
sum_type(const ps_stage *work, char *row, int64_t n)
{
    if (!are_pairs(work)) {
        return work->type;
    }
    pack_sums(work->type, row, n);
    return work->type == PS_k32 ? PS_f32 : PS_f64;
}

/* target[i] = row[i], rounded once: the only write that anybody can see. Pairs give
 * their sums, completed by finish_row. */
static void
store_stretch(const ps_stage *work, char *target, int64_t stride, char *row, int64_t n)
{
    const ps_target *const to = &work->call->target;
    ps_store(to->dtype, to->itemsize, to->swapped, target, stride,
             sum_type(work, row, n), row, n);
}

/* Sums take in what they had lost. One that is not finite stays what plain summation
 * made of it, and one that has lost nothing stays: -0.0 + 0.0 is another zero. */
static void
complete_sums(enum ps_dtype type, char *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == PS_k32) {
            k32 *const pair = (k32 *)row + i;
            pair->sum = isfinite(pair->sum) && pair->rest != 0 ? pair->sum + pair->rest
                                                               : pair->sum;
        }
        else {
            k64 *const pair = (k64 *)row + i;
            pair->sum = isfinite(pair->sum) && pair->rest != 0 ? pair->sum + pair->rest
                                                               : pair->sum;
        }
    }
}

/* Sums of a slot become results: what compensation kept is added, means are divided by
 * the number of arrivals, and by one more where the old value counts. False: give up.
 */
static bool
finish_row(ps_stage *work, int64_t slot, char *row)
{
    const int64_t most = PS_LISTEN_BYTES / work->size;
    if (!are_pairs(work) && work->arrivals == NULL) {
        return true;
    }
    for (int64_t done = 0; done < work->row_count; done += most) {
        const int64_t n = ps_min(most, work->row_count - done);
        char *const part = row + done * work->size;
        if (are_pairs(work)) {
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

/* ---- slots of one element, many at a time ---- */

/* Some slots at which something arrives: where they lie in the target and in the rows.
 */
typedef struct {
    int64_t n;
    int64_t at[SLOTS], row[SLOTS];
    int64_t arrivals[SLOTS];             /* for mean */
    _Alignas(16) char item[SLOTS * 16];  /* as the target has them */
    _Alignas(16) char value[SLOTS * 16]; /* as accumulators */
} batch;

/* May slots be taken by moves of whole items? Items of records and of odd sizes have no
 * kernel that moves them; rows have stretches, which are casts enough. */
static bool
are_elements(const ps_stage *work)
{
    return work->row_count == 1 && ps_size_of(work->call->target.itemsize) >= 0 &&
           ps_size_of(work->size) >= 0;
}

/* Those of n <= SLOTS slots from `first` on at which something arrives; returns how
 * many. Others are left out here: their places are neither read nor written. Every
 * compact slot has been named. */
static int64_t
named_slots(const ps_stage *work, int64_t first, int64_t n, int64_t *slot)
{
    char mask[SLOTS], bits[16];
    if (work->place != NULL) {
        ps_kernels()->list_ramp(slot, n, 1, first);
        return n;
    }
    if (work->touched != NULL) {
        return ps_mask_positions(slot, (const char *)work->touched + first, n, first);
    }
    memset(bits, 0xff, sizeof(bits));
    ps_kernels()->truth[ps_size_of(sizeof(int64_t))](
            mask, (const char *)(work->arrivals + first), sizeof(int64_t), n, bits);
    return ps_mask_positions(slot, mask, n, first);
}

/* The next slots from *first on, at most SLOTS of them: their offsets. In the order of
 * places, so that a run along the last axis is found once. */
static void
next_batch(const ps_stage *work, int64_t *first, batch *some)
{
    const ps_places *const all = &work->places;
    const int64_t *const places = work->place, *const arrivals = work->arrivals;
    const int64_t stop = ps_min(work->n_slots, *first + SLOTS), size = work->size;
    const int64_t run = all->ndim > 0 ? all->shape[all->ndim - 1] : 1;
    const int64_t stride = ps_inner_stride(all->ndim, all->target_strides);
    int64_t run_first = 0, run_last = 0, base = 0;
    const int64_t n = named_slots(work, *first, stop - *first, some->row);
    some->n = n;
    *first = stop;
    for (int64_t i = 0; i < n; i++) {
        const int64_t slot = some->row[i];
        const int64_t place = places != NULL ? places[slot] : slot;
        if (place >= run_last) {
            run_first = place - place % run;
            run_last = run_first + run;
            base = ps_offset_of(all->ndim, all->shape, all->target_strides, run_first);
        }
        some->at[i] = base + (place - run_first) * stride;
        some->row[i] = slot * size;
        some->arrivals[i] = arrivals != NULL ? arrivals[slot] : 0;
    }
}

/* row = item, cast; or the identity, for which nothing of the target is read. */
static void
load_batch(const ps_stage *work, batch *some)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_target *const from = &work->call->target;
    ps_list list = {some->at, NULL, some->n};
    int64_t stride = work->size;
    if (work->call->include_self) {
        kernels->gather[ps_size_of(from->itemsize)](some->item, &list, from->data,
                                                    from->itemsize);
        ps_convert(work->type, some->value, from->dtype, from->itemsize, from->swapped,
                   some->item, from->itemsize, some->n);
    }
    else {
        ps_write_identity(work->call->traits.applied, work->type, some->value);
        stride = 0;
    }
    list.offset = some->row;
    kernels->set[ps_size_of(work->size)](work->rows, &list, some->value, stride);
}

/* Each slot has a count of its own, so a quotient at a time; those of float64, which
 * means of floats are, without a call. */
static void
divide_batch(const ps_stage *work, batch *some)
{
    const int64_t self = work->call->include_self;
    if (work->type == PS_f64) {
        for (int64_t i = 0; i < some->n; i++) {
            ((f64 *)(void *)some->value)[i] /= (f64)(some->arrivals[i] + self);
        }
        return;
    }
    for (int64_t i = 0; i < some->n; i++) {
        ps_divide_sums(work->type, some->value + i * work->size, 1,
                       some->arrivals[i] + self);
    }
}

/* item = row, finished and rounded once: the only write that anybody can see. Rows are
 * gathered into the batch and finished there, so they stay what they are. */
static void
store_batch(const ps_stage *work, batch *some)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_target *const to = &work->call->target;
    ps_list list = {some->row, NULL, some->n};
    kernels->gather[ps_size_of(work->size)](some->value, &list, work->rows, work->size);
    if (are_pairs(work)) {
        complete_sums(work->type, some->value, some->n);
    }
    if (work->arrivals != NULL) {
        divide_batch(work, some);
    }
    ps_store(to->dtype, to->itemsize, to->swapped, some->item, to->itemsize,
             sum_type(work, some->value, some->n), some->value, some->n);
    list.offset = some->at;
    kernels->set[ps_size_of(to->itemsize)](to->data, &list, some->item, to->itemsize);
}

/* Batch by batch. A call for each element would take seven times as long. */
static ps_status
walk_elements(ps_stage *work, void (*fn)(const ps_stage *work, batch *some))
{
    batch some;
    for (int64_t first = 0; first < work->n_slots;) {
        next_batch(work, &first, &some);
        if (ps_run_stops_after(work->run, &work->unheard,
                               SLOTS + some.n * PS_LINE_BYTES)) {
            break;
        }
        fn(work, &some);
    }
    return ps_run_status(work->run);
}

/* ---- slots that lie side by side in the target ---- */

/* Are dense slots single elements that lie side by side in the target? They are then
 * loaded whole. Not under a mask: memory that it leaves out may be of no use to read.
 */
static bool
slots_are_items(const ps_stage *work)
{
    const ps_places *const all = &work->places;
    const ps_scatter_call *const call = work->call;
    return work->place == NULL && call->address.mask == NULL && !call->spares_others &&
           are_elements(work) && all->ndim == 1 &&
           all->target_strides[0] == work->call->target.itemsize;
}

/* Does every item come back from the accumulator as it was? Wider types of one kind
 * hold it; an accumulator that was asked for may be narrower, or of another kind.
 * Booleans do not: what is neither 0 nor 1 is written as 1. */
static bool
are_held(const ps_stage *work)
{
    const enum ps_dtype from = work->call->target.dtype, to = work->type;
    const enum ps_kind kind = ps_dtype_kind[from];
    const enum ps_dtype sum = to == PS_k32 ? PS_f32 : to == PS_k64 ? PS_f64 : to;
    if (kind == PS_KIND_BOOL) {
        return false;
    }
    return from == sum ||
           (kind == PS_KIND_HALF && ps_dtype_kind[sum] == PS_KIND_FLOAT) ||
           (kind == ps_dtype_kind[sum] && ps_dtype_size[sum] > ps_dtype_size[from]);
}

/* Then an element whose accumulator has not changed need not be written, and nothing
 * has to say which ones something arrives at. Not where the old value takes no part,
 * nor for means, whose quotient is another number than the sum. */
bool
ps_slots_compare(const ps_stage *work)
{
    const ps_scatter_call *const call = work->call;
    return call->include_self && !call->traits.is_mean && slots_are_items(work) &&
           are_held(work);
}

/* row = item, cast, of all slots, named or not. What is to be compared later on is
 * taken first, and cast from there: the target may be another thread's by then. */
static ps_status
load_items(ps_stage *work)
{
    const ps_target *const target = &work->call->target;
    const int64_t itemsize = target->itemsize;
    for (int64_t first = 0, n; first < work->n_slots; first += n) {
        n = ps_min(SLOTS, work->n_slots - first);
        const char *from = target->data + first * itemsize;
        if (work->before != NULL) {
            ps_copy_shared(work->before + first * itemsize, from, n * itemsize);
            from = work->before + first * itemsize;
        }
        ps_convert(work->type, work->rows + first * work->size, target->dtype, itemsize,
                   target->swapped, from, itemsize, n);
        if (ps_run_stops_after(work->run, &work->unheard,
                               n * (work->size + itemsize))) {
            break;
        }
    }
    return ps_run_status(work->run);
}

/* mask[i] = now[i] != before[i], of n items; false: none of them. For the bits, in
 * loops of one type, of which the compiler makes vector code. */
static bool
find_changed(char *mask, const char *now, const char *before, int64_t size, int64_t n)
{
    if (memcmp(now, before, (size_t)(size * n)) == 0) {
        return false;
    }
    switch (size) {
        case 1:
            for (int64_t i = 0; i < n; i++) {
                mask[i] = now[i] != before[i];
            }
            break;
        case 2:
            for (int64_t i = 0; i < n; i++) {
                mask[i] = ((const u16 *)now)[i] != ((const u16 *)before)[i];
            }
            break;
        case 4:
            for (int64_t i = 0; i < n; i++) {
                mask[i] = ((const u32 *)now)[i] != ((const u32 *)before)[i];
            }
            break;
        case 8:
            for (int64_t i = 0; i < n; i++) {
                mask[i] = ((const u64 *)now)[i] != ((const u64 *)before)[i];
            }
            break;
        default:
            for (int64_t i = 0; i < n; i++) {
                mask[i] = memcmp(now + i * size, before + i * size, 16) != 0;
            }
    }
    return true;
}

/* item = row where that is no longer what was loaded, rounded once: the only write that
 * anybody can see. An element that the call does not name has not changed, so it is not
 * written; one that it names and leaves as it was need not be. */
static ps_status
store_items(ps_stage *work)
{
    const ps_target *const to = &work->call->target;
    const int64_t itemsize = to->itemsize, size = work->size;
    _Alignas(16) char value[SLOTS * 16], item[SLOTS * 16];
    char mask[SLOTS];
    for (int64_t first = 0, n; first < work->n_slots; first += n) {
        n = ps_min(SLOTS, work->n_slots - first);
        const char *const row = work->rows + first * size;
        if (ps_run_stops_after(work->run, &work->unheard, n * (size + itemsize))) {
            break;
        }
        ps_convert(work->type, value, to->dtype, itemsize, to->swapped,
                   work->before + first * itemsize, itemsize, n);
        /* Far from every entry nothing has changed, and nothing is rounded. */
        if (!find_changed(mask, row, value, size, n)) {
            continue;
        }
        memcpy(value, row, (size_t)(n * size));
        if (are_pairs(work)) {
            complete_sums(work->type, value, n);
        }
        ps_store(to->dtype, itemsize, to->swapped, item, itemsize,
                 sum_type(work, value, n), value, n);
        ps_kernels()->where_set[ps_size_of(itemsize)](to->data + first * itemsize, mask,
                                                      item, PS_WORD_BITS, n);
    }
    return ps_run_status(work->run);
}

/* Does anything arrive at a dense slot? Marks say so, or counts, whichever the call
 * has. Rows are walked one by one, so each asks for itself. */
static bool
is_named(const ps_stage *work, int64_t slot)
{
    return work->touched != NULL ? work->touched[slot] != 0 : work->arrivals[slot] != 0;
}

/* Which way rows go. */
enum phase {
    LOAD,
    STORE
};

/* LOAD: row[slot] from its place in the target, or the identity; STORE: finished, and
 * back. In the order of slots, so that the target is walked upwards. Slots at which
 * nothing arrives are left alone in both: they keep their bits. */
static ps_status
walk_slots(ps_stage *work, enum phase phase)
{
    const ps_places *const all = &work->places;
    const int64_t nbytes = work->row_count * work->size;
    const stretch_fn load = work->call->include_self ? load_stretch : fill_stretch;
    for (int64_t slot = 0; slot < work->n_slots; slot++) {
        if (ps_run_stops_after(work->run, &work->unheard, PS_LINE_BYTES)) {
            break;
        }
        if (work->place == NULL && !is_named(work, slot)) {
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

/* Items are loaded whole where the old values take part. ns an entry of 300,000 into
 * 1e6 (Zen 3), by lists of those that are named / whole and compared: add of
 * float16 14.6 / 9.5, of bfloat16 14.4 / 7.2, of float32 in float64 18.5 / 13,
 * compensated 20.3 / 16; the mean, which is counted, 33 / 23. */
ps_status
ps_load_slots(ps_stage *work)
{
    if (work->call->include_self && slots_are_items(work)) {
        return load_items(work);
    }
    return are_elements(work) ? walk_elements(work, load_batch)
                              : walk_slots(work, LOAD);
}

/* The other way round. What was not kept for a comparison is found by marks or counts.
 */
ps_status
ps_store_slots(ps_stage *work)
{
    if (work->before != NULL) {
        return store_items(work);
    }
    return are_elements(work) ? walk_elements(work, store_batch)
                              : walk_slots(work, STORE);
}
