/* The base of pyscatter.ChangeTracker. */
#ifndef PS_PYTHON_TRACKER_H
#define PS_PYTHON_TRACKER_H

#include "python/core.h"

/* Add TrackerBase to the module. 0 or -1. */
int ps_add_tracker(PyObject *module);

#endif
