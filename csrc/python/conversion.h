/* Conversions of sparse matrices, for module.c. */
#ifndef PS_PYTHON_CONVERSION_H
#define PS_PYTHON_CONVERSION_H

#include "python/core.h"

PyObject *ps_py_convert(PyObject *module, PyObject *args);
PyObject *ps_py_format_of(PyObject *module, PyObject *object);

#endif
