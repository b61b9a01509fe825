/* Sparse matrices from Python: pyscatter's containers and, by duck typing, SciPy's. */
#ifndef PS_PYTHON_MATRIX_H
#define PS_PYTHON_MATRIX_H

#include "python/core.h"

#include "ops/matrix.h"

/* A matrix on its way: the arrays that its numbers lie in. */
typedef struct {
    enum ps_format format;
    int64_t n_rows, n_cols;
    PyArrayObject *data;   /* owned; NULL: ones */
    PyArrayObject *first;  /* owned: indptr, or row of COO; contiguous int32 or int64 */
    PyArrayObject *second; /* owned: indices, or col of COO; likewise */
    bool first_is_unsigned, second_is_unsigned; /* copies of uint64 */
} ps_sparse;

/* Can elements of this type be factors of a product? */
static inline bool
ps_multiplies(enum ps_dtype dtype)
{
    return dtype != PS_raw && dtype != PS_t64 && dtype != PS_f80;
}

/* 0, or -1 with a TypeError about the dtype of an array called `name`. */
int ps_require_factors(ps_state *state, PyArrayObject *array, const char *name);

/* Is it one: has it a `format` that names a sparse format? 1 or 0; or -1 with a
 * TypeError for formats other than csr, csc and coo, which names .tocsr(). `format` is
 * set to one of enum ps_format. */
int ps_is_sparse(ps_state *state, PyObject *object, enum ps_format *format);

/* Take the arrays of an object called `name` in messages: format, shape, data and
 * structure. Numbers of other integer types or in other layouts are copied; values are
 * taken as they are. Runs Python code. 0, or -1 with a TypeError or a ValueError; to be
 * closed in both cases. */
int ps_take_sparse(ps_state *state, PyObject *object, const char *name,
                   ps_sparse *sparse);

/* The same of an object of which ps_is_sparse has said that it is one, and its format.
 */
int ps_take_parts(ps_state *state, PyObject *object, const char *name,
                  enum ps_format format, ps_sparse *sparse);

/* The matrix as it is now, lengths checked against each other and the shape; numbers
 * are not looked at. To be called after the last Python code of a call and before the
 * op. 0, or -1 with an exception. */
int ps_open_sparse(ps_state *state, const ps_sparse *sparse, ps_matrix *matrix);

/* Lengths against each other and the shape, then contents, as every op checks them. 0,
 * or -1 with an exception. */
int ps_check_sparse(ps_state *state, const ps_sparse *sparse);

/* May an array share memory with those of a matrix? */
bool ps_meets_sparse(PyArrayObject *array, const ps_sparse *sparse);

void ps_close_sparse(ps_sparse *sparse);

/* check_matrix(A): None, or the exception that tells what is wrong with it. */
PyObject *ps_py_check_matrix(PyObject *module, PyObject *object);

#endif
