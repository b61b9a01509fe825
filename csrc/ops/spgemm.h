/* Sparse times sparse: sizes once, then columns and values as often as wanted. */
#ifndef PS_OPS_SPGEMM_H
#define PS_OPS_SPGEMM_H

#include "ops/factor.h"

/* Rows [first, last) of the result, which have n entries. */
typedef struct {
    int64_t first, last, n;
    /* Of a product that is open at first: entries that it has at most, and the first of
     * them among those of all chunks in the product's room. */
    int64_t most, at;
    /* Where the product is not dense: columns, ascending in each row; int32, or int64
     * where it is wide. */
    void *col;
} ps_product_chunk;

/* The structure of a product. Immutable once it is made and not open any more, so that
 * any number of threads may read it. */
typedef struct {
    int64_t n_rows, n_cols, nnz;
    int64_t n_terms; /* products of values */
    ps_factor a, b;  /* columns of b are narrow unless it is wide */
    bool is_dense;   /* a sum for each column; else hash tables */
    bool is_open;    /* sizes are found with values; until then nnz is a bound */
    char *room;      /* n_room values that have been found, then columns; or NULL */
    int64_t n_room, room_bytes;
    int64_t *terms; /* [n_rows] products of each row */
    int64_t *edge;  /* [n_rows + 1] */
    ps_product_chunk *chunk;
    int64_t n_chunks;
} ps_product;

static inline bool
ps_product_is_wide(const ps_product *product)
{
    return product->b.narrow == NULL;
}

/* Make the structure of left * right, whose inner sizes agree. To be closed whatever
 * the status is. */
typedef struct {
    ps_matrix left, right;
    ps_product *product;
} ps_structure_call;

ps_status ps_make_product(void *call, ps_run *run); /* a ps_structure_call */
void ps_close_product(ps_product *product);

/* edge[row + 1], the entries of a row, becomes the sum up to it: indptr, but for its
 * width; and their number nnz. */
ps_status ps_sum_sizes(ps_product *product, ps_run *run);
void ps_close_room(ps_product *product);

/* The product of values a and b, in the order of the factors' matrices as they are
 * stored, contiguous, native, aligned, of `type`, which has kernels: out [nnz] of the
 * same. Structure is written as well: indptr [n_rows + 1] and indices [nnz] of int64 or
 * int32, unless they are NULL.
 *
 * An open product takes two steps: ps_find_values finds sizes and values, and needs no
 * arrays to write to; then its nnz is known, and ps_multiply_values with the same
 * values moves into arrays what has been found. */
typedef struct {
    ps_product *product;
    enum ps_dtype type;
    const char *a, *b;
    char *out;
    bool is_wide; /* indptr and indices are int64 */
    void *indptr, *indices;
} ps_values_call;

ps_status ps_find_values(void *call, ps_run *run);     /* a ps_values_call */
ps_status ps_multiply_values(void *call, ps_run *run); /* the same */

#endif
