/* The entries of a CSC by rows (contract in transpose.h).
 *
 * The structure is copied, and the copy is checked and sorted by rows, stably. So what
 * has been kept is right forever; whether it still belongs to the caller's arrays is
 * asked by comparing these with the copy, byte for byte. That reads 8 bytes an entry
 * one after the other, as a check of the structure reads 4: a flag or a sum of the
 * contents would be cheaper, and would miss what another thread has written.
 *
 * Values are not kept: they change more often than a structure, and bringing them into
 * order reads each of them once, from anywhere, some 3 ns an entry on one thread.
 */
#include "ops/transpose.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/buckets.h"
#include "ops/run.h"

enum {
    /* Bytes that are compared at a time, and entries whose values are: some 50 us. */
    COMPARE_BYTES = 512 << 10,
    ORDER_ENTRIES = 1 << 15
};

/* Of n numbers of a structure. */
static int64_t
numbers_bytes(const ps_numbers *numbers, int64_t n)
{
    return ps_width_bytes(numbers->is_wide, n);
}

/* The sum of what is given back below. */
int64_t
ps_row_order_bytes(const ps_row_order *turned)
{
    const ps_matrix *const key = &turned->key;
    return numbers_bytes(&key->indptr, key->n_cols + 1) +
           numbers_bytes(&key->row, key->nnz) +
           ps_width_bytes(turned->is_wide, key->n_rows + 1 + 2 * key->nnz);
}

/* Sizes follow from the key, which is set before any array is taken. */
void
ps_close_row_order(ps_row_order *turned)
{
    const ps_matrix *const key = &turned->key;
    const bool is_wide = turned->is_wide;
    ps_scratch_put(turned->indptr, numbers_bytes(&key->indptr, key->n_cols + 1));
    ps_scratch_put(turned->indices, numbers_bytes(&key->row, key->nnz));
    ps_scratch_put(turned->start, ps_width_bytes(is_wide, key->n_rows + 1));
    ps_scratch_put(turned->col, ps_width_bytes(is_wide, key->nnz));
    ps_scratch_put(turned->order, ps_width_bytes(is_wide, key->nnz));
    *turned = (ps_row_order){0};
}

/* ---- making ---- */

/* memcpy in stretches. */
static void
copy_bytes(char *to, const char *from, int64_t nbytes, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, nbytes, 2);
    while (ps_next_stretch(&part)) {
        memcpy(to + part.first, from + part.first, (size_t)(part.last - part.first));
    }
}

/* Rows are the keys; columns are what the edges say. The key is our own and has been
 * checked, so that a reading fails no more. */
static ps_status
read_for_buckets(const void *context, bool of_keys, int64_t first, int64_t n,
                 int64_t *number)
{
    const ps_matrix *const key = context;
    if (of_keys) {
        return ps_read_places(key, true, first, n, number);
    }
    int64_t slice = ps_slice_of(key, first);
    ps_read_slices(key, first, n, &slice, number);
    return PS_SUCCESS;
}

/* The copy that the sort makes of its keys is needed for as long as it takes. */
static ps_status
sort_entries(ps_row_order *turned, ps_run *run)
{
    const ps_matrix *const key = &turned->key;
    const int64_t nbytes = ps_width_bytes(turned->is_wide, key->nnz);
    void *const room = ps_scratch_get(nbytes);
    if (room == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_buckets buckets = {.read = read_for_buckets,
                          .context = key,
                          .n = key->nnz,
                          .n_keys = key->n_rows,
                          .is_wide = turned->is_wide,
                          .key = room,
                          .start = turned->start,
                          .other = turned->col,
                          .order = turned->order};
    const ps_status status = ps_fill_buckets(&buckets, run);
    ps_scratch_put(room, nbytes);
    return status;
}

/* Copied first and checked in the copy: the caller's arrays may change meanwhile, and
 * then the copy is as wrong as it looks, or right and no longer theirs, which the next
 * comparison shows. */
ps_status
ps_make_row_order(const ps_matrix *matrix, ps_row_order *turned, ps_run *run)
{
    const int64_t nnz = matrix->nnz, n_rows = matrix->n_rows;
    *turned = (ps_row_order){0};
    if (!ps_fits_buckets(nnz, ps_max(n_rows, matrix->n_cols))) {
        return ps_fail(PS_TOO_LARGE);
    }
    const bool is_wide = ps_max(ps_max(nnz, n_rows), matrix->n_cols) > INT32_MAX;
    const int64_t indptr_bytes = numbers_bytes(&matrix->indptr, matrix->n_cols + 1);
    const int64_t indices_bytes = numbers_bytes(&matrix->row, nnz);
    turned->key = *matrix;
    turned->key.data = NULL;
    turned->is_wide = is_wide;
    turned->indptr = ps_scratch_get(indptr_bytes);
    turned->indices = ps_scratch_get(indices_bytes);
    turned->start = ps_scratch_get(ps_width_bytes(is_wide, n_rows + 1));
    turned->col = ps_scratch_get(ps_width_bytes(is_wide, nnz));
    turned->order = ps_scratch_get(ps_width_bytes(is_wide, nnz));
    if (turned->indptr == NULL || turned->indices == NULL || turned->start == NULL ||
        turned->col == NULL || turned->order == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    copy_bytes(turned->indptr, matrix->indptr.data, indptr_bytes, run);
    copy_bytes(turned->indices, matrix->row.data, indices_bytes, run);
    PS_TRY(ps_run_status(run));
    turned->key.indptr.data = turned->indptr;
    turned->key.row.data = turned->indices;
    PS_TRY(ps_check_matrix(&turned->key, run));
    return sort_entries(turned, run);
}

/* ---- is it still the same? ---- */

/* Two blocks of memory, one of which another thread may write to: what the answer is
 * then does not matter, since only what is our own is used as places. */
typedef struct {
    ps_run *run;
    const char *one, *other;
    int64_t nbytes;
    atomic_bool differs;
} comparison;

/* The first difference ends all chunks. */
static void
compare_chunk(void *context, int64_t chunk)
{
    comparison *const work = context;
    const int64_t first = chunk * COMPARE_BYTES;
    const int64_t n = ps_min(COMPARE_BYTES, work->nbytes - first);
    if (!atomic_load(&work->differs) && !ps_run_stops(work->run) &&
        memcmp(work->one + first, work->other + first, (size_t)n) != 0) {
        atomic_store(&work->differs, true);
    }
}

/* memcmp on threads. */
static ps_status
compare(const char *one, const char *other, int64_t nbytes, ps_run *run, bool *is_same)
{
    comparison work = {run, one, other, nbytes, false};
    PS_TRY(ps_run_chunks(run, ps_ceil_div(nbytes, COMPARE_BYTES), compare_chunk,
                         &work));
    *is_same = !atomic_load(&work.differs);
    return PS_SUCCESS;
}

/* Edges are the shorter array, so they come first. */
ps_status
ps_compare_row_order(const ps_row_order *turned, const ps_matrix *matrix, ps_run *run,
                     bool *is_same)
{
    const ps_matrix *const key = &turned->key;
    *is_same = matrix->format == key->format && matrix->n_rows == key->n_rows &&
               matrix->n_cols == key->n_cols && matrix->nnz == key->nnz &&
               matrix->indptr.is_wide == key->indptr.is_wide &&
               matrix->row.is_wide == key->row.is_wide;
    if (*is_same) {
        PS_TRY(compare(turned->indptr, matrix->indptr.data,
                       numbers_bytes(&key->indptr, key->n_cols + 1), run, is_same));
    }
    return *is_same ? compare(turned->indices, matrix->row.data,
                              numbers_bytes(&key->row, key->nnz), run, is_same)
                    : PS_SUCCESS;
}

/* ---- values ---- */

/* A gather whose places have been checked when they were made. */
typedef struct {
    ps_run *run;
    const ps_row_order *turned;
    const char *from;
    char *to;
    int64_t itemsize;
} ordering;

/* Items of `size` bytes, a constant of this inlined function. */
PS_WIDTH_INLINE void
order_items(const bool is_wide, const int64_t size, const ordering *work, int64_t first,
            int64_t last)
{
    const void *const order = work->turned->order;
    for (int64_t i = first; i < last; i++) {
        memcpy(work->to + i * size, work->from + ps_at(is_wide, order, i) * size,
               (size_t)size);
    }
}

/* Loops of their own for the common widths; a chunk belongs to one thread. */
static void
order_chunk(void *context, int64_t chunk)
{
    const ordering *const work = context;
    const int64_t first = chunk * ORDER_ENTRIES;
    const int64_t last = ps_min(first + ORDER_ENTRIES, work->turned->key.nnz);
    const bool is_wide = work->turned->is_wide;
    if (ps_run_stops(work->run)) {
        return;
    }
    /* Numbers and float64 of a narrow structure are what people wait for. */
    if (!is_wide && work->itemsize == 4) {
        order_items(false, 4, work, first, last);
    }
    else if (!is_wide && work->itemsize == 8) {
        order_items(false, 8, work, first, last);
    }
    else {
        order_items(is_wide, work->itemsize, work, first, last);
    }
}

ps_status
ps_order_items(const ps_row_order *turned, const char *from, int64_t itemsize, char *to,
               ps_run *run)
{
    ordering work = {run, turned, from, to, itemsize};
    return ps_run_chunks(run, ps_ceil_div(turned->key.nnz, ORDER_ENTRIES), order_chunk,
                         &work);
}
