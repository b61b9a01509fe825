/* The functions of the segment family, for module.c. */
#ifndef PS_PYTHON_PY_SEGMENT_H
#define PS_PYTHON_PY_SEGMENT_H

#include "python/core.h"

/* clang-format off */

/* Names for segment_reduce: name, op. */
#define PS_FOR_EACH_SEGMENT_NAME(X)                                         \
    X(segment_sum, "add") X(segment_prod, "mul") X(segment_mean, "mean")    \
    X(segment_min, "min") X(segment_max, "max")

/* clang-format on */

PyObject *ps_py_segment_reduce(PyObject *module, PyObject *const *args,
                               Py_ssize_t n_args, PyObject *keywords);

#define PS_DECLARE_SEGMENT_NAME(name, op)                                              \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords);
PS_FOR_EACH_SEGMENT_NAME(PS_DECLARE_SEGMENT_NAME)

PyObject *ps_py_softmax(PyObject *module, PyObject *args);
PyObject *ps_py_elementary(PyObject *module, PyObject *args);

#endif
