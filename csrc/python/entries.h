/* Entries of segments and what lies beside them, as arrays that ops can read. */
#ifndef PS_PYTHON_ENTRIES_H
#define PS_PYTHON_ENTRIES_H

#include "python/core.h"

#include "python/arrays.h"

/* A vector of integers in native order as an index of `size` rows; *stride has to
 * outlive it. */
ps_index ps_vector_index(PyArrayObject *vector, int64_t size, int64_t *stride);

/* An array as rows along its first axis: contiguous, aligned, native, of base class; as
 * it is where kernels cast it to `type`, in which the op works, else cast by NumPy to
 * `descr`. widens: `type` holds all that `descr` does, and more. *dtype receives the
 * type of its elements. A new reference, or NULL with an exception. */
PyArrayObject *ps_open_rows(ps_state *state, PyArrayObject *array, PyArray_Descr *descr,
                            enum ps_dtype type, bool widens, enum ps_dtype *dtype);

#endif
