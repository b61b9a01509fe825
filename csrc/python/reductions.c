/* The reductions of segments (contract in reductions.h).
 *
 * Sums and products of small integers widen as np.sum's do; means are of float64 where
 * the values are whole, and are summed in float64 or complex128 whatever the values
 * are, unless the caller names a dtype; half types are computed in float32.
 */
#include "python/reductions.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"

#define NUMBERS "biufVc"
#define ORDERED "biufVmM"
#define ANY "biufVcmMOSU"

static const ps_reduction rows[] = {
        {"add", PS_add, PS_FOLD_VALUES, false, .kinds = NUMBERS "m"},
        {"mul", PS_mul, PS_FOLD_VALUES, false, .kinds = NUMBERS},
        {"min", PS_min, PS_FOLD_VALUES, false, .kinds = ORDERED},
        {"max", PS_max, PS_FOLD_VALUES, false, .kinds = ORDERED},
        {"fmin", PS_fmin, PS_FOLD_VALUES, false, .kinds = ORDERED},
        {"fmax", PS_fmax, PS_FOLD_VALUES, false, .kinds = ORDERED},
        {"and", PS_and, PS_FOLD_VALUES, false, .kinds = "biu"},
        {"or", PS_or, PS_FOLD_VALUES, false, .kinds = "biu"},
        {"xor", PS_xor, PS_FOLD_VALUES, false, .kinds = "biu"},
        {"mean", PS_add, PS_FOLD_VALUES, true, .kinds = NUMBERS "m"},
        {"var", PS_add, PS_FOLD_VALUES, true, .kinds = NUMBERS, .spreads = true},
        {"std", PS_add, PS_FOLD_VALUES, true, .kinds = NUMBERS, .spreads = true,
         .roots = true},
        {"median", PS_min, PS_FOLD_ORDER, false, .kinds = ORDERED},
        {"quantile", PS_min, PS_FOLD_ORDER, false, .kinds = ORDERED,
         .needs_levels = true},
        {"first", PS_first, PS_FOLD_ENDS, false, .kinds = ANY},
        {"last", PS_set, PS_FOLD_ENDS, false, .kinds = ANY},
        {"argmin", PS_min, PS_FOLD_PLACES, false, .kinds = ORDERED},
        {"argmax", PS_max, PS_FOLD_PLACES, false, .kinds = ORDERED},
        {"count", PS_add, PS_FOLD_ONES, false, .kinds = ANY},
        {"any", PS_or, PS_FOLD_TRUTH, false, .kinds = NUMBERS "mM"},
        {"all", PS_and, PS_FOLD_TRUTH, false, .kinds = NUMBERS "mM"},
        {"logsumexp", PS_max, PS_FOLD_POWERS, false, .kinds = "biufV"},
};
enum {
    N_ROWS = sizeof(rows) / sizeof(rows[0])
};

static const struct {
    const char *alias, *name;
} aliases[] = {{"sum", "add"},    {"prod", "mul"}, {"multiply", "mul"},
               {"amin", "min"},   {"amax", "max"}, {"minimum", "min"},
               {"maximum", "max"}};

const ps_reduction *
ps_reduction_named(const char *name)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

bool
ps_is_order(enum ps_op op)
{
    return op == PS_min || op == PS_max || op == PS_fmin || op == PS_fmax;
}

/* Rows of values alone have ufuncs, whose fold they are. */
static const ps_reduction *
row_of_ufunc(const ps_state *state, PyObject *object)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].of == PS_FOLD_VALUES && !rows[i].divides &&
            state->ufunc[rows[i].fold] == object) {
            return &rows[i];
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "op must be a name or one of the ufuncs add, multiply, minimum, "
                 "maximum, fmin, fmax, bitwise_and, bitwise_or, bitwise_xor; got %R",
                 object);
    return NULL;
}

/* ValueError that names all rows. */
static const ps_reduction *
refuse_name(PyObject *op)
{
    PyObject *words = PyUnicode_FromFormat("unknown op %R; choose from", op);
    for (int i = 0; words != NULL && i < N_ROWS; i++) {
        Py_SETREF(words, PyUnicode_FromFormat("%U%s %s", words, i > 0 ? "," : "",
                                              rows[i].name));
    }
    if (words != NULL) {
        PyErr_SetObject(PyExc_ValueError, words);
        Py_DECREF(words);
    }
    return NULL;
}

const ps_reduction *
ps_find_reduction(const ps_state *state, PyObject *op)
{
    if (op == NULL) {
        return &rows[0];
    }
    if (!PyUnicode_Check(op)) {
        return row_of_ufunc(state, op);
    }
    for (int i = 0; i < N_ROWS; i++) {
        if (PyUnicode_CompareWithASCIIString(op, rows[i].name) == 0) {
            return &rows[i];
        }
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(op, aliases[i].alias) == 0) {
            return ps_reduction_named(aliases[i].name);
        }
    }
    return refuse_name(op);
}

/* ---- dtypes ---- */

static bool
is_half(enum ps_dtype type)
{
    return type == PS_f16 || type == PS_bf16;
}

/* A new reference to it in native order. */
static PyArray_Descr *
native(PyArray_Descr *descr)
{
    return PyDataType_ISNOTSWAPPED(descr)
                   ? (PyArray_Descr *)Py_NewRef((PyObject *)descr)
                   : PyArray_DescrNewByteorder(descr, NPY_NATIVE);
}

/* A new reference to what a call without dtype= returns. */
static PyArray_Descr *
natural_descr(const ps_reduction *reduction, PyArray_Descr *given)
{
    const int number = given->type_num;
    const bool is_whole = PyTypeNum_ISINTEGER(number) || PyTypeNum_ISBOOL(number);
    const bool sums = reduction->fold == PS_add || reduction->fold == PS_mul;
    if (reduction->of == PS_FOLD_ONES || reduction->of == PS_FOLD_PLACES) {
        return PyArray_DescrFromType(NPY_INT64);
    }
    if (is_whole && (reduction->divides || reduction->of == PS_FOLD_ORDER ||
                     reduction->of == PS_FOLD_POWERS)) {
        return PyArray_DescrFromType(NPY_DOUBLE);
    }
    if (sums && is_whole) {
        return PyArray_DescrFromType(PyTypeNum_ISUNSIGNED(number) ? NPY_UINT64
                                                                  : NPY_INT64);
    }
    if (reduction->spreads && PyTypeNum_ISCOMPLEX(number)) {
        return PyArray_DescrFromType(number == NPY_CFLOAT    ? NPY_FLOAT
                                     : number == NPY_CDOUBLE ? NPY_DOUBLE
                                                             : NPY_LONGDOUBLE);
    }
    return native(given);
}

static int
refuse_given(const ps_reduction *reduction, PyArray_Descr *given)
{
    const bool orders = PyTypeNum_ISCOMPLEX(given->type_num) &&
                        reduction->of != PS_FOLD_POWERS && ps_is_order(reduction->fold);
    PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S%s",
                 reduction->name, (PyObject *)given,
                 orders ? " (complex numbers have no order)" : "");
    return -1;
}

/* dtype= in place of the natural result, if a cast of one kind leads there: from the
 * values where they are summed, else from the natural result. 0 or -1. */
static int
take_dtype(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
           PyObject *dtype, ps_fold_types *types)
{
    PyArray_Descr *wanted = NULL;
    if (PyArray_DescrConverter(dtype, &wanted) != NPY_SUCCEED) {
        return -1;
    }
    Py_SETREF(wanted, native(wanted));
    if (wanted == NULL) {
        return -1;
    }
    const bool sums = (reduction->fold == PS_add || reduction->fold == PS_mul) &&
                      !reduction->spreads;
    const bool fits =
            ps_allows_cast(state, types->result, wanted, NPY_SAME_KIND_CASTING) ||
            (sums && ps_allows_cast(state, given, wanted, NPY_SAME_KIND_CASTING));
    if (fits) {
        Py_SETREF(types->result, (PyArray_Descr *)Py_NewRef((PyObject *)wanted));
    }
    else {
        PyErr_Format(
                PyExc_TypeError,
                "op '%s' on dtype %S has no result of dtype %S (a cast of the same "
                "kind)",
                reduction->name, (PyObject *)given, (PyObject *)wanted);
    }
    Py_DECREF(wanted);
    return fits ? 0 : -1;
}

/* Means and powers are sums of many, which float32 would lose. is_pair: the values are
 * complex numbers. */
static enum ps_dtype
accumulator_of(const ps_reduction *reduction, bool is_pair, enum ps_dtype result,
               bool is_named)
{
    enum ps_dtype type = is_half(result) ? PS_f32 : result;
    if ((reduction->divides || reduction->of == PS_FOLD_POWERS) && !is_named) {
        type = type == PS_f32 ? PS_f64 : type == PS_c64 ? PS_c128 : type;
    }
    if (reduction->spreads && is_pair) {
        return type == PS_f32 ? PS_c64 : type == PS_f64 ? PS_c128 : type;
    }
    if (reduction->of == PS_FOLD_POWERS) { /* of real values; the cast comes last */
        return type == PS_c64 ? PS_f32 : type == PS_c128 ? PS_f64 : type;
    }
    return type;
}

/* Are there kernels for sums of this type? */
static bool
is_computed(const ps_reduction *reduction, enum ps_dtype type)
{
    const ps_kernel_table *const kernels = ps_kernels();
    if (type >= PS_NUM_DTYPES || reduction->of == PS_FOLD_ENDS) {
        return type != PS_raw && reduction->of == PS_FOLD_ENDS;
    }
    switch (reduction->of) {
        case PS_FOLD_RUNNING: /* in wider types than this, some of them */
            return true;
        case PS_FOLD_PLACES:
            return kernels->find_checked[reduction->fold][type] != NULL;
        case PS_FOLD_ORDER:
            return kernels->quantile_finish[type] != NULL;
        case PS_FOLD_POWERS:
            return type == PS_f32 || type == PS_f64;
        default:
            return kernels->scatter[reduction->fold][type] != NULL &&
                   kernels->segment[reduction->fold][type] != NULL &&
                   !(reduction->divides && type == PS_b1);
    }
}

/* The type of sums is known; its descriptor. 0 or -1. */
static int
describe_sums(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
              ps_fold_types *types)
{
    const enum ps_dtype type = types->sum_type;
    const bool is_time = reduction->of == PS_FOLD_ENDS && type == PS_t64;
    if (type == types->result_type || is_time) { /* in the unit of the result */
        types->sum = (PyArray_Descr *)Py_NewRef((PyObject *)types->result);
    }
    else if (type == ps_dtype_of(state, given)) {
        types->sum = native(given);
    }
    else {
        types->sum = ps_descr_of(state, type);
    }
    return types->sum != NULL ? 0 : -1;
}

int
ps_find_types(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
              PyObject *dtype, ps_fold_types *types)
{
    const enum ps_dtype type = ps_dtype_of(state, given);
    const bool is_record = given->kind == 'V' && type != PS_bf16;
    const enum ps_folded of = reduction->of;
    *types = (ps_fold_types){NULL};
    if (is_record ? of != PS_FOLD_ONES && of != PS_FOLD_ENDS
                  : strchr(reduction->kinds, type == PS_bf16 ? 'V' : given->kind) ==
                            NULL) {
        return refuse_given(reduction, given);
    }
    types->result = natural_descr(reduction, given);
    if (types->result == NULL) {
        return -1;
    }
    const bool is_named = dtype != NULL && dtype != Py_None && of != PS_FOLD_ONES &&
                          of != PS_FOLD_PLACES && of != PS_FOLD_TRUTH;
    if (is_named && take_dtype(state, reduction, given, dtype, types) < 0) {
        return -1;
    }
    types->result_type = ps_dtype_of(state, types->result);
    types->sum_type =
            of == PS_FOLD_ENDS ? type
            : of == PS_FOLD_PLACES
                    ? (is_half(type) ? PS_f32 : type)
                    : accumulator_of(reduction, PyTypeNum_ISCOMPLEX(given->type_num),
                                     types->result_type, is_named);
    if (of == PS_FOLD_ENDS && (type == PS_raw || types->result_type == PS_raw)) {
        types->sum_type = PS_raw;
        types->sum = native(given);
        return types->sum != NULL ? 0 : -1;
    }
    return !is_computed(reduction, types->sum_type)
                   ? refuse_given(reduction, is_named ? types->result : given)
                   : describe_sums(state, reduction, given, types);
}

void
ps_close_types(ps_fold_types *types)
{
    Py_XDECREF(types->result);
    Py_XDECREF(types->sum);
}
