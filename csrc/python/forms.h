/* The four addressings, from Python arguments to an unopened request. Shared by scatter
 * and gather. */
#ifndef PS_PYTHON_FORMS_H
#define PS_PYTHON_FORMS_H

#include "python/request.h"

enum ps_form {
    PS_FORM_AXIS,
    PS_FORM_ALONG,
    PS_FORM_ND,
    PS_FORM_AT,
    PS_FORM_WHERE
};

typedef struct {
    enum ps_form form;
    PyObject *index;      /* index, or indices; the where form has none but its mask */
    PyObject *axis;       /* axis and along forms: NULL for the default; may be None */
    PyObject *batch_dims; /* axis and nd forms, or NULL */
    PyObject *mask;       /* where= or the where form's mask, or NULL */
    const char *name;     /* of the index in the axis and along forms, NULL: "index" */
    bool reads;           /* a gather, whose source may be a copy in C order */
    bool are_trues;       /* the index names what a mask selects */
} ps_where_args;

/* Fill view, first, batch_dims, index and mask of `request` for `array`. 0 or -1; the
 * caller closes the request in both cases. */
int ps_fill_request(ps_state *state, const ps_where_args *where, PyArrayObject *array,
                    ps_request *request);

/* Does the call name so many flat positions of an array without a flat view that a copy
 * in C order, and back, costs less than finding its elements? */
bool ps_needs_flat_copy(const ps_state *state, const ps_where_args *where,
                        PyArrayObject *array);

/* The form's name as the Python helpers spell it. */
const char *ps_form_name(enum ps_form form);

#endif
