/* Arriving values: weak Python scalars and lists, arrays under a casting rule. */
#ifndef PS_PYTHON_VALUES_H
#define PS_PYTHON_VALUES_H

#include "python/core.h"

typedef struct {
    PyArrayObject *array; /* owned, or NULL for a weak scalar held in `scalar` */
    _Alignas(16) char scalar[16];
    ps_values view; /* data, dtype, itemsize, order; strides are bound later */
    npy_intp strides[2 * PS_MAX_DIMS];
} ps_incoming;

/* Take `object` for a target of `target`'s dtype, to be worked on as `work`. is_weak
 * may be forced by callers that have range-checked already. 0 or -1. */
int ps_take_values(ps_state *state, PyObject *object, PyArrayObject *target,
                   enum ps_dtype work, NPY_CASTING casting, ps_incoming *incoming);

/* Broadcast to a shape: fills incoming->strides. `what` completes the message. 0 or -1.
 */
int ps_broadcast_values(ps_incoming *incoming, int ndim, const npy_intp *shape,
                        const char *what);

/* A copy where the memory of the values meets that of `target`. */
int ps_separate_values(ps_incoming *incoming, PyArrayObject *target);

void ps_close_values(ps_incoming *incoming);

#endif
