/* The binding of where. Its kin: scatter_where is one more form in py_scatter.c,
 * gather_where is in compress.c.
 *
 * The condition's truth is asked in any type; x and y become the result's dtype
 * a block at a time where kernels cast exactly as NumPy would and no cast can warn.
 * Every other cast, and objects, strings and records, are left to NumPy's masked copy,
 * which sees selected elements alone. Hooks of the arguments run while these are
 * converted; data pointers are taken afterwards.
 */
#include "python/py_where.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/spans.h"
#include "python/values.h"

/* ---- what becomes of x and y ---- */

/* x or y on its way: an array, or a Python number that takes the result's dtype. */
typedef struct {
    const char *name;
    PyObject *object;     /* borrowed: as it came */
    PyArrayObject *array; /* owned; NULL for a Python number */
    enum ps_dtype dtype;  /* of the array, when it was examined ... */
    int64_t itemsize;
    ps_incoming number; /* where there is no array */
    npy_intp strides[PS_MAX_DIMS];
} branch;

typedef struct {
    ps_state *state;
    PyArrayObject *condition; /* owned: numbers */
    branch x, y;
    PyObject *out, *dtype_object;
    NPY_CASTING casting;
    PyArray_Descr *descr;  /* owned: of the result */
    PyArrayObject *result; /* owned: what is written to */
    bool is_private;
    bool has_holes; /* bytes in items that no field of `descr` fills */
    enum ps_dtype dtype;
    int ndim;
    npy_intp shape[PS_MAX_DIMS], condition_strides[PS_MAX_DIMS],
            result_strides[PS_MAX_DIMS];
} where_work;

static int
open_branch(ps_state *state, branch *side)
{
    if (ps_is_python_number(side->object)) {
        return 0;
    }
    side->array = ps_as_array(state, side->object, side->name);
    if (side->array == NULL || ps_storage_of(state, side->array, &side->dtype) < 0) {
        return -1;
    }
    side->itemsize = PyArray_ITEMSIZE(side->array);
    return 0;
}

/* ---- the result's dtype ---- */

/* Does a Python number beside an array of this dtype leave the dtype alone? */
static bool
keeps_dtype(PyArray_Descr *descr, PyObject *number)
{
    if (!PyDataType_ISNOTSWAPPED(descr)) {
        return false;
    }
    if (PyTypeNum_ISFLOAT(descr->type_num)) {
        return !PyComplex_CheckExact(number);
    }
    return PyTypeNum_ISINTEGER(descr->type_num) ? PyLong_CheckExact(number)
                                                : PyTypeNum_ISCOMPLEX(descr->type_num);
}

/* np.result_type, whose common answers need no call. */
static PyArray_Descr *
promote(where_work *work)
{
    PyArray_Descr *const x = work->x.array ? PyArray_DESCR(work->x.array) : NULL;
    PyArray_Descr *const y = work->y.array ? PyArray_DESCR(work->y.array) : NULL;
    PyArray_Descr *same = NULL;
    if (x != NULL && x == y && PyTypeNum_ISNUMBER(x->type_num) &&
        PyDataType_ISNOTSWAPPED(x)) {
        same = x;
    }
    else if (x != NULL && y == NULL && keeps_dtype(x, work->y.object)) {
        same = x;
    }
    else if (y != NULL && x == NULL && keeps_dtype(y, work->x.object)) {
        same = y;
    }
    if (same != NULL) {
        return (PyArray_Descr *)Py_NewRef((PyObject *)same);
    }
    PyObject *const promoted = ps_get_helper(work->state, PS_HELPER_promoted);
    if (promoted == NULL) {
        return NULL;
    }
    return (PyArray_Descr *)PyObject_CallFunctionObjArgs(
            promoted, x != NULL ? (PyObject *)work->x.array : work->x.object,
            y != NULL ? (PyObject *)work->y.array : work->y.object, NULL);
}

static PyArray_Descr *
native_of(PyArray_Descr *descr)
{
    return PyArray_DescrNewByteorder(descr, NPY_NATIVE);
}

/* dtype=, else that of out=, else what x and y promote to. */
static int
choose_dtype(where_work *work)
{
    PyArray_Descr *descr = NULL;
    if (work->dtype_object != NULL && work->dtype_object != Py_None) {
        if (PyArray_DescrConverter(work->dtype_object, &descr) != NPY_SUCCEED) {
            return -1;
        }
    }
    else if (work->out != NULL) {
        descr = (PyArray_Descr *)Py_NewRef(
                (PyObject *)PyArray_DESCR((PyArrayObject *)work->out));
    }
    if (descr != NULL) {
        work->descr = native_of(descr);
        Py_DECREF(descr);
    }
    else {
        work->descr = promote(work);
    }
    if (work->descr == NULL) {
        return -1;
    }
    if (ps_require_movable(work->descr) < 0) {
        return -1;
    }
    work->dtype = ps_dtype_of(work->state, work->descr);
    const int has_holes = work->dtype == PS_raw ? ps_has_holes(work->descr) : 0;
    work->has_holes = has_holes != 0;
    return has_holes < 0 ? -1 : 0;
}

/* ---- shapes ---- */

static int
raise_shapes(const where_work *work)
{
    PyObject *shape[3] = {NULL, NULL, NULL};
    PyArrayObject *const arrays[3] = {work->condition, work->x.array, work->y.array};
    for (int i = 0; i < 3; i++) {
        shape[i] = arrays[i] == NULL
                           ? PyTuple_New(0)
                           : PyArray_IntTupleFromIntp(PyArray_NDIM(arrays[i]),
                                                      PyArray_DIMS(arrays[i]));
    }
    if (shape[0] != NULL && shape[1] != NULL && shape[2] != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "condition, x and y have shapes %R, %R and %R, which do not "
                     "broadcast together",
                     shape[0], shape[1], shape[2]);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(shape[i]);
    }
    return -1;
}

/* The common shape of all three. */
static int
find_shape(where_work *work)
{
    PyArrayObject *const arrays[3] = {work->condition, work->x.array, work->y.array};
    work->ndim = 0;
    for (int i = 0; i < 3; i++) {
        if (arrays[i] != NULL &&
            !ps_broadcast_shapes(&work->ndim, work->shape, PyArray_NDIM(arrays[i]),
                                 PyArray_DIMS(arrays[i]))) {
            return raise_shapes(work);
        }
    }
    return 0;
}

/* Strides of an array of any rank, or none, in the common shape. */
static void
spread(const where_work *work, PyArrayObject *array, npy_intp *strides)
{
    if (array == NULL) {
        memset(strides, 0, (size_t)work->ndim * sizeof(npy_intp));
        return;
    }
    ps_broadcast_strides(work->ndim, work->shape, PyArray_NDIM(array),
                         PyArray_DIMS(array), PyArray_STRIDES(array), strides);
}

/* ---- casts ---- */

static int
check_cast(const where_work *work, const branch *side)
{
    PyArray_Descr *const from = side->array ? PyArray_DESCR(side->array) : NULL;
    return from == NULL ? 0
                        : ps_require_cast(work->state, side->name, from, work->descr,
                                          work->casting);
}

static int
casts_silently(const where_work *work, const branch *side)
{
    return side->array == NULL ? 1
                               : ps_casts_silently(work->state, side->array,
                                                   work->descr, work->dtype);
}

/* A Python number becomes one item. Its rules are those of arriving values. */
static int
take_number(where_work *work, branch *side)
{
    return side->array != NULL
                   ? 0
                   : ps_take_values(work->state, side->object, work->descr, work->dtype,
                                    work->casting, &side->number);
}

/* 1: kernels can do it, 0: NumPy has to, -1: error. Numbers that overflow are NumPy's,
 * which warns of what is selected. */
static int
is_for_kernels(where_work *work)
{
    if (PyDataType_REFCHK(work->descr) ||
        ps_size_of(PyDataType_ELSIZE(work->descr)) < 0) {
        return 0;
    }
    if (take_number(work, &work->x) < 0 || take_number(work, &work->y) < 0) {
        return -1;
    }
    if (work->x.number.may_overflow || work->y.number.may_overflow) {
        return 0;
    }
    const int x = casts_silently(work, &work->x);
    return x == 1 ? casts_silently(work, &work->y) : x;
}

/* Are there still numbers, or bytes, as the ways of casting were chosen for? */
static int
check_kept(const where_work *work)
{
    enum ps_dtype unused;
    const branch *const sides[2] = {&work->x, &work->y};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->array != NULL &&
            ps_check_kept(work->state, sides[i]->array, sides[i]->dtype,
                          sides[i]->itemsize, sides[i]->name) < 0) {
            return -1;
        }
    }
    return ps_storage_of(work->state, work->condition, &unused) == PS_STORED_NUMBERS
                   ? 0
                   : ps_raise_changed("condition");
}

/* ---- the result ---- */

/* Does an input share memory with out=, other than element for element? */
static bool
meets_out(const where_work *work, PyArrayObject *array, const npy_intp *strides)
{
    PyArrayObject *const out = (PyArrayObject *)work->out;
    if (array == NULL || !ps_extents_meet(array, out)) {
        return false;
    }
    bool is_same = PyArray_DATA(array) == PyArray_DATA(out) &&
                   PyArray_EquivTypes(PyArray_DESCR(array), PyArray_DESCR(out));
    for (int axis = 0; axis < work->ndim; axis++) {
        is_same = is_same && (work->shape[axis] == 1 ||
                              strides[axis] == PyArray_STRIDE(out, axis));
    }
    return !is_same;
}

/* May elements go to out= as they come? Whole ones, so that there must be no byte in
 * them that belongs to someone else. */
static bool
can_write_into_out(const where_work *work)
{
    return work->out != NULL && !work->has_holes &&
           PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)work->out), work->descr) &&
           !ps_extents_meet(work->condition, (PyArrayObject *)work->out) &&
           !meets_out(work, work->x.array, work->x.strides) &&
           !meets_out(work, work->y.array, work->y.strides);
}

static int
open_result(where_work *work)
{
    work->is_private = !can_write_into_out(work);
    if (!work->is_private) {
        work->result = (PyArrayObject *)Py_NewRef(work->out);
        return 0;
    }
    Py_INCREF(work->descr);
    work->result = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, work->descr, work->ndim, work->shape, NULL, NULL, 0, NULL);
    return work->result != NULL ? 0 : -1;
}

/* out= of another dtype, order or place receives a copy. */
static PyObject *
finish(const where_work *work)
{
    PyArrayObject *const out = (PyArrayObject *)work->out;
    return out == NULL || out == work->result ? Py_NewRef((PyObject *)work->result)
                                              : ps_deliver(work->result, out);
}

/* ---- running ---- */

static ps_view
view_of(const where_work *work, PyArrayObject *array, const npy_intp *strides)
{
    const enum ps_dtype dtype = ps_dtype_of(work->state, PyArray_DESCR(array));
    return (ps_view){.data = PyArray_BYTES(array),
                     .dtype = dtype,
                     .ndim = work->ndim,
                     .itemsize = PyArray_ITEMSIZE(array),
                     .shape = (const int64_t *)work->shape,
                     .strides = (const int64_t *)strides,
                     .swapped = dtype != PS_raw && ps_is_swapped(array)};
}

static ps_view
view_of_branch(const where_work *work, const branch *side)
{
    if (side->array != NULL) {
        return view_of(work, side->array, side->strides);
    }
    const ps_values *const number = &side->number.view;
    return (ps_view){.data = number->data,
                     .dtype = number->dtype,
                     .ndim = work->ndim,
                     .itemsize = number->itemsize,
                     .shape = (const int64_t *)work->shape,
                     .strides = (const int64_t *)side->strides,
                     .swapped = number->swapped};
}

static int
run_kernels(where_work *work)
{
    int64_t n, nbytes;
    ps_where_call call = {
            .condition = view_of(work, work->condition, work->condition_strides),
            .x = view_of_branch(work, &work->x),
            .y = view_of_branch(work, &work->y),
            .out = view_of(work, work->result, work->result_strides),
            .is_private = work->is_private};
    if (!ps_count(work->ndim, (const int64_t *)work->shape, &n) ||
        !ps_multiply(n, 1 + 3 * call.out.itemsize, &nbytes)) {
        nbytes = INT64_MAX;
    }
    return ps_raise(work->state, ps_run_op(work->state, ps_where, &call, nbytes),
                    "condition");
}

/* A Python number, which has been taken, as a new array: of the result's dtype, or wide
 * where that is to warn. What has no number type is left to the helper as it came. */
static PyObject *
number_as_array(where_work *work, branch *side)
{
    if (side->array != NULL) {
        return Py_NewRef((PyObject *)side->array);
    }
    if (work->dtype == PS_raw || work->dtype == PS_t64) {
        return Py_NewRef(side->object);
    }
    const ps_values *const number = &side->number.view;
    const bool is_wide = side->number.may_overflow;
    const enum ps_dtype dtype = is_wide ? number->dtype : work->dtype;
    PyArray_Descr *const descr =
            is_wide ? ps_descr_of(work->state, dtype)
                    : (PyArray_Descr *)Py_NewRef((PyObject *)work->descr);
    PyArrayObject *const item =
            descr == NULL ? NULL : (PyArrayObject *)PyArray_Zeros(0, NULL, descr, 0);
    if (item != NULL) {
        ps_convert(dtype, PyArray_BYTES(item), number->dtype, number->itemsize,
                   number->swapped, number->data, 0, 1);
    }
    return (PyObject *)item;
}

/* By NumPy's masked copies, into a fresh array. */
static int
run_by_numpy(where_work *work)
{
    PyObject *const function = ps_get_helper(work->state, PS_HELPER_where_by_numpy);
    PyObject *const shape = PyArray_IntTupleFromIntp(work->ndim, work->shape);
    PyObject *const x = number_as_array(work, &work->x);
    PyObject *const y = x != NULL ? number_as_array(work, &work->y) : NULL;
    if (function != NULL && shape != NULL && y != NULL) {
        work->result = (PyArrayObject *)PyObject_CallFunction(
                function, "OOOOOs", (PyObject *)work->condition, x, y, shape,
                (PyObject *)work->descr, ps_casting_name(work->casting));
    }
    Py_XDECREF(shape);
    Py_XDECREF(x);
    Py_XDECREF(y);
    work->is_private = true;
    return work->result != NULL ? 0 : -1;
}

/* Shapes, and whether out= has the right one. */
static int
find_shapes(where_work *work)
{
    return find_shape(work) < 0 ||
                           (work->out != NULL &&
                            ps_check_out(work->state, (PyArrayObject *)work->out,
                                         work->ndim, work->shape, work->descr,
                                         work->casting) < 0)
                   ? -1
                   : 0;
}

/* Dtypes and numbers first, since their conversion and the search for casts that warn
 * may run Python code; then shapes and memory as they are by then. */
static int
choose_elements(where_work *work)
{
    if (choose_dtype(work) < 0 || check_cast(work, &work->x) < 0 ||
        check_cast(work, &work->y) < 0) {
        return -1;
    }
    const int way = is_for_kernels(work);
    if (way < 0 || (way > 0 && check_kept(work) < 0) || find_shapes(work) < 0) {
        return -1;
    }
    if (way == 0) {
        return run_by_numpy(work);
    }
    spread(work, work->condition, work->condition_strides);
    spread(work, work->x.array, work->x.strides);
    spread(work, work->y.array, work->y.strides);
    if (open_result(work) < 0) {
        return -1;
    }
    spread(work, work->result, work->result_strides);
    return run_kernels(work);
}

/* Three like arrays of few elements, as inner loops of Python have them: no options, no
 * casts, nothing to broadcast. NULL without an exception: not such a call. */
static PyObject *
where_short(PyObject *const *args)
{
    PyArrayObject *arrays[3];
    for (int i = 0; i < 3; i++) {
        arrays[i] = (PyArrayObject *)args[i];
        if (!PyArray_CheckExact(args[i]) || !PyArray_IS_C_CONTIGUOUS(arrays[i]) ||
            PyArray_NDIM(arrays[i]) != PyArray_NDIM((PyArrayObject *)args[0])) {
            return NULL;
        }
    }
    PyArray_Descr *const descr = PyArray_DESCR(arrays[1]);
    const npy_intp n = PyArray_SIZE(arrays[0]);
    const int size = ps_size_of(PyDataType_ELSIZE(descr));
    if (size < 0 || descr != PyArray_DESCR(arrays[2]) ||
        !PyTypeNum_ISNUMBER(descr->type_num) || !PyDataType_ISNOTSWAPPED(descr) ||
        !PyArray_ISBOOL(arrays[0]) || n > PS_SHORT_ROW ||
        !PyArray_SAMESHAPE(arrays[0], arrays[1]) ||
        !PyArray_SAMESHAPE(arrays[0], arrays[2])) {
        return NULL;
    }
    Py_INCREF(descr);
    PyArrayObject *const result = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, PyArray_NDIM(arrays[0]), PyArray_DIMS(arrays[0]),
            NULL, NULL, 0, NULL);
    if (result != NULL) {
        ps_kernels()->where[size](PyArray_BYTES(result), PyArray_BYTES(arrays[0]),
                                  PyArray_BYTES(arrays[1]), PS_WORD_BITS,
                                  PyArray_BYTES(arrays[2]), PS_WORD_BITS, n, false);
        if (descr->type_num == NPY_BOOL) {
            ps_settle_booleans(PyArray_BYTES(result), n);
        }
    }
    return (PyObject *)result;
}

PyObject *
ps_py_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
            PyObject *keywords)
{
    static const ps_signature signature = {
            "where",
            6,
            3,
            3,
            {PS_NAME_condition, PS_NAME_x, PS_NAME_y, PS_NAME_out, PS_NAME_dtype,
             PS_NAME_casting}};
    if (n_args == 3 && keywords == NULL) {
        PyObject *const result = where_short(args);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    where_work work;
    work.state = ps_get_state(module);
    work.casting = NPY_SAME_KIND_CASTING;
    if (ps_parse(work.state, &signature, args, n_args, keywords, slot) < 0 ||
        ps_to_casting(slot[5], &work.casting) < 0) {
        return NULL;
    }
    work.condition = work.result = NULL;
    work.descr = NULL;
    work.x.name = "x";
    work.y.name = "y";
    work.x.object = slot[1];
    work.y.object = slot[2];
    work.x.array = work.y.array = NULL;
    work.x.number.array = work.y.number.array = NULL;
    work.x.number.may_overflow = work.y.number.may_overflow = false;
    work.out = slot[3] == Py_None ? NULL : slot[3];
    work.dtype_object = slot[4];
    enum ps_dtype unused;
    if (work.out == NULL || ps_require_array(work.state, work.out, "out") == 0) {
        work.condition = ps_as_condition(work.state, slot[0], "condition", &unused);
    }
    if (work.condition != NULL && open_branch(work.state, &work.x) == 0 &&
        open_branch(work.state, &work.y) == 0 && choose_elements(&work) == 0) {
        result = finish(&work);
    }
    ps_close_values(&work.x.number);
    ps_close_values(&work.y.number);
    Py_XDECREF(work.x.array);
    Py_XDECREF(work.y.array);
    Py_XDECREF(work.condition);
    Py_XDECREF(work.descr);
    Py_XDECREF(work.result);
    return result;
}
