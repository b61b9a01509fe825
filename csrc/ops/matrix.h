/* A sparse matrix as the ops see it: arrays of structure and values, which it does not
 * own, in one of three formats.
 *
 * Every entry has a row and a column. CSR keeps the columns and says by `indptr` where
 * each row's entries begin, CSC keeps the rows and says it of columns, COO keeps both.
 * So the transpose is the same arrays with rows and columns exchanged. A row of CSR or
 * a column of CSC is called a slice. Entries of a slice may be in any order, and a
 * place may be named twice.
 *
 * Nothing is taken on trust: whoever uses a structure reads it block by block into
 * memory of its own, or number by number into registers, and checks what it has read.
 * Another thread that rewrites the arrays can change numbers, never memory.
 */
#ifndef PS_OPS_MATRIX_H
#define PS_OPS_MATRIX_H

#include <string.h>

#include "ops/ops.h"

enum ps_format {
    PS_CSR,
    PS_CSC,
    PS_COO,
    PS_NUM_FORMATS
};

/* Integers of a structure, one after the other in native order: int64 or int32. */
typedef struct {
    const char *data;
    bool is_wide;
    bool is_unsigned; /* uint64 that int64 stands for: how messages write a number */
} ps_numbers;

typedef struct {
    enum ps_format format;
    bool is_turned; /* a transpose: what messages call row is `col` */
    int64_t n_rows, n_cols;
    int64_t nnz;         /* stored entries */
    ps_numbers indptr;   /* of CSR and CSC: [slices + 1] */
    ps_numbers row, col; /* [nnz]; .data NULL where indptr says it */
    const char *data;    /* [nnz], data_stride bytes apart; NULL: ones */
    enum ps_dtype dtype; /* b1 where there are ones */
    int64_t data_stride;
    bool swapped, aligned; /* as in ps_view */
} ps_matrix;

/* What is wrong with a structure: the `axis` of a status PS_STRUCTURE_BAD. */
enum ps_fault {
    PS_FAULT_FIRST, /* indptr[0] is `value` */
    PS_FAULT_LAST,  /* indptr[-1] is `value`, nnz is `size` */
    PS_FAULT_ORDER, /* indptr[position] is `value`, the one before it `size` */
    PS_FAULT_INDEX, /* indices[position] is `value`, bound `size` */
    PS_FAULT_ROW,   /* the same of row and ... */
    PS_FAULT_COL    /* ... col of COO */
};

/* One number, by a load that no other load can replace. */
static inline int64_t
ps_number_at(const ps_numbers *numbers, int64_t i)
{
    if (numbers->is_wide) {
        int64_t value;
        memcpy(&value, numbers->data + 8 * i, sizeof(value));
        return value;
    }
    int32_t value;
    memcpy(&value, numbers->data + 4 * i, sizeof(value));
    return value;
}

/* Rows of CSR, columns of CSC; 0 of COO. */
static inline int64_t
ps_slices(const ps_matrix *matrix)
{
    return matrix->format == PS_CSR   ? matrix->n_rows
           : matrix->format == PS_CSC ? matrix->n_cols
                                      : 0;
}

/* The transpose: the same arrays. */
ps_matrix ps_transpose(const ps_matrix *matrix);

/* PS_STRUCTURE_BAD for the first fault: indptr first, last and monotone, then every
 * place within the shape. On the threads of `run`, which may be NULL: one. */
ps_status ps_check_matrix(const ps_matrix *matrix, ps_run *run);

/* The ends of indptr alone, for whoever reads the rest by the two functions below and
 * writes nothing that can be seen meanwhile. COO: OK. */
ps_status ps_check_ends(const ps_matrix *matrix);

/* All of indptr, and no places. COO: OK. */
ps_status ps_check_edges(const ps_matrix *matrix, ps_run *run);

/* edge[0 .. n] = where the entries of slices [first, first + n) begin and end, checked
 * in the copy: from 0 to nnz, never decreasing. */
ps_status ps_read_edges(const ps_matrix *matrix, int64_t first, int64_t n,
                        int64_t *edge);

/* place[0 .. n) = rows or columns (of_rows) of entries [first, first + n), checked in
 * the copy. The numbers must be there: of rows in CSC and COO, of columns in CSR and
 * COO. */
ps_status ps_read_places(const ps_matrix *matrix, bool of_rows, int64_t first,
                         int64_t n, int64_t *place);

/* place[0 .. n) = the slices of entries [first, first + n) of a CSR or CSC; *slice, 0
 * at first, goes along from block to block and may be set to the slice of `first`. What
 * comes out is always a slice; right only where indptr has been checked. */
void ps_read_slices(const ps_matrix *matrix, int64_t first, int64_t n, int64_t *slice,
                    int64_t *place);

/* The slice that entry `e` lies in, where indptr has been checked; else any. */
int64_t ps_slice_of(const ps_matrix *matrix, int64_t e);

/* The first slice, from 0 to the number of slices, before which there are at least
 * `work` entries and slices together: cuts a matrix into parts that cost alike. A
 * structure that is not monotone gives any such number. */
int64_t ps_slice_at(const ps_matrix *matrix, int64_t work);

#endif
