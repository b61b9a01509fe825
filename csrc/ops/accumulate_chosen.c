/* The sum of what a mask chooses, along an axis: how a cotangent comes back to an
 * operand that `where` had spread, without an array of the full shape.
 *
 * Rows are cut into at most 64 blocks by their number and length alone; each block is
 * summed on its own, and blocks are added in order, so no bit depends on threads.
 * Within a block, pieces of up to 1,024 elements are selected into the first cache
 * (what is not chosen becomes zero, whatever it was) and added to as many sums. Narrow
 * rows share such a piece: several rows are summed side by side, and halves added at
 * the end.
 */
#include "ops/accumulate_chosen.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Elements of a piece: its selection and its sums stay in the first cache. */
    PIECE = 1024,
    /* Blocks of rows, and elements of a block at least: few sums to add at the end,
     * enough blocks for threads. */
    BLOCKS = 64,
    BLOCK_ELEMENTS = 1 << 15,
    LARGEST = 16 /* bytes of an element */
};

typedef struct {
    ps_run *run;
    const ps_chosen_call *call;
    const ps_kernel_table *kernels;
    int64_t itemsize, blocks, rows; /* rows of a block */
    char *sums;                     /* [outer][blocks][inner] */
} job;

/* Work memory of one block, on the stack. */
typedef struct {
    _Alignas(64) char selected[PIECE * LARGEST];
    _Alignas(64) char sums[PIECE * LARGEST];
    _Alignas(64) char zeros[PS_WORD_BITS * LARGEST];
    char mask[PIECE];
} room;

/* sums[i] += values[i] for n elements. */
static void
add(const job *work, char *sums, const char *values, int64_t n)
{
    static const char ones[PIECE] = {[0 ... PIECE - 1] = 1};
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t at = first * work->itemsize;
        work->kernels->masked[PS_add][work->call->type](
                sums + at, ones, values + at, PS_WORD_BITS, ps_min(PIECE, n - first));
    }
}

/* The mask of n elements from (row, column) on, which may run over ends of rows. */
static const char *
mask_of(const ps_chosen_call *call, int64_t outer, int64_t row, int64_t column,
        int64_t n, char *bytes)
{
    const char *const mask = call->mask + outer * call->mask_outer;
    const bool in_row = column + n <= call->inner;
    if (call->mask_inner == 1 && (in_row || call->mask_row == call->inner)) {
        return mask + row * call->mask_row + column;
    }
    for (int64_t i = 0; i < n; i++) {
        bytes[i] = mask[row * call->mask_row + column * call->mask_inner];
        if (++column == call->inner) {
            column = 0;
            row++;
        }
    }
    return bytes;
}

/* Select n elements from (row, column) on and add them to `sums`. */
static void
add_piece(const job *work, room *own, int64_t outer, int64_t row, int64_t column,
          int64_t n, char *sums)
{
    const ps_chosen_call *const call = work->call;
    const char *const mask = mask_of(call, outer, row, column, n, own->mask);
    const char *const g =
            call->g +
            ((outer * call->rows + row) * call->inner + column) * work->itemsize;
    const int64_t step = PS_WORD_BITS;
    work->kernels->where[ps_size_of(work->itemsize)](
            own->selected, mask, call->chosen ? g : own->zeros, call->chosen ? step : 0,
            call->chosen ? own->zeros : g, call->chosen ? 0 : step, n, false);
    add(work, sums, own->selected, n);
}

/* Rows that are no longer than a piece: as many as it holds, a power of two, side by
 * side; then the upper half is added to the lower, until one row is left. */
static void
sum_narrow(const job *work, room *own, int64_t outer, int64_t first, int64_t last,
           char *sums)
{
    const int64_t inner = work->call->inner, bytes = inner * work->itemsize;
    int64_t beside = 1;
    while (2 * beside * inner <= PIECE) {
        beside *= 2;
    }
    memset(own->sums, 0, (size_t)(beside * bytes));
    for (int64_t row = first; row < last; row += beside) {
        const int64_t n = ps_min(beside, last - row) * inner;
        add_piece(work, own, outer, row, 0, n, own->sums);
    }
    while (beside > 1) {
        beside /= 2;
        add(work, own->sums, own->sums + beside * bytes, beside * inner);
    }
    memcpy(sums, own->sums, (size_t)bytes);
}

/* Rows that are longer: piece after piece of each, added where its columns are. The
 * sums of a block stay in a near cache, while every byte of g is read once. */
static void
sum_wide(const job *work, room *own, int64_t outer, int64_t first, int64_t last,
         char *sums)
{
    const int64_t inner = work->call->inner;
    int64_t unheard = 0;
    memset(sums, 0, (size_t)(inner * work->itemsize));
    for (int64_t row = first; row < last; row++) {
        for (int64_t column = 0; column < inner; column += PIECE) {
            const int64_t n = ps_min(PIECE, inner - column);
            char *const at = sums + column * work->itemsize;
            add_piece(work, own, outer, row, column, n, at);
        }
        if (ps_run_stops_after(work->run, &unheard, inner * work->itemsize)) {
            return;
        }
    }
}

/* The sums of one block of rows. Zeros stand for all that is not chosen: a constant of
 * 64 elements, over which the selection does not step on. */
static void
sum_block(void *context, int64_t chunk)
{
    const job *const work = context;
    const int64_t outer = chunk / work->blocks, block = chunk % work->blocks;
    const int64_t first = block * work->rows;
    const int64_t last = ps_min(first + work->rows, work->call->rows);
    char *const sums = work->sums + chunk * work->call->inner * work->itemsize;
    room own;
    if (ps_run_stops(work->run)) {
        return;
    }
    memset(own.zeros, 0, sizeof(own.zeros));
    if (work->call->inner <= PIECE / 2) {
        sum_narrow(work, &own, outer, first, last, sums);
    }
    else {
        sum_wide(work, &own, outer, first, last, sums);
    }
}

/* Blocks meet in order. */
static void
add_blocks(const job *work)
{
    const int64_t bytes = work->call->inner * work->itemsize;
    for (int64_t outer = 0; outer < work->call->outer; outer++) {
        char *const sums = work->sums + outer * work->blocks * bytes;
        for (int64_t block = 1; block < work->blocks; block++) {
            add(work, sums, sums + block * bytes, work->call->inner);
        }
        memcpy(work->call->out + outer * bytes, sums, (size_t)bytes);
    }
}

/* Nothing is checked: there is no index, and what is written is private. Blocks depend
 * on the shape alone; threads take them as they come. */
ps_status
ps_sum_chosen(void *argument, ps_run *run)
{
    const ps_chosen_call *const call = argument;
    job work = {.run = run,
                .call = call,
                .kernels = ps_kernels(),
                .itemsize = ps_dtype_size[call->type]};
    const int64_t least = ps_max(ps_ceil_div(BLOCK_ELEMENTS, call->inner), 1);
    work.rows = ps_max(ps_ceil_div(call->rows, BLOCKS), least);
    work.blocks = ps_max(ps_ceil_div(call->rows, work.rows), 1);
    int64_t chunks, elements, nbytes;
    if (!ps_multiply(call->outer, work.blocks, &chunks) ||
        !ps_multiply(chunks, call->inner, &elements) ||
        !ps_multiply(elements, work.itemsize, &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    work.sums = ps_scratch_get(nbytes);
    if (work.sums == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const ps_status status = ps_run_chunks(run, chunks, sum_block, &work);
    if (status.code == PS_OK) {
        add_blocks(&work);
    }
    ps_scratch_put(work.sums, nbytes);
    return status;
}
