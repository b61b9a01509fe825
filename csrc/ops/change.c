/* The change op: block after block of two arrays is measured, and copied if asked for,
 * in one pass over memory.
 *
 * Elements go in C order, whatever the layout. A part is a stretch of blocks that its
 * size alone fixes; blocks are joined in order within it, and parts at the end, so no
 * bit depends on threads. Parts of all arrays of a call are one list, from which
 * whoever is free takes the next: many small arrays cost one start of the threads. A
 * block of the new array is copied first and measured in the copy, so that what was
 * measured is what was copied, whatever another thread does to the array meanwhile.
 *
 * Three things make a pass more than a loop. An array that is not contiguous, aligned
 * and native is packed, block by block, by what serves all ops (ops/operand.h). A copy
 * that lies side by side is written before it is measured, from where the first cache
 * has it for the loops; one that is strided, or the old array itself, after that. And
 * what rows and features keep is gathered from the same block while it is near
 * (change_axes.c).
 *
 * Half types are measured as float32, integers as float64 by way of what NumPy calls a
 * safe cast; those of 64 bits are subtracted as they are.
 */
#include "ops/change.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/change_parts.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Blocks of a part: 65,536 elements take 20 to 60 us, so that handing one out costs
     * nothing beside it. */
    PART_BLOCKS = 64,
    PART = PART_BLOCKS * PS_CHANGE_BLOCK,
    /* Bytes from which on a copy is written past the caches: three arrays of that size
     * are more than a core's share of a last cache. */
    STREAM_BYTES = 6 << 20
};

/* All calls that are run as one, and how many parts they have together: parts are what
 * threads take, so a call of a thousand small arrays needs no more starts than one. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_change_ready *ready;
    int64_t n_ready, parts;
    char *rooms; /* for as many parts as are run at a time, each with a flag */
    atomic_flag *is_taken;
    int64_t n_rooms, room_nbytes;
} change_work;

/* Whatever has a subtraction, and no more than 64 bits a part. */
bool
ps_is_measurable(enum ps_dtype dtype)
{
    return dtype < PS_NUM_ALL_DTYPES &&
           (ps_dtype_kind[dtype] & (PS_KIND_BOOL | PS_KIND_INT | PS_KIND_FLOAT |
                                    PS_KIND_COMPLEX | PS_KIND_HALF)) != 0;
}

/* ---- one block ---- */

/* Elements [first, first + n) side by side: where they lie, or in `buffer`. What serves
 * masks gives a constant as 64 equal items, and steps over these; here it is written
 * out, since loops without steps are worth more than constants. */
static const char *
read_block(const ps_operand *operand, int64_t first, int64_t n, char *buffer)
{
    int64_t step;
    const char *const from = ps_operand_block(operand, first, n, buffer, &step);
    if (step != 0 || n <= PS_WORD_BITS) {
        return from;
    }
    for (int64_t done = from == buffer ? PS_WORD_BITS : 0; done < n; done++) {
        memcpy(buffer + done * operand->itemsize, from, (size_t)operand->itemsize);
    }
    return buffer;
}

/* Where the next elements of the new array are going to be read: those behind the
 * block, which the kernel asks for while it is at this one. The copy that it measures
 * is not where they are; of an array that is packed there is nothing to ask for. */
static const void *
next_of(const ps_change_ready *ready, int64_t first)
{
    return ready->now.is_flat && !ready->now.is_constant
                   ? ready->now.data + first * ready->now.itemsize
                   : ready->now.item;
}

/* The block of the new array, which has been copied if that is possible beforehand;
 * else it lies in the room. */
static const char *
take_new(const ps_change_ready *ready, int64_t first, int64_t n,
         const ps_change_room *room)
{
    const char *const from = read_block(&ready->now, first, n, room->now);
    const int64_t itemsize = ready->now.itemsize;
    if (ready->call->copy.data == NULL) {
        return from;
    }
    char *const to =
            ready->is_copied_first ? ready->copy.data + first * itemsize : room->now;
    if (from != to) {
        memmove(to, from, (size_t)(n * itemsize));
    }
    return to;
}

/* Elements that were measured in the room go to the copy. One that lies side by side
 * takes them whole: it is too large for the caches, or the old array itself, which had
 * to be read first. Any other is strided or of the other byte order, and is written run
 * by run. */
static void
store_new(const ps_change_ready *ready, int64_t first, int64_t n, const char *from)
{
    const ps_view *const copy = &ready->call->copy;
    if (ready->copy.is_flat && !ready->copy.is_constant) {
        const int64_t nbytes = n * copy->itemsize;
        char *const to = copy->data + first * copy->itemsize;
        if (ready->is_streamed) {
            ps_kernels()->change->stream(to, from, nbytes);
            return;
        }
        memcpy(to, from, (size_t)nbytes);
        return;
    }
    for (int64_t done = 0; done < n;) {
        int64_t count, stride;
        char *const to = ps_operand_run(&ready->copy, first + done, &count, &stride);
        count = ps_min(count, n - done);
        ps_store(copy->dtype, copy->itemsize, copy->swapped, to, stride, copy->dtype,
                 from + done * copy->itemsize, count);
        done += count;
    }
}

/* As the type that is measured, which holds all values of the array's own; in `wide`
 * where that is another one. */
static const void *
as_measured(const ps_change_ready *ready, const char *from, int64_t n, double *wide)
{
    const enum ps_dtype dtype = ready->call->now.dtype;
    if (dtype == ready->type) {
        return from;
    }
    ps_convert(ready->type, (char *)wide, dtype, ready->now.itemsize, false, from,
               ready->now.itemsize, n);
    return wide;
}

/* The four types that are measured; all others have become one of these. */
void
ps_change_run_kernel(const ps_change_ready *ready, const ps_change_block *block,
                     ps_change *change)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    switch (ready->type) {
        case PS_f32:
            kernels->f32(block, change);
            break;
        case PS_f64:
            kernels->f64(block, change);
            break;
        case PS_c64:
            kernels->c64(block, change);
            break;
        default:
            kernels->c128(block, change);
    }
}

/* The kernel of the type, and what integers and half types know better: how many of
 * their bits have changed, which floats of other width may not show, and for integers
 * of 64 bits, whose floats are rounded, which differences are over the tolerance. */
static void
measure(const ps_change_ready *ready, ps_change_block *block, const char *old,
        const char *now, const ps_change_room *room, ps_change *change)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    const bool has_old = old != NULL;
    ps_change known = ps_no_change;
    if (ready->is_wide) {
        block->old = old;
        block->now = now;
        const bool is_signed = ready->call->now.dtype == PS_i64;
        (is_signed ? kernels->widen_i64 : kernels->widen_u64)(
                block, room->wide[0], room->wide[1], room->wide[2], &known);
        block->old = has_old ? room->wide[0] : NULL;
        block->now = room->wide[1];
        block->diff = known.n > 0 ? NULL : room->wide[2];
    }
    else {
        block->old = has_old ? as_measured(ready, old, block->n, room->wide[0]) : NULL;
        block->now = as_measured(ready, now, block->n, room->wide[1]);
    }
    ps_change_run_kernel(ready, block, change);
    if (has_old && ready->is_wide && known.n == 0) {
        change->n_changed = change->n_changed_value = known.n_changed;
        change->n_over_tol = known.n_over_tol;
    }
    if (has_old && ready->is_half) {
        change->n_changed = kernels->differ_u16(old, now, block->n, room->changed);
    }
}

/* Rows and features, from what has just been measured. Changes of integers and halves
 * are those of their own bits, which their floats may have lost. */
static void
take_lines(const ps_change_ready *ready, const ps_change_block *block,
           const ps_change_room *room, int64_t *words)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    ps_change_spread spread = room->spread;
    switch (ready->type) {
        case PS_f32:
            kernels->spread_f32(block, &spread);
            break;
        case PS_f64:
            kernels->spread_f64(block, &spread);
            break;
        case PS_c64:
            kernels->spread_c64(block, &spread);
            break;
        default:
            kernels->spread_c128(block, &spread);
    }
    for (int64_t i = 0; ready->is_wide && i < block->n; i++) {
        spread.changed[i] = block->old != NULL && spread.diff[i] != 0;
    }
    if (ready->is_half && block->old != NULL) {
        spread.changed = room->changed;
    }
    ps_change_take_lines(&ready->lines, words, block->first, block->n, &spread);
}

/* Elements [first, first + n): copied, measured, and joined to *total. A block whose
 * bits have not changed is not written back over the old array: weights of which few
 * change cost two reads then. */
static void
take_block(const ps_change_ready *ready, int64_t first, int64_t n,
           const ps_change_room *room, ps_change *total, int64_t *words)
{
    const ps_change_call *const call = ready->call;
    const char *const now = take_new(ready, first, n, room);
    const char *const old = call->old.data != NULL
                                    ? read_block(&ready->old, first, n, room->old)
                                    : NULL;
    ps_change_block block = {.n = n,
                             .next = next_of(ready, first + n),
                             .first = first,
                             .atol = call->atol,
                             .rtol = call->rtol,
                             .best = total->n > 0 ? total->max_abs : -1,
                             .finite_only = call->finite_only};
    ps_change change;
    measure(ready, &block, old, now, room, &change);
    if (ready->by_runs) {
        ps_change_take_rows(ready, &block, room, &change, words);
    }
    if (ready->lines.takes_rows || ready->lines.takes_features) {
        take_lines(ready, &block, room, words);
    }
    if (call->copy.data != NULL && !ready->is_copied_first &&
        !(ready->is_over_old && change.n_changed == 0)) {
        store_new(ready, first, n, now);
    }
    ps_change_join(total, &change);
}

/* ---- parts ---- */

/* Buffers of a part: small ones are in the room itself, others in one that no part
 * has: there are as many as parts that are run at a time. */
static void
open_room(const change_work *work, const ps_change_ready *ready, ps_change_room *room)
{
    int64_t i = 0;
    room->block = room->small;
    if (ps_change_room_nbytes(ready) > PS_CHANGE_SMALL_ROOM) {
        while (atomic_flag_test_and_set(&work->is_taken[i])) {
            i = (i + 1) % work->n_rooms;
        }
        room->block = work->rooms + i * work->room_nbytes;
    }
    ps_change_lay_room(ready, room);
}

static void
close_room(const change_work *work, const ps_change_room *room)
{
    if (room->block != room->small) {
        atomic_flag_clear(
                &work->is_taken[(room->block - work->rooms) / work->room_nbytes]);
    }
}

/* One part, whose buffers are its own: signals are heard between stretches of blocks,
 * and what a part that was given up has left is not looked at. Features that are taken
 * several rows at once come last: they read the old array and the copy once more, which
 * both are as they have been measured, and what was streamed has to be in place for
 * that. */
static void
run_part(const change_work *work, const ps_change_ready *ready, int64_t part)
{
    ps_run *const run = work->run;
    ps_change_room room;
    ps_change total = ps_no_change;
    const int64_t step = ready->part_blocks * PS_CHANGE_BLOCK;
    const int64_t stop = ps_min(ready->n, (part + 1) * step);
    int64_t *const words =
            ready->words != NULL ? ready->words + part * ready->lines.items : NULL;
    int64_t unheard = 0;
    open_room(work, ready, &room);
    for (int64_t first = part * step; first < stop; first += PS_CHANGE_BLOCK) {
        const int64_t n = ps_min(stop - first, PS_CHANGE_BLOCK);
        take_block(ready, first, n, &room, &total, words);
        if (ps_run_stops_after(run, &unheard, n * (words != NULL ? 64 : 16))) {
            break; /* what a part has left is not looked at then */
        }
    }
    if (ready->is_streamed) {
        ps_kernels()->change->end_stream();
    }
    if (ready->by_columns) {
        ps_change_take_features(ready, part * step, stop, run, &room, words);
    }
    ready->change[part] = total;
    close_room(work, &room);
}

/* The call that a part belongs to is the last that begins at it or before; calls
 * without elements have no parts. */
static void
run_any_part(void *context, int64_t part)
{
    const change_work *const work = context;
    int64_t low = 0, high = work->n_ready;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (work->ready[middle].first_part <= part) {
            low = middle;
        }
        else {
            high = middle;
        }
    }
    if (!ps_run_stops(work->run)) {
        run_part(work, &work->ready[low], part - work->ready[low].first_part);
    }
}

/* ---- the op ---- */

/* Bools and integers as float64, of which those of up to 32 bits lose nothing. */
enum ps_dtype
ps_measured_as(enum ps_dtype dtype)
{
    switch (ps_dtype_kind[dtype]) {
        case PS_KIND_HALF:
            return PS_f32;
        case PS_KIND_FLOAT:
        case PS_KIND_COMPLEX:
            return dtype;
        default:
            return PS_f64;
    }
}

/* As it lies, in its own type; what no vector may load from is packed. */
static void
open_operand(ps_operand *operand, const ps_view *view)
{
    ps_operand_open(operand, view, view->dtype);
    if (!view->aligned) {
        ps_operand_pack(operand);
    }
}

/* Sizes, and how blocks are read. The number of parts follows from sizes alone. Blocks
 * are copied before they are measured where the copy lies side by side and is not the
 * old array. */
static ps_status
make_ready(ps_change_call *call, ps_change_ready *ready)
{
    const enum ps_dtype dtype = call->now.dtype;
    ready->call = call;
    ready->type = ps_measured_as(dtype);
    ready->is_half = ps_dtype_kind[dtype] == PS_KIND_HALF;
    ready->is_wide = dtype == PS_i64 || dtype == PS_u64;
    ready->is_copied_first = ready->is_streamed = ready->is_over_old = false;
    ready->change = NULL;
    ready->words = NULL;
    call->change = ps_no_change;
    if (!ps_count(call->now.ndim, call->now.shape, &ready->n) ||
        !ps_change_lines_of(call, &ready->lines)) {
        return ps_fail(PS_TOO_LARGE);
    }
    open_operand(&ready->now, &call->now);
    if (call->old.data != NULL) {
        open_operand(&ready->old, &call->old);
    }
    if (call->copy.data != NULL) {
        open_operand(&ready->copy, &call->copy);
        ready->is_over_old = call->copy.data == call->old.data;
        const bool is_apart =
                ready->copy.is_flat && !ready->copy.is_constant && !ready->is_over_old;
        const int64_t nbytes = ps_min(ready->n, STREAM_BYTES) * call->now.itemsize;
        ready->is_streamed = is_apart && nbytes >= STREAM_BYTES;
        ready->is_copied_first = is_apart && !ready->is_streamed;
    }
    const int64_t blocks = ps_ceil_div(ready->n, PS_CHANGE_BLOCK);
    ps_change_find_ways(ready);
    ready->parts = ps_change_count_parts(&ready->lines, ready->n,
                                         ps_ceil_div(blocks, PART_BLOCKS));
    ready->part_blocks = ready->parts > 0 ? ps_ceil_div(blocks, ready->parts) : 0;
    ready->part_blocks =
            ready->lines.items == 0 ? PART_BLOCKS : ps_max(1, ready->part_blocks);
    return PS_SUCCESS;
}

/* Bytes that the parts of a call leave their results in: a record each, and words.
 * False: they do not fit in 64 bits. */
static bool
find_nbytes(ps_change_ready *ready)
{
    int64_t words;
    ready->nbytes = 0;
    if (ready->parts <= 1 && ready->lines.items == 0) {
        return true;
    }
    return ps_multiply(ready->lines.items, ready->parts, &words) &&
           ps_multiply(words, 8, &words) &&
           !__builtin_add_overflow(words, ready->parts * (int64_t)sizeof(ps_change),
                                   &ready->nbytes);
}

/* Words begin as zeros, which are no numbers of any feature. */
static ps_status
lay_parts(ps_change_ready *ready, char *at, ps_run *run)
{
    ready->change = ready->nbytes > 0 ? (ps_change *)(void *)at : &ready->own;
    if (ready->lines.items == 0) {
        return PS_SUCCESS;
    }
    ready->words = (int64_t *)(void *)(at + ready->parts * (int64_t)sizeof(ps_change));
    return ps_run_fill(run, ready->words, 0, ready->lines.items * ready->parts * 8);
}

/* Parts become the answer, in order, with NaN of one kind; rows and features become
 * what was asked for. */
static void
finish(ps_change_ready *ready)
{
    for (int64_t part = 0; part < ready->parts && ready->n > 0; part++) {
        ps_change_join(&ready->call->change, &ready->change[part]);
    }
    ps_change_settle(&ready->call->change);
    if (ready->words != NULL) {
        ps_change_finish_lines(&ready->lines, ready->words, ready->parts,
                               &ready->call->axes);
    }
}

/* Rooms for the parts that are run at a time, behind the results. False: all this does
 * not fit in 64 bits. */
static bool
find_rooms(change_work *work, int64_t results, int64_t *nbytes)
{
    int64_t most = 0;
    for (int64_t i = 0; i < work->n_ready; i++) {
        most = ps_max(most, ps_change_room_nbytes(&work->ready[i]));
    }
    *nbytes = results;
    if (most <= PS_CHANGE_SMALL_ROOM) {
        return true;
    }
    work->n_rooms = ps_max(1, ps_min(work->run->threads, work->parts));
    work->room_nbytes = ps_ceil_div(most, PS_LINE_BYTES) * PS_LINE_BYTES;
    const int64_t own = work->room_nbytes + (int64_t)sizeof(atomic_flag);
    return !__builtin_add_overflow(results, PS_LINE_BYTES + work->n_rooms * own,
                                   nbytes);
}

static void
lay_rooms(change_work *work, char *block, int64_t results)
{
    work->rooms = block + ps_ceil_div(results, PS_LINE_BYTES) * PS_LINE_BYTES;
    work->is_taken = (atomic_flag *)(work->rooms + work->n_rooms * work->room_nbytes);
    for (int64_t i = 0; i < work->n_rooms; i++) {
        atomic_flag_clear(&work->is_taken[i]);
    }
}

/* All memory is taken before the first element is copied. */
static ps_status
run_parts(change_work *work, int64_t results)
{
    int64_t nbytes;
    if (!find_rooms(work, results, &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    char *const block = nbytes > 0 ? ps_scratch_get(nbytes) : NULL;
    char *at = block;
    ps_status status =
            block != NULL || nbytes == 0 ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
    if (block != NULL) {
        lay_rooms(work, block, results);
    }
    for (int64_t i = 0; i < work->n_ready && status.code == PS_OK; i++) {
        status = lay_parts(&work->ready[i], at, work->run);
        at += work->ready[i].nbytes;
    }
    if (status.code == PS_OK) {
        status = ps_run_chunks(work->run, work->parts, run_any_part, work);
    }
    for (int64_t i = 0; i < work->n_ready && status.code == PS_OK; i++) {
        finish(&work->ready[i]);
    }
    ps_scratch_put(block, nbytes);
    return status;
}

/* The parts of all calls are numbered through. */
static ps_status
run_ready(const ps_changes *changes, change_work *work)
{
    int64_t nbytes = 0;
    for (int64_t i = 0; i < changes->n; i++) {
        ps_change_ready *const ready = &work->ready[i];
        PS_TRY(make_ready(&changes->call[i], ready));
        if (!find_nbytes(ready) ||
            __builtin_add_overflow(nbytes, ready->nbytes, &nbytes)) {
            return ps_fail(PS_TOO_LARGE);
        }
        ready->first_part = work->parts;
        work->parts += ready->n > 0 ? ready->parts : 0;
        work->run->has_written |=
                changes->call[i].copy.data != NULL && !changes->call[i].is_private;
    }
    return run_parts(work, nbytes);
}

/* Calls are made ready one by one, and then run as one: either all of them, or the op
 * ends in an error, and private copies are not looked at. */
ps_status
ps_change_arrays(void *argument, ps_run *run)
{
    const ps_changes *const changes = argument;
    int64_t nbytes;
    if (!ps_multiply(changes->n, sizeof(ps_change_ready), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    change_work work = {.run = run, .n_ready = changes->n};
    work.ready = ps_scratch_get(nbytes);
    if (work.ready == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const ps_status status = run_ready(changes, &work);
    ps_scratch_put(work.ready, nbytes);
    return status;
}
