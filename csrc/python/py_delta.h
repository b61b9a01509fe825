/* The binding of the delta family. */
#ifndef PS_PYTHON_PY_DELTA_H
#define PS_PYTHON_PY_DELTA_H

#include "python/core.h"

PyObject *ps_py_delta(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *keywords);

/* Add the type Delta to the module. 0 or -1. */
int ps_add_delta(PyObject *module);

#endif
