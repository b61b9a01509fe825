/* What the files of this room share: NumPy's headers, the module state, the helpers.
 *
 * This is the only room that knows Python. Everything mutable lives in the module
 * state; each function takes it from the module object that CPython hands in.
 */
#ifndef PS_PYTHON_CORE_H
#define PS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL pyscatter_ARRAY_API
#ifndef PS_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "base/status.h"
#include "ops/ops.h"

/* clang-format off */

/* Names of arguments, interned once in the module state. */
#define PS_FOR_EACH_NAME(X)                                                              \
    X(a) X(index) X(indices) X(values) X(b) X(axis) X(op) X(batch_dims) X(where) X(mode) \
    X(include_self) X(dtype) X(compensated) X(casting) X(out) X(fill_value)      \
    X(size) X(keepdims) X(condition) X(x) X(y) X(mask) X(packed)                 \
    X(ids) X(num_segments) X(offsets) X(starts) X(stops) X(lengths) X(gather)    \
    X(weights) X(q) X(ddof) X(initial) X(skipna) X(return_arg) X(return_counts)  \
    X(assume_sorted) X(minlength) X(g) X(exclusive) X(reverse) X(format)         \
    X(shape) X(data) X(indptr) X(row) X(col) X(alpha) X(beta) X(semiring)        \
    X(transpose) X(conjugate)                                                    \
    X(old) X(new) X(granularity) X(top_k) X(threshold) X(encoding) X(target)     \
    X(verify) X(base_version)                                                    \
    X(sort) X(missing) X(return_first)                                           \
    X(bins) X(range) X(density) X(coords) X(outside)
/* Those of the change family. */
#define PS_FOR_EACH_CHANGE_NAME(X)                                               \
    X(atol) X(rtol) X(per_row) X(per_feature) X(finite_only) X(view) X(copy_new_to) X(hist) \
    X(step) X(first) X(name) X(acquire) X(release)
/* The operands of products. */
#define PS_FOR_EACH_OPERAND(ONE) ONE(A) ONE(X) ONE(Y)

/* Python functions that the C side calls for what is rare or wordy. */
#define PS_FOR_EACH_HELPER(X)                  \
    X(resolve, "pyscatter._expression")        \
    X(weak_values, "pyscatter._values")        \
    X(scatter_objects, "pyscatter._objects")   \
    X(gather_objects, "pyscatter._objects")    \
    X(gather_filled, "pyscatter._objects")     \
    X(scatter_through, "pyscatter._objects")   \
    X(packed_places, "pyscatter._masks")       \
    X(scatter_cast, "pyscatter._masks")        \
    X(gather_masked, "pyscatter._masks")       \
    X(where_by_numpy, "pyscatter._masks")      \
    X(promoted, "pyscatter._masks")            \
    X(truth_of, "pyscatter._objects")          \
    X(index_trouble, "pyscatter._refusals")    \
    X(reduce_foreign, "pyscatter._objects")    \
    X(weighed, "pyscatter._objects")           \
    X(divided, "pyscatter._objects")           \
    X(squared, "pyscatter._objects")           \
    X(product_types, "pyscatter._products")    \
    X(ChangeStats, "pyscatter.change")         \
    X(histogram_of, "pyscatter.change")        \
    X(Histogram, "pyscatter.histogram")        \
    X(Binned, "pyscatter.bins")

/* clang-format on */

#define PS_ENUM_NAME(name) PS_NAME_##name,
enum ps_name {
    PS_FOR_EACH_NAME(PS_ENUM_NAME)
    PS_FOR_EACH_OPERAND(PS_ENUM_NAME) PS_FOR_EACH_CHANGE_NAME(PS_ENUM_NAME) PS_NUM_NAMES
};

#define PS_ENUM_HELPER(name, module) PS_HELPER_##name,
enum ps_helper {
    PS_FOR_EACH_HELPER(PS_ENUM_HELPER) PS_NUM_HELPERS
};

typedef struct {
    PyObject *name[PS_NUM_NAMES];
    PyObject *helper[PS_NUM_HELPERS]; /* NULL until first used */
    PyObject *ufunc[PS_NUM_OPS];      /* np.add ...; NULL where there is none */
    PyObject *plan_type;              /* pyscatter.Plan */
    PyObject *container_type;         /* the base of CSR, CSC and COO */
    PyObject *delta_type;             /* pyscatter.Delta */
    PyObject *axis_error;             /* numpy.exceptions.AxisError */
    PyObject *record_type;            /* the base of Histogram */
    PyObject *change_type;            /* the base of ChangeStats */
    PyObject *tb1_edges;              /* array, or NULL: not made yet */
    PyObject *masked_type;            /* MaskedArray, or NULL: none has been seen */
    PyObject *threads_var;            /* context variable: threads of this context */
    int threads;                      /* set_num_threads, or 0: not yet known */
    int keys_way, keys_parts;         /* how tests want keys numbered; 0: as it pays */
    int bfloat16_num;                 /* type number, or -1 until ml_dtypes is loaded */
} ps_state;

ps_state *ps_get_state(PyObject *module);

/* A borrowed reference to a helper; NULL with an exception. */
PyObject *ps_get_helper(ps_state *state, enum ps_helper helper);

/* Set the exception that a status stands for, if it is not OK. 0 or -1. index_name: how
 * the caller calls its index. */
int ps_raise(ps_state *state, ps_status status, const char *index_name);

/* Threads that a call of the current context may use. */
int ps_threads(ps_state *state);

/* ---- run.c ---- */

typedef ps_status (*ps_op_fn)(void *call, ps_run *run);

/* Seconds for which a call that has begun to write to what others see is left to finish
 * before it answers a signal. */
#define PS_FINISH_SECONDS 0.5

/* Seconds on a clock that never goes back. */
double ps_now(void);

/* Plain loops that hold the GIL hear of signals at every 2^19th turn, 1 ms of the
 * lightest. */
static inline bool
ps_hears(npy_intp turn)
{
    return turn % (1 << 19) == 0;
}

/* 0, or -1 with a handler's exception. What handlers may have done to arrays is the
 * caller's care. */
static inline int
ps_hear(npy_intp turn)
{
    return ps_hears(turn) ? PyErr_CheckSignals() : 0;
}

/* Run an op: with the GIL released and signals heard when it moves more than a few
 * microseconds' worth of bytes, in place otherwise. */
ps_status ps_run_op(ps_state *state, ps_op_fn op, void *call, int64_t nbytes);

/* ---- objects of our types ---- */

/* Make a type, which the module has under the last part of its name; `kept` holds it
 * too, or is NULL. A refusal of memory may come without an exception. 0 or -1. */
int ps_add_type(PyObject *module, PyType_Spec *spec, PyObject **kept);

/* The end of an object that the collector knows and that owns what `clear` releases:
 * the base of a Python class may be its type. */
static inline void
ps_end_object(PyObject *object, inquiry clear)
{
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* The state of the module that has made a type, or the base of a Python class. */
static inline ps_state *
ps_state_of(PyTypeObject *type)
{
    while (((PyHeapTypeObject *)type)->ht_module == NULL) {
        type = type->tp_base;
    }
    return PyType_GetModuleState(type);
}

#endif
