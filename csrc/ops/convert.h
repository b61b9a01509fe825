/* A sparse matrix in another of the three formats; every entry stays. */
#ifndef PS_OPS_CONVERT_H
#define PS_OPS_CONVERT_H

#include "ops/matrix.h"

/* `matrix` as `to`, another format than its own. Entries of a slice keep their order; a
 * COO has them in storage order. The arrays of the result are fresh, of int64 where
 * is_wide. Values lie side by side, native and aligned. */
typedef struct {
    ps_matrix matrix;
    enum ps_format to;
    bool is_wide;
    void *pointers; /* indptr, or row of COO */
    void *entries;  /* indices, or col of COO */
    char *data;     /* NULL: the matrix has none */
} ps_convert_call;

ps_status ps_convert_matrix(void *call, ps_run *run); /* a ps_convert_call */

#endif
