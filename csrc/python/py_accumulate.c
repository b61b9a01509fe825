/* The binding of accumulate: a gradient is added to a buffer and looked at; and of sums
 * of what a mask chooses.
 *
 * Python (pyscatter/_sums.py, autodiff/parts.py) makes arrays lie as the ops want them;
 * here this is checked again, since other threads may hold them.
 */
#include "python/py_accumulate.h"

#include "ops/accumulate.h"
#include "ops/accumulate_chosen.h"
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

/* A mask (outer, rows, inner), of any strides but within a row, where it is one byte
 * after the other or the same one. */
static int
check_chosen(PyArrayObject *g, PyArrayObject *mask)
{
    const bool fits = PyArray_NDIM(g) == 3 && PyArray_SAMESHAPE(g, mask) &&
                      lies_plain(g) && ps_lies_in_base(mask) &&
                      PyArray_TYPE(mask) == NPY_BOOL &&
                      (PyArray_DIM(g, 2) <= 1 || PyArray_STRIDE(mask, 2) == 1 ||
                       PyArray_STRIDE(mask, 2) == 0);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError,
                        "sum_chosen() takes a contiguous array of 3 axes and a mask");
        return -1;
    }
    return 0;
}

/* `call` says how g is read; sums in new zeros of `shape`. */
static PyObject *
sum_chosen(ps_state *state, PyArrayObject *g, PyArrayObject *mask, ps_chosen_call *call,
           int n_axes, const npy_intp *shape)
{
    PyArray_Descr *const descr = PyArray_DESCR(g);
    Py_INCREF(descr);
    PyArrayObject *const out = (PyArrayObject *)PyArray_Zeros(n_axes, shape, descr, 0);
    if (out == NULL || PyArray_SIZE(g) == 0) {
        return (PyObject *)out;
    }
    Py_INCREF(g);
    Py_INCREF(mask);
    call->type = ps_dtype_of(state, descr);
    call->g = PyArray_BYTES(g);
    call->mask = PyArray_BYTES(mask);
    call->out = PyArray_BYTES(out);
    const int64_t nbytes = PyArray_NBYTES(g) + PyArray_SIZE(mask);
    const int status =
            ps_raise(state, ps_run_op(state, ps_sum_chosen, call, nbytes), "g");
    Py_DECREF(g);
    Py_DECREF(mask);
    if (status < 0) {
        Py_DECREF(out);
        return NULL;
    }
    return (PyObject *)out;
}

/* sum_chosen(g, mask, chosen): g (outer, rows, inner) summed over its rows where the
 * mask is `chosen`. */
PyObject *
ps_py_sum_chosen(PyObject *module, PyObject *args)
{
    PyArrayObject *g, *mask;
    int chosen;
    ps_state *const state = ps_get_state(module);
    if (!PyArg_ParseTuple(args, "O!O!p", &PyArray_Type, &g, &PyArray_Type, &mask,
                          &chosen) ||
        check_chosen(g, mask) < 0) {
        return NULL;
    }
    const enum ps_dtype type = ps_dtype_of(state, PyArray_DESCR(g));
    if (type != PS_f32 && type != PS_f64 && type != PS_c64 && type != PS_c128) {
        PyErr_Format(PyExc_TypeError, "cannot sum %S", PyArray_DESCR(g));
        return NULL;
    }
    ps_chosen_call call = {.outer = PyArray_DIM(g, 0),
                           .rows = PyArray_DIM(g, 1),
                           .inner = PyArray_DIM(g, 2),
                           .mask_outer = PyArray_STRIDE(mask, 0),
                           .mask_row = PyArray_STRIDE(mask, 1),
                           .mask_inner = PyArray_STRIDE(mask, 2),
                           .chosen = chosen != 0};
    const npy_intp shape[2] = {PyArray_DIM(g, 0), PyArray_DIM(g, 2)};
    return sum_chosen(state, g, mask, &call, 2, shape);
}

/* total_chosen(g, mask, chosen): the sum of g where a mask of its shape is `chosen`, an
 * array of no axes; None where they are not contiguous float32 or float64 and bools. */
PyObject *
ps_py_total_chosen(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != 3 || !PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) {
        Py_RETURN_NONE;
    }
    PyArrayObject *const g = (PyArrayObject *)args[0];
    PyArrayObject *const mask = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(g);
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || !lies_plain(g) ||
        PyArray_TYPE(mask) != NPY_BOOL || !lies_plain(mask) ||
        !PyArray_SAMESHAPE(g, mask)) {
        Py_RETURN_NONE;
    }
    ps_chosen_call call = {.outer = 1,
                           .rows = PyArray_SIZE(g),
                           .inner = 1,
                           .mask_row = 1,
                           .chosen = args[2] == Py_True};
    return sum_chosen(ps_get_state(module), g, mask, &call, 0, NULL);
}
