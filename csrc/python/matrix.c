/* Sparse matrices from Python (contract in matrix.h).
 *
 * pyscatter's containers and SciPy's arrays and matrices have the same attributes, so
 * one reading serves both, and SciPy need not be there. Its cached flags are neither
 * read nor written. What the attributes are is asked anew at each call, since any of
 * them may have been changed.
 */
#include "python/matrix.h"

#include "python/arrays.h"
#include "python/containers.h"
#include "python/copies.h"

static const char *const formats[PS_NUM_FORMATS] = {
        [PS_CSR] = "csr", [PS_CSC] = "csc", [PS_COO] = "coo"};

/* Formats that SciPy has beside these. */
static const char *const others[] = {"bsr", "dia", "lil", "dok"};
enum {
    N_OTHERS = sizeof(others) / sizeof(others[0])
};

static const char *
first_name(enum ps_format format)
{
    return format == PS_COO ? "row" : "indptr";
}

static const char *
second_name(enum ps_format format)
{
    return format == PS_COO ? "col" : "indices";
}

/* An attribute, or NULL without an exception where there is none. */
static PyObject *
find_attribute(PyObject *object, PyObject *name)
{
    PyObject *const value = PyObject_GetAttr(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    return value;
}

int
ps_is_sparse(ps_state *state, PyObject *object, enum ps_format *format)
{
    const ps_container *const container = ps_container_of(state, object);
    if (container != NULL) {
        *format = container->format;
        return 1;
    }
    if (PyArray_Check(object) || PyList_Check(object) || PyTuple_Check(object)) {
        return 0;
    }
    PyObject *const text = find_attribute(object, state->name[PS_NAME_format]);
    int found = text == NULL && PyErr_Occurred() ? -1 : 0;
    for (int i = 0; text != NULL && PyUnicode_Check(text) && i < PS_NUM_FORMATS; i++) {
        if (PyUnicode_CompareWithASCIIString(text, formats[i]) == 0) {
            *format = (enum ps_format)i;
            found = 1;
        }
    }
    for (int i = 0; text != NULL && PyUnicode_Check(text) && i < N_OTHERS; i++) {
        if (PyUnicode_CompareWithASCIIString(text, others[i]) == 0) {
            PyErr_Format(PyExc_TypeError,
                         "sparse matrices of format '%s' are not supported; convert "
                         "to CSR by .tocsr()",
                         others[i]);
            found = -1;
        }
    }
    Py_XDECREF(text);
    return found;
}

static int
take_shape(ps_state *state, PyObject *object, const char *name, ps_sparse *sparse)
{
    PyObject *const given = PyObject_GetAttr(object, state->name[PS_NAME_shape]);
    PyObject *const shape = given != NULL ? PySequence_Tuple(given) : NULL;
    int status = -1;
    if (shape != NULL && PyTuple_GET_SIZE(shape) != 2) {
        PyErr_Format(PyExc_ValueError,
                     "'%s' must be a sparse matrix of 2 axes, got %zd", name,
                     PyTuple_GET_SIZE(shape));
    }
    else if (shape != NULL) {
        sparse->n_rows =
                PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape, 0), PyExc_OverflowError);
        sparse->n_cols = PyErr_Occurred()
                                 ? -1
                                 : PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape, 1),
                                                      PyExc_OverflowError);
        if (!PyErr_Occurred() && (sparse->n_rows < 0 || sparse->n_cols < 0)) {
            PyErr_Format(PyExc_ValueError, "the shape of '%s' is negative: %R", name,
                         shape);
        }
        status = PyErr_Occurred() ? -1 : 0;
    }
    Py_XDECREF(given);
    Py_XDECREF(shape);
    return status;
}

int
ps_require_factors(ps_state *state, PyArrayObject *array, const char *name)
{
    if (ps_multiplies(ps_dtype_of(state, PyArray_DESCR(array)))) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s must be bools, integers, floats or complex numbers of at most "
                 "double precision, got dtype %S",
                 name, (PyObject *)PyArray_DESCR(array));
    return -1;
}

/* Are these numbers that the ops read as they lie? */
static bool
are_plain(PyArrayObject *array)
{
    return PyArray_ISCARRAY_RO(array) && PyArray_ITEMSIZE(array) >= 4;
}

/* Integers of the structure: the array itself, of base class, where the ops can read
 * it, else a copy in int32 or int64. A new reference, or NULL. */
static PyArrayObject *
take_numbers(ps_state *state, PyObject *object, enum ps_name attribute,
             const char *text, bool *is_unsigned)
{
    PyObject *const given = PyObject_GetAttr(object, state->name[attribute]);
    PyArrayObject *const array = given != NULL ? ps_as_array(state, given, text) : NULL;
    PyArrayObject *result = NULL;
    Py_XDECREF(given);
    if (array == NULL) {
        return NULL;
    }
    const int type = ps_index_type_of(array);
    if (type < 0) {
        PyErr_Format(PyExc_TypeError, "%s must be an array of integers, got dtype %S",
                     text, (PyObject *)PyArray_DESCR(array));
    }
    else if (PyArray_NDIM(array) != 1) {
        PyErr_Format(PyExc_ValueError, "%s must have 1 axis, got %d", text,
                     PyArray_NDIM(array));
    }
    else if (are_plain(array) && (type == PS_INDEX_i32 || type == PS_INDEX_i64)) {
        result = ps_plain(array);
    }
    else {
        const bool is_narrow = type != PS_INDEX_u32 && ps_index_itemsize(type) <= 4;
        *is_unsigned = type == PS_INDEX_u64;
        result = ps_cast_of(array,
                            PyArray_DescrFromType(is_narrow ? NPY_INT32 : NPY_INT64));
    }
    Py_DECREF(array);
    return result;
}

/* Values: an array of base class of one axis and a dtype of numbers, or NULL for ones.
 */
static int
take_data(ps_state *state, PyObject *object, ps_sparse *sparse)
{
    PyObject *const given = PyObject_GetAttr(object, state->name[PS_NAME_data]);
    if (given == NULL || given == Py_None) {
        Py_XDECREF(given);
        return given == NULL ? -1 : 0;
    }
    PyArrayObject *const array = ps_as_array(state, given, "data");
    Py_DECREF(given);
    if (array == NULL) {
        return -1;
    }
    const bool are_factors = ps_require_factors(state, array, "data") == 0;
    if (are_factors && PyArray_NDIM(array) != 1) {
        PyErr_Format(PyExc_ValueError, "data must have 1 axis, got %d",
                     PyArray_NDIM(array));
    }
    else if (are_factors) {
        sparse->data = ps_plain(array);
    }
    Py_DECREF(array);
    return sparse->data != NULL ? 0 : -1;
}

/* The arrays of a container, which it has looked at; those of a layout that the ops do
 * not read are copied. */
static int
take_container(const ps_container *container, ps_sparse *sparse)
{
    *sparse = (ps_sparse){0};
    if (!ps_lies_in_base((PyArrayObject *)container->pointers) ||
        !ps_lies_in_base((PyArrayObject *)container->entries)) {
        return ps_raise_changed(second_name(container->format));
    }
    if (container->data != Py_None &&
        !ps_lies_in_base((PyArrayObject *)container->data)) {
        return ps_raise_changed("data");
    }
    *sparse = (ps_sparse){.format = container->format,
                          .n_rows = container->shape[0],
                          .n_cols = container->shape[1],
                          .first = ps_contiguous((PyArrayObject *)container->pointers)};
    if (container->data != Py_None) {
        sparse->data = (PyArrayObject *)Py_NewRef(container->data);
    }
    if (sparse->first != NULL) {
        sparse->second = ps_contiguous((PyArrayObject *)container->entries);
    }
    return sparse->second != NULL ? 0 : -1;
}

int
ps_take_parts(ps_state *state, PyObject *object, const char *name,
              enum ps_format format, ps_sparse *sparse)
{
    const ps_container *const container = ps_container_of(state, object);
    if (container != NULL) {
        return take_container(container, sparse);
    }
    const bool is_coo = format == PS_COO;
    *sparse = (ps_sparse){.format = format};
    if (take_shape(state, object, name, sparse) < 0 ||
        take_data(state, object, sparse) < 0) {
        return -1;
    }
    sparse->first = take_numbers(state, object, is_coo ? PS_NAME_row : PS_NAME_indptr,
                                 first_name(format), &sparse->first_is_unsigned);
    if (sparse->first == NULL) {
        return -1;
    }
    sparse->second = take_numbers(state, object, is_coo ? PS_NAME_col : PS_NAME_indices,
                                  second_name(format), &sparse->second_is_unsigned);
    return sparse->second != NULL ? 0 : -1;
}

int
ps_take_sparse(ps_state *state, PyObject *object, const char *name, ps_sparse *sparse)
{
    enum ps_format format = PS_CSR;
    *sparse = (ps_sparse){0};
    const int is_sparse = ps_is_sparse(state, object, &format);
    if (is_sparse == 0) {
        PyErr_Format(PyExc_TypeError,
                     "'%s' must be a sparse matrix in CSR, CSC or COO format, got "
                     "%.200s",
                     name, Py_TYPE(object)->tp_name);
    }
    return is_sparse > 0 ? ps_take_parts(state, object, name, format, sparse) : -1;
}

/* The numbers of an array as they lie now: Python code that has run since they were
 * taken may have given the array another dtype, shape or memory. */
static int
open_numbers(PyArrayObject *array, const char *text, bool is_unsigned,
             ps_numbers *numbers)
{
    const int type = ps_index_type_of(array);
    if ((type != PS_INDEX_i32 && type != PS_INDEX_i64) || !are_plain(array) ||
        PyArray_NDIM(array) != 1 || !ps_lies_in_base(array)) {
        return ps_raise_changed(text);
    }
    *numbers = (ps_numbers){.data = PyArray_BYTES(array),
                            .is_wide = type == PS_INDEX_i64,
                            .is_unsigned = is_unsigned};
    return 0;
}

static int
check_length(PyArrayObject *array, const char *text, int64_t length, const char *why)
{
    if (PyArray_DIM(array, 0) == length) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s has length %zd, but must have %lld, %s", text,
                 PyArray_DIM(array, 0), (long long)length, why);
    return -1;
}

static int
open_data(ps_state *state, const ps_sparse *sparse, ps_matrix *matrix)
{
    PyArrayObject *const data = sparse->data;
    if (data == NULL) {
        return 0;
    }
    matrix->dtype = ps_dtype_of(state, PyArray_DESCR(data));
    if (!ps_multiplies(matrix->dtype) || PyArray_NDIM(data) != 1 ||
        !ps_lies_in_base(data)) {
        return ps_raise_changed("data");
    }
    matrix->data = PyArray_BYTES(data);
    matrix->data_stride = PyArray_STRIDE(data, 0);
    matrix->swapped = ps_is_swapped(data);
    matrix->aligned = PyArray_ISALIGNED(data);
    return check_length(
            data, "data", matrix->nnz,
            sparse->format == PS_COO ? "the length of col" : "the length of indices");
}

int
ps_open_sparse(ps_state *state, const ps_sparse *sparse, ps_matrix *matrix)
{
    const bool is_coo = sparse->format == PS_COO;
    ps_numbers first, second;
    *matrix = (ps_matrix){.format = sparse->format,
                          .n_rows = sparse->n_rows,
                          .n_cols = sparse->n_cols,
                          .dtype = PS_b1};
    if (open_numbers(sparse->first, first_name(sparse->format),
                     sparse->first_is_unsigned, &first) < 0 ||
        open_numbers(sparse->second, second_name(sparse->format),
                     sparse->second_is_unsigned, &second) < 0) {
        return -1;
    }
    matrix->nnz = PyArray_DIM(sparse->second, 0);
    *(is_coo ? &matrix->row : &matrix->indptr) = first;
    *(sparse->format == PS_CSC ? &matrix->row : &matrix->col) = second;
    const int64_t slices = ps_slices(matrix);
    if (!is_coo && slices == INT64_MAX) {
        PyErr_SetString(PyExc_ValueError, "the shape does not fit in 64 bits");
        return -1;
    }
    if (check_length(sparse->first, first_name(sparse->format),
                     is_coo ? matrix->nnz : slices + 1,
                     is_coo ? "the length of col"
                     : sparse->format == PS_CSR
                             ? "one more than there are rows"
                             : "one more than there are columns") < 0) {
        return -1;
    }
    return open_data(state, sparse, matrix);
}

bool
ps_meets_sparse(PyArrayObject *array, const ps_sparse *sparse)
{
    return (sparse->data != NULL && ps_extents_meet(array, sparse->data)) ||
           ps_extents_meet(array, sparse->first) ||
           ps_extents_meet(array, sparse->second);
}

void
ps_close_sparse(ps_sparse *sparse)
{
    Py_CLEAR(sparse->data);
    Py_CLEAR(sparse->first);
    Py_CLEAR(sparse->second);
}

static ps_status
check_matrix(void *matrix, ps_run *run)
{
    return ps_check_matrix(matrix, run);
}

int
ps_check_sparse(ps_state *state, const ps_sparse *sparse)
{
    ps_matrix matrix;
    if (ps_open_sparse(state, sparse, &matrix) < 0) {
        return -1;
    }
    const int64_t nbytes =
            PyArray_NBYTES(sparse->first) + PyArray_NBYTES(sparse->second);
    return ps_raise(state, ps_run_op(state, check_matrix, &matrix, nbytes), "A");
}

PyObject *
ps_py_check_matrix(PyObject *module, PyObject *object)
{
    ps_state *const state = ps_get_state(module);
    ps_sparse sparse;
    const int status = ps_take_sparse(state, object, "A", &sparse) < 0
                               ? -1
                               : ps_check_sparse(state, &sparse);
    ps_close_sparse(&sparse);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}
