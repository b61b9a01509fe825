/* Stamps the kernels that combine under a mask (masked.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/mask.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#include "kernels/lanes.h"
#define TEMPLATE "kernels/masked.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define MASKED_INSTANCE(dtype, arith, kind, unsign, op, ...)                              \
    OF_UNIT void NAME(masked, op, dtype)(char *target, const char *mask,                  \
                                         const char *values, int64_t step, int64_t n)     \
    { masked_##dtype(PS_##op, target, mask, values, step, n); }
#define MASKED_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(MASKED_INSTANCE, op)
PS_FOR_EACH_REDUCTION(MASKED_OP, ~)
/* Sums in pairs never come under a mask, nor does the order of complex numbers, which is
 * that of maximum_at and its kin alone. */
#define HAS_ORDER(op) \
    (PS_##op == PS_min || PS_##op == PS_max || PS_##op == PS_fmin || PS_##op == PS_fmax)
#define MASKED_KINDS(op, kinds) ((kinds) & ~PAIR & ~(HAS_ORDER(op) ? COMPLEX : 0))
#define MASKED_ROW(op, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(GRID_CELL, family, op, MASKED_KINDS(op, kinds), bools, integers, sign)},

const GRID_OF(masked, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(MASKED_ROW, masked)};
/* clang-format on */
