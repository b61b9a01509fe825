/* A call of segment_reduce on its way through three files: its arguments become arrays
 * and numbers (segment_arguments.c), these are laid out on axes and segments
 * (segment_layout.c), and who called them runs it and delivers. Each step answers 0, or
 * -1 with an exception. */
#ifndef PS_PYTHON_SEGMENT_CALL_H
#define PS_PYTHON_SEGMENT_CALL_H

#include "python/reduce.h"

/* Slots in the order of the signature, but for `op`, which names do not have. */
enum slot {
    VALUES,
    IDS,
    NUM_SEGMENTS,
    OFFSETS,
    STARTS,
    STOPS,
    LENGTHS,
    GATHER,
    WEIGHTS,
    AXIS,
    BATCH_DIMS,
    Q,
    DDOF,
    INITIAL,
    FILL_VALUE,
    WHERE,
    SKIPNA,
    MODE,
    RETURN_ARG,
    RETURN_COUNTS,
    ASSUME_SORTED,
    DTYPE,
    COMPENSATED,
    OUT,
    OP,
    N_SLOTS
};

/* A call on its way; its arguments are replaced by the arrays that they become. */
typedef struct {
    PyObject **slot;
    PyObject *held[N_SLOTS]; /* owned: arrays that stand in slots, or NULL */
    ps_reduce reduce;
} ps_segment_work;

static inline bool
is_given(const ps_segment_work *work, enum slot slot)
{
    return work->slot[slot] != NULL && work->slot[slot] != Py_None;
}

/* Of an option that is True or False. */
static inline bool
is_on(const ps_segment_work *work, enum slot slot)
{
    return work->slot[slot] != NULL && work->slot[slot] != Py_False;
}

/* A call with these arguments and nothing taken yet; to be closed. */
void ps_begin_segments(ps_segment_work *work, ps_state *state, PyObject **slot);
void ps_close_segments(ps_segment_work *work);

/* All steps but the last, which sizes: whatever may run Python code comes before a
 * shape is looked at. */
int ps_take_segments(ps_segment_work *work);

/* What the call asks for; `reduce.reduction` is known, or NULL with an exception. */
int ps_take_segment_options(ps_segment_work *work);

/* Every argument that is an array, without a look at shapes. */
int ps_take_segment_arrays(ps_segment_work *work);

/* The types that it is computed in, initial= and fill_value= in them. */
int ps_take_segment_types(ps_segment_work *work);

/* Arguments that are numbers. */
int ps_take_segment_numbers(ps_segment_work *work);

/* Arrays as they are from here on, whatever other code does to those of the caller. */
int ps_settle_segment_arrays(ps_segment_work *work);

/* Which axes of the values are batches, entries and rows. */
int ps_place_segment_axes(ps_segment_work *work);

/* where= as a mask of entries or of elements. */
int ps_place_segment_mask(ps_segment_work *work);

/* One weight for each entry. */
int ps_place_segment_weights(ps_segment_work *work);

/* Every row of gather= that takes part is there, also outside all ranges. Where there
 * is none for those that do not, one of zeros stands in. */
int ps_check_listed_rows(ps_reduce *reduce);

/* skipna=, truth, and what folds have no way for, in terms of what they know. */
int ps_simplify_segments(ps_segment_work *work);

/* Few plain values by ids or offsets= (or NULL) into few segments, with no other
 * argument (segment_short.c): the result, or NULL without an exception, where the call
 * has to take the steps above. */
PyObject *ps_segment_short(ps_state *state, PyObject *const *args, Py_ssize_t n_args,
                           PyObject *offsets, const ps_reduction *reduction);

/* How many segments there are, and which entries they have. */
int ps_place_segments(ps_segment_work *work);

#endif
