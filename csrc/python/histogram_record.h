/* What a histogram holds: the base of pyscatter.Histogram. */
#ifndef PS_PYTHON_HISTOGRAM_RECORD_H
#define PS_PYTHON_HISTOGRAM_RECORD_H

#include "python/core.h"

#include "base/bins.h"

typedef struct {
    PyObject_HEAD PyObject *counts, *edges; /* owned arrays */
    PyObject *kind; /* owned: "bins", "edges", "tb1", "tb2", "log2" */
    char is_density, is_weighted, is_found;
    long long n_nan, n_posinf, n_neginf, n_below, n_above, num;
    double min, max, sum, sum_squares;
} ps_histogram_record;

/* Everything but the head is taken from *record, whose references are stolen, also when
 * it fails. A new Histogram, or NULL. */
PyObject *ps_new_histogram(ps_state *state, const ps_histogram_record *record);

/* Add HistogramRecord to the module. 0 or -1. */
int ps_add_histogram_record(PyObject *module);

#endif
