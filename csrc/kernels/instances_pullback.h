/* Stamps the steps of pullbacks (pullback.tmpl.h), for float32 and float64 and the
 * baseline, whose kernels serve all levels: an entry goes where its index says, which
 * no level makes vectors of.
 */
#include "kernels/stamps.h"

#define TEMPLATE "kernels/pullback_extreme.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/pullback.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define PULL_INSTANCE(dtype)                                                            \
    OF_UNIT void NAME(pull, step, dtype)(enum ps_pull_step step, const ps_pull *pull,   \
                                         int64_t from, int64_t to)                      \
    { pull_step_##dtype(step, pull, from, to); }
PULL_INSTANCE(f32)
PULL_INSTANCE(f64)

const GRID_OF(pull, PS_NUM_DTYPES) = {
    [PS_f32] = NAME(pull, step, f32), [PS_f64] = NAME(pull, step, f64)};
/* clang-format on */
