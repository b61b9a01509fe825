/* Medians and quantiles of segments. */
#ifndef PS_PYTHON_QUANTILE_H
#define PS_PYTHON_QUANTILE_H

#include "python/reduce.h"

/* Order statistics of a segment call whose form is known, in work->sums, of the type of
 * sums, behind an axis of levels where these are a list. 0 or -1. */
int ps_run_quantile(ps_reduce *work);

#endif
