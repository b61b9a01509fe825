/* Holes in items: bytes of a record that no field fills, as in a view of some fields.
 */
#ifndef PS_PYTHON_SPANS_H
#define PS_PYTHON_SPANS_H

#include "python/core.h"

/* The stretches of an item that its fields fill, in ascending order; NULL where they
 * leave no hole. */
typedef struct {
    ps_span *span; /* PyMem */
    int64_t n;
} ps_spans;

/* 0, or -1 with an exception. To be closed in both cases. */
int ps_find_spans(PyArray_Descr *descr, ps_spans *spans);

void ps_close_spans(ps_spans *spans);

/* Do the fields leave a hole? -1 with an exception. */
int ps_has_holes(PyArray_Descr *descr);

#endif
