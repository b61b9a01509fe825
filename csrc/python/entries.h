/* Entries of segments and what lies beside them, as arrays that ops can read. */
#ifndef PS_PYTHON_ENTRIES_H
#define PS_PYTHON_ENTRIES_H

#include "python/core.h"

#include "python/arrays.h"

/* `object`, an array of integers with one axis, in native order; a new reference, or
 * NULL with an exception. */
PyArrayObject *ps_open_vector(PyObject *object);

/* It as an index of `size` rows; *stride has to outlive the index. */
ps_index ps_vector_index(PyArrayObject *vector, int64_t size, int64_t *stride);

/* `object` as rows along its first axis: contiguous, aligned, native, of base class; as
 * it is where kernels cast it to `type`, in which the op works, else cast by NumPy to
 * `descr`. widens: `type` holds all that `descr` does, and more. *dtype receives the
 * type of its elements. A new reference, or NULL with an exception. */
PyArrayObject *ps_open_rows(ps_state *state, PyObject *object, PyArray_Descr *descr,
                            enum ps_dtype type, bool widens, enum ps_dtype *dtype);

/* Elements behind the first axis; -1 with an exception. */
int64_t ps_row_width(PyArrayObject *rows);

#endif
