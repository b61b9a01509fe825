/* The binding of bin_index and binned_reduce. */
#ifndef PS_PYTHON_PY_BINS_H
#define PS_PYTHON_PY_BINS_H

#include "python/core.h"

PyObject *ps_py_bin_index(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords);
PyObject *ps_py_binned_reduce(PyObject *module, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *keywords);

/* force_bin_way(name or None): the way that a test forces; returns the one before. */
PyObject *ps_py_force_bin_way(PyObject *module, PyObject *name);

#endif
