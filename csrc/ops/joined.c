/* A tuple of indices becomes one (contract in joined.h).
 *
 * Entry e of a tuple goes to the place sum over m of row(index[m][e]) * step[m], which
 * is counted in items, or in what divides all steps, of the target from its first one:
 * one number for each entry, in work memory of the call's own. The numbers are made in
 * one pass, which checks what it reads, and are beyond the reach of other threads, so
 * the caller's index is read once, where lists need it twice, and what follows takes a
 * plain index as it lies (kernels/checked.h).
 *
 * Numbers of elements have four bytes while they fit: less to write and to read again.
 * Kernels of rows read eight.
 */
#include "ops/joined.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/address.h"
#include "ops/run.h"

enum {
    /* Entries of a chunk, 0.1 ms, and entries that are made at a time before they are
     * narrowed, which stay in the first cache: several pages of an index, so that the
     * hardware asks for it ahead. */
    CHUNK = 1 << 16,
    BLOCK = 2048
};

/* The greatest divisor of both; 0 divides nothing. */
static int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t
ps_common_step(const ps_address *address)
{
    int64_t step = 0;
    if (address->n_index < 2 || address->ndim != 1 || address->mask != NULL ||
        address->mode != PS_MODE_RAISE || address->link[0] != 0 ||
        address->flat_ndim != 0) {
        return 0;
    }
    for (int m = 0; m < address->n_index; m++) {
        const ps_index *const index = &address->index[m];
        if (index->swapped || index->size == 0 || index->step <= 0) {
            return 0;
        }
        step = common_divisor(index->step, step);
    }
    return step;
}

/* What the threads share. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_address *address;
    ps_joined *joined;
} join_state;

/* number[i] = the row of entry first + i, for n entries. False: one of their indices is
 * out of bounds. */
static bool
join_block(const join_state *state, int64_t first, int64_t n, int64_t *number)
{
    const ps_address *const address = state->address;
    for (int m = 0; m < address->n_index; m++) {
        const ps_index *const index = &address->index[m];
        ps_numbering numbering = ps_address_numbering(address, m);
        numbering.step /= state->joined->index.step;
        if (ps_kernels()->place[index->type](
                    number, index->data + first * index->strides[0], n,
                    index->strides[0], &numbering, 0, m > 0) > 0) {
            return false;
        }
    }
    return true;
}

/* A chunk, block by block; wide numbers are made where they stay. */
static void
join_chunk(void *context, int64_t chunk)
{
    const join_state *const state = context;
    const bool is_wide = state->joined->index.type == PS_INDEX_i64;
    const int64_t start = chunk * CHUNK,
                  stop = ps_min(state->address->n, start + CHUNK);
    int64_t block[BLOCK];
    if (ps_run_stops(state->run)) {
        return;
    }
    for (int64_t first = start, n; first < stop; first += n) {
        n = ps_min(BLOCK, stop - first);
        int64_t *const number =
                is_wide ? (int64_t *)(void *)state->joined->numbers + first : block;
        if (!join_block(state, first, n, number)) {
            ps_run_fail(state->run, PS_INDEX_BAD);
            return;
        }
        int32_t *const narrow = (int32_t *)(void *)state->joined->numbers + first;
        for (int64_t i = 0; !is_wide && i < n; i++) {
            narrow[i] = (int32_t)block[i];
        }
    }
}

ps_status
ps_join(const ps_address *address, int64_t step, bool is_wide, ps_run *run,
        ps_joined *joined)
{
    int64_t last = 0;
    for (int m = 0; m < address->n_index; m++) {
        last += (address->index[m].size - 1) * (address->index[m].step / step);
    }
    const enum ps_index_type type =
            is_wide || last >= INT32_MAX ? PS_INDEX_i64 : PS_INDEX_i32;
    *joined = (ps_joined){.index = {.type = type,
                                    .axis = address->index[0].axis,
                                    .size = last + 1,
                                    .step = step},
                          .stride = ps_index_itemsize(type)};
    if (!ps_multiply(address->n, joined->stride, &joined->nbytes)) {
        return ps_fail(PS_NO_MEMORY);
    }
    joined->numbers = ps_scratch_get(joined->nbytes);
    if (joined->numbers == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    joined->index.data = joined->numbers;
    join_state state = {run, address, joined};
    return ps_run_chunks(run, ps_ceil_div(address->n, CHUNK), join_chunk, &state);
}

/* No field but those of the index differs: entries, values and rows are the same. */
ps_address
ps_joined_address(const ps_address *address, ps_joined *joined)
{
    ps_address one = *address;
    joined->index.strides = &joined->stride;
    one.n_index = 1;
    one.index = &joined->index;
    return one;
}

void
ps_close_joined(ps_joined *joined)
{
    ps_scratch_put(joined->numbers, joined->nbytes);
}
