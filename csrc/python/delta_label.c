/* What a delta says beside its numbers and values: names, dtype, units, and whether an
 * array is what it is for (contract in delta_object.h). */
#include "python/delta_object.h"

#include "base/sizes.h"
#include "python/arrays.h"

/* ---- names ---- */

static const char *const op_names[PS_NUM_DELTA_OPS] = {
        [PS_DELTA_OVERWRITE] = "overwrite",
        [PS_DELTA_XOR] = "xor",
        [PS_DELTA_ADD] = "add"};
#define ENCODING_NAME(name) [PS_DELTA_##name] = #name,
static const char *const encoding_names[] = {
        PS_FOR_EACH_DELTA_ENCODING(ENCODING_NAME)[PS_DELTA_AUTO] = "auto"};
static const char *const granularity_names[PS_NUM_GRANULARITIES] = {
        [PS_BY_ELEMENT] = "element", [PS_BY_ROW] = "row", [PS_BY_BLOCK] = "block"};

const char *
ps_delta_op_name(enum ps_delta_op op)
{
    return op_names[op];
}

const char *
ps_delta_encoding_name(enum ps_delta_encoding encoding)
{
    return encoding_names[encoding];
}

const char *
ps_granularity_name(enum ps_granularity granularity)
{
    return granularity_names[granularity];
}

/* The number of a name, or -1 with a ValueError that lists all of them. */
static int
number_of_name(PyObject *object, const char *what, const char *const *names, int n)
{
    for (int i = 0; PyUnicode_Check(object) && i < n; i++) {
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            return i;
        }
    }
    PyObject *const list = PyList_New(0);
    for (int i = 0; list != NULL && i < n; i++) {
        PyObject *const name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_XDECREF(name);
            Py_DECREF(list);
            return -1;
        }
        Py_DECREF(name);
    }
    if (list != NULL) {
        PyErr_Format(PyExc_ValueError, "%s must be one of %R, got %R", what, list,
                     object);
        Py_DECREF(list);
    }
    return -1;
}

int
ps_to_delta_op(PyObject *object, enum ps_delta_op *op)
{
    const int found = object != NULL
                              ? number_of_name(object, "op", op_names, PS_NUM_DELTA_OPS)
                              : (int)*op;
    *op = (enum ps_delta_op)ps_max(found, 0);
    return found < 0 ? -1 : 0;
}

int
ps_to_delta_encoding(PyObject *object, enum ps_delta_encoding *encoding)
{
    const int found = object != NULL
                              ? number_of_name(object, "encoding", encoding_names,
                                               PS_NUM_DELTA_ENCODINGS + 1)
                              : (int)*encoding;
    *encoding = (enum ps_delta_encoding)ps_max(found, 0);
    return found < 0 ? -1 : 0;
}

int
ps_to_granularity(PyObject *object, enum ps_granularity *granularity)
{
    const int found = object != NULL
                              ? number_of_name(object, "granularity", granularity_names,
                                               PS_NUM_GRANULARITIES)
                              : (int)*granularity;
    *granularity = (enum ps_granularity)ps_max(found, 0);
    return found < 0 ? -1 : 0;
}

/* ---- labels ---- */

int
ps_delta_set_dtype(ps_state *state, ps_delta_label *label, PyArray_Descr *descr)
{
    label->dtype = ps_dtype_of(state, descr);
    if (label->dtype == PS_raw) {
        PyErr_Format(PyExc_TypeError,
                     "a delta of dtype %S is not supported (numbers, bools, datetimes "
                     "and timedeltas are; view other bytes as integers)",
                     descr);
        return -1;
    }
    label->descr = PyDataType_ISNOTSWAPPED(descr)
                           ? (PyArray_Descr *)Py_NewRef((PyObject *)descr)
                           : PyArray_DescrNewByteorder(descr, NPY_NATIVE);
    return label->descr != NULL ? 0 : -1;
}

enum {
    BLOCK_BYTES = 4096
};

int64_t
ps_delta_unit_width(const ps_delta_label *label)
{
    int64_t n;
    if (label->granularity == PS_BY_ROW && label->ndim == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "an array without axes has no rows (granularity='row')");
        return -1;
    }
    if (label->granularity == PS_BY_BLOCK) {
        return BLOCK_BYTES / ps_dtype_size[label->dtype];
    }
    if (label->granularity == PS_BY_ROW &&
        ps_count(label->ndim - 1, (const int64_t *)label->shape + 1, &n)) {
        return ps_max(n, 1);
    }
    return 1;
}

int
ps_delta_check_array(const ps_delta_label *label, PyArrayObject *array,
                     const char *name)
{
    if (PyArray_NDIM(array) != label->ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), label->shape, label->ndim)) {
        char format[80];
        PyOS_snprintf(format, sizeof(format), "%s has shape %%U; expected %%U", name);
        return ps_raise_shapes(PyExc_ValueError, format, PyArray_NDIM(array),
                               PyArray_DIMS(array), label->ndim, label->shape);
    }
    PyArray_Descr *const descr = PyArray_DESCR(array);
    if (descr == label->descr) {
        return 0;
    }
    PyArray_Descr *const native = PyArray_DescrNewByteorder(descr, NPY_NATIVE);
    if (native == NULL) {
        return -1;
    }
    const bool is_equal = PyArray_EquivTypes(native, label->descr);
    Py_DECREF(native);
    if (!is_equal) {
        PyErr_Format(PyExc_ValueError, "%s has dtype %S; expected %S", name, descr,
                     label->descr);
    }
    return is_equal ? 0 : -1;
}

int
ps_delta_check_op(const ps_delta_label *label, enum ps_delta_op op)
{
    if (op == PS_DELTA_ADD && ps_dtype_kind[label->dtype] != PS_KIND_INT) {
        PyErr_Format(PyExc_ValueError,
                     "op 'add' is for integers, whose differences restore every bit; "
                     "got dtype %S (use 'xor' or 'overwrite')",
                     label->descr);
        return -1;
    }
    return 0;
}

int
ps_delta_checksum(ps_state *state, PyArrayObject *array, const ps_delta *delta,
                  uint64_t *checksum, uint64_t *base)
{
    ps_hash_call call = {.bytes = PyArray_BYTES(array),
                         .nbytes = PyArray_NBYTES(array),
                         .delta = delta,
                         .wants_base = base != NULL};
    const ps_status status = ps_run_op(state, ps_hash_array, &call, call.nbytes);
    *checksum = call.checksum;
    if (base != NULL) {
        *base = call.checksum_base;
    }
    return ps_raise(state, status, "target");
}
