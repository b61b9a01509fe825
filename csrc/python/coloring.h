/* Colours of a pattern, for module.c. */
#ifndef PS_PYTHON_COLORING_H
#define PS_PYTHON_COLORING_H

#include "python/core.h"

PyObject *ps_py_color_columns(PyObject *module, PyObject *args);

#endif
