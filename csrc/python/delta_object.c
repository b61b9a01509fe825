/* The type Delta, and what can be seen of it (contract in delta_object.h).
 *
 * Numbers and values lie in a bytes object, which is filled before anybody else knows
 * it: NumPy does not make arrays over it writeable, so what was checked stays so.
 */
#include "python/delta_object.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/py_delta.h"

/* ---- making one ---- */

PyObject *
ps_delta_body(ps_delta *delta)
{
    const int64_t head = ps_ceil_div(delta->head_nbytes, 8) * 8;
    PyObject *const body =
            PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(head + delta->values_nbytes));
    if (body != NULL) {
        delta->head = PyBytes_AS_STRING(body);
        delta->values = delta->head + head;
    }
    return body;
}

PyObject *
ps_delta_object_of(ps_state *state, const ps_delta_label *label, const ps_delta *delta,
                   PyObject *body)
{
    PyTypeObject *const type = (PyTypeObject *)state->delta_type;
    ps_delta_object *const self = (ps_delta_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->label = *label;
    Py_INCREF((PyObject *)label->descr);
    self->delta = *delta;
    self->body = Py_NewRef(body);
    return (PyObject *)self;
}

/* ---- what can be seen ---- */

static PyObject *
get_shape(PyObject *object, void *unused)
{
    (void)unused;
    ps_delta_object *const self = (ps_delta_object *)object;
    return PyArray_IntTupleFromIntp(self->label.ndim, self->label.shape);
}

static PyObject *
get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef((PyObject *)((ps_delta_object *)self)->label.descr);
}

static PyObject *
get_op(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(ps_delta_op_name(((ps_delta_object *)self)->delta.op));
}

static PyObject *
get_encoding(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(
            ps_delta_encoding_name(((ps_delta_object *)self)->delta.encoding));
}

static PyObject *
get_granularity(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(
            ps_granularity_name(((ps_delta_object *)self)->label.granularity));
}

static PyObject *
get_base_version(PyObject *self, void *unused)
{
    (void)unused;
    const ps_delta_label *const label = &((ps_delta_object *)self)->label;
    return label->has_base_version ? PyLong_FromLongLong(label->base_version)
                                   : Py_NewRef(Py_None);
}

static PyObject *
get_version(PyObject *self, void *unused)
{
    (void)unused;
    const ps_delta_label *const label = &((ps_delta_object *)self)->label;
    return label->has_version ? PyLong_FromLongLong(label->version)
                              : Py_NewRef(Py_None);
}

static PyObject *
get_checksum_base(PyObject *self, void *unused)
{
    (void)unused;
    const ps_delta_label *const label = &((ps_delta_object *)self)->label;
    return label->has_checksum_base ? PyLong_FromUnsignedLongLong(label->checksum_base)
                                    : Py_NewRef(Py_None);
}

static PyObject *
get_checksum_new(PyObject *self, void *unused)
{
    (void)unused;
    const ps_delta_label *const label = &((ps_delta_object *)self)->label;
    return label->has_checksum_new ? PyLong_FromUnsignedLongLong(label->checksum_new)
                                   : Py_NewRef(Py_None);
}

static PyObject *
get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(ps_delta_wire_nbytes((ps_delta_object *)self));
}

static PyObject *
get_positions(PyObject *object, void *unused)
{
    (void)unused;
    const ps_delta_object *const self = (ps_delta_object *)object;
    npy_intp count = (npy_intp)self->delta.count;
    PyArrayObject *const array =
            (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_INT64);
    if (array == NULL) {
        return NULL;
    }
    ps_delta_list_call call = {.delta = &self->delta, .at = PyArray_DATA(array)};
    ps_state *const state = PyType_GetModuleState(Py_TYPE(object));
    const ps_status status = ps_run_op(state, ps_delta_list, &call, 8 * count);
    if (ps_raise(state, status, "delta") < 0) {
        Py_DECREF(array);
        return NULL;
    }
    PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    return (PyObject *)array;
}

/* Unsigned integers as wide as an element, or bytes. */
static PyArray_Descr *
unsigned_descr(int64_t itemsize)
{
    const int numbers[] = {NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64};
    if (itemsize <= 8) {
        return PyArray_DescrFromType(numbers[__builtin_ctzll((uint64_t)itemsize)]);
    }
    PyArray_Descr *const descr = PyArray_DescrNewFromType(NPY_VOID);
    if (descr != NULL) {
        PyDataType_SET_ELSIZE(descr, (npy_intp)itemsize);
    }
    return descr;
}

/* An array over the body: rows in their shape, elements and blocks in one axis. */
static PyObject *
get_values(PyObject *object, void *unused)
{
    (void)unused;
    const ps_delta_object *const self = (ps_delta_object *)object;
    const ps_delta *const delta = &self->delta;
    npy_intp shape[PS_MAX_DIMS] = {(npy_intp)(delta->values_nbytes / delta->itemsize)};
    int ndim = 1;
    if (self->label.granularity == PS_BY_ROW) {
        ndim = self->label.ndim;
        memcpy(shape, self->label.shape, sizeof(npy_intp) * (size_t)ndim);
        shape[0] = (npy_intp)delta->count;
    }
    PyArrayObject *const array = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, unsigned_descr(delta->itemsize), ndim, shape, NULL,
            (char *)delta->values, NPY_ARRAY_C_CONTIGUOUS, NULL);
    if (array == NULL) {
        return NULL;
    }
    PyArray_UpdateFlags(array, NPY_ARRAY_ALIGNED);
    if (PyArray_SetBaseObject(array, Py_NewRef(self->body)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return (PyObject *)array;
}

static Py_ssize_t
length(PyObject *self)
{
    return (Py_ssize_t)((ps_delta_object *)self)->delta.count;
}

static PyObject *
represent(PyObject *object)
{
    const ps_delta_object *const self = (ps_delta_object *)object;
    const ps_delta *const delta = &self->delta;
    static const char *const units[] = {"elements", "rows", "blocks"};
    PyObject *const shape = get_shape(object, NULL);
    if (shape == NULL) {
        return NULL;
    }
    PyObject *const text = PyUnicode_FromFormat(
            "Delta(%lld of %lld %s, shape=%R, dtype=%S, op='%s', encoding='%s', %lld "
            "bytes)",
            (long long)delta->count, (long long)ps_delta_units(delta),
            units[self->label.granularity], shape, self->label.descr,
            ps_delta_op_name(delta->op), ps_delta_encoding_name(delta->encoding),
            (long long)ps_delta_wire_nbytes(self));
    Py_DECREF(shape);
    return text;
}

/* ---- equality ---- */

static bool
are_equal_labels(const ps_delta_label *one, const ps_delta_label *two)
{
    return one->ndim == two->ndim &&
           PyArray_CompareLists(one->shape, two->shape, one->ndim) &&
           PyArray_EquivTypes(one->descr, two->descr) &&
           one->granularity == two->granularity &&
           one->has_base_version == two->has_base_version &&
           one->has_version == two->has_version &&
           one->has_checksum_base == two->has_checksum_base &&
           one->has_checksum_new == two->has_checksum_new &&
           one->base_version == two->base_version && one->version == two->version &&
           one->checksum_base == two->checksum_base &&
           one->checksum_new == two->checksum_new;
}

/* Numbers are compared as they are meant, not as they are written down. */
static bool
are_equal_numbers(const ps_delta *one, const ps_delta *two)
{
    if (one->encoding == two->encoding) {
        return one->head_nbytes == two->head_nbytes &&
               memcmp(one->head, two->head, (size_t)one->head_nbytes) == 0;
    }
    /* Blocks end elsewhere in other encodings: what one has ahead waits. */
    int64_t a[PS_DELTA_BLOCK + 64], b[PS_DELTA_BLOCK + 64];
    int64_t i = 0, j = 0, n = 0, m = 0;
    ps_delta_reader first = ps_delta_read(one), second = ps_delta_read(two);
    for (int64_t done = 0; done < one->count; done++, i++, j++) {
        if (i == n) {
            n = ps_delta_next(&first, a);
            i = 0;
        }
        if (j == m) {
            m = ps_delta_next(&second, b);
            j = 0;
        }
        if (a[i] != b[j]) {
            return false;
        }
    }
    return true;
}

static PyObject *
compare(PyObject *object, PyObject *other, int how)
{
    if (Py_TYPE(object) != Py_TYPE(other) || (how != Py_EQ && how != Py_NE)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    const ps_delta_object *const one = (ps_delta_object *)object;
    const ps_delta_object *const two = (ps_delta_object *)other;
    const bool is_equal = are_equal_labels(&one->label, &two->label) &&
                          one->delta.op == two->delta.op &&
                          one->delta.count == two->delta.count &&
                          one->delta.values_nbytes == two->delta.values_nbytes &&
                          are_equal_numbers(&one->delta, &two->delta) &&
                          memcmp(one->delta.values, two->delta.values,
                                 (size_t)one->delta.values_nbytes) == 0;
    return PyBool_FromLong(is_equal == (how == Py_EQ));
}

/* ---- copies and pickles ---- */

static PyObject *
copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

/* load_delta(dtype, bytes): the dtype comes first, since unpickling it imports the
 * package that it belongs to. */
static PyObject *
load_delta(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyArray_Descr *descr;
    PyObject *bytes;
    if (!PyArg_ParseTuple(args, "O!S", &PyArrayDescr_Type, &descr, &bytes)) {
        return NULL;
    }
    PyObject *const result = ps_py_delta_from_bytes(state->delta_type, bytes);
    if (result != NULL &&
        !PyArray_EquivTypes(((ps_delta_object *)result)->label.descr, descr)) {
        Py_DECREF(result);
        PyErr_SetString(PyExc_ValueError, "not the state of a Delta: another dtype");
        return NULL;
    }
    return result;
}

static PyObject *
reduce(PyObject *object, PyObject *unused)
{
    PyObject *const module = PyType_GetModule(Py_TYPE(object));
    PyObject *const name = PyUnicode_InternFromString("load_delta");
    PyObject *const load =
            module != NULL && name != NULL ? PyObject_GetAttr(module, name) : NULL;
    PyObject *const bytes = load != NULL ? ps_py_delta_to_bytes(object, unused) : NULL;
    PyObject *const result =
            bytes != NULL
                    ? Py_BuildValue("O(OO)", load,
                                    ((ps_delta_object *)object)->label.descr, bytes)
                    : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(load);
    Py_XDECREF(name);
    return result;
}

/* ---- the type ---- */

/* clang-format off */
static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "Shape of the array that the delta is for.", NULL},
    {"dtype", get_dtype, NULL, "Its dtype, native.", NULL},
    {"base_version", get_base_version, NULL, "Version that the delta is for, or None.", NULL},
    {"version", get_version, NULL, "Version that it makes, or None.", NULL},
    {"encoding", get_encoding, NULL, "How positions are written down.", NULL},
    {"positions", get_positions, NULL, "Numbers of what is stored, ascending int64.", NULL},
    {"values", get_values, NULL, "What is stored, as unsigned integers; read-only.", NULL},
    {"checksum_new", get_checksum_new, NULL, "Checksum of the result, or None.", NULL},
    {"checksum_base", get_checksum_base, NULL, "Checksum of the base, or None.", NULL},
    {"op", get_op, NULL, "How values meet what they are for.", NULL},
    {"granularity", get_granularity, NULL, "What positions number.", NULL},
    {"nbytes", get_nbytes, NULL, "Length of to_bytes().", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define FAST(name, function, text) \
    {name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, text}

static PyMethodDef methods[] = {
    FAST("apply", ps_py_delta_apply,
         "apply($self, target, out=None, *, verify='none', base_version=None)\n--\n\n"),
    FAST("invert", ps_py_delta_invert, "invert($self, old=None)\n--\n\n"),
    {"compose", ps_py_delta_compose, METH_O, "compose($self, other, /)\n--\n\n"},
    {"to_bytes", ps_py_delta_to_bytes, METH_NOARGS, "to_bytes($self)\n--\n\n"},
    {"from_bytes", ps_py_delta_from_bytes, METH_O | METH_CLASS,
     "from_bytes(buffer, /)\n--\n\n"},
    {"with_versions", (PyCFunction)(void (*)(void))ps_py_delta_with_versions,
     METH_VARARGS | METH_KEYWORDS, "with_versions($self, base_version, version)\n--\n\n"},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", copy, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ps_delta_object, weak_references), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef functions[] = {
    {"load_delta", load_delta, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
/* clang-format on */

static int
visit_type(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    return 0;
}

/* A delta refers to its type, and to a dtype and bytes, which refer to nothing else. */
static void
end(PyObject *object)
{
    ps_delta_object *const self = (ps_delta_object *)object;
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    Py_XDECREF((PyObject *)self->label.descr);
    Py_XDECREF(self->body);
    type->tp_free(object);
    Py_DECREF(type);
}

int
ps_add_delta(PyObject *module)
{
    static const char signature[] =
            "Delta(shape, dtype, base_version, version, encoding, positions, values, "
            "checksum_new=None, checksum_base=None, *, op='overwrite', "
            "granularity='element')\n--\n\n";
    PyType_Slot slots[] = {{Py_tp_doc, (void *)signature},
                           {Py_tp_new, ps_py_new_delta},
                           {Py_tp_dealloc, end},
                           {Py_tp_traverse, visit_type},
                           {Py_tp_repr, represent},
                           {Py_tp_richcompare, compare},
                           {Py_sq_length, length},
                           {Py_tp_getset, attributes},
                           {Py_tp_methods, methods},
                           {Py_tp_members, members},
                           {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter.Delta",
                        .basicsize = sizeof(ps_delta_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                        .slots = slots};
    PyObject **const kept = &ps_get_state(module)->delta_type;
    const int status = ps_add_type(module, &spec, kept);
    return status < 0 ? status : PyModule_AddFunctions(module, functions);
}
