/* Where a scatter writes to, and what it computes in: the arguments beside where and
 * what, settled before anything of the call is converted. */
#ifndef PS_PYTHON_TARGETS_H
#define PS_PYTHON_TARGETS_H

#include "python/forms.h"
#include "python/spans.h"
#include "python/values.h"

/* What a call asks for beside where. */
typedef struct {
    enum ps_op op;
    enum ps_mode mode;
    bool include_self, compensated;
    bool is_drop_in; /* NumPy's rules where they differ: complex order */
    NPY_CASTING casting;
    PyObject *dtype, *out;
} ps_scatter_options;

extern const ps_scatter_options ps_default_options;

/* A call on its way: what has to be released at its end. */
typedef struct {
    ps_state *state;
    const ps_where_args *where;
    ps_scatter_options options;
    PyArrayObject *target; /* owned: what the op writes to */
    PyArrayObject *out;    /* borrowed: receives the target at the end, or NULL */
    PyArray_Descr *descr;  /* owned: the target's, which says what is allowed */
    bool is_private;
    bool has_foreign_sums; /* NumPy alone casts between the target and dtype= */
    enum ps_dtype dtype, accumulator;
    int64_t itemsize;             /* of the target */
    ps_spans spans;               /* of the target's items */
    const int64_t *value_offsets; /* of a fold, or NULL; and so are its ... */
    const char *weights;
    ps_request request;
    ps_incoming values;
} ps_scatter_work;

/* TypeError for an op that a dtype does not have; `advice` follows. Returns -1. */
int ps_refuse_op(enum ps_op op, PyArray_Descr *descr, const char *advice);

/* Is the op defined for the target's dtype? 0, or -1 with a TypeError. */
int ps_check_op(const ps_scatter_work *work);

/* `a`, or out= where both are views of the same elements: the call is then in place. */
PyObject *ps_same_or_out(const ps_scatter_work *work, PyObject *a);

/* Which array the result goes to, and what its type allows: asked of out= where there
 * is one. How elements of `a` and of the target are stored, or -1. */
int ps_check_target(ps_scatter_work *work, PyObject *a, PyArrayObject *array);

/* What sums are kept in: dtype=, or what the target's dtype calls for. 0 or -1. */
int ps_choose_accumulator(ps_scatter_work *work);

/* The target itself: the caller's array, or a fresh copy. 0 or -1. */
int ps_open_target(ps_scatter_work *work, PyArrayObject *array);

#endif
