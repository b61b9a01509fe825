/* The pullback op: a cotangent goes back through one reduction along the first axis.
 *
 * The general rules are compositions: a dozen passes over what arrived, with as many
 * arrays of its size. Here each op is a few steps over the result and two or three over
 * the entries; between them lies one number for each element, or for each row. Indices
 * are copied to scratch and checked in the copy, so that another thread cannot lead a
 * step astray. Steps whose items write places of their own are cut for threads; those
 * that count or multiply run in order, so no bit depends on threads.
 */
#include "ops/pullback.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/run.h"

enum {
    /* Bytes that a chunk of a step moves: some tenths of a millisecond, so that signals
     * are heard and threads end together. */
    CHUNK_BYTES = 1 << 20
};

typedef struct {
    ps_run *run;
    const ps_pull_call *call;
    ps_pull pull;
    ps_pull_kernel kernel;
    enum ps_pull_step step;
    /* Items of a step, and of one chunk of it. */
    int64_t n, chunk;
    int64_t *to;
    char *block; /* to, share and held */
    int64_t nbytes;
    bool is_back; /* from the last chunk to the first */
} job;

static void
run_chunk(void *context, int64_t chunk)
{
    const job *const work = context;
    const int64_t first = chunk * work->chunk;
    if (!ps_run_stops(work->run)) {
        work->kernel(work->step, &work->pull, first,
                     ps_min(work->n, first + work->chunk));
    }
}

/* Cut n items of `nbytes` bytes each; the number of chunks. Cuts do not depend on
 * threads. */
static int64_t
cut(job *work, enum ps_pull_step step, int64_t n, int64_t nbytes)
{
    work->step = step;
    work->n = n;
    work->chunk = ps_max(1, CHUNK_BYTES / ps_max(1, nbytes));
    return ps_ceil_div(n, work->chunk);
}

/* Items that write places of their own: threads take chunks as they come. */
static bool
apart(job *work, enum ps_pull_step step, int64_t n, int64_t nbytes)
{
    const int64_t chunks = cut(work, step, n, nbytes);
    return ps_run_chunks(work->run, chunks, run_chunk, work).code == PS_OK;
}

/* Items that meet, one after the other: their numbers are added or multiplied in the
 * order of entries, on the caller's thread. */
static bool
in_order(job *work, enum ps_pull_step step, int64_t n, int64_t nbytes)
{
    const int64_t chunks = cut(work, step, n, nbytes);
    for (int64_t i = 0; i < chunks; i++) {
        run_chunk(work, work->is_back ? chunks - 1 - i : i);
    }
    return ps_run_status(work->run).code == PS_OK;
}

/* to = the rows that the index names; every one is checked in the copy, though the
 * forward call has checked the index: another thread may have rewritten it since. */
static ps_status
read_index(job *work)
{
    const ps_pull_call *const call = work->call;
    const int64_t itemsize = ps_index_itemsize(call->index_type);
    ps_stretch part = ps_stretch_of(work->run, call->n, itemsize + 8);
    while (ps_next_stretch(&part)) {
        const int64_t n_bad = ps_kernels()->rows[call->index_type](
                PS_MODE_RAISE, work->to + part.first,
                call->index + part.first * itemsize, part.last - part.first, itemsize,
                call->rows);
        if (n_bad > 0) {
            return ps_fail(PS_INDEX_BAD);
        }
    }
    return ps_run_status(work->run);
}

/* held[row] = the entry that stays there, the last or the first, or -1 for none: each
 * writes its own number over the one before. */
static bool
find_moved(job *work, bool is_first)
{
    int64_t *const stays = work->pull.held;
    const int64_t n = work->call->n;
    if (ps_run_fill(work->run, stays, 0xff, work->call->rows * 8).code != PS_OK) {
        return false;
    }
    ps_stretch part = ps_stretch_of(work->run, n, 8 + PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t k = part.first; k < part.last; k++) {
            const int64_t entry = is_first ? n - 1 - k : k;
            stays[work->to[entry]] = entry;
        }
    }
    return ps_run_status(work->run).code == PS_OK;
}

/* held[row] = how many entries meet there; the step `average` adds the old value, if
 * there is one. */
static bool
count_rows(job *work)
{
    int64_t *const count = work->pull.held;
    if (ps_run_fill(work->run, count, 0, work->call->rows * 8).code != PS_OK) {
        return false;
    }
    ps_stretch part = ps_stretch_of(work->run, work->call->n, 8 + PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t k = part.first; k < part.last; k++) {
            count[work->to[k]]++;
        }
    }
    return ps_run_status(work->run).code == PS_OK;
}

/* The steps of an op, each of which is made unless one before has failed, or a signal
 * was heard: what is written is private until all of them are done. An item counts the
 * four numbers that it reads and writes, and an entry the line that it visits; these
 * say how often signals are heard and how finely threads are served. */
static void
take_steps(job *work)
{
    const ps_pull_call *const call = work->call;
    const int64_t n = call->n, rows = call->rows, all = rows * work->pull.width;
    const int64_t each = 4 * ps_dtype_size[call->type], row = each * work->pull.width;
    const int64_t entry = row + PS_LINE_BYTES;
    switch (call->how) {
        case PS_MEET_LAST:
        case PS_MEET_FIRST:
            (void)(find_moved(work, call->how == PS_MEET_FIRST) &&
                   apart(work, PS_PULL_KEEP, rows, row) &&
                   apart(work, PS_PULL_MOVED, n, entry));
            break;
        case PS_MEET_MEAN:
            (void)(count_rows(work) && apart(work, PS_PULL_AVERAGE, rows, row) &&
                   apart(work, PS_PULL_SPREAD, n, entry));
            break;
        case PS_MEET_PRODUCT:
            if (apart(work, PS_PULL_ONES, all, each) &&
                in_order(work, PS_PULL_BEFORE, n, entry) &&
                apart(work, PS_PULL_PRODUCT, all, each)) {
                work->is_back = true;
                in_order(work, PS_PULL_AFTER, n, entry);
            }
            break;
        case PS_MEET_EXTREME:
            (void)(apart(work, PS_PULL_START, rows, row) &&
                   in_order(work, PS_PULL_COUNT, n, entry) &&
                   apart(work, PS_PULL_SHARE, rows, row) &&
                   apart(work, PS_PULL_GIVE, n, entry));
            break;
        default:
            (void)(apart(work, PS_PULL_START, rows, row) &&
                   in_order(work, PS_PULL_FIRST, n, entry) &&
                   apart(work, PS_PULL_SHARE, rows, row));
    }
}

/* Room for `to`, and for share and held, of which no element has more than 8 bytes;
 * extremes, which hold nothing, share twice as many. One block is the only allocation
 * of the op. */
static ps_status
get_room(job *work)
{
    const ps_pull_call *const call = work->call;
    int64_t elements, room;
    if (!ps_multiply(call->rows, ps_max(1, work->pull.width), &elements) ||
        !ps_multiply(elements, 16, &room) || !ps_multiply(call->n, 8, &work->nbytes) ||
        room > INT64_MAX - work->nbytes) {
        return ps_fail(PS_TOO_LARGE);
    }
    work->nbytes += room;
    work->block = ps_scratch_get(work->nbytes);
    if (work->block == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    work->to = (int64_t *)(void *)work->block;
    work->pull.to = work->to;
    work->pull.share = work->block + call->n * 8;
    work->pull.held = work->block + (call->n + elements) * 8;
    return PS_SUCCESS;
}

ps_status
ps_pull_back(void *argument, ps_run *run)
{
    const ps_pull_call *const call = argument;
    job work = {.run = run,
                .call = call,
                .pull = call->pull,
                .kernel = ps_kernels()->pull[call->type]};
    PS_TRY(get_room(&work));
    ps_status status = read_index(&work);
    if (status.code == PS_OK) {
        take_steps(&work);
        status = ps_run_status(run);
    }
    ps_scratch_put(work.block, work.nbytes);
    return status;
}
