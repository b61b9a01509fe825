/* The functions of the scatter family, for module.c. */
#ifndef PS_PYTHON_PY_SCATTER_H
#define PS_PYTHON_PY_SCATTER_H

#include "python/forms.h"

/* clang-format off */

/* Drop-ins for ufunc.at: name, op. */
#define PS_FOR_EACH_DROP_IN(X)                                              \
    X(add_at, PS_add) X(subtract_at, PS_sub) X(multiply_at, PS_mul)         \
    X(divide_at, PS_div) X(floor_divide_at, PS_floor_div)                   \
    X(minimum_at, PS_min) X(maximum_at, PS_max)                             \
    X(fmin_at, PS_fmin) X(fmax_at, PS_fmax)                                 \
    X(bitwise_and_at, PS_and) X(bitwise_or_at, PS_or) X(bitwise_xor_at, PS_xor)

/* clang-format on */

PyObject *ps_py_scatter(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *keywords);
PyObject *ps_py_scatter_along_axis(PyObject *module, PyObject *const *args,
                                   Py_ssize_t n_args, PyObject *keywords);
PyObject *ps_py_scatter_nd(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                           PyObject *keywords);
PyObject *ps_py_scatter_at(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                           PyObject *keywords);

PyObject *ps_py_scatter_where(PyObject *module, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *keywords);

/* A reduction by groups: a scatter to the axis or along form of `target`, whose dtype
 * is that of the accumulator unless `dtype` names another. Negative indices are out of
 * bounds under PS_MODE_IDS. */
typedef struct {
    PyArrayObject *target;
    bool is_private; /* nobody else has seen it: an error may leave it half done */
    ps_where_args where;
    PyObject *values;
    const int64_t *value_offsets; /* as ps_values has them, or NULL ... */
    const char *weights;          /* ... of the accumulator's type */
    enum ps_op op;
    enum ps_mode mode;
    bool include_self, compensated;
    PyObject *dtype; /* or NULL */
} ps_fold;

/* 0, or -1 with an exception. */
int ps_fold_by_ids(ps_state *state, const ps_fold *fold);

#define PS_DECLARE_DROP_IN(name, op)                                                   \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords);
PS_FOR_EACH_DROP_IN(PS_DECLARE_DROP_IN)

/* scatter_short.c: update a plain array in place by few elements. 1: done; 0: not such
 * a call, or one whose index is bad, and the long way does it, or says what is wrong;
 * -1: an exception. */
int ps_scatter_short(ps_state *state, enum ps_op op, PyObject *target, PyObject *index,
                     PyObject *values);

/* The same for a call of any form whose arguments are as they come: three by their
 * places, op= and out=, the first of them, by name. And for the n slots of one that has
 * others by name, too; the last of them is out=. NULL without an exception: not such a
 * call. */
PyObject *ps_scatter_short_call(ps_state *state, enum ps_form form,
                                PyObject *const *args, Py_ssize_t n_args,
                                PyObject *keywords);
PyObject *ps_scatter_short_slots(ps_state *state, enum ps_form form, enum ps_op op,
                                 PyObject *const *slot, int n, int op_slot);

#endif
