/* The binding of accumulate: a gradient is added to a buffer and looked at.
 *
 * The class that calls it (pyscatter/accumulate.py) makes arrays lie as the op wants
 * them; here this is checked again, since other threads may hold them.
 */
#include "python/py_accumulate.h"

#include "ops/accumulate.h"
#include "python/arrays.h"

/* One after the other, aligned, native, and there. */
static bool
lies_plain(PyArrayObject *array)
{
    return PyArray_ISCARRAY_RO(array) && ps_lies_in_base(array);
}

static int
check_arrays(PyArrayObject *acc, PyArrayObject *g, enum ps_accumulation how)
{
    if (!lies_plain(acc) || !lies_plain(g) || PyArray_SIZE(acc) != PyArray_SIZE(g)) {
        PyErr_SetString(PyExc_ValueError,
                        "accumulate() takes contiguous arrays of one size");
        return -1;
    }
    if (how == PS_ACCUMULATE_NONE) {
        return 0;
    }
    if (ps_extents_meet(acc, g)) {
        PyErr_SetString(PyExc_ValueError, "a gradient shares memory with its sum");
        return -1;
    }
    return ps_require_writeable(acc);
}

/* accumulate(acc, g, weight, how): acc += weight * g, in place; how many products are
 * not finite. how: 0 adds all, 1 those that are finite, 2 only counts. */
PyObject *
ps_py_accumulate(PyObject *module, PyObject *args)
{
    PyArrayObject *acc, *g;
    double weight;
    int how;
    ps_state *const state = ps_get_state(module);
    if (!PyArg_ParseTuple(args, "O!O!di", &PyArray_Type, &acc, &PyArray_Type, &g,
                          &weight, &how)) {
        return NULL;
    }
    ps_accumulate_call call = {.how = (enum ps_accumulation)how,
                               .to = ps_dtype_of(state, PyArray_DESCR(acc)),
                               .from = ps_dtype_of(state, PyArray_DESCR(g)),
                               .weight = weight};
    if (how < 0 || how > PS_ACCUMULATE_NONE || call.to >= PS_NUM_DTYPES ||
        call.from >= PS_NUM_ALL_DTYPES ||
        ps_kernels()->accumulate[call.to][call.from] == NULL) {
        PyErr_Format(PyExc_TypeError, "cannot accumulate %S into %S", PyArray_DESCR(g),
                     PyArray_DESCR(acc));
        return NULL;
    }
    if (check_arrays(acc, g, call.how) < 0) {
        return NULL;
    }
    Py_INCREF(acc);
    Py_INCREF(g);
    call.acc = PyArray_BYTES(acc);
    call.g = PyArray_BYTES(g);
    call.n = PyArray_SIZE(acc);
    const int64_t nbytes = PyArray_NBYTES(acc) + PyArray_NBYTES(g);
    const int status =
            ps_raise(state, ps_run_op(state, ps_accumulate, &call, nbytes), "g");
    Py_DECREF(acc);
    Py_DECREF(g);
    return status == 0 ? PyLong_FromLongLong(call.odd) : NULL;
}
