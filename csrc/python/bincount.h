/* bincount, for module.c. */
#ifndef PS_PYTHON_BINCOUNT_H
#define PS_PYTHON_BINCOUNT_H

#include "python/core.h"

PyObject *ps_py_bincount(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *keywords);

#endif
