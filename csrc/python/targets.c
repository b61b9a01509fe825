/* Targets of scatters (contract in targets.h).
 *
 * Every refusal that depends on op, dtypes and out= alone is made here, from
 * descriptors, before the arguments that say where and what are converted.
 */
#include "python/targets.h"

#include <string.h>

#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"

const ps_scatter_options ps_default_options = {.op = PS_set,
                                               .mode = PS_MODE_RAISE,
                                               .include_self = true,
                                               .casting = NPY_SAME_KIND_CASTING};

/* ---- which op for which dtype ---- */

int
ps_refuse_op(enum ps_op op, PyArray_Descr *descr, const char *advice)
{
    PyErr_Format(PyExc_TypeError, "op '%s' is not defined for dtype %S%s",
                 ps_op_name(op), (PyObject *)descr, advice);
    return -1;
}

/* Half types are computed in f32. */
static enum ps_dtype
computed_as(enum ps_dtype dtype)
{
    return dtype == PS_f16 || dtype == PS_bf16 ? PS_f32 : dtype;
}

static bool
has_kernel(enum ps_op op, enum ps_dtype dtype)
{
    const enum ps_op reduction = op == PS_mean ? PS_add : op;
    return dtype < PS_NUM_DTYPES &&
           ps_kernels_of(PS_LEVEL_baseline)->scatter[reduction][dtype] != NULL;
}

/* Why `op`, no move, is not defined for a dtype (`descr`); NULL where it is. */
static const char *
find_objection(const ps_scatter_work *work, PyArray_Descr *descr, enum ps_dtype dtype)
{
    const enum ps_op op = work->options.op;
    const bool sums = op == PS_add || op == PS_sub || op == PS_mean;
    const bool orders = op == PS_min || op == PS_max || op == PS_fmin || op == PS_fmax;
    const enum ps_kind kind = dtype == PS_raw ? 0 : (enum ps_kind)ps_dtype_kind[dtype];
    if (op == PS_div && kind == PS_KIND_INT) {
        return " (its result is float: use floor_div, or convert the target)";
    }
    if (!has_kernel(op, computed_as(dtype)) ||
        (descr->type_num == NPY_DATETIME && sums)) {
        return "";
    }
    return orders && kind == PS_KIND_COMPLEX && !work->options.is_drop_in
                   ? " (complex numbers have no order)"
                   : NULL;
}

int
ps_check_op(const ps_scatter_work *work)
{
    const char *const objection =
            ps_is_move(work->options.op)
                    ? NULL
                    : find_objection(work, work->descr, work->dtype);
    return objection == NULL ? 0
                             : ps_refuse_op(work->options.op, work->descr, objection);
}

/* ---- the accumulator ---- */

static int
check_accumulator_cast(const ps_scatter_work *work, PyArray_Descr *from,
                       PyArray_Descr *to, NPY_CASTING casting)
{
    if (ps_allows_cast(work->state, from, to, casting)) {
        return 0;
    }
    PyErr_Format(
            PyExc_TypeError,
            "an accumulator does not cast from dtype %S to %S under this casting rule",
            (PyObject *)from, (PyObject *)to);
    return -1;
}

/* What a call without dtype= computes in. Means are sums of many, which float32 would
 * lose. */
static enum ps_dtype
default_accumulator(const ps_scatter_work *work)
{
    const enum ps_dtype dtype = work->dtype;
    if (work->options.op != PS_mean || dtype == PS_raw) {
        return computed_as(dtype);
    }
    switch ((enum ps_kind)ps_dtype_kind[dtype]) {
        case PS_KIND_INT:
            return PyTypeNum_ISSIGNED(work->descr->type_num) ? PS_i64 : PS_u64;
        case PS_KIND_FLOAT:
        case PS_KIND_HALF:
            return PS_f64;
        case PS_KIND_COMPLEX:
            return PS_c128;
        default:
            return dtype;
    }
}

/* Do kernels cast between a target's type and an accumulator's, both ways? Ticks of two
 * units are numbers of one type that mean different times. */
static bool
casts_both_ways(PyArray_Descr *own, enum ps_dtype dtype, PyArray_Descr *descr,
                enum ps_dtype wanted)
{
    if (dtype == PS_t64 || wanted == PS_t64) {
        return PyArray_EquivTypes(own, descr);
    }
    return ps_can_convert(dtype, wanted) && ps_can_convert(wanted, dtype);
}

/* dtype=, a type of numbers: the op has to exist there, and NumPy has to allow both
 * casts. Means are no whole numbers. */
static int
take_accumulator(ps_scatter_work *work, PyArray_Descr *descr, enum ps_dtype wanted)
{
    const ps_scatter_options *const options = &work->options;
    const NPY_CASTING casting = options->casting;
    const NPY_CASTING widening =
            casting == NPY_UNSAFE_CASTING ? casting : NPY_SAME_KIND_CASTING;
    if (ps_is_move(options->op)) {
        return 0;
    }
    if (check_accumulator_cast(work, work->descr, descr, widening) < 0 ||
        check_accumulator_cast(work, descr, work->descr, casting) < 0) {
        return -1;
    }
    const enum ps_kind kind = (enum ps_kind)ps_dtype_kind[wanted];
    if (find_objection(work, descr, wanted) != NULL ||
        (options->op == PS_mean && (kind == PS_KIND_INT || kind == PS_KIND_BOOL))) {
        PyErr_Format(PyExc_TypeError, "dtype %S cannot accumulate op '%s' for %S",
                     (PyObject *)descr, ps_op_name(options->op),
                     (PyObject *)work->descr);
        return -1;
    }
    work->accumulator = computed_as(wanted);
    work->has_foreign_sums =
            !casts_both_ways(work->descr, work->dtype, descr, work->accumulator);
    return 0;
}

int
ps_choose_accumulator(ps_scatter_work *work)
{
    PyObject *const dtype = work->options.dtype;
    PyArray_Descr *descr = NULL;
    work->accumulator = default_accumulator(work);
    work->has_foreign_sums = false;
    if (dtype == NULL || dtype == Py_None) {
        return 0;
    }
    if (PyArray_DescrConverter(dtype, &descr) != NPY_SUCCEED) {
        return -1;
    }
    const enum ps_dtype wanted = ps_dtype_of(work->state, descr);
    int status = -1;
    if (wanted == PS_raw) {
        PyErr_Format(PyExc_TypeError,
                     "dtype= names an accumulator, a type of numbers; got "
                     "%S",
                     (PyObject *)descr);
    }
    else {
        status = take_accumulator(work, descr, wanted);
    }
    Py_DECREF(descr);
    return status;
}

/* ---- the target ---- */

/* Means of whole numbers are floats, unless the caller's own array is to hold them:
 * floored, and only when asked for. */
static int
settle_integer_mean(ps_scatter_work *work, bool is_fresh)
{
    const int number = work->descr->type_num;
    if (work->options.op != PS_mean ||
        !(PyTypeNum_ISINTEGER(number) || PyTypeNum_ISBOOL(number))) {
        return 0;
    }
    if (is_fresh) {
        Py_SETREF(work->descr, PyArray_DescrFromType(NPY_DOUBLE));
        work->dtype = PS_f64;
        return 0;
    }
    if (PyTypeNum_ISBOOL(number)) {
        return ps_refuse_op(PS_mean, work->descr,
                            " in place (leave out= away for float64)");
    }
    if (work->options.casting != NPY_UNSAFE_CASTING) {
        PyErr_Format(PyExc_TypeError,
                     "means of dtype %S are float64; leave out= away, or pass "
                     "casting=\"unsafe\" for floored integers",
                     (PyObject *)work->descr);
        return -1;
    }
    work->options.dtype = NULL;
    return 0;
}

/* out= is another array: it receives a result that was worked on elsewhere, so that a
 * failure leaves it as it was. */
static int
check_other_out(const ps_scatter_work *work, PyArrayObject *array)
{
    PyObject *const object = work->options.out;
    if (ps_require_array(work->state, object, "out") < 0) {
        return -1;
    }
    PyArrayObject *const out = (PyArrayObject *)object;
    if (!PyArray_SAMESHAPE(out, array)) {
        return ps_raise_shapes(PyExc_ValueError,
                               "out has shape %U; expected %U, that of 'a'",
                               PyArray_NDIM(out), PyArray_DIMS(out),
                               PyArray_NDIM(array), PyArray_DIMS(array));
    }
    return ps_require_out_cast(work->state, "'a' ", PyArray_DESCR(array), out,
                               work->options.casting);
}

/* Do both arrays show the same elements alike? Each x[0] is a view of its own. */
static bool
are_one_view(PyObject *left, PyObject *right)
{
    if (!PyArray_CheckExact(left) || !PyArray_CheckExact(right)) {
        return false;
    }
    PyArrayObject *const a = (PyArrayObject *)left, *const b = (PyArrayObject *)right;
    return PyArray_DATA(a) == PyArray_DATA(b) && PyArray_DESCR(a) == PyArray_DESCR(b) &&
           PyArray_SAMESHAPE(a, b) &&
           memcmp(PyArray_STRIDES(a), PyArray_STRIDES(b),
                  (size_t)PyArray_NDIM(a) * sizeof(npy_intp)) == 0;
}

PyObject *
ps_same_or_out(const ps_scatter_work *work, PyObject *a)
{
    PyObject *const out = work->options.out;
    return out != NULL && out != a && are_one_view(a, out) ? out : a;
}

/* out= is asked where there is one, even for what `a` alone could answer. */
int
ps_check_target(ps_scatter_work *work, PyObject *a, PyArrayObject *array)
{
    PyObject *const out = work->options.out;
    const bool is_fresh = out == NULL || out == Py_None;
    enum ps_dtype unused;
    work->is_private = is_fresh || out != a || !PyArray_Check(a);
    if (!is_fresh && work->is_private && check_other_out(work, array) < 0) {
        return -1;
    }
    work->out = !is_fresh && work->is_private ? (PyArrayObject *)out : NULL;
    PyArrayObject *const counts = work->out != NULL ? work->out : array;
    work->descr = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(counts));
    const int from = ps_storage_of(work->state, array, &unused);
    const int to = ps_storage_of(work->state, counts, &work->dtype);
    if (from < 0 || to < 0 || settle_integer_mean(work, is_fresh) < 0) {
        return -1;
    }
    if (from == PS_STORED_OBJECTS || to == PS_STORED_OBJECTS) {
        return is_fresh || ps_require_writeable(counts) == 0 ? PS_STORED_OBJECTS : -1;
    }
    if (ps_check_op(work) < 0) {
        return -1;
    }
    /* What kernels write to is asked for the rest when the call is made. */
    const int status = is_fresh           ? 0
                       : work->is_private ? ps_require_writeable(counts)
                                          : ps_require_unlocked(counts);
    return status < 0 ? -1 : to;
}

/* Many flat positions of an array that has no flat view name elements of a copy, which
 * is copied back. */
int
ps_open_target(ps_scatter_work *work, PyArrayObject *array)
{
    if (!work->is_private && ps_needs_flat_copy(work->state, work->where, array)) {
        if (ps_require_writeable(array) < 0) {
            return -1;
        }
        work->is_private = true;
        work->out = array;
    }
    work->target =
            work->is_private
                    ? ps_fresh_copy(array,
                                    (PyArray_Descr *)Py_NewRef((PyObject *)work->descr))
                    : (PyArrayObject *)Py_NewRef((PyObject *)array);
    return work->target != NULL ? 0 : -1;
}
