/* Sparse times sparse, for module.c. */
#ifndef PS_PYTHON_SPGEMM_H
#define PS_PYTHON_SPGEMM_H

#include "python/core.h"

PyObject *ps_py_spgemm(PyObject *module, PyObject *args);
PyObject *ps_py_spgemm_again(PyObject *module, PyObject *args);

#endif
