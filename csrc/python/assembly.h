/* Assembly, for module.c. */
#ifndef PS_PYTHON_ASSEMBLY_H
#define PS_PYTHON_ASSEMBLY_H

#include "python/core.h"

PyObject *ps_py_assemble(PyObject *module, PyObject *args);
PyObject *ps_py_assembled(PyObject *module, PyObject *args);
PyObject *ps_py_coo_to_csr(PyObject *module, PyObject *args);

#endif
