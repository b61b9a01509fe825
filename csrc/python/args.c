/* Arguments of FASTCALL functions (contract in args.h). Keywords are interned by the
 * compiler of the calling code, so a pointer comparison finds almost all of them. */
#include "python/args.h"

#include <string.h>

static int
find_name(const ps_state *state, const ps_signature *signature, PyObject *keyword)
{
    for (int i = 0; i < signature->n_names; i++) {
        if (state->name[signature->names[i]] == keyword) {
            return i;
        }
    }
    for (int i = 0; i < signature->n_names; i++) {
        if (PyUnicode_Compare(state->name[signature->names[i]], keyword) == 0) {
            return i;
        }
    }
    return -1;
}

static int
place_keyword(const ps_state *state, const ps_signature *signature, PyObject *keyword,
              PyObject *value, PyObject **slot)
{
    const int i = find_name(state, signature, keyword);
    if (i < 0) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError,
                         "%s() got an unexpected keyword argument '%U'",
                         signature->function, keyword);
        }
        return -1;
    }
    if (slot[i] != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                     signature->function, keyword);
        return -1;
    }
    slot[i] = value;
    return 0;
}

int
ps_parse(const ps_state *state, const ps_signature *signature, PyObject *const *args,
         Py_ssize_t n_args, PyObject *keywords, PyObject **slot)
{
    if (n_args > signature->n_positional) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes at most %d positional argument%s (%zd given)",
                     signature->function, signature->n_positional,
                     signature->n_positional == 1 ? "" : "s", n_args);
        return -1;
    }
    for (int i = 0; i < signature->n_names; i++) {
        slot[i] = i < n_args ? args[i] : NULL;
    }
    const Py_ssize_t n_keywords = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        if (place_keyword(state, signature, PyTuple_GET_ITEM(keywords, i),
                          args[n_args + i], slot) < 0) {
            return -1;
        }
    }
    for (int i = 0; i < signature->n_required; i++) {
        if (slot[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%U'",
                         signature->function, state->name[signature->names[i]]);
            return -1;
        }
    }
    return 0;
}

/* The spellings of ops; the first of each is the name. */
typedef struct {
    const char *spelling;
    enum ps_op op;
} op_row;

static const op_row op_rows[] = {
        {"set", PS_set},      {"add", PS_add},     {"sub", PS_sub},
        {"mul", PS_mul},      {"div", PS_div},     {"floor_div", PS_floor_div},
        {"min", PS_min},      {"max", PS_max},     {"fmin", PS_fmin},
        {"fmax", PS_fmax},    {"mean", PS_mean},   {"and", PS_and},
        {"or", PS_or},        {"xor", PS_xor},     {"first", PS_first},
        {"last", PS_set},     {"sum", PS_add},     {"prod", PS_mul},
        {"amin", PS_min},     {"amax", PS_max},    {"subtract", PS_sub},
        {"multiply", PS_mul}, {"divide", PS_div},  {"floor_divide", PS_floor_div},
        {"minimum", PS_min},  {"maximum", PS_max}, {"update", PS_set},
};
enum {
    N_OP_ROWS = sizeof(op_rows) / sizeof(op_rows[0])
};

int
ps_op_spelled(PyObject *name)
{
    for (int i = 0; i < N_OP_ROWS; i++) {
        if (PyUnicode_CompareWithASCIIString(name, op_rows[i].spelling) == 0) {
            return op_rows[i].op;
        }
    }
    return -1;
}

PyObject *
ps_op_spellings(void)
{
    PyObject *const names = PyDict_New();
    for (int i = 0; i < N_OP_ROWS && names != NULL; i++) {
        PyObject *const name = PyUnicode_FromString(ps_op_name(op_rows[i].op));
        const int status =
                name != NULL ? PyDict_SetItemString(names, op_rows[i].spelling, name)
                             : -1;
        Py_XDECREF(name);
        if (status < 0) {
            Py_DECREF(names);
            return NULL;
        }
    }
    return names;
}

const char *
ps_op_name(enum ps_op op)
{
    for (int i = 0; i < N_OP_ROWS; i++) {
        if (op_rows[i].op == op) {
            return op_rows[i].spelling;
        }
    }
    return "?";
}

/* A ufunc means that ufunc; any other object is refused by name. */
static int
op_of_ufunc(const ps_state *state, PyObject *object, enum ps_op *result)
{
    for (int op = 0; op < PS_NUM_OPS; op++) {
        if (object == state->ufunc[op]) {
            *result = (enum ps_op)op;
            return 0;
        }
    }
    PyErr_Format(
            PyExc_TypeError,
            "op must be a name or one of the ufuncs add, subtract, multiply, divide, "
            "floor_divide, minimum, maximum, fmin, fmax, bitwise_and, bitwise_or, "
            "bitwise_xor; got %R",
            object);
    return -1;
}

int
ps_to_op(const ps_state *state, PyObject *object, enum ps_op *result)
{
    if (object == NULL) {
        return 0;
    }
    if (!PyUnicode_Check(object)) {
        return op_of_ufunc(state, object, result);
    }
    const int op = ps_op_spelled(object);
    if (op >= 0) {
        *result = (enum ps_op)op;
        return 0;
    }
    PyErr_Format(
            PyExc_ValueError,
            "unknown op %R; choose from set, add, sub, mul, div, floor_div, min, max, "
            "fmin, fmax, mean, and, or, xor, first, last",
            object);
    return -1;
}

static const char *const mode_names[] = {[PS_MODE_RAISE] = "raise",
                                         [PS_MODE_DROP] = "drop",
                                         [PS_MODE_CLIP] = "clip",
                                         [PS_MODE_WRAP] = "wrap",
                                         [PS_MODE_FILL] = "fill"};

const char *
ps_mode_name(enum ps_mode mode)
{
    return mode_names[mode];
}

int
ps_to_mode(PyObject *object, bool is_gather, enum ps_mode *result)
{
    if (object == NULL) {
        return 0;
    }
    const int n_modes = is_gather ? PS_MODE_FILL + 1 : PS_MODE_FILL;
    for (int mode = 0; PyUnicode_Check(object) && mode < n_modes; mode++) {
        if (PyUnicode_CompareWithASCIIString(object, mode_names[mode]) == 0) {
            *result = (enum ps_mode)mode;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "unknown mode %R; choose from raise, drop, clip, wrap%s", object,
                 is_gather ? ", fill" : "");
    return -1;
}

static const char *const casting_names[] = {[NPY_NO_CASTING] = "no",
                                            [NPY_EQUIV_CASTING] = "equiv",
                                            [NPY_SAFE_CASTING] = "safe",
                                            [NPY_SAME_KIND_CASTING] = "same_kind",
                                            [NPY_UNSAFE_CASTING] = "unsafe"};
enum {
    N_CASTINGS = sizeof(casting_names) / sizeof(casting_names[0])
};

const char *
ps_casting_name(NPY_CASTING casting)
{
    return casting_names[casting];
}

int
ps_to_casting(PyObject *object, NPY_CASTING *result)
{
    if (object == NULL) {
        return 0;
    }
    for (int i = 0; PyUnicode_Check(object) && i < N_CASTINGS; i++) {
        if (PyUnicode_CompareWithASCIIString(object, casting_names[i]) == 0) {
            *result = (NPY_CASTING)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "unknown casting %R; choose from no, equiv, safe, same_kind, unsafe",
                 object);
    return -1;
}

int
ps_to_bool(PyObject *object, const char *name, bool *result)
{
    if (object == NULL) {
        return 0;
    }
    if (object != Py_True && object != Py_False && !PyArray_IsScalar(object, Bool)) {
        PyErr_Format(PyExc_TypeError, "%s must be True or False, got %R", name, object);
        return -1;
    }
    const int truth = PyObject_IsTrue(object);
    *result = truth > 0;
    return truth < 0 ? -1 : 0;
}

PyObject *
ps_as_integer(PyObject *object, const char *name, bool takes_bools)
{
    const bool is_bool = PyBool_Check(object) || PyArray_IsScalar(object, Bool);
    const bool is_refused = is_bool && !takes_bools;
    PyObject *const number = is_refused ? NULL : PyNumber_Index(object);
    if (number == NULL && (is_refused || PyErr_ExceptionMatches(PyExc_TypeError))) {
        PyErr_Format(PyExc_TypeError, "%s must be an integer, got %R", name, object);
    }
    return number;
}

int
ps_to_int(PyObject *object, const char *name, int *result)
{
    if (object == NULL) {
        return 0;
    }
    PyObject *const number = ps_as_integer(object, name, false);
    if (number == NULL) {
        return -1;
    }
    int overflow;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    /* Beyond every number of axes in either direction is all the same. */
    *result = overflow > 0 || value > INT_MAX   ? INT_MAX
              : overflow < 0 || value < INT_MIN ? INT_MIN
                                                : (int)value;
    return 0;
}

int
ps_to_size(PyObject *object, const char *name, int64_t *size)
{
    PyObject *const number = ps_as_integer(object, name, false);
    if (number == NULL) {
        return -1;
    }
    int overflow;
    *size = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0) {
        PyErr_Format(PyExc_ValueError, "%s %S does not fit in 64 bits", name, number);
    }
    else if (overflow < 0 || *size < 0) {
        PyErr_Format(PyExc_ValueError, "%s must not be negative, got %S", name, number);
    }
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

int
ps_check_axis(const ps_state *state, int axis, int ndim)
{
    if (axis >= -ndim && axis < ndim) {
        return axis < 0 ? axis + ndim : axis;
    }
    PyObject *const error = PyObject_CallFunction(state->axis_error, "ii", axis, ndim);
    if (error != NULL) {
        PyErr_SetObject(state->axis_error, error);
        Py_DECREF(error);
    }
    return -1;
}
