/* The binding of spmm: a sparse matrix times dense ones, from either side.
 *
 * Everything becomes one product, sparse times rows: a dense operand on the left is
 * turned, and so is the matrix, whose transpose is the same arrays. Types are settled
 * here where both operands agree and nothing else is asked; pyscatter.spmm knows the
 * other cases. The op writes into the result where that lies as kernels want it and
 * shares no memory with what is read, else into an array that is then copied.
 */
#include "python/py_spmm.h"

#include <string.h>

#include "base/sizes.h"
#include "ops/identity.h"
#include "ops/sparse_products.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/containers.h"
#include "python/copies.h"
#include "python/dense.h"
#include "python/matrix.h"
#include "python/targets.h"

enum {
    /* Slots of the arguments. */
    SLOT_A,
    SLOT_X,
    SLOT_ALPHA,
    SLOT_BETA,
    SLOT_OUT,
    SLOT_OP,
    SLOT_SEMIRING,
    SLOT_TRANSPOSE,
    SLOT_CONJUGATE,
    SLOT_FILL,
    SLOT_DTYPE,
    N_SLOTS
};

static const ps_signature signature = {
        "spmm",
        N_SLOTS,
        2,
        2,
        {PS_NAME_A, PS_NAME_X, PS_NAME_alpha, PS_NAME_beta, PS_NAME_out, PS_NAME_op,
         PS_NAME_semiring, PS_NAME_transpose, PS_NAME_conjugate, PS_NAME_fill_value,
         PS_NAME_dtype}};

/* One element of the type that is computed in. */
typedef struct {
    _Alignas(16) char bytes[16];
    bool is_given;
} element;

typedef struct {
    ps_state *state;
    PyObject *slot[N_SLOTS]; /* borrowed; NULL: not given, or the default */
    enum ps_product op;
    bool is_mean, is_or_and, is_left, transposes, conjugates;
    ps_sparse a;
    PyArrayObject *x;      /* owned: the dense operand, turned if it is on the left */
    PyArray_Descr *descr;  /* owned: what is computed in */
    PyArray_Descr *result; /* owned: of a fresh result */
    enum ps_dtype type;    /* that of descr */
    PyArrayObject *out, *sums; /* owned: the result, and where the op writes */
    PyArrayObject *target;     /* owned: out, turned if that is asked */
    element alpha, beta, empty, one, start;
    ps_keeper keeper;
} product;

/* ---- options ---- */

static const struct {
    const char *name;
    enum ps_product op;
} semirings[] = {{"min_plus", PS_min_plus},
                 {"max_plus", PS_max_plus},
                 {"max_times", PS_max_times},
                 {"or_and", PS_add_times}};
enum {
    N_SEMIRINGS = sizeof(semirings) / sizeof(semirings[0]),
    OR_AND = N_SEMIRINGS - 1
};

static int
read_semiring(product *work, PyObject *name)
{
    if (work->slot[SLOT_OP] != NULL || work->slot[SLOT_ALPHA] != NULL ||
        work->slot[SLOT_BETA] != NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "semiring= stands for op, alpha and beta: leave these away");
        return -1;
    }
    for (int i = 0; PyUnicode_Check(name) && i < N_SEMIRINGS; i++) {
        if (PyUnicode_CompareWithASCIIString(name, semirings[i].name) == 0) {
            work->op = semirings[i].op;
            work->is_or_and = i == OR_AND;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "unknown semiring %R; choose from min_plus, max_plus, max_times, "
                 "or_and",
                 name);
    return -1;
}

static int
read_op(product *work)
{
    enum ps_op op = PS_add;
    if (ps_to_op(work->state, work->slot[SLOT_OP], &op) < 0) {
        return -1;
    }
    if (op != PS_add && op != PS_mean && op != PS_min && op != PS_max) {
        PyErr_Format(PyExc_ValueError,
                     "op %R has no product; choose from add, mean, min, max",
                     work->slot[SLOT_OP]);
        return -1;
    }
    work->is_mean = op == PS_mean;
    work->op = op == PS_min ? PS_min_times : op == PS_max ? PS_max_times : PS_add_times;
    return 0;
}

/* Is it the Python int that stands for "nothing to do"? */
static bool
is_int(PyObject *object, long value)
{
    return object != NULL && PyLong_CheckExact(object) &&
           PyLong_AsLong(object) == value && !PyErr_Occurred();
}

static int
read_options(product *work)
{
    PyObject **const slot = work->slot;
    static const int optional[] = {SLOT_OUT, SLOT_SEMIRING, SLOT_FILL, SLOT_DTYPE};
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        slot[optional[i]] = slot[optional[i]] == Py_None ? NULL : slot[optional[i]];
    }
    slot[SLOT_ALPHA] = is_int(slot[SLOT_ALPHA], 1) ? NULL : slot[SLOT_ALPHA];
    slot[SLOT_BETA] = is_int(slot[SLOT_BETA], 0) ? NULL : slot[SLOT_BETA];
    PyErr_Clear(); /* of an int that no long holds */
    if (slot[SLOT_BETA] != NULL && slot[SLOT_OUT] == NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "beta= is what out= is multiplied by: give both or neither");
        return -1;
    }
    if (ps_to_bool(slot[SLOT_TRANSPOSE], "transpose", &work->transposes) < 0 ||
        ps_to_bool(slot[SLOT_CONJUGATE], "conjugate", &work->conjugates) < 0) {
        return -1;
    }
    return slot[SLOT_SEMIRING] != NULL ? read_semiring(work, slot[SLOT_SEMIRING])
                                       : read_op(work);
}

/* ---- operands ---- */

static int
take_operands(product *work)
{
    ps_state *const state = work->state;
    PyObject *const *const slot = work->slot;
    enum ps_format format = PS_CSR;
    const int a_is = ps_is_sparse(state, slot[SLOT_A], &format);
    const int x_is = a_is < 0 ? -1 : ps_is_sparse(state, slot[SLOT_X], &format);
    if (x_is < 0) {
        return -1;
    }
    if (a_is == x_is) {
        PyErr_SetString(PyExc_TypeError,
                        a_is ? "both operands are sparse: use spgemm"
                             : "neither operand is sparse: use numpy.matmul, or @");
        return -1;
    }
    work->is_left = x_is;
    if (ps_take_parts(state, slot[x_is], x_is ? "X" : "A", format, &work->a) < 0) {
        return -1;
    }
    work->x = ps_take_dense(state, slot[!x_is], x_is ? "A" : "X");
    if (work->x == NULL) {
        return -1;
    }
    if (work->is_left) {
        Py_SETREF(work->x, ps_turned(work->x));
    }
    return work->x != NULL ? 0 : -1;
}

/* Is the matrix used turned? A dense operand on the left turns it once more. */
static bool
is_turned(const product *work)
{
    return work->transposes != work->is_left;
}

/* Both as the caller gave them, in the words of NumPy's matmul. */
static int
check_shapes(const product *work)
{
    const int ndim = PyArray_NDIM(work->x);
    const npy_intp inner = PyArray_DIM(work->x, ndim > 1 ? ndim - 2 : 0);
    const npy_intp own = is_turned(work) ? work->a.n_rows : work->a.n_cols;
    if (inner == own) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "the inner sizes differ: the sparse operand%s has %zd %s, the dense "
                 "one %zd",
                 work->transposes ? ", transposed," : "", own,
                 work->is_left ? "rows" : "columns", inner);
    return -1;
}

/* ---- types ---- */

/* Do operands of one dtype settle everything? */
static bool
is_plain(const product *work, enum ps_dtype type)
{
    return work->slot[SLOT_ALPHA] == NULL && work->slot[SLOT_BETA] == NULL &&
           work->slot[SLOT_FILL] == NULL && work->slot[SLOT_DTYPE] == NULL &&
           !work->is_or_and && type < PS_NUM_DTYPES && !work->is_mean &&
           (work->a.data == NULL ||
            ps_dtype_of(work->state, PyArray_DESCR(work->a.data)) == type);
}

/* One of the elements that the helper gives: an array of one element, or None. */
static int
read_constant(PyObject *given, PyArray_Descr *descr, element *constant)
{
    if (given == Py_None) {
        return 0;
    }
    if (!PyArray_CheckExact(given) ||
        PyArray_NBYTES((PyArrayObject *)given) != PyDataType_ELSIZE(descr)) {
        return ps_raise_changed(NULL);
    }
    constant->is_given = true;
    memcpy(constant->bytes, PyArray_DATA((PyArrayObject *)given),
           (size_t)PyDataType_ELSIZE(descr));
    return 0;
}

/* (accumulator, result, alpha, beta, empty) from pyscatter.spmm. */
static int
ask_for_types(product *work)
{
    if (ps_hold_view(&work->x) < 0 || ps_hold_view(&work->a.data) < 0) {
        return -1;
    }
    PyObject *const helper = ps_get_helper(work->state, PS_HELPER_product_types);
    PyObject *const *const slot = work->slot;
    static const char *const forms[] = {"add", "mean", "extreme", "or_and"};
    const int form = work->is_or_and ? 3 : work->op != PS_add_times ? 2 : work->is_mean;
    PyObject *const data =
            work->a.data != NULL ? (PyObject *)PyArray_DESCR(work->a.data) : Py_None;
    PyObject *const answer =
            helper == NULL ? NULL
                           : PyObject_CallFunction(
                                     helper, "(OO)sOOOO", data, PyArray_DESCR(work->x),
                                     forms[form],
                                     slot[SLOT_ALPHA] ? slot[SLOT_ALPHA] : Py_None,
                                     slot[SLOT_BETA] ? slot[SLOT_BETA] : Py_None,
                                     slot[SLOT_FILL] ? slot[SLOT_FILL] : Py_None,
                                     slot[SLOT_DTYPE] ? slot[SLOT_DTYPE] : Py_None);
    PyObject *alpha, *beta, *empty;
    PyArray_Descr *descr, *result;
    int status = -1;
    if (answer != NULL &&
        PyArg_ParseTuple(answer, "O!O!OOO", &PyArrayDescr_Type, &descr,
                         &PyArrayDescr_Type, &result, &alpha, &beta, &empty)) {
        work->descr = (PyArray_Descr *)Py_NewRef((PyObject *)descr);
        work->result = (PyArray_Descr *)Py_NewRef((PyObject *)result);
        work->type = ps_dtype_of(work->state, descr);
        status = read_constant(alpha, descr, &work->alpha) < 0 ||
                                 read_constant(beta, descr, &work->beta) < 0 ||
                                 read_constant(empty, descr, &work->empty) < 0
                         ? -1
                         : 0;
    }
    Py_XDECREF(answer);
    return status;
}

/* 1 in the type that is computed in. */
static void
write_one(enum ps_dtype type, element *one)
{
    memset(one->bytes, 0, sizeof(one->bytes));
    if (type == PS_f32 || type == PS_c64) {
        *(f32 *)one->bytes = 1;
    }
    else if (type == PS_f64 || type == PS_c128) {
        *(f64 *)one->bytes = 1;
    }
    else {
        one->bytes[0] = 1; /* the least byte comes first */
    }
}

static int
settle_types(product *work)
{
    const enum ps_dtype type = ps_dtype_of(work->state, PyArray_DESCR(work->x));
    if (is_plain(work, type)) {
        work->type = type;
        work->descr = ps_descr_of(work->state, type);
        work->result = (PyArray_Descr *)Py_XNewRef((PyObject *)work->descr);
        if (work->descr == NULL) {
            return -1;
        }
    }
    else if (ask_for_types(work) < 0) {
        return -1;
    }
    const bool is_min = work->op == PS_min_times || work->op == PS_min_plus;
    if (work->op != PS_add_times && ps_dtype_kind[work->type] == PS_KIND_COMPLEX) {
        return ps_refuse_op(is_min ? PS_min : PS_max, work->descr, "");
    }
    write_one(work->type, &work->one);
    memset(work->start.bytes, 0, sizeof(work->start.bytes));
    if (work->op != PS_add_times) {
        ps_write_identity(is_min ? PS_min : PS_max, work->type, work->start.bytes);
    }
    return 0;
}

/* ---- the result ---- */

/* Its shape, as the caller sees it. */
static int
result_shape(const product *work, npy_intp *shape)
{
    const int ndim = PyArray_NDIM(work->x);
    memcpy(shape, PyArray_DIMS(work->x), sizeof(npy_intp) * (size_t)ndim);
    const npy_intp rows = is_turned(work) ? work->a.n_cols : work->a.n_rows;
    if (ndim == 1) {
        shape[0] = rows;
    }
    else if (work->is_left) {
        shape[ndim - 2] = PyArray_DIM(work->x, ndim - 1);
        shape[ndim - 1] = rows;
    }
    else {
        shape[ndim - 2] = rows;
    }
    return ndim;
}

/* Does `out` share memory with anything that the op reads? */
static bool
meets_operands(const product *work)
{
    return ps_extents_meet(work->out, work->x) || ps_meets_sparse(work->out, &work->a);
}

static int
take_out(product *work)
{
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = result_shape(work, shape);
    work->out = ps_take_target(work->state, work->slot[SLOT_OUT], ndim, shape,
                               work->result);
    return work->out == NULL || (work->beta.is_given &&
                                 ps_require_cast(work->state, "out",
                                                 PyArray_DESCR(work->out), work->descr,
                                                 NPY_SAME_KIND_CASTING) < 0)
                   ? -1
                   : 0;
}

/* Where the op writes: the result, or an array in its place. */
static int
take_sums(product *work)
{
    ps_dense unused;
    if (take_out(work) < 0) {
        return -1;
    }
    work->target = work->is_left ? ps_turned(work->out)
                                 : (PyArrayObject *)Py_NewRef((PyObject *)work->out);
    if (work->target == NULL) {
        return -1;
    }
    const bool is_direct =
            ps_lies_dense(work->state, work->target, work->type, &unused) &&
            (work->slot[SLOT_OUT] == NULL || !meets_operands(work));
    if (is_direct) {
        work->sums = (PyArrayObject *)Py_NewRef((PyObject *)work->target);
        return 0;
    }
    Py_INCREF(work->descr);
    if (work->beta.is_given) {
        work->sums = ps_cast_of(work->target, work->descr);
    }
    else {
        work->sums = (PyArrayObject *)PyArray_NewFromDescr(
                &PyArray_Type, work->descr, PyArray_NDIM(work->target),
                PyArray_DIMS(work->target), NULL, NULL, 0, NULL);
    }
    return work->sums != NULL ? 0 : -1;
}

/* ---- the call ---- */

static const void *
given(const element *constant)
{
    return constant->is_given ? constant->bytes : NULL;
}

/* A matrix of few entries may have more rows than fit in a sum. */
static int64_t
bytes_moved(const ps_spmm_call *call)
{
    const int64_t most = INT64_MAX / 4, row = call->width * ps_dtype_size[call->type];
    const int64_t items = ps_min(call->a.nnz, most) + ps_min(call->a.n_rows, most) +
                          ps_min(call->a.n_cols, most);
    return ps_product_nbytes(items, row + 16, call->batch);
}

/* All pointers are taken here, after the last Python code and before the op. */
static int
open_call(const product *work, ps_spmm_call *call)
{
    ps_matrix matrix;
    ps_dense x, sums;
    if (ps_open_sparse(work->state, &work->a, &matrix) < 0) {
        return -1;
    }
    if (!ps_lies_dense(work->state, work->x, work->type, &x) ||
        !ps_lies_dense(work->state, work->sums, work->type, &sums) ||
        (matrix.data != NULL &&
         (matrix.dtype != work->type || !PyArray_ISCARRAY_RO(work->a.data)))) {
        return ps_raise_changed(NULL);
    }
    *call = (ps_spmm_call){
            .a = is_turned(work) ? ps_transpose(&matrix) : matrix,
            .op = work->op,
            .type = work->type,
            .batch = x.batch,
            .x = x.data,
            .x_step = x.step,
            .x_batch_step = x.batch_step,
            .out = sums.data,
            .out_step = sums.step,
            .out_batch_step = sums.batch_step,
            .width = x.width,
            .is_private = work->slot[SLOT_OUT] == NULL || work->sums != work->target,
            .is_mean = work->is_mean,
            .alpha = given(&work->alpha),
            .beta = given(&work->beta),
            .empty = given(&work->empty),
            .one = work->one.bytes,
            .start = work->start.bytes};
    const bool fits = call->a.n_cols == x.rows && call->a.n_rows == sums.rows &&
                      sums.width == x.width && sums.batch == x.batch;
    return fits ? 0 : ps_raise_changed(NULL);
}

/* Products of a container that go by columns may keep what these come to by rows. */
static void
open_keeper(product *work, ps_spmm_call *call)
{
    ps_container *const container =
            ps_container_of(work->state, work->slot[work->is_left ? SLOT_X : SLOT_A]);
    if (container != NULL && call->a.format == PS_CSC &&
        ps_open_keeper(&container->cell, &work->keeper)) {
        call->keeping = &work->keeper.keeping;
    }
}

static int
run_op(product *work, ps_spmm_call *call)
{
    open_keeper(work, call);
    return ps_raise(work->state,
                    ps_run_op(work->state, ps_spmm, call, bytes_moved(call)), "A");
}

static PyObject *
run_product(product *work)
{
    ps_spmm_call call;
    if (ps_lay_data(work->state, &work->a.data, work->descr, work->type,
                    work->conjugates) < 0 ||
        ps_lay_dense(work->state, &work->x, work->descr, work->type) < 0 ||
        take_sums(work) < 0 || open_call(work, &call) < 0 || run_op(work, &call) < 0 ||
        ps_deliver_sums(work->sums, work->target) < 0) {
        return NULL;
    }
    PyObject *const out = work->slot[SLOT_OUT];
    return Py_NewRef(out != NULL ? out : (PyObject *)work->out);
}

static void
close_product(product *work)
{
    ps_close_keeper(&work->keeper);
    ps_close_sparse(&work->a);
    Py_XDECREF((PyObject *)work->x);
    Py_XDECREF((PyObject *)work->descr);
    Py_XDECREF((PyObject *)work->result);
    Py_XDECREF((PyObject *)work->out);
    Py_XDECREF((PyObject *)work->sums);
    Py_XDECREF((PyObject *)work->target);
}

PyObject *
ps_py_spmm(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
           PyObject *keywords)
{
    product work = {.state = ps_get_state(module)};
    PyObject *result = NULL;
    if (ps_parse(work.state, &signature, args, n_args, keywords, work.slot) == 0 &&
        read_options(&work) == 0 && take_operands(&work) == 0 &&
        check_shapes(&work) == 0 && settle_types(&work) == 0) {
        result = run_product(&work);
    }
    close_product(&work);
    return result;
}
