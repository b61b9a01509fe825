/* Coordinates and their bins: what bin_index and binned_reduce have in common. */
#ifndef PS_PYTHON_BINS_COORDINATES_H
#define PS_PYTHON_BINS_COORDINATES_H

#include "python/arrays.h"
#include "python/bins_edges.h"

/* One coordinate of a call. */
typedef struct {
    PyArrayObject *array; /* owned: its values, of real numbers */
    enum ps_dtype dtype;
    ps_axes axes;
    ps_bins_request request;
    ps_made_edges made;
    ps_finder finder;
    bool has_finder;
} ps_coordinate;

typedef struct {
    ps_state *state;
    int n_coordinates;
    ps_coordinate *coordinates; /* PyMem, or `one` */
    ps_coordinate one;
    bool is_table; /* coords is one array, in one.array until it is split: */
    npy_intp n_columns;
    enum ps_outside outside;
    int64_t n;      /* entries */
    int64_t n_bins; /* in all, with those outside */
    /* Their shape: (ndim, axes of the coordinates); of bins, one axis a coordinate. */
    npy_intp sizes[PS_MAX_COORDINATES];
} ps_binning;

/* One array or several, their bins and ranges; everything that runs Python code. To be
 * closed whatever it returns: 0, or -1 with an exception. */
int ps_take_binning(ps_binning *binning, ps_state *state, PyObject *coords,
                    PyObject *bins, PyObject *range, PyObject *outside);

/* The same of one array that is one coordinate whatever its shape. */
int ps_take_one_binning(ps_binning *binning, ps_state *state, PyObject *x,
                        PyObject *bins, PyObject *range, PyObject *outside);

/* Ranges that are to be found are found, edges made, and finders opened. */
int ps_open_binning(ps_binning *binning);

/* Numbers of bins, and counts, as in ps_bins_call; either may be NULL. */
int ps_run_binning(const ps_binning *binning, char *number, int number_bytes,
                   int64_t *count);

/* The edges of all coordinates: an array, or a list of them. */
PyObject *ps_edges_of(const ps_binning *binning);

void ps_close_binning(ps_binning *binning);

#endif
