/* What folds leave becomes what a caller of a segment function asked for. */
#ifndef PS_PYTHON_OUTCOME_H
#define PS_PYTHON_OUTCOME_H

#include "python/reduce.h"

/* Sums become means, variances, or what they are, in the result's dtype, with what
 * empty segments hold. is_centre: means alone, in the type of sums. 0 or -1. */
int ps_finish_sums(ps_reduce *work, bool is_centre);

/* An array laid out as counts are in the shape of a result; of its own if it is another
 * result. A new reference, or NULL. */
PyArrayObject *ps_spread_counts(const ps_reduce *work, PyArrayObject *counts);

/* Put n results in place of what out= names, after a look at all of them: arrays of
 * their shapes that take a cast of one kind and share no memory. 0 or -1. */
int ps_write_results(ps_state *state, PyObject *out, PyObject *const *results,
                     Py_ssize_t n);

/* `results`, a tuple of what a segment function has returned for each of several arrays
 * of values, with the reductions put in place of what `outs` names, as many items;
 * places and counts stay. has_many_ops: op is a tuple. A new tuple, or NULL. */
PyObject *ps_put_results(ps_state *state, PyObject *results, PyObject *outs,
                         bool has_many_ops);

#endif
