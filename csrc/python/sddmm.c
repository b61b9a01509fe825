/* The binding of sddmm: inner products at the entries of a sparse matrix. */
#include "python/py_spmm.h"

#include <string.h>

#include "base/sizes.h"
#include "ops/sparse_products.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/dense.h"
#include "python/matrix.h"

enum {
    SLOT_A,
    SLOT_X,
    SLOT_Y,
    SLOT_VALUES,
    SLOT_OUT,
    N_SLOTS
};

static const ps_signature signature = {
        "sddmm",
        N_SLOTS,
        3,
        3,
        {PS_NAME_A, PS_NAME_X, PS_NAME_Y, PS_NAME_values, PS_NAME_out}};

typedef struct {
    ps_state *state;
    PyObject *slot[N_SLOTS]; /* borrowed */
    bool scales;
    ps_sparse a;
    PyArrayObject *x, *y; /* owned */
    PyArray_Descr *descr,
            *result; /* owned: what is computed in, and a fresh result's */
    enum ps_dtype type;
    PyArrayObject *out, *sums; /* owned: the result, and where the op writes */
} sampling;

static int
read_values(sampling *work)
{
    PyObject *const given = work->slot[SLOT_VALUES];
    const bool is_text = given != NULL && PyUnicode_Check(given);
    work->scales = is_text && PyUnicode_CompareWithASCIIString(given, "scale") == 0;
    if (given == NULL || work->scales ||
        (is_text && PyUnicode_CompareWithASCIIString(given, "pattern") == 0)) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "unknown values %R; choose from pattern, scale",
                 given);
    return -1;
}

static int
take_operands(sampling *work)
{
    if (ps_take_sparse(work->state, work->slot[SLOT_A], "A", &work->a) < 0) {
        return -1;
    }
    work->x = ps_take_dense(work->state, work->slot[SLOT_X], "X");
    work->y = work->x != NULL ? ps_take_dense(work->state, work->slot[SLOT_Y], "Y")
                              : NULL;
    return work->y != NULL ? 0 : -1;
}

/* X (..., n_rows, width) and Y (..., n_cols, width). */
static int
check_shapes(const sampling *work)
{
    const int ndim = PyArray_NDIM(work->x);
    const npy_intp *const x = PyArray_DIMS(work->x), *const y = PyArray_DIMS(work->y);
    if (ndim < 2 || PyArray_NDIM(work->y) != ndim ||
        !PyArray_CompareLists(x, y, ndim - 2) || x[ndim - 1] != y[ndim - 1]) {
        return ps_raise_shapes(
                PyExc_ValueError,
                "X of shape %U and Y of shape %U must have at least 2 axes, of which "
                "all but the last but one are equal",
                ndim, x, PyArray_NDIM(work->y), y);
    }
    if (x[ndim - 2] != work->a.n_rows || y[ndim - 2] != work->a.n_cols) {
        PyErr_Format(PyExc_ValueError,
                     "A of shape (%lld, %lld) needs as many rows of X and Y, got %zd "
                     "and %zd",
                     (long long)work->a.n_rows, (long long)work->a.n_cols, x[ndim - 2],
                     y[ndim - 2]);
        return -1;
    }
    return 0;
}

/* Do the operands have one dtype, that is computed in as it is? */
static bool
is_plain(const sampling *work, enum ps_dtype type)
{
    return type < PS_NUM_DTYPES &&
           ps_dtype_of(work->state, PyArray_DESCR(work->y)) == type &&
           (!work->scales || work->a.data == NULL ||
            ps_dtype_of(work->state, PyArray_DESCR(work->a.data)) == type);
}

static int
settle_types(sampling *work)
{
    work->type = ps_dtype_of(work->state, PyArray_DESCR(work->x));
    if (is_plain(work, work->type)) {
        work->descr = ps_descr_of(work->state, work->type);
        work->result = (PyArray_Descr *)Py_XNewRef((PyObject *)work->descr);
        return work->descr != NULL ? 0 : -1;
    }
    if (ps_hold_view(&work->x) < 0 || ps_hold_view(&work->y) < 0 ||
        ps_hold_view(&work->a.data) < 0) {
        return -1;
    }
    PyObject *const helper = ps_get_helper(work->state, PS_HELPER_product_types);
    PyObject *const data = work->scales && work->a.data != NULL
                                   ? (PyObject *)PyArray_DESCR(work->a.data)
                                   : Py_None;
    PyObject *const answer =
            helper == NULL ? NULL
                           : PyObject_CallFunction(helper, "(OOO)sOOOO", data,
                                                   PyArray_DESCR(work->x),
                                                   PyArray_DESCR(work->y), "add",
                                                   Py_None, Py_None, Py_None, Py_None);
    PyObject *alpha, *beta, *empty;
    int status = -1;
    if (answer != NULL &&
        PyArg_ParseTuple(answer, "O!O!OOO", &PyArrayDescr_Type, &work->descr,
                         &PyArrayDescr_Type, &work->result, &alpha, &beta, &empty)) {
        Py_INCREF(work->descr);
        Py_INCREF(work->result);
        work->type = ps_dtype_of(work->state, work->descr);
        status = 0;
    }
    Py_XDECREF(answer);
    return status;
}

static bool
meets_operands(const sampling *work)
{
    return ps_extents_meet(work->out, work->x) || ps_extents_meet(work->out, work->y) ||
           ps_meets_sparse(work->out, &work->a);
}

/* Where the op can write: contiguous, of the type that is computed in. */
static bool
lies_well(const sampling *work, PyArrayObject *array)
{
    return PyArray_ISCARRAY_RO(array) && ps_lies_in_base(array) &&
           ps_dtype_of(work->state, PyArray_DESCR(array)) == work->type;
}

static int
take_out(sampling *work)
{
    PyObject *const given =
            work->slot[SLOT_OUT] == Py_None ? NULL : work->slot[SLOT_OUT];
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = PyArray_NDIM(work->x) - 1;
    memcpy(shape, PyArray_DIMS(work->x), sizeof(npy_intp) * (size_t)ndim);
    shape[ndim - 1] = PyArray_DIM(work->a.second, 0);
    work->out = ps_take_target(work->state, given, ndim, shape, work->result);
    if (work->out == NULL) {
        return -1;
    }
    if (lies_well(work, work->out) && (given == NULL || !meets_operands(work))) {
        work->sums = (PyArrayObject *)Py_NewRef((PyObject *)work->out);
        return 0;
    }
    Py_INCREF(work->descr);
    work->sums = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, work->descr, ndim,
                                                       shape, NULL, NULL, 0, NULL);
    return work->sums != NULL ? 0 : -1;
}

/* All pointers are taken here, after the last Python code and before the op. */
static int
open_call(const sampling *work, ps_sddmm_call *call)
{
    ps_matrix matrix;
    ps_dense x, y;
    if (ps_open_sparse(work->state, &work->a, &matrix) < 0) {
        return -1;
    }
    if (!ps_lies_dense(work->state, work->x, work->type, &x) ||
        !ps_lies_dense(work->state, work->y, work->type, &y) ||
        !lies_well(work, work->sums) ||
        (work->scales && matrix.data != NULL &&
         (matrix.dtype != work->type || !PyArray_ISCARRAY_RO(work->a.data)))) {
        return ps_raise_changed(NULL);
    }
    if (!work->scales) {
        matrix.data = NULL;
    }
    *call = (ps_sddmm_call){.a = matrix,
                            .scales = work->scales,
                            .type = work->type,
                            .batch = x.batch,
                            .width = x.width,
                            .x = x.data,
                            .x_step = x.step,
                            .x_batch_step = x.batch_step,
                            .y = y.data,
                            .y_step = y.step,
                            .y_batch_step = y.batch_step,
                            .out = PyArray_BYTES(work->sums),
                            .is_private = work->slot[SLOT_OUT] == NULL ||
                                          work->slot[SLOT_OUT] == Py_None ||
                                          work->sums != work->out};
    int64_t n;
    const bool fits = x.rows == matrix.n_rows && y.rows == matrix.n_cols &&
                      x.width == y.width && x.batch == y.batch &&
                      ps_multiply(x.batch, matrix.nnz, &n) &&
                      PyArray_SIZE(work->sums) == n;
    return fits ? 0 : ps_raise_changed(NULL);
}

static int64_t
bytes_moved(const ps_sddmm_call *call)
{
    const int64_t row = 2 * call->width * ps_dtype_size[call->type];
    return ps_product_nbytes(call->a.nnz + 1, row + 16, call->batch);
}

static PyObject *
run_sampling(sampling *work)
{
    ps_sddmm_call call;
    if ((work->scales &&
         ps_lay_data(work->state, &work->a.data, work->descr, work->type, false) < 0) ||
        ps_lay_dense(work->state, &work->x, work->descr, work->type) < 0 ||
        ps_lay_dense(work->state, &work->y, work->descr, work->type) < 0 ||
        take_out(work) < 0 || open_call(work, &call) < 0 ||
        ps_raise(work->state,
                 ps_run_op(work->state, ps_sddmm, &call, bytes_moved(&call)),
                 "A") < 0 ||
        ps_deliver_sums(work->sums, work->out) < 0) {
        return NULL;
    }
    PyObject *const out = work->slot[SLOT_OUT];
    return Py_NewRef(out != NULL && out != Py_None ? out : (PyObject *)work->out);
}

PyObject *
ps_py_sddmm(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
            PyObject *keywords)
{
    sampling work = {.state = ps_get_state(module)};
    PyObject *result = NULL;
    if (ps_parse(work.state, &signature, args, n_args, keywords, work.slot) == 0 &&
        read_values(&work) == 0 && take_operands(&work) == 0 &&
        check_shapes(&work) == 0 && settle_types(&work) == 0) {
        result = run_sampling(&work);
    }
    ps_close_sparse(&work.a);
    Py_XDECREF((PyObject *)work.x);
    Py_XDECREF((PyObject *)work.y);
    Py_XDECREF((PyObject *)work.descr);
    Py_XDECREF((PyObject *)work.result);
    Py_XDECREF((PyObject *)work.out);
    Py_XDECREF((PyObject *)work.sums);
    return result;
}
