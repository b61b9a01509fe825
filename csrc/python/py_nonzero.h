/* The binding of the nonzero family. */
#ifndef PS_PYTHON_PY_NONZERO_H
#define PS_PYTHON_PY_NONZERO_H

#include "python/core.h"

PyObject *ps_py_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *keywords);
PyObject *ps_py_flatnonzero(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                            PyObject *keywords);
PyObject *ps_py_argwhere(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *keywords);
PyObject *ps_py_count_nonzero(PyObject *module, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *keywords);

#endif
