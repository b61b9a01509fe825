/* Order statistics of segments, for module.c. */
#ifndef PS_PYTHON_QUANTILE_H
#define PS_PYTHON_QUANTILE_H

#include "python/core.h"

PyObject *ps_py_segment_quantile(PyObject *module, PyObject *const *args,
                                 Py_ssize_t n_args);

#endif
