/* Few plain entries by ids into few segments: straight to the kernel.
 *
 * Loops of Python are full of such calls, whose arguments cost more than their work
 * (ten float64 into ten segments: 1.2 us the long way, 0.3 so). All that is asked here
 * is what makes them plain: whatever is not, or has an id out of range, goes the long
 * way, which has the words for it. The result is new, so nobody sees what was filled in
 * vain.
 */
#include "python/segment_call.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/identity.h"
#include "python/arrays.h"

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

/* NULL without an exception: the call has to go the long way, also for a lack of
 * memory.
 */
PyObject *
ps_segment_short(ps_state *state, PyObject *const *args, Py_ssize_t n_args,
                 const ps_reduction *reduction)
{
    if (n_args != 3 || reduction == NULL || !PyLong_CheckExact(args[2]) ||
        !is_short_array(args[0]) || !is_short_array(args[1]) ||
        !folds_in_itself(reduction, (PyArrayObject *)args[0])) {
        return NULL;
    }
    int overflow;
    npy_intp size = PyLong_AsLongAndOverflow(args[2], &overflow);
    if (overflow != 0 || size <= 0 || size > PS_SHORT_ROW) {
        return NULL;
    }
    PyArrayObject *const values = (PyArrayObject *)args[0];
    PyArrayObject *result =
            (PyArrayObject *)PyArray_SimpleNew(1, &size, PyArray_TYPE(values));
    if (result == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (!fold(state, reduction->fold, values, (PyArrayObject *)args[1], result)) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}
