/* The type Plan: an index that was checked and sorted once (ops/plan.h).
 *
 * A plan owns all that it refers to, and nothing of it can be written from Python: the
 * arrays that show its rows are views of memory without a writable buffer. It is built
 * beside any object, since the GIL is released meanwhile and the collector's list would
 * show a half-made one to other threads. A pickle holds the resolved rows, which are
 * checked and sorted again when it is loaded, so no bytes can make a plan that is not
 * what it says.
 */
#include "python/py_plan.h"

#include <stddef.h>
#include <structmember.h>

#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/request.h"

typedef struct {
    PyObject_HEAD;
    ps_plan plan;
    int ndim;
    npy_intp shape[PS_MAX_DIMS];
    PyObject *weak_references;
} plan_object;

static const char *const mode_names[] = {[PS_MODE_RAISE] = "raise",
                                         [PS_MODE_DROP] = "drop",
                                         [PS_MODE_CLIP] = "clip",
                                         [PS_MODE_WRAP] = "wrap",
                                         [PS_MODE_FILL] = "fill"};

const ps_plan *
ps_plan_of(const ps_state *state, PyObject *object)
{
    return object != NULL && (PyObject *)Py_TYPE(object) == state->plan_type
                   ? &((plan_object *)object)->plan
                   : NULL;
}

PyArrayObject *
ps_plan_rows(PyObject *object)
{
    plan_object *const self = (plan_object *)object;
    PyArray_Descr *const descr =
            PyArray_DescrFromType(self->plan.is_wide ? NPY_INT64 : NPY_INT32);
    PyArrayObject *const rows = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, self->ndim, self->shape, NULL, self->plan.row,
            NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, NULL);
    if (rows != NULL && PyArray_SetBaseObject(rows, Py_NewRef(object)) < 0) {
        Py_DECREF(rows);
        return NULL;
    }
    return rows;
}

int
ps_settle_mode(const ps_state *state, PyObject *index, PyObject *named,
               enum ps_mode *mode)
{
    const ps_plan *const plan = ps_plan_of(state, index);
    if (plan == NULL) {
        return 0;
    }
    const bool both_drop = plan->mode == PS_MODE_DROP && *mode == PS_MODE_FILL;
    if (named != NULL && *mode != plan->mode && !both_drop) {
        PyErr_Format(PyExc_ValueError,
                     "the call names mode '%s', but the plan was made with mode '%s' "
                     "(leave mode= away)",
                     mode_names[*mode], mode_names[plan->mode]);
        return -1;
    }
    *mode = plan->mode;
    return 0;
}

/* ---- making one ---- */

/* A new object that takes over *plan, for an index of the shape in `axes`; the plan is
 * closed on failure. */
static PyObject *
object_of(PyTypeObject *type, ps_plan *plan, int ndim, const ps_axes *axes)
{
    plan_object *const self = (plan_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        ps_close_plan(plan);
        return NULL;
    }
    self->plan = *plan;
    self->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        self->shape[i] = axes->shape[i];
    }
    return (PyObject *)self;
}

/* Build from a contiguous native index, whose shape goes to `axes`: other threads may
 * give it another one meanwhile. Its axes, or -1; *plan is closed on failure. */
static int
build_plan(ps_state *state, PyArrayObject *index, int64_t size, enum ps_mode mode,
           ps_plan *plan, ps_axes *axes)
{
    const int ndim = ps_view_of(index, PS_raw, axes).ndim;
    int64_t shape = PyArray_SIZE(index), stride = PyArray_ITEMSIZE(index), link = 0;
    ps_index one = {.data = PyArray_BYTES(index),
                    .strides = &stride,
                    .type = (enum ps_index_type)ps_index_type_of(index),
                    .size = size,
                    .step = 1};
    ps_plan_build build = {.address = {.ndim = 1,
                                       .shape = &shape,
                                       .link = &link,
                                       .n = shape,
                                       .n_index = 1,
                                       .index = &one,
                                       .mode = mode},
                           .plan = plan};
    *plan = (ps_plan){0};
    const int64_t nbytes = shape > INT64_MAX / 32 ? INT64_MAX : shape * 32;
    const ps_status status = ps_run_op(state, ps_build_plan, &build, nbytes);
    if (ps_raise(state, status, "index") < 0) {
        ps_close_plan(plan);
        return -1;
    }
    return ndim;
}

static PyObject *
new_plan(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"index", "size", "mode", NULL};
    ps_state *const state = PyType_GetModuleState(type);
    PyObject *given, *size_given, *mode_given = NULL;
    int64_t size;
    enum ps_mode mode = PS_MODE_RAISE;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|$O:Plan", (char **)names,
                                     &given, &size_given, &mode_given) ||
        ps_to_size(size_given, "size", &size) < 0 ||
        ps_to_mode(mode_given, false, &mode) < 0) {
        return NULL;
    }
    ps_request request;
    ps_plan plan;
    PyObject *result = NULL;
    ps_begin_request(&request);
    PyArrayObject *const index = ps_add_index(state, &request, given) == 0
                                         ? ps_contiguous(request.index[0])
                                         : NULL;
    ps_axes axes;
    const int ndim =
            index != NULL ? build_plan(state, index, size, mode, &plan, &axes) : -1;
    if (ndim >= 0) {
        result = object_of(type, &plan, ndim, &axes);
    }
    Py_XDECREF(index);
    ps_close_request(&request);
    return result;
}

/* ---- pickles ---- */

static int
refuse_pickle(const char *why)
{
    PyErr_Format(PyExc_ValueError, "not the state of a Plan: %s", why);
    return -1;
}

/* Rows of a pickle: in range, or -1 where mode "drop" has left an entry out. */
static int
check_rows(PyArrayObject *rows, int64_t size, enum ps_mode mode)
{
    const int64_t *const row = (const int64_t *)PyArray_DATA(rows);
    const int64_t least = mode == PS_MODE_DROP ? -1 : 0;
    const npy_intp n = PyArray_SIZE(rows);
    for (npy_intp i = 0; i < n; i++) {
        if (ps_hear(i) < 0) {
            return -1;
        }
        if (row[i] < least || row[i] >= size) {
            PyErr_Format(PyExc_ValueError,
                         "not the state of a Plan: row %lld of an axis of size %lld "
                         "(position %zd)",
                         (long long)row[i], (long long)size, i);
            return -1;
        }
    }
    return 0;
}

/* The arguments that a pickle gives: an array of rows, size, mode, has_negative. */
static PyArrayObject *
take_pickle(PyObject *args, int64_t *size, enum ps_mode *mode, bool *has_negative)
{
    PyObject *const *const item = &PyTuple_GET_ITEM(args, 0);
    int overflow = 0;
    if (PyTuple_GET_SIZE(args) != 4 || !PyArray_CheckExact(item[0]) ||
        ps_index_type_of((PyArrayObject *)item[0]) < 0 || !PyLong_CheckExact(item[1]) ||
        !PyUnicode_CheckExact(item[2]) || !PyBool_Check(item[3])) {
        refuse_pickle("expected an array of integers, size, mode and a bool");
        return NULL;
    }
    *size = PyLong_AsLongLongAndOverflow(item[1], &overflow);
    *has_negative = item[3] == Py_True;
    if (overflow != 0 || *size < 0) {
        refuse_pickle("its size is out of range");
        return NULL;
    }
    if (ps_to_mode(item[2], false, mode) < 0) {
        return NULL;
    }
    return ps_cast_of((PyArrayObject *)item[0], PyArray_DescrFromType(NPY_INT64));
}

static PyObject *
load_plan(PyObject *module, PyObject *args)
{
    ps_state *const state = ps_get_state(module);
    int64_t size;
    enum ps_mode mode;
    bool has_negative;
    ps_plan plan;
    PyArrayObject *const rows = take_pickle(args, &size, &mode, &has_negative);
    PyObject *result = NULL;
    if (rows == NULL) {
        return NULL;
    }
    const enum ps_mode read_as = mode == PS_MODE_DROP ? PS_MODE_DROP : PS_MODE_RAISE;
    ps_axes axes;
    const int ndim = check_rows(rows, size, mode) == 0
                             ? build_plan(state, rows, size, read_as, &plan, &axes)
                             : -1;
    if (ndim >= 0) {
        plan.mode = mode;
        plan.has_negative = has_negative;
        plan.first_negative = -1;
        result = object_of((PyTypeObject *)state->plan_type, &plan, ndim, &axes);
    }
    Py_DECREF(rows);
    return result;
}

static PyObject *
reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    const ps_plan *const plan = &((plan_object *)self)->plan;
    PyObject *const module = PyType_GetModule(Py_TYPE(self));
    /* Interned: the interpreter keeps names that it has looked up. */
    PyObject *const name = PyUnicode_InternFromString("load_plan");
    PyObject *const load =
            module != NULL && name != NULL ? PyObject_GetAttr(module, name) : NULL;
    PyObject *const rows = load != NULL ? (PyObject *)ps_plan_rows(self) : NULL;
    PyObject *const result =
            rows == NULL ? NULL
                         : Py_BuildValue("O(OLsO)", load, rows, (long long)plan->size,
                                         mode_names[plan->mode],
                                         plan->has_negative ? Py_True : Py_False);
    Py_XDECREF(rows);
    Py_XDECREF(load);
    Py_XDECREF(name);
    return result;
}

/* A plan cannot change, so a copy is the plan itself. */
static PyObject *
copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

/* ---- what can be seen ---- */

/* Wherever an array is wanted, a plan is refused with one message. */
static PyObject *
refuse_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)self, (void)args, (void)keywords;
    PyErr_SetString(PyExc_TypeError,
                    "a Plan is not an array: it is accepted as the axis 'index' of "
                    "scatter, gather, and add_at and its kin with axis=, and as the "
                    "'ids' of segments");
    return NULL;
}

static PyObject *
represent(PyObject *object)
{
    const plan_object *const self = (plan_object *)object;
    PyObject *const shape =
            PyArray_IntTupleFromIntp(self->ndim, (npy_intp *)self->shape);
    if (shape == NULL) {
        return NULL;
    }
    PyObject *const text = PyUnicode_FromFormat("Plan(shape=%R, size=%lld, mode='%s')",
                                                shape, (long long)self->plan.size,
                                                mode_names[self->plan.mode]);
    Py_DECREF(shape);
    return text;
}

static PyObject *
get_shape(PyObject *object, void *unused)
{
    (void)unused;
    plan_object *const self = (plan_object *)object;
    return PyArray_IntTupleFromIntp(self->ndim, self->shape);
}

static PyObject *
get_mode(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(mode_names[((plan_object *)self)->plan.mode]);
}

/* The numbers, by their place in the struct. */
static PyObject *
get_number(PyObject *self, void *offset)
{
    const char *const plan = (const char *)&((plan_object *)self)->plan;
    return PyLong_FromLongLong(*(const int64_t *)(plan + (size_t)offset));
}

/* The least and greatest row: None where no entry takes part. */
static PyObject *
get_extreme(PyObject *self, void *offset)
{
    if (((plan_object *)self)->plan.n_kept == 0) {
        Py_RETURN_NONE;
    }
    return get_number(self, offset);
}

static PyObject *
get_flag(PyObject *self, void *offset)
{
    const char *const plan = (const char *)&((plan_object *)self)->plan;
    return PyBool_FromLong(*(const bool *)(plan + (size_t)offset));
}

static PyObject *
get_n_dropped(PyObject *self, void *unused)
{
    (void)unused;
    const ps_plan *const plan = &((plan_object *)self)->plan;
    return PyLong_FromLongLong(plan->n - plan->n_kept);
}

static PyObject *
get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(ps_plan_nbytes(&((plan_object *)self)->plan));
}

/* clang-format off */
#define FIELD(name) (void *)offsetof(ps_plan, name)

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "Shape of the index.", NULL},
    {"size", get_number, NULL, "Length of the axis that the index is for.", FIELD(size)},
    {"mode", get_mode, NULL, "What an index out of bounds did.", NULL},
    {"n", get_number, NULL, "Number of entries.", FIELD(n)},
    {"n_dropped", get_n_dropped, NULL, "Entries that mode \"drop\" left out.", NULL},
    {"n_rows", get_number, NULL, "Number of rows that are named.", FIELD(n_named)},
    {"min", get_extreme, NULL, "Least row that is named, or None.", FIELD(min)},
    {"max", get_extreme, NULL, "Greatest row that is named, or None.", FIELD(max)},
    {"is_sorted", get_flag, NULL, "Are rows named in ascending order?", FIELD(is_sorted)},
    {"is_unique", get_flag, NULL, "Is no row named twice?", FIELD(is_unique)},
    {"has_negative", get_flag, NULL, "Did the index hold a negative number?",
     FIELD(has_negative)},
    {"nbytes", get_nbytes, NULL, "Bytes of memory that the plan holds.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", copy, METH_O, NULL},
    {"__array__", (PyCFunction)(void (*)(void))refuse_array,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(plan_object, weak_references), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL}};
/* clang-format on */

/* ---- for other families ---- */

static PyObject *
require_plan(PyObject *module, PyObject *object)
{
    if (ps_plan_of(ps_get_state(module), object) == NULL) {
        PyErr_Format(PyExc_TypeError, "expected a Plan, got %R", object);
        return NULL;
    }
    return object;
}

static PyObject *
plan_index(PyObject *module, PyObject *plan)
{
    return require_plan(module, plan) != NULL ? (PyObject *)ps_plan_rows(plan) : NULL;
}

static PyObject *
plan_has_negative(PyObject *module, PyObject *plan)
{
    return require_plan(module, plan) != NULL ? get_flag(plan, FIELD(has_negative))
                                              : NULL;
}

/* clang-format off */
static PyMethodDef functions[] = {
    {"plan_index", plan_index, METH_O, NULL},
    {"plan_has_negative", plan_has_negative, METH_O, NULL},
    {"load_plan", load_plan, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
/* clang-format on */

/* ---- the type ---- */

/* A plan refers to no object but its type. */
static int
visit_type(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
end(PyObject *object)
{
    plan_object *const self = (plan_object *)object;
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    ps_close_plan(&self->plan);
    type->tp_free(object);
    Py_DECREF(type);
}

int
ps_add_plan(PyObject *module)
{
    static const char signature[] = "Plan(index, size, *, mode='raise')\n--\n\n";
    PyType_Slot slots[] = {{Py_tp_doc, (void *)signature},
                           {Py_tp_new, new_plan},
                           {Py_tp_dealloc, end},
                           {Py_tp_traverse, visit_type},
                           {Py_tp_repr, represent},
                           {Py_tp_getset, attributes},
                           {Py_tp_methods, methods},
                           {Py_tp_members, members},
                           {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter.Plan",
                        .basicsize = sizeof(plan_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                        .slots = slots};
    PyObject **const kept = &ps_get_state(module)->plan_type;
    const int status = ps_add_type(module, &spec, kept);
    return status < 0 ? status : PyModule_AddFunctions(module, functions);
}
