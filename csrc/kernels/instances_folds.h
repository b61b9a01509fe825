/* Stamps the kernels that fold runs of entries (segment.tmpl.h), those that visit the
 * group of each entry (visit.tmpl.h), and exponentials (softmax.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/exponential.h"
#include "kernels/rows.h"
#include "kernels/vectors.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/rows.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/free.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/fold.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/segment.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/visit.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/softmax.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
/* Reductions whose order over a segment means something. */
#define IS_FOLD(op) (PS_##op != PS_sub && PS_##op != PS_div && PS_##op != PS_floor_div)
#define IS_EXTREME(op) (PS_##op >= PS_min && PS_##op <= PS_fmax)
#define ORDERED (BOOL | INT | FLOAT | TIME | LONG)
#define SEGMENT_INSTANCES(dtype, arith, kind, unsign, op, ...)                                  \
    OF_UNIT void NAME(segment, op, dtype)(char *out, const char *values,                 \
                                         const ps_segments *segments)                   \
    { if (IS_FOLD(op)) { segment_##dtype(PS_##op, out, values, segments); } }           \
    OF_UNIT void NAME(segment_rows, op, dtype)(char *out, const char *values,            \
                                              const ps_segments *segments)              \
    { if (IS_FOLD(op)) { segment_rows_##dtype(PS_##op, out, values, segments); } }      \
    OF_UNIT int64_t NAME(find_checked, op, dtype)(                                       \
            bool is_wide, char *best, int64_t *place, int64_t size, const char *index,  \
            const char *values, int64_t first, int64_t n, int64_t width)                \
    { if (!IS_EXTREME(op)) { return 0; }                                                \
      return width == 1 && is_wide                                                      \
          ? find_checked_##dtype(PS_##op, true, best, place, size, index, values, first, n, 1)  \
          : find_checked_##dtype(PS_##op, is_wide, best, place, size, index, values, first, n,  \
                                 width); }
#define SEGMENT_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(SEGMENT_INSTANCES, op)
PS_FOR_EACH_REDUCTION(SEGMENT_OP, ~)
#define FOLD_KINDS(op, kinds) ((kinds) & (IS_EXTREME(op) ? ORDERED : ~PAIR))
#define FOLD_CELL(dtype, arith, kind, unsign, family, op, kinds, bools, integers, sign)       \
    [PS_##dtype] = !(FOLD_KINDS(op, kinds) & kind) || !IS_FOLD(op) ? NULL                     \
                   : ARE_TICKS(op, kind) ? NAME(family, integers, i64)                        \
                   : INSTANCE(family, op, bools, integers, sign, dtype, kind, unsign),
#define FOLD_ROW(op, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(FOLD_CELL, family, op, kinds, bools, integers, sign)},
/* Places of extremes: of bools too, which and and or do not tell. */
#define FIND_CELL(dtype, arith, kind, unsign, op, integers)                                   \
    [PS_##dtype] = !(ORDERED & kind) || !IS_EXTREME(op) ? NULL                                \
                   : ARE_TICKS(op, kind) ? NAME(find_checked, integers, i64)                  \
                   : INSTANCE(find_checked, op, integers, integers, OWN, dtype, kind, unsign),
#define FIND_ROW(op, kinds, bools, integers, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(FIND_CELL, op, integers)},

#define SCALE_INSTANCE(dtype, ...)                                                      \
    OF_UNIT void NAME(scale, mul, dtype)(char *values, const char *weights, int64_t n,   \
                                        int64_t width)                                  \
    { if (width == 1) { scale_##dtype(values, weights, n, 1); }                         \
      else { scale_##dtype(values, weights, n, width); } }
PS_FOR_EACH_DTYPE(SCALE_INSTANCE, ~)
#define SCALE_CELL(dtype, arith, kind, unsign, ...) \
    [PS_##dtype] = ((INT | FLOAT | COMPLEX) & kind) ? NAME(scale, mul, unsign) : NULL,

#define DEVIATE_INSTANCE(dtype)                                                         \
    OF_UNIT int64_t NAME(deviate_checked, square, dtype)(                                \
            bool is_wide, char *sum, const char *centre, int64_t size, const char *index,   \
            const char *values, int64_t n, int64_t width)                               \
    { return width == 1 && is_wide                                                      \
          ? deviate_checked_##dtype(true, sum, centre, size, index, values, n, 1)       \
          : deviate_checked_##dtype(is_wide, sum, centre, size, index, values, n, width); }
DEVIATE_INSTANCE(f32)
DEVIATE_INSTANCE(f64)

#define SOFTMAX_INSTANCES(dtype)                                                        \
    OF_UNIT void NAME(exp, softmax, dtype)(char *to, const char *from, int64_t n)       \
    { exp_##dtype((dtype *)to, (const dtype *)from, n); }                               \
    OF_UNIT void NAME(log, softmax, dtype)(char *to, const char *from, const char *top, \
                                           int64_t n)                                   \
    { log_##dtype((dtype *)to, (const dtype *)from, (const dtype *)top, n); }           \
    OF_UNIT void NAME(meet, softmax, dtype)(enum ps_op op, bool settles, char *to,      \
                                            const char *from, const char *group,        \
                                            const int64_t *row, int64_t n, int64_t width)   \
    { if (op == PS_div) { meet_groups_##dtype(PS_div, false, (dtype *)to, (const dtype *)from,  \
                                              (const dtype *)group, row, n, width); }       \
      else if (settles) { meet_groups_##dtype(PS_sub, true, (dtype *)to, (const dtype *)from,   \
                                              (const dtype *)group, row, n, width); }       \
      else { meet_groups_##dtype(PS_sub, false, (dtype *)to, (const dtype *)from,           \
                                 (const dtype *)group, row, n, width); } }
SOFTMAX_INSTANCES(f32)
SOFTMAX_INSTANCES(f64)
#define SOFTMAX_GRID(family, name) const GRID_OF(family, PS_NUM_DTYPES) = \
    {[PS_f32] = NAME(name, softmax, f32), [PS_f64] = NAME(name, softmax, f64)};

const GRID_OF(segment, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(FOLD_ROW, segment)};
const GRID_OF(segment_rows, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(FOLD_ROW, segment_rows)};
const GRID_OF(scale, PS_NUM_DTYPES) = {PS_FOR_EACH_DTYPE(SCALE_CELL, ~)};
const GRID_OF(find_checked, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(FIND_ROW, ~)};
const GRID_OF(deviate_checked, PS_NUM_DTYPES) = {[PS_f32] = NAME(deviate_checked, square, f32),
                                           [PS_f64] = NAME(deviate_checked, square, f64)};
SOFTMAX_GRID(exp, exp)
SOFTMAX_GRID(log, log)
SOFTMAX_GRID(meet_groups, meet)
/* clang-format on */
