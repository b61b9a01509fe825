/* The base of ChangeStats: an answer of the op as it lies in memory, and what is told
 * beside it. Of its thirty numbers few are looked at, and making Python numbers of all
 * would take longer than measuring ten elements; pyscatter/change.py reads them when
 * they are asked for. Made in C, since a Python constructor would take as long again.
 */
#include "python/change_record.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD PyObject *arrays, *context; /* owned */
    PyObject *numbers;                        /* owned: what has been read, or NULL */
    ps_raw_change raw;
} change_record;

static PyObject *
record_of(PyTypeObject *type, const ps_raw_change *raw, PyObject *arrays,
          PyObject *context)
{
    change_record *const self = (change_record *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->raw = *raw;
        self->arrays = Py_NewRef(arrays);
        self->context = Py_NewRef(context);
    }
    return (PyObject *)self;
}

PyObject *
ps_new_change(ps_state *state, const ps_raw_change *raw, PyObject *arrays,
              PyObject *context)
{
    PyObject *const type = ps_get_helper(state, PS_HELPER_ChangeStats);
    if (type == NULL) {
        return NULL;
    }
    if (!PyType_Check(type) ||
        !PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)state->change_type)) {
        PyErr_SetString(PyExc_TypeError, "ChangeStats is no ChangeRecord");
        return NULL;
    }
    return record_of((PyTypeObject *)type, raw, arrays, context);
}

void
ps_put_change(PyObject *record, const ps_raw_change *raw)
{
    ((change_record *)record)->raw = *raw;
}

/* From the bytes that `_raw` gives. */
static PyObject *
new_record(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *bytes, *arrays = Py_None, *context = NULL;
    ps_raw_change raw;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "ChangeStats takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "S|OO!:ChangeStats", &bytes, &arrays, &PyDict_Type,
                          &context)) {
        return NULL;
    }
    if (arrays != Py_None && !PyTuple_Check(arrays)) {
        PyErr_Format(PyExc_TypeError, "arrays must be a tuple or None, got %R", arrays);
        return NULL;
    }
    if (PyBytes_GET_SIZE(bytes) != (Py_ssize_t)sizeof(raw)) {
        PyErr_Format(PyExc_ValueError, "a record has %zu bytes, got %zd", sizeof(raw),
                     PyBytes_GET_SIZE(bytes));
        return NULL;
    }
    memcpy(&raw, PyBytes_AS_STRING(bytes), sizeof(raw));
    PyObject *const own = context != NULL ? Py_NewRef(context) : PyDict_New();
    PyObject *const result = own != NULL ? record_of(type, &raw, arrays, own) : NULL;
    Py_XDECREF(own);
    return result;
}

static int
visit_parts(PyObject *object, visitproc visit, void *arg)
{
    const change_record *const self = (change_record *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->arrays);
    Py_VISIT(self->context);
    Py_VISIT(self->numbers);
    return 0;
}

static int
clear_parts(PyObject *object)
{
    change_record *const self = (change_record *)object;
    Py_CLEAR(self->arrays);
    Py_CLEAR(self->context);
    Py_CLEAR(self->numbers);
    return 0;
}

static void
end(PyObject *object)
{
    ps_end_object(object, clear_parts);
}

static PyObject *
get_raw(PyObject *object, void *unused)
{
    (void)unused;
    const ps_raw_change *const raw = &((change_record *)object)->raw;
    return PyBytes_FromStringAndSize((const char *)raw, (Py_ssize_t)sizeof(*raw));
}

static PyMemberDef members[] = {
        {"_arrays", T_OBJECT, offsetof(change_record, arrays), READONLY, NULL},
        {"_context", T_OBJECT, offsetof(change_record, context), READONLY, NULL},
        {"_numbers", T_OBJECT, offsetof(change_record, numbers), 0, NULL},
        {NULL, 0, 0, 0, NULL}};

static PyGetSetDef properties[] = {{"_raw", get_raw, NULL, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

int
ps_add_change_record(PyObject *module)
{
    static const char signature[] =
            "ChangeRecord(raw, arrays=None, context={}, /)\n--\n\n";
    PyType_Slot slots[] = {
            {Py_tp_doc, (void *)signature}, {Py_tp_new, new_record},
            {Py_tp_dealloc, end},           {Py_tp_traverse, visit_parts},
            {Py_tp_clear, clear_parts},     {Py_tp_members, members},
            {Py_tp_getset, properties},     {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter._core.ChangeRecord",
                        .basicsize = sizeof(change_record),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    return ps_add_type(module, &spec, &ps_get_state(module)->change_type);
}
