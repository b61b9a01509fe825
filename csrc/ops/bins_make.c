/* Even edges are made, and given ones looked at (contracts in bins.h).
 *
 * Even edges have the bits of np.linspace, since people compare them with NumPy's.
 * There may be as many as entries, and more: signals are heard between stretches of
 * them.
 */
#include <math.h>
#include <stddef.h>

#include "base/sizes.h"
#include "ops/bins.h"
#include "ops/run.h"

/* Edges [first, last) of call->n bins, as np.linspace has them where the width is a
 * float64. */
static void
fill_even(const ps_even_edges_call *call, int64_t first, int64_t last)
{
    const double low = call->low, high = call->high, n = (double)call->n;
    const double width = high - low, step = width / n;
    const bool is_vast = !isfinite(width);
    for (int64_t i = first; i < last; i++) {
        const double part = (double)i / n;
        call->edge[i] = is_vast     ? low * (1 - part) + high * part
                        : step != 0 ? (double)i * step + low
                                    : part * width + low;
    }
    if (last > call->n) {
        call->edge[call->n] = high;
    }
}

/* A stretch is looked at while it is in a cache, together with the edge before it. */
ps_status
ps_make_even(void *argument, ps_run *run)
{
    ps_even_edges_call *const call = argument;
    ps_stretch part = ps_stretch_of(run, call->n + 1, 32);
    call->increase = true;
    while (call->increase && ps_next_stretch(&part)) {
        fill_even(call, part.first, part.last);
        for (int64_t i = ps_max(part.first, 1); i < part.last; i++) {
            call->increase &= call->edge[i - 1] < call->edge[i];
        }
    }
    return ps_run_status(run);
}

/* Whole numbers may be equal as float64, and are compared as they are. */
ps_status
ps_look_at_edges(void *argument, ps_run *run)
{
    ps_given_edges_call *const call = argument;
    const double *const edge = call->edge;
    const int64_t *const whole = call->whole;
    const uint64_t sign = call->is_unsigned ? UINT64_C(1) << 63 : 0;
    ps_stretch part = ps_stretch_of(run, call->n, 16);
    bool decrease = false;
    while (!decrease && ps_next_stretch(&part)) {
        for (int64_t i = part.first; edge != NULL && i < part.last; i++) {
            decrease |= !(edge[i] <= edge[i + 1]);
        }
        for (int64_t i = part.first; whole != NULL && i < part.last; i++) {
            decrease |= (int64_t)((uint64_t)whole[i] ^ sign) >
                        (int64_t)((uint64_t)whole[i + 1] ^ sign);
        }
    }
    call->never_decrease = !decrease;
    return ps_run_status(run);
}
