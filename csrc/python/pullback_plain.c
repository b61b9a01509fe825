/* Pullbacks of plain calls, by recipe.
 *
 * Rules are Python; what a rule of a plain call comes to is a call or two of functions
 * of this module, and the frames of Python round them cost more than the calls on ten
 * elements. So such a rule is written down as data (pyscatter/autodiff/plain.py), which
 * is evaluated here. An invariant keeps it small: a recipe may be given up at any
 * point, before and after a call, since all that it makes is private; the general rule
 * is asked then, and knows every call.
 *
 * A recipe is (most, row, ...), for calls of at most so many positional arguments. A
 * row is (position, node), the gradient of one argument, or (position, node, number)
 * for elementwise operations: an argument has the cotangent's shape, or is a Python
 * float, whose gradient is `number`. A row of several positions makes a tuple; one of
 * no position is a condition. A node is a call, (function, names or None, node, ...),
 * as vectorcall takes it; an int, which is an operand: the position of an argument,
 * left out where there is none, or one of enum operand; or any other object, itself.
 */
#include "python/pullback.h"

#include "python/arrays.h"
#include "python/containers.h"

/* Operands that are no arguments, in the order of `pull_operands`. */
enum operand {
    COTANGENT = -1,
    RESULT = -2,
    ZEROS = -3,  /* zeros like the first argument, one array each time it is named */
    OPTION = -4, /* the value of the only option */
    TIES = -5,
    LAST_OPERAND = TIES
};

enum {
    /* Operands of a call, and calls within one another. */
    MOST_OPERANDS = 8,
    MOST_DEPTH = 8
};

/* What became of a recipe. */
enum outcome {
    FAILED = -1,
    NOT_PLAIN,
    MADE
};

/* zeros: a reference, or NULL until somebody asks for them. */
typedef struct {
    const ps_plain_call *call;
    PyObject *g, *zeros;
} job;

static PyObject *
bad_recipe(void)
{
    PyErr_SetString(PyExc_TypeError, "no such recipe of a pullback");
    return NULL;
}

bool
ps_is_real(PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return false;
    }
    const int type = PyArray_TYPE((PyArrayObject *)object);
    return (type == NPY_FLOAT32 || type == NPY_FLOAT64) &&
           PyArray_ISNOTSWAPPED((PyArrayObject *)object);
}

/* Is `object` an array of the dtype of g? */
static bool
is_of_type(PyObject *object, PyObject *g)
{
    return ps_is_real(object) &&
           PyArray_TYPE((PyArrayObject *)object) == PyArray_TYPE((PyArrayObject *)g);
}

/* Is `object` an array of the dtype and the shape of x? */
static bool
is_like(PyObject *object, PyObject *x)
{
    return is_of_type(object, x) &&
           PyArray_SAMESHAPE((PyArrayObject *)object, (PyArrayObject *)x);
}

/* ---- nodes ---- */

/* Zeros like the first argument, whose gradient is a sum. */
static PyObject *
zeros_of(job *work)
{
    if (work->zeros == NULL) {
        PyObject *const primals = work->call->primals;
        PyObject *const like =
                PyTuple_GET_SIZE(primals) > 0 ? PyTuple_GET_ITEM(primals, 0) : Py_None;
        if (!is_of_type(like, work->g)) {
            return bad_recipe();
        }
        PyArray_Descr *const descr = PyArray_DESCR((PyArrayObject *)work->g);
        Py_INCREF(descr);
        work->zeros = PyArray_Zeros(PyArray_NDIM((PyArrayObject *)like),
                                    PyArray_DIMS((PyArrayObject *)like), descr, 0);
    }
    return Py_XNewRef(work->zeros);
}

/* A new reference; NULL without an exception: an argument that was not given. */
static PyObject *
operand_of(job *work, PyObject *number)
{
    const long code = PyLong_AsLong(number);
    if (code == -1 && PyErr_Occurred()) {
        return NULL;
    }
    switch (code) {
        case COTANGENT:
            return Py_NewRef(work->g);
        case RESULT:
            return Py_NewRef(work->call->out);
        case ZEROS:
            return zeros_of(work);
        case OPTION:
            return work->call->option != NULL ? Py_NewRef(work->call->option)
                                              : bad_recipe();
        case TIES:
            return Py_NewRef(work->call->ties);
        default:
            if (code < 0) {
                return bad_recipe();
            }
            return code < PyTuple_GET_SIZE(work->call->primals)
                           ? Py_NewRef(PyTuple_GET_ITEM(work->call->primals, code))
                           : NULL;
    }
}

static PyObject *call_of(job *work, PyObject *node, int depth);

/* A new reference; NULL with an exception, or without one as operand_of. */
static PyObject *
value_of(job *work, PyObject *node, int depth)
{
    if (PyLong_CheckExact(node)) {
        return operand_of(work, node);
    }
    return PyTuple_CheckExact(node) ? call_of(work, node, depth) : Py_NewRef(node);
}

/* Names of keywords, of n operands at most. What is called may take for granted that
 * they are strings. */
static bool
are_names(PyObject *names, Py_ssize_t n)
{
    bool are = PyTuple_CheckExact(names) && PyTuple_GET_SIZE(names) <= n;
    for (Py_ssize_t i = 0; are && i < PyTuple_GET_SIZE(names); i++) {
        are = PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i));
    }
    return are;
}

/* A new reference; NULL with an exception. Positional operands that were not given are
 * left out: they are the last ones. */
static PyObject *
call_of(job *work, PyObject *node, int depth)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(node) - 2;
    PyObject *const names = n >= 0 ? PyTuple_GET_ITEM(node, 1) : NULL;
    if (names == NULL || n > MOST_OPERANDS || depth == MOST_DEPTH ||
        (names != Py_None && !are_names(names, n))) {
        return bad_recipe();
    }
    const Py_ssize_t named = names != Py_None ? PyTuple_GET_SIZE(names) : 0;
    PyObject *stack[MOST_OPERANDS + 1], *made = NULL;
    Py_ssize_t filled = 0, left_out = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const value =
                value_of(work, PyTuple_GET_ITEM(node, i + 2), depth + 1);
        if (value != NULL) {
            stack[1 + filled++] = value;
        }
        else if (PyErr_Occurred() || i >= n - named) {
            goto finish;
        }
        else {
            left_out++;
        }
    }
    made = PyObject_Vectorcall(
            PyTuple_GET_ITEM(node, 0), stack + 1,
            (size_t)(n - named - left_out) | PY_VECTORCALL_ARGUMENTS_OFFSET,
            named > 0 ? names : NULL);
finish:
    for (Py_ssize_t i = 0; i < filled; i++) {
        Py_DECREF(stack[1 + i]);
    }
    return made != NULL || PyErr_Occurred() ? made : bad_recipe();
}

/* ---- rows ---- */

static bool
is_wanted(const job *work, PyObject *position)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(work->call->wanted); i++) {
        if (PyLong_AsLong(PyTuple_GET_ITEM(work->call->wanted, i)) ==
            PyLong_AsLong(position)) {
            return true;
        }
    }
    return false;
}

/* Put a gradient into the tuple, if it is one of an argument that is wanted. */
static int
put(const job *work, PyObject *made, PyObject *position, PyObject *part)
{
    if (!PyLong_CheckExact(position)) {
        bad_recipe();
        return -1;
    }
    const long i = PyLong_AsLong(position);
    if (i < 0 || i >= PyTuple_GET_SIZE(made) || !is_wanted(work, position)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *const before = PyTuple_GET_ITEM(made, i);
    PyTuple_SET_ITEM(made, i, Py_NewRef(part));
    Py_DECREF(before);
    return 0;
}

/* The gradient of one argument. */
static enum outcome
take_single(job *work, PyObject *row, PyObject *made)
{
    PyObject *const position = PyTuple_GET_ITEM(row, 0);
    if (!is_wanted(work, position)) {
        return PyErr_Occurred() ? FAILED : MADE;
    }
    PyObject *const x = PyTuple_GET_ITEM(work->call->primals, PyLong_AsLong(position));
    const bool is_elementwise = PyTuple_GET_SIZE(row) == 3;
    const bool is_number = PyFloat_CheckExact(x), is_array = PyArray_Check(x);
    if (is_number ? !is_elementwise : is_elementwise && !is_like(x, work->g)) {
        return NOT_PLAIN;
    }
    PyObject *const part = value_of(work, PyTuple_GET_ITEM(row, is_number ? 2 : 1), 0);
    if (part == NULL) {
        return PyErr_Occurred() ? FAILED : NOT_PLAIN;
    }
    enum outcome outcome = NOT_PLAIN;
    if (part != Py_None && (!is_array || is_like(part, x))) {
        outcome = put(work, made, position, part) < 0 ? FAILED : MADE;
    }
    Py_DECREF(part);
    return outcome;
}

/* The gradients of several arguments at once. */
static enum outcome
take_several(job *work, PyObject *row, PyObject *made)
{
    PyObject *const positions = PyTuple_GET_ITEM(row, 0);
    PyObject *const parts = value_of(work, PyTuple_GET_ITEM(row, 1), 0);
    if (parts == NULL || parts == Py_None) {
        Py_XDECREF(parts);
        return parts == NULL && PyErr_Occurred() ? FAILED : NOT_PLAIN;
    }
    enum outcome outcome = MADE;
    const Py_ssize_t n = PyTuple_GET_SIZE(positions);
    if (!PyTuple_CheckExact(parts) || PyTuple_GET_SIZE(parts) != n) {
        bad_recipe();
        outcome = FAILED;
    }
    for (Py_ssize_t i = 0; i < n && outcome == MADE; i++) {
        if (put(work, made, PyTuple_GET_ITEM(positions, i),
                PyTuple_GET_ITEM(parts, i)) < 0) {
            outcome = FAILED;
        }
    }
    Py_DECREF(parts);
    return outcome;
}

static enum outcome
meet_condition(job *work, PyObject *node)
{
    PyObject *const holds = value_of(work, node, 0);
    if (holds == NULL) {
        return PyErr_Occurred() ? FAILED : NOT_PLAIN;
    }
    Py_DECREF(holds);
    return holds == Py_True ? MADE : NOT_PLAIN;
}

static enum outcome
take_row(job *work, PyObject *row, PyObject *made)
{
    const Py_ssize_t n = PyTuple_CheckExact(row) ? PyTuple_GET_SIZE(row) : 0;
    PyObject *const position = n == 2 || n == 3 ? PyTuple_GET_ITEM(row, 0) : NULL;
    if (position == Py_None) {
        return meet_condition(work, PyTuple_GET_ITEM(row, 1));
    }
    if (position != NULL && PyTuple_CheckExact(position)) {
        return take_several(work, row, made);
    }
    if (position != NULL && PyLong_CheckExact(position)) {
        return take_single(work, row, made);
    }
    bad_recipe();
    return FAILED;
}

/* ---- calls ---- */

PyObject *
ps_recipe_of(PyObject *recipes, PyObject *options, PyObject **option)
{
    PyObject *name, *value, *found = NULL;
    Py_ssize_t at = 0;
    if (PyDict_GET_SIZE(options) == 0) {
        return Py_XNewRef(PyDict_GetItemWithError(recipes, Py_None));
    }
    if (PyDict_GET_SIZE(options) > 1 || !PyDict_Next(options, &at, &name, &value) ||
        !PyUnicode_CheckExact(name)) {
        return NULL;
    }
    *option = Py_NewRef(value);
    if (PyUnicode_CheckExact(value) &&
        PyUnicode_CompareWithASCIIString(name, "op") == 0) {
        found = PyDict_GetItemWithError(recipes, value);
    }
    if (found == NULL && !PyErr_Occurred()) {
        found = PyDict_GetItemWithError(recipes, name);
    }
    return Py_XNewRef(found);
}

/* Positions are ints, which are the same numbers whenever they are looked at: those of
 * other objects are what code of theirs returns. */
bool
ps_are_plain(ps_state *state, PyObject *primals, PyObject *wanted)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(wanted); i++) {
        PyObject *const position = PyTuple_GET_ITEM(wanted, i);
        if (!PyLong_Check(position)) {
            PyErr_SetString(PyExc_TypeError, "positions of arguments must be integers");
            return false;
        }
        const long at = PyLong_AsLong(position);
        if (at < 0 || at >= PyTuple_GET_SIZE(primals)) {
            return false;
        }
        PyObject *const x = PyTuple_GET_ITEM(primals, at);
        const ps_container *const matrix =
                PyArray_CheckExact(x) ? NULL : ps_container_of(state, x);
        if (!ps_is_real(matrix != NULL ? matrix->data : x) && !PyFloat_CheckExact(x)) {
            return false;
        }
    }
    return true;
}

/* The gradients by a recipe, a new tuple; None: the call is not so plain. */
static PyObject *
follow(job *work, PyObject *recipe)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(work->call->primals);
    PyObject *const made = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n && made != NULL; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(Py_None));
    }
    enum outcome outcome = made != NULL ? MADE : FAILED;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(recipe) && outcome == MADE; i++) {
        outcome = take_row(work, PyTuple_GET_ITEM(recipe, i), made);
    }
    Py_CLEAR(work->zeros);
    if (outcome == MADE) {
        return made;
    }
    Py_XDECREF(made);
    return outcome == FAILED ? NULL : Py_NewRef(Py_None);
}

PyObject *
ps_pull_plain(ps_state *state, const ps_plain_call *call, PyObject *g)
{
    if (!PyTuple_CheckExact(call->recipe) || !PyTuple_CheckExact(call->primals) ||
        !PyTuple_CheckExact(call->wanted) || PyTuple_GET_SIZE(call->recipe) == 0) {
        return bad_recipe();
    }
    if (ps_is_real(g) && is_like(call->out, g) &&
        PyTuple_GET_SIZE(call->primals) <=
                PyLong_AsLong(PyTuple_GET_ITEM(call->recipe, 0)) &&
        ps_are_plain(state, call->primals, call->wanted)) {
        job work = {.call = call, .g = g};
        return follow(&work, call->recipe);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- conditions ---- */

/* covers(mask, g): has an array of bools an element for each of another array's? */
PyObject *
ps_py_covers(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return PyBool_FromLong(
            n_args == 2 && PyArray_CheckExact(args[0]) && PyArray_CheckExact(args[1]) &&
            PyArray_TYPE((PyArrayObject *)args[0]) == NPY_BOOL &&
            PyArray_SAMESHAPE((PyArrayObject *)args[0], (PyArrayObject *)args[1]));
}

/* are_factors(A, X, ...): is A a CSR or CSC that stores numbers of the dtype of all the
 * others, arrays of two axes? */
PyObject *
ps_py_are_factors(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    const ps_container *const A =
            n_args > 0 ? ps_container_of(ps_get_state(module), args[0]) : NULL;
    bool are = A != NULL && A->format != PS_COO && ps_is_real(A->data);
    for (Py_ssize_t i = 1; i < n_args && are; i++) {
        are = is_of_type(args[i], A->data) &&
              PyArray_NDIM((PyArrayObject *)args[i]) == 2;
    }
    return PyBool_FromLong(are);
}

/* The numbers of the operands that are no arguments, in the order of their enum. */
int
ps_add_pull_operands(PyObject *module)
{
    PyObject *const numbers = PyTuple_New(-LAST_OPERAND);
    for (int i = 0; i < -LAST_OPERAND && numbers != NULL; i++) {
        PyTuple_SET_ITEM(numbers, i, PyLong_FromLong(-1 - i));
    }
    const int status = numbers != NULL
                               ? PyModule_AddObjectRef(module, "pull_operands", numbers)
                               : -1;
    Py_XDECREF(numbers);
    return status;
}
