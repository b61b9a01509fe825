/* Calls of the change family on their way: arguments to arrays to one op. */
#ifndef PS_PYTHON_CHANGE_ITEMS_H
#define PS_PYTHON_CHANGE_ITEMS_H

#include "python/core.h"

#include "ops/change.h"
#include "python/arrays.h"
#include "python/change_answers.h"

/* Where arguments of a call lie. */
enum {
    PS_CHANGE_OLD,
    PS_CHANGE_NEW,
    PS_CHANGE_AXIS,
    PS_CHANGE_ATOL,
    PS_CHANGE_RTOL,
    PS_CHANGE_PER_ROW,
    PS_CHANGE_PER_FEATURE,
    PS_CHANGE_FINITE_ONLY,
    PS_CHANGE_VIEW,
    PS_CHANGE_COPY,
    PS_CHANGE_SLOTS
};

/* One call on its way: what has to be released at its end. */
typedef struct {
    PyArrayObject *old, *now, *copy; /* owned; NULL: there is none */
    PyObject *arrays;                /* owned: what is told of rows and features */
    ps_axes old_axes, now_axes, copy_axes;
    enum ps_dtype dtype;
    int axis;
    bool per_row, per_feature, finite_only, is_bfloat16, is_private;
    double atol, rtol;
} ps_change_item;

/* No arrays and the options of the defaults. is_private: nobody sees the copy before
 * the call has succeeded. */
void ps_begin_change_item(ps_change_item *item, bool is_private);

/* Options from their slots; NULL is not given. 0 or -1. */
int ps_read_change_options(ps_change_item *item, PyObject *const *slot);

/* Everything from the slots, checked. needs_old: None is no array. 0 or -1. */
int ps_open_change_item(ps_state *state, ps_change_item *item, PyObject *const *slot,
                        bool needs_old);

/* The same of arrays and options that are there already. */
int ps_check_change_item(ps_state *state, ps_change_item *item);

/* Give back what it owns. */
void ps_close_change_item(ps_change_item *item);

/* Measure all of them, in one op. 0 or -1. */
int ps_run_change_items(ps_state *state, ps_change_item *items, ps_change_call *calls,
                        Py_ssize_t n);

ps_raw_change ps_raw_change_of(const ps_change_item *item, const ps_change_call *call);

#endif
