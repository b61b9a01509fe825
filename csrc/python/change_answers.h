/* Answers of the change family, as they leave the C side. */
#ifndef PS_PYTHON_CHANGE_ANSWERS_H
#define PS_PYTHON_CHANGE_ANSWERS_H

#include "python/core.h"

#include "base/change.h"

/* An answer as it leaves. */
typedef struct {
    ps_change change;
    int64_t size, n_compared, has_old, is_complex;
} ps_raw_change;

/* change_fields(): the names of the integers and of the reals in a raw answer. */
PyObject *ps_py_change_fields(PyObject *module, PyObject *unused);

/* change_join(raws): the raw answer for all of their elements, in order. */
PyObject *ps_py_change_join(PyObject *module, PyObject *raws);

#endif
