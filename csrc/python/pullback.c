/* The binding of pullbacks in one call.
 *
 * The rules of autodiff/ know every call; this one knows plain ones: contiguous native
 * arrays of float32 or float64, all of one dtype, an index of int32 or int64 along the
 * first axis. For any other call it returns None, and the general rule is asked; so it
 * is with an index that is out of bounds by now, of which the rule then tells.
 */
#include "python/pullback.h"

#include "ops/pullback.h"
#include "python/args.h"
#include "python/arrays.h"

enum {
    OP,
    OLD,
    INDEX,
    VALUES,
    OUT,
    G,
    TIES,
    N_ARGS
};
/* Entries are counted in 32 bits. */
#define MOST_ENTRIES UINT32_MAX

/* How values meet under an op, or -1: its pullback is no such thing. */
static int
meeting_of(PyObject *op, PyObject *ties)
{
    switch (PyUnicode_Check(op) ? ps_op_spelled(op) : -1) {
        case PS_set:
            return PS_MEET_LAST;
        case PS_first:
            return PS_MEET_FIRST;
        case PS_mean:
            return PS_MEET_MEAN;
        case PS_mul:
            return PS_MEET_PRODUCT;
        case PS_min:
        case PS_max:
        case PS_fmin:
        case PS_fmax:
            return PyUnicode_CompareWithASCIIString(ties, "first") == 0
                           ? PS_MEET_ONE
                           : PS_MEET_EXTREME;
        default:
            return -1;
    }
}

/* An array without a class of its own, one element after the other, aligned, native and
 * there. */
static bool
is_plain(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array) &&
           ps_lies_in_base(array);
}

/* Has `array` the dtype and the shape of `out`? */
static bool
is_like(PyObject *array, PyArrayObject *out)
{
    return is_plain(array) && PyArray_SAMESHAPE((PyArrayObject *)array, out) &&
           PyArray_TYPE((PyArrayObject *)array) == PyArray_TYPE(out);
}

/* Is there a value for each element of a row of `out` at each entry? */
static bool
fits_entries(PyArrayObject *values, PyArrayObject *index, PyArrayObject *out)
{
    const int entries = PyArray_NDIM(index), row = PyArray_NDIM(out) - 1;
    return PyArray_TYPE(values) == PyArray_TYPE(out) &&
           PyArray_NDIM(values) == entries + row &&
           PyArray_CompareLists(PyArray_DIMS(values), PyArray_DIMS(index), entries) &&
           PyArray_CompareLists(PyArray_DIMS(values) + entries, PyArray_DIMS(out) + 1,
                                row);
}

static bool
is_plain_call(PyObject *const *args)
{
    PyArrayObject *const index = (PyArrayObject *)args[INDEX];
    PyArrayObject *const out = (PyArrayObject *)args[OUT];
    if (!is_plain(args[INDEX]) || !is_plain(args[VALUES]) || !is_plain(args[OUT]) ||
        PyArray_NDIM(out) == 0 ||
        (PyArray_TYPE(out) != NPY_FLOAT32 && PyArray_TYPE(out) != NPY_FLOAT64)) {
        return false;
    }
    const int type = ps_index_type_of(index);
    return (type == PS_INDEX_i64 || type == PS_INDEX_i32) &&
           (uint64_t)PyArray_SIZE(index) <= MOST_ENTRIES && is_like(args[G], out) &&
           (args[OLD] == Py_None || is_like(args[OLD], out)) &&
           fits_entries((PyArrayObject *)args[VALUES], index, out);
}

/* A fresh array like another one. */
static PyArrayObject *
empty_like(PyArrayObject *array)
{
    PyArray_Descr *const descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    return (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), NULL, NULL,
            0, NULL);
}

static void *
data_of(PyObject *object)
{
    return object == Py_None ? NULL : PyArray_DATA((PyArrayObject *)object);
}

static ps_status
pull(ps_state *state, PyObject *const *args, int how, PyObject *of_old,
     PyArrayObject *of_values)
{
    PyArrayObject *const out = (PyArrayObject *)args[OUT];
    PyArrayObject *const index = (PyArrayObject *)args[INDEX];
    const npy_intp rows = PyArray_DIM(out, 0);
    const npy_intp width =
            PyArray_MultiplyList(PyArray_DIMS(out) + 1, PyArray_NDIM(out) - 1);
    ps_pull_call call = {.how = (enum ps_meeting)how,
                         .type = ps_dtype_of(state, PyArray_DESCR(out)),
                         .index = PyArray_BYTES(index),
                         .index_type = (enum ps_index_type)ps_index_type_of(index),
                         .n = PyArray_SIZE(index),
                         .rows = rows,
                         .pull = {.width = width,
                                  .values = data_of(args[VALUES]),
                                  .out = PyArray_DATA(out),
                                  .old = data_of(args[OLD]),
                                  .g = data_of(args[G]),
                                  .of_values = PyArray_DATA(of_values),
                                  .of_old = data_of(of_old)}};
    const int64_t nbytes = 4 * (PyArray_NBYTES(out) + PyArray_NBYTES(of_values));
    return ps_run_op(state, ps_pull_back, &call, nbytes);
}

/* (of_old, of_values), or None. Arguments are held by the caller's frame or tuple, the
 * arrays themselves by references of this call: others may let go of them while it
 * runs. */
static PyObject *
pulled(ps_state *state, PyObject *const *args, int how)
{
    PyArrayObject *const of_values = empty_like((PyArrayObject *)args[VALUES]);
    PyObject *const of_old =
            args[OLD] == Py_None ? Py_NewRef(Py_None)
                                 : (PyObject *)empty_like((PyArrayObject *)args[OLD]);
    PyObject *result = NULL;
    if (of_values != NULL && of_old != NULL) {
        const ps_status status = pull(state, args, how, of_old, of_values);
        if (status.code == PS_INDEX_BAD) {
            result = Py_NewRef(Py_None);
        }
        else if (ps_raise(state, status, "index") == 0) {
            result = PyTuple_Pack(2, of_old, of_values);
        }
    }
    Py_XDECREF(of_old);
    Py_XDECREF((PyObject *)of_values);
    return result;
}

/* pull_back(op, old, index, values, out, g, ties): the gradients of what a scatter or a
 * segment reduction combined to `out`, old being None where there were no old values;
 * ties: "even", or "first". */
PyObject *
ps_py_pull_back(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != N_ARGS || !PyUnicode_Check(args[TIES])) {
        PyErr_SetString(PyExc_TypeError, "pull_back() takes 7 arguments");
        return NULL;
    }
    const int how = meeting_of(args[OP], args[TIES]);
    if (how < 0 || !is_plain_call(args)) {
        Py_RETURN_NONE;
    }
    PyObject *held[N_ARGS];
    for (int i = 0; i < N_ARGS; i++) {
        held[i] = Py_NewRef(args[i]);
    }
    PyObject *const result = pulled(ps_get_state(module), held, how);
    for (int i = 0; i < N_ARGS; i++) {
        Py_DECREF(held[i]);
    }
    return result;
}
