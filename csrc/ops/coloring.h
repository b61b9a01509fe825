/* Colours for the columns of a pattern: what the binding hands over, and the op. */
#ifndef PS_OPS_COLORING_H
#define PS_OPS_COLORING_H

#include "ops/ops.h"

/* Colours of columns, from 0, of which no two in one row agree. The pattern is said
 * twice: row r has the columns col[row_edge[r]] ..., and column c is in the rows
 * row[col_edge[c]] .... `order` names each column once. All arrays belong to the call
 * and do not change. */
typedef struct {
    int64_t n_rows, n_cols, nnz;
    const int64_t *row_edge, *col;
    const int64_t *col_edge, *row;
    const int64_t *order;
    int64_t *color; /* [n_cols] */
    int64_t colors; /* how many there are */
} ps_coloring_call;

ps_status ps_color_columns(void *call, ps_run *run); /* a ps_coloring_call */

#endif
