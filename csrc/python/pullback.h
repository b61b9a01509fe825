/* Pullbacks in one call, for module.c. */
#ifndef PS_PYTHON_PULLBACK_H
#define PS_PYTHON_PULLBACK_H

#include "python/core.h"

PyObject *ps_py_pull_back(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

#endif
