/* From a status to an exception: the only place that words what ops found. Messages
 * have NumPy's form and add the position. */
#include "python/core.h"

#include <string.h>

#include "ops/matrix.h"

static void
raise_bad_index(ps_status status, const char *index_name)
{
    PyObject *const value =
            status.is_unsigned ? PyLong_FromUnsignedLongLong((uint64_t)status.value)
                               : PyLong_FromLongLong(status.value);
    const bool is_missing =
            !status.is_unsigned && status.value < 0 && strcmp(index_name, "ids") == 0;
    if (value != NULL) {
        PyErr_Format(PyExc_IndexError,
                     "index %S is out of bounds for axis %d with size %lld "
                     "(position %lld of %lld in '%s'%s)",
                     value, status.axis, (long long)status.size,
                     (long long)status.position, (long long)status.total, index_name,
                     is_missing ? "; mode=\"drop\" leaves such ids out" : "");
        Py_DECREF(value);
    }
}

static void
word_fault(ps_status status, PyObject *value)
{
    static const char *const arrays[] = {[PS_FAULT_INDEX] = "indices",
                                         [PS_FAULT_ROW] = "row",
                                         [PS_FAULT_COL] = "col"};
    const long long position = status.position, size = status.size;
    switch ((enum ps_fault)status.axis) {
        case PS_FAULT_FIRST:
            PyErr_Format(PyExc_ValueError, "indptr[0] must be 0, got %S", value);
            return;
        case PS_FAULT_LAST:
            PyErr_Format(PyExc_ValueError,
                         "indptr[%lld] is %S, but there are %lld entries in 'indices' "
                         "(a SciPy array gives spare room back by .prune())",
                         position, value, size);
            return;
        case PS_FAULT_ORDER:
            PyErr_Format(PyExc_ValueError,
                         "indptr[%lld] is %S, less than indptr[%lld], which is %lld",
                         position, value, position - 1, size);
            return;
        default:
            PyErr_Format(PyExc_ValueError,
                         "%s[%lld] is %S, out of bounds for a size of %lld",
                         arrays[status.axis], position, value, size);
    }
}

static void
raise_bad_structure(ps_status status)
{
    PyObject *const value =
            status.is_unsigned ? PyLong_FromUnsignedLongLong((uint64_t)status.value)
                               : PyLong_FromLongLong(status.value);
    if (value != NULL) {
        word_fault(status, value);
        Py_DECREF(value);
    }
}

int
ps_raise(ps_state *state, ps_status status, const char *index_name)
{
    (void)state;
    switch (status.code) {
        case PS_OK:
            return 0;
        case PS_NO_MEMORY:
            PyErr_NoMemory();
            break;
        case PS_INTERRUPTED: /* the handler's exception is set */
            break;
        case PS_INDEX_BAD:
            raise_bad_index(status, index_name);
            break;
        case PS_INDEX_CHANGED:
            PyErr_SetString(
                    PyExc_RuntimeError,
                    "index changed during the call (another thread wrote to it)");
            break;
        case PS_TOO_LARGE:
            PyErr_SetString(PyExc_ValueError,
                            "the number of elements does not fit in 64 bits");
            break;
        case PS_STRUCTURE_BAD:
            raise_bad_structure(status);
            break;
    }
    return -1;
}
