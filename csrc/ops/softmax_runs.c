/* Softmax of runs of entries: whole segments in one pass (contract in softmax.h).
 *
 * Segments are cut into chunks, whose entries and outputs no other chunk touches. A
 * chunk copies and checks the limits of some hundred segments and takes as many whole
 * segments as a block holds: loaded once, their tops, powers, sums and results follow
 * while they are in the cache. A segment that is longer than a block is walked three
 * times, for its top, its sum and its results; its powers are made twice, which is
 * cheaper than memory for all of them. Sums have the tree of kernels/segment.tmpl.h.
 */
#include <stddef.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/run.h"
#include "ops/softmax.h"

enum {
    /* Segments whose limits are copied at a time: 8 KiB of them. */
    SEGMENTS = 512,
    /* Bytes of the tops, and of the sums, of the segments of a block. */
    SUMS_BYTES = 32 << 10,
    /* Elements of a chunk, on average: 0.3 ms of work, beside which the 5 us of handing
     * it to a thread do not count. */
    CHUNK_ITEMS = 32 << 10
};

_Static_assert(PS_SOFTMAX_BLOCK % PS_FOLD_BLOCK == 0, "whole blocks of the tree");

typedef struct {
    ps_softmax_job job; /* first: it begins with the run */
    int64_t most;       /* segments of a block */
    int64_t chunk_length;
} ready_runs;

/* A chunk at work: what its steps hand to each other. */
typedef struct {
    const ps_softmax_job *job;
    int64_t most;
    ps_softmax_room room;
    char *top, *sum; /* of the segments at hand */
    const char *x;   /* the entries of the block */
    /* Where the segments lie in the block. */
    int64_t start[SEGMENTS], stop[SEGMENTS];
    int64_t unheard;
} walk;

/* What is worked on as a whole: segments [s, s + count) of the call, whose entries are
 * [first, first + n): a block, or one segment longer than that. */
typedef struct {
    int64_t s, count, first, n;
} batch;

/* to[k] = the rows of segment k of the block folded by op, n rows in all; goes_on: on
 * top of what `to` holds, one segment after the other. */
static void
fold(const walk *w, enum ps_op op, char *to, const char *from, int64_t count, int64_t n,
     bool goes_on)
{
    const ps_softmax_call *const call = w->job->call;
    const ps_kernel_table *const kernels = ps_kernels();
    _Alignas(16) char neutral[16], nothing[16] = {0};
    ps_write_identity(op, call->type, neutral);
    const int64_t step = goes_on ? 1 : count;
    for (int64_t k = 0; k < count; k += step) {
        const ps_segments segments = {.start = w->start + k,
                                      .stop = w->stop + k,
                                      .n = step,
                                      .width = call->width,
                                      .value_stride = w->job->row_nbytes,
                                      .readable = n,
                                      .neutral = neutral,
                                      .empty = op == PS_add ? nothing : neutral,
                                      .continues = goes_on};
        if (goes_on && w->start[k] == w->stop[k]) {
            continue;
        }
        if (call->width == 1) {
            kernels->segment[op][call->type](to + k * w->job->row_nbytes, from,
                                             &segments);
        }
        else {
            kernels->segment_rows[op][call->type](to + k * w->job->row_nbytes, from,
                                                  &segments);
        }
    }
}

/* The part of a batch at a time that a block holds: all of it, or so much of a long
 * segment, which is then read anew in each of its three walks. */
typedef struct {
    int64_t at, n; /* entries before it; its own; -1 before the first part */
    enum ps_code code;
} part;

/* Where a walk begins; a batch without entries has one part, which is empty. */
static part
before_parts(void)
{
    return (part){.at = 0, .n = -1, .code = PS_OK};
}

/* False: no part is left, or its `code` tells why not. */
static bool
next_part(walk *w, const batch *b, part *p)
{
    const int64_t capacity = w->job->capacity;
    const bool is_long = b->n > capacity;
    p->at += ps_max(0, p->n);
    if (p->n >= 0 && p->at >= b->n) {
        return false;
    }
    p->n = ps_min(capacity, b->n - p->at);
    if (is_long) {
        w->start[0] = 0;
        w->stop[0] = p->n;
        if (ps_run_stops_after(w->job->run, &w->unheard, p->n * w->job->row_nbytes)) {
            p->code = PS_INTERRUPTED;
            return false;
        }
    }
    if (w->x == NULL || is_long) {
        w->x = ps_softmax_load(w->job, &w->room, b->first + p->at, p->n);
        p->code = w->x == NULL ? PS_INDEX_BAD : PS_OK;
    }
    return w->x != NULL;
}

/* Which of the batch's segments each row of the block is of. */
static void
number_rows(const walk *w, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = w->start[k]; i < w->stop[k]; i++) {
            w->room.row[i] = k;
        }
    }
}

/* The tops of a batch. A NaN is the largest of all, as in max. */
static enum ps_code
find_tops(walk *w, const batch *b)
{
    const ps_softmax_call *const call = w->job->call;
    part p = before_parts();
    if (call->has_initial) {
        ps_softmax_fill(w->job, w->top, b->count * call->width);
    }
    while (next_part(w, b, &p)) {
        fold(w, PS_max, w->top, w->x, b->count, p.n, p.at > 0 || call->has_initial);
    }
    return p.code;
}

/* Its sums, of powers that stay in the block. `room->row` and room->power are those of
 * the last part when it returns. */
static enum ps_code
find_sums(walk *w, const batch *b)
{
    const ps_softmax_call *const call = w->job->call;
    part p = before_parts();
    if (call->has_initial) {
        ps_softmax_begin(w->job, w->sum, w->top, b->count * call->width);
    }
    while (next_part(w, b, &p)) {
        number_rows(w, b->count);
        ps_softmax_terms(w->job, &w->room, w->x, w->top, p.n);
        ps_softmax_powers(w->job, &w->room, w->room.power, p.n);
        fold(w, PS_add, w->sum, w->room.power, b->count, p.n,
             p.at > 0 || call->has_initial);
    }
    return p.code;
}

/* Its results. Terms and powers of a block that is a whole batch are still there. */
static enum ps_code
write_results(walk *w, const batch *b)
{
    const ps_softmax_job *const job = w->job;
    const bool is_sum = job->call->form == PS_LOGSUMEXP;
    char *const to = is_sum ? job->out + b->s * job->out_nbytes : w->sum;
    part p = before_parts();
    ps_softmax_end(job, to, w->sum, w->top, b->count * job->call->width);
    while (!is_sum && next_part(w, b, &p)) {
        if (b->n > job->capacity) {
            number_rows(w, 1);
            ps_softmax_terms(job, &w->room, w->x, w->top, p.n);
            if (job->call->form == PS_SOFTMAX) {
                ps_softmax_powers(job, &w->room, w->room.power, p.n);
            }
        }
        ps_softmax_write(job, &w->room, w->room.power, w->sum, b->first + p.at, p.n);
    }
    return p.code;
}

/* Tops are needed before the first power, and all of a sum before the first quotient:
 * three steps, which find the block in the cache, or three walks over a long segment.
 */
static enum ps_code
work_batch(walk *w, const batch *b)
{
    w->x = NULL;
    enum ps_code code = find_tops(w, b);
    if (code == PS_OK) {
        code = find_sums(w, b);
    }
    if (code == PS_OK) {
        code = write_results(w, b);
    }
    const int64_t nbytes = (b->n + b->count) * w->job->row_nbytes + b->count;
    if (code == PS_OK && ps_run_stops_after(w->job->run, &w->unheard, nbytes)) {
        code = PS_INTERRUPTED;
    }
    return code;
}

/* Copies of n numbers of an index from `first` on; how many are not in [0, size)? Those
 * come out as -1, which begins after nothing and so is counted again. */
static int64_t
copy_limits(const ps_index *index, int64_t *to, int64_t first, int64_t n, int64_t size)
{
    const int64_t stride = index->strides[0];
    return ps_kernels()->rows[index->type](
            PS_MODE_DROP, to, index->data + first * stride, n, stride, size);
}

/* Copies of the limits of n segments from s on; are they runs of entries? Where each
 * entry has a result, do they leave none out, and begin where the one before ended? */
static bool
read_limits(const ps_softmax_call *call, int64_t s, int64_t n, int64_t *start,
            int64_t *stop)
{
    const int64_t size = call->n_entries + 1;
    int64_t end = 0;
    int64_t n_bad = copy_limits(&call->start, start, s, n, size) +
                    copy_limits(&call->stop, stop, s, n, size);
    if (s > 0) {
        n_bad += copy_limits(&call->stop, &end, s - 1, 1, size);
    }
    for (int64_t i = 0; i < n; i++) {
        n_bad += start[i] > stop[i];
        if (call->form != PS_LOGSUMEXP) {
            n_bad += start[i] != end;
            end = stop[i];
        }
    }
    const bool is_last = s + n == call->n_segments && call->form != PS_LOGSUMEXP;
    return n_bad == 0 && (!is_last || end == call->n_entries);
}

/* The first segments from s on that fit into a block together, which neighbours may, or
 * one; where they lie in the block. */
static batch
next_batch(walk *w, int64_t s, const int64_t *start, const int64_t *stop, int64_t n)
{
    batch b = {.s = s, .count = 0, .first = start[0]};
    n = ps_min(n, w->most);
    do {
        w->start[b.count] = start[b.count] - b.first;
        w->stop[b.count] = stop[b.count] - b.first;
        b.n = w->stop[b.count++];
    } while (b.count < n && start[b.count] == stop[b.count - 1] &&
             stop[b.count] - b.first <= w->job->capacity);
    return b;
}

/* The segments of a chunk: their limits copied, checked, then taken a batch at a time.
 */
static enum ps_code
work_segments(walk *w, int64_t first, int64_t last)
{
    int64_t start[SEGMENTS], stop[SEGMENTS];
    for (int64_t s = first; s < last; s += SEGMENTS) {
        const int64_t n = ps_min(SEGMENTS, last - s);
        if (!read_limits(w->job->call, s, n, start, stop)) {
            return PS_INDEX_BAD;
        }
        for (int64_t i = 0; i < n;) {
            const batch b = next_batch(w, s + i, start + i, stop + i, n - i);
            const enum ps_code code = work_batch(w, &b);
            if (code != PS_OK) {
                return code;
            }
            i += b.count;
        }
    }
    return PS_OK;
}

/* A chunk has memory of its own, and notes its failure for all. */
static void
run_chunk(void *context, int64_t chunk)
{
    const ready_runs *const ready = context;
    const ps_softmax_job *const job = &ready->job;
    const int64_t first = chunk * ready->chunk_length;
    const int64_t last = ps_min(job->call->n_segments, first + ready->chunk_length);
    const int64_t sums_nbytes = ready->most * job->row_nbytes;
    if (ps_run_stops(job->run)) {
        return;
    }
    walk w; /* its limits are large, and set when they are needed */
    enum ps_code code = PS_NO_MEMORY;
    w.job = job;
    w.most = ready->most;
    w.unheard = 0;
    if (ps_softmax_open(job, 2 * sums_nbytes, &w.room)) {
        w.top = w.room.extra;
        w.sum = w.top + sums_nbytes;
        code = work_segments(&w, first, last);
        ps_softmax_close(&w.room);
    }
    if (code != PS_OK) {
        ps_run_fail(job->run, code);
    }
}

/* Chunks have about as many elements each, counted by the average length: a segment is
 * never cut, whatever its length. */
ps_status
ps_softmax_runs(ps_softmax_job *job)
{
    const ps_softmax_call *const call = job->call;
    const int64_t n = call->n_segments;
    if (n == 0) {
        const bool is_whole = call->form == PS_LOGSUMEXP || call->n_entries == 0;
        return is_whole ? PS_SUCCESS : ps_fail(PS_INDEX_BAD);
    }
    const int64_t width = ps_max(1, call->width);
    const int64_t most = ps_max(1, SUMS_BYTES / ps_max(1, job->row_nbytes));
    ready_runs ready = {.job = *job, .most = ps_min(n, ps_min(SEGMENTS, most))};
    const int64_t each = (call->n_entries / n + 1) * width;
    ready.chunk_length = ps_max(1, CHUNK_ITEMS / each);
    return ps_run_chunks(job->run, ps_ceil_div(n, ready.chunk_length), run_chunk,
                         &ready);
}
