/* Stamps the kernels that combine rows: in the order of an index (scatter.tmpl.h) and
 * group by group (plan.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/rows.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/rows.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/plan.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define ROW_INSTANCES(dtype, arith, kind, unsign, op, ...)                                      \
    OF_UNIT int64_t NAME(scatter_rows, op, dtype)(char *target, const ps_list *list,     \
                                                 const ps_numbering *numbering,         \
                                                 const char *values, int64_t stride,    \
                                                 int64_t width, int64_t ahead,          \
                                                 bool uses_runs)                        \
    { return scatter_rows_##dtype(PS_##op, target, list, numbering, values, stride, width,  \
                                  ahead, uses_runs); }                                  \
    OF_UNIT void NAME(plan_rows, op, dtype)(char *target, const ps_groups *groups,       \
                                           const char *values, int64_t value_stride,    \
                                           int64_t width)                               \
    { plan_rows_##dtype(PS_##op, target, groups, values, value_stride, width); }
#define ROW_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(ROW_INSTANCES, op)
PS_FOR_EACH_REDUCTION(ROW_OP, ~)
/* Groups have kernels where a combination of lines is a few instructions, so that many
 * lines side by side in registers are worth the code. The other reductions take the
 * groups by lists (ops/pieces.c). */
#define HAS_GROUPS(op, kind, dtype)                                                           \
    (PS_##op == PS_add ? kind == FLOAT || kind == COMPLEX || (kind == INT && sizeof(dtype) >= 4) \
                       : kind == FLOAT && (PS_##op == PS_mul || PS_##op == PS_min || PS_##op == PS_max))
#define PLAN_CELL(dtype, arith, kind, unsign, op, bools, integers, sign)                      \
    [PS_##dtype] = HAS_GROUPS(op, kind, dtype)                                                \
                           ? INSTANCE(plan_rows, op, bools, integers, sign, dtype, kind, unsign) \
                           : NULL,
#define PLAN_ROW(op, kinds, bools, integers, sign, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(PLAN_CELL, op, bools, integers, sign)},

const GRID_OF(scatter_rows, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(GRID_ROW, scatter_rows)};
const GRID_OF(plan_rows, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(PLAN_ROW, ~)};
/* clang-format on */
