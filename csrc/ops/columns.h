/* The columns of a chunk of rows of a sparse product, counted or found. */
#ifndef PS_OPS_COLUMNS_H
#define PS_OPS_COLUMNS_H

#include "ops/spgemm.h"

/* How many distinct columns each row of the chunk has goes to product->edge, one place
 * further on; their number to chunk->n. Where the product is not dense, the columns
 * themselves go to chunk->col, ascending in each row. */
ps_status ps_count_columns(ps_product *product, ps_product_chunk *chunk, ps_run *run);

/* Column j of row k of the right factor. */
static inline int64_t
ps_right_col(const ps_product *product, int64_t j)
{
    return product->b.narrow != NULL ? product->b.narrow[j] : product->b.col[j];
}

/* A hash table of columns, at most half full: places in an array of columns. What it
 * says of earlier rows lies before the current row's first place, so it is not cleared.
 */
typedef struct {
    int64_t *place; /* [size], -1 where nothing has been */
    int64_t size;   /* a power of 2 */
    int shift;
} ps_column_table;

/* For rows of up to `most` columns. False: no memory. */
bool ps_open_table(ps_column_table *table, int64_t most);
void ps_close_table(ps_column_table *table);

/* Where in the table a column is, or the first free place for it: the columns of the
 * current row begin at `base` of `col`. */
int64_t ps_table_find(const ps_column_table *table, bool is_wide, const void *col,
                      int64_t base, int64_t column);

#endif
