/* Products of sparse and dense matrices: what the binding hands over, and the ops. */
#ifndef PS_OPS_SPARSE_PRODUCTS_H
#define PS_OPS_SPARSE_PRODUCTS_H

#include "kernels/kernels.h"
#include "ops/matrix.h"
#include "ops/transpose.h"

/* The entries of a CSC by rows, from product to product. */
typedef struct {
    ps_row_order
            *turned; /* of an earlier product; where `makes`, to be made by this one */
    bool makes;
    bool is_made, is_stale; /* what the op says: `turned` holds them now; no more */
} ps_keeping;

/* out[b] = alpha * (A x[b]) + beta * out[b], where A x is a sum, a mean, a least or a
 * greatest, of products or of sums (enum ps_product). All numbers are of `type`. */
typedef struct {
    ps_matrix a; /* its data contiguous, native, aligned and of `type`, or NULL */
    enum ps_product op;
    enum ps_dtype type;
    int64_t batch;
    const char *x; /* (batch, a.n_cols, width): rows contiguous, steps in bytes */
    int64_t x_step, x_batch_step;
    char *out; /* (batch, a.n_rows, width), likewise; disjoint from all else */
    int64_t out_step, out_batch_step;
    int64_t width;
    bool is_private; /* nobody sees out before the call has succeeded */
    bool is_mean;
    /* One element each, or NULL: takes no part. */
    const void *alpha, *beta, *empty;
    const void *one, *start; /* what absent data are; what sums begin with */
    ps_keeping *keeping;     /* of a CSC; NULL: nobody keeps anything */
} ps_spmm_call;

ps_status ps_spmm(void *call, ps_run *run); /* a ps_spmm_call */

/* out[b][e] = inner product of row r of x[b] and row c of y[b], for entry e of A at
 * (r, c), times its value where A has data, or where `scales` says that absent data
 * are ones. */
typedef struct {
    ps_matrix a;
    bool scales;
    enum ps_dtype type;
    int64_t batch, width;
    const char *x; /* (batch, a.n_rows, width) */
    int64_t x_step, x_batch_step;
    const char *y; /* (batch, a.n_cols, width) */
    int64_t y_step, y_batch_step;
    char *out; /* (batch, nnz), contiguous */
    bool is_private;
} ps_sddmm_call;

ps_status ps_sddmm(void *call, ps_run *run); /* a ps_sddmm_call */

#endif
