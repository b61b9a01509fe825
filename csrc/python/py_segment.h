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

/* What gives each entry something back. */
#define PS_FOR_EACH_SEGMENT_ENTRY(X) \
    X(segment_softmax)               \
    X(segment_log_softmax) X(segment_scan) X(segment_cumsum) X(segment_expand)

#define PS_DECLARE_SEGMENT_ENTRY(name)                                                 \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords);
PS_FOR_EACH_SEGMENT_ENTRY(PS_DECLARE_SEGMENT_ENTRY)

#endif
