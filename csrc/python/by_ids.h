/* Folds of a segment call by ids, into arrays of our own. */
#ifndef PS_PYTHON_BY_IDS_H
#define PS_PYTHON_BY_IDS_H

#include "python/reduce.h"

/* The shape of a result, or, without rows, of counts of entries. Its axes, or -1 where
 * it has too many elements. */
int ps_result_shape(const ps_reduce *work, bool has_rows, npy_intp *shape);

/* An array of such a shape whose elements are all `item`, or zero where that is NULL.
 */
PyArrayObject *ps_new_filled(const ps_reduce *work, bool has_rows, PyArray_Descr *descr,
                             const char *item);

/* A view of an array with axes of our own. */
PyArrayObject *ps_view_with(PyArrayObject *array, int ndim, npy_intp *shape,
                            npy_intp *strides);

/* Fold the values into work->sums, which holds what they start from. 0 or -1. */
int ps_fold_values(ps_reduce *work);

/* Sums of `descr`, of one number or array for each entry, from zeros on; is_fine: for
 * each element. NULL with an exception. */
PyArrayObject *ps_sum_by_ids(const ps_reduce *work, PyArray_Descr *descr,
                             PyObject *values, bool is_fine);

/* The first or last of the values of each segment into new work->sums, by ids or runs.
 * 1; 0 where a limit is out of bounds; or -1. */
int ps_move_ends(ps_reduce *work);

#endif
