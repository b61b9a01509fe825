/* The base of ChangeTracker: its state, and updates that ask for nothing but a
 * comparison with the array before.
 *
 * Such an update is one call of C: ten elements are measured in the time that two calls
 * of Python take. Everything else goes to the Python method `_update`, under the same
 * rules: the lock is held, the state is a tuple that is never changed, and a new one
 * takes its place when all else has succeeded, if nothing else has meanwhile.
 */
#include "python/tracker.h"

#include <stddef.h>
#include <structmember.h>

#include "python/change_items.h"
#include "python/change_record.h"

/* Items of a state (pyscatter/_tracker_plan.py). */
enum {
    AT_STEP,
    AT_MEASURED,
    AT_VERSION,
    AT_BASELINE,
    AT_SPARE,
    AT_IS_SHARED,
    AT_IDS,
    AT_MOMENTS,
    AT_AVERAGES,
    AT_DEAD_FOR,
    AT_STALE_ROWS,
    AT_RECORDS,
    AT_WAY_BACK,
    AT_PENDING,
    AT_LAST,
    N_ITEMS
};

typedef struct {
    PyObject_HEAD PyObject *state, *lock, *name; /* owned */
    char is_busy;
    bool is_plain; /* nothing but a comparison is asked for: with these options */
    bool finite_only, is_bfloat16;
    int axis;
    double atol, rtol;
} tracker;

/* ---- an update ---- */

static PyArrayObject *
array_at(PyObject *state, int at)
{
    PyObject *const item = PyTuple_GET_ITEM(state, at);
    return PyArray_CheckExact(item) ? (PyArrayObject *)item : NULL;
}

/* Is x like the array before, and is there room for it? */
static bool
is_like_the_last(const tracker *self, PyArrayObject *x)
{
    PyObject *const state = self->state;
    if (state == NULL || !PyTuple_Check(state) || PyTuple_GET_SIZE(state) != N_ITEMS) {
        return false;
    }
    const PyArrayObject *const old = array_at(state, AT_BASELINE);
    const PyArrayObject *const spare = array_at(state, AT_SPARE);
    return old != NULL && spare != NULL && PyTuple_GET_ITEM(state, AT_IDS) == Py_None &&
           PyArray_SAMESHAPE(x, old) && PyArray_SAMESHAPE(spare, old) &&
           (PyArray_DESCR(x) == PyArray_DESCR(old) ||
            PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(old)));
}

/* x against the baseline; it is copied to the spare array. 0 or -1. */
static int
measure(ps_state *module_state, const tracker *self, PyArrayObject *x,
        ps_raw_change *raw)
{
    PyObject *const state = self->state;
    ps_change_item own, *const item = &own;
    ps_change_call call;
    ps_begin_change_item(item, true);
    item->axis = self->axis;
    item->atol = self->atol;
    item->rtol = self->rtol;
    item->finite_only = self->finite_only;
    item->is_bfloat16 = self->is_bfloat16;
    item->old = (PyArrayObject *)Py_NewRef(PyTuple_GET_ITEM(state, AT_BASELINE));
    item->now = (PyArrayObject *)Py_NewRef((PyObject *)x);
    item->copy = (PyArrayObject *)Py_NewRef(PyTuple_GET_ITEM(state, AT_SPARE));
    const int status = ps_check_change_item(module_state, item) < 0
                               ? -1
                               : ps_run_change_items(module_state, item, &call, 1);
    if (status == 0) {
        *raw = ps_raw_change_of(item, &call);
    }
    ps_close_change_item(item);
    return status;
}

/* {"step": step, "first": False}, and the name if there is one. */
static PyObject *
context_of(ps_state *module_state, const tracker *self, PyObject *step)
{
    PyObject *const context = PyDict_New();
    PyObject *const *const names = module_state->name;
    if (context != NULL &&
        (PyDict_SetItem(context, names[PS_NAME_step], step) < 0 ||
         PyDict_SetItem(context, names[PS_NAME_first], Py_False) < 0 ||
         (self->name != NULL && self->name != Py_None &&
          PyDict_SetItem(context, names[PS_NAME_name], self->name) < 0))) {
        Py_DECREF(context);
        return NULL;
    }
    return context;
}

static PyObject *
record_of(ps_state *module_state, const tracker *self, PyObject *step,
          const ps_raw_change *raw)
{
    PyObject *const context = context_of(module_state, self, step);
    PyObject *const record =
            context != NULL ? ps_new_change(module_state, raw, Py_None, context) : NULL;
    Py_XDECREF(context);
    return record;
}

/* Item `at` of the state after `before`; a new reference or NULL. */
static PyObject *
next_item(PyObject *before, int at, PyObject *one, PyObject *record)
{
    PyObject *const none = Py_None;
    const bool is_shared = PyTuple_GET_ITEM(before, AT_IS_SHARED) != Py_False;
    switch (at) {
        case AT_STEP:
        case AT_MEASURED:
        case AT_VERSION:
            return PyNumber_Add(PyTuple_GET_ITEM(before, at), one);
        case AT_BASELINE:
            return Py_NewRef(PyTuple_GET_ITEM(before, AT_SPARE));
        case AT_SPARE:
            return Py_NewRef(is_shared ? none : PyTuple_GET_ITEM(before, AT_BASELINE));
        case AT_IS_SHARED:
            return Py_NewRef(Py_False);
        case AT_MOMENTS:
        case AT_PENDING:
            return Py_NewRef(none);
        case AT_RECORDS:
        case AT_WAY_BACK:
            return PyTuple_New(0);
        case AT_LAST:
            return Py_NewRef(record);
        default:
            return Py_NewRef(PyTuple_GET_ITEM(before, at));
    }
}

/* The state after one, whose last record is `record`. */
static PyObject *
next_state(PyObject *before, PyObject *record)
{
    PyTypeObject *const type = Py_TYPE(before);
    PyObject *const one = PyLong_FromLong(1);
    PyObject *const after = one != NULL ? type->tp_alloc(type, N_ITEMS) : NULL;
    bool is_made = after != NULL;
    for (int i = 0; is_made && i < N_ITEMS; i++) {
        PyObject *const item = next_item(before, i, one, record);
        PyTuple_SET_ITEM(after, i, item);
        is_made = item != NULL;
    }
    Py_XDECREF(one);
    if (!is_made) {
        Py_XDECREF(after);
        return NULL;
    }
    return after;
}

/* The record of an update, which has been committed. */
static PyObject *
update_shortly(ps_state *module_state, tracker *self, PyArrayObject *x)
{
    ps_raw_change raw;
    PyObject *const before = Py_NewRef(self->state);
    PyObject *after = NULL, *record = NULL;
    if (measure(module_state, self, x, &raw) == 0) {
        record = record_of(module_state, self, PyTuple_GET_ITEM(before, AT_STEP), &raw);
        after = record != NULL ? next_state(before, record) : NULL;
    }
    if (after != NULL && self->state != before) {
        PyErr_SetString(PyExc_RuntimeError, "the tracker was changed during an update");
        Py_CLEAR(after);
    }
    if (after == NULL) {
        Py_CLEAR(record);
    }
    else {
        Py_SETREF(self->state, after);
    }
    Py_DECREF(before);
    return record;
}

/* Call a method of a lock. 0 or -1. */
static int
turn_lock(PyObject *lock, PyObject *method)
{
    PyObject *const result = PyObject_CallMethodNoArgs(lock, method);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

/* Unlock after an update that has ended in `result`, or NULL and an exception, which
 * lasts unless there is another one. */
static PyObject *
release(ps_state *module_state, PyObject *lock, PyObject *result)
{
    PyObject *const method = module_state->name[PS_NAME_release];
    if (result != NULL) {
        if (turn_lock(lock, method) < 0) {
            Py_CLEAR(result);
        }
        return result;
    }
#if PY_VERSION_HEX >= 0x030c00f0
    PyObject *const raised = PyErr_GetRaisedException();
    if (turn_lock(lock, method) == 0) {
        PyErr_SetRaisedException(Py_XNewRef(raised));
    }
    Py_XDECREF(raised);
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (turn_lock(lock, method) == 0) {
        PyErr_Restore(Py_XNewRef(type), Py_XNewRef(value), Py_XNewRef(trace));
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
#endif
    return NULL;
}

/* *result becomes what a short update ends in; false: it is not one. The lock is held
 * as an object, too: another thread that makes the tracker anew would free it while
 * this one waits for it. */
static bool
has_updated_shortly(ps_state *module_state, tracker *self, PyArrayObject *x,
                    PyObject **result)
{
    PyObject *const lock = Py_NewRef(self->lock);
    *result = NULL;
    if (turn_lock(lock, module_state->name[PS_NAME_acquire]) < 0) {
        Py_DECREF(lock);
        return true;
    }
    const bool is_short = !self->is_busy && is_like_the_last(self, x);
    if (is_short) {
        self->is_busy = true;
        *result = update_shortly(module_state, self, x);
        self->is_busy = false;
    }
    *result = release(module_state, lock, *result);
    Py_DECREF(lock);
    return is_short || PyErr_Occurred();
}

static PyObject *
update(PyObject *object, PyTypeObject *base, PyObject *const *args, size_t n_args,
       PyObject *keywords)
{
    tracker *const self = (tracker *)object;
    PyObject *result;
    if (n_args == 1 && keywords == NULL && self->is_plain && self->lock != NULL &&
        PyArray_CheckExact(args[0]) &&
        has_updated_shortly(PyType_GetModuleState(base), self, (PyArrayObject *)args[0],
                            &result)) {
        return result;
    }
    PyObject *const method = PyObject_GetAttrString(object, "_update");
    result =
            method != NULL ? PyObject_Vectorcall(method, args, n_args, keywords) : NULL;
    Py_XDECREF(method);
    return result;
}

/* ---- the type ---- */

/* The options of short updates: a tuple of those of change_stats, in order, or None. */
static PyObject *
set_plain(PyObject *object, PyObject *options)
{
    tracker *const self = (tracker *)object;
    PyObject *slot[PS_CHANGE_SLOTS] = {NULL};
    self->is_plain = false;
    if (options == Py_None) {
        Py_RETURN_NONE;
    }
    if (!PyTuple_Check(options) ||
        PyTuple_GET_SIZE(options) != PS_CHANGE_COPY - PS_CHANGE_AXIS) {
        PyErr_SetString(PyExc_TypeError, "options must be a tuple");
        return NULL;
    }
    for (int i = PS_CHANGE_AXIS; i < PS_CHANGE_COPY; i++) {
        slot[i] = PyTuple_GET_ITEM(options, i - PS_CHANGE_AXIS);
    }
    ps_change_item item;
    ps_begin_change_item(&item, true);
    if (ps_read_change_options(&item, slot) < 0) {
        return NULL;
    }
    self->axis = item.axis;
    self->atol = item.atol;
    self->rtol = item.rtol;
    self->finite_only = item.finite_only;
    self->is_bfloat16 = item.is_bfloat16;
    self->is_plain = true;
    Py_RETURN_NONE;
}

static int
visit_parts(PyObject *object, visitproc visit, void *arg)
{
    const tracker *const self = (tracker *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->state);
    Py_VISIT(self->lock);
    Py_VISIT(self->name);
    return 0;
}

static int
clear_parts(PyObject *object)
{
    tracker *const self = (tracker *)object;
    Py_CLEAR(self->state);
    Py_CLEAR(self->lock);
    Py_CLEAR(self->name);
    return 0;
}

static void
end(PyObject *object)
{
    ps_end_object(object, clear_parts);
}

PyDoc_STRVAR(update_text,
             "update($self, /, x, ids=None)\n--\n\n"
             "Compare `x` with the baseline; see the class.");

static PyMethodDef methods[] = {
        {"update", (PyCFunction)(void (*)(void))update,
         METH_METHOD | METH_FASTCALL | METH_KEYWORDS, update_text},
        {"_set_plain", set_plain, METH_O, NULL},
        {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
        {"_state", T_OBJECT_EX, offsetof(tracker, state), 0, NULL},
        {"_lock", T_OBJECT_EX, offsetof(tracker, lock), 0, NULL},
        {"_name", T_OBJECT, offsetof(tracker, name), 0, NULL},
        {"_is_busy", T_BOOL, offsetof(tracker, is_busy), 0, NULL},
        {NULL, 0, 0, 0, NULL}};

int
ps_add_tracker(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, end},       {Py_tp_traverse, visit_parts},
                           {Py_tp_clear, clear_parts}, {Py_tp_members, members},
                           {Py_tp_methods, methods},   {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter._core.TrackerBase",
                        .basicsize = sizeof(tracker),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    return ps_add_type(module, &spec, NULL);
}
