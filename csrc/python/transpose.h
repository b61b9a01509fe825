/* What products of a container and of its transposes keep. */
#ifndef PS_PYTHON_TRANSPOSE_H
#define PS_PYTHON_TRANSPOSE_H

#include "python/core.h"

#include "ops/sparse_products.h"

/* Shared by containers of the same arrays. Read and written with the GIL. */
typedef struct ps_cell ps_cell;

/* The cell at *cell, made where there is none, held once more; NULL, without an
 * exception: there is no memory for one. */
ps_cell *ps_hold_cell(ps_cell **cell);

void ps_drop_cell(ps_cell *cell);

/* Bytes of what it keeps; 0 of no cell. */
int64_t ps_cell_bytes(const ps_cell *cell);

/* A product that may use what a cell keeps, or make it. */
typedef struct {
    ps_keeping keeping; /* for the op */
    ps_cell *cell;      /* held; NULL: none */
    struct ps_kept *kept;
} ps_keeper;

/* Before the op. Whether there is anything to keep for it. */
bool ps_open_keeper(ps_cell **cell, ps_keeper *keeper);

/* After it, in any case: what has been made goes into the cell, what is no longer true
 * out of it. */
void ps_close_keeper(ps_keeper *keeper);

#endif
