/* Stamps the kernels that combine rows: in the order of an index (scatter.tmpl.h) and
 * group by group (plan.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/rows.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/scatter.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/plan.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define ROW_INSTANCES(dtype, arith, kind, unsign, op, ...)                                      \
    OF_UNIT void NAME(scatter_rows, op, dtype)(char *target, const ps_list *list,        \
                                              const char *values, int64_t value_stride, \
                                              int64_t width, int64_t ahead)             \
    { scatter_rows_##dtype(PS_##op, target, list, values, value_stride, width, ahead); }    \
    OF_UNIT void NAME(plan_rows, op, dtype)(char *target, const ps_groups *groups,       \
                                           const char *values, int64_t value_stride,    \
                                           int64_t width)                               \
    { plan_rows_##dtype(PS_##op, target, groups, values, value_stride, width); }
#define ROW_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(ROW_INSTANCES, op)
PS_FOR_EACH_REDUCTION(ROW_OP, ~)

const GRID_OF(scatter_rows, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter_rows)};
const GRID_OF(plan_rows, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, plan_rows)};
/* clang-format on */
