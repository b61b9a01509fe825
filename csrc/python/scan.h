/* Running forms of segments. */
#ifndef PS_PYTHON_SCAN_H
#define PS_PYTHON_SCAN_H

#include "python/reduce.h"

/* What the segment of each entry of a call, whose form is known, has come to there, in
 * work->sums, of the result's type. Ids may be any numbers from 0 on. 0 or -1. */
int ps_run_scan(ps_reduce *work, bool is_exclusive, bool is_backward);

#endif
