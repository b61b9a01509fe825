/* Calls of the change family on their way: arrays of like shape and dtype, made ready
 * for one op (contract in change_items.h). Python code runs first, then arrays are
 * checked, and at the end pointers are taken, from what still is as it was checked. */
#include "python/change_items.h"

#include "base/sizes.h"
#include "python/args.h"
#include "python/copies.h"

enum {
    N_ROW_ARRAYS = 3,
    N_FEATURE_ARRAYS = 9
};

/* Axes are left as they are: tiny calls would take as long to clear them as to measure.
 */
void
ps_begin_change_item(ps_change_item *item, bool is_private)
{
    item->old = item->now = item->copy = NULL;
    item->arrays = NULL;
    item->axis = 0;
    item->per_row = item->per_feature = item->finite_only = item->is_bfloat16 = false;
    item->is_private = is_private;
    item->atol = item->rtol = 0;
}

/* ---- options ---- */

static int
read_tolerance(PyObject *object, const char *name, double *result)
{
    *result = object != NULL ? PyFloat_AsDouble(object) : 0;
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

int
ps_read_change_options(ps_change_item *item, PyObject *const *slot)
{
    const bool is_read =
            ps_to_int(slot[PS_CHANGE_AXIS], "axis", &item->axis) == 0 &&
            read_tolerance(slot[PS_CHANGE_ATOL], "atol", &item->atol) == 0 &&
            read_tolerance(slot[PS_CHANGE_RTOL], "rtol", &item->rtol) == 0 &&
            ps_to_bool(slot[PS_CHANGE_PER_ROW], "per_row", &item->per_row) == 0 &&
            ps_to_bool(slot[PS_CHANGE_PER_FEATURE], "per_feature",
                       &item->per_feature) == 0 &&
            ps_to_bool(slot[PS_CHANGE_FINITE_ONLY], "finite_only",
                       &item->finite_only) == 0 &&
            read_view(slot[PS_CHANGE_VIEW], &item->is_bfloat16) == 0;
    return is_read ? 0 : -1;
}

/* ---- arrays ---- */

/* How the elements are read; -1 with a TypeError where they are no numbers. */
static int
find_dtype(ps_state *state, const ps_change_item *item, PyArrayObject *array,
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
check_like(ps_state *state, const ps_change_item *item, PyArrayObject *array,
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

/* All conversions first, since these may run Python code. */
static int
take_arrays(ps_state *state, ps_change_item *item, PyObject *const *slot,
            bool needs_old)
{
    PyObject *const copy = slot[PS_CHANGE_COPY];
    if (needs_old || slot[PS_CHANGE_OLD] != Py_None) {
        item->old = ps_as_array(state, slot[PS_CHANGE_OLD], "old");
        if (item->old == NULL) {
            return -1;
        }
    }
    item->now = ps_as_array(state, slot[PS_CHANGE_NEW], "new");
    if (item->now == NULL) {
        return -1;
    }
    const bool copies = copy != NULL && copy != Py_None;
    if (copies && ps_require_array(state, copy, "copy_new_to") < 0) {
        return -1;
    }
    item->copy = copies ? (PyArrayObject *)Py_NewRef(copy) : NULL;
    return 0;
}

/* Arrays that are long enough to let go of the GIL are held as views. */
static int
hold_arrays(ps_change_item *item)
{
    if (PyArray_NBYTES(item->now) <= PS_UNDISTURBED_BYTES) {
        return 0;
    }
    const bool is_held = ps_hold_view(&item->old) == 0 &&
                         ps_hold_view(&item->now) == 0 &&
                         ps_hold_view(&item->copy) == 0;
    return is_held ? 0 : -1;
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
part_from_copy(const ps_change_item *item, PyArrayObject **array)
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
check_copy(ps_state *state, ps_change_item *item)
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
    return part_from_copy(item, &item->old) < 0 ? -1 : part_from_copy(item, &item->now);
}

static int
check_arrays(ps_state *state, ps_change_item *item)
{
    const int ndim = PyArray_NDIM(item->now);
    if (find_dtype(state, item, item->now, "new", &item->dtype) < 0 ||
        (item->old != NULL && check_like(state, item, item->old, "old") < 0)) {
        return -1;
    }
    const bool has_axis = ndim > 0 || item->per_row || item->per_feature;
    item->axis = has_axis ? ps_check_axis(state, item->axis, ndim) : 0;
    return item->axis < 0 ? -1 : check_copy(state, item);
}

/* ---- what is told of rows and features ---- */

/* A tuple of arrays of one shape. */
static PyObject *
new_arrays(int ndim, npy_intp *shape, const int *types, int n)
{
    PyObject *const tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *const array = PyArray_SimpleNew(ndim, shape, types[i]);
        if (array == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, array);
    }
    return tuple;
}

static PyObject *
new_rows(const ps_change_item *item)
{
    static const int types[N_ROW_ARRAYS] = {NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
    npy_intp rows = PyArray_DIM(item->now, item->axis);
    return new_arrays(1, &rows, types, N_ROW_ARRAYS);
}

static PyObject *
new_features(const ps_change_item *item)
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
    return new_arrays(ndim, shape, types, N_FEATURE_ARRAYS);
}

/* (rows, features), each a tuple of arrays or None; None for neither. */
static int
open_arrays(ps_change_item *item)
{
    if (!item->per_row && !item->per_feature) {
        item->arrays = Py_NewRef(Py_None);
        return 0;
    }
    PyObject *const none = Py_None;
    PyObject *const rows = item->per_row ? new_rows(item) : Py_NewRef(none);
    PyObject *const features = item->per_feature ? new_features(item) : Py_NewRef(none);
    if (rows != NULL && features != NULL) {
        item->arrays = PyTuple_Pack(2, rows, features);
    }
    Py_XDECREF(rows);
    Py_XDECREF(features);
    return item->arrays != NULL ? 0 : -1;
}

static void *
data_of(const ps_change_item *item, int group, int i)
{
    PyObject *const arrays = PyTuple_GET_ITEM(item->arrays, group);
    return PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
}

static ps_change_axes
axes_of(const ps_change_item *item)
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

int
ps_check_change_item(ps_state *state, ps_change_item *item)
{
    return hold_arrays(item) < 0 || check_arrays(state, item) < 0 ||
                           open_arrays(item) < 0
                   ? -1
                   : 0;
}

int
ps_open_change_item(ps_state *state, ps_change_item *item, PyObject *const *slot,
                    bool needs_old)
{
    return ps_read_change_options(item, slot) < 0 ||
                           take_arrays(state, item, slot, needs_old) < 0 ||
                           ps_check_change_item(state, item) < 0
                   ? -1
                   : 0;
}

void
ps_close_change_item(ps_change_item *item)
{
    Py_XDECREF((PyObject *)item->old);
    Py_XDECREF((PyObject *)item->now);
    Py_XDECREF((PyObject *)item->copy);
    Py_XDECREF(item->arrays);
}

/* The view of an array that was checked, if it still is what it was. */
static int
view_item(ps_state *state, const ps_change_item *item, PyArrayObject *array,
          ps_axes *axes, ps_view *view)
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

/* The number of items in what is told of rows (group 0) or features (1). */
static int64_t
told_of(const ps_change_item *item, int group)
{
    PyObject *const arrays = PyTuple_GET_ITEM(item->arrays, group);
    return PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(arrays, 0));
}

/* Are these as many as `new` has now, and is the axis still there? */
static bool
has_room(const ps_change_item *item)
{
    int64_t rows = 1, features = 1;
    if (item->axis > 0 && item->axis >= PyArray_NDIM(item->now)) {
        return false;
    }
    for (int axis = 0; axis < PyArray_NDIM(item->now); axis++) {
        *(axis == item->axis ? &rows : &features) *= PyArray_DIM(item->now, axis);
    }
    return (!item->per_row || told_of(item, 0) == rows) &&
           (!item->per_feature || told_of(item, 1) == features);
}

/* All pointers are taken here, after the last Python code and before the op. */
static int
open_call(ps_state *state, ps_change_item *item, ps_change_call *call)
{
    *call = (ps_change_call){.axis = item->axis,
                             .atol = item->atol,
                             .rtol = item->rtol,
                             .finite_only = item->finite_only,
                             .is_private = item->is_private};
    if (!has_room(item)) {
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
    return item->copy != NULL ? ps_require_unlocked(item->copy) : 0;
}

ps_raw_change
ps_raw_change_of(const ps_change_item *item, const ps_change_call *call)
{
    const int64_t size = PyArray_SIZE(item->now);
    const bool has_old = item->old != NULL;
    return (ps_raw_change){call->change, size, has_old ? size : 0, has_old,
                           ps_dtype_kind[item->dtype] == PS_KIND_COMPLEX};
}

int
ps_run_change_items(ps_state *state, ps_change_item *items, ps_change_call *calls,
                    Py_ssize_t n)
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
