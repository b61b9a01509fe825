/* Answers of the change family: their names, and several as one. */
#include "python/change_answers.h"

#include <string.h>

#include "ops/change.h"

PyObject *
ps_py_change_fields(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
#define FIELD_NAME(name) " " #name
    return Py_BuildValue("(ss)", PS_FOR_EACH_CHANGE_COUNT(FIELD_NAME) + 1,
                         PS_FOR_EACH_CHANGE_REAL(FIELD_NAME) + 1);
#undef FIELD_NAME
}

PyObject *
ps_py_change_join(PyObject *module, PyObject *raws)
{
    (void)module;
    ps_raw_change total = {.change = ps_no_change};
    if (!PyTuple_Check(raws)) {
        PyErr_SetString(PyExc_TypeError, "raws must be a tuple");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(raws); i++) {
        PyObject *const bytes = PyTuple_GET_ITEM(raws, i);
        ps_raw_change raw;
        if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != sizeof(raw)) {
            PyErr_SetString(PyExc_ValueError, "no record of a change");
            return NULL;
        }
        memcpy(&raw, PyBytes_AS_STRING(bytes), sizeof(raw));
        ps_change_join(&total.change, &raw.change);
        if (__builtin_add_overflow(total.size, raw.size, &total.size)) {
            PyErr_SetString(PyExc_OverflowError, "too many elements");
            return NULL;
        }
        total.n_compared += raw.n_compared;
        total.has_old |= raw.has_old;
        total.is_complex |= raw.is_complex;
    }
    return PyBytes_FromStringAndSize((const char *)&total, (Py_ssize_t)sizeof(total));
}
