/* Whole arrays copied and cast by NumPy.
 *
 * Results are of base class: a subclass may give views and copies another shape, as
 * np.matrix does, or run code of its own at each. Large copies are made in stretches,
 * between which Ctrl-C is heard. */
#ifndef PS_PYTHON_COPIES_H
#define PS_PYTHON_COPIES_H

#include "python/core.h"

/* The array itself, or a view of it of base class; a new reference. To be used wherever
 * NumPy or a helper is given an array that a caller passed. */
PyArrayObject *ps_plain(PyArrayObject *array);

enum {
    /* Bytes of arrays up to which nothing lets go of the GIL: the tiny calls, of which
     * a view for each array would be half of the cost. */
    PS_UNDISTURBED_BYTES = 4096
};

/* A view of base class in the place of an array, or of NULL nothing: whoever has the
 * array may give it other axes or another dtype, but not the view. 0 or -1. */
int ps_hold_view(PyArrayObject **array);

/* PyArray_CopyInto for arrays of one shape. is_private: nobody sees `out` before the
 * call has succeeded; any other is left to be finished for half a second. */
int ps_copy_into(PyArrayObject *out, PyArrayObject *array, bool is_private);

/* A copy of the same dtype. */
PyArrayObject *ps_copy_of(PyArrayObject *array, NPY_ORDER order);

/* The same values in `descr`, whose reference is stolen, in C order. */
PyArrayObject *ps_cast_of(PyArrayObject *array, PyArray_Descr *descr);

/* The array itself where it is C-contiguous, aligned and native, else such a copy; of
 * base class. */
PyArrayObject *ps_contiguous(PyArrayObject *array);

/* Every element of a flat array one axis, in C order: a view where there can be one. */
PyArrayObject *ps_flat_of(PyArrayObject *array);

/* A fresh native C-ordered copy of `array`, in `descr` (stolen);
 * zero between the fields of records. */
PyArrayObject *ps_fresh_copy(PyArrayObject *array, PyArray_Descr *descr);

/* `out` receives `result`, of its shape. A cast is made before `out` is touched, since
 * it may warn, and a warning may be an error. A new reference to `out`, or NULL. */
PyObject *ps_deliver(PyArrayObject *result, PyArrayObject *out);

#endif
