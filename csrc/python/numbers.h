/* Numbers of an index looked at for their own sake. */
#ifndef PS_PYTHON_NUMBERS_H
#define PS_PYTHON_NUMBERS_H

#include "python/core.h"

/* One more than the largest number of `index` where `mask`, of its shape or broadcast
 * to it, is true, or NULL; negatives are ignored. PS_TOO_LARGE: one does not fit in 64
 * bits. */
ps_status ps_top_of(ps_state *state, PyArrayObject *index, PyArrayObject *mask,
                    int64_t *top);

/* The same of a vector side by side of int32 or int64, native; 0: it is not one, or has
 * a negative number. */
int64_t ps_short_top(PyArrayObject *index);

/* PS_INDEX_BAD tells of the first number that is out of bounds for an axis of `size`
 * under a mode that refuses such numbers. */
ps_status ps_check_numbers(ps_state *state, PyArrayObject *index, PyArrayObject *mask,
                           enum ps_mode mode, int64_t size);

/* Do numbers never decrease within a batch? 0, or -1 with a ValueError. */
int ps_check_sorted(ps_state *state, PyArrayObject *index, int batch_dims);

/* Number `at` of a vector of integers in native order as an int64 whose order is
 * theirs; what zero is among these. */
int64_t ps_key_of(ps_state *state, PyArrayObject *array, npy_intp at);
int64_t ps_key_of_zero(PyArrayObject *array);

/* One axis at any stride, or several that are contiguous, native: an index of `size`
 * rows. *stride has to outlive it. */
ps_index ps_line_index(PyArrayObject *array, int64_t size, int64_t *stride);

#endif
