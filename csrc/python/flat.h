/* Entries of a segment call side by side, whatever axes they have: for ops that see
 * rows along one axis. Batches follow one another, each with segments of its own. */
#ifndef PS_PYTHON_FLAT_H
#define PS_PYTHON_FLAT_H

#include "python/reduce.h"

/* An array laid out as the values are, as (entries, elements of a row): contiguous, a
 * view where it can be one. NULL with an exception. */
PyArrayObject *ps_entries_first(const ps_reduce *work, PyArrayObject *array);

/* The values like that, aligned and native: as they are where kernels cast them to
 * `type`, in which the op works, else cast by NumPy to the type of sums. widens: `type`
 * holds all that this does, and more. *dtype receives the type of the elements. */
PyArrayObject *ps_flat_values(const ps_reduce *work, enum ps_dtype type, bool widens,
                              enum ps_dtype *dtype);

/* What became of that, (entries or segments, elements of a row), with its axes in their
 * places, behind as many axes as `rows` has more. Consumes `rows`. */
PyArrayObject *ps_entries_back(const ps_reduce *work, PyArrayObject *rows,
                               bool of_entries);

/* Ids, and rows that gather= lists, as contiguous arrays of as many numbers as there
 * are entries; of batches counted on, as int64. resolves: ids are int64 in any case,
 * and -1 where a mode or a mask of entries leaves one out. 0 or -1; NULL stays. */
int ps_flat_ids(const ps_reduce *work, bool resolves, PyArrayObject **ids);
int ps_flat_gather(const ps_reduce *work, PyArrayObject **gather);

/* Segments of all batches. 0, or -1 with an exception where there are too many. */
int ps_count_segments(const ps_reduce *work, int64_t *n);

/* After an op that found a row or a limit out of bounds: the error that says which. -1.
 */
int ps_raise_entries(const ps_reduce *work);

#endif
