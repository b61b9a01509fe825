/* Running forms of segments, for module.c. */
#ifndef PS_PYTHON_SCAN_H
#define PS_PYTHON_SCAN_H

#include "python/core.h"

PyObject *ps_py_segment_scan(PyObject *module, PyObject *const *args,
                             Py_ssize_t n_args);

#endif
