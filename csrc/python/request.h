/* A call's "where": arrays of any addressing become one ps_address and its row axes.
 *
 * All addressings are one form: n_index index arrays, broadcast together to the
 * entry shape, name rows of neighbouring axes [first, first + n_index) of a view of the
 * target; the first batch_dims axes of view and entries belong together. The along form
 * has one index array whose other axes are all linked to the target's.
 *
 *   axis form   n_index = 1, first = axis
 *   nd form     n_index = depth, first = batch_dims
 *   at form     as the index expression says, on a view that took its slices
 *   where form  n_index = 0, first = batch_dims = axes of the mask
 */
#ifndef PS_PYTHON_REQUEST_H
#define PS_PYTHON_REQUEST_H

#include "python/core.h"

typedef struct {
    PyArrayObject *view;               /* of the target, or of what is gathered from */
    int view_ndim;                     /* its axes when the form was compared with it */
    PyArrayObject *index[PS_MAX_DIMS]; /* owned, but for the nd form */
    int n_index;
    int first;
    int batch_dims;
    bool is_along;
    bool is_where; /* the entries are the mask's */
    bool is_flat;  /* the index numbers elements of a view of any layout, in C order */
    int along_axis;
    PyArrayObject *tuples; /* owned: the nd form's indices, of which index[] borrow */
    PyArrayObject *mask;   /* owned, or NULL */
    const char *index_name;
    const struct ps_plan *plan; /* whose rows index[0] is, or NULL; borrowed */

    /* What ps_open_request fills. */
    ps_address address;
    ps_rows rows;
    int result_ndim;
    npy_intp result_shape[2 * PS_MAX_DIMS]; /* of values, or of a gather's output */
    int result_entry_axis[PS_MAX_DIMS];     /* axis of the result for each entry axis */
    int result_row_axis[PS_MAX_DIMS];
    int64_t entry_shape[PS_MAX_DIMS], link[PS_MAX_DIMS], mask_strides[PS_MAX_DIMS];
    int64_t entry_strides[PS_MAX_DIMS]; /* of values or output, filled by ps_bind_result
                                         */
    int64_t row_shape[PS_MAX_DIMS], row_strides[PS_MAX_DIMS],
            row_value_strides[PS_MAX_DIMS];
    ps_index one_index; /* the common case needs no allocation */
    int64_t one_strides[PS_MAX_DIMS];
    void *block;
} ps_request;

/* `object` as an array of integers of any type, as which an empty list counts; a new
 * reference, or NULL with a TypeError that says what it is instead. */
PyArrayObject *ps_as_index(ps_state *state, PyObject *object, const char *name);

/* A request with nothing in it. */
void ps_begin_request(ps_request *request);

/* What an index of `axis` counts: its length, or the elements of a flat view. */
npy_intp ps_axis_size(const ps_request *request, int axis);

/* index: integers (bool and float refused as the axis form does). 0 or -1. */
int ps_add_index(ps_state *state, ps_request *request, PyObject *index);

/* indices: index tuples in the last axis. `first` must be set. 0 or -1. */
int ps_add_tuples(ps_state *state, ps_request *request, PyObject *indices);

/* Which entries take part; None or NULL: all. */
int ps_add_mask(ps_state *state, ps_request *request, PyObject *mask);

/* Fill the address from view and index arrays; checks shapes. The last step before the
 * op: what is filled in holds until Python code runs again, and then the request has to
 * be opened again. `whole`: the array that the view is of, named 'a' in messages; an
 * array that has changed so that it does not fit the form any more is a RuntimeError.
 */
int ps_open_request(ps_request *request, PyArrayObject *whole, enum ps_mode mode);

/* Bind strides of an array of the result's shape (values, or output) to entries and
 * rows. strides: one per axis of the result. */
void ps_bind_result(ps_request *request, const npy_intp *strides);

/* A copy in place of every input whose memory meets that of `target`. */
int ps_separate_request(ps_request *request, PyArrayObject *target);

void ps_close_request(ps_request *request);

#endif
