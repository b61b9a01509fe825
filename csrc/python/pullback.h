/* Pullbacks in one call, for module.c. */
#ifndef PS_PYTHON_PULLBACK_H
#define PS_PYTHON_PULLBACK_H

#include "python/core.h"

/* pullback.c */
PyObject *ps_py_pull_back(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

/* pullback_plain.c */
PyObject *ps_py_covers(PyObject *module, PyObject *const *args, Py_ssize_t n_args);
PyObject *ps_py_are_factors(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

/* What the pullback of a plain call knows; references of the caller's. */
typedef struct {
    PyObject *recipe;
    PyObject *option; /* the value of the only option, or NULL */
    PyObject *primals, *wanted, *out, *ties;
} ps_plain_call;

/* The recipe of a call from a dict of them, a new reference, or NULL: without options
 * that of None, with `op` alone that of the op or of "op", with another one alone that
 * of its name. The option's value goes to *option, a new reference. */
PyObject *ps_recipe_of(PyObject *recipes, PyObject *options, PyObject **option);

/* Is it a float32 or float64 array without a class of its own? */
bool ps_is_real(PyObject *object);

/* Are the arguments at these positions float32 or float64: arrays without a class of
 * their own, matrices of such numbers, Python floats? False with an exception where
 * positions are no integers. */
bool ps_are_plain(ps_state *state, PyObject *primals, PyObject *wanted);

/* A new tuple with the gradient of each argument, or None: the general rule has to be
 * asked; NULL with an exception. */
PyObject *ps_pull_plain(ps_state *state, const ps_plain_call *call, PyObject *g);

/* Add `pull_operands` to the module. 0 or -1. */
int ps_add_pull_operands(PyObject *module);

/* pullback_object.c */
PyObject *ps_py_begin(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

/* Add the base of calls and pullbacks to the module. 0 or -1. */
int ps_add_calls(PyObject *module);

#endif
