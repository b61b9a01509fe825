/* A delta from its parts (contract in delta_object.h): positions and values are copied,
 * and the copies are what is checked. */
#include "python/delta_object.h"

#include <string.h>

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

/* A new reference to the integer that `object` is; NULL without an error for None, and
 * for what has been left away. */
static PyObject *
given_integer(PyObject *object, const char *name, bool *is_given)
{
    *is_given = object != NULL && object != Py_None;
    return *is_given ? ps_as_integer(object, name, false) : NULL;
}

/* None, or a number of 64 bits with a sign. */
static int
read_version(PyObject *object, const char *name, bool *is_given, int64_t *version)
{
    PyObject *const number = given_integer(object, name, is_given);
    if (number != NULL) {
        *version = PyLong_AsLongLong(number);
        Py_DECREF(number);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* None, or one without. */
static int
read_checksum(PyObject *object, const char *name, bool *is_given, uint64_t *checksum)
{
    PyObject *const number = given_integer(object, name, is_given);
    if (number != NULL) {
        *checksum = PyLong_AsUnsignedLongLong(number);
        Py_DECREF(number);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_shape(PyObject *object, ps_delta_label *label)
{
    PyArray_Dims dims = {NULL, 0};
    int64_t n, nbytes = ps_dtype_size[label->dtype];
    bool fits = true; /* axes of length 0 left out, as NumPy asks it */
    if (PyArray_IntpConverter(object, &dims) == NPY_FAIL) {
        return -1;
    }
    label->ndim = dims.len;
    for (int i = 0; i < dims.len && i < PS_MAX_DIMS; i++) {
        label->shape[i] = dims.ptr[i];
        if (dims.ptr[i] < 0) {
            PyErr_SetString(PyExc_ValueError, "shape must not have a negative axis");
        }
        fits = fits && (dims.ptr[i] == 0 || ps_multiply(nbytes, dims.ptr[i], &nbytes));
    }
    PyDimMem_FREE(dims.ptr);
    if (!PyErr_Occurred() &&
        (label->ndim > PS_MAX_DIMS || !fits ||
         !ps_count(label->ndim, (const int64_t *)label->shape, &n))) {
        PyErr_SetString(PyExc_ValueError,
                        "shape has too many axes, or its size does not fit in 64 bits");
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Do numbers ascend, and stay in the array? 0, or -1 with the error. */
static int
check_numbers(const int64_t *at, npy_intp n, int64_t units)
{
    for (npy_intp i = 0; i < n; i++) {
        if (ps_hear(i) < 0) {
            return -1;
        }
        if (at[i] < 0 || at[i] >= units) {
            PyErr_Format(
                    PyExc_IndexError,
                    "positions[%zd] is %lld, out of bounds for %lld elements, rows "
                    "or blocks",
                    i, (long long)at[i], (long long)units);
            return -1;
        }
        if (i > 0 && at[i] <= at[i - 1]) {
            PyErr_Format(PyExc_ValueError,
                         "positions must ascend: positions[%zd] is %lld after %lld", i,
                         (long long)at[i], (long long)at[i - 1]);
            return -1;
        }
    }
    return 0;
}

/* A private copy of the positions as int64, checked; all of them for None. */
static PyArrayObject *
read_positions(ps_state *state, PyObject *object, int64_t units)
{
    if (object == Py_None) {
        return (PyArrayObject *)PyArray_Arange(0, (double)units, 1, NPY_INT64);
    }
    PyArrayObject *const given = ps_as_array(state, object, "positions");
    PyArrayObject *copy = NULL;
    if (given != NULL && PyArray_NDIM(given) == 1 &&
        (ps_index_type_of(given) >= 0 || PyArray_SIZE(given) == 0)) {
        copy = ps_cast_of(given, PyArray_DescrFromType(NPY_INT64));
    }
    else if (given != NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "positions must be a 1-d array of integers, or None");
    }
    Py_XDECREF((PyObject *)given);
    if (copy != NULL && check_numbers(PyArray_DATA(copy), PyArray_SIZE(copy), units)) {
        Py_CLEAR(copy);
    }
    return copy;
}

/* Head and values into a body of the delta. */
static PyObject *
fill_body(ps_delta *delta, PyArrayObject *at, PyArrayObject *values)
{
    if (PyArray_NBYTES(values) != delta->values_nbytes ||
        PyArray_ITEMSIZE(values) != delta->itemsize) {
        PyErr_Format(PyExc_ValueError,
                     "values has %zd bytes in items of %zd; expected %lld in items of "
                     "%lld: what is stored of %lld elements, rows or blocks",
                     (Py_ssize_t)PyArray_NBYTES(values),
                     (Py_ssize_t)PyArray_ITEMSIZE(values),
                     (long long)delta->values_nbytes, (long long)delta->itemsize,
                     (long long)delta->count);
        return NULL;
    }
    PyObject *const body = ps_delta_body(delta);
    if (body != NULL) {
        ps_delta_writer writer = {
                .delta = delta, .head = (char *)delta->head, .last = -1};
        ps_delta_write_head(&writer, PyArray_DATA(at), PyArray_SIZE(at));
        ps_delta_end_head(&writer);
        memcpy((char *)delta->values, PyArray_DATA(values),
               (size_t)delta->values_nbytes);
    }
    return body;
}

/* Numbers and values, in the encoding, as an object with the label. */
static PyObject *
build(ps_state *state, const ps_delta_label *label, ps_delta *delta,
      enum ps_delta_encoding encoding, PyObject *positions, PyArrayObject *flat)
{
    PyObject *body = NULL, *result = NULL;
    const int64_t units = ps_delta_units(delta);
    PyArrayObject *at = NULL;
    if (positions == Py_None && PyArray_NBYTES(flat) != delta->n * delta->itemsize) {
        PyErr_SetString(PyExc_ValueError,
                        "values must be the whole array where positions is None");
    }
    else {
        at = read_positions(state, positions, units);
    }
    if (at != NULL) {
        ps_delta_tally tally = {.last = -1};
        ps_delta_count(&tally, PyArray_DATA(at), PyArray_SIZE(at));
        if (ps_delta_choose(delta, &tally, encoding, tally.count == units)) {
            body = fill_body(delta, at, flat);
        }
        else {
            PyErr_Format(PyExc_ValueError, "encoding '%s' cannot say these positions",
                         ps_delta_encoding_name(encoding));
        }
    }
    if (body != NULL) {
        result = ps_delta_object_of(state, label, delta, body);
        Py_DECREF(body);
    }
    Py_XDECREF((PyObject *)at);
    return result;
}

/* A private copy of the values, taken before the code of any other argument runs: it
 * may free what they are a view of. */
static PyArrayObject *
copy_values(ps_state *state, PyObject *given)
{
    PyArrayObject *const values = ps_as_array(state, given, "values");
    PyArrayObject *copy = NULL;
    if (values != NULL && PyDataType_REFCHK(PyArray_DESCR(values))) {
        PyErr_SetString(PyExc_TypeError, "values must be numbers, not objects");
    }
    else if (values != NULL) {
        copy = (PyArrayObject *)PyArray_NewCopy(values, NPY_CORDER);
    }
    Py_XDECREF((PyObject *)values);
    return copy;
}

PyObject *
ps_py_new_delta(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"shape",   "dtype",        "base_version",
                                        "version", "encoding",     "positions",
                                        "values",  "checksum_new", "checksum_base",
                                        "op",      "granularity",  NULL};
    ps_state *const state = PyType_GetModuleState(type);
    PyObject *shape, *base_version, *version, *encoding_name, *positions, *values;
    PyObject *dtype;
    PyArrayObject *flat = NULL;
    PyObject *checksum_new = NULL, *checksum_base = NULL, *op = NULL, *by = NULL;
    PyArray_Descr *descr = NULL;
    ps_delta_label label = {.granularity = PS_BY_ELEMENT};
    ps_delta delta = {.op = PS_DELTA_OVERWRITE};
    enum ps_delta_encoding encoding = PS_DELTA_AUTO;
    PyObject *result = NULL;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOO|OO$OO:Delta",
                                    (char **)names, &shape, &dtype, &base_version,
                                    &version, &encoding_name, &positions, &values,
                                    &checksum_new, &checksum_base, &op, &by) &&
        (flat = copy_values(state, values)) != NULL &&
        PyArray_DescrConverter(dtype, &descr) == NPY_SUCCEED &&
        ps_delta_set_dtype(state, &label, descr) == 0 &&
        read_shape(shape, &label) == 0 &&
        read_version(base_version, "base_version", &label.has_base_version,
                     &label.base_version) == 0 &&
        read_version(version, "version", &label.has_version, &label.version) == 0 &&
        read_checksum(checksum_new, "checksum_new", &label.has_checksum_new,
                      &label.checksum_new) == 0 &&
        read_checksum(checksum_base, "checksum_base", &label.has_checksum_base,
                      &label.checksum_base) == 0 &&
        ps_to_delta_encoding(encoding_name, &encoding) == 0 &&
        ps_to_delta_op(op, &delta.op) == 0 &&
        ps_to_granularity(by, &label.granularity) == 0 &&
        ps_delta_check_op(&label, delta.op) == 0) {
        delta.itemsize = ps_dtype_size[label.dtype];
        delta.width = ps_delta_unit_width(&label);
        ps_count(label.ndim, (const int64_t *)label.shape, &delta.n);
        result = delta.width > 0
                         ? build(state, &label, &delta, encoding, positions, flat)
                         : NULL;
    }
    Py_XDECREF((PyObject *)flat);
    Py_XDECREF((PyObject *)descr);
    Py_XDECREF((PyObject *)label.descr);
    return result;
}

PyObject *
ps_py_delta_with_versions(PyObject *object, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"base_version", "version", NULL};
    const ps_delta_object *const self = (ps_delta_object *)object;
    ps_delta_label label = self->label;
    PyObject *base_version, *version;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:with_versions", (char **)names,
                                     &base_version, &version) ||
        read_version(base_version, "base_version", &label.has_base_version,
                     &label.base_version) < 0 ||
        read_version(version, "version", &label.has_version, &label.version) < 0) {
        return NULL;
    }
    return ps_delta_object_of(PyType_GetModuleState(Py_TYPE(object)), &label,
                              &self->delta, self->body);
}
