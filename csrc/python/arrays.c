/* NumPy arrays as the ops see them (contract in arrays.h). */
#include "python/arrays.h"

#include "ops/values.h"
#include "python/args.h"
#include "python/copies.h"

/* Integers by size, since long and long long may be the same. */
static enum ps_dtype
integer_of_size(npy_intp size, bool is_signed)
{
    switch (size) {
        case 1:
            return is_signed ? PS_i8 : PS_u8;
        case 2:
            return is_signed ? PS_i16 : PS_u16;
        case 4:
            return is_signed ? PS_i32 : PS_u32;
        default:
            return is_signed ? PS_i64 : PS_u64;
    }
}

/* ml_dtypes.bfloat16 has a type number of its own, given when that package is loaded.
 * We look for it only then and never import it. */
static int
bfloat16_number(ps_state *state)
{
    if (state->bfloat16_num >= 0) {
        return state->bfloat16_num;
    }
    PyObject *const modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *const ml_dtypes = PyDict_GetItemString(modules, "ml_dtypes");
    PyObject *const type =
            ml_dtypes != NULL ? PyObject_GetAttrString(ml_dtypes, "bfloat16") : NULL;
    PyArray_Descr *descr = NULL;
    if (type != NULL && PyArray_DescrConverter(type, &descr) == NPY_SUCCEED) {
        state->bfloat16_num = descr->type_num;
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(descr);
    return state->bfloat16_num;
}

enum ps_dtype
ps_dtype_of(ps_state *state, PyArray_Descr *descr)
{
    const int number = descr->type_num;
    switch (number) {
        case NPY_BOOL:
            return PS_b1;
        case NPY_HALF:
            return PS_f16;
        case NPY_FLOAT:
            return PS_f32;
        case NPY_DOUBLE:
            return PS_f64;
        case NPY_LONGDOUBLE:
            return PyDataType_ELSIZE(descr) == sizeof(f80) ? PS_f80 : PS_f64;
        case NPY_CFLOAT:
            return PS_c64;
        case NPY_CDOUBLE:
            return PS_c128;
        case NPY_DATETIME:
        case NPY_TIMEDELTA:
            return PS_t64;
        default:
            break;
    }
    if (PyTypeNum_ISINTEGER(number)) {
        return integer_of_size(PyDataType_ELSIZE(descr), PyTypeNum_ISSIGNED(number));
    }
    if (number >= NPY_USERDEF && number == bfloat16_number(state)) {
        return PS_bf16;
    }
    return PS_raw;
}

bool
ps_allows_cast(ps_state *state, PyArray_Descr *from, PyArray_Descr *to,
               NPY_CASTING casting)
{
    const bool drops_part = PyTypeNum_ISCOMPLEX(from->type_num) &&
                            casting != NPY_UNSAFE_CASTING &&
                            ps_dtype_of(state, to) == PS_bf16;
    return from == to || (!drops_part && PyArray_CanCastTypeTo(from, to, casting));
}

int
ps_require_cast(ps_state *state, const char *what, PyArray_Descr *from,
                PyArray_Descr *to, NPY_CASTING casting)
{
    if (ps_allows_cast(state, from, to, casting)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "cannot cast %s from dtype %S to %S according to the rule '%s'", what,
                 (PyObject *)from, (PyObject *)to, ps_casting_name(casting));
    return -1;
}

int
ps_require_out_cast(ps_state *state, const char *what, PyArray_Descr *from,
                    PyArrayObject *out, NPY_CASTING casting)
{
    PyArray_Descr *const to = PyArray_DESCR(out);
    if (ps_allows_cast(state, from, to, casting)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "cannot cast %sfrom dtype %S to out's %S", what,
                 (PyObject *)from, (PyObject *)to);
    return -1;
}

PyArray_Descr *
ps_descr_of(ps_state *state, enum ps_dtype dtype)
{
    static const int numbers[PS_NUM_ALL_DTYPES] = {
            [PS_b1] = NPY_BOOL,    [PS_i8] = NPY_INT8,      [PS_u8] = NPY_UINT8,
            [PS_i16] = NPY_INT16,  [PS_u16] = NPY_UINT16,   [PS_i32] = NPY_INT32,
            [PS_u32] = NPY_UINT32, [PS_i64] = NPY_INT64,    [PS_u64] = NPY_UINT64,
            [PS_f32] = NPY_FLOAT,  [PS_f64] = NPY_DOUBLE,   [PS_f80] = NPY_LONGDOUBLE,
            [PS_c64] = NPY_CFLOAT, [PS_c128] = NPY_CDOUBLE, [PS_f16] = NPY_HALF};
    return PyArray_DescrFromType(dtype == PS_bf16 ? bfloat16_number(state)
                                                  : numbers[dtype]);
}

int
ps_require_movable(PyArray_Descr *descr)
{
    if (descr->type_num != NPY_VSTRING) {
        return 0;
    }
    PyErr_SetString(PyExc_TypeError,
                    "StringDType arrays keep their text elsewhere and cannot be moved "
                    "(convert to a fixed-width string or object dtype)");
    return -1;
}

int
ps_storage_of(ps_state *state, PyArrayObject *array, enum ps_dtype *dtype)
{
    PyArray_Descr *const descr = PyArray_DESCR(array);
    *dtype = ps_dtype_of(state, descr);
    if (*dtype != PS_raw) {
        return PS_STORED_NUMBERS;
    }
    if (ps_require_movable(descr) < 0) {
        return -1;
    }
    return PyDataType_REFCHK(descr) ? PS_STORED_OBJECTS : PS_STORED_BYTES;
}

/* Is it a masked array? 1, 0, or -1 with an exception. There is none before numpy.ma
 * has been imported, which is not our doing. */
static int
is_masked(ps_state *state, PyObject *object)
{
    if (state->masked_type == NULL) {
        PyObject *const modules = PyImport_GetModuleDict(); /* borrowed */
        PyObject *const masked = PyDict_GetItemString(modules, "numpy.ma");
        if (masked == NULL) {
            return 0;
        }
        state->masked_type = PyObject_GetAttrString(masked, "MaskedArray");
    }
    return state->masked_type != NULL ? PyObject_IsInstance(object, state->masked_type)
                                      : -1;
}

int
ps_require_array(ps_state *state, PyObject *object, const char *name)
{
    if (PyArray_CheckExact(object)) {
        return 0;
    }
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "'%s' must be a NumPy array, since it is written to; got %.200s",
                     name, Py_TYPE(object)->tp_name);
        return -1;
    }
    const int refuses = is_masked(state, object);
    if (refuses < 0) {
        return -1;
    }
    if (refuses) {
        PyErr_Format(
                PyExc_TypeError,
                "'%s' is a masked array, whose mask would be lost (use .filled() or "
                ".data)",
                name);
        return -1;
    }
    return 0;
}

PyArrayObject *
ps_as_array(ps_state *state, PyObject *object, const char *name)
{
    if (PyArray_Check(object)) {
        if (ps_require_array(state, object, name) < 0) {
            return NULL;
        }
        Py_INCREF(object);
        return (PyArrayObject *)object;
    }
    return (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_ENSUREARRAY);
}

int
ps_require_unlocked(PyArrayObject *array)
{
    if (PyArray_ISWRITEABLE(array)) {
        return 0;
    }
    PyErr_SetString(PyExc_ValueError,
                    "output array is read-only (copy it, or leave out= away)");
    return -1;
}

int
ps_require_writeable(PyArrayObject *array)
{
    if (ps_require_unlocked(array) < 0) {
        return -1;
    }
    if (PyArray_ISCONTIGUOUS(array) || PyArray_SIZE(array) == 0) {
        return 0;
    }
    if (ps_may_self_overlap(PyArray_NDIM(array), (const int64_t *)PyArray_DIMS(array),
                            (const int64_t *)PyArray_STRIDES(array),
                            PyArray_ITEMSIZE(array))) {
        PyErr_SetString(PyExc_ValueError,
                        "output array has elements that share memory (a broadcast or "
                        "overlapping view); copy it first");
        return -1;
    }
    return 0;
}

/* First byte and the one behind the last. */
static void
find_extent(PyArrayObject *array, uintptr_t *low, uintptr_t *high)
{
    *low = *high = (uintptr_t)PyArray_DATA(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        const npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        *(reach < 0 ? low : high) += (uintptr_t)reach;
    }
    *high += (uintptr_t)PyArray_ITEMSIZE(array);
}

bool
ps_extents_meet(PyArrayObject *one, PyArrayObject *other)
{
    uintptr_t low, high, other_low, other_high;
    if (PyArray_NBYTES(one) == 0 || PyArray_NBYTES(other) == 0) {
        return false;
    }
    find_extent(one, &low, &high);
    find_extent(other, &other_low, &other_high);
    return low < other_high && other_low < high;
}

static bool
lies_within(PyArrayObject *view, PyArrayObject *whole)
{
    uintptr_t low, high, whole_low, whole_high;
    if (PyArray_SIZE(whole) == 0) {
        return false;
    }
    find_extent(view, &low, &high);
    find_extent(whole, &whole_low, &whole_high);
    return whole_low <= low && high <= whole_high;
}

/* What had to be copied lies in the copy. */
bool
ps_has_memory(PyArrayObject *view, PyArrayObject *whole)
{
    if (view == whole || PyArray_CHKFLAGS(view, NPY_ARRAY_OWNDATA) ||
        PyArray_SIZE(view) == 0 || lies_within(view, whole)) {
        return true;
    }
    PyObject *const base = PyArray_BASE(view);
    return base != NULL && PyArray_Check(base) &&
           PyArray_CHKFLAGS((PyArrayObject *)base, NPY_ARRAY_OWNDATA) &&
           lies_within(view, (PyArrayObject *)base);
}

bool
ps_lies_in_base(PyArrayObject *array)
{
    PyObject *const base = PyArray_BASE(array);
    return base == NULL || !PyArray_Check(base) ||
           !PyArray_CHKFLAGS((PyArrayObject *)base, NPY_ARRAY_OWNDATA) ||
           PyArray_SIZE(array) == 0 || lies_within(array, (PyArrayObject *)base);
}

bool
ps_is_there(PyArrayObject *array, const char *data, npy_intp n)
{
    return PyArray_BYTES(array) == data && PyArray_SIZE(array) == n &&
           ps_lies_in_base(array);
}

int
ps_raise_changed(const char *name)
{
    const char *const quote = name != NULL ? "'" : "";
    PyErr_Format(PyExc_RuntimeError,
                 "%s%s%s changed during the call (code of an argument, a handler of a "
                 "signal or another thread gave it another shape, dtype or memory)",
                 quote, name != NULL ? name : "an array", quote);
    return -1;
}

int
ps_check_kept(ps_state *state, PyArrayObject *array, enum ps_dtype dtype,
              int64_t itemsize, const char *name)
{
    enum ps_dtype own;
    const int storage = ps_storage_of(state, array, &own);
    if (storage < 0) {
        return -1;
    }
    return storage != PS_STORED_OBJECTS && own == dtype &&
                           PyArray_ITEMSIZE(array) == itemsize
                   ? 0
                   : ps_raise_changed(name);
}

/* "(2, 3)" as a new string object. */
static PyObject *
shape_text(int ndim, const npy_intp *shape)
{
    PyObject *const tuple = PyArray_IntTupleFromIntp(ndim, shape);
    PyObject *const text = tuple != NULL ? PyObject_Repr(tuple) : NULL;
    Py_XDECREF(tuple);
    return text;
}

int
ps_raise_shapes(PyObject *type, const char *format, int ndim, const npy_intp *shape,
                int other_ndim, const npy_intp *other)
{
    PyObject *const one = shape_text(ndim, shape);
    PyObject *const two = shape_text(other_ndim, other);
    if (one != NULL && two != NULL) {
        PyErr_Format(type, format, one, two);
    }
    Py_XDECREF(one);
    Py_XDECREF(two);
    return -1;
}

int
ps_check_out(ps_state *state, PyArrayObject *out, int ndim, const npy_intp *shape,
             PyArray_Descr *descr, NPY_CASTING casting)
{
    enum ps_dtype unused;
    if (PyArray_NDIM(out) != ndim ||
        !PyArray_CompareLists(PyArray_DIMS(out), shape, ndim)) {
        return ps_raise_shapes(PyExc_ValueError, "out has shape %U; expected %U",
                               PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape);
    }
    return ps_require_out_cast(state, "", descr, out, casting) < 0 ||
                           ps_storage_of(state, out, &unused) < 0
                   ? -1
                   : ps_require_writeable(out);
}

bool
ps_broadcasts_to(PyArrayObject *array, int ndim, const npy_intp *shape)
{
    const int lead = ndim - PyArray_NDIM(array);
    bool fits = lead >= 0;
    for (int i = 0; fits && i < PyArray_NDIM(array); i++) {
        const npy_intp own = PyArray_DIM(array, i);
        fits = own == 1 || own == shape[lead + i];
    }
    return fits;
}

ps_view
ps_view_of(PyArrayObject *array, enum ps_dtype dtype, ps_axes *axes)
{
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        axes->shape[axis] = PyArray_DIM(array, axis);
        axes->strides[axis] = PyArray_STRIDE(array, axis);
    }
    return (ps_view){.data = PyArray_BYTES(array),
                     .dtype = dtype,
                     .ndim = PyArray_NDIM(array),
                     .itemsize = PyArray_ITEMSIZE(array),
                     .shape = axes->shape,
                     .strides = axes->strides,
                     .swapped = ps_is_swapped(array),
                     .aligned = PyArray_ISALIGNED(array)};
}

PyArrayObject *
ps_as_condition(ps_state *state, PyObject *object, const char *name,
                enum ps_dtype *dtype)
{
    PyArrayObject *const array = ps_as_array(state, object, name);
    if (array == NULL) {
        return NULL;
    }
    const int storage = ps_storage_of(state, array, dtype);
    if (storage == PS_STORED_NUMBERS) {
        return array;
    }
    PyObject *const truth_of =
            storage < 0 ? NULL : ps_get_helper(state, PS_HELPER_truth_of);
    PyObject *truth = NULL;
    if (truth_of != NULL) {
        truth = PyObject_CallOneArg(truth_of, (PyObject *)array);
    }
    Py_DECREF(array);
    *dtype = PS_b1;
    return (PyArrayObject *)truth;
}

PyArrayObject *
ps_as_mask(ps_state *state, PyObject *object, const char *name)
{
    PyArrayObject *const mask = ps_as_array(state, object, name);
    if (mask == NULL || PyArray_ISBOOL(mask)) {
        return mask;
    }
    if (!PyArray_Check(object) && PyArray_SIZE(mask) == 0) {
        PyArrayObject *const empty = ps_cast_of(mask, PyArray_DescrFromType(NPY_BOOL));
        Py_DECREF(mask);
        return empty;
    }
    const char *const advice =
            PyArray_ISINTEGER(mask)  ? " (compare first, as in x != 0; positions go "
                                       "through scatter and gather)"
            : PyArray_ISNUMBER(mask) ? " (compare first, as in x != 0)"
                                     : "";
    PyErr_Format(PyExc_TypeError, "'%s' has dtype %S; expected bool%s", name,
                 (PyObject *)PyArray_DESCR(mask), advice);
    Py_DECREF(mask);
    return NULL;
}

int
ps_check_mask(PyArrayObject *mask, PyArrayObject *array)
{
    const int ndim = PyArray_NDIM(mask);
    bool fits = ndim <= PyArray_NDIM(array);
    for (int i = 0; fits && i < ndim; i++) {
        const npy_intp own = PyArray_DIM(mask, i);
        fits = own == PyArray_DIM(array, i) ||
               (own == 1 && ndim == PyArray_NDIM(array));
    }
    if (fits) {
        return 0;
    }
    return ps_raise_shapes(PyExc_ValueError,
                           "'mask' has shape %U; expected %U or its first axes, or as "
                           "many axes of which some have length 1",
                           ndim, PyArray_DIMS(mask), PyArray_NDIM(array),
                           PyArray_DIMS(array));
}

int
ps_casts_silently(ps_state *state, PyArrayObject *array, PyArray_Descr *descr,
                  enum ps_dtype dtype)
{
    PyArray_Descr *const from = PyArray_DESCR(array);
    const enum ps_dtype own = ps_dtype_of(state, from);
    if (from == descr) {
        return 1;
    }
    if (own == PS_t64 || dtype == PS_t64 || own == PS_raw || dtype == PS_raw) {
        return PyArray_EquivTypes(from, descr);
    }
    if (!ps_can_convert(own, dtype)) {
        return 0;
    }
    if (PyArray_CanCastTypeTo(from, descr, NPY_SAFE_CASTING)) {
        return 1;
    }
    ps_axes axes;
    ps_cast_check check = {.view = ps_view_of(array, own, &axes), .type = dtype};
    const ps_status status =
            ps_run_op(state, ps_check_cast, &check, PyArray_NBYTES(array));
    return ps_raise(state, status, "x") < 0 ? -1 : check.is_silent;
}

int
ps_index_type_of(PyArrayObject *array)
{
    if (!PyArray_ISINTEGER(array)) {
        return -1;
    }
    const bool is_signed = PyArray_ISSIGNED(array);
    switch (PyArray_ITEMSIZE(array)) {
        case 1:
            return is_signed ? PS_INDEX_i8 : PS_INDEX_u8;
        case 2:
            return is_signed ? PS_INDEX_i16 : PS_INDEX_u16;
        case 4:
            return is_signed ? PS_INDEX_i32 : PS_INDEX_u32;
        default:
            return is_signed ? PS_INDEX_i64 : PS_INDEX_u64;
    }
}

PyArrayObject *
ps_cast_quietly(ps_state *state, PyArrayObject *array, PyArray_Descr *descr)
{
    const enum ps_dtype from = ps_dtype_of(state, PyArray_DESCR(array));
    const enum ps_dtype to = ps_dtype_of(state, descr);
    Py_INCREF(descr);
    if (from == PS_raw || to == PS_raw || from == to || !ps_can_convert(from, to)) {
        return ps_cast_of(array, descr);
    }
    PyArrayObject *const plain = ps_contiguous(array);
    if (plain == NULL) {
        Py_DECREF(descr);
        return NULL;
    }
    PyArrayObject *const cast = (PyArrayObject *)PyArray_Empty(
            PyArray_NDIM(plain), PyArray_DIMS(plain), descr, 0);
    if (cast != NULL) {
        const int64_t size = PyArray_ITEMSIZE(plain);
        ps_convert(to, PyArray_BYTES(cast), from, size, false, PyArray_BYTES(plain),
                   size, PyArray_SIZE(plain));
    }
    Py_DECREF((PyObject *)plain);
    return cast;
}
