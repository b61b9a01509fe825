/* The binding of explain_diff. */
#ifndef PS_PYTHON_EXPLAIN_H
#define PS_PYTHON_EXPLAIN_H

#include "python/core.h"

/* explain(actual, desired, rtol, atol): (n, n_mismatch, numbers of the first
 * mismatches, max_abs, max_rel); the last two -1 where no difference is a number. */
PyObject *ps_py_explain(PyObject *module, PyObject *args);

#endif
