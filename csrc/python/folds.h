/* What the Python side of segments is made of, for module.c. */
#ifndef PS_PYTHON_FOLDS_H
#define PS_PYTHON_FOLDS_H

#include "python/core.h"

PyObject *ps_py_fold_ranges(PyObject *module, PyObject *args);
PyObject *ps_py_find_extremes(PyObject *module, PyObject *args);
PyObject *ps_py_sum_deviations(PyObject *module, PyObject *args);

#endif
