/* The type Plan, for module.c and for the functions that accept one. */
#ifndef PS_PYTHON_PY_PLAN_H
#define PS_PYTHON_PY_PLAN_H

#include "python/core.h"

#include "ops/plan.h"

/* Make the type, keep it in the state and add it to the module, with the functions of
 * plans for other families. 0 or -1. */
int ps_add_plan(PyObject *module);

/* The plan in `object`, which keeps it alive; NULL where it is something else. */
const ps_plan *ps_plan_of(const ps_state *state, PyObject *object);

/* The resolved index as a new read-only array, which keeps its plan alive. */
PyArrayObject *ps_plan_rows(PyObject *plan);

/* The mode of a call whose index may be a plan: the plan's own, also where the call
 * names it; ValueError where the call names another. `named`: the argument, or NULL;
 * *mode: what it stands for. 0 or -1. */
int ps_settle_mode(const ps_state *state, PyObject *index, PyObject *named,
                   enum ps_mode *mode);

#endif
