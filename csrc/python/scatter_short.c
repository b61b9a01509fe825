/* Few elements of a plain array, named by a plain index: straight to the kernel.
 *
 * Inner loops of Python are full of such calls, whose arguments cost more than their
 * work. All that is asked here is what makes them plain; whatever is not, or has a bad
 * index, goes the long way, which has the words for it. No Python code runs in between,
 * so nothing that has been looked at can change but through a thread without the GIL,
 * against which the kernel checks every index again.
 */
#include "python/py_scatter.h"

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"

enum {
    /* Tuples that make one list on the stack, and axes of the target. */
    SHORT_TUPLES = 56,
    SHORT_AXES = 4
};

/* One axis, side by side, native and aligned, of no subclass. */
static bool
is_plain_array(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(array) == 1 &&
           PyArray_ISCARRAY_RO(array);
}

/* Does a kernel do the op on this type as it is, without a warning? Booleans are not
 * moved as they are, halves not computed in themselves; divisions of integers look for
 * zeros first, and complex numbers have an order in some functions only. */
static bool
is_plain_op(enum ps_op op, enum ps_dtype dtype)
{
    const enum ps_kind kind = dtype != PS_raw ? ps_dtype_kind[dtype] : PS_KIND_BOOL;
    if (op == PS_set) {
        return kind != PS_KIND_BOOL && ps_size_of(ps_dtype_size[dtype]) >= 0;
    }
    const bool divides = op == PS_div || op == PS_floor_div;
    const bool fits = kind == PS_KIND_FLOAT || (kind == PS_KIND_INT && !divides) ||
                      (kind == PS_KIND_COMPLEX && op <= PS_mul);
    return fits && op < PS_NUM_REDUCTIONS &&
           ps_kernels()->scatter_checked[op][dtype] != NULL;
}

/* The values: as many as entries, of the target's dtype, or a float for all of them.
 * False: others. */
static bool
take_plain_values(PyObject *values, PyArrayObject *a, double *number,
                  ps_entries *entries)
{
    PyArray_Descr *const descr = PyArray_DESCR(a);
    PyArrayObject *const array = (PyArrayObject *)values;
    if (PyFloat_CheckExact(values) && descr->type_num == NPY_DOUBLE) {
        *number = PyFloat_AS_DOUBLE(values);
        entries->values = (const char *)number;
        entries->value_stride = 0;
        return true;
    }
    entries->values = NULL;
    if (!is_plain_array(values) || PyArray_DESCR(array) != descr ||
        PyArray_DIM(array, 0) != entries->n || ps_extents_meet(a, array)) {
        return false;
    }
    entries->values = PyArray_BYTES(array);
    entries->value_stride = PyDataType_ELSIZE(descr);
    return true;
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
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    double number;
    ps_entries entries = {.is_wide = type == PS_INDEX_i64,
                          .target = PyArray_BYTES(a),
                          .size = PyArray_DIM(a, 0),
                          .counted = PyArray_DIM(a, 0),
                          .index = PyArray_BYTES(places),
                          .n = PyArray_DIM(places, 0)};
    const bool is_short = (type == PS_INDEX_i64 || type == PS_INDEX_i32) &&
                          entries.size > 0 && entries.n <= PS_SHORT_ROW &&
                          is_plain_op(op, dtype) && !ps_extents_meet(a, places) &&
                          take_plain_values(values, a, &number, &entries);
    return is_short ? apply_entries(state, op, dtype, &entries) : 0;
}

/* The options of a call with three arguments and nothing but op= and out=a: its op. */
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

int
ps_scatter_short_call(ps_state *state, PyObject *const *args, PyObject *keywords)
{
    enum ps_op op;
    return take_short_options(state, args, keywords, &op)
                   ? ps_scatter_short(state, op, args[0], args[1], args[2])
                   : 0;
}

/* Tuples in the rows of a plain array, one number for each axis of the target. */
static bool
are_plain_tuples(PyArrayObject *a, PyObject *object)
{
    PyArrayObject *const indices = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(indices) == 2 &&
           PyArray_ISCARRAY_RO(indices) && PyArray_DIM(indices, 0) > 0 &&
           PyArray_DIM(indices, 0) <= SHORT_TUPLES &&
           PyArray_DIM(indices, 1) == PyArray_NDIM(a) &&
           PyArray_NDIM(a) <= SHORT_AXES && ps_index_type_of(indices) >= 0 &&
           !ps_extents_meet(a, indices);
}

/* The op itself, which makes one list of them, checked before it writes. Its way is the
 * one of few entries, so that it neither waits nor takes memory. */
static int
run_tuples(ps_state *state, enum ps_op op, enum ps_dtype dtype, PyArrayObject *a,
           PyArrayObject *indices, const ps_entries *entries)
{
    const int k = PyArray_NDIM(a);
    const enum ps_index_type type = (enum ps_index_type)ps_index_type_of(indices);
    const int64_t itemsize = ps_index_itemsize(type);
    int64_t shape[1] = {entries->n}, link[1] = {0}, stride[1] = {k * itemsize},
            value_stride[1] = {entries->value_stride};
    ps_index index[SHORT_AXES];
    for (int axis = 0; axis < k; axis++) {
        index[axis] = (ps_index){.data = PyArray_BYTES(indices) + axis * itemsize,
                                 .strides = stride,
                                 .type = type,
                                 .axis = axis,
                                 .size = PyArray_DIM(a, axis),
                                 .step = PyArray_STRIDE(a, axis)};
    }
    ps_scatter_call call = {.address = {.ndim = 1,
                                        .shape = shape,
                                        .link = link,
                                        .n = entries->n,
                                        .n_index = k,
                                        .index = index,
                                        .mode = PS_MODE_RAISE},
                            .target = {.data = PyArray_BYTES(a),
                                       .dtype = dtype,
                                       .itemsize = PyArray_ITEMSIZE(a),
                                       .aligned = true},
                            .values = {.data = (char *)(uintptr_t)entries->values,
                                       .dtype = dtype,
                                       .itemsize = PyArray_ITEMSIZE(a),
                                       .entry_strides = value_stride,
                                       .aligned = true},
                            .op = op,
                            .accumulator = dtype,
                            .include_self = true};
    return ps_run_op(state, ps_scatter, &call, 0).code == PS_OK;
}

int
ps_scatter_short_tuples(ps_state *state, PyObject *const *args, PyObject *keywords)
{
    PyArrayObject *const a = (PyArrayObject *)args[0];
    enum ps_op op;
    if (!PyArray_CheckExact(args[0]) || !PyArray_ISCARRAY(a) ||
        !are_plain_tuples(a, args[1]) ||
        !take_short_options(state, args, keywords, &op)) {
        return 0;
    }
    PyArrayObject *const indices = (PyArrayObject *)args[1];
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    double number;
    ps_entries entries = {.n = PyArray_DIM(indices, 0)};
    return is_plain_op(op, dtype) && take_plain_values(args[2], a, &number, &entries)
                   ? run_tuples(state, op, dtype, a, indices, &entries)
                   : 0;
}

/* Elements under a mask of as many: the same without an index. */
int
ps_scatter_short_masked(ps_state *state, PyObject *const *args, PyObject *keywords)
{
    PyArrayObject *const a = (PyArrayObject *)args[0];
    PyArrayObject *const mask = (PyArrayObject *)args[1];
    enum ps_op op;
    if (!is_plain_array(args[0]) || !PyArray_ISWRITEABLE(a) ||
        !is_plain_array(args[1]) || !PyArray_ISBOOL(mask) ||
        PyArray_DIM(a, 0) != PyArray_DIM(mask, 0) || PyArray_DIM(a, 0) > PS_SHORT_ROW ||
        ps_extents_meet(a, mask) || !take_short_options(state, args, keywords, &op)) {
        return 0;
    }
    const ps_kernel_table *const kernels = ps_kernels();
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(a));
    double number, same[PS_WORD_BITS];
    ps_entries entries = {.n = PyArray_DIM(a, 0)};
    if (!is_plain_op(op, dtype) ||
        (op != PS_set && kernels->masked[op][dtype] == NULL) ||
        !take_plain_values(args[2], a, &number, &entries)) {
        return 0;
    }
    const int64_t step = entries.value_stride == 0 ? 0 : PS_WORD_BITS;
    for (int i = 0; i < PS_WORD_BITS && step == 0; i++) {
        same[i] = number;
    }
    const char *const values = step == 0 ? (const char *)same : entries.values;
    if (op == PS_set) {
        kernels->where_set[ps_size_of(ps_dtype_size[dtype])](
                PyArray_BYTES(a), PyArray_BYTES(mask), values, step, entries.n);
    }
    else {
        kernels->masked[op][dtype](PyArray_BYTES(a), PyArray_BYTES(mask), values, step,
                                   entries.n);
    }
    return 1;
}
