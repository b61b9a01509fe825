/* The binding of the change family. */
#ifndef PS_PYTHON_PY_CHANGE_H
#define PS_PYTHON_PY_CHANGE_H

#include "python/core.h"

PyObject *ps_py_change_stats(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *keywords);

/* change_update(items): raw answers of many calls at once, each a tuple of
 * change_stats' arguments in order. */
PyObject *ps_py_change_update(PyObject *module, PyObject *items);

/* change_fields(): the names of the integers and of the reals in a raw answer. */
PyObject *ps_py_change_fields(PyObject *module, PyObject *unused);

/* change_join(raws): the raw answer for all of their elements, in order. */
PyObject *ps_py_change_join(PyObject *module, PyObject *raws);

#endif
