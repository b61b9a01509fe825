/* The binding of sparse times sparse. The structure of a product lives in a capsule,
 * which plans keep: nobody can write to what is in it.
 */
#include "python/spgemm.h"

#include "base/sizes.h"
#include "ops/spgemm.h"
#include "python/arrays.h"
#include "python/containers.h"
#include "python/copies.h"
#include "python/matrix.h"

static const char capsule_name[] = "pyscatter.product";

/* ---- values ---- */

/* Both lists of values in the type in which they are multiplied. */
typedef struct {
    PyArrayObject *a, *b;   /* owned; contiguous, native */
    PyArray_Descr *result;  /* owned: of the product's values */
    enum ps_dtype computed; /* f32 for half types */
} factors;

static void
close_factors(factors *values)
{
    Py_XDECREF((PyObject *)values->a);
    Py_XDECREF((PyObject *)values->b);
    Py_XDECREF((PyObject *)values->result);
}

/* Ones that nobody has stored. */
static PyArrayObject *
ones(int64_t n)
{
    const npy_intp length = n;
    PyArrayObject *const array =
            (PyArrayObject *)PyArray_SimpleNew(1, &length, NPY_BOOL);
    if (array != NULL) {
        memset(PyArray_DATA(array), 1, (size_t)n);
    }
    return array;
}

/* n values in `descr`, whose reference is not stolen. */
static PyArrayObject *
settle(PyArrayObject *array, PyArray_Descr *descr)
{
    return PyArray_EquivTypes(PyArray_DESCR(array), descr)
                   ? ps_contiguous(array)
                   : ps_cast_of(array, (PyArray_Descr *)Py_NewRef((PyObject *)descr));
}

/* Values that are there, or nowhere stored. */
static bool
is_there(PyArrayObject *array)
{
    return array == NULL || ps_lies_in_base(array);
}

/* Values as kernels read them, whatever handlers of signals have done since. */
static bool
is_settled(ps_state *state, PyArrayObject *array, enum ps_dtype computed, int64_t n)
{
    return PyArray_SIZE(array) == n && PyArray_ISCARRAY_RO(array) &&
           ps_dtype_of(state, PyArray_DESCR(array)) == computed &&
           ps_lies_in_base(array);
}

/* From arrays of one axis, or NULL for ones. 0, or -1; to be closed in both cases. */
static int
open_factors(ps_state *state, PyArrayObject *a, int64_t n_a, PyArrayObject *b,
             int64_t n_b, factors *values)
{
    *values = (factors){.a = NULL};
    if (!is_there(a) || !is_there(b)) {
        return ps_raise_changed("data");
    }
    PyArrayObject *const left =
            a != NULL ? (PyArrayObject *)Py_NewRef((PyObject *)a) : ones(n_a);
    PyArrayObject *const right = left == NULL ? NULL
                                 : b != NULL ? (PyArrayObject *)Py_NewRef((PyObject *)b)
                                             : ones(n_b);
    PyArray_Descr *computed = NULL;
    if (right != NULL) {
        PyArray_Descr *both[] = {PyArray_DESCR(left), PyArray_DESCR(right)};
        values->result = PyArray_ResultType(0, NULL, 2, both);
    }
    if (values->result != NULL) {
        values->computed = ps_dtype_of(state, values->result);
        const bool is_half = values->computed == PS_f16 || values->computed == PS_bf16;
        values->computed = is_half ? PS_f32 : values->computed;
        if (ps_multiplies(values->computed)) {
            computed = ps_descr_of(state, values->computed);
        }
        else {
            ps_raise_changed("data");
        }
    }
    if (computed != NULL) {
        values->a = settle(left, computed);
        values->b = values->a != NULL ? settle(right, computed) : NULL;
    }
    Py_XDECREF((PyObject *)left);
    Py_XDECREF((PyObject *)right);
    Py_XDECREF((PyObject *)computed);
    return values->b != NULL ? 0 : -1;
}

/* Values as kernels take them, with room for the result's. 0, or -1 with an exception.
 */
static int
describe(ps_state *state, ps_product *product, const factors *values,
         ps_values_call *call)
{
    *call = (ps_values_call){.product = product,
                             .type = values->computed,
                             .a = PyArray_BYTES(values->a),
                             .b = PyArray_BYTES(values->b)};
    return is_settled(state, values->a, values->computed, product->a.nnz) &&
                           is_settled(state, values->b, values->computed,
                                      product->b.nnz)
                   ? 0
                   : ps_raise_changed("data");
}

/* Bytes that a pass over all terms moves. */
static int64_t
bytes_of(const ps_product *product)
{
    return 16 * ps_min(product->n_terms, INT64_MAX / 16);
}

/* Sizes and values of a product that is open. */
static int
find_values(ps_state *state, ps_product *product, const factors *values)
{
    ps_values_call call;
    return describe(state, product, values, &call) < 0
                   ? -1
                   : ps_raise(
                             state,
                             ps_run_op(state, ps_find_values, &call, bytes_of(product)),
                             "A");
}

/* The product's values, in its result's dtype; structure goes to indptr and indices,
 * unless they are NULL. */
static PyArrayObject *
multiply(ps_state *state, ps_product *product, const factors *values,
         PyArrayObject *indptr, PyArrayObject *indices)
{
    const npy_intp nnz = product->nnz;
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, ps_descr_of(state, values->computed), 1, &nnz, NULL, NULL, 0,
            NULL);
    if (out == NULL) {
        return NULL;
    }
    ps_values_call call;
    if (describe(state, product, values, &call) < 0) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    call.out = PyArray_BYTES(out);
    if (indices != NULL) {
        call.is_wide = PyArray_ITEMSIZE(indices) == 8;
        call.indptr = PyArray_DATA(indptr);
        call.indices = PyArray_DATA(indices);
    }
    const ps_status status =
            ps_run_op(state, ps_multiply_values, &call, bytes_of(product));
    if (ps_raise(state, status, "A") < 0) {
        Py_CLEAR(out);
    }
    else if (!PyArray_EquivTypes(PyArray_DESCR(out), values->result)) {
        Py_INCREF((PyObject *)values->result);
        Py_SETREF(out, ps_cast_of(out, values->result));
    }
    return out;
}

/* ---- structure ---- */

static void
free_product(PyObject *capsule)
{
    ps_product *const product = PyCapsule_GetPointer(capsule, capsule_name);
    if (product != NULL) {
        ps_close_product(product);
        PyMem_Free(product);
    }
}

/* A capsule with the product's structure, or NULL. */
static PyObject *
make_product(ps_state *state, const ps_matrix *left, const ps_matrix *right)
{
    ps_product *const product = PyMem_Calloc(1, sizeof(*product));
    if (product == NULL) {
        return PyErr_NoMemory();
    }
    ps_structure_call call = {.left = *left, .right = *right, .product = product};
    const int64_t nbytes = 64 * (ps_min(left->nnz, INT64_MAX / 256) +
                                 ps_min(right->nnz, INT64_MAX / 256));
    PyObject *capsule = NULL;
    if (ps_raise(state, ps_run_op(state, ps_make_product, &call, nbytes), "A") == 0) {
        capsule = PyCapsule_New(product, capsule_name, free_product);
    }
    if (capsule == NULL) {
        ps_close_product(product);
        PyMem_Free(product);
    }
    return capsule;
}

static int
check_shapes(const ps_sparse *a, const ps_sparse *b)
{
    if (a->n_cols == b->n_rows) {
        return 0;
    }
    PyErr_Format(
            PyExc_ValueError,
            "A has shape (%lld, %lld) and B has shape (%lld, %lld): the columns of A "
            "must be as many as the rows of B",
            (long long)a->n_rows, (long long)a->n_cols, (long long)b->n_rows,
            (long long)b->n_cols);
    return -1;
}

static bool
has_wide_structure(const ps_matrix *matrix)
{
    return matrix->indptr.is_wide || matrix->row.is_wide || matrix->col.is_wide;
}

/* Room for the result's structure. */
static int
open_structure(const ps_product *product, bool is_wide, PyArrayObject **indptr,
               PyArrayObject **indices)
{
    const npy_intp length = product->n_rows + 1, nnz = product->nnz;
    const int number = is_wide ? NPY_INT64 : NPY_INT32;
    *indptr = (PyArrayObject *)PyArray_SimpleNew(1, &length, number);
    *indices = *indptr != NULL ? (PyArrayObject *)PyArray_SimpleNew(1, &nnz, number)
                               : NULL;
    return *indices != NULL ? 0 : -1;
}

/* ---- for pyscatter/spgemm.py ---- */

/* A product on its way. */
typedef struct {
    ps_state *state;
    ps_sparse a, b;
    factors values;
    PyObject *capsule;
    PyArrayObject *indptr, *indices, *data;
    int64_t shape[2];
} product_work;

/* Values are settled first: that may run code, after which the matrices are opened as
 * they are then. */
static int
run_product(product_work *work, PyObject *left, PyObject *right)
{
    ps_matrix a, b;
    if (ps_take_sparse(work->state, left, "A", &work->a) < 0 ||
        ps_take_sparse(work->state, right, "B", &work->b) < 0 ||
        check_shapes(&work->a, &work->b) < 0 ||
        ps_open_sparse(work->state, &work->a, &a) < 0 ||
        ps_open_sparse(work->state, &work->b, &b) < 0 ||
        open_factors(work->state, work->a.data, a.nnz, work->b.data, b.nnz,
                     &work->values) < 0 ||
        ps_open_sparse(work->state, &work->a, &a) < 0 ||
        ps_open_sparse(work->state, &work->b, &b) < 0) {
        return -1;
    }
    if (a.n_rows > INT64_MAX / 64) {
        PyErr_NoMemory();
        return -1;
    }
    work->capsule = make_product(work->state, &a, &b);
    if (work->capsule == NULL) {
        return -1;
    }
    ps_product *const product = PyCapsule_GetPointer(work->capsule, capsule_name);
    if (product->is_open && find_values(work->state, product, &work->values) < 0) {
        return -1;
    }
    const int64_t largest = ps_max(product->nnz, ps_max(a.n_rows, b.n_cols));
    const bool is_wide =
            has_wide_structure(&a) || has_wide_structure(&b) || largest >= INT32_MAX;
    work->shape[0] = a.n_rows;
    work->shape[1] = b.n_cols;
    if (open_structure(product, is_wide, &work->indptr, &work->indices) < 0) {
        return -1;
    }
    work->data =
            multiply(work->state, product, &work->values, work->indptr, work->indices);
    return work->data != NULL ? 0 : -1;
}

/* spgemm(class, A, B): the container, and the capsule for a plan. */
PyObject *
ps_py_spgemm(PyObject *module, PyObject *args)
{
    PyObject *type, *left, *right, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &type, &left, &right)) {
        return NULL;
    }
    product_work work = {.state = ps_get_state(module)};
    if (run_product(&work, left, right) == 0) {
        PyObject *const matrix =
                ps_new_container(work.state, type, (PyObject *)work.data, work.indices,
                                 work.indptr, work.shape);
        result = matrix != NULL ? PyTuple_Pack(2, matrix, work.capsule) : NULL;
        Py_XDECREF(matrix);
    }
    ps_close_sparse(&work.a);
    ps_close_sparse(&work.b);
    close_factors(&work.values);
    Py_XDECREF(work.capsule);
    Py_XDECREF((PyObject *)work.indptr);
    Py_XDECREF((PyObject *)work.indices);
    Py_XDECREF((PyObject *)work.data);
    return result;
}

/* Values for a plan: None for ones, or an array of `nnz` numbers. NULL for ones, or a
 * new reference; -1 with an exception. */
static int
take_values(ps_state *state, PyObject *object, const char *name, int64_t nnz,
            PyArrayObject **values)
{
    *values = NULL;
    if (object == Py_None) {
        return 0;
    }
    PyArrayObject *array = ps_as_array(state, object, name);
    if (array == NULL || ps_hold_view(&array) < 0) {
        return -1;
    }
    const bool are_factors = ps_require_factors(state, array, name) == 0;
    if (are_factors && (PyArray_NDIM(array) != 1 || PyArray_SIZE(array) != nnz)) {
        const npy_intp wanted = nnz;
        char format[64];
        PyOS_snprintf(format, sizeof(format), "%s has shape %%U; expected %%U", name);
        ps_raise_shapes(PyExc_ValueError, format, PyArray_NDIM(array),
                        PyArray_DIMS(array), 1, &wanted);
    }
    else if (are_factors) {
        *values = array;
        return 0;
    }
    Py_DECREF((PyObject *)array);
    return -1;
}

/* spgemm_again(class, C, capsule, A_data, B_data): a container of other values on the
 * structure of C, which came with the capsule. */
PyObject *
ps_py_spgemm_again(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *type, *like, *capsule, *left, *right, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOOOO", &type, &like, &capsule, &left, &right)) {
        return NULL;
    }
    const ps_container *const container = ps_container_of(state, like);
    ps_product *const product = PyCapsule_GetPointer(capsule, capsule_name);
    if (product == NULL || container == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "expected a container");
        }
        return NULL;
    }
    PyArrayObject *a = NULL, *b = NULL, *data = NULL;
    factors values = {.a = NULL};
    if (take_values(state, left, "A_data", product->a.nnz, &a) == 0 &&
        take_values(state, right, "B_data", product->b.nnz, &b) == 0 &&
        open_factors(state, a, product->a.nnz, b, product->b.nnz, &values) == 0) {
        data = multiply(state, product, &values, NULL, NULL);
    }
    if (data != NULL) {
        result = ps_new_container(
                state, type, (PyObject *)data, (PyArrayObject *)container->entries,
                (PyArrayObject *)container->pointers, container->shape);
    }
    close_factors(&values);
    Py_XDECREF((PyObject *)a);
    Py_XDECREF((PyObject *)b);
    Py_XDECREF((PyObject *)data);
    return result;
}
