/* The entries of a CSC by rows, kept for many products. */
#ifndef PS_OPS_TRANSPOSE_H
#define PS_OPS_TRANSPOSE_H

#include "ops/matrix.h"

/* Copies of a structure, checked, and what follows from them. Nobody writes to it once
 * it is made, so any number of threads may read it. Arrays of the rows hold int32 where
 * sizes allow, else int64. */
typedef struct {
    ps_matrix key; /* the CSC as it was, in copies of its arrays, without values */
    char *indptr, *indices; /* these copies */
    bool is_wide;
    void *start; /* [n_rows + 1] */
    void *col;   /* [nnz]: by rows, in a row as they are stored */
    void *order; /* [nnz]: which entry of the CSC it is */
} ps_row_order;

/* Make it of `matrix`, a CSC. Whatever the status, it is to be closed, and one of zeros
 * may be. */
ps_status ps_make_row_order(const ps_matrix *matrix, ps_row_order *turned, ps_run *run);

/* *is_same: has `matrix` the very structure that `turned` was made of? Both are read
 * once. */
ps_status ps_compare_row_order(const ps_row_order *turned, const ps_matrix *matrix,
                               ps_run *run, bool *is_same);

/* to[i] = from[order[i]], items of 1, 2, 4, 8 or 16 bytes. */
ps_status ps_order_items(const ps_row_order *turned, const char *from, int64_t itemsize,
                         char *to, ps_run *run);

/* Bytes of its arrays. */
int64_t ps_row_order_bytes(const ps_row_order *turned);

void ps_close_row_order(ps_row_order *turned);

#endif
