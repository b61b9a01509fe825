/* The binding of factorize, and what group_reduce shares with it. */
#ifndef PS_PYTHON_PY_KEYS_H
#define PS_PYTHON_PY_KEYS_H

#include "python/keys_columns.h"

/* How keys are to be numbered, and what is wanted beside the numbers. */
typedef struct {
    bool sorts, wants_first, wants_counts;
    enum ps_missing missing;
    bool hides_ids;   /* nobody outside the call sees them */
    bool has_dropped; /* out: some ids may be -1 */
} ps_key_options;

/* sort= and missing=; NULL: as the options are. 0 or -1. */
int ps_take_key_options(ps_key_options *options, PyObject *sort, PyObject *missing);

/* Keys are numbered: *ids, in their shape, and (in out[1 ..]) uniques, first and counts
 * as wanted; out[0] is ids. mask [n] or NULL: entries that take part. 0 or -1, and then
 * nothing is in `out`. */
int ps_factorize(ps_state *state, ps_key_columns *keys, ps_key_options *options,
                 const char *mask, PyObject *out[4]);

PyObject *ps_py_factorize(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *keywords);

/* force_keys(way, parts): for tests; the ways of ops/keys.h, None: as it pays. Returns
 * what was in force. */
PyObject *ps_py_force_keys(PyObject *module, PyObject *args);

#endif
