/* The bins op: numbers of bins, or counts of them, in one pass over all coordinates.
 *
 * Blocks of each coordinate become slots and these one number, in the first cache.
 * Pieces of entries count in tables of their own, which are added up at the end:
 * integers come out the same in any order, whatever the number of threads.
 */
#include "ops/bins.h"

#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Entries below which another thread costs more than it brings: 0.1 ms. */
    PARALLEL_ENTRIES = 1 << 17,
    /* Parts for each thread, so that one that is late has little left; fewer where
     * their tables would outgrow the second cache. */
    PARTS = 4,
    SMALL_TABLE = 1 << 14,
    /* Slots up to which each piece counts in four tables: 64 KB of them. */
    FOUR_TABLES = 1 << 12,
    /* Entries of a piece: 32 bits count them. */
    MOST_ENTRIES = 1 << 30
};

/* ---- tallies ---- */

/* Whole chunks for each piece, one more for the first ones: pieces begin where chunks
 * do, so that what is kept for a chunk belongs to one thread. */
void
ps_bin_piece(int64_t n, int64_t n_pieces, int64_t piece, int64_t *first, int64_t *last)
{
    const int64_t chunks = ps_ceil_div(n, PS_BIN_CHUNK);
    *first = chunks / n_pieces * piece + ps_min(piece, chunks % n_pieces);
    *last = *first + chunks / n_pieces + (piece < chunks % n_pieces);
    *first = ps_min(*first * PS_BIN_CHUNK, n);
    *last = ps_min(*last * PS_BIN_CHUNK, n);
}

/* Few slots: several small pieces for each thread, each with four tables. Many: tables
 * are cleared and added up, which must not outweigh the counting. */
ps_status
ps_tallies_open(ps_tallies *tallies, int64_t n, int64_t n_slots, const ps_run *run)
{
    const int64_t chunks = ps_max(ps_ceil_div(n, PS_BIN_CHUNK), 1);
    int64_t pieces = 1;
    if (run->threads > 1 && n >= PARALLEL_ENTRIES) {
        const int64_t parts = n_slots <= SMALL_TABLE ? PARTS : 1;
        pieces = ps_min(run->threads * parts, chunks);
        pieces = ps_min(pieces, ps_max(n / n_slots, 1));
    }
    tallies->n_pieces = ps_max(pieces, ps_ceil_div(n, MOST_ENTRIES));
    tallies->n_tables = n_slots <= FOUR_TABLES && n >= 4 * n_slots ? 4 : 1;
    tallies->step = n_slots;
    tallies->count = NULL;
    if (!ps_multiply(n_slots, 4 * tallies->n_tables * tallies->n_pieces,
                     &tallies->nbytes)) {
        return ps_fail(PS_NO_MEMORY);
    }
    tallies->count = ps_scratch_get(tallies->nbytes);
    return tallies->count != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* A piece clears its own tables: their pages are near the thread that uses them. */
uint32_t *
ps_tallies_of(const ps_tallies *tallies, int64_t piece)
{
    const int64_t n = tallies->step * tallies->n_tables;
    uint32_t *const own = tallies->count + piece * n;
    memset(own, 0, (size_t)n * sizeof(*own));
    return own;
}

/* Integers: any order of tables gives the same totals. */
void
ps_tallies_add(const ps_tallies *tallies, int64_t first, int64_t *total, int64_t n)
{
    for (int64_t table = 0; table < tallies->n_tables * tallies->n_pieces; table++) {
        const uint32_t *const own = tallies->count + table * tallies->step + first;
        for (int64_t i = 0; i < n; i++) {
            total[i] += own[i];
        }
    }
}

void
ps_tallies_close(ps_tallies *tallies)
{
    ps_scratch_put(tallies->count, tallies->nbytes);
}

/* ---- the pass ---- */

/* A call on its way; operands are as large as a page, and as many as coordinates. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_bins_call *call;
    const ps_bin_kernels *kernels;
    ps_tallies tallies;
    int64_t n_pieces;
    ps_operand operands[]; /* of the coordinates */
} bins_job;

/* Operands stand for many equal elements by a short block of them; kernels of this
 * family want all of them, since sums depend on where a block begins. */
const char *
ps_bin_values(const ps_operand *operand, int64_t first, int64_t n, char *buffer)
{
    int64_t step;
    const char *const values = ps_operand_block(operand, first, n, buffer, &step);
    if (step != 0) {
        return values;
    }
    const int64_t size = ps_dtype_size[operand->type];
    for (int64_t done = 0; done < n; done += PS_WORD_BITS) {
        memmove(buffer + done * size, values,
                (size_t)(ps_min(n - done, PS_WORD_BITS) * size));
    }
    return buffer;
}

/* Kernels read elements where they lie only if these are aligned. */
void
ps_bin_operand(ps_operand *operand, const ps_view *view, enum ps_dtype type)
{
    ps_operand_open(operand, view, type);
    if (!view->aligned) {
        ps_operand_pack(operand);
    }
}

/* Numbers of entries [first, first + n), n <= PS_BIN_BLOCK. */
static void
find_block(const bins_job *job, int64_t first, int64_t n, int32_t *number)
{
    const ps_bins_call *const call = job->call;
    _Alignas(64) char buffer[PS_BIN_BLOCK * 8];
    int32_t slot[PS_BIN_BLOCK];
    for (int axis = 0; axis < call->n_coordinates; axis++) {
        const ps_finder *const finder = call->finders[axis];
        const char *const x = ps_bin_values(&job->operands[axis], first, n, buffer);
        job->kernels->find[finder->way][finder->type](&finder->edges, slot, x, n);
        job->kernels->join(call->outside, axis == 0, number, slot, n,
                           finder->edges.n_bins);
    }
}

/* One piece, block after block: numbers while they are in the first cache are counted
 * and handed out. */
static void
run_piece(void *context, int64_t piece)
{
    const bins_job *const job = context;
    const ps_bins_call *const call = job->call;
    const ps_tallies *const tallies = &job->tallies;
    int32_t number[PS_BIN_BLOCK];
    int64_t first, last, unheard = 0;
    uint32_t *const tally = call->count != NULL ? ps_tallies_of(tallies, piece) : NULL;
    ps_bin_piece(call->n, job->n_pieces, piece, &first, &last);
    for (int64_t n; first < last; first += n) {
        n = ps_min(PS_BIN_BLOCK, last - first);
        find_block(job, first, n, number);
        if (tally != NULL) {
            job->kernels->count(tally + 1, tallies->step, tallies->n_tables, number, n);
        }
        if (call->number != NULL) {
            job->kernels->number(call->number + first * call->number_bytes,
                                 call->number_bytes, number, n);
        }
        if (ps_run_stops_after(job->run, &unheard, n * 8 * call->n_coordinates)) {
            return;
        }
    }
}

/* Entries that the tables of a piece would outweigh are few: then it is one piece. */
static ps_status
take_tallies(bins_job *job)
{
    const ps_bins_call *const call = job->call;
    if (call->count != NULL) {
        PS_TRY(ps_tallies_open(&job->tallies, call->n, call->n_bins + 1, job->run));
        job->n_pieces = job->tallies.n_pieces;
        return PS_SUCCESS;
    }
    const int64_t chunks = ps_max(ps_ceil_div(call->n, PS_BIN_CHUNK), 1);
    const bool is_alone = job->run->threads == 1 || call->n < PARALLEL_ENTRIES;
    job->n_pieces = is_alone ? 1 : ps_min((int64_t)job->run->threads * PARTS, chunks);
    return PS_SUCCESS;
}

/* Nothing that a caller sees is written to but fresh arrays: an error leaves no trace.
 */
ps_status
ps_bins_find(void *argument, ps_run *run)
{
    const ps_bins_call *const call = argument;
    const int64_t nbytes = (int64_t)sizeof(bins_job) +
                           call->n_coordinates * (int64_t)sizeof(ps_operand);
    bins_job *const work = ps_scratch_get(nbytes);
    if (work == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    *work = (bins_job){.run = run, .call = call, .kernels = ps_kernels()->bins};
    for (int axis = 0; axis < call->n_coordinates; axis++) {
        ps_bin_operand(&work->operands[axis], &call->coordinates[axis],
                       call->finders[axis]->type);
    }
    ps_status status = take_tallies(work);
    if (status.code == PS_OK) {
        status = ps_run_chunks(run, work->n_pieces, run_piece, work);
    }
    if (call->count != NULL) {
        if (status.code == PS_OK) {
            ps_tallies_add(&work->tallies, 1, call->count, call->n_bins);
        }
        ps_tallies_close(&work->tallies);
    }
    ps_scratch_put(work, nbytes);
    return status;
}
