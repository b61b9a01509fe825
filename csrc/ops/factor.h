/* A factor of a sparse product: a matrix by rows, in memory of our own. */
#ifndef PS_OPS_FACTOR_H
#define PS_OPS_FACTOR_H

#include "ops/matrix.h"

/* Entry i of the rows is entry order[i] of the matrix as it is stored; entries of a row
 * keep their order. All numbers have been checked. */
typedef struct {
    int64_t n_rows, nnz;
    int64_t *edge; /* [n_rows + 1] */
    /* [nnz], one of them: then zeros, or -1 (base/terms.h) */
    int64_t *col;
    int32_t *narrow;
    int64_t *order; /* NULL: i */
} ps_factor;

/* Make the two factors of a product. Where the right one has far more rows than both
 * have entries, and does not say so by row pointers, rows that no entry names are left
 * out: memory never depends on the inner size alone. Columns of the right one are
 * narrow where they fit: half of what every term reads. To be closed in any case. */
ps_status ps_make_factors(const ps_matrix *left, const ps_matrix *right, ps_factor *a,
                          ps_factor *b, ps_run *run);

void ps_close_factor(ps_factor *factor);

#endif
