/* Dense operands of products with sparse matrices (contract in dense.h).
 *
 * What lies well is used in place, whatever the steps between rows; everything else,
 * another dtype above all, is copied whole by NumPy: a product reads each row many
 * times, and a copy costs as much as reading it once or twice. */
#include "python/dense.h"

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/matrix.h"

PyArrayObject *
ps_take_dense(ps_state *state, PyObject *object, const char *name)
{
    PyArrayObject *const array = ps_as_array(state, object, name);
    if (array == NULL) {
        return NULL;
    }
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(array));
    PyArrayObject *result = NULL;
    if (!ps_multiplies(dtype)) {
        PyErr_Format(PyExc_TypeError,
                     "'%s' must be of bools, integers, floats or complex numbers of at "
                     "most double precision, got dtype %S",
                     name, (PyObject *)PyArray_DESCR(array));
    }
    else if (PyArray_NDIM(array) == 0) {
        PyErr_Format(PyExc_ValueError, "'%s' must have at least 1 axis", name);
    }
    else {
        result = ps_plain(array);
    }
    Py_DECREF(array);
    return result;
}

bool
ps_lies_dense(ps_state *state, PyArrayObject *array, enum ps_dtype type,
              ps_dense *dense)
{
    const int ndim = PyArray_NDIM(array), lead = ndim > 2 ? ndim - 2 : 0;
    const npy_intp itemsize = PyArray_ITEMSIZE(array);
    if (ndim == 0 || !ps_lies_in_base(array) ||
        ps_dtype_of(state, PyArray_DESCR(array)) != type || ps_is_swapped(array) ||
        !PyArray_ISALIGNED(array) || (lead > 1 && !PyArray_IS_C_CONTIGUOUS(array))) {
        return false;
    }
    const int row = ndim > 1 ? ndim - 2 : 0;
    *dense = (ps_dense){.data = PyArray_BYTES(array),
                        .batch = 1,
                        .rows = PyArray_DIM(array, row),
                        .width = ndim > 1 ? PyArray_DIM(array, ndim - 1) : 1,
                        .step = PyArray_STRIDE(array, row),
                        .batch_step = lead > 0 ? PyArray_STRIDE(array, lead - 1) : 0};
    for (int axis = 0; axis < lead; axis++) {
        dense->batch *= PyArray_DIM(array, axis);
    }
    return dense->width <= 1 || PyArray_STRIDE(array, ndim - 1) == itemsize ||
           PyArray_SIZE(array) == 0;
}

int
ps_lay_dense(ps_state *state, PyArrayObject **array, PyArray_Descr *descr,
             enum ps_dtype type)
{
    ps_dense unused;
    if (PyArray_NDIM(*array) == 0 || !ps_lies_in_base(*array)) {
        return ps_raise_changed(NULL);
    }
    if (ps_lies_dense(state, *array, type, &unused)) {
        return 0;
    }
    Py_INCREF(descr);
    Py_SETREF(*array, ps_cast_of(*array, descr));
    return *array != NULL ? 0 : -1;
}

PyArrayObject *
ps_turned(PyArrayObject *array)
{
    const int ndim = PyArray_NDIM(array);
    return ndim > 1 ? (PyArrayObject *)PyArray_SwapAxes(array, ndim - 2, ndim - 1)
                    : (PyArrayObject *)Py_NewRef((PyObject *)array);
}

PyArrayObject *
ps_take_target(ps_state *state, PyObject *given, int ndim, const npy_intp *shape,
               PyArray_Descr *descr)
{
    if (given == NULL) {
        Py_INCREF(descr);
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape,
                                                     NULL, NULL, 0, NULL);
    }
    if (ps_require_array(state, given, "out") < 0 ||
        ps_check_out(state, (PyArrayObject *)given, ndim, shape, descr,
                     NPY_SAME_KIND_CASTING) < 0) {
        return NULL;
    }
    PyArrayObject *out = ps_plain((PyArrayObject *)given);
    if (out != NULL && !ps_lies_in_base(out)) {
        ps_raise_changed("out");
        Py_CLEAR(out);
    }
    return out;
}

int
ps_deliver_sums(PyArrayObject *sums, PyArrayObject *target)
{
    if (sums == target) {
        return 0;
    }
    PyObject *const done = ps_deliver(sums, target);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

int64_t
ps_product_nbytes(int64_t items, int64_t nbytes, int64_t batch)
{
    int64_t all;
    return ps_multiply(items, nbytes, &all) && ps_multiply(all, batch, &all)
                   ? all
                   : INT64_MAX;
}

int
ps_lay_data(ps_state *state, PyArrayObject **data, PyArray_Descr *descr,
            enum ps_dtype type, bool conjugates)
{
    if (*data == NULL) {
        return 0;
    }
    if (!ps_lies_in_base(*data)) {
        return ps_raise_changed("data");
    }
    if (ps_dtype_of(state, PyArray_DESCR(*data)) != type ||
        !PyArray_ISCARRAY_RO(*data)) {
        Py_INCREF(descr);
        Py_SETREF(*data, ps_cast_of(*data, descr));
    }
    if (*data != NULL && conjugates && PyTypeNum_ISCOMPLEX(descr->type_num)) {
        Py_SETREF(*data, (PyArrayObject *)PyArray_Conjugate(*data, NULL));
    }
    return *data != NULL ? 0 : -1;
}
