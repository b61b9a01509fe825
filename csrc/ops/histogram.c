/* The histogram ops: moments, counts and weighted sums (contract in histogram.h).
 *
 * Elements are taken in chunks whose limits depend on their number alone. The moments
 * of a chunk are summed in fixed lanes, block by block, and those of chunks are joined
 * in order, so that no bit depends on threads, layout or CPU level. Counts are
 * integers, added up in any order. Sums of float weights are made chunk by chunk in a
 * table of their own, as np.histogram makes them, and added in order; a round of chunks
 * runs side by side.
 */
#include "ops/histogram.h"

#include <math.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Elements below which another thread costs more than it brings: 0.1 ms. */
    PARALLEL_ELEMENTS = 1 << 17,
    /* Chunks of a round for each thread: tables of sums that wait to be added. */
    ROUND = 4,
    /* Sums of floats: a chunk is so many times its table at least, or adding up tables
     * would take as long as filling them. */
    CHUNK_TO_TABLE = 8
};

/* A call on its way. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_histogram_call *call;
    const ps_bin_kernels *kernels;
    ps_moments *moments; /* of each chunk, or NULL */
    int64_t n_chunks, n_pieces;
    ps_tallies tallies;
    /* Weights: a table of sums, and what lies outside, for each chunk of a round or
     * each piece. */
    char *table;
    int64_t table_bytes, first_chunk, chunk;
    ps_operand x, weights;
} histogram_job;

/* What joins anything without changing it. */
static const ps_moments no_moments = {.min = INFINITY, .max = -INFINITY};

/* ---- moments ---- */

/* The other way round would give other bits: `part` comes behind `all`. */
static void
join_moments(ps_moments *all, const ps_moments *part)
{
    all->n_nan += part->n_nan;
    all->n_posinf += part->n_posinf;
    all->n_neginf += part->n_neginf;
    all->n_finite += part->n_finite;
    all->min = part->min < all->min ? part->min : all->min;
    all->max = part->max > all->max ? part->max : all->max;
    all->sum += part->sum;
    all->sum_squares += part->sum_squares;
}

/* Extremes of no elements are NaN. */
static void
finish_moments(const histogram_job *job)
{
    ps_moments all = no_moments;
    for (int64_t i = 0; i < job->n_chunks; i++) {
        join_moments(&all, &job->moments[i]);
    }
    if (all.n_finite == 0) {
        all.min = all.max = NAN;
    }
    job->call->moments = all;
    job->call->is_measured = true;
}

/* Those of the chunk that element `first` is in, cleared at its start; NULL where they
 * are known already. */
static ps_moments *
moments_at(const histogram_job *job, int64_t first)
{
    ps_moments *const own =
            job->moments != NULL ? &job->moments[first / PS_BIN_CHUNK] : NULL;
    if (own != NULL && first % PS_BIN_CHUNK == 0) {
        *own = no_moments;
    }
    return own;
}

/* For each chunk its own: they are joined in order at the end. */
static ps_status
take_moments(histogram_job *job)
{
    const int64_t n = job->n_chunks;
    job->moments = ps_scratch_get(n * (int64_t)sizeof(ps_moments));
    return job->moments != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* NULL is no memory. */
static void
drop_moments(const histogram_job *job)
{
    ps_scratch_put(job->moments, job->n_chunks * (int64_t)sizeof(ps_moments));
}

/* Pieces for work without tables. */
static int64_t
pieces_of(const histogram_job *job)
{
    const bool is_alone = job->run->threads == 1 || job->call->n < PARALLEL_ELEMENTS;
    return is_alone ? 1 : ps_min((int64_t)job->run->threads * ROUND, job->n_chunks);
}

/* Without memory of its own yet. */
static histogram_job
job_of(ps_histogram_call *call, ps_run *run, enum ps_dtype type)
{
    histogram_job job = {.run = run,
                         .call = call,
                         .kernels = ps_kernels()->bins,
                         .n_chunks = ps_max(ps_ceil_div(call->n, PS_BIN_CHUNK), 1)};
    ps_bin_operand(&job.x, &call->x, type);
    return job;
}

/* The first pass where a range is to be found: no bins yet. */
static void
measure_piece(void *context, int64_t piece)
{
    const histogram_job *const job = context;
    _Alignas(64) char buffer[PS_BIN_BLOCK * 8];
    int64_t first, last, unheard = 0;
    ps_bin_piece(job->call->n, job->n_pieces, piece, &first, &last);
    for (int64_t n; first < last; first += n) {
        n = ps_min(PS_BIN_BLOCK, last - first);
        const char *const x = ps_bin_values(&job->x, first, n, buffer);
        job->kernels->measure[job->x.type](moments_at(job, first), x, n);
        if (ps_run_stops_after(job->run, &unheard, n * 8)) {
            return;
        }
    }
}

/* Without elements there is one chunk, of nothing. */
ps_status
ps_histogram_measure(void *argument, ps_run *run)
{
    ps_histogram_call *const call = argument;
    histogram_job work = job_of(call, run, ps_bin_type(call->x.dtype));
    PS_TRY(take_moments(&work));
    work.moments[0] = no_moments;
    work.n_pieces = pieces_of(&work);
    const ps_status status = ps_run_chunks(run, work.n_pieces, measure_piece, &work);
    if (status.code == PS_OK) {
        finish_moments(&work);
    }
    drop_moments(&work);
    return status;
}

/* ---- counts ---- */

/* Slots of elements [first, first + n), n <= PS_BIN_BLOCK; their moments on the way. */
static void
find_block(const histogram_job *job, int64_t first, int64_t n, int32_t *slot)
{
    const ps_finder *const finder = job->call->finder;
    _Alignas(64) char buffer[PS_BIN_BLOCK * 8];
    const char *const x = ps_bin_values(&job->x, first, n, buffer);
    ps_moments *const moments = moments_at(job, first);
    if (moments != NULL) {
        job->kernels->measure[finder->type](moments, x, n);
    }
    job->kernels->find[finder->way][finder->type](&finder->edges, slot, x, n);
}

/* Moments, if they are wanted, slots and counts of a piece in one pass. */
static void
count_piece(void *context, int64_t piece)
{
    const histogram_job *const job = context;
    const ps_tallies *const tallies = &job->tallies;
    int32_t slot[PS_BIN_BLOCK];
    int64_t first, last, unheard = 0;
    uint32_t *const tally = ps_tallies_of(tallies, piece);
    ps_bin_piece(job->call->n, tallies->n_pieces, piece, &first, &last);
    for (int64_t n; first < last; first += n) {
        n = ps_min(PS_BIN_BLOCK, last - first);
        find_block(job, first, n, slot);
        job->kernels->count(tally, tallies->step, tallies->n_tables, slot, n);
        if (ps_run_stops_after(job->run, &unheard, n * 8)) {
            return;
        }
    }
}

/* Of what is in the slots before and behind the bins, what is finite. */
static void
put_outside(ps_histogram_call *call, int64_t below, int64_t above)
{
    call->n_below = ps_max(below - call->moments.n_neginf, 0);
    call->n_above = ps_max(above - call->moments.n_posinf, 0);
}

/* Slots 0 and n_bins + 1 are what is below and above, infinities included; the last
 * slot is NaN, which the moments have counted. Counts are taken over only when all
 * pieces have ended well: until then the caller's arrays are as they were. */
static ps_status
count_all(histogram_job *job)
{
    ps_histogram_call *const call = job->call;
    const int64_t n_bins = call->finder->edges.n_bins;
    int64_t below = 0, above = 0;
    PS_TRY(ps_tallies_open(&job->tallies, call->n, n_bins + 3, job->run));
    const ps_status status =
            ps_run_chunks(job->run, job->tallies.n_pieces, count_piece, job);
    if (status.code == PS_OK) {
        ps_tallies_add(&job->tallies, 0, &below, 1);
        ps_tallies_add(&job->tallies, 1, call->count, n_bins);
        ps_tallies_add(&job->tallies, n_bins + 1, &above, 1);
        if (job->moments != NULL) {
            finish_moments(job);
        }
        put_outside(call, below, above);
    }
    ps_tallies_close(&job->tallies);
    return status;
}

/* ---- weights ---- */

/* A table of sums for each slot, then two counters: below, above. */
/* Tables lie side by side, each on lines of its own. */
static char *
table_of(const histogram_job *job, int64_t number)
{
    return job->table + number * job->table_bytes;
}

/* At the end of a table. */
static int64_t *
counters_of(const histogram_job *job, int64_t number)
{
    return (int64_t *)(table_of(job, number + 1) - 2 * sizeof(int64_t));
}

/* Of the elements; the table holds their weights. */
static void
count_outside(int64_t *counters, const int32_t *slot, int64_t n, int32_t above)
{
    for (int64_t i = 0; i < n; i++) {
        counters[0] += slot[i] == 0;
        counters[1] += slot[i] == above;
    }
}

/* Elements [first, last) into table `number`, which is cleared: what rounds add up
 * later is kept apart until then. */
static void
weigh_range(const histogram_job *job, int64_t number, int64_t first, int64_t last)
{
    const ps_histogram_call *const call = job->call;
    _Alignas(64) char buffer[PS_BIN_BLOCK * 16];
    int32_t slot[PS_BIN_BLOCK];
    int64_t unheard = 0;
    char *const table = table_of(job, number);
    memset(table, 0, (size_t)job->table_bytes);
    for (int64_t n; first < last; first += n) {
        n = ps_min(PS_BIN_BLOCK, last - first);
        find_block(job, first, n, slot);
        const char *const weights = ps_bin_values(&job->weights, first, n, buffer);
        job->kernels->weigh(call->type, table, slot, weights, n);
        count_outside(counters_of(job, number), slot, n,
                      call->finder->edges.n_bins + 1);
        if (ps_run_stops_after(job->run, &unheard, n * 24)) {
            return;
        }
    }
}

/* One chunk of the round that is under way. */
static void
weigh_chunk(void *context, int64_t number)
{
    const histogram_job *const job = context;
    const int64_t first = (job->first_chunk + number) * job->chunk;
    weigh_range(job, number, first, ps_min(first + job->chunk, job->call->n));
}

/* The sums of a table join those before it. */
static void
add_table(const histogram_job *job, int64_t number, int64_t *below, int64_t *above)
{
    const ps_histogram_call *const call = job->call;
    const int64_t size = ps_dtype_size[call->type];
    const char *const table = table_of(job, number) + size;
    const int64_t n = call->finder->edges.n_bins * (size / 8);
    if (call->type == PS_i64) {
        for (int64_t i = 0; i < n; i++) {
            ((uint64_t *)call->sums)[i] += ((const uint64_t *)table)[i];
        }
    }
    else {
        for (int64_t i = 0; i < n; i++) {
            ((double *)call->sums)[i] += ((const double *)table)[i];
        }
    }
    *below += counters_of(job, number)[0];
    *above += counters_of(job, number)[1];
}

/* Round after round of chunks: sums wait for those of the chunks before them. */
static ps_status
weigh_all(histogram_job *job)
{
    ps_histogram_call *const call = job->call;
    const int64_t n_slots = (int64_t)call->finder->edges.n_bins + 3;
    const int64_t least = ps_ceil_div(CHUNK_TO_TABLE * n_slots, PS_BIN_CHUNK);
    job->chunk = ps_max(least, 1) * PS_BIN_CHUNK;
    job->table_bytes = (n_slots * ps_dtype_size[call->type] + 16 + 63) / 64 * 64;
    const int64_t chunks = ps_ceil_div(call->n, job->chunk);
    const int64_t round = ps_max(ps_min(chunks, pieces_of(job)), 1);
    int64_t below = 0, above = 0;
    ps_status status = PS_SUCCESS;
    job->table = ps_scratch_get(round * job->table_bytes);
    if (job->table == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    /* On one thread a round is one chunk; on several, what a round leaves is small
     * beside its chunks. */
    while (job->first_chunk < chunks && status.code == PS_OK) {
        const int64_t n = ps_min(round, chunks - job->first_chunk);
        status = ps_run_chunks(job->run, n, weigh_chunk, job);
        for (int64_t i = 0; i < n && status.code == PS_OK; i++) {
            add_table(job, i, &below, &above);
        }
        job->first_chunk += n;
    }
    if (status.code == PS_OK) {
        if (job->moments != NULL) {
            finish_moments(job);
        }
        put_outside(call, below, above);
    }
    ps_scratch_put(job->table, round * job->table_bytes);
    return status;
}

/* ---- the op ---- */

/* The finder knows the type of elements, which may be wider than theirs. */
ps_status
ps_histogram_count(void *argument, ps_run *run)
{
    ps_histogram_call *const call = argument;
    histogram_job work = job_of(call, run, call->finder->type);
    if (!call->is_measured) {
        PS_TRY(take_moments(&work));
        work.moments[0] = no_moments;
    }
    if (call->sums != NULL) {
        ps_bin_operand(&work.weights, &call->weights, call->type);
    }
    const ps_status status = call->sums != NULL ? weigh_all(&work) : count_all(&work);
    drop_moments(&work);
    return status;
}
