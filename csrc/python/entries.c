/* Entries of segments (contract in entries.h). Nothing here trusts its caller, which is
 * Python code of the house: types and shapes are looked at again. */
#include "python/entries.h"

#include "base/sizes.h"
#include "ops/values.h"
#include "python/copies.h"

PyArrayObject *
ps_open_vector(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)PyArray_FROM_OF(
            object, NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSUREARRAY);
    if (array == NULL) {
        return NULL;
    }
    if (ps_index_type_of(array) < 0 || PyArray_NDIM(array) != 1) {
        PyErr_SetString(PyExc_TypeError, "an index has one axis of integers");
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

ps_index
ps_vector_index(PyArrayObject *vector, int64_t size, int64_t *stride)
{
    *stride = PyArray_STRIDE(vector, 0);
    return (ps_index){.data = PyArray_BYTES(vector),
                      .strides = stride,
                      .type = (enum ps_index_type)ps_index_type_of(vector),
                      .size = size,
                      .step = 1};
}

PyArrayObject *
ps_open_rows(ps_state *state, PyObject *object, PyArray_Descr *descr,
             enum ps_dtype type, bool widens, enum ps_dtype *dtype)
{
    if (!PyArray_Check(object) || PyArray_NDIM((PyArrayObject *)object) < 1) {
        PyErr_SetString(PyExc_TypeError, "values is an array of at least one axis");
        return NULL;
    }
    PyArrayObject *const array = (PyArrayObject *)object;
    const enum ps_dtype given = ps_dtype_of(state, PyArray_DESCR(array));
    const bool is_castable = !widens && given != PS_t64 && given != PS_raw &&
                             ps_can_convert(given, type);
    PyArrayObject *rows;
    if (is_castable || PyArray_EquivTypes(PyArray_DESCR(array), descr)) {
        *dtype = given;
        rows = ps_contiguous(array);
    }
    else {
        *dtype = ps_dtype_of(state, descr);
        Py_INCREF(descr);
        rows = ps_cast_of(array, descr);
    }
    return rows;
}

int64_t
ps_row_width(PyArrayObject *rows)
{
    int64_t width;
    if (!ps_count(PyArray_NDIM(rows) - 1, (const int64_t *)PyArray_DIMS(rows) + 1,
                  &width)) {
        PyErr_NoMemory();
        return -1;
    }
    return width;
}
