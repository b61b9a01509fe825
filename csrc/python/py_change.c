/* The binding of the change family: arrays of like shape and dtype, compared in one op.
 */
#include "python/py_change.h"

#include "python/args.h"
#include "python/change_items.h"
#include "python/change_record.h"

enum {
    SLOT_HIST = PS_CHANGE_SLOTS, /* of change_stats alone */
    N_ARGUMENTS
};

static const ps_signature signature = {
        "change_stats",
        N_ARGUMENTS,
        2,
        2,
        {PS_NAME_old, PS_NAME_new, PS_NAME_axis, PS_NAME_atol, PS_NAME_rtol,
         PS_NAME_per_row, PS_NAME_per_feature, PS_NAME_finite_only, PS_NAME_view,
         PS_NAME_copy_new_to, PS_NAME_hist}};

/* The histogram that is asked for, or None; before anything is written, since it may be
 * refused. A new reference, or NULL. */
static PyObject *
take_histogram(ps_state *state, const ps_change_item *item, PyObject *const *slot)
{
    PyObject *const hist = slot[SLOT_HIST];
    if (hist == NULL || hist == Py_None) {
        return Py_NewRef(Py_None);
    }
    PyObject *const helper = ps_get_helper(state, PS_HELPER_histogram_of);
    return helper == NULL ? NULL
                          : PyObject_CallFunction(helper, "OOi", (PyObject *)item->now,
                                                  hist, (int)item->is_bfloat16);
}

/* A record of one call, which is made before anything is copied: then nothing can be
 * refused any more. */
static PyObject *
record_of(ps_state *state, ps_change_item *item, PyObject *const *slot)
{
    ps_change_call call;
    PyObject *const hist = take_histogram(state, item, slot);
    PyObject *result = NULL, *context = NULL;
    if (hist != NULL) {
        context = hist == Py_None ? PyDict_New() : Py_BuildValue("{sO}", "hist", hist);
    }
    if (context != NULL) {
        result = ps_new_change(state, &(ps_raw_change){0}, item->arrays, context);
    }
    if (result != NULL && ps_run_change_items(state, item, &call, 1) < 0) {
        Py_CLEAR(result);
    }
    if (result != NULL) {
        const ps_raw_change raw = ps_raw_change_of(item, &call);
        ps_put_change(result, &raw);
    }
    Py_XDECREF(context);
    Py_XDECREF(hist);
    return result;
}

PyObject *
ps_py_change_stats(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *keywords)
{
    ps_state *const state = ps_get_state(module);
    PyObject *slot[PS_NUM_NAMES], *result = NULL;
    ps_change_item item;
    if (ps_parse(state, &signature, args, n_args, keywords, slot) < 0) {
        return NULL;
    }
    ps_begin_change_item(&item, false);
    if (ps_open_change_item(state, &item, slot, true) == 0) {
        result = record_of(state, &item, slot);
    }
    ps_close_change_item(&item);
    return result;
}

/* The items of a tuple that is an argument list. */
static int
open_items(ps_state *state, ps_change_item *items, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
        PyObject *const arguments = PyTuple_GET_ITEM(list, i);
        if (!PyTuple_Check(arguments) ||
            PyTuple_GET_SIZE(arguments) != PS_CHANGE_SLOTS) {
            PyErr_Format(PyExc_TypeError, "an item must be a tuple of %d",
                         PS_CHANGE_SLOTS);
            return -1;
        }
        if (ps_open_change_item(state, &items[i], ((PyTupleObject *)arguments)->ob_item,
                                false) < 0) {
            return -1;
        }
    }
    return 0;
}

/* (raw, arrays) */
static PyObject *
answer_of(const ps_change_item *item, const ps_change_call *call)
{
    const ps_raw_change raw = ps_raw_change_of(item, call);
    PyObject *const bytes =
            PyBytes_FromStringAndSize((const char *)&raw, (Py_ssize_t)sizeof(raw));
    PyObject *const answer =
            bytes != NULL ? PyTuple_Pack(2, bytes, item->arrays) : NULL;
    Py_XDECREF(bytes);
    return answer;
}

static PyObject *
answers_of(const ps_change_item *items, const ps_change_call *calls, Py_ssize_t n)
{
    PyObject *const list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *const answer = answer_of(&items[i], &calls[i]);
        if (answer == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, answer);
    }
    return list;
}

static PyObject *
run_list(ps_state *state, PyObject *list, ps_change_item *items, ps_change_call *calls)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(list);
    PyObject *result = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        ps_begin_change_item(&items[i], true);
    }
    if (open_items(state, items, list) == 0 &&
        ps_run_change_items(state, items, calls, n) == 0) {
        result = answers_of(items, calls, n);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        ps_close_change_item(&items[i]);
    }
    return result;
}

PyObject *
ps_py_change_update(PyObject *module, PyObject *list)
{
    ps_state *const state = ps_get_state(module);
    if (!PyTuple_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "items must be a tuple");
        return NULL;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(list);
    if (n <= 1) { /* a single tracker: two allocations would take a tenth of its time */
        ps_change_item item;
        ps_change_call call;
        return run_list(state, list, &item, &call);
    }
    ps_change_item *const items = PyMem_New(ps_change_item, (size_t)n);
    ps_change_call *const calls = PyMem_New(ps_change_call, (size_t)n);
    PyObject *const result = items != NULL && calls != NULL
                                     ? run_list(state, list, items, calls)
                                     : PyErr_NoMemory();
    PyMem_Free(items);
    PyMem_Free(calls);
    return result;
}
