/* The functions of the gather family, for module.c. */
#ifndef PS_PYTHON_PY_GATHER_H
#define PS_PYTHON_PY_GATHER_H

#include "python/core.h"

PyObject *ps_py_gather(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                       PyObject *keywords);
PyObject *ps_py_gather_along_axis(PyObject *module, PyObject *const *args,
                                  Py_ssize_t n_args, PyObject *keywords);
PyObject *ps_py_gather_nd(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords);
PyObject *ps_py_gather_at(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords);

/* gather(a, index, axis) as a new array; mask: which entries take part, or NULL. */
PyArrayObject *ps_gather_rows(ps_state *state, PyArrayObject *a, PyArrayObject *index,
                              int axis, int batch_dims, PyArrayObject *mask,
                              enum ps_mode mode);

#endif
