/* Arriving values: weak Python scalars and lists, arrays under a casting rule. */
#ifndef PS_PYTHON_VALUES_H
#define PS_PYTHON_VALUES_H

#include "python/core.h"

typedef struct {
    PyArrayObject *array; /* owned, or NULL for a weak scalar held in `scalar` */
    _Alignas(16) char scalar[16];
    ps_values view; /* data, dtype, itemsize, order; strides are bound later */
    npy_intp strides[2 * PS_MAX_DIMS];
    bool may_overflow; /* weak, and one is too large for the target's type of floats */
} ps_incoming;

/* A Python bool, int, float or complex, and no subclass of these? */
bool ps_is_python_number(PyObject *object);

/* Take `object` for a target of dtype `target`, to be worked on as `work`. Does not
 * warn: see may_overflow. 0 or -1. */
int ps_take_values(ps_state *state, PyObject *object, PyArray_Descr *target,
                   enum ps_dtype work, NPY_CASTING casting, ps_incoming *incoming);

/* The largest magnitude in values of a single item that may_overflow. */
double ps_largest_part(const ps_incoming *incoming);

/* Whatever NumPy says, under np.errstate, of casting a number to a float or complex
 * dtype. 0, or -1 with an exception. */
int ps_warn_of_overflow(double number, PyArray_Descr *descr);

/* Broadcast to a shape: fills incoming->strides. `what` completes the message. 0 or -1.
 */
int ps_broadcast_values(ps_incoming *incoming, int ndim, const npy_intp *shape,
                        const char *what);

/* Take the pointer again, as has to be done before the op where Python code has run
 * since the values were taken. 0, or -1 where they have changed so that they cannot be
 * used. */
int ps_point_values(ps_state *state, ps_incoming *incoming);

/* A copy where the memory of the values meets that of `target`; ps_point_values has to
 * follow. */
int ps_separate_values(ps_incoming *incoming, PyArrayObject *target);

void ps_close_values(ps_incoming *incoming);

#endif
