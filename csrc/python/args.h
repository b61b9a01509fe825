/* Arguments of FASTCALL functions: names to slots, slots to C values. */
#ifndef PS_PYTHON_ARGS_H
#define PS_PYTHON_ARGS_H

#include "python/core.h"

/* Slots in order: the first n_positional may be given by position, the first n_required
 * must be given. */
typedef struct {
    const char *function;
    int n_names, n_positional, n_required;
    enum ps_name names[PS_NUM_NAMES];
} ps_signature;

/* slot[i] = borrowed reference or NULL. 0, or -1 with a TypeError. */
int ps_parse(const ps_state *state, const ps_signature *signature,
             PyObject *const *args, Py_ssize_t n_args, PyObject *keywords,
             PyObject **slot);

/* Each converter takes NULL for "not given" and leaves *result alone then. 0 or -1. */
int ps_to_op(const ps_state *state, PyObject *object, enum ps_op *result);
int ps_to_mode(PyObject *object, bool is_gather, enum ps_mode *result);
int ps_to_casting(PyObject *object, NPY_CASTING *result);
int ps_to_bool(PyObject *object, const char *name, bool *result);
int ps_to_int(PyObject *object, const char *name, int *result);

/* A number of things: an integer from 0 to 2^63 - 1, not a bool. 0 or -1. */
int ps_to_size(PyObject *object, const char *name, int64_t *size);

/* `object` as a Python int, a new reference, or NULL: TypeError where it is none. */
PyObject *ps_as_integer(PyObject *object, const char *name, bool takes_bools);

const char *ps_casting_name(NPY_CASTING casting);
const char *ps_mode_name(enum ps_mode mode);

/* The name of an op as users write it. */
const char *ps_op_name(enum ps_op op);

/* The op of a name or an alias, a Python string; -1: there is none. */
int ps_op_spelled(PyObject *name);

/* The names of ops by their spellings, a new dict; NULL with an exception. */
PyObject *ps_op_spellings(void);

/* axis in [0, ndim) from a number that may be negative; -1 with AxisError. */
int ps_check_axis(const ps_state *state, int axis, int ndim);

#endif
