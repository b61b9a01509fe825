/* Sparse times sparse: sizes once, then columns and values as often as wanted. */
#ifndef PS_OPS_SPGEMM_H
#define PS_OPS_SPGEMM_H

#include "ops/factor.h"

/* Rows [first, last) of the result, which have n entries. */
typedef struct {
    int64_t first, last, n;
    /* Where the product is not dense: columns, ascending in each row; int32, or int64
     * where it is wide. */
    void *col;
} ps_product_chunk;

/* The structure of a product. Immutable once it is made, so that any number of threads
 * may read it. */
typedef struct {
    int64_t n_rows, n_cols, nnz;
    int64_t n_terms; /* products of values */
    ps_factor a, b;
    int32_t *b_narrow; /* columns of b; NULL where they are wide */
    bool is_dense;     /* a sum for each column; else hash tables */
    int64_t *edge;     /* [n_rows + 1] */
    ps_product_chunk *chunk;
    int64_t n_chunks;
} ps_product;

static inline bool
ps_product_is_wide(const ps_product *product)
{
    return product->b_narrow == NULL;
}

/* Make the structure of left * right, whose inner sizes agree. To be closed whatever
 * the status is. */
typedef struct {
    ps_matrix left, right;
    ps_product *product;
} ps_structure_call;

ps_status ps_make_product(void *call, ps_run *run); /* a ps_structure_call */
void ps_close_product(ps_product *product);

/* The product of values a and b, in the order of the factors' matrices as they are
 * stored, contiguous, native, aligned, of `type`, which has kernels: out [nnz] of the
 * same. Structure is written as well: indptr [n_rows + 1] and indices [nnz] of int64 or
 * int32, unless they are NULL. */
typedef struct {
    const ps_product *product;
    enum ps_dtype type;
    const char *a, *b;
    char *out;
    bool is_wide; /* indptr and indices are int64 */
    void *indptr, *indices;
} ps_values_call;

ps_status ps_multiply_values(void *call, ps_run *run); /* a ps_values_call */

#endif
