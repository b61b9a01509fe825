/* The list of kernels. */
#ifndef PS_PYTHON_KERNEL_LIST_H
#define PS_PYTHON_KERNEL_LIST_H

#include "python/core.h"

/* kernels(): (family, op, dtype, level, "op dtype level" of the row whose kernel
 * serves) for every kernel of the levels that this CPU has. */
PyObject *ps_py_kernels(PyObject *module, PyObject *unused);

#endif
