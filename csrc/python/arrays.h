/* NumPy arrays as the ops see them. */
#ifndef PS_PYTHON_ARRAYS_H
#define PS_PYTHON_ARRAYS_H

#include "python/core.h"

/* How an array's elements are handled. */
enum ps_storage {
    PS_STORED_NUMBERS, /* kernels know the type */
    PS_STORED_BYTES,   /* moved only: strings, records, unknown user types */
    PS_STORED_OBJECTS  /* or records of them: NumPy moves them, under the GIL */
};

/* The element type of `array`; PS_raw unless PS_STORED_NUMBERS. -1 with a TypeError for
 * StringDType, which owns memory elsewhere. */
int ps_storage_of(ps_state *state, PyArrayObject *array, enum ps_dtype *dtype);

/* The ps_dtype of a descriptor, PS_raw when there is none. */
enum ps_dtype ps_dtype_of(ps_state *state, PyArray_Descr *descr);

/* Does the rule allow this cast? NumPy's answer, but for complex into bfloat16, which
 * ml_dtypes calls a cast of one kind although it drops the imaginary part. */
bool ps_allows_cast(ps_state *state, PyArray_Descr *from, PyArray_Descr *to,
                    NPY_CASTING casting);

/* A new reference to the descriptor of a number type; bf16 needs ml_dtypes loaded. */
PyArray_Descr *ps_descr_of(ps_state *state, enum ps_dtype dtype);

/* The same as a demand: TypeError where the rule does not allow it. `what` is cast, say
 * "values"; or goes to out=, and is empty or ends in a space. 0 or -1. */
int ps_require_cast(ps_state *state, const char *what, PyArray_Descr *from,
                    PyArray_Descr *to, NPY_CASTING casting);
int ps_require_out_cast(ps_state *state, const char *what, PyArray_Descr *from,
                        PyArrayObject *out, NPY_CASTING casting);

/* TypeError for StringDType. 0 or -1. */
int ps_require_movable(PyArray_Descr *descr);

/* `object` as an array: itself, or what np.asarray makes of it. MaskedArray: TypeError.
 */
PyArrayObject *ps_as_array(ps_state *state, PyObject *object, const char *name);

/* Is it a plain ndarray or a subclass whose memory is all there is to it? TypeError for
 * masked arrays and other objects. */
int ps_require_array(ps_state *state, PyObject *object, const char *name);

/* Can kernels write to it? ValueError for read-only and self-overlapping arrays; the
 * other function looks at the first alone. */
int ps_require_writeable(PyArrayObject *array);
int ps_require_unlocked(PyArrayObject *array);

/* Do the extents of two arrays share a byte? */
bool ps_extents_meet(PyArrayObject *one, PyArrayObject *other);

/* Is the memory of a view of `whole` still there, which other code may have resized? */
bool ps_has_memory(PyArrayObject *view, PyArrayObject *whole);

/* The same of an array whose memory another array owns, as far as that can be told. */
bool ps_lies_in_base(PyArrayObject *array);

/* Is an array that was looked at, of `n` elements at `data`, still there after other
 * code has run? */
bool ps_is_there(PyArrayObject *array, const char *data, npy_intp n);

/* For what Python code that a call runs (hooks of arguments, signal handlers) or
 * another thread has done to the array called `name`, which may be NULL: RuntimeError;
 * returns -1. */
int ps_raise_changed(const char *name);

/* Has the array still elements of this type and size, as when they were examined? 0, or
 * -1 with an exception. */
int ps_check_kept(ps_state *state, PyArrayObject *array, enum ps_dtype dtype,
                  int64_t itemsize, const char *name);

/* `type` with two shapes for the two %U of `format`; returns -1. */
int ps_raise_shapes(PyObject *type, const char *format, int ndim, const npy_intp *shape,
                    int other_ndim, const npy_intp *other);

/* Does an array broadcast to a shape, without more axes than that has? */
bool ps_broadcasts_to(PyArrayObject *array, int ndim, const npy_intp *shape);

/* Can `out` take a result of this shape and dtype: exactly the shape, a cast that the
 * rule allows, writeable? 0, or -1 with an exception. */
int ps_check_out(ps_state *state, PyArrayObject *out, int ndim, const npy_intp *shape,
                 PyArray_Descr *descr, NPY_CASTING casting);

/* Shape and strides as they were when an op began: another thread may give the array
 * others while the op runs, and NumPy then frees those that it had. */
typedef struct {
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS];
} ps_axes;

/* The array as the ops see it; it has to outlive the view, as has *axes, which receives
 * its axes. */
ps_view ps_view_of(PyArrayObject *array, enum ps_dtype dtype, ps_axes *axes);

/* `object` as an array whose elements kernels can ask for truth, of `dtype`; objects,
 * strings and records are asked by NumPy. A new reference, or NULL. */
PyArrayObject *ps_as_condition(ps_state *state, PyObject *object, const char *name,
                               enum ps_dtype *dtype);

/* A mask: bools, or a list of them, which may be empty. A new reference, or NULL with a
 * TypeError. */
PyArrayObject *ps_as_mask(ps_state *state, PyObject *object, const char *name);

/* Does a mask cover `array`, or a prefix of its axes, or broadcast over all of them? -1
 * with a ValueError that names both shapes. */
int ps_check_mask(PyArrayObject *mask, PyArrayObject *array);

/* Numbers of the index types; -1 when the array is not of integers. */
int ps_index_type_of(PyArrayObject *array);

/* Can kernels cast the elements of `array` to `descr` (`dtype`) exactly as NumPy would,
 * without anything that NumPy would warn of? 1 or 0, or -1 with an exception. */
int ps_casts_silently(ps_state *state, PyArrayObject *array, PyArray_Descr *descr,
                      enum ps_dtype dtype);

/* The same values in native `descr` side by side, by kernels, which say nothing of what
 * overflows, or by NumPy where these have no such cast. A new reference, or NULL. */
PyArrayObject *ps_cast_quietly(ps_state *state, PyArrayObject *array,
                               PyArray_Descr *descr);

static inline bool
ps_is_swapped(PyArrayObject *array)
{
    return !PyArray_ISNOTSWAPPED(array);
}

#endif
