/* Stamps the kernels of single elements (scatter.tmpl.h,
 * checked.tmpl.h), for the baseline and for
 * AVX2, whose kernels serve the levels above as well: each entry waits for the one
 * before it where they meet, so no level makes vectors of these loops. AVX2 has
 * instructions that leave their operands alone, which the baseline pays for with
 * copies: 200,000 maxima of float64 into 1,000 take 0.20 ms instead of 0.24 (Zen 1).
 */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/rows.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/update.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/scatter.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/checked.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define CHECKED_INSTANCE(family, op, dtype)                                             \
    OF_UNIT int64_t NAME(family, op, dtype)(const ps_entries *entries)                  \
    { return entries->is_wide ? family##_##dtype(PS_##op, true, entries)                \
                              : family##_##dtype(PS_##op, false, entries); }
#define ELEMENT_INSTANCES(dtype, arith, kind, unsign, op, ...)                                  \
    OF_UNIT void NAME(scatter, op, dtype)(char *target, const ps_list *list,             \
                                         const char *values, int64_t value_stride)      \
    { scatter_##dtype(PS_##op, target, list, values, value_stride); }                   \
    OF_UNIT void NAME(scatter_runs, op, dtype)(char *target, const ps_list *list,        \
                                              const char *values, int64_t value_stride) \
    { scatter_runs_##dtype(PS_##op, target, list, values, value_stride); }              \
    CHECKED_INSTANCE(scatter_checked, op, dtype)                                        \
    CHECKED_INSTANCE(scatter_runs_checked, op, dtype)
#define ELEMENT_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(ELEMENT_INSTANCES, op)
PS_FOR_EACH_REDUCTION(ELEMENT_OP, ~)

const GRID_OF(scatter, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter)};
const GRID_OF(scatter_runs, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter_runs)};
const GRID_OF(scatter_checked, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter_checked)};
const GRID_OF(scatter_runs_checked, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter_runs_checked)};

/* clang-format on */
