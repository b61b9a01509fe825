/* The base of calls and of their pullbacks: an object that holds what rules ask for.
 *
 * Rules are Python, and so are the methods (autodiff/parts.py, autodiff/calls.py); what
 * plain calls do between the user's two calls is here, since it is all that `vjp` costs
 * on ten elements: to make the object, and to follow a recipe (pullback_plain.c) where
 * there is one. Anything else goes to the method `by_rule`.
 *
 * Attributes may be set from Python, by any thread: each is looked at before it is
 * used, and held while it is.
 */
#include "python/pullback.h"

#include <stddef.h>
#include <structmember.h>

#include "python/arrays.h"

typedef struct {
    PyObject_HEAD;
    PyObject *rule, *primals, *options, *out, *ties;
    PyObject *store;           /* what rules have made once, a dict */
    PyObject *bound;           /* arguments by name, or None: nobody has asked */
    PyObject *wanted;          /* positions of arguments whose gradients are wanted */
    PyObject *recipe, *option; /* of plain calls; NULL: there is none */
} call_object;

/* A call of these five, and no recipe. */
static PyObject *
make_call(PyTypeObject *type, PyObject *const *field, PyObject *wanted)
{
    call_object *const self = (call_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->rule = Py_NewRef(field[0]);
    self->primals = Py_NewRef(field[1]);
    self->options = Py_NewRef(field[2]);
    self->out = Py_NewRef(field[3]);
    self->ties = Py_NewRef(field[4]);
    self->wanted = Py_NewRef(wanted);
    self->bound = Py_NewRef(Py_None);
    self->store = PyDict_New();
    if (self->store == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Call(rule, primals, options, out, ties, wanted=()) */
static PyObject *
new_call(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *field[5], *wanted = NULL;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Call() takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOOO|O!:Call", &field[0], &field[1], &field[2],
                          &field[3], &field[4], &PyTuple_Type, &wanted)) {
        return NULL;
    }
    PyObject *const none = wanted == NULL ? PyTuple_New(0) : Py_NewRef(wanted);
    PyObject *const made = none != NULL ? make_call(type, field, none) : NULL;
    Py_XDECREF(none);
    return made;
}

/* ---- the start ---- */

enum {
    CLASS,
    RULE,
    RECIPES,
    CALLED,
    PRIMALS,
    OPTIONS,
    TIES,
    WANTED,
    N_ARGS
};

/* The result and the pullback of a plain call, a new tuple. */
static PyObject *
begun(PyObject *const *args, PyObject *recipe, PyObject *option)
{
    PyObject *const primals = args[PRIMALS], *pair = NULL;
    PyObject *const *const first =
            PyTuple_GET_SIZE(primals) > 0 ? &PyTuple_GET_ITEM(primals, 0) : NULL;
    PyObject *const out = PyObject_VectorcallDict(
            args[CALLED], first, (size_t)PyTuple_GET_SIZE(primals),
            option != NULL ? args[OPTIONS] : NULL);
    if (out == NULL || !ps_is_real(out)) {
        Py_XDECREF(out);
        return out != NULL ? Py_NewRef(Py_None) : NULL;
    }
    PyObject *const field[] = {args[RULE], primals, args[OPTIONS], out, args[TIES]};
    PyObject *const made = make_call((PyTypeObject *)args[CLASS], field, args[WANTED]);
    if (made != NULL) {
        ((call_object *)made)->recipe = Py_NewRef(recipe);
        ((call_object *)made)->option = Py_XNewRef(option);
        pair = PyTuple_Pack(2, out, made);
        Py_DECREF(made);
    }
    Py_DECREF(out);
    return pair;
}

/* begin(class, rule, recipes, called, primals, options, ties, wanted): make a plain
 * call; (result, pullback), or None where the call is not so plain, or its result: it
 * was then made for nothing, as happens to calls that have no derivative alone. */
PyObject *
ps_py_begin(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    ps_state *const state = ps_get_state(module);
    if (n_args != N_ARGS || !PyType_Check(args[CLASS]) ||
        ((PyTypeObject *)args[CLASS])->tp_new != new_call ||
        !PyTuple_CheckExact(args[PRIMALS]) || !PyDict_CheckExact(args[OPTIONS]) ||
        !PyTuple_CheckExact(args[WANTED])) {
        PyErr_SetString(PyExc_TypeError, "begin() takes the parts of a call");
        return NULL;
    }
    PyObject *option = NULL, *result = NULL;
    PyObject *const recipe =
            PyDict_CheckExact(args[RECIPES])
                    ? ps_recipe_of(args[RECIPES], args[OPTIONS], &option)
                    : NULL;
    if (recipe != NULL && ps_are_plain(state, args[PRIMALS], args[WANTED])) {
        result = begun(args, recipe, option);
    }
    else if (!PyErr_Occurred()) {
        result = Py_NewRef(Py_None);
    }
    Py_XDECREF(recipe);
    Py_XDECREF(option);
    return result;
}

/* ---- the way back ---- */

/* By the recipe, which there is; None: the rule has to be asked. */
static PyObject *
pull(call_object *self, PyObject *g)
{
    const ps_plain_call held = {.recipe = Py_NewRef(self->recipe),
                                .option = Py_XNewRef(self->option),
                                .primals = Py_XNewRef(self->primals),
                                .wanted = Py_XNewRef(self->wanted),
                                .out = Py_XNewRef(self->out),
                                .ties = Py_XNewRef(self->ties)};
    const bool is_whole = held.primals != NULL && held.wanted != NULL &&
                          held.out != NULL && held.ties != NULL;
    PyObject *const made = is_whole
                                   ? ps_pull_plain(ps_state_of(Py_TYPE(self)), &held, g)
                                   : Py_NewRef(Py_None);
    Py_DECREF(held.recipe);
    Py_XDECREF(held.option);
    Py_XDECREF(held.primals);
    Py_XDECREF(held.wanted);
    Py_XDECREF(held.out);
    Py_XDECREF(held.ties);
    return made;
}

/* pullback(g): what the recipe gives, or the method by_rule, which takes all else. */
static PyObject *
call(PyObject *object, PyObject *args, PyObject *keywords)
{
    call_object *const self = (call_object *)object;
    if (self->recipe != NULL && self->recipe != Py_None &&
        (keywords == NULL || PyDict_GET_SIZE(keywords) == 0) &&
        PyTuple_GET_SIZE(args) == 1) {
        PyObject *const made = pull(self, PyTuple_GET_ITEM(args, 0));
        if (made != Py_None) {
            return made;
        }
        Py_DECREF(made);
    }
    PyObject *const method = PyObject_GetAttrString(object, "by_rule");
    if (method == NULL) {
        return NULL;
    }
    PyObject *const made = PyObject_Call(method, args, keywords);
    Py_DECREF(method);
    return made;
}

/* ---- the type ---- */

/* clang-format off */
#define FIELDS(ONE)                                                              \
    ONE(rule) ONE(primals) ONE(options) ONE(out) ONE(ties) ONE(store) ONE(bound) \
    ONE(wanted) ONE(recipe) ONE(option)
#define VISIT(name) Py_VISIT(self->name);
#define CLEAR(name) Py_CLEAR(self->name);
#define MEMBER(name) {#name, T_OBJECT, offsetof(call_object, name), 0, NULL},
static PyMemberDef members[] = {FIELDS(MEMBER) {NULL, 0, 0, 0, NULL}};
/* clang-format on */

static int
visit_fields(PyObject *object, visitproc visit, void *arg)
{
    call_object *const self = (call_object *)object;
    Py_VISIT(Py_TYPE(object));
    FIELDS(VISIT)
    return 0;
}

static int
clear_fields(PyObject *object)
{
    call_object *const self = (call_object *)object;
    FIELDS(CLEAR)
    return 0;
}

/* A call may hold another one, and so on: a long chain ends piece by piece. */
static void
end(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Py_TRASHCAN_BEGIN(object, end);
    ps_end_object(object, clear_fields);
    Py_TRASHCAN_END;
}

int
ps_add_calls(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_new, new_call},
                           {Py_tp_call, call},
                           {Py_tp_dealloc, end},
                           {Py_tp_traverse, visit_fields},
                           {Py_tp_clear, clear_fields},
                           {Py_tp_members, members},
                           {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter._core.Call",
                        .basicsize = sizeof(call_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    return ps_add_type(module, &spec, NULL);
}
