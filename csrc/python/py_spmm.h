/* The binding of products of sparse and dense matrices. */
#ifndef PS_PYTHON_PY_SPMM_H
#define PS_PYTHON_PY_SPMM_H

#include "python/core.h"

PyObject *ps_py_spmm(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *keywords);

PyObject *ps_py_sddmm(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *keywords);

#endif
