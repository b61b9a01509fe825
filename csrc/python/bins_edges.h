/* bins= and range=, from Python arguments to edges. */
#ifndef PS_PYTHON_BINS_EDGES_H
#define PS_PYTHON_BINS_EDGES_H

#include "python/core.h"

#include "ops/bins.h"

/* What was asked for: a number of bins, with or without a range; or edges. */
typedef struct {
    PyArrayObject *given; /* owned: a private copy of edges of one axis, or NULL */
    int64_t n_bins;
    bool has_range;
    double low, high;
} ps_bins_request;

/* Edges that have been made, to be closed. */
typedef struct {
    PyArrayObject *array; /* owned: what a caller gets to see */
    PyArrayObject *exact; /* owned: what `edges` points into, or NULL */
    ps_edges edges;
} ps_made_edges;

/* bins: a number or edges, NULL or None: 10; range: a pair of finite numbers that do
 * not decrease. Whatever runs Python code is done here. 0, or -1 with an exception. */
int ps_take_bins(ps_state *state, PyObject *bins, PyObject *range,
                 ps_bins_request *request);

/* More bins than anyone means, with n entries: ValueError. 0 or -1. */
int ps_check_bin_count(int64_t n_bins, int64_t n);

/* Even edges from low to high, as np.linspace has them, or, where the range overflows,
 * from both of its ends. widens: a range that holds too few floats becomes wider; else
 * it is a ValueError, as is one that overflows. 0 or -1. */
int ps_make_even_edges(ps_state *state, const ps_bins_request *request, double low,
                       double high, bool widens, ps_made_edges *made);

/* The edges that were given, for elements of `dtype`: compared as float64, or as
 * integers beyond 2^53 with integers. as_given: `array` keeps their dtype, else it is
 * float64 and so is every comparison. ValueError for NaN and edges that decrease. */
int ps_make_given_edges(ps_state *state, const ps_bins_request *request,
                        enum ps_dtype dtype, bool as_given, ps_made_edges *made);

void ps_close_edges(ps_made_edges *made);

/* Edges made ready for about n elements of `dtype`; *finder is to be closed. 0 or -1.
 */
int ps_open_finder(ps_state *state, ps_finder *finder, const ps_edges *edges,
                   enum ps_dtype dtype, int64_t n);

/* An array, `name`d in messages, as kernels read it from here on, whatever other code
 * does to the caller's: a view of base class of real numbers, of *dtype; long doubles
 * become float64. Complex numbers, times and all else: TypeError. 0 or -1. To be called
 * once nothing more runs Python code. */
int ps_settle_real(ps_state *state, PyArrayObject **array, const char *name,
                   enum ps_dtype *dtype);

#endif
