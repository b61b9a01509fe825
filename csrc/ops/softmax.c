/* The softmax op: e^(x - top) of each entry over the sum of its segment's, the
 * logarithm of that, or the logarithm of the sums alone (contract in ops.h).
 *
 * top is the largest entry of a segment, so that no power overflows and the largest
 * counts in full. Everything happens in one float type, that of the sums, with one
 * rounding to the result's dtype at the end; exponentials and logarithms are those of
 * kernels/exponential.h. Axes before the entries are parts that are worked one after
 * the other. Results are fresh: they are written while indices are checked.
 *
 * Infinities: softmax and its logarithm are NaN where a segment holds +inf, or nothing
 * but -inf, since inf - inf is; logsumexp takes such a top for 0, so that it is what
 * the sum of the powers themselves would be.
 */
#include "ops/softmax.h"

#include <math.h>
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"

enum {
    LINE = 64 /* what areas of memory begin at a multiple of */
};

/* Areas of different types lie one after the other, each aligned for any of them. */
static int64_t
padded(int64_t nbytes)
{
    return (nbytes + LINE - 1) & -LINE;
}

/* The next area of the memory at *at. */
static char *
carve(char **at, int64_t nbytes)
{
    char *const area = *at;
    *at += padded(nbytes);
    return area;
}

/* Six areas at most, in one block: a call of ten elements takes memory once. What is
 * not gathered has no room for it. */
bool
ps_softmax_open(const ps_softmax_job *job, int64_t extra, ps_softmax_room *room)
{
    const int64_t n = job->capacity;
    const int64_t gathered = job->call->gather.data != NULL ? n : 0;
    const int64_t numbers_nbytes = n * (int64_t)sizeof(int64_t);
    room->nbytes = 2 * padded(numbers_nbytes) + padded(gathered * job->raw_nbytes) +
                   2 * padded(n * job->row_nbytes) + padded(extra);
    room->block = ps_scratch_get(room->nbytes);
    if (room->block == NULL) {
        return false;
    }
    char *at = room->block;
    room->row = (int64_t *)(void *)carve(&at, numbers_nbytes);
    room->number = (int64_t *)(void *)carve(&at, numbers_nbytes);
    room->raw = carve(&at, gathered * job->raw_nbytes);
    room->value = carve(&at, n * job->row_nbytes);
    room->power = carve(&at, n * job->row_nbytes);
    room->extra = at;
    return true;
}

void
ps_softmax_close(ps_softmax_room *room)
{
    ps_scratch_put(room->block, room->nbytes);
}

/* Rows that `gather` names from entry `first` on, side by side in room->raw. False: one
 * does not exist. */
static bool
gather_rows(const ps_softmax_job *job, const ps_softmax_room *room, int64_t first,
            int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const gather = &job->call->gather;
    const int64_t stride = gather->strides[0];
    const ps_list list = {room->number, NULL, n};
    const int size = ps_size_of(job->raw_nbytes);
    if (kernels->rows[gather->type](PS_MODE_RAISE, room->number,
                                    gather->data + first * stride, n, stride,
                                    gather->size) > 0) {
        return false;
    }
    kernels->list_place(room->number, room->number, n, job->raw_nbytes, 0);
    if (size >= 0) {
        kernels->gather[size](room->raw, &list, job->values, job->raw_nbytes);
    }
    else {
        kernels->gather_rows(room->raw, &list, job->values, job->raw_nbytes,
                             job->raw_nbytes, false);
    }
    return true;
}

/* Nothing is copied where values have the type of the sums already: they are read once
 * for the tops and once for the terms, from where they lie. */
const char *
ps_softmax_load(const ps_softmax_job *job, const ps_softmax_room *room, int64_t first,
                int64_t n)
{
    const ps_softmax_call *const call = job->call;
    const int64_t itemsize = ps_dtype_size[call->dtype];
    const char *from = job->values + first * job->raw_nbytes;
    if (call->gather.data != NULL) {
        if (!gather_rows(job, room, first, n)) {
            return NULL;
        }
        from = room->raw;
    }
    if (call->dtype == call->type) {
        return from;
    }
    ps_convert(call->type, room->value, call->dtype, itemsize, false, from, itemsize,
               n * call->width);
    return room->value;
}

/* In place where x was cast, into room->value in any case: the logarithm's result is
 * made of the terms, and not of their powers. */
void
ps_softmax_terms(const ps_softmax_job *job, const ps_softmax_room *room, const char *x,
                 const char *top, int64_t n)
{
    ps_kernels()->meet_groups[job->call->type](PS_sub, job->settles, room->value, x,
                                               top, room->row, n, job->call->width);
}

void
ps_softmax_powers(const ps_softmax_job *job, const ps_softmax_room *room, char *power,
                  int64_t n)
{
    ps_kernels()->exp[job->call->type](power, room->value, n * job->call->width);
}

/* The quotient, or the difference, goes straight to the result where that has the type
 * of the sums; elsewhere it is rounded from room->power, whose own content is no longer
 * needed then. */
void
ps_softmax_write(const ps_softmax_job *job, const ps_softmax_room *room,
                 const char *power, const char *sum, int64_t first, int64_t n)
{
    const ps_softmax_call *const call = job->call;
    const int64_t size = ps_dtype_size[call->type];
    const bool is_log = call->form == PS_LOG_SOFTMAX;
    const bool is_ready = call->out_dtype == call->type;
    char *const to = job->out + first * job->out_nbytes;
    char *const result = is_ready ? to : room->power;
    ps_kernels()->meet_groups[call->type](is_log ? PS_sub : PS_div, false, result,
                                          is_log ? room->value : power, sum, room->row,
                                          n, call->width);
    if (!is_ready) {
        ps_convert(call->out_dtype, to, call->type, size, false, result, size,
                   n * call->width);
    }
}

/* A copy with stride 0: the same bytes again and again. */
void
ps_softmax_fill(const ps_softmax_job *job, char *to, int64_t n)
{
    const int64_t size = ps_dtype_size[job->call->type];
    ps_kernels()->copy[ps_size_of(size)](to, size, job->initial, 0, n);
}

/* Tops have met `initial` by now, so no power is above 1. As rows of one element, which
 * are their own groups, the kernel of the terms does the subtraction. */
void
ps_softmax_begin(const ps_softmax_job *job, char *sum, const char *top, int64_t n)
{
    enum {
        STEP = 256
    };
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_dtype type = job->call->type;
    int64_t own[STEP];
    kernels->list_ramp(own, STEP, 1, 0);
    ps_softmax_fill(job, sum, n);
    for (int64_t i = 0; i < n; i += STEP) {
        char *const to = sum + i * ps_dtype_size[type];
        kernels->meet_groups[type](PS_sub, job->settles, to, to,
                                   top + i * ps_dtype_size[type], own,
                                   ps_min(STEP, n - i), 1);
    }
    kernels->exp[type](sum, sum, n);
}

/* log(0) is -inf: of segments to which nothing came, and of those of -inf alone. A
 * block at a time, so that it is still in the cache when it is rounded. */
void
ps_softmax_end(const ps_softmax_job *job, char *to, char *sum, const char *top,
               int64_t n)
{
    const ps_softmax_call *const call = job->call;
    const int64_t size = ps_dtype_size[call->type];
    if (call->form == PS_SOFTMAX) {
        return;
    }
    if (call->form == PS_LOG_SOFTMAX) {
        ps_kernels()->log[call->type](to, sum, NULL, n);
        return;
    }
    if (call->out_dtype == call->type) {
        ps_kernels()->log[call->type](to, sum, top, n);
        return;
    }
    for (int64_t i = 0; i < n; i += PS_SOFTMAX_BLOCK) {
        const int64_t count = ps_min(PS_SOFTMAX_BLOCK, n - i);
        char *const logs = sum + i * size;
        ps_kernels()->log[call->type](logs, logs, top + i * size, count);
        ps_convert(call->out_dtype, to + i * ps_dtype_size[call->out_dtype], call->type,
                   size, false, logs, size, count);
    }
}

/* Blocks of single elements are whole blocks of the tree, unless there are fewer. */
static void
measure(ps_softmax_job *job)
{
    const ps_softmax_call *const call = job->call;
    const int64_t width = ps_max(1, call->width);
    job->capacity = ps_max(1, ps_min(PS_SOFTMAX_BLOCK / width, call->n_entries));
    job->raw_nbytes = call->width * ps_dtype_size[call->dtype];
    job->row_nbytes = call->width * ps_dtype_size[call->type];
    job->out_nbytes = call->width * ps_dtype_size[call->out_dtype];
    job->settles = call->form == PS_LOGSUMEXP;
    /* + 0.0, since log(1) + -0.0 is 0.0 as well. */
    const f64 initial = call->has_initial ? call->initial + 0.0 : -(f64)INFINITY;
    ps_convert(call->type, job->initial, PS_f64, sizeof(initial), false,
               (const char *)&initial, sizeof(initial), 1);
}

/* One outer part after the other: each has all segments, so threads share the work on
 * one part already. */
ps_status
ps_softmax(void *argument, ps_run *run)
{
    const ps_softmax_call *const call = argument;
    ps_softmax_job job = {.run = run, .call = call};
    measure(&job);
    const int64_t rows =
            call->form == PS_LOGSUMEXP ? call->n_segments : call->n_entries;
    for (int64_t outer = 0; outer < call->outer; outer++) {
        job.values = call->values + outer * call->n_rows * job.raw_nbytes;
        job.out = call->out + outer * rows * job.out_nbytes;
        PS_TRY(call->has_ids ? ps_softmax_ids(&job) : ps_softmax_runs(&job));
    }
    return PS_SUCCESS;
}
