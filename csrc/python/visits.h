/* Second looks at the entries of a segment call: places of extremes, deviations. */
#ifndef PS_PYTHON_VISITS_H
#define PS_PYTHON_VISITS_H

#include "python/reduce.h"

/* Where the row of each entry is that gather= names: fills work->offsets once. 0 or -1.
 */
int ps_place_rows(ps_reduce *work);

/* Run ps_find or ps_deviate over all entries, batch by batch and place by place of the
 * axes before them. Arrays have the shape of the sums: `result` of the type of sums,
 * `place` of int64 or NULL, `centre` or NULL. 0 or -1. */
int ps_visit(ps_reduce *work, bool finds, PyArrayObject *result, PyArrayObject *place,
             PyArrayObject *centre);

#endif
