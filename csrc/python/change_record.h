/* What a record of a change holds: the base of pyscatter.ChangeStats. */
#ifndef PS_PYTHON_CHANGE_RECORD_H
#define PS_PYTHON_CHANGE_RECORD_H

#include "python/change_answers.h"

/* A new ChangeStats, or NULL. arrays: a tuple or None; context: a dict that is its own
 * from now on. Both are borrowed. */
PyObject *ps_new_change(ps_state *state, const ps_raw_change *raw, PyObject *arrays,
                        PyObject *context);

/* Another answer for a record that nobody has read. */
void ps_put_change(PyObject *record, const ps_raw_change *raw);

/* Add ChangeRecord to the module. 0 or -1. */
int ps_add_change_record(PyObject *module);

#endif
