/* The binding of the change family: arrays of like shape and dtype, compared in one op.
 *
 * An answer leaves as it lies in memory, as bytes: of its thirty numbers few are looked
 * at, and making Python numbers of all would take longer than measuring ten elements.
 * pyscatter/change.py reads them.
 */
#include "python/py_change.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/change.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

enum {
    SLOT_OLD,
    SLOT_NEW,
    SLOT_AXIS,
    SLOT_ATOL,
    SLOT_RTOL,
    SLOT_PER_ROW,
    SLOT_PER_FEATURE,
    SLOT_FINITE_ONLY,
    SLOT_VIEW,
    SLOT_COPY,
    N_SLOTS
};
enum {
    N_ROW_ARRAYS = 3,
    N_FEATURE_ARRAYS = 9
};

static const ps_signature signature = {
        "change_stats",
        N_SLOTS,
        2,
        2,
        {PS_NAME_old, PS_NAME_new, PS_NAME_axis, PS_NAME_atol, PS_NAME_rtol,
         PS_NAME_per_row, PS_NAME_per_feature, PS_NAME_finite_only, PS_NAME_view,
         PS_NAME_copy_new_to}};

/* An answer as it leaves. */
typedef struct {
    ps_change change;
    int64_t size, has_old, is_complex;
} raw_change;

/* One call on its way: what has to be released at its end. */
typedef struct {
    PyArrayObject *old, *now, *copy; /* owned; NULL: there is none */
    PyObject *arrays;                /* owned: what is told of rows and features */
    ps_axes old_axes, now_axes, copy_axes;
    enum ps_dtype dtype;
    int axis;
    bool per_row, per_feature, finite_only, is_bfloat16, is_private;
    double atol, rtol;
} change_item;

/* ---- options ---- */

static int
read_tolerance(PyObject *object, const char *name, double *result)
{
    if (object == NULL) {
        return 0;
    }
    *result = PyFloat_AsDouble(object);
    if (*result == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (!(*result >= 0)) {
        PyErr_Format(PyExc_ValueError, "%s must not be negative or NaN, got %R", name,
                     object);
        return -1;
    }
    return 0;
}

static int
read_view(PyObject *object, bool *is_bfloat16)
{
    *is_bfloat16 = object != NULL && PyUnicode_Check(object) &&
                   PyUnicode_CompareWithASCIIString(object, "bfloat16") == 0;
    if (object == NULL || object == Py_None || *is_bfloat16) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "unknown view %R; choose from None, bfloat16",
                 object);
    return -1;
}

static int
read_options(change_item *item, PyObject *const *slot)
{
    const bool is_read =
            ps_to_int(slot[SLOT_AXIS], "axis", &item->axis) == 0 &&
            read_tolerance(slot[SLOT_ATOL], "atol", &item->atol) == 0 &&
            read_tolerance(slot[SLOT_RTOL], "rtol", &item->rtol) == 0 &&
            ps_to_bool(slot[SLOT_PER_ROW], "per_row", &item->per_row) == 0 &&
            ps_to_bool(slot[SLOT_PER_FEATURE], "per_feature", &item->per_feature) ==
                    0 &&
            ps_to_bool(slot[SLOT_FINITE_ONLY], "finite_only", &item->finite_only) ==
                    0 &&
            read_view(slot[SLOT_VIEW], &item->is_bfloat16) == 0;
    return is_read ? 0 : -1;
}

/* ---- arrays ---- */

/* How the elements are read; -1 with a TypeError where they are no numbers. */
static int
find_dtype(ps_state *state, const change_item *item, PyArrayObject *array,
           const char *name, enum ps_dtype *dtype)
{
    *dtype = ps_dtype_of(state, PyArray_DESCR(array));
    if (item->is_bfloat16 && *dtype != PS_u16 && *dtype != PS_bf16) {
        PyErr_Format(PyExc_TypeError,
                     "'%s' has dtype %S; view=\"bfloat16\" reads uint16", name,
                     (PyObject *)PyArray_DESCR(array));
        return -1;
    }
    if (item->is_bfloat16) {
        *dtype = PS_bf16;
    }
    if (!ps_is_measurable(*dtype)) {
        PyErr_Format(PyExc_TypeError,
                     "'%s' has dtype %S; change is measured of numbers and bools of at "
                     "most 64 bits a part",
                     name, (PyObject *)PyArray_DESCR(array));
        return -1;
    }
    return 0;
}

/* An array beside `new`: of its shape and dtype, whatever its byte order. */
static int
check_like(ps_state *state, const change_item *item, PyArrayObject *array,
           const char *name)
{
    enum ps_dtype dtype;
    if (find_dtype(state, item, array, name, &dtype) < 0) {
        return -1;
    }
    if (dtype != item->dtype) {
        PyErr_Format(PyExc_ValueError, "'%s' has dtype %S, but 'new' has dtype %S",
                     name, (PyObject *)PyArray_DESCR(array),
                     (PyObject *)PyArray_DESCR(item->now));
        return -1;
    }
    if (!PyArray_SAMESHAPE(array, item->now)) {
        const bool is_old = array == item->old;
        return ps_raise_shapes(PyExc_ValueError,
                               is_old ? "'old' has shape %U, but 'new' has shape %U"
                                      : "'copy_new_to' has shape %U, but 'new' has %U",
                               PyArray_NDIM(array), PyArray_DIMS(array),
                               PyArray_NDIM(item->now), PyArray_DIMS(item->now));
    }
    return 0;
}

/* All conversions first, since these may run Python code. Arrays that are long enough
 * to let go of the GIL are held as views. */
static int
take_arrays(ps_state *state, change_item *item, PyObject *const *slot, bool needs_old)
{
    PyObject *const copy = slot[SLOT_COPY];
    if (needs_old || slot[SLOT_OLD] != Py_None) {
        item->old = ps_as_array(state, slot[SLOT_OLD], "old");
        if (item->old == NULL) {
            return -1;
        }
    }
    item->now = ps_as_array(state, slot[SLOT_NEW], "new");
    if (item->now == NULL) {
        return -1;
    }
    if (copy != NULL && copy != Py_None) {
        if (ps_require_array(state, copy, "copy_new_to") < 0) {
            return -1;
        }
        item->copy = (PyArrayObject *)Py_NewRef(copy);
    }
    if (PyArray_NBYTES(item->now) <= PS_UNDISTURBED_BYTES) {
        return 0;
    }
    return (item->old != NULL && ps_hold_view(&item->old) < 0) ||
                           ps_hold_view(&item->now) < 0 ||
                           (item->copy != NULL && ps_hold_view(&item->copy) < 0)
                   ? -1
                   : 0;
}

/* Do two arrays of one shape have every element at the same place? */
static bool
is_same_memory(PyArrayObject *one, PyArrayObject *other)
{
    bool is_same = PyArray_DATA(one) == PyArray_DATA(other) &&
                   ps_is_swapped(one) == ps_is_swapped(other);
    for (int axis = 0; axis < PyArray_NDIM(one); axis++) {
        is_same = is_same && (PyArray_DIM(one, axis) == 1 ||
                              PyArray_STRIDE(one, axis) == PyArray_STRIDE(other, axis));
    }
    return is_same;
}

/* What `copy` would overwrite is copied first, unless it lies there element by element.
 */
static int
part_from_copy(const change_item *item, PyArrayObject **array)
{
    if (*array == NULL || !ps_extents_meet(*array, item->copy) ||
        is_same_memory(*array, item->copy)) {
        return 0;
    }
    PyArrayObject *const apart = ps_copy_of(*array, NPY_CORDER);
    if (apart == NULL) {
        return -1;
    }
    Py_SETREF(*array, apart);
    return 0;
}

static int
check_copy(ps_state *state, change_item *item)
{
    if (item->copy == NULL) {
        return 0;
    }
    if (check_like(state, item, item->copy, "copy_new_to") < 0 ||
        ps_require_writeable(item->copy) < 0) {
        return -1;
    }
    if (is_same_memory(item->now, item->copy)) {
        Py_CLEAR(item->copy);
        return 0;
    }
    return part_from_copy(item, &item->old) < 0 || part_from_copy(item, &item->now) < 0
                   ? -1
                   : 0;
}

static int
check_arrays(ps_state *state, change_item *item)
{
    const int ndim = PyArray_NDIM(item->now);
    if (find_dtype(state, item, item->now, "new", &item->dtype) < 0 ||
        (item->old != NULL && check_like(state, item, item->old, "old") < 0)) {
        return -1;
    }
    if (ndim > 0 || item->per_row || item->per_feature) {
        item->axis = ps_check_axis(state, item->axis, ndim);
        if (item->axis < 0) {
            return -1;
        }
    }
    return check_copy(state, item);
}

/* ---- what is told of rows and features ---- */

static PyObject *
new_rows(const change_item *item)
{
    static const int types[N_ROW_ARRAYS] = {NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
    npy_intp rows = PyArray_DIM(item->now, item->axis);
    PyObject *const tuple = PyTuple_New(N_ROW_ARRAYS);
    for (int i = 0; tuple != NULL && i < N_ROW_ARRAYS; i++) {
        PyObject *const array = PyArray_SimpleNew(1, &rows, types[i]);
        if (array == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, array);
    }
    return tuple;
}

static PyObject *
new_features(const change_item *item)
{
    const int mean =
            ps_dtype_kind[item->dtype] == PS_KIND_COMPLEX ? NPY_CDOUBLE : NPY_DOUBLE;
    const int types[N_FEATURE_ARRAYS] = {mean,      NPY_DOUBLE, NPY_DOUBLE,
                                         NPY_INT64, mean,       NPY_DOUBLE,
                                         NPY_BOOL,  NPY_INT64,  NPY_INT64};
    npy_intp shape[PS_MAX_DIMS];
    int ndim = 0;
    for (int axis = 0; axis < PyArray_NDIM(item->now); axis++) {
        if (axis != item->axis) {
            shape[ndim++] = PyArray_DIM(item->now, axis);
        }
    }
    PyObject *const tuple = PyTuple_New(N_FEATURE_ARRAYS);
    for (int i = 0; tuple != NULL && i < N_FEATURE_ARRAYS; i++) {
        PyObject *const array = PyArray_SimpleNew(ndim, shape, types[i]);
        if (array == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, array);
    }
    return tuple;
}

/* (rows, features), each a tuple of arrays or None; None for neither. */
static int
open_arrays(change_item *item)
{
    if (!item->per_row && !item->per_feature) {
        item->arrays = Py_NewRef(Py_None);
        return 0;
    }
    PyObject *const rows = item->per_row ? new_rows(item) : Py_NewRef(Py_None);
    PyObject *const features =
            item->per_feature ? new_features(item) : Py_NewRef(Py_None);
    if (rows != NULL && features != NULL) {
        item->arrays = PyTuple_Pack(2, rows, features);
    }
    Py_XDECREF(rows);
    Py_XDECREF(features);
    return item->arrays != NULL ? 0 : -1;
}

static void *
data_of(const change_item *item, int group, int i)
{
    PyObject *const arrays = PyTuple_GET_ITEM(item->arrays, group);
    return PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
}

static ps_change_axes
axes_of(const change_item *item)
{
    ps_change_axes axes = {0};
    if (item->per_row) {
        axes.row_abs_sum = data_of(item, 0, 0);
        axes.row_max_abs = data_of(item, 0, 1);
        axes.row_changed = data_of(item, 0, 2);
    }
    if (item->per_feature) {
        axes.feature_mean = data_of(item, 1, 0);
        axes.feature_m2 = data_of(item, 1, 1);
        axes.feature_max_abs = data_of(item, 1, 2);
        axes.feature_n_changed = data_of(item, 1, 3);
        axes.feature_new_mean = data_of(item, 1, 4);
        axes.feature_new_m2 = data_of(item, 1, 5);
        axes.feature_is_dead = data_of(item, 1, 6);
        axes.feature_n = data_of(item, 1, 7);
        axes.feature_new_n = data_of(item, 1, 8);
    }
    return axes;
}

/* ---- calls ---- */

static int
open_item(ps_state *state, change_item *item, PyObject *const *slot, bool needs_old)
{
    return read_options(item, slot) < 0 ||
                           take_arrays(state, item, slot, needs_old) < 0 ||
                           check_arrays(state, item) < 0 || open_arrays(item) < 0
                   ? -1
                   : 0;
}

static void
close_item(change_item *item)
{
    Py_XDECREF((PyObject *)item->old);
    Py_XDECREF((PyObject *)item->now);
    Py_XDECREF((PyObject *)item->copy);
    Py_XDECREF(item->arrays);
}

/* The view of an array that was checked, if it still is what it was. */
static int
view_item(ps_state *state, const change_item *item, PyArrayObject *array, ps_axes *axes,
          ps_view *view)
{
    enum ps_dtype dtype;
    if (array == NULL) {
        return 0;
    }
    if (find_dtype(state, item, array, "new", &dtype) < 0) {
        return -1;
    }
    if (dtype != item->dtype || !PyArray_SAMESHAPE(array, item->now) ||
        !ps_lies_in_base(array)) {
        return ps_raise_changed(NULL);
    }
    *view = ps_view_of(array, dtype, axes);
    return 0;
}

/* Are the arrays for rows and features of the size that `new` has now? */
static bool
has_room(const change_item *item)
{
    int64_t rows = 1, features = 1;
    for (int axis = 0; axis < PyArray_NDIM(item->now); axis++) {
        int64_t *const size = axis == item->axis ? &rows : &features;
        *size *= PyArray_DIM(item->now, axis);
    }
    PyObject *const row_arrays =
            item->per_row ? PyTuple_GET_ITEM(item->arrays, 0) : NULL;
    PyObject *const feature_arrays =
            item->per_feature ? PyTuple_GET_ITEM(item->arrays, 1) : NULL;
    return (row_arrays == NULL ||
            PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(row_arrays, 0)) == rows) &&
           (feature_arrays == NULL || PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(
                                              feature_arrays, 0)) == features);
}

/* All pointers are taken here, after the last Python code and before the op. */
static int
open_call(ps_state *state, change_item *item, ps_change_call *call)
{
    *call = (ps_change_call){.axis = item->axis,
                             .atol = item->atol,
                             .rtol = item->rtol,
                             .finite_only = item->finite_only,
                             .is_private = item->is_private};
    if (!has_room(item) && (item->per_row || item->per_feature)) {
        return ps_raise_changed("new");
    }
    if (view_item(state, item, item->now, &item->now_axes, &call->now) < 0 ||
        view_item(state, item, item->old, &item->old_axes, &call->old) < 0 ||
        view_item(state, item, item->copy, &item->copy_axes, &call->copy) < 0) {
        return -1;
    }
    if (item->per_row || item->per_feature) {
        call->axes = axes_of(item);
    }
    return 0;
}

/* (raw, arrays) */
static PyObject *
answer_of(const change_item *item, const ps_change_call *call)
{
    const raw_change raw = {call->change, PyArray_SIZE(item->now), item->old != NULL,
                            ps_dtype_kind[item->dtype] == PS_KIND_COMPLEX};
    PyObject *const bytes =
            PyBytes_FromStringAndSize((const char *)&raw, (Py_ssize_t)sizeof(raw));
    PyObject *const answer =
            bytes != NULL ? PyTuple_Pack(2, bytes, item->arrays) : NULL;
    Py_XDECREF(bytes);
    return answer;
}

static int
run_items(ps_state *state, change_item *items, ps_change_call *calls, Py_ssize_t n)
{
    int64_t nbytes = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (open_call(state, &items[i], &calls[i]) < 0) {
            return -1;
        }
        const int64_t own = PyArray_NBYTES(items[i].now);
        nbytes = own < (INT64_MAX - nbytes) / 4 ? nbytes + 3 * own : INT64_MAX / 2;
    }
    ps_changes changes = {calls, n};
    return ps_raise(state, ps_run_op(state, ps_change_arrays, &changes, nbytes), "new");
}

PyObject *
ps_py_change_stats(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *answer = NULL, *result = NULL;
    change_item item;
    ps_change_call call;
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    memset(&item, 0, sizeof(item));
    if (open_item(state, &item, slot, true) == 0 &&
        run_items(state, &item, &call, 1) == 0) {
        answer = answer_of(&item, &call);
    }
    PyObject *const record =
            answer != NULL ? ps_get_helper(state, PS_HELPER_ChangeStats) : NULL;
    if (record != NULL) {
        result = PyObject_Call(record, answer, NULL);
    }
    Py_XDECREF(answer);
    close_item(&item);
    return result;
}

/* The items of a tuple that is an argument list. */
static int
open_items(ps_state *state, change_item *items, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
        PyObject *const arguments = PyTuple_GET_ITEM(list, i);
        if (!PyTuple_Check(arguments) || PyTuple_GET_SIZE(arguments) != N_SLOTS) {
            PyErr_Format(PyExc_TypeError, "an item must be a tuple of %d", N_SLOTS);
            return -1;
        }
        items[i].is_private = true;
        if (open_item(state, &items[i], ((PyTupleObject *)arguments)->ob_item, false) <
            0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
answers_of(const change_item *items, const ps_change_call *calls, Py_ssize_t n)
{
    PyObject *const list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *const answer = answer_of(&items[i], &calls[i]);
        if (answer == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, answer);
    }
    return list;
}

PyObject *
ps_py_change_update(PyObject *module, PyObject *list)
{
    ps_state *const state = ps_get_state(module);
    if (!PyTuple_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "items must be a tuple");
        return NULL;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(list);
    change_item *const items = PyMem_Calloc((size_t)n + 1, sizeof(change_item));
    ps_change_call *const calls = PyMem_Calloc((size_t)n + 1, sizeof(ps_change_call));
    PyObject *result = NULL;
    if (items == NULL || calls == NULL) {
        PyErr_NoMemory();
    }
    else if (open_items(state, items, list) == 0 &&
             run_items(state, items, calls, n) == 0) {
        result = answers_of(items, calls, n);
    }
    for (Py_ssize_t i = 0; items != NULL && i < n; i++) {
        close_item(&items[i]);
    }
    PyMem_Free(items);
    PyMem_Free(calls);
    return result;
}

/* ---- answers ---- */

PyObject *
ps_py_change_fields(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
#define FIELD_NAME(name) " " #name
    return Py_BuildValue("(ss)", PS_FOR_EACH_CHANGE_COUNT(FIELD_NAME) + 1,
                         PS_FOR_EACH_CHANGE_REAL(FIELD_NAME) + 1);
#undef FIELD_NAME
}

PyObject *
ps_py_change_join(PyObject *module, PyObject *raws)
{
    (void)module;
    raw_change total = {.change = ps_no_change, .has_old = 1};
    if (!PyTuple_Check(raws)) {
        PyErr_SetString(PyExc_TypeError, "raws must be a tuple");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(raws); i++) {
        PyObject *const bytes = PyTuple_GET_ITEM(raws, i);
        raw_change raw;
        if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != sizeof(raw)) {
            PyErr_SetString(PyExc_ValueError, "no record of a change");
            return NULL;
        }
        memcpy(&raw, PyBytes_AS_STRING(bytes), sizeof(raw));
        ps_change_join(&total.change, &raw.change);
        if (__builtin_add_overflow(total.size, raw.size, &total.size)) {
            PyErr_SetString(PyExc_OverflowError, "too many elements");
            return NULL;
        }
        total.has_old &= raw.has_old;
        total.is_complex |= raw.is_complex;
    }
    return PyBytes_FromStringAndSize((const char *)&total, (Py_ssize_t)sizeof(total));
}
