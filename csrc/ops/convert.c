/* Conversions among CSR, CSC and COO (contract in convert.h).
 *
 * To a compressed format: a stable counting sort by the numbers of the slices
 * (buckets.h), which also says which entry went where, and values that follow. To COO:
 * nothing moves, each entry is told the number of its slice.
 *
 * Row pointers are copied and checked before anything goes by them, 8 bytes a slice;
 * places are checked in the copy of each block. So a structure that another thread
 * rewrites may give other numbers, or a fault, but never a wild write.
 */
#include "ops/convert.h"

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/buckets.h"
#include "ops/run.h"

enum {
    /* Entries of a chunk: 1 ms where they come from anywhere. */
    CHUNK_ENTRIES = 1 << 16,
    /* Slices whose edges are copied at a time. */
    EDGE_BLOCK = 4096
};

typedef struct {
    ps_run *run;
    const ps_convert_call *call;
    int64_t *edge;          /* of a compressed matrix: [slices + 1], checked */
    void *order;            /* [nnz]: where each entry of the result comes from */
    _Atomic int64_t failed; /* the first chunk that has found a fault */
} converting;

/* ---- numbers of entries ---- */

/* The slice that entry `at` lies in: the last that begins no later, so that empty ones
 * before it are passed over. */
static int64_t
slice_of(const converting *work, int64_t at)
{
    int64_t low = 0, high = ps_slices(&work->call->matrix);
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(work->edge[middle] <= at ? &low : &high) = middle;
    }
    return low;
}

/* number[i] = the slice of entry first + i, from edges that rise to nnz. */
static void
tell_slices(const converting *work, int64_t first, int64_t n, int64_t *number)
{
    int64_t done = 0;
    for (int64_t slice = slice_of(work, first); done < n; slice++) {
        const int64_t end = ps_min(work->edge[slice + 1] - first, n);
        for (; done < end; done++) {
            number[done] = slice;
        }
    }
}

/* Rows or columns of entries: what the matrix holds, or what its edges say. */
static ps_status
read_numbers(const converting *work, bool of_rows, int64_t first, int64_t n,
             int64_t *number)
{
    const ps_matrix *const matrix = &work->call->matrix;
    if ((of_rows ? matrix->row.data : matrix->col.data) != NULL) {
        return ps_read_places(matrix, of_rows, first, n, number);
    }
    tell_slices(work, first, n, number);
    return PS_SUCCESS;
}

/* A reader for buckets: the slices of the result are the keys. */
static ps_status
read_for_buckets(const void *context, bool of_keys, int64_t first, int64_t n,
                 int64_t *number)
{
    const converting *const work = context;
    const bool by_rows = work->call->to == PS_CSR;
    return read_numbers(work, of_keys == by_rows, first, n, number);
}

/* Edges are all that a compressed matrix says of one of its axes. Blocks overlap in one
 * edge, by which a change between two of them shows. */
static ps_status
copy_edges(converting *work)
{
    const ps_matrix *const matrix = &work->call->matrix;
    const int64_t slices = ps_slices(matrix);
    int64_t unheard = 0;
    PS_TRY(ps_check_ends(matrix));
    for (int64_t first = 0; first < slices; first += EDGE_BLOCK) {
        const int64_t n = ps_min(EDGE_BLOCK, slices - first);
        const int64_t before = first > 0 ? work->edge[first] : 0;
        PS_TRY(ps_read_edges(matrix, first, n, work->edge + first));
        if (work->edge[first] < before) {
            return ps_fail(PS_INDEX_CHANGED);
        }
        if (ps_run_stops_after(work->run, &unheard, n * 8)) {
            return ps_run_status(work->run);
        }
    }
    const bool is_whole =
            slices == 0 ? matrix->nnz == 0
                        : work->edge[0] == 0 && work->edge[slices] == matrix->nnz;
    return is_whole ? PS_SUCCESS : ps_fail(PS_INDEX_CHANGED);
}

/* ---- values ---- */

/* to[i] = from[order[i]] of items of `size` bytes, a constant of this inlined function;
 * without an order, as they come. */
PS_WIDTH_INLINE void
take_items(const int64_t size, const converting *work, int64_t first, int64_t last)
{
    const ps_convert_call *const call = work->call;
    for (int64_t i = first; i < last; i++) {
        const int64_t from =
                work->order != NULL ? ps_at(call->is_wide, work->order, i) : i;
        memcpy(call->data + i * size, call->matrix.data + from * size, (size_t)size);
    }
}

/* By item size: moves do not look at what they move. */
static void
take_values(const converting *work, int64_t first, int64_t last)
{
    switch (ps_dtype_size[work->call->matrix.dtype]) {
        case 1:
            take_items(1, work, first, last);
            break;
        case 2:
            take_items(2, work, first, last);
            break;
        case 4:
            take_items(4, work, first, last);
            break;
        case 8:
            take_items(8, work, first, last);
            break;
        default:
            take_items(16, work, first, last);
    }
}

/* ---- chunks of entries of the result ---- */

/* Where a chunk ends: all are equally long but for the last. */
static int64_t
last_of(const converting *work, int64_t chunk)
{
    return ps_min((chunk + 1) * CHUNK_ENTRIES, work->call->matrix.nnz);
}

/* Values follow once it is known where every entry has gone. */
static void
values_chunk(void *context, int64_t chunk)
{
    converting *const work = context;
    if (!ps_run_stops(work->run)) {
        take_values(work, chunk * CHUNK_ENTRIES, last_of(work, chunk));
    }
}

/* Row and column of each entry of a COO, and its value. */
static ps_status
tell_block(const converting *work, int64_t first, int64_t n)
{
    const ps_convert_call *const call = work->call;
    int64_t number[PS_BUCKET_BLOCK];
    for (int is_col = 0; is_col < 2; is_col++) {
        void *const to = is_col ? call->entries : call->pointers;
        PS_TRY(read_numbers(work, !is_col, first, n, number));
        for (int64_t i = 0; i < n; i++) {
            ps_put(call->is_wide, to, first + i, number[i]);
        }
    }
    return PS_SUCCESS;
}

/* Chunks end in any order; of those that fail, the first one is told of. */
static void
coo_chunk(void *context, int64_t chunk)
{
    converting *const work = context;
    const int64_t last = last_of(work, chunk);
    if (ps_run_stops(work->run)) {
        return;
    }
    for (int64_t first = chunk * CHUNK_ENTRIES; first < last;
         first += PS_BUCKET_BLOCK) {
        if (tell_block(work, first, ps_min(PS_BUCKET_BLOCK, last - first)).code !=
            PS_OK) {
            int64_t least = atomic_load(&work->failed);
            while (chunk < least &&
                   !atomic_compare_exchange_weak(&work->failed, &least, chunk)) {
            }
            return;
        }
    }
    if (work->call->data != NULL) {
        take_values(work, chunk * CHUNK_ENTRIES, last);
    }
}

/* The status of the first chunk that has failed, by doing it again. */
static ps_status
find_fault(const converting *work, int64_t chunk)
{
    const int64_t last = last_of(work, chunk);
    for (int64_t first = chunk * CHUNK_ENTRIES; first < last;
         first += PS_BUCKET_BLOCK) {
        PS_TRY(tell_block(work, first, ps_min(PS_BUCKET_BLOCK, last - first)));
    }
    return ps_fail(PS_INDEX_CHANGED);
}

/* ---- the whole ---- */

/* Storage order is the order of the slices, so chunks of entries know where they are.
 */
static ps_status
to_coo(converting *work, int64_t chunks)
{
    PS_TRY(ps_run_chunks(work->run, chunks, coo_chunk, work));
    const int64_t failed = atomic_load(&work->failed);
    return failed < chunks ? find_fault(work, failed) : PS_SUCCESS;
}

/* `key` is work memory of buckets; the places are written into the result at once. */
static ps_status
to_compressed(converting *work, void *key, int64_t chunks)
{
    const ps_convert_call *const call = work->call;
    const ps_matrix *const matrix = &call->matrix;
    ps_buckets buckets = {
            .read = read_for_buckets,
            .context = work,
            .n = matrix->nnz,
            .n_keys = call->to == PS_CSR ? matrix->n_rows : matrix->n_cols,
            .is_wide = call->is_wide,
            .key = key,
            .start = call->pointers,
            .other = call->entries,
            .order = work->order};
    PS_TRY(ps_fill_buckets(&buckets, work->run));
    return call->data != NULL ? ps_run_chunks(work->run, chunks, values_chunk, work)
                              : PS_SUCCESS;
}

/* Work memory: edges of 8 bytes a slice, and of a compressed result two numbers for
 * each entry. */
ps_status
ps_convert_matrix(void *argument, ps_run *run)
{
    const ps_convert_call *const call = argument;
    const int64_t nnz = call->matrix.nnz, slices = ps_slices(&call->matrix);
    const bool is_sorted = call->to != PS_COO;
    const int64_t chunks = ps_ceil_div(nnz, CHUNK_ENTRIES);
    if (!ps_fits_buckets(nnz, ps_max(slices, 1))) {
        return ps_fail(PS_TOO_LARGE);
    }
    const int64_t edges = 8 * (slices + 1);
    const int64_t order = is_sorted ? ps_width_bytes(call->is_wide, nnz) : 0;
    char *const block = ps_scratch_get(edges + 2 * order);
    converting work = {.run = run, .call = call, .failed = INT64_MAX};
    if (block == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    work.edge = (int64_t *)(void *)block;
    ps_status status = call->matrix.format != PS_COO ? copy_edges(&work) : PS_SUCCESS;
    if (status.code == PS_OK && is_sorted) {
        work.order = block + edges;
        status = to_compressed(&work, block + edges + order, chunks);
    }
    else if (status.code == PS_OK) {
        status = to_coo(&work, chunks);
    }
    ps_scratch_put(block, edges + 2 * order);
    return status;
}
