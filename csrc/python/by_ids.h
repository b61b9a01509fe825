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

/* An array of the shape of results, with nothing in it. */
PyArrayObject *ps_new_result(const ps_reduce *work, PyArray_Descr *descr);

/* A view of an array with axes of our own. */
PyArrayObject *ps_view_with(PyArrayObject *array, int ndim, npy_intp *shape,
                            npy_intp *strides);

/* Fold the values into work->sums, which holds what they start from. 0 or -1. */
int ps_fold_values(ps_reduce *work);

/* Sums of `descr`, of one number or array for each entry, from zeros on; has_rows: in
 * the shape of results, chosen as the values are. NULL with an exception. */
PyArrayObject *ps_sum_by_ids(const ps_reduce *work, PyArray_Descr *descr,
                             PyObject *values, bool has_rows, bool compensated);

/* The first or last of the values of each segment into new work->sums, by ids or runs.
 * 0 or -1. */
int ps_move_ends(ps_reduce *work);

/* The numbers of these entries, by ids, into new work->places, -1 where there is none.
 * 0 or -1. */
int ps_find_ends(ps_reduce *work);

/* How many entries runs are of. */
npy_intp ps_entries_of_runs(const ps_reduce *work);

/* Runs become ids, of the entries that they list, one after the other. 0 or -1. */
int ps_number_entries(ps_reduce *work);

/* Means in work->sums become sums of squared distances from them, by ids, of real
 * types, also where kernels have none or do not compensate. 0 or -1. */
int ps_sum_distances(ps_reduce *work);

#endif
