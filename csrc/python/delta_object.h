/* The type Delta: what its files share. */
#ifndef PS_PYTHON_DELTA_OBJECT_H
#define PS_PYTHON_DELTA_OBJECT_H

#include "python/core.h"

#include "ops/delta.h"

enum ps_granularity {
    PS_BY_ELEMENT,
    PS_BY_ROW,
    PS_BY_BLOCK,
    PS_NUM_GRANULARITIES
};

/* What a delta says beside its numbers and values. */
typedef struct {
    PyArray_Descr *descr; /* native */
    enum ps_dtype dtype;
    enum ps_granularity granularity;
    int ndim;
    npy_intp shape[PS_MAX_DIMS];
    bool has_base_version, has_version, has_checksum_base, has_checksum_new;
    int64_t base_version, version;
    uint64_t checksum_base, checksum_new;
} ps_delta_label;

/* Immutable. Numbers and values lie in `body`, a bytes object that no array can be made
 * to write to. */
typedef struct {
    PyObject_HEAD;
    ps_delta_label label;
    ps_delta delta;
    PyObject *body;
    PyObject *weak_references;
} ps_delta_object;

/* A new object from a label and a delta whose numbers and values lie in `body`; takes
 * new references to the descriptor and to body. */
PyObject *ps_delta_object_of(ps_state *state, const ps_delta_label *label,
                             const ps_delta *delta, PyObject *body);

/* A bytes object with room for the head and the values of *delta, which become where
 * they belong in it. The caller fills both. */
PyObject *ps_delta_body(ps_delta *delta);

/* Fill dtype and descr for an array's dtype; TypeError where a delta cannot be of it.
 * 0 or -1. */
int ps_delta_set_dtype(ps_state *state, ps_delta_label *label, PyArray_Descr *descr);

/* Elements of a unit of an array with the label's shape and granularity; -1 with a
 * ValueError: it has no rows. */
int64_t ps_delta_unit_width(const ps_delta_label *label);

/* Has the array the label's shape and dtype, whatever its byte order? 0, or -1 with a
 * ValueError. */
int ps_delta_check_array(const ps_delta_label *label, PyArrayObject *array,
                         const char *name);

/* Names to numbers; NULL: nothing was given. 0, or -1 with a ValueError. */
int ps_to_delta_op(PyObject *object, enum ps_delta_op *op);
int ps_to_delta_encoding(PyObject *object, enum ps_delta_encoding *encoding);
int ps_to_granularity(PyObject *object, enum ps_granularity *granularity);

const char *ps_delta_op_name(enum ps_delta_op op);
const char *ps_delta_encoding_name(enum ps_delta_encoding encoding);
const char *ps_granularity_name(enum ps_granularity granularity);

/* Op "add" is for integers. 0, or -1 with a ValueError. */
int ps_delta_check_op(const ps_delta_label *label, enum ps_delta_op op);

/* The checksum of an array as it lies, contiguous and native, or of what it becomes
 * under a delta; then *base is that of the array as it is, unless base is NULL. 0 or
 * -1.
 */
int ps_delta_checksum(ps_state *state, PyArrayObject *array, const ps_delta *delta,
                      uint64_t *checksum, uint64_t *base);

/* Delta(...) and the method with_versions (delta_parts.c). */
PyObject *ps_py_new_delta(PyTypeObject *type, PyObject *args, PyObject *keywords);
PyObject *ps_py_delta_with_versions(PyObject *self, PyObject *args, PyObject *keywords);

/* The methods apply, invert and compose (py_delta.c). */
PyObject *ps_py_delta_apply(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                            PyObject *keywords);
PyObject *ps_py_delta_invert(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *keywords);
PyObject *ps_py_delta_compose(PyObject *self, PyObject *other);

/* The methods to_bytes and from_bytes, and the bytes of the first (delta_bytes.c). */
PyObject *ps_py_delta_to_bytes(PyObject *self, PyObject *unused);
PyObject *ps_py_delta_from_bytes(PyObject *type, PyObject *bytes);
int64_t ps_delta_wire_nbytes(const ps_delta_object *self);

#endif
