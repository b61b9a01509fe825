/* Dense operands of products with sparse matrices: batches of rows side by side. */
#ifndef PS_PYTHON_DENSE_H
#define PS_PYTHON_DENSE_H

#include "python/core.h"

/* (batch, rows, width): a vector is one column. Steps in bytes. */
typedef struct {
    char *data;
    int64_t batch, rows, width;
    int64_t step, batch_step;
} ps_dense;

/* A dense operand: an array of base class with at least one axis and a dtype that
 * products are defined for. Runs Python code. A new reference, or NULL. */
PyArrayObject *ps_take_dense(ps_state *state, PyObject *object, const char *name);

/* Does the array lie as kernels want it: of `type`, native, aligned, each row
 * contiguous, batches at equal steps? Then *dense says where. */
bool ps_lies_dense(ps_state *state, PyArrayObject *array, enum ps_dtype type,
                   ps_dense *dense);

/* *array (a reference that is exchanged) in the dtype of `descr`, which is `type`, and
 * lying so: itself or a copy. 0 or -1. */
int ps_lay_dense(ps_state *state, PyArrayObject **array, PyArray_Descr *descr,
                 enum ps_dtype type);

/* A view with the last two axes exchanged; of fewer axes, the array itself. */
PyArrayObject *ps_turned(PyArrayObject *array);

/* The result of a product: a fresh array of this shape and dtype, or out= where it is
 * given, checked, as an array of base class. A new reference, or NULL. */
PyArrayObject *ps_take_target(ps_state *state, PyObject *given, int ndim,
                              const npy_intp *shape, PyArray_Descr *descr);

/* What the op wrote goes to its target, where that is another array. 0 or -1. */
int ps_deliver_sums(PyArrayObject *sums, PyArrayObject *target);

/* Bytes that `items` of `nbytes` each move in each of `batch` products, at most. */
int64_t ps_product_nbytes(int64_t items, int64_t nbytes, int64_t batch);

/* The values of a sparse matrix as kernels want them, in *data, which is exchanged and
 * may be NULL: contiguous, native, of `type`; conjugate where that is asked. 0 or -1.
 */
int ps_lay_data(ps_state *state, PyArrayObject **data, PyArray_Descr *descr,
                enum ps_dtype type, bool conjugates);

#endif
