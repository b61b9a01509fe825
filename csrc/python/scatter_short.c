/* Few elements of a plain array, named by a plain index: straight to the kernel.
 *
 * Inner loops of Python are full of such calls, whose arguments cost more than their
 * work. All that is asked here is what makes them plain; whatever is not, or has a bad
 * index, goes the long way, which has the words for it. No Python code runs in between,
 * so nothing that has been looked at can change but through a thread without the GIL,
 * against which the kernel checks every index again.
 */
#include "python/py_scatter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/stage_few.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"

enum {
    /* Tuples whose positions stand on the stack. */
    SHORT_TUPLES = 56,
    /* Elements that lie apart whose list stands on the stack, PS_FEW_BYTES of them at
     * most: ten float64 in a column under a mask take 0.2 us, through the op 0.5,
     * np.copyto 0.55 (Zen 3). */
    SHORT_APART = 256
};

/* One axis, side by side, native and aligned, of no subclass. */
static bool
is_plain_array(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(array) == 1 &&
           PyArray_ISCARRAY_RO(array);
}

/* Does a kernel do the op on this type as it is? Halves are not computed in themselves,
 * and complex numbers have an order in some functions only. */
static bool
is_plain_op(enum ps_op op, enum ps_dtype dtype)
{
    if (dtype == PS_raw || op == PS_set) {
        return dtype != PS_raw && ps_size_of(ps_dtype_size[dtype]) >= 0;
    }
    const enum ps_kind kind = ps_dtype_kind[dtype];
    const bool fits = kind == PS_KIND_FLOAT || (kind == PS_KIND_INT && op != PS_div) ||
                      (kind == PS_KIND_COMPLEX && op <= PS_mul);
    return fits && op < PS_NUM_REDUCTIONS &&
           ps_kernels()->scatter_checked[op][dtype] != NULL;
}

/* Is it one that halves are taken through float32 for? */
static bool
is_of_halves(enum ps_op op, enum ps_dtype dtype)
{
    return dtype != PS_raw && ps_dtype_kind[dtype] == PS_KIND_HALF &&
           op < PS_NUM_REDUCTIONS && ps_kernels()->scatter[op][PS_f32] != NULL;
}

/* Values that kernels do not read as they came: a number for all entries, and booleans.
 */
typedef struct {
    _Alignas(16) char number[sizeof(c128)];
    _Alignas(64) char item[PS_SHORT_ROW];
} values_room;

/* A real number for floats and halves, computed in `as`; false: it overflows `dtype`,
 * of which a warning tells, or has another kind. */
static bool
take_real(double value, enum ps_dtype dtype, enum ps_dtype as, values_room *room)
{
    const enum ps_kind kind = ps_dtype_kind[dtype];
    if (as == PS_f64) {
        memcpy(room->number, &value, sizeof(value));
        return true;
    }
    if ((kind != PS_KIND_FLOAT && kind != PS_KIND_HALF) ||
        (fabs(value) > ps_largest_float(dtype) && isfinite(value))) {
        return false;
    }
    ps_convert(as, room->number, PS_f64, sizeof(value), false, (const char *)&value, 0,
               1);
    return true;
}

/* An integer; false: perhaps out of bounds. Those that are not negative fit a type that
 * keeps them. */
static bool
take_integer(int64_t value, enum ps_dtype dtype, values_room *room)
{
    int64_t kept = value;
    if (dtype != PS_i64) {
        ps_convert(dtype, room->number, PS_i64, sizeof(value), false,
                   (const char *)&value, 0, 1);
        ps_convert(PS_i64, (char *)&kept, dtype, ps_dtype_size[dtype], false,
                   room->number, 0, 1);
        return kept == value && value >= 0;
    }
    memcpy(room->number, &value, sizeof(value));
    return true;
}

/* A Python number as an item of type `as`, which the target's `dtype` is computed in;
 * false: none that needs no words. Integers beyond 2^53 may have no float64. */
static bool
take_number(PyObject *object, enum ps_dtype dtype, enum ps_dtype as, values_room *room)
{
    const int64_t most = (int64_t)1 << 53;
    if (PyFloat_CheckExact(object)) {
        return take_real(PyFloat_AS_DOUBLE(object), dtype, as, room);
    }
    if (!PyLong_CheckExact(object)) {
        room->number[0] = object == Py_True;
        return PyBool_Check(object) && dtype == PS_b1;
    }
    int overflow;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
        return false;
    }
    return ps_dtype_kind[dtype] == PS_KIND_INT
                   ? take_integer(value, dtype, room)
                   : value <= most && value >= -most &&
                             take_real((double)value, dtype, as, room);
}

/* The values: as many as entries, of the target's dtype, or a Python number for all of
 * them, of the type `as`. False: others. */
static bool
take_plain_values(PyObject *values, PyArrayObject *a, enum ps_dtype dtype,
                  enum ps_dtype as, values_room *room, ps_entries *entries)
{
    PyArray_Descr *const descr = PyArray_DESCR(a);
    PyArrayObject *const array = (PyArrayObject *)values;
    entries->values = room->number;
    entries->value_stride = 0;
    if (!PyArray_Check(values)) {
        return take_number(values, dtype, as, room);
    }
    if (!is_plain_array(values) || PyArray_DESCR(array) != descr ||
        PyArray_DIM(array, 0) != entries->n || ps_extents_meet(a, array)) {
        return false;
    }
    entries->values = PyArray_BYTES(array);
    entries->value_stride = ps_dtype_size[dtype];
    if (dtype == PS_b1) { /* whatever is true becomes 1 */
        ps_convert(PS_b1, room->item, PS_b1, 1, false, entries->values, 1, entries->n);
        entries->values = room->item;
    }
    return true;
}

/* Is there a zero among integers that divide, of which a warning tells? */
static bool
divides_by_zero(enum ps_op op, enum ps_dtype dtype, const ps_entries *entries)
{
    return op == PS_floor_div && ps_dtype_kind[dtype] == PS_KIND_INT &&
           ps_has_zero(dtype, entries->values,
                       entries->value_stride == 0 ? 1 : entries->n);
}

/* a[index[i]] = a[index[i]] op values[i]. 1: done; 0: an index is bad, and nothing is
 * written; -1: an exception, one has become bad since it was looked at. */
static int
apply_entries(ps_state *state, enum ps_op op, enum ps_dtype dtype,
              const ps_entries *entries)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_index_type type = entries->is_wide ? PS_INDEX_i64 : PS_INDEX_i32;
    if (kernels->scan[type](entries->index, entries->n, ps_index_itemsize(type),
                            entries->size) >= 0) {
        return 0;
    }
    const int64_t done =
            op == PS_set
                    ? kernels->set_checked[ps_size_of(ps_dtype_size[dtype])](entries)
                    : kernels->scatter_checked[op][dtype](entries);
    return done == entries->n ? 1 : ps_raise(state, ps_fail(PS_INDEX_CHANGED), "index");
}

/* Entries that say where, with values that come now. 1: done; 0: the call is another
 * one, and nothing is written; -1: an exception. */
static int
update_entries(ps_state *state, enum ps_op op, PyArrayObject *a, PyObject *values,
               ps_entries *entries)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    const bool is_of_few = is_of_halves(op, dtype);
    values_room room;
    entries->target = PyArray_BYTES(a);
    entries->counted = entries->size;
    const bool is_short =
            entries->size > 0 && entries->n <= PS_SHORT_ROW &&
            (is_of_few || is_plain_op(op, dtype)) &&
            take_plain_values(values, a, dtype, is_of_few ? PS_f32 : dtype, &room,
                              entries) &&
            !divides_by_zero(op, dtype, entries);
    return !is_short   ? 0
           : is_of_few ? ps_update_few_halves(op, dtype, entries)
                       : apply_entries(state, op, dtype, entries);
}

int
ps_scatter_short(ps_state *state, enum ps_op op, PyObject *target, PyObject *index,
                 PyObject *values)
{
    PyArrayObject *const a = (PyArrayObject *)target;
    PyArrayObject *const places = (PyArrayObject *)index;
    if (!is_plain_array(target) || !is_plain_array(index) || !PyArray_ISWRITEABLE(a)) {
        return 0;
    }
    const int type = ps_index_type_of(places);
    if ((type != PS_INDEX_i64 && type != PS_INDEX_i32) || ps_extents_meet(a, places)) {
        return 0;
    }
    ps_entries entries = {.is_wide = type == PS_INDEX_i64,
                          .size = PyArray_DIM(a, 0),
                          .index = PyArray_BYTES(places),
                          .n = PyArray_DIM(places, 0)};
    return update_entries(state, op, a, values, &entries);
}

/* Tuples in the rows of a plain array, one number for each axis of the target. */
static bool
are_plain_tuples(PyArrayObject *a, PyObject *object)
{
    PyArrayObject *const indices = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(indices) == 2 &&
           PyArray_ISCARRAY_RO(indices) && PyArray_DIM(indices, 0) > 0 &&
           PyArray_DIM(indices, 0) <= SHORT_TUPLES && PyArray_SIZE(a) > 0 &&
           PyArray_DIM(indices, 1) == PyArray_NDIM(a) && PyArray_NDIM(a) > 0 &&
           ps_index_type_of(indices) >= 0;
}

/* Tuples become positions of elements on the stack, each index read once and checked.
 * ns of ten pairs: 205, by a list of the op 255 (Zen 3). */
static int
update_tuples(ps_state *state, enum ps_op op, PyObject *target, PyObject *tuples,
              PyObject *values)
{
    PyArrayObject *const a = (PyArrayObject *)target;
    PyArrayObject *const indices = (PyArrayObject *)tuples;
    if (!PyArray_CheckExact(target) || !PyArray_ISCARRAY(a) ||
        !are_plain_tuples(a, tuples)) {
        return 0;
    }
    const int type = ps_index_type_of(indices), k = PyArray_NDIM(a);
    const int64_t itemsize = ps_index_itemsize((enum ps_index_type)type);
    int64_t number[SHORT_TUPLES];
    ps_entries entries = {.is_wide = true,
                          .size = PyArray_SIZE(a),
                          .index = (const char *)number,
                          .n = PyArray_DIM(indices, 0)};
    int64_t step = 1;
    for (int axis = k - 1; axis >= 0; axis--) {
        const int64_t size = PyArray_DIM(a, axis);
        const ps_numbering numbering = {(uint64_t)size - 1, size, step};
        if (ps_kernels()->place[type](number, PyArray_BYTES(indices) + axis * itemsize,
                                      entries.n, k * itemsize, &numbering, 0,
                                      axis < k - 1) > 0) {
            return 0;
        }
        step *= size;
    }
    return update_entries(state, op, a, values, &entries);
}

/* Native and aligned, of no subclass, in any layout. */
static bool
is_sound_array(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_ISALIGNED(array) &&
           PyDataType_ISNOTSWAPPED(PyArray_DESCR(array));
}

/* The mask, and an array of values like the target, side by side; or a number for all
 * values. False: others, or what shares memory with the target. */
static bool
take_few_values(PyArrayObject *a, PyArrayObject *mask, PyObject *values,
                enum ps_dtype dtype, ps_few_where *few, values_room *room,
                ps_entries *entries)
{
    ps_axes axes, mask_axes;
    PyArrayObject *const array = (PyArrayObject *)values;
    const bool is_array = PyArray_Check(values);
    if (is_array &&
        (!is_sound_array(values) || PyArray_DESCR(array) != PyArray_DESCR(a) ||
         !PyArray_SAMESHAPE(a, array) || ps_extents_meet(a, array))) {
        return false;
    }
    if (!is_array && !take_number(values, dtype, dtype, room)) {
        return false;
    }
    const ps_view mask_view = ps_view_of(mask, PS_b1, &mask_axes);
    const ps_view view = ps_view_of(is_array ? array : mask, PS_raw, &axes);
    entries->n = PyArray_SIZE(a);
    entries->value_stride = is_array ? ps_dtype_size[dtype] : 0;
    const bool is_taken = ps_open_few_where(&view, &mask_view, few);
    entries->values = is_array ? few->a : room->number;
    return is_taken;
}

/* The trues of a mask as a list, of a target whose elements lie one stride apart. */
static int
update_apart(ps_state *state, enum ps_op op, PyArrayObject *a, PyArrayObject *mask,
             PyObject *values)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], place[SHORT_APART],
            offset[SHORT_APART];
    ps_few_where few;
    values_room room;
    ps_entries entries;
    ps_axes axes;
    if (dtype == PS_b1 || !is_plain_op(op, dtype) ||
        !take_few_values(a, mask, values, dtype, &few, &room, &entries) ||
        divides_by_zero(op, dtype, &entries)) {
        return 0;
    }
    const ps_view view = ps_view_of(a, PS_raw, &axes);
    const int ndim = ps_merge_view(&view, shape, strides);
    const int64_t stride = ndim > 0 ? strides[0] : view.itemsize;
    if (ndim > 1 || llabs(stride) < view.itemsize) {
        return 0;
    }
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_list list = {offset, place,
                          ps_mask_positions(place, few.mask, entries.n, 0)};
    kernels->list_place(offset, place, list.n, stride, 0);
    if (op == PS_set) {
        kernels->set[ps_size_of(view.itemsize)](view.data, &list, entries.values,
                                                entries.value_stride);
    }
    else {
        kernels->scatter[op][dtype](view.data, &list, entries.values,
                                    entries.value_stride);
    }
    return 1;
}

/* Elements under a mask of as many: the same without an index. */
static int
update_under_mask(ps_state *state, enum ps_op op, PyObject *target, PyObject *condition,
                  PyObject *values)
{
    PyArrayObject *const a = (PyArrayObject *)target;
    PyArrayObject *const mask = (PyArrayObject *)condition;
    if (!is_sound_array(target) || !PyArray_ISWRITEABLE(a) ||
        !PyArray_CheckExact(condition) || !PyArray_ISBOOL(mask) ||
        !PyArray_SAMESHAPE(a, mask) || PyArray_SIZE(a) > PS_SHORT_ROW ||
        ps_extents_meet(a, mask)) {
        return 0;
    }
    if (!is_plain_array(target) || !is_plain_array(condition) ||
        (PyArray_Check(values) && !is_plain_array(values))) {
        return PyArray_SIZE(a) > 0 && PyArray_SIZE(a) <= SHORT_APART
                       ? update_apart(state, op, a, mask, values)
                       : 0;
    }
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    values_room room;
    ps_entries entries = {.n = PyArray_DIM(a, 0)};
    if (!is_plain_op(op, dtype) ||
        (op != PS_set && kernels->masked[op][dtype] == NULL) ||
        !take_plain_values(values, a, dtype, dtype, &room, &entries) ||
        divides_by_zero(op, dtype, &entries)) {
        return 0;
    }
    const int64_t step = entries.value_stride == 0 ? 0 : PS_WORD_BITS;
    const int size = ps_size_of(ps_dtype_size[dtype]);
    if (step == 0) { /* a block of them, for any number of elements */
        kernels->copy[size](room.item, ps_dtype_size[dtype], room.number, 0,
                            PS_WORD_BITS);
        entries.values = room.item;
    }
    if (op == PS_set) {
        kernels->where_set[size](PyArray_BYTES(a), PyArray_BYTES(mask), entries.values,
                                 step, entries.n);
    }
    else {
        kernels->masked[op][dtype](PyArray_BYTES(a), PyArray_BYTES(mask),
                                   entries.values, step, entries.n);
    }
    return 1;
}

/* a, index and values of a form, in place. */
static PyObject *
run_short(ps_state *state, enum ps_form form, enum ps_op op, PyObject *const *args)
{
    int is_done = 0;
    switch (form) {
        case PS_FORM_AXIS:
        case PS_FORM_AT:
            is_done = ps_scatter_short(state, op, args[0], args[1], args[2]);
            break;
        case PS_FORM_ND:
            is_done = update_tuples(state, op, args[0], args[1], args[2]);
            break;
        case PS_FORM_WHERE:
            is_done = update_under_mask(state, op, args[0], args[1], args[2]);
            break;
        default:
            break;
    }
    return is_done > 0 ? Py_NewRef(args[0]) : NULL;
}

/* Has a call with three arguments no options but op= and out= its first one? Then
 * *op. */
static bool
take_short_options(ps_state *state, PyObject *const *args, PyObject *keywords,
                   enum ps_op *op)
{
    PyObject *out = NULL;
    *op = PS_set;
    const Py_ssize_t n = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const name = PyTuple_GET_ITEM(keywords, i);
        if (name == state->name[PS_NAME_out]) {
            out = args[3 + i];
        }
        else if (name != state->name[PS_NAME_op] ||
                 !PyUnicode_CheckExact(args[3 + i]) ||
                 ps_to_op(state, args[3 + i], op) < 0) {
            PyErr_Clear();
            return false;
        }
    }
    return out == args[0];
}

PyObject *
ps_scatter_short_call(ps_state *state, enum ps_form form, PyObject *const *args,
                      Py_ssize_t n_args, PyObject *keywords)
{
    enum ps_op op;
    return n_args == 3 && take_short_options(state, args, keywords, &op)
                   ? run_short(state, form, op, args)
                   : NULL;
}

/* Options that are filled with their defaults are not looked into: such a call goes the
 * long way. */
PyObject *
ps_scatter_short_slots(ps_state *state, enum ps_form form, enum ps_op op,
                       PyObject *const *slot, int n, int op_slot)
{
    for (int i = 3; i < n - 1; i++) {
        if (slot[i] != NULL && i != op_slot) {
            return NULL;
        }
    }
    return slot[n - 1] == slot[0] ? run_short(state, form, op, slot) : NULL;
}
