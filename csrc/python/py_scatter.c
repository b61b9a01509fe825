/* The binding of the scatter family: five addressings and twelve drop-ins.
 *
 * Each call: arguments to options; a target (the caller's array, or a fresh one); a
 * request (where) and incoming values; one op; an exception or the result. Hooks of the
 * arguments (__array__, __index__) run while these are converted; data pointers are
 * taken afterwards, when no more Python code can run but a signal handler's.
 */
#include "python/py_scatter.h"

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/forms.h"
#include "python/py_plan.h"
#include "python/targets.h"

/* ---- running ---- */

/* NumPy's one warning for integer division by zero, before anything is written. */
static int
warn_of_zeros(ps_scatter_work *work, ps_scatter_call *call, int64_t nbytes)
{
    ps_divisor_check check = {call, false};
    const ps_status status = ps_run_op(work->state, ps_check_divisors, &check, nbytes);
    if (ps_raise(work->state, status, work->request.index_name) < 0) {
        return -1;
    }
    return !check.has_zero
                   ? 0
                   : PyErr_WarnEx(PyExc_RuntimeWarning,
                                  "divide by zero encountered in floor_divide", 1);
}

/* NumPy's warning for Python numbers that overflow the target's type, if they take
 * part, before anything is written. */
static int
warn_of_overflow(ps_scatter_work *work, ps_scatter_call *call, int64_t nbytes)
{
    ps_largest_search search = {call, 0};
    const ps_status status = ps_run_op(work->state, ps_find_largest, &search, nbytes);
    return ps_raise(work->state, status, work->request.index_name) < 0
                   ? -1
                   : ps_warn_of_overflow(search.largest, work->descr);
}

static const char *
shape_formula(const ps_where_args *where)
{
    static const char *const formulas[] = {
            [PS_FORM_AXIS] =
                    "a.shape[:axis] + index.shape[batch_dims:] + a.shape[axis+1:]",
            [PS_FORM_ALONG] = "index.shape broadcast against 'a' off the axis",
            [PS_FORM_ND] =
                    "indices.shape[:-1] + a.shape[batch_dims + indices.shape[-1]:]",
            [PS_FORM_AT] = "a[indices].shape",
            [PS_FORM_WHERE] = "a.shape (one value for each true: packed=True)"};
    if (where->name != NULL && where->form == PS_FORM_AXIS) {
        return "a.shape[:axis] + indices.shape + a.shape[axis+1:]";
    }
    return where->axis == Py_None ? "index.shape" : formulas[where->form];
}

static int64_t
estimate_nbytes(const ps_scatter_call *call)
{
    int64_t row_count, nbytes;
    if (!ps_count(call->rows.ndim, call->rows.shape, &row_count) ||
        __builtin_mul_overflow(row_count, call->target.itemsize, &nbytes) ||
        __builtin_mul_overflow(nbytes + 16, call->address.n, &nbytes)) {
        return INT64_MAX;
    }
    return nbytes;
}

/* The call, from arrays as they are at this moment. It can be run as long as no Python
 * code runs again: of what that may have done, a lock, another shape or other memory is
 * seen here, and another dtype refused. */
static int
make_call(ps_scatter_work *work, ps_scatter_call *call)
{
    ps_request *const request = &work->request;
    PyArrayObject *const view = request->view;
    if ((!work->is_private && ps_require_writeable(work->target) < 0) ||
        ps_open_request(request, work->target, work->options.mode) < 0 ||
        ps_point_values(work->state, &work->values) < 0 ||
        ps_broadcast_values(&work->values, request->result_ndim, request->result_shape,
                            shape_formula(work->where)) < 0 ||
        ps_check_kept(work->state, view, work->dtype, work->itemsize, "a") < 0) {
        return -1;
    }
    ps_bind_result(request, work->values.strides);
    *call = (ps_scatter_call){.address = request->address,
                              .rows = request->rows,
                              .values = work->values.view,
                              .spans = work->spans.span,
                              .n_spans = work->spans.n,
                              .op = work->options.op,
                              .accumulator = work->accumulator,
                              .include_self = work->options.include_self,
                              .spares_others = work->where->are_trues,
                              .compensated = work->options.compensated};
    call->values.entry_strides = request->entry_strides;
    call->values.offset = work->value_offsets;
    call->values.weights = work->weights;
    call->target = (ps_target){.data = PyArray_BYTES(view),
                               .dtype = work->dtype,
                               .itemsize = work->itemsize,
                               .swapped = work->dtype != PS_raw && ps_is_swapped(view),
                               .aligned = PyArray_ISALIGNED(view),
                               .is_private = work->is_private};
    return 0;
}

/* Where and values, for a target that is open. */
static int
run_on_target(ps_scatter_work *work, PyObject *values)
{
    ps_request *const request = &work->request;
    const enum ps_dtype type =
            ps_is_move(work->options.op) ? work->dtype : work->accumulator;
    work->itemsize = PyArray_ITEMSIZE(work->target);
    if (ps_fill_request(work->state, work->where, work->target, request) < 0 ||
        ps_take_values(work->state, values, PyArray_DESCR(work->target), type,
                       work->options.casting, &work->values) < 0) {
        return -1;
    }
    if (work->value_offsets !=
                NULL && /* which are counted in the array that is given */
        (work->values.array == NULL ||
         PyArray_BYTES(work->values.array) != PyArray_BYTES((PyArrayObject *)values))) {
        return ps_raise_changed("values");
    }
    if (!work->is_private && (ps_separate_request(request, work->target) < 0 ||
                              ps_separate_values(&work->values, work->target) < 0)) {
        return -1;
    }
    ps_scatter_call call;
    if (make_call(work, &call) < 0) {
        return -1;
    }
    const int64_t nbytes = estimate_nbytes(&call);
    const bool divides = work->options.op == PS_floor_div &&
                         ps_dtype_kind[work->accumulator] == PS_KIND_INT;
    /* A warning runs Python code, after which the call is made anew. */
    if ((divides &&
         (warn_of_zeros(work, &call, nbytes) < 0 || make_call(work, &call) < 0)) ||
        (work->values.may_overflow &&
         (warn_of_overflow(work, &call, nbytes) < 0 || make_call(work, &call) < 0))) {
        return -1;
    }
    const ps_status status =
            ps_run_op(work->state, request->is_where ? ps_scatter_where : ps_scatter,
                      &call, nbytes);
    return ps_raise(work->state, status, request->index_name);
}

/* What a Python helper does instead: objects, and sums that NumPy casts. */
static PyObject *
run_by_helper(const ps_scatter_work *work, enum ps_helper helper, PyObject *a,
              PyObject *values)
{
    const ps_where_args *const where = work->where;
    PyObject *const function = ps_get_helper(work->state, helper);
    PyObject *const none = Py_None;
    if (function == NULL) {
        return NULL;
    }
    return PyObject_CallFunction(function, "sOOOOOOssOOOsO", ps_form_name(where->form),
                                 a, where->index ? where->index : none, values,
                                 where->axis ? where->axis : Py_NotImplemented,
                                 where->batch_dims ? where->batch_dims : none,
                                 where->mask ? where->mask : none,
                                 ps_op_name(work->options.op),
                                 ps_mode_name(work->options.mode),
                                 work->options.include_self ? Py_True : Py_False,
                                 work->options.dtype ? work->options.dtype : none,
                                 work->options.compensated ? Py_True : Py_False,
                                 ps_casting_name(work->options.casting),
                                 work->options.out ? work->options.out : none);
}

/* What a helper makes of a call under a mask: the result, for values to be cast to
 * `descr`, or with `descr` NULL the places of the trues. */
static PyObject *
run_on_selected(const ps_scatter_work *work, PyArray_Descr *descr, PyObject *a,
                PyObject *values)
{
    const enum ps_helper helper =
            descr == NULL ? PS_HELPER_packed_places : PS_HELPER_scatter_cast;
    PyObject *const function = ps_get_helper(work->state, helper);
    PyArrayObject *const array =
            function != NULL ? ps_as_array(work->state, a, "a") : NULL;
    PyArrayObject *const mask =
            array != NULL ? ps_as_mask(work->state, work->where->mask, "mask") : NULL;
    PyObject *const out = work->options.out ? work->options.out : Py_None;
    PyObject *result = NULL;
    if (mask != NULL && ps_check_mask(mask, array) == 0) {
        result = descr == NULL
                         ? PyObject_CallFunctionObjArgs(function, (PyObject *)array,
                                                        (PyObject *)mask, values, NULL)
                         : PyObject_CallFunction(
                                   function, "OOOOOssO", (PyObject *)array,
                                   (PyObject *)mask, values, (PyObject *)work->descr,
                                   (PyObject *)descr, ps_op_name(work->options.op),
                                   ps_casting_name(work->options.casting),
                                   out == a ? (PyObject *)array : out);
    }
    Py_XDECREF((PyObject *)mask);
    Py_XDECREF((PyObject *)array);
    return result;
}

/* Are these values that a cast under the rule of the call may change? Python numbers
 * have been checked unless the rule is "unsafe". */
static bool
are_cast(const ps_scatter_work *work, PyObject *values)
{
    return PyArray_Check(values) || PyArray_IsScalar(values, Generic) ||
           (work->options.casting == NPY_UNSAFE_CASTING &&
            (ps_is_python_number(values) || PyList_Check(values) ||
             PyTuple_Check(values)));
}

/* Under a mask only selected values may be cast where a cast has something to warn of:
 * a helper does that. What they are cast to, a new reference, in any byte order; NULL:
 * nothing of the kind, or an exception. */
static PyArray_Descr *
descr_of_selected(const ps_scatter_work *work, PyObject *values)
{
    const bool moves = ps_is_move(work->options.op);
    const enum ps_dtype to = moves ? work->dtype : work->accumulator;
    if (work->where->form != PS_FORM_WHERE || !are_cast(work, values) ||
        (!moves && ps_dtype_kind[to] != PS_KIND_INT)) {
        return NULL;
    }
    PyArrayObject *const array = ps_as_array(work->state, values, "values");
    PyArray_Descr *const descr =
            array == NULL ? NULL
            : moves       ? (PyArray_Descr *)Py_NewRef((PyObject *)work->descr)
                          : ps_descr_of(work->state, to);
    const int is_silent =
            descr == NULL ? -1 : ps_casts_silently(work->state, array, descr, to);
    Py_XDECREF((PyObject *)array);
    if (is_silent != 0) {
        Py_XDECREF((PyObject *)descr);
        return NULL;
    }
    return descr;
}

static PyObject *
finish(ps_scatter_work *work)
{
    return work->out == NULL ? Py_NewRef((PyObject *)work->target)
                             : ps_deliver(work->target, work->out);
}

/* The call on its target, once that is known: by kernels, or by a helper. */
static PyObject *
run_checked(ps_scatter_work *work, PyObject *a, PyArrayObject *array, PyObject *values)
{
    if (ps_choose_accumulator(work) < 0) {
        return NULL;
    }
    if (work->has_foreign_sums) {
        return !work->is_private && ps_require_writeable(array) < 0
                       ? NULL
                       : run_by_helper(work, PS_HELPER_scatter_through, a, values);
    }
    PyArray_Descr *const descr = descr_of_selected(work, values);
    if (descr != NULL) {
        PyObject *const result = run_on_selected(work, descr, a, values);
        Py_DECREF(descr);
        return result;
    }
    if (PyErr_Occurred() || ps_open_target(work, array) < 0) {
        return NULL;
    }
    if (work->dtype == PS_raw &&
        ps_find_spans(PyArray_DESCR(work->target), &work->spans) < 0) {
        return NULL;
    }
    return run_on_target(work, values) == 0 ? finish(work) : NULL;
}

/* Any scatter: the one path from arguments to result. */
static PyObject *
scatter_form(ps_scatter_work *work, PyObject *a, PyObject *values)
{
    a = ps_same_or_out(work, a);
    work->target = NULL;
    work->descr = NULL;
    work->spans = (ps_spans){NULL, 0};
    work->value_offsets = NULL;
    work->weights = NULL;
    work->values.array = NULL;
    ps_begin_request(&work->request);
    PyArrayObject *const array = ps_as_array(work->state, a, "a");
    PyObject *result = NULL;
    if (array == NULL) {
        return NULL;
    }
    const int storage = ps_check_target(work, a, array);
    if (storage == PS_STORED_OBJECTS) {
        result = run_by_helper(work, PS_HELPER_scatter_objects, a, values);
    }
    else if (storage >= 0) {
        result = run_checked(work, a, array, values);
    }
    ps_close_request(&work->request);
    ps_close_values(&work->values);
    ps_close_spans(&work->spans);
    Py_XDECREF(work->target);
    Py_XDECREF(work->descr);
    Py_DECREF(array);
    return result;
}

/* ---- the public functions ---- */

/* Options in the order in which every signature ends. */
static int
take_options(ps_state *state, PyObject *const *slot, ps_scatter_options *options)
{
    *options = ps_default_options;
    options->dtype = slot[3];
    options->out = slot[6];
    if (ps_to_op(state, slot[0], &options->op) < 0 ||
        ps_to_mode(slot[1], false, &options->mode) < 0 ||
        ps_to_bool(slot[2], "include_self", &options->include_self) < 0 ||
        ps_to_bool(slot[4], "compensated", &options->compensated) < 0 ||
        ps_to_casting(slot[5], &options->casting) < 0) {
        return -1;
    }
    const bool sums =
            options->op == PS_add || options->op == PS_sub || options->op == PS_mean;
    if (options->compensated && !sums) {
        PyErr_Format(PyExc_ValueError,
                     "compensated= goes with add, sub and mean, not '%s'",
                     ps_op_name(options->op));
        return -1;
    }
    return 0;
}

#define OPTION_NAMES                                               \
    PS_NAME_op, PS_NAME_mode, PS_NAME_include_self, PS_NAME_dtype, \
            PS_NAME_compensated, PS_NAME_casting, PS_NAME_out

static PyObject *
call_form(PyObject *module, const ps_signature *signature, enum ps_form form,
          PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    PyObject *slot[PS_NUM_NAMES];
    ps_scatter_work work;
    work.state = ps_get_state(module);
    PyObject *result = ps_scatter_short_call(work.state, form, args, n_args, keywords);
    if (result != NULL || PyErr_Occurred() ||
        ps_parse(work.state, signature, args, n_args, keywords, slot) < 0) {
        return result;
    }
    /* slots: a, index, values, where, the options, axis and batch_dims where they exist
     */
    ps_where_args where = {.form = form, .index = slot[1]};
    PyObject *option[7] = {NULL};
    for (int i = 3; i < signature->n_names; i++) {
        switch (signature->names[i]) {
            case PS_NAME_axis: /* the signature shows ... for "the default" */
                where.axis = slot[i] == Py_Ellipsis ? NULL : slot[i];
                break;
            case PS_NAME_batch_dims:
                where.batch_dims = slot[i];
                break;
            case PS_NAME_where:
                where.mask = slot[i];
                break;
            default:
                option[i - (signature->n_names - 7)] = slot[i];
        }
    }
    work.where = &where;
    if (take_options(work.state, option, &work.options) < 0 ||
        ps_settle_mode(work.state, slot[1], option[1], &work.options.mode) < 0) {
        return NULL;
    }
    if (n_args != 3) {
        const int n = signature->n_names;
        result = ps_scatter_short_slots(work.state, form, work.options.op, slot, n,
                                        n - 7);
    }
    return result != NULL || PyErr_Occurred() ? result
                                              : scatter_form(&work, slot[0], slot[2]);
}

PyObject *
ps_py_scatter(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
              PyObject *keywords)
{
    static const ps_signature signature = {
            "scatter",
            13,
            4,
            3,
            {PS_NAME_a, PS_NAME_index, PS_NAME_values, PS_NAME_axis, PS_NAME_batch_dims,
             PS_NAME_where, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_AXIS, args, n_args, keywords);
}

PyObject *
ps_py_scatter_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *keywords)
{
    static const ps_signature signature = {"scatter_along_axis",
                                           12,
                                           4,
                                           3,
                                           {PS_NAME_a, PS_NAME_index, PS_NAME_values,
                                            PS_NAME_axis, PS_NAME_where, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_ALONG, args, n_args, keywords);
}

PyObject *
ps_py_scatter_nd(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *keywords)
{
    static const ps_signature signature = {
            "scatter_nd",
            12,
            3,
            3,
            {PS_NAME_a, PS_NAME_indices, PS_NAME_values, PS_NAME_batch_dims,
             PS_NAME_where, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_ND, args, n_args, keywords);
}

PyObject *
ps_py_scatter_at(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *keywords)
{
    static const ps_signature signature = {
            "scatter_at",
            11,
            3,
            3,
            {PS_NAME_a, PS_NAME_indices, PS_NAME_values, PS_NAME_where, OPTION_NAMES}};
    return call_form(module, &signature, PS_FORM_AT, args, n_args, keywords);
}

/* Values in the order of the trues: a scatter to the places of these. */
static PyObject *
scatter_packed(ps_scatter_work *work, PyObject *a, PyObject *values)
{
    PyObject *const places = run_on_selected(work, NULL, a, values);
    if (places == NULL) {
        return NULL;
    }
    const ps_where_args where = {
            .form = PS_FORM_AT, .index = places, .are_trues = true};
    work->where = &where;
    PyObject *const result = scatter_form(work, a, values);
    Py_DECREF(places);
    return result;
}

/* By a mask: neither include_self nor mode, dtype, where. */
PyObject *
ps_py_scatter_where(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *keywords)
{
    static const ps_signature signature = {
            "scatter_where",
            7,
            3,
            3,
            {PS_NAME_a, PS_NAME_mask, PS_NAME_values, PS_NAME_op, PS_NAME_packed,
             PS_NAME_casting, PS_NAME_out}};
    PyObject *slot[PS_NUM_NAMES];
    ps_scatter_work work;
    bool is_packed = false;
    work.state = ps_get_state(module);
    PyObject *result =
            ps_scatter_short_call(work.state, PS_FORM_WHERE, args, n_args, keywords);
    if (result != NULL ||
        ps_parse(work.state, &signature, args, n_args, keywords, slot) < 0) {
        return result;
    }
    PyObject *const option[7] = {slot[3], NULL, NULL, NULL, NULL, slot[5], slot[6]};
    const ps_where_args where = {.form = PS_FORM_WHERE, .mask = slot[1]};
    work.where = &where;
    if (take_options(work.state, option, &work.options) < 0 ||
        ps_to_bool(slot[4], "packed", &is_packed) < 0) {
        return NULL;
    }
    if (n_args != 3) {
        result = ps_scatter_short_slots(work.state, PS_FORM_WHERE, work.options.op,
                                        slot, 7, 3);
    }
    return result != NULL ? result
           : is_packed    ? scatter_packed(&work, slot[0], slot[2])
                          : scatter_form(&work, slot[0], slot[2]);
}

int
ps_fold_by_ids(ps_state *state, const ps_fold *fold)
{
    ps_scatter_work work; /* too large to be cleared for a tiny call */
    work.state = state;
    work.where = &fold->where;
    work.options = (ps_scatter_options){.op = fold->op,
                                        .mode = fold->mode,
                                        .include_self = fold->include_self,
                                        .compensated = fold->compensated,
                                        .casting = NPY_SAME_KIND_CASTING,
                                        .dtype = fold->dtype};
    work.target = fold->target;
    work.out = NULL;
    work.descr = PyArray_DESCR(fold->target);
    work.is_private = fold->is_private;
    work.spans = (ps_spans){NULL, 0};
    work.value_offsets = fold->value_offsets;
    work.weights = fold->weights;
    work.values.array = NULL;
    int status = -1;
    ps_begin_request(&work.request);
    if (ps_storage_of(state, work.target, &work.dtype) != PS_STORED_NUMBERS) {
        if (!PyErr_Occurred()) {
            ps_refuse_op(fold->op, work.descr, "");
        }
    }
    else if (ps_check_op(&work) == 0 && ps_choose_accumulator(&work) == 0) {
        status = run_on_target(&work, fold->values);
    }
    ps_close_request(&work.request);
    ps_close_values(&work.values);
    return status < 0 || PyErr_Occurred() ? -1 : 0;
}

/* A drop-in for ufunc.at: in place, returns None. */
static PyObject *
drop_in(PyObject *module, const ps_signature *signature, enum ps_op op,
        PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    PyObject *slot[PS_NUM_NAMES];
    ps_scatter_work work;
    work.state = ps_get_state(module);
    const int is_done =
            n_args == 3 && keywords == NULL
                    ? ps_scatter_short(work.state, op, args[0], args[1], args[2])
                    : 0;
    if (is_done != 0) {
        return is_done > 0 ? Py_NewRef(Py_None) : NULL;
    }
    if (ps_parse(work.state, signature, args, n_args, keywords, slot) < 0 ||
        ps_require_array(work.state, slot[0], "a") < 0) {
        return NULL;
    }
    const bool is_axis_form = slot[3] != NULL && slot[3] != Py_None;
    const ps_where_args where = {.form = is_axis_form ? PS_FORM_AXIS : PS_FORM_AT,
                                 .index = slot[1],
                                 .axis = is_axis_form ? slot[3] : NULL,
                                 .mask = slot[5],
                                 .name = "indices"};
    work.where = &where;
    work.options = ps_default_options;
    work.options.op = op;
    work.options.out = slot[0];
    work.options.is_drop_in = true;
    if (ps_to_mode(slot[4], false, &work.options.mode) < 0 ||
        ps_settle_mode(work.state, slot[1], slot[4], &work.options.mode) < 0) {
        return NULL;
    }
    PyObject *const result = scatter_form(&work, slot[0], slot[2]);
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}

#define DEFINE_DROP_IN(name, op)                                                       \
    PyObject *ps_py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n_args, \
                           PyObject *keywords)                                         \
    {                                                                                  \
        static const ps_signature signature = {                                        \
                #name,                                                                 \
                6,                                                                     \
                3,                                                                     \
                3,                                                                     \
                {PS_NAME_a, PS_NAME_indices, PS_NAME_b, PS_NAME_axis, PS_NAME_mode,    \
                 PS_NAME_where}};                                                      \
        return drop_in(module, &signature, op, args, n_args, keywords);                \
    }
PS_FOR_EACH_DROP_IN(DEFINE_DROP_IN)
