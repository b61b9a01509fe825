/* The binding of histogram. */
#ifndef PS_PYTHON_PY_HISTOGRAM_H
#define PS_PYTHON_PY_HISTOGRAM_H

#include "python/core.h"

PyObject *ps_py_histogram(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords);

#endif
