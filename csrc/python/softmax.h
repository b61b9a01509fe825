/* Softmax, its logarithm, and logsumexp of segments. */
#ifndef PS_PYTHON_SOFTMAX_H
#define PS_PYTHON_SOFTMAX_H

#include "python/reduce.h"

/* Logarithms of sums of powers of a segment call whose form is known, in work->sums, of
 * the result's type if that is real, else of the type of sums. 0 or -1. */
int ps_run_powers(ps_reduce *work);

/* The same for each entry: its part of the sum, or the logarithm of that. */
int ps_run_softmax(ps_reduce *work, bool is_log);

PyObject *ps_py_elementary(PyObject *module, PyObject *args);

#endif
