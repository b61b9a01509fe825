/* The binding of the change family. */
#ifndef PS_PYTHON_PY_CHANGE_H
#define PS_PYTHON_PY_CHANGE_H

#include "python/core.h"

PyObject *ps_py_change_stats(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *keywords);

/* change_update(items): raw answers of many calls at once, each a tuple of
 * change_stats' arguments in order. */
PyObject *ps_py_change_update(PyObject *module, PyObject *items);

#endif
