/* Sums of gradients, for module.c. */
#ifndef PS_PYTHON_PY_ACCUMULATE_H
#define PS_PYTHON_PY_ACCUMULATE_H

#include "python/core.h"

PyObject *ps_py_accumulate(PyObject *module, PyObject *args);
PyObject *ps_py_sum_chosen(PyObject *module, PyObject *args);
PyObject *ps_py_total_chosen(PyObject *module, PyObject *const *args,
                             Py_ssize_t n_args);

#endif
