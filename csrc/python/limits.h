/* Limits of runs of entries as they are given: offsets, starts and stops, lengths; and
 * what is wrong with them, in words. */
#ifndef PS_PYTHON_LIMITS_H
#define PS_PYTHON_LIMITS_H

#include "python/runs.h"

/* `object` as integers along one axis in native order; a new reference, or NULL with an
 * exception. */
PyArrayObject *ps_as_limits(ps_state *state, PyObject *object, const char *name);

/* Number `at` of such an array; false where it does not lie in [0, 2^63). */
bool ps_read_limit(PyArrayObject *limits, npy_intp at, int64_t *value);

/* Offsets that lengths of `n_entries`, or of any number if that is -1, mean: a new
 * array of one more; NULL with an exception where one is negative or their sum is
 * another. */
PyArrayObject *ps_offsets_of(ps_state *state, PyArrayObject *lengths,
                             int64_t n_entries);

/* How many entries the runs reach to, where nothing else tells; from_lengths: they
 * stand in `stops`, and offsets are made of them. 0 or -1. */
int ps_count_entries(ps_state *state, ps_runs *runs, bool from_lengths,
                     npy_intp *n_entries);

/* The first number that makes `runs` none of `n_entries` entries, -1: of any number, as
 * a ValueError; a RuntimeError where there is none any more. Returns -1. */
int ps_raise_limits(ps_state *state, const ps_runs *runs, int64_t n_entries);

#endif
