/* The base of CSR, CSC and COO: three arrays and a shape that belong together.
 *
 * A container holds read-only views of the caller's arrays, and nothing can replace
 * them. The Python side (pyscatter/sparse.py) subclasses it for the three formats and
 * gives the arrays their names; `format` of the class says which one it is. Structure
 * is checked when a container is made, for the sake of an early message, and again by
 * each op, since the arrays are the caller's. It is in C because many are made whose
 * products take a microsecond.
 */
#include "python/containers.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/matrix.h"
#include "python/request.h"

static const char *const format_names[] = {"csr", "csc", "coo"};
static const char *const entries_names[] = {"indices", "indices", "col"};
static const char *const pointers_names[] = {"indptr", "indptr", "row"};

int
ps_format_named(const char *name)
{
    for (int i = 0; i < PS_NUM_FORMATS; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

ps_container *
ps_container_of(const ps_state *state, PyObject *object)
{
    return PyObject_TypeCheck(object, (PyTypeObject *)state->container_type)
                   ? (ps_container *)object
                   : NULL;
}

/* ---- arrays ---- */

/* Steal an array for one that nobody can write to through it, whose axes and dtype
 * nobody else can change. */
static PyArrayObject *
lock(PyArrayObject *array)
{
    if (array != NULL && ps_hold_view(&array) == 0) {
        PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    }
    return array;
}

static int
require_one_axis(PyArrayObject *array, const char *name)
{
    if (PyArray_NDIM(array) == 1) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s must have one axis, got %d", name,
                 PyArray_NDIM(array));
    return -1;
}

/* Values as they are; their dtype is one that products know. */
static PyObject *
take_data(ps_state *state, PyObject *object)
{
    if (object == Py_None) {
        return Py_NewRef(object);
    }
    PyArrayObject *const array = lock(ps_as_array(state, object, "data"));
    if (array == NULL || require_one_axis(array, "data") < 0) {
        Py_XDECREF((PyObject *)array);
        return NULL;
    }
    const enum ps_dtype dtype = ps_dtype_of(state, PyArray_DESCR(array));
    if (!ps_multiplies(dtype)) {
        PyErr_Format(PyExc_TypeError,
                     "data has dtype %S; expected bools, integers, floats up to "
                     "float64 or complex numbers up to complex128",
                     (PyObject *)PyArray_DESCR(array));
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    return (PyObject *)array;
}

/* An index array: int32 and int64 as they are, others in the narrower of the two that
 * holds them; *is_unsigned: uint64, of which messages show what it was. */
static PyArrayObject *
take_integers(ps_state *state, PyObject *object, const char *name, bool *is_unsigned)
{
    PyArrayObject *const array = ps_as_index(state, object, name);
    if (array == NULL || require_one_axis(array, name) < 0) {
        Py_XDECREF((PyObject *)array);
        return NULL;
    }
    const int type = ps_index_type_of(array);
    if (type == PS_INDEX_i32 || type == PS_INDEX_i64) {
        return lock(array);
    }
    *is_unsigned = type == PS_INDEX_u64;
    const bool is_wide = type == PS_INDEX_u32 || type == PS_INDEX_u64;
    PyArrayObject *const cast =
            ps_cast_of(array, PyArray_DescrFromType(is_wide ? NPY_INT64 : NPY_INT32));
    Py_DECREF((PyObject *)array);
    return lock(cast);
}

/* ---- making one ---- */

/* The format that the class names. */
static int
format_of(const ps_state *state, PyTypeObject *type)
{
    PyObject *const name =
            PyObject_GetAttr((PyObject *)type, state->name[PS_NAME_format]);
    int found = -1;
    for (int i = 0; name != NULL && PyUnicode_Check(name) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(name, format_names[i]) == 0) {
            found = i;
        }
    }
    Py_XDECREF(name);
    if (found < 0) {
        PyErr_SetString(PyExc_TypeError, "expected CSR, CSC or COO");
    }
    return found;
}

int
ps_to_shape(PyObject *object, int64_t *shape)
{
    PyObject *const pair = PySequence_Fast(object, "shape must be a pair of integers");
    int status = pair != NULL ? 0 : -1;
    if (status == 0 && PySequence_Fast_GET_SIZE(pair) != 2) {
        PyErr_Format(PyExc_ValueError, "shape must have two sizes, got %R", object);
        status = -1;
    }
    for (int i = 0; status == 0 && i < 2; i++) {
        PyObject *const size = Py_NewRef(PySequence_Fast_GET_ITEM(pair, i));
        status = ps_to_size(size, i == 0 ? "shape[0]" : "shape[1]", &shape[i]);
        Py_DECREF(size);
        if (status == 0 && i == 0 && PySequence_Fast_GET_SIZE(pair) != 2) {
            status = ps_raise_changed("shape");
        }
    }
    Py_XDECREF(pair);
    return status;
}

/* (data, indices, indptr) or (data, (row, col)) to three borrowed references: data,
 * entries, pointers. */
static int
unpack(enum ps_format format, PyObject *parts, PyObject **part)
{
    const bool is_coo = format == PS_COO;
    if (PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) == (is_coo ? 2 : 3)) {
        PyObject *const *const item = &PyTuple_GET_ITEM(parts, 0);
        PyObject *const pair = item[1];
        if (!is_coo || (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)) {
            part[0] = item[0];
            part[1] = is_coo ? PyTuple_GET_ITEM(pair, 1) : item[1];
            part[2] = is_coo ? PyTuple_GET_ITEM(pair, 0) : item[2];
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "expected a tuple %s, got %.200s (from_dense and "
                 "from_scipy take whole matrices)",
                 is_coo ? "(data, (row, col))" : "(data, indices, indptr)",
                 Py_TYPE(parts)->tp_name);
    return -1;
}

/* A container that is being made. */
typedef struct {
    ps_container parts; /* no object: it only holds what one will */
    bool entries_are_unsigned, pointers_are_unsigned;
} making;

/* The three arrays. */
static int
fill(ps_state *state, making *made, PyObject *const *part)
{
    ps_container *const self = &made->parts;
    self->data = take_data(state, part[0]);
    if (self->data == NULL) {
        return -1;
    }
    self->entries = (PyObject *)take_integers(
            state, part[1], entries_names[self->format], &made->entries_are_unsigned);
    if (self->entries == NULL) {
        return -1;
    }
    self->pointers = (PyObject *)take_integers(
            state, part[2], pointers_names[self->format], &made->pointers_are_unsigned);
    return self->pointers != NULL ? 0 : -1;
}

static void
release(const ps_container *self)
{
    Py_XDECREF(self->data);
    Py_XDECREF(self->entries);
    Py_XDECREF(self->pointers);
}

/* Arrays of a layout that the ops do not read are checked in a copy. */
static int
check(ps_state *state, const making *made)
{
    const ps_container *const self = &made->parts;
    ps_sparse sparse = {.format = self->format,
                        .n_rows = self->shape[0],
                        .n_cols = self->shape[1],
                        .data = self->data != Py_None
                                        ? (PyArrayObject *)Py_NewRef(self->data)
                                        : NULL,
                        .first = ps_contiguous((PyArrayObject *)self->pointers),
                        .first_is_unsigned = made->pointers_are_unsigned,
                        .second_is_unsigned = made->entries_are_unsigned};
    sparse.second =
            sparse.first != NULL ? ps_contiguous((PyArrayObject *)self->entries) : NULL;
    const int status = sparse.second != NULL ? ps_check_sparse(state, &sparse) : -1;
    ps_close_sparse(&sparse);
    return status;
}

/* A new object that takes over what *made refers to. */
static PyObject *
object_of(PyTypeObject *type, const ps_container *made)
{
    ps_container *const self = (ps_container *)type->tp_alloc(type, 0);
    if (self == NULL) {
        release(made);
        return NULL;
    }
    self->format = made->format;
    self->shape[0] = made->shape[0];
    self->shape[1] = made->shape[1];
    self->data = made->data;
    self->entries = made->entries;
    self->pointers = made->pointers;
    return (PyObject *)self;
}

/* It is filled beside any object, since hooks of arguments run meanwhile and the
 * collector's list would show them a half-made one. */
static PyObject *
new_container(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"arrays", "shape", NULL};
    ps_state *const state = ps_state_of(type);
    PyObject *parts, *shape, *part[3];
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", (char **)names, &parts,
                                     &shape)) {
        return NULL;
    }
    const int format = format_of(state, type);
    making made = {.parts = {.format = (enum ps_format)format}};
    if (format < 0 || unpack(made.parts.format, parts, part) < 0 ||
        ps_to_shape(shape, made.parts.shape) < 0) {
        return NULL;
    }
    if (fill(state, &made, part) < 0 || check(state, &made) < 0) {
        release(&made.parts);
        return NULL;
    }
    return object_of(type, &made.parts);
}

PyObject *
ps_new_container(ps_state *state, PyObject *type, PyObject *data,
                 PyArrayObject *entries, PyArrayObject *pointers, const int64_t *shape)
{
    PyTypeObject *const class = (PyTypeObject *)type;
    if (!PyType_Check(type) ||
        !PyType_IsSubtype(class, (PyTypeObject *)state->container_type)) {
        PyErr_SetString(PyExc_TypeError, "expected CSR, CSC or COO");
        return NULL;
    }
    const int format = format_of(state, class);
    if (format < 0) {
        return NULL;
    }
    if (data != Py_None) {
        PyArray_CLEARFLAGS((PyArrayObject *)data, NPY_ARRAY_WRITEABLE);
    }
    PyArray_CLEARFLAGS(entries, NPY_ARRAY_WRITEABLE);
    PyArray_CLEARFLAGS(pointers, NPY_ARRAY_WRITEABLE);
    const ps_container made = {.format = (enum ps_format)format,
                               .shape = {shape[0], shape[1]},
                               .data = Py_NewRef(data),
                               .entries = Py_NewRef((PyObject *)entries),
                               .pointers = Py_NewRef((PyObject *)pointers)};
    return object_of(class, &made);
}

/* Is it an array of one axis, of integers that containers hold? */
static bool
is_structure(PyObject *object)
{
    if (!PyArray_CheckExact(object) || PyArray_NDIM((PyArrayObject *)object) != 1) {
        return false;
    }
    const int type = ps_index_type_of((PyArrayObject *)object);
    return type == PS_INDEX_i32 || type == PS_INDEX_i64;
}

/* make_container(class, data, entries, pointers, n_rows, n_cols, turned=None): arrays
 * that are fresh or another container's; `turned` is the container of which this is the
 * transpose, of the same arrays, so that products of either may use what is kept. */
static PyObject *
make_container(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    PyObject *type, *data, *entries, *pointers, *turned = NULL;
    long long shape[2];
    if (!PyArg_ParseTuple(args, "OOOOLL|O", &type, &data, &entries, &pointers,
                          &shape[0], &shape[1], &turned)) {
        return NULL;
    }
    if ((data != Py_None && !PyArray_CheckExact(data)) || !is_structure(entries) ||
        !is_structure(pointers)) {
        PyErr_SetString(PyExc_TypeError, "expected arrays of a container");
        return NULL;
    }
    const int64_t sizes[] = {shape[0], shape[1]};
    PyObject *const made = ps_new_container(state, type, data, (PyArrayObject *)entries,
                                            (PyArrayObject *)pointers, sizes);
    ps_container *const source = turned != NULL ? ps_container_of(state, turned) : NULL;
    if (made != NULL && source != NULL) {
        ((ps_container *)made)->cell = ps_hold_cell(&source->cell);
    }
    return made;
}

/* container._with_data(data): a container of the same class and structure, the arrays
 * of which are shared and have been checked: no pass over them. */
static PyObject *
with_data(PyObject *object, PyObject *argument)
{
    const ps_container *const self = (ps_container *)object;
    PyObject *const data = take_data(ps_state_of(Py_TYPE(object)), argument);
    if (data == NULL) {
        return NULL;
    }
    const npy_intp nnz = PyArray_SIZE((PyArrayObject *)self->entries);
    if (data != Py_None && PyArray_DIM((PyArrayObject *)data, 0) != nnz) {
        PyErr_Format(
                PyExc_ValueError, "'data' has %zd elements, but there are %zd entries",
                (Py_ssize_t)PyArray_DIM((PyArrayObject *)data, 0), (Py_ssize_t)nnz);
        Py_DECREF(data);
        return NULL;
    }
    const ps_container made = {.format = self->format,
                               .shape = {self->shape[0], self->shape[1]},
                               .data = data,
                               .entries = Py_NewRef(self->entries),
                               .pointers = Py_NewRef(self->pointers)};
    return object_of(Py_TYPE(object), &made);
}

/* kept_bytes(container): what products of it keep, for tests. */
static PyObject *
kept_bytes(PyObject *module, PyObject *object)
{
    const ps_container *const container = ps_container_of(ps_get_state(module), object);
    if (container == NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a container");
        return NULL;
    }
    return PyLong_FromLongLong(ps_cell_bytes(container->cell));
}

/* ---- what can be seen ---- */

static PyObject *
get_shape(PyObject *object, void *unused)
{
    (void)unused;
    const ps_container *const self = (ps_container *)object;
    return Py_BuildValue("LL", (long long)self->shape[0], (long long)self->shape[1]);
}

static PyObject *
get_nnz(PyObject *object, void *unused)
{
    (void)unused;
    const ps_container *const self = (ps_container *)object;
    return PyLong_FromSsize_t(PyArray_SIZE((PyArrayObject *)self->entries));
}

/* Ones that nobody has stored are bools. */
static PyObject *
get_dtype(PyObject *object, void *unused)
{
    (void)unused;
    const ps_container *const self = (ps_container *)object;
    return self->data == Py_None
                   ? (PyObject *)PyArray_DescrFromType(NPY_BOOL)
                   : Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)self->data));
}

/* clang-format off */
static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "Rows and columns.", NULL},
    {"nnz", get_nnz, NULL, "Stored entries, zeros and duplicates among them.", NULL},
    {"dtype", get_dtype, NULL, "Of the values; bool where none are stored.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"data", T_OBJECT_EX, offsetof(ps_container, data), READONLY,
     "Values of the entries, or None: ones."},
    {"entries", T_OBJECT_EX, offsetof(ps_container, entries), READONLY, NULL},
    {"pointers", T_OBJECT_EX, offsetof(ps_container, pointers), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ps_container, weak_references),
     READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef methods[] = {{"_with_data", with_data, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {
    {"make_container", make_container, METH_VARARGS, NULL},
    {"kept_bytes", kept_bytes, METH_O, NULL},
    {NULL, NULL, 0, NULL}};
/* clang-format on */

/* ---- the type ---- */

static int
visit_parts(PyObject *object, visitproc visit, void *arg)
{
    const ps_container *const self = (ps_container *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->data);
    Py_VISIT(self->entries);
    Py_VISIT(self->pointers);
    return 0;
}

static void
end(PyObject *object)
{
    ps_container *const self = (ps_container *)object;
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    release(self);
    ps_drop_cell(self->cell);
    type->tp_free(object);
    Py_DECREF(type);
}

int
ps_add_containers(PyObject *module)
{
    static const char signature[] = "Container(arrays, shape)\n--\n\n";
    PyType_Slot slots[] = {
            {Py_tp_doc, (void *)signature}, {Py_tp_new, new_container},
            {Py_tp_dealloc, end},           {Py_tp_traverse, visit_parts},
            {Py_tp_getset, attributes},     {Py_tp_members, members},
            {Py_tp_methods, methods},       {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter._core.Container",
                        .basicsize = sizeof(ps_container),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    PyObject **const kept = &ps_get_state(module)->container_type;
    const int status = ps_add_type(module, &spec, kept);
    return status < 0 ? status : PyModule_AddFunctions(module, functions);
}
