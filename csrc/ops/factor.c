/* Factors of sparse products (contract in factor.h).
 *
 * A CSR is copied and checked; other formats are sorted by rows with the numbers of
 * their entries as values, which become the order. A copy costs 16 bytes an entry and
 * is read many times: each entry of the left factor goes through a whole row of the
 * right one. What has been copied may be used as places in memory, whatever another
 * thread does to the matrix meanwhile.
 */
#include "ops/factor.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "base/terms.h"
#include "ops/convert.h"
#include "ops/group.h"
#include "ops/run.h"

enum {
    /* Numbers that are read at a time. */
    BLOCK = 4096,
    /* Rows of the right factor that are kept although nothing names them. */
    SPARE_ROWS = 1024,
    /* Zeros behind the columns, for kernels that ask ahead. */
    SPARE_COLUMNS = 2 * PS_TERMS_AHEAD
};

/* Room for n numbers and one more, or NULL: edges are one more than rows, and no room
 * is empty. */
static int64_t *
get_numbers(int64_t n)
{
    return n < INT64_MAX / 64 ? ps_scratch_get(8 * (n + 1)) : NULL;
}

/* What get_numbers(n) has given. */
static void
put_numbers(int64_t *numbers, int64_t n)
{
    ps_scratch_put(numbers, 8 * (n + 1));
}

/* Columns that fit in 32 bits, and the end of them. */
static int64_t
narrow_bytes(int64_t n)
{
    return 4 * (n + PS_TERMS_STEP);
}

/* Room for columns of 32 bits, and the end behind them, at which kernels that read
 * several at a time see that there are no more. False: no memory. */
static bool
open_narrow(ps_factor *factor)
{
    factor->narrow = ps_scratch_get(narrow_bytes(factor->nnz));
    if (factor->narrow != NULL) {
        memset(factor->narrow + factor->nnz, 0xff, 4 * PS_TERMS_STEP);
    }
    return factor->narrow != NULL;
}

/* The same of 64 bits, which kernels that ask ahead may take for rows. */
static bool
open_wide(ps_factor *factor)
{
    factor->col = get_numbers(factor->nnz + SPARE_COLUMNS);
    if (factor->col != NULL) {
        memset(factor->col + factor->nnz, 0, SPARE_COLUMNS * 8);
    }
    return factor->col != NULL;
}

/* Columns [first, first + n), which have been checked, and so are below 2^31 where the
 * matrix is no wider. */
static void
narrow_block(const ps_factor *factor, int64_t first, int64_t n, const int64_t *column)
{
    for (int64_t i = 0; i < n; i++) {
        factor->narrow[first + i] = (int32_t)column[i];
    }
}

/* Sizes are kept in the factor, so closing needs no more than that. */
void
ps_close_factor(ps_factor *factor)
{
    put_numbers(factor->edge, factor->n_rows);
    put_numbers(factor->col, factor->nnz + SPARE_COLUMNS);
    put_numbers(factor->order, factor->nnz);
    ps_scratch_put(factor->narrow, narrow_bytes(factor->nnz));
    *factor = (ps_factor){.n_rows = 0};
}

/* Rows of a CSR. Each block of edges begins where the one before it has ended, unless
 * another thread has changed them in between. */
static ps_status
copy_rows(const ps_matrix *matrix, ps_factor *factor, ps_run *run)
{
    int64_t column[BLOCK], unheard = 0, before = 0;
    PS_TRY(ps_check_ends(matrix));
    factor->edge[0] = 0;
    for (int64_t first = 0; first < factor->n_rows; first += BLOCK) {
        const int64_t n = ps_min(BLOCK, factor->n_rows - first);
        PS_TRY(ps_read_edges(matrix, first, n, factor->edge + first));
        if (factor->edge[first] != before) {
            return ps_fail(PS_INDEX_CHANGED);
        }
        before = factor->edge[first + n];
        if (ps_run_stops_after(run, &unheard, 8 * n)) {
            return ps_run_status(run);
        }
    }
    if (before != factor->nnz) {
        return ps_fail(PS_INDEX_CHANGED);
    }
    for (int64_t first = 0; first < factor->nnz; first += BLOCK) {
        const int64_t n = ps_min(BLOCK, factor->nnz - first);
        int64_t *const to = factor->narrow != NULL ? column : factor->col + first;
        PS_TRY(ps_read_places(matrix, false, first, n, to));
        if (factor->narrow != NULL) {
            narrow_block(factor, first, n, column);
        }
        if (ps_run_stops_after(run, &unheard, 8 * n)) {
            return ps_run_status(run);
        }
    }
    return PS_SUCCESS;
}

/* Any other format: by a conversion to CSR of which the values are numbers of entries,
 * so that what comes out is the order. */
static ps_status
sort_rows(const ps_matrix *matrix, ps_factor *factor, ps_run *run)
{
    const int64_t nnz = factor->nnz;
    factor->order = get_numbers(nnz);
    int64_t *const number = get_numbers(nnz);
    ps_status status = ps_fail(PS_NO_MEMORY);
    if (factor->order != NULL && number != NULL) {
        ps_stretch part = ps_stretch_of(run, nnz, 8);
        while (ps_next_stretch(&part)) {
            for (int64_t i = part.first; i < part.last; i++) {
                number[i] = i;
            }
        }
        ps_convert_call call = {.matrix = *matrix,
                                .to = PS_CSR,
                                .is_wide = true,
                                .pointers = factor->edge,
                                .entries = factor->col,
                                .data = (char *)factor->order};
        call.matrix.data = (const char *)number;
        call.matrix.dtype = PS_i64;
        status = ps_run_status(run);
        status = status.code == PS_OK ? ps_convert_matrix(&call, run) : status;
    }
    put_numbers(number, nnz);
    return status;
}

/* Columns that a conversion has left: it writes pointers and entries of one width, and
 * pointers are wide. */
static ps_status
narrow_columns(ps_factor *factor, ps_run *run)
{
    if (!open_narrow(factor)) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_stretch part = ps_stretch_of(run, factor->nnz, 8);
    while (ps_next_stretch(&part)) {
        narrow_block(factor, part.first, part.last - part.first,
                     factor->col + part.first);
    }
    put_numbers(factor->col, factor->nnz + SPARE_COLUMNS);
    factor->col = NULL;
    return ps_run_status(run);
}

/* Memory first, then what fills it; whoever called closes what there is of it on
 * failure. */
static ps_status
make_factor(const ps_matrix *matrix, bool is_narrow, ps_factor *factor, ps_run *run)
{
    *factor = (ps_factor){.n_rows = matrix->n_rows, .nnz = matrix->nnz};
    factor->edge = get_numbers(factor->n_rows);
    const bool is_copied = matrix->format == PS_CSR;
    if (factor->edge == NULL ||
        !(is_copied && is_narrow ? open_narrow(factor) : open_wide(factor))) {
        return ps_fail(PS_NO_MEMORY);
    }
    if (is_copied) {
        return copy_rows(matrix, factor, run);
    }
    PS_TRY(sort_rows(matrix, factor, run));
    return is_narrow ? narrow_columns(factor, run) : PS_SUCCESS;
}

/* ---- inner rows that occur ---- */

/* Work memory of renumbering: coordinates of the right factor; and of both factors the
 * inner numbers, then room for distinct ones. */
typedef struct {
    int64_t *row, *col, *key, *distinct;
} renumbering;

/* The right factor as coordinates of our own, whose rows are numbered as they occur in
 * either factor; so are the columns of the left one. */
static ps_status
renumber(const ps_matrix *right, ps_factor *a, renumbering *work, ps_matrix *result,
         ps_run *run)
{
    const int64_t nnz = right->nnz, n = nnz + a->nnz;
    ps_convert_call call = {.matrix = *right,
                            .to = PS_COO,
                            .is_wide = true,
                            .pointers = work->row,
                            .entries = work->col};
    if (right->format == PS_COO) {
        PS_TRY(ps_read_places(right, true, 0, nnz, work->row));
        PS_TRY(ps_read_places(right, false, 0, nnz, work->col));
    }
    else {
        PS_TRY(ps_convert_matrix(&call, run));
    }
    memcpy(work->key, work->row, (size_t)nnz * 8);
    memcpy(work->key + nnz, a->col, (size_t)a->nnz * 8);
    int64_t n_distinct;
    PS_TRY(ps_rank_keys(work->key, n, right->n_rows, work->distinct, &n_distinct, run));
    memcpy(a->col, work->key + nnz, (size_t)a->nnz * 8);
    *result = (ps_matrix){.format = PS_COO,
                          .n_rows = n_distinct,
                          .n_cols = right->n_cols,
                          .nnz = nnz,
                          .row = {.data = (const char *)work->key, .is_wide = true},
                          .col = {.data = (const char *)work->col, .is_wide = true}};
    return PS_SUCCESS;
}

/* A product does not ask which inner row meets which column, only that they meet: ranks
 * of the numbers that occur do as well as the numbers. */
static ps_status
make_renumbered(const ps_matrix *right, ps_factor *a, ps_factor *b, ps_run *run)
{
    const int64_t n = right->nnz + a->nnz;
    renumbering work = {.row = get_numbers(right->nnz),
                        .col = get_numbers(right->nnz),
                        .key = get_numbers(n),
                        .distinct = get_numbers(n)};
    ps_status status = ps_fail(PS_NO_MEMORY);
    ps_matrix renumbered;
    if (work.row != NULL && work.col != NULL && work.key != NULL &&
        work.distinct != NULL) {
        status = renumber(right, a, &work, &renumbered, run);
    }
    if (status.code == PS_OK) {
        status = make_factor(&renumbered, renumbered.n_cols <= INT32_MAX, b, run);
    }
    put_numbers(work.row, right->nnz);
    put_numbers(work.col, right->nnz);
    put_numbers(work.key, n);
    put_numbers(work.distinct, n);
    return status;
}

/* Row pointers that the caller has are no larger in a copy; those that would have to be
 * made for a factor of other format may be, if hardly a row is named. */
ps_status
ps_make_factors(const ps_matrix *left, const ps_matrix *right, ps_factor *a,
                ps_factor *b, ps_run *run)
{
    *b = (ps_factor){.n_rows = 0};
    PS_TRY(make_factor(left, false, a, run));
    const int64_t spare = SPARE_ROWS + ps_min(left->nnz, INT64_MAX / 8) +
                          ps_min(right->nnz, INT64_MAX / 8);
    return right->format != PS_CSR && right->n_rows > spare
                   ? make_renumbered(right, a, b, run)
                   : make_factor(right, right->n_cols <= INT32_MAX, b, run);
}
