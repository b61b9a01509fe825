/* Few plain entries into few segments, by ids or offsets: straight to the kernel.
 *
 * Loops of Python are full of such calls, whose arguments cost more than their work
 * (ten float64 into ten segments: 1.2 us the long way, 0.3 so). All that is asked here
 * is what makes them plain: whatever is not, or has a number out of range, goes the
 * long way, which has the words for it. The result is new, so nobody sees what was
 * filled in vain.
 */
#include "python/segment_call.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/identity.h"
#include "python/arrays.h"
#include "python/numbers.h"

enum {
    /* Segments whose limits stand on the stack. */
    SHORT_SEGMENTS = 256
};

/* One axis, side by side, native and aligned, of no subclass, and short. */
static bool
is_short_array(PyObject *object)
{
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_NDIM(array) == 1 &&
           PyArray_ISCARRAY_RO(array) && PyArray_DIM(array, 0) <= PS_SHORT_ROW;
}

/* Is the reduction a fold of values of this dtype in itself? Sums of narrower integers
 * are wider. */
static bool
folds_in_itself(const ps_reduction *reduction, const PyArrayObject *values)
{
    const int type = PyArray_TYPE(values);
    return reduction->of == PS_FOLD_VALUES && !reduction->divides &&
           !reduction->spreads && reduction->fold <= PS_max &&
           (type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_INT64);
}

/* Every element is what an empty segment becomes. */
static void
fill(enum ps_op op, enum ps_dtype dtype, char *out, int64_t n)
{
    char empty[16];
    const size_t size = ps_dtype_size[dtype];
    ps_write_empty(op, dtype, empty);
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + (size_t)i * size, empty, size);
    }
}

/* Have all values met the segment that their id names? Ids may be another thread's to
 * write: each is checked as it is read. */
static bool
fold(ps_state *state, enum ps_op op, PyArrayObject *values, PyArrayObject *ids,
     PyArrayObject *result)
{
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(result));
    const int type = ps_index_type_of(ids);
    const ps_entries entries = {.is_wide = type == PS_INDEX_i64,
                                .target = PyArray_BYTES(result),
                                .size = PyArray_DIM(result, 0),
                                .index = PyArray_BYTES(ids),
                                .values = PyArray_BYTES(values),
                                .value_stride = PyArray_ITEMSIZE(values),
                                .n = PyArray_DIM(ids, 0)};
    if ((type != PS_INDEX_i64 && type != PS_INDEX_i32) ||
        PyArray_DIM(values, 0) != entries.n ||
        PyArray_DESCR(values) != PyArray_DESCR(result)) {
        return false;
    }
    fill(op, dtype, entries.target, entries.size);
    return ps_kernels()->scatter_checked[op][dtype](&entries) == entries.n;
}

/* How many segments there are: `object`, or NULL: as many as ids tell of. 0: the call
 * is another one. */
static npy_intp
count_segments(PyObject *object, PyArrayObject *ids)
{
    int overflow = 0;
    if (object != NULL && !PyLong_CheckExact(object)) {
        return 0;
    }
    const npy_intp size = object == NULL ? ps_short_top(ids)
                                         : PyLong_AsLongAndOverflow(object, &overflow);
    return overflow == 0 && size > 0 && size <= PS_SHORT_ROW ? size : 0;
}

/* limit[s] = offset s, of n entries in all, as int64; how many segments they make, 0:
 * they are not plain, or not in order. */
static npy_intp
take_limits(PyObject *object, int64_t n, int64_t *limit)
{
    PyArrayObject *const offsets = (PyArrayObject *)object;
    const int type = is_short_array(object) ? ps_index_type_of(offsets) : -1;
    if (type != PS_INDEX_i64 && type != PS_INDEX_i32) {
        return 0;
    }
    const npy_intp count = PyArray_DIM(offsets, 0) - 1;
    if (count < 1 || count > SHORT_SEGMENTS) {
        return 0;
    }
    const void *const data = PyArray_DATA(offsets);
    int64_t before = 0;
    bool is_ordered = true;
    for (npy_intp s = 0; s <= count; s++) {
        int64_t own = type == PS_INDEX_i64 ? ((const int64_t *)data)[s]
                                           : ((const int32_t *)data)[s];
        __asm__("" : "+r"(own)); /* read once: others may write to it */
        is_ordered = is_ordered && before <= own;
        limit[s] = before = own;
    }
    return is_ordered && limit[0] == 0 && limit[count] == n ? count : 0;
}

/* A result of n segments; NULL without an exception: there is no memory. */
static PyArrayObject *
new_result(PyArrayObject *values, npy_intp n)
{
    PyArrayObject *const result =
            (PyArrayObject *)PyArray_SimpleNew(1, &n, PyArray_TYPE(values));
    if (result == NULL) {
        PyErr_Clear();
    }
    return result;
}

/* result[s] = values from offset s to the next, folded. */
static PyObject *
fold_runs(ps_state *state, enum ps_op op, PyArrayObject *values, PyObject *offsets)
{
    int64_t limit[SHORT_SEGMENTS + 1];
    _Alignas(16) char neutral[16], empty[16];
    const int64_t n = PyArray_DIM(values, 0);
    const npy_intp count = take_limits(offsets, n, limit);
    PyArrayObject *const result = count > 0 ? new_result(values, count) : NULL;
    if (result == NULL) {
        return NULL;
    }
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(result));
    ps_write_identity(op, dtype, neutral);
    ps_write_empty(op, dtype, empty);
    const ps_segments segments = {.start = limit,
                                  .stop = limit + 1,
                                  .n = count,
                                  .width = 1,
                                  .value_stride = PyArray_ITEMSIZE(values),
                                  .readable = n,
                                  .neutral = neutral,
                                  .empty = empty};
    ps_kernels()->segment[op][dtype](PyArray_BYTES(result), PyArray_BYTES(values),
                                     &segments);
    return (PyObject *)result;
}

/* NULL without an exception: the call has to go the long way, also for a lack of
 * memory.
 */
PyObject *
ps_segment_short(ps_state *state, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *offsets, const ps_reduction *reduction)
{
    PyArrayObject *const values = (PyArrayObject *)args[0];
    if (n_args < 1 || n_args > 3 || reduction == NULL || !is_short_array(args[0]) ||
        !folds_in_itself(reduction, values)) {
        return NULL;
    }
    if (n_args == 1) {
        return offsets != NULL ? fold_runs(state, reduction->fold, values, offsets)
                               : NULL;
    }
    if (offsets != NULL || !is_short_array(args[1])) {
        return NULL;
    }
    PyArrayObject *const ids = (PyArrayObject *)args[1];
    const npy_intp size = count_segments(n_args == 3 ? args[2] : NULL, ids);
    PyArrayObject *result = size > 0 ? new_result(values, size) : NULL;
    if (result != NULL && !fold(state, reduction->fold, values, ids, result)) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}
