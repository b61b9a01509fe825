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
        {"count", PS_add, PS_FOLD_ONES, false, .kinds = "biufVcmMOSU"},
        {"var", PS_add, PS_FOLD_VALUES, true, .kinds = "biufV", .spreads = true},
        {"std", PS_add, PS_FOLD_VALUES, true, .kinds = "biufV", .spreads = true,
         .roots = true},
        {"argmin", PS_min, PS_FOLD_PLACES, false, .kinds = ORDERED},
        {"argmax", PS_max, PS_FOLD_PLACES, false, .kinds = ORDERED},
        {"first", PS_first, PS_FOLD_ENDS, false, .kinds = NUMBERS "mM"},
        {"last", PS_set, PS_FOLD_ENDS, false, .kinds = NUMBERS "mM"},
        {"any", PS_or, PS_FOLD_TRUTH, false, .kinds = NUMBERS "mM"},
        {"all", PS_and, PS_FOLD_TRUTH, false, .kinds = NUMBERS "mM"},
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
    return NULL;
}

/* ---- dtypes ---- */

static bool
is_half(enum ps_dtype type)
{
    return type == PS_f16 || type == PS_bf16;
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
    if (reduction->divides && is_whole) {
        return PyArray_DescrFromType(NPY_DOUBLE);
    }
    if (sums && is_whole) {
        return PyArray_DescrFromType(PyTypeNum_ISUNSIGNED(number) ? NPY_UINT64
                                                                  : NPY_INT64);
    }
    return PyDataType_ISNOTSWAPPED(given)
                   ? (PyArray_Descr *)Py_NewRef((PyObject *)given)
                   : PyArray_DescrNewByteorder(given, NPY_NATIVE);
}

/* dtype= in place of the natural result, if a cast of one kind leads there: from the
 * values where they are summed, else from the natural result. 1, 0 or -1. */
static int
take_dtype(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
           PyObject *dtype, ps_fold_types *types)
{
    PyArray_Descr *wanted = NULL;
    if (PyArray_DescrConverter(dtype, &wanted) != NPY_SUCCEED) {
        return -1;
    }
    if (!PyDataType_ISNOTSWAPPED(wanted)) {
        Py_SETREF(wanted, PyArray_DescrNewByteorder(wanted, NPY_NATIVE));
    }
    if (wanted == NULL) {
        return -1;
    }
    const bool sums = (reduction->fold == PS_add || reduction->fold == PS_mul) &&
                      !reduction->spreads;
    const enum ps_dtype type = ps_dtype_of(state, wanted);
    const bool fits =
            type != PS_raw && type != PS_bf16 &&
            (ps_allows_cast(state, types->result, wanted, NPY_SAME_KIND_CASTING) ||
             (sums && ps_allows_cast(state, given, wanted, NPY_SAME_KIND_CASTING)));
    if (fits) {
        Py_SETREF(types->result, (PyArray_Descr *)Py_NewRef((PyObject *)wanted));
    }
    Py_DECREF(wanted);
    return fits;
}

/* Means are sums of many, which float32 would lose. */
static enum ps_dtype
accumulator_of(const ps_reduction *reduction, enum ps_dtype result, bool is_named)
{
    if (reduction->divides && !is_named) {
        return result == PS_f32 || is_half(result) ? PS_f64
               : result == PS_c64                  ? PS_c128
                                                   : result;
    }
    return is_half(result) ? PS_f32 : result;
}

/* The types that ps_divide_sums knows. */
static bool
can_divide(enum ps_dtype type)
{
    return ps_dtype_size[type] >= 8 || type == PS_f32;
}

/* Places are found among values as they are, half types in float32. */
static int
take_order(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
           ps_fold_types *types)
{
    const enum ps_dtype type = ps_dtype_of(state, given);
    types->sum_type = is_half(type) ? PS_f32 : type;
    types->sum = is_half(type) ? ps_descr_of(state, PS_f32)
                 : PyDataType_ISNOTSWAPPED(given)
                         ? (PyArray_Descr *)Py_NewRef((PyObject *)given)
                         : PyArray_DescrNewByteorder(given, NPY_NATIVE);
    return types->sum == NULL
                   ? -1
                   : ps_kernels()->find_checked[reduction->fold][types->sum_type] !=
                             NULL;
}

int
ps_find_types(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
              PyObject *dtype, ps_fold_types *types)
{
    const bool is_bfloat16 = ps_dtype_of(state, given) == PS_bf16;
    *types = (ps_fold_types){NULL};
    if (strchr(reduction->kinds, is_bfloat16 ? 'V' : given->kind) == NULL ||
        (given->kind == 'V' && !is_bfloat16)) {
        return 0;
    }
    types->result = natural_descr(reduction, given);
    if (types->result == NULL) {
        return -1;
    }
    const bool is_named =
            dtype != NULL && dtype != Py_None &&
            (reduction->of == PS_FOLD_VALUES || reduction->of == PS_FOLD_ENDS);
    if (is_named) {
        const int taken = take_dtype(state, reduction, given, dtype, types);
        if (taken <= 0) {
            return taken;
        }
    }
    types->result_type = ps_dtype_of(state, types->result);
    if (reduction->of == PS_FOLD_ENDS) {
        types->sum_type = ps_dtype_of(state, given);
        types->sum = types->sum_type == PS_t64 /* in the unit of the result */
                             ? (PyArray_Descr *)Py_NewRef((PyObject *)types->result)
                             : natural_descr(reduction, given);
        return types->sum != NULL ? 1 : -1;
    }
    if (reduction->of == PS_FOLD_PLACES) {
        return take_order(state, reduction, given, types);
    }
    types->sum_type = accumulator_of(reduction, types->result_type, is_named);
    types->sum = types->sum_type == types->result_type
                         ? (PyArray_Descr *)Py_NewRef((PyObject *)types->result)
                         : ps_descr_of(state, types->sum_type);
    if (types->sum == NULL) {
        return -1;
    }
    return types->sum_type < PS_NUM_DTYPES &&
           ps_kernels()->scatter[reduction->fold][types->sum_type] != NULL &&
           (!reduction->divides || can_divide(types->sum_type)) &&
           (!reduction->spreads || types->sum_type == PS_f32 ||
            types->sum_type == PS_f64);
}

void
ps_close_types(ps_fold_types *types)
{
    Py_XDECREF(types->result);
    Py_XDECREF(types->sum);
}
