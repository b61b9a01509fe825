/* The binding of group_reduce. */
#ifndef PS_PYTHON_GROUP_REDUCE_H
#define PS_PYTHON_GROUP_REDUCE_H

#include "python/core.h"

PyObject *ps_py_group_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *keywords);

#endif
