/* The functions of the where family, for module.c; scatter_where is with its kin in
 * py_scatter.h. */
#ifndef PS_PYTHON_PY_WHERE_H
#define PS_PYTHON_PY_WHERE_H

#include "python/core.h"

PyObject *ps_py_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *keywords);
PyObject *ps_py_gather_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *keywords);

#endif
