/* The binding of conversions among CSR, CSC and COO. */
#include "python/conversion.h"

#include "base/sizes.h"
#include "ops/convert.h"
#include "python/arrays.h"
#include "python/containers.h"
#include "python/copies.h"
#include "python/matrix.h"

/* A conversion on its way. */
typedef struct {
    ps_state *state;
    ps_sparse sparse;
    PyArrayObject *pointers, *entries, *data;
    ps_convert_call call;
} conversion;

/* Values side by side, native and aligned, as the op moves them. */
static int
settle_data(ps_sparse *sparse)
{
    if (sparse->data == NULL) {
        return 0;
    }
    if (!ps_lies_in_base(sparse->data)) {
        return ps_raise_changed("data");
    }
    PyArrayObject *const plain = ps_contiguous(sparse->data);
    if (plain == NULL) {
        return -1;
    }
    Py_SETREF(sparse->data, plain);
    return 0;
}

static bool
is_wide(const ps_matrix *matrix)
{
    const int64_t largest = ps_max(matrix->nnz, ps_max(matrix->n_rows, matrix->n_cols));
    return matrix->indptr.is_wide || matrix->row.is_wide || matrix->col.is_wide ||
           largest >= INT32_MAX;
}

static PyArrayObject *
new_array(int64_t length, int number)
{
    const npy_intp size = length;
    return (PyArrayObject *)PyArray_SimpleNew(1, &size, number);
}

/* The arrays of the result, then the matrix as it is now. */
static int
open_conversion(conversion *work)
{
    ps_convert_call *const call = &work->call;
    if (ps_open_sparse(work->state, &work->sparse, &call->matrix) < 0) {
        return -1;
    }
    const ps_matrix *const matrix = &call->matrix;
    call->is_wide = is_wide(matrix);
    const int number = call->is_wide ? NPY_INT64 : NPY_INT32;
    const int64_t slices = call->to == PS_CSR ? matrix->n_rows : matrix->n_cols;
    if (call->to != PS_COO && slices > INT64_MAX / 64) {
        PyErr_NoMemory();
        return -1;
    }
    work->pointers = new_array(call->to == PS_COO ? matrix->nnz : slices + 1, number);
    work->entries = work->pointers != NULL ? new_array(matrix->nnz, number) : NULL;
    if (work->entries == NULL) {
        return -1;
    }
    if (matrix->data != NULL) {
        PyArray_Descr *const descr = ps_descr_of(work->state, matrix->dtype);
        const npy_intp nnz = matrix->nnz;
        work->data = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, 1,
                                                           &nnz, NULL, NULL, 0, NULL);
        if (work->data == NULL) {
            return -1;
        }
        call->data = PyArray_BYTES(work->data);
    }
    call->pointers = PyArray_DATA(work->pointers);
    call->entries = PyArray_DATA(work->entries);
    return 0;
}

static int
run_conversion(conversion *work, PyObject *matrix)
{
    if (ps_take_sparse(work->state, matrix, "A", &work->sparse) < 0 ||
        settle_data(&work->sparse) < 0 || open_conversion(work) < 0) {
        return -1;
    }
    const int64_t slices = ps_slices(&work->call.matrix);
    const int64_t nbytes =
            16 * (ps_min(work->call.matrix.nnz, INT64_MAX / 64) + slices);
    return ps_raise(work->state,
                    ps_run_op(work->state, ps_convert_matrix, &work->call, nbytes),
                    "A");
}

/* convert(A, format): data, entries, pointers of A, CSR, CSC or COO, in another format.
 */
PyObject *
ps_py_convert(PyObject *module, PyObject *args)
{
    PyObject *matrix, *result = NULL;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os", &matrix, &name)) {
        return NULL;
    }
    conversion work = {.state = ps_get_state(module)};
    const int to = ps_format_named(name);
    work.call.to = (enum ps_format)to;
    if (to < 0) {
        PyErr_Format(PyExc_ValueError, "unknown format '%s'", name);
    }
    else if (run_conversion(&work, matrix) == 0) {
        PyObject *const data = work.data != NULL ? (PyObject *)work.data : Py_None;
        result = PyTuple_Pack(3, data, work.entries, work.pointers);
    }
    ps_close_sparse(&work.sparse);
    Py_XDECREF((PyObject *)work.pointers);
    Py_XDECREF((PyObject *)work.entries);
    Py_XDECREF((PyObject *)work.data);
    return result;
}

/* format_of(A): "csr", "csc" or "coo"; TypeError where A is none of these. */
PyObject *
ps_py_format_of(PyObject *module, PyObject *object)
{
    static const char *const names[] = {
            [PS_CSR] = "csr", [PS_CSC] = "csc", [PS_COO] = "coo"};
    enum ps_format format = PS_CSR;
    const int is_sparse = ps_is_sparse(ps_get_state(module), object, &format);
    if (is_sparse == 0) {
        PyErr_Format(PyExc_TypeError,
                     "expected a sparse matrix in CSR, CSC or COO format, got %.200s",
                     Py_TYPE(object)->tp_name);
    }
    return is_sparse > 0 ? PyUnicode_FromString(names[format]) : NULL;
}
