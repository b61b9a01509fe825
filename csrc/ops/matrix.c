/* Structures of sparse matrices, checked (contract in matrix.h).
 *
 * Bounds are found by the scans of indices: as unsigned numbers, negatives are above
 * every bound, so one comparison says all. A scan is as fast as memory, 1 to 7 % of
 * the product that it guards, so it is made at every use: to remember that a matrix was
 * right would be to trust that nobody has written to its arrays since.
 *
 * What is found is the first fault in reading order, whatever the number of threads, so
 * that a message can be relied on.
 */
#include "ops/matrix.h"

#include <stddef.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/run.h"

enum {
    /* Entries of a chunk of the check: 1 MiB of int32, 50 us. */
    CHECK_ENTRIES = 1 << 18,
    /* Slices whose edges are copied at a time. */
    CHECK_SLICES = 512,
    /* Offsets of int32 that are looked at before they are widened. */
    NARROW = 256,
    /* Entries of a slice that are numbered at once. */
    RUN = 16
};

/* Nothing moves: what rows were are columns. */
ps_matrix
ps_transpose(const ps_matrix *matrix)
{
    static const enum ps_format other[PS_NUM_FORMATS] = {PS_CSC, PS_CSR, PS_COO};
    ps_matrix result = *matrix;
    result.format = other[matrix->format];
    result.is_turned = !matrix->is_turned;
    result.n_rows = matrix->n_cols;
    result.n_cols = matrix->n_rows;
    result.row = matrix->col;
    result.col = matrix->row;
    return result;
}

/* A fault and the numbers that its message needs. What a number was in the caller's
 * array, signed or not, goes with it. */
static ps_status
fault_at(enum ps_fault fault, const ps_numbers *numbers, int64_t position,
         int64_t value, int64_t size)
{
    return (ps_status){.code = PS_STRUCTURE_BAD,
                       .axis = (int)fault,
                       .is_unsigned = numbers->is_unsigned,
                       .position = position,
                       .value = value,
                       .size = size};
}

/* The array that a message names is the one that the caller knows: `indices` of CSR and
 * CSC, whether they are rows or columns. */
static ps_status
bad_place(const ps_matrix *matrix, bool of_rows, int64_t position, int64_t value)
{
    const enum ps_fault fault = matrix->format != PS_COO       ? PS_FAULT_INDEX
                                : of_rows != matrix->is_turned ? PS_FAULT_ROW
                                                               : PS_FAULT_COL;
    return fault_at(fault, of_rows ? &matrix->row : &matrix->col, position, value,
                    of_rows ? matrix->n_rows : matrix->n_cols);
}

/* The type as whose a scan reads numbers, and the bound to give it. */
static enum ps_index_type
unsigned_type(const ps_numbers *numbers, int64_t *size)
{
    *size = numbers->is_wide ? *size : ps_min(*size, (int64_t)INT32_MAX + 1);
    return numbers->is_wide ? PS_INDEX_u64 : PS_INDEX_u32;
}

/* From one number to the next. */
static int64_t
number_bytes(const ps_numbers *numbers)
{
    return numbers->is_wide ? 8 : 4;
}

/* The first edge that is wrong. The number before the first is not known: a block that
 * is wrong there was told of by the block before it, unless the array has changed
 * since. */
static ps_status
fault_of_edges(const ps_matrix *matrix, int64_t first, int64_t n, const int64_t *edge)
{
    int64_t before = 0;
    for (int64_t i = 0; i <= n; i++) {
        const bool decreases = edge[i] < before;
        if (decreases || edge[i] > matrix->nnz) {
            const enum ps_fault fault = first + i == 0 ? PS_FAULT_FIRST
                                        : decreases    ? PS_FAULT_ORDER
                                                       : PS_FAULT_LAST;
            return fault_at(fault, &matrix->indptr, first + i, edge[i],
                            decreases ? before : matrix->nnz);
        }
        before = edge[i];
    }
    return PS_SUCCESS;
}

/* edge[1 .. n], n <= NARROW, from int32 numbers; edge[0] is there. Negative: one of
 * those below n is, or it decreases. They are copied and looked at as they are, four at
 * a time, where int64 would be two: half the time. */
static int64_t
read_narrow_edges(const char *from, int64_t n, int64_t *edge)
{
    int32_t value[NARROW + 1], signs = 0;
    value[0] = (int32_t)edge[0];
    memcpy(value + 1, from, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        signs |= value[i] | (value[i + 1] - value[i]);
        edge[i + 1] = value[i + 1];
    }
    return signs;
}

/* Copied, then checked in the copy without a branch; only what is wrong is searched. A
 * sign bit anywhere is a fault; without one, differences do not overflow. */
ps_status
ps_read_edges(const ps_matrix *matrix, int64_t first, int64_t n, int64_t *edge)
{
    const char *const from = matrix->indptr.data;
    int64_t signs = 0;
    if (matrix->indptr.is_wide) {
        memcpy(edge, from + 8 * first, (size_t)(n + 1) * 8);
        for (int64_t i = 0; i < n; i++) {
            signs |= edge[i] | (edge[i + 1] - edge[i]);
        }
    }
    else {
        edge[0] = ps_number_at(&matrix->indptr, first);
        for (int64_t i = 0; i < n; i += NARROW) {
            signs |= read_narrow_edges(from + 4 * (first + i + 1),
                                       ps_min(NARROW, n - i), edge + i);
        }
    }
    signs |= edge[n] | (matrix->nnz - edge[n]);
    return signs >= 0 ? PS_SUCCESS : fault_of_edges(matrix, first, n, edge);
}

/* The kernel says how many are bad; only then are they searched. The value that is told
 * is read again: another thread may have put it right, and then the message shows that.
 */
ps_status
ps_read_places(const ps_matrix *matrix, bool of_rows, int64_t first, int64_t n,
               int64_t *place)
{
    const ps_numbers *const numbers = of_rows ? &matrix->row : &matrix->col;
    int64_t size = of_rows ? matrix->n_rows : matrix->n_cols;
    const enum ps_index_type type = unsigned_type(numbers, &size);
    const int64_t nbytes = number_bytes(numbers);
    const char *const from = numbers->data + first * nbytes;
    if (ps_kernels()->rows[type](PS_MODE_DROP, place, from, n, nbytes, size) == 0) {
        return PS_SUCCESS;
    }
    int64_t i = 0;
    while (place[i] >= 0) {
        i++;
    }
    return bad_place(matrix, of_rows, first + i, ps_number_at(numbers, first + i));
}

/* COO has none, and nothing to check here. */
ps_status
ps_check_ends(const ps_matrix *matrix)
{
    if (matrix->format == PS_COO) {
        return PS_SUCCESS;
    }
    const int64_t n = ps_slices(matrix);
    const int64_t first = ps_number_at(&matrix->indptr, 0);
    const int64_t last = n > 0 ? ps_number_at(&matrix->indptr, n) : first;
    if (first != 0) {
        return fault_at(PS_FAULT_FIRST, &matrix->indptr, 0, first, matrix->nnz);
    }
    if (last != matrix->nnz) {
        return fault_at(PS_FAULT_LAST, &matrix->indptr, n, last, matrix->nnz);
    }
    return PS_SUCCESS;
}

/* A check of one array of places in chunks. Every chunk is looked at, even after one
 * has failed: the least position is wanted. */
typedef struct {
    ps_run *run;
    const ps_matrix *matrix;
    bool of_rows;
    _Atomic int64_t bad; /* the least position found out of bounds */
} check;

/* Chunks end in any order: the least position is told, on any number of threads. */
static void
note_bad(check *work, int64_t position)
{
    int64_t least = atomic_load(&work->bad);
    while (position < least &&
           !atomic_compare_exchange_weak(&work->bad, &least, position)) {
    }
}

/* One stretch of one array of places. */
static void
check_chunk(void *context, int64_t chunk)
{
    check *const work = context;
    const ps_matrix *const matrix = work->matrix;
    const ps_numbers *const numbers = work->of_rows ? &matrix->row : &matrix->col;
    int64_t size = work->of_rows ? matrix->n_rows : matrix->n_cols;
    const enum ps_index_type type = unsigned_type(numbers, &size);
    const int64_t nbytes = number_bytes(numbers), first = chunk * CHECK_ENTRIES;
    const int64_t n = ps_min(CHECK_ENTRIES, matrix->nnz - first);
    if (work->run != NULL && ps_run_stops(work->run)) {
        return;
    }
    const int64_t bad =
            ps_kernels()->scan[type](numbers->data + first * nbytes, n, nbytes, size);
    if (bad >= 0) {
        note_bad(work, first + bad);
    }
}

/* One chunk is not worth the pool. Where all is well nothing but the scans has run; a
 * bad number is read once more for its message. */
static ps_status
check_places(const ps_matrix *matrix, bool of_rows, ps_run *run)
{
    check work = {run, matrix, of_rows, INT64_MAX};
    const int64_t chunks = ps_ceil_div(matrix->nnz, CHECK_ENTRIES);
    if (run != NULL && chunks > 1) {
        PS_TRY(ps_run_chunks(run, chunks, check_chunk, &work));
    }
    else {
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            check_chunk(&work, chunk);
        }
    }
    const int64_t bad = atomic_load(&work.bad);
    if (bad == INT64_MAX) {
        return run != NULL ? ps_run_status(run) : PS_SUCCESS;
    }
    const ps_numbers *const numbers = of_rows ? &matrix->row : &matrix->col;
    return bad_place(matrix, of_rows, bad, ps_number_at(numbers, bad));
}

/* The ends first, since they tell what most often is wrong: spare room behind the
 * entries, or arrays of different matrices. */
ps_status
ps_check_edges(const ps_matrix *matrix, ps_run *run)
{
    int64_t edge[CHECK_SLICES + 1], unheard = 0;
    const int64_t n = ps_slices(matrix);
    PS_TRY(ps_check_ends(matrix));
    for (int64_t first = 0; first < n; first += CHECK_SLICES) {
        PS_TRY(ps_read_edges(matrix, first, ps_min(CHECK_SLICES, n - first), edge));
        if (run != NULL && ps_run_stops_after(run, &unheard, sizeof(edge))) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* Edges before places, as messages would be read, and rows before columns as the caller
 * calls them. */
ps_status
ps_check_matrix(const ps_matrix *matrix, ps_run *run)
{
    if (matrix->format != PS_COO) {
        PS_TRY(ps_check_edges(matrix, run));
        return check_places(matrix, matrix->format == PS_CSC, run);
    }
    PS_TRY(check_places(matrix, !matrix->is_turned, run));
    return check_places(matrix, matrix->is_turned, run);
}

/* A binary search. Entries and slices are both counted, so that empty slices weigh
 * something. */
int64_t
ps_slice_at(const ps_matrix *matrix, int64_t work)
{
    int64_t low = 0, high = ps_slices(matrix);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ps_number_at(&matrix->indptr, middle) < work - middle) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Runs of entries of one slice. They are written by RUN at a time, and what lies beyond
 * the end of a run is written again: a loop of as many turns as the slice has entries
 * would be mispredicted at its end, which costs as much as 80 writes. Another thread
 * may write to indptr meanwhile, so the last slice takes whatever is left, and no run
 * ends before it has begun. */
void
ps_read_slices(const ps_matrix *matrix, int64_t first, int64_t n, int64_t *slice,
               int64_t *place)
{
    const int64_t last = ps_slices(matrix) - 1;
    int64_t i = 0, at = ps_min(*slice, last);
    while (i < n) {
        int64_t stop = at < last ? ps_number_at(&matrix->indptr, at + 1) - first : n;
        stop = ps_max(ps_min(stop, n), i);
        for (; i < stop && n - i >= RUN; i += RUN) {
            for (int k = 0; k < RUN; k++) {
                place[i + k] = at;
            }
        }
        for (; i < stop; i++) {
            place[i] = at;
        }
        i = stop;
        at += i < n;
    }
    *slice = at;
}

/* Empty slices before it are passed over: the last one that begins at or before e. */
int64_t
ps_slice_of(const ps_matrix *matrix, int64_t e)
{
    int64_t low = 0, high = ps_slices(matrix) - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (ps_number_at(&matrix->indptr, middle) <= e) {
            low = middle;
        }
        else {
            high = middle - 1;
        }
    }
    return ps_max(low, 0);
}
