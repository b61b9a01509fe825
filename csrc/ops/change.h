/* Calls of the change op: two arrays of one shape, and what is to be told of them. */
#ifndef PS_OPS_CHANGE_H
#define PS_OPS_CHANGE_H

#include "base/change.h"
#include "ops/ops.h"

/* What is kept for each row (R of them) and each feature (F); NULL: not asked for.
 * Means of complex numbers have two parts. */
typedef struct {
    double *row_abs_sum, *row_max_abs;
    uint8_t *row_changed;
    double *feature_mean, *feature_m2, *feature_max_abs;
    int64_t *feature_n_changed;
    double *feature_new_mean, *feature_new_m2;
    uint8_t *feature_is_dead;
    int64_t *feature_n, *feature_new_n; /* numbers that means are of */
} ps_change_axes;

/* All arrays have the shape of `now`. */
typedef struct {
    ps_view old; /* data NULL: the new array alone is measured */
    ps_view now;
    ps_view copy;    /* receives `now`; data NULL: nothing does. May be old or now
                      * itself; apart from that it shares no memory with these */
    bool is_private; /* nobody sees `copy` before the call has succeeded */
    int axis;        /* along which rows lie */
    ps_change_axes axes;
    double atol, rtol;
    bool finite_only;
    ps_change change; /* the answer */
} ps_change_call;

/* Several of them at once. */
typedef struct {
    ps_change_call *call;
    int64_t n;
} ps_changes;

ps_status ps_change_arrays(void *changes, ps_run *run); /* a ps_changes */

/* Of elements that follow those of *total. */
void ps_change_join(ps_change *total, const ps_change *part);

/* Give all NaN one sign and payload. */
void ps_change_settle(ps_change *change);

/* Of no elements. */
extern const ps_change ps_no_change;

/* Is this dtype one that can be measured? */
bool ps_is_measurable(enum ps_dtype dtype);

/* What elements of such a dtype are measured as: f32, f64, c64 or c128. */
enum ps_dtype ps_measured_as(enum ps_dtype dtype);

#endif
