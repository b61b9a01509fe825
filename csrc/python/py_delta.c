/* The binding of the delta family: making a delta, applying it, turning it round,
 * joining two.
 *
 * A call has everything that it may refuse behind it before it writes: arrays and
 * versions are compared first, and a checksum of what would come is made without
 * coming. Arrays are read as they lie once the last Python code of the call has run.
 */
#include "python/py_delta.h"

#include <string.h>

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/delta_object.h"

/* ---- delta ---- */

typedef struct {
    ps_delta_label label;
    ps_delta_call call;
} delta_work;

/* What is to be selected. */
static int
read_selection(ps_delta_call *call, PyObject *top_k, PyObject *threshold)
{
    call->top_k = -1;
    if (top_k != NULL && top_k != Py_None &&
        ps_to_size(top_k, "top_k", &call->top_k) < 0) {
        return -1;
    }
    if (threshold != NULL && threshold != Py_None) {
        call->threshold = PyFloat_AsDouble(threshold);
        call->has_threshold = true;
        if (call->threshold == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (!(call->threshold >= 0)) {
            PyErr_Format(PyExc_ValueError, "threshold must not be negative, got %R",
                         threshold);
            return -1;
        }
        call->threshold += 0.0; /* -0.0 has other bits */
    }
    call->selects = call->top_k >= 0 || call->has_threshold;
    return 0;
}

static int
read_options(delta_work *work, PyObject *const *slot)
{
    ps_delta_call *const call = &work->call;
    work->label.granularity = PS_BY_ELEMENT;
    call->encoding = PS_DELTA_AUTO;
    call->op = PS_DELTA_OVERWRITE;
    call->has_threshold = false;
    call->scratch = NULL;
    return ps_to_granularity(slot[2], &work->label.granularity) < 0 ||
                           ps_to_delta_op(slot[5], &call->op) < 0 ||
                           ps_to_delta_encoding(slot[6], &call->encoding) < 0 ||
                           read_selection(call, slot[3], slot[4]) < 0
                   ? -1
                   : 0;
}

/* The label says what old is; new has to be the same. */
static int
compare_arrays(ps_state *state, delta_work *work, PyArrayObject *old,
               PyArrayObject *now)
{
    ps_delta_label *const label = &work->label;
    label->ndim = PyArray_NDIM(old);
    for (int i = 0; i < label->ndim; i++) {
        label->shape[i] = PyArray_DIM(old, i);
    }
    if (ps_delta_set_dtype(state, label, PyArray_DESCR(old)) < 0) {
        return -1;
    }
    const int64_t width = ps_delta_unit_width(label);
    if (width < 0 || ps_delta_check_array(label, now, "new") < 0 ||
        ps_delta_check_op(label, work->call.op) < 0) {
        return -1;
    }
    work->call.width = width;
    return 0;
}

/* The checksum of what a selection makes of old; all others are known. */
static int
settle_checksums(ps_state *state, delta_work *work, PyArrayObject *old)
{
    ps_delta_label *const label = &work->label;
    label->has_checksum_base = label->has_checksum_new = true;
    label->checksum_base = work->call.checksum_old;
    label->checksum_new = work->call.checksum_new;
    return work->call.selects ? ps_delta_checksum(state, old, &work->call.delta,
                                                  &label->checksum_new, NULL)
                              : 0;
}

/* Find, make room, write. The arrays are contiguous and native. */
static PyObject *
make_delta(ps_state *state, delta_work *work, PyArrayObject *old, PyArrayObject *now)
{
    ps_delta_call *const call = &work->call;
    PyObject *body = NULL, *result = NULL;
    call->old = PyArray_BYTES(old);
    call->now = PyArray_BYTES(now);
    call->n = PyArray_SIZE(old);
    call->itemsize = PyArray_ITEMSIZE(old);
    call->dtype = work->label.dtype;
    const ps_status found =
            ps_run_op(state, ps_delta_find, call, 2 * PyArray_NBYTES(old));
    if (ps_raise(state, found, "new") == 0) {
        if (call->is_possible) {
            body = ps_delta_body(&call->delta);
        }
        else {
            PyErr_Format(PyExc_ValueError,
                         "encoding 'index32' cannot number the %zd elements or rows of "
                         "the array (use 'index64')",
                         (Py_ssize_t)ps_delta_units(&call->delta));
        }
    }
    if (body != NULL) {
        const int64_t nbytes = call->delta.head_nbytes + call->delta.values_nbytes;
        const ps_status written = ps_run_op(state, ps_delta_write, call, nbytes);
        if (ps_raise(state, written, "new") == 0 &&
            settle_checksums(state, work, old) == 0) {
            result = ps_delta_object_of(state, &work->label, &call->delta, body);
        }
        Py_DECREF(body);
    }
    ps_delta_close(call);
    return result;
}

/* The array contiguous and native, held as a view if it is large: other code may give
 * the caller's array other axes or memory. */
static PyArrayObject *
hold(PyArrayObject *array, const char *name)
{
    if (!ps_lies_in_base(array)) {
        ps_raise_changed(name);
        return NULL;
    }
    PyArrayObject *held = ps_contiguous(array);
    if (held != NULL && PyArray_NBYTES(held) > PS_UNDISTURBED_BYTES &&
        ps_hold_view(&held) < 0) {
        Py_CLEAR(held);
    }
    return held;
}

/* Is what was held still what the label says, in memory that is still there? 0 or -1.
 */
static int
check_held(const ps_delta_label *label, PyArrayObject *held, PyArrayObject *array,
           const char *name)
{
    return !ps_has_memory(held, array) || !ps_lies_in_base(held)
                   ? ps_raise_changed(name)
                   : ps_delta_check_array(label, held, name);
}

PyObject *
ps_py_delta(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
            PyObject *keywords)
{
    static const ps_signature signature = {
            "delta",
            7,
            2,
            2,
            {PS_NAME_old, PS_NAME_new, PS_NAME_granularity, PS_NAME_top_k,
             PS_NAME_threshold, PS_NAME_op, PS_NAME_encoding}};
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    delta_work work;
    work.label = (ps_delta_label){.descr = NULL};
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0 ||
        read_options(&work, slot) < 0) {
        return NULL;
    }
    PyArrayObject *old = ps_as_array(state, slot[0], "old");
    PyArrayObject *now = old != NULL ? ps_as_array(state, slot[1], "new") : NULL;
    if (now != NULL && compare_arrays(state, &work, old, now) == 0) {
        /* Making a copy lets other code run: both are looked at when both are held. */
        PyArrayObject *const before = hold(old, "old");
        PyArrayObject *const after = before != NULL ? hold(now, "new") : NULL;
        if (after != NULL && check_held(&work.label, before, old, "old") == 0 &&
            check_held(&work.label, after, now, "new") == 0) {
            result = make_delta(state, &work, before, after);
        }
        Py_XDECREF((PyObject *)before);
        Py_XDECREF((PyObject *)after);
    }
    Py_XDECREF((PyObject *)old);
    Py_XDECREF((PyObject *)now);
    Py_XDECREF((PyObject *)work.label.descr);
    return result;
}

/* ---- apply ---- */

enum {
    VERIFY_BASE = 1,
    VERIFY_NEW = 2
};

static int
read_verify(PyObject *object, int *verify)
{
    static const char *const names[] = {"none", "base", "new", "both"};
    *verify = 0;
    if (object == NULL) {
        return 0;
    }
    for (int i = 0; PyUnicode_Check(object) && i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            *verify = i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "verify must be 'none', 'base', 'new' or 'both', got %R", object);
    return -1;
}

/* Are the target's version and the checksums that are asked for there at all? */
static int
check_versions(const ps_delta_label *label, PyObject *base_version, int verify)
{
    if (base_version != NULL && base_version != Py_None) {
        PyObject *const own = label->has_base_version
                                      ? PyLong_FromLongLong(label->base_version)
                                      : Py_NewRef(Py_None);
        PyObject *const number =
                own != NULL ? ps_as_integer(base_version, "base_version", false) : NULL;
        const int is_equal =
                number != NULL ? PyObject_RichCompareBool(number, own, Py_EQ) : -1;
        if (is_equal == 0) {
            PyErr_Format(PyExc_ValueError,
                         "the target has version %S, but the delta is for version %S",
                         number, own);
        }
        Py_XDECREF(number);
        Py_XDECREF(own);
        if (is_equal != 1) {
            return -1;
        }
    }
    if (((verify & VERIFY_BASE) && !label->has_checksum_base) ||
        ((verify & VERIFY_NEW) && !label->has_checksum_new)) {
        PyErr_Format(PyExc_ValueError, "the delta has no checksum of its %s to verify",
                     (verify & VERIFY_BASE) && !label->has_checksum_base ? "base"
                                                                         : "result");
        return -1;
    }
    return 0;
}

/* Compare the target with what the delta was made from, and what it would become with
 * what the delta was made for. 0, or -1 with a ValueError. */
static int
verify_target(ps_state *state, const ps_delta_object *self, PyArrayObject *target,
              int verify)
{
    uint64_t base = 0, new = 0;
    PyArrayObject *const whole = verify != 0 ? hold(target, "target") : NULL;
    if (whole == NULL) {
        return verify != 0 ? -1 : 0;
    }
    int status = check_held(&self->label, whole, target, "target");
    if (status == 0 && (verify & VERIFY_NEW)) {
        status = ps_delta_checksum(state, whole, &self->delta, &new,
                                   verify & VERIFY_BASE ? &base : NULL);
    }
    else if (status == 0) {
        status = ps_delta_checksum(state, whole, NULL, &base, NULL);
    }
    Py_DECREF(whole);
    if (status == 0 && (verify & VERIFY_BASE) && base != self->label.checksum_base) {
        PyErr_SetString(PyExc_ValueError,
                        "target is not the array that the delta was made from (its "
                        "checksum differs)");
        return -1;
    }
    if (status == 0 && (verify & VERIFY_NEW) && new != self->label.checksum_new) {
        PyErr_SetString(PyExc_ValueError,
                        "the delta would not make of target what it was made for (the "
                        "checksum of the result differs)");
        return -1;
    }
    return status;
}

/* Write to an array that is as it should be; `array` is held as a view meanwhile. */
static int
apply_to(ps_state *state, const ps_delta_object *self, PyArrayObject *array)
{
    const ps_delta *const delta = &self->delta;
    PyArrayObject *held = (PyArrayObject *)Py_NewRef((PyObject *)array);
    if (PyArray_NBYTES(array) > PS_UNDISTURBED_BYTES && ps_hold_view(&held) < 0) {
        return -1;
    }
    if (check_held(&self->label, held, array, "out") < 0 ||
        ps_require_unlocked(array) < 0) {
        Py_DECREF(held);
        return -1;
    }
    ps_axes axes;
    ps_delta_apply_call call = {
            .delta = delta,
            .target = ps_view_of(held, self->label.dtype, &axes),
            .parts = ps_dtype_kind[self->label.dtype] == PS_KIND_COMPLEX ? 2 : 1};
    const ps_status status = ps_run_op(state, ps_delta_apply, &call,
                                       delta->head_nbytes + delta->values_nbytes);
    Py_DECREF(held);
    return ps_raise(state, status, "target");
}

/* In place, or to a new array, which another `out` receives when all is well. */
static PyObject *
apply_into(ps_state *state, const ps_delta_object *self, PyArrayObject *target,
           PyArrayObject *out)
{
    if (out == target) {
        return apply_to(state, self, out) < 0 ? NULL : Py_NewRef((PyObject *)out);
    }
    PyArray_Descr *const descr =
            (PyArray_Descr *)Py_NewRef((PyObject *)self->label.descr);
    PyArrayObject *const result = ps_fresh_copy(target, descr);
    PyObject *delivered = NULL;
    if (result == NULL) {
        return NULL;
    }
    if (apply_to(state, self, result) == 0) {
        delivered =
                out != NULL ? ps_deliver(result, out) : Py_NewRef((PyObject *)result);
    }
    Py_DECREF(result);
    return delivered;
}

static int
check_out(ps_state *state, const ps_delta_object *self, PyObject *out)
{
    return ps_require_array(state, out, "out") < 0 ||
                           ps_delta_check_array(&self->label, (PyArrayObject *)out,
                                                "out") < 0
                   ? -1
                   : ps_require_writeable((PyArrayObject *)out);
}

PyObject *
ps_py_delta_apply(PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *keywords)
{
    static const ps_signature signature = {
            "apply",
            4,
            2,
            1,
            {PS_NAME_target, PS_NAME_out, PS_NAME_verify, PS_NAME_base_version}};
    const ps_delta_object *const self = (ps_delta_object *)object;
    ps_state *const state = PyType_GetModuleState(Py_TYPE(object));
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    int verify;
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0 ||
        read_verify(slot[2], &verify) < 0 ||
        check_versions(&self->label, slot[3], verify) < 0) {
        return NULL;
    }
    PyObject *const out = slot[1] != Py_None ? slot[1] : NULL;
    PyArrayObject *const target = ps_as_array(state, slot[0], "target");
    if (target != NULL && ps_delta_check_array(&self->label, target, "target") == 0 &&
        (out == NULL || check_out(state, self, out) == 0) &&
        verify_target(state, self, target, verify) == 0) {
        result = apply_into(state, self, target, (PyArrayObject *)out);
    }
    Py_XDECREF((PyObject *)target);
    return result;
}

/* ---- invert ---- */

/* The label of the way back. */
static ps_delta_label
turned_label(const ps_delta_label *label)
{
    ps_delta_label turned = *label;
    turned.has_base_version = label->has_version;
    turned.has_version = label->has_base_version;
    turned.base_version = label->version;
    turned.version = label->base_version;
    turned.has_checksum_base = label->has_checksum_new;
    turned.has_checksum_new = label->has_checksum_base;
    turned.checksum_base = label->checksum_new;
    turned.checksum_new = label->checksum_base;
    return turned;
}

/* The same numbers, with values of their own, which are filled from `old`, or turned
 * round. */
static PyObject *
invert_values(ps_state *state, const ps_delta_object *self, PyArrayObject *old)
{
    ps_delta turned = self->delta;
    const ps_delta_label label = turned_label(&self->label);
    PyObject *const body = ps_delta_body(&turned);
    PyObject *result = NULL;
    if (body == NULL) {
        return NULL;
    }
    char *const head = (char *)turned.head, *const values = (char *)turned.values;
    memcpy(head, self->delta.head, (size_t)turned.head_nbytes);
    int status = 0;
    if (old != NULL) {
        ps_delta_gather_call call = {
                .delta = &self->delta, .array = PyArray_BYTES(old), .values = values};
        status = ps_raise(
                state, ps_run_op(state, ps_delta_gather, &call, turned.values_nbytes),
                "old");
    }
    else {
        memcpy(values, self->delta.values, (size_t)turned.values_nbytes);
        if (turned.op == PS_DELTA_ADD) {
            ps_delta_negate(&turned, values);
        }
    }
    if (status == 0) {
        result = ps_delta_object_of(state, &label, &turned, body);
    }
    Py_DECREF(body);
    return result;
}

PyObject *
ps_py_delta_invert(PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    static const ps_signature signature = {"invert", 1, 1, 0, {PS_NAME_old}};
    const ps_delta_object *const self = (ps_delta_object *)object;
    ps_state *const state = PyType_GetModuleState(Py_TYPE(object));
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    if (slot[0] == NULL || slot[0] == Py_None) {
        if (self->delta.op == PS_DELTA_OVERWRITE) {
            PyErr_SetString(PyExc_ValueError,
                            "a delta that overwrites does not know what was there: "
                            "invert(old) needs the array that it was made from");
            return NULL;
        }
        return invert_values(state, self, NULL);
    }
    PyArrayObject *const given = ps_as_array(state, slot[0], "old");
    PyArrayObject *const old =
            given != NULL && ps_delta_check_array(&self->label, given, "old") == 0
                    ? hold(given, "old")
                    : NULL;
    if (old != NULL && check_held(&self->label, old, given, "old") == 0) {
        result = invert_values(state, self,
                               self->delta.op == PS_DELTA_OVERWRITE ? old : NULL);
    }
    Py_XDECREF((PyObject *)old);
    Py_XDECREF((PyObject *)given);
    return result;
}

/* ---- compose ---- */

static int
refuse_pair(const char *why)
{
    PyErr_Format(PyExc_ValueError, "deltas do not compose: %s", why);
    return -1;
}

/* Can `second` follow `first`? */
static int
check_pair(const ps_delta_object *first, const ps_delta_object *second)
{
    const ps_delta_label *const one = &first->label, *const two = &second->label;
    if (one->ndim != two->ndim ||
        !PyArray_CompareLists(one->shape, two->shape, one->ndim)) {
        return refuse_pair("they are for arrays of different shapes");
    }
    if (!PyArray_EquivTypes(one->descr, two->descr)) {
        return refuse_pair("they are for arrays of different dtypes");
    }
    if (one->granularity != two->granularity) {
        return refuse_pair("they differ in granularity");
    }
    if (first->delta.op != second->delta.op) {
        return refuse_pair("they differ in op");
    }
    if (one->has_version && two->has_base_version &&
        one->version != two->base_version) {
        return refuse_pair("the second is not for the version that the first makes");
    }
    if (one->has_checksum_new && two->has_checksum_base &&
        one->checksum_new != two->checksum_base) {
        return refuse_pair("the second was not made from what the first makes");
    }
    return 0;
}

static PyObject *
merge_pair(ps_state *state, const ps_delta_object *first, const ps_delta_object *second)
{
    ps_delta_merge_call call = {.first = &first->delta, .second = &second->delta};
    ps_delta_label label = first->label;
    label.has_version = second->label.has_version;
    label.version = second->label.version;
    label.has_checksum_new = second->label.has_checksum_new;
    label.checksum_new = second->label.checksum_new;
    PyObject *body = NULL, *result = NULL;
    const ps_status status =
            ps_run_op(state, ps_delta_merge, &call,
                      first->delta.values_nbytes + second->delta.values_nbytes);
    if (ps_raise(state, status, "other") == 0) {
        body = ps_delta_body(&call.delta);
    }
    if (body != NULL) {
        ps_delta_writer writer = {
                .delta = &call.delta, .head = (char *)call.delta.head, .last = -1};
        ps_delta_write_head(&writer, call.at, call.count);
        ps_delta_end_head(&writer);
        memcpy((char *)call.delta.values, call.values,
               (size_t)call.delta.values_nbytes);
        result = ps_delta_object_of(state, &label, &call.delta, body);
        Py_DECREF(body);
    }
    ps_delta_merge_close(&call);
    return result;
}

PyObject *
ps_py_delta_compose(PyObject *self, PyObject *other)
{
    if (Py_TYPE(other) != Py_TYPE(self)) {
        return PyErr_Format(PyExc_TypeError, "expected a Delta, got %.200s",
                            Py_TYPE(other)->tp_name);
    }
    const ps_delta_object *const first = (ps_delta_object *)self;
    const ps_delta_object *const second = (ps_delta_object *)other;
    return check_pair(first, second) < 0
                   ? NULL
                   : merge_pair(PyType_GetModuleState(Py_TYPE(self)), first, second);
}
