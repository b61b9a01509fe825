/* Assembly: which stored entry of a CSR each of many contributions belongs to. */
#ifndef PS_OPS_ASSEMBLE_H
#define PS_OPS_ASSEMBLE_H

#include "ops/coordinates.h"
#include "ops/ops.h"

/* Contribution e goes to row row[e] and column col[e]. ps_find_slots finds the distinct
 * places of each row, then the caller makes room for `nnz` indices, then ps_write_slots
 * writes them and slot; ps_close_assembly in any case. A number that is out of bounds
 * is PS_INDEX_BAD with its position in its own array; rows come first. */
typedef struct {
    ps_coordinates row, col;
    int64_t n, n_rows, n_cols;
    bool is_wide;        /* slot holds int64; else all sizes are below 2^31 */
    bool is_wide_result; /* so do indptr and indices */
    void *indptr;        /* [n_rows + 1] */
    void *slot;          /* [n]: the place of each contribution among the entries */
    void *indices;       /* [nnz]: ascending in each row */
    int64_t nnz;
    /* Between the ops. By row, [n]: which contribution it is, and its column, then the
     * number of its column among those of the row. By chunk of rows: these columns. */
    void *start, *order, *other, *distinct;
    int64_t chunks;
    char *block; /* what all of these lie in */
    int64_t block_bytes;
} ps_assembly_call;

ps_status ps_find_slots(void *call, ps_run *run);  /* a ps_assembly_call */
ps_status ps_write_slots(void *call, ps_run *run); /* a ps_assembly_call */
void ps_close_assembly(ps_assembly_call *call);

#endif
