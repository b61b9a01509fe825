/* Stamps, for one CPU level, the named instances of every template and the table of
 * pointers to them (table.h). ISA is set by the including isa_<level>.c, inside its
 * target region; this is the only file that knows all templates. Names: family, op,
 * dtype, ISA. */
#include "base/tables.h"
#include "kernels/kernels.h"
#include "kernels/template.h"

#include "kernels/checked.h"
#include "kernels/half.h"
#include "kernels/list.h"
#include "kernels/mask.h"
#include "kernels/partition.h"
#include "kernels/real.h"
#include "kernels/rows.h"
#include "kernels/vectors.h"

#define TEMPLATE "kernels/index.tmpl.h"
#include "kernels/foreach_index.h"
#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/scatter.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/free.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/fold.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/segment.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/visit.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/plan.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/set.tmpl.h"
#include "kernels/foreach_size.h"
#include "kernels/lanes.h"
#define TEMPLATE "kernels/where.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/masked.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/gather.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/copy.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/pack.tmpl.h"
#include "kernels/foreach_real.h"
#define TEMPLATE "kernels/truth.tmpl.h"
#include "kernels/foreach_size.h"
#define T i64
#include "kernels/nonzero.tmpl.h"
#undef T

#define NAME_(family, op, dtype, isa) family##_##op##_##dtype##_##isa
#define NAME__(family, op, dtype, isa) NAME_(family, op, dtype, isa)
#define NAME(family, op, dtype) NAME__(family, op, dtype, ISA)

/* clang-format off */
enum {
    BOOL = PS_KIND_BOOL, INT = PS_KIND_INT, FLOAT = PS_KIND_FLOAT,
    COMPLEX = PS_KIND_COMPLEX, TIME = PS_KIND_TIME, LONG = PS_KIND_LONG,
    PAIR = PS_KIND_PAIR
};

#define CHECKED_INSTANCE(family, op, dtype)                                             \
    static int64_t NAME(family, op, dtype)(bool is_wide, char *target, int64_t size,    \
                                           int64_t counted, const char *index,          \
                                           const char *values, int64_t stride, int64_t n)   \
    { return is_wide                                                                    \
          ? family##_##dtype(PS_##op, true, target, size, counted, index, values, stride, n)    \
          : family##_##dtype(PS_##op, false, target, size, counted, index, values, stride, n); }
#define SCATTER_INSTANCES(dtype, arith, kind, op, ...)                                  \
    static void NAME(scatter, op, dtype)(char *target, const ps_list *list,             \
                                         const char *values, int64_t value_stride)      \
    { scatter_##dtype(PS_##op, target, list, values, value_stride); }                   \
    static void NAME(scatter_runs, op, dtype)(char *target, const ps_list *list,        \
                                              const char *values, int64_t value_stride) \
    { scatter_runs_##dtype(PS_##op, target, list, values, value_stride); }              \
    static void NAME(scatter_rows, op, dtype)(char *target, const ps_list *list,        \
                                              const char *values, int64_t value_stride, \
                                              int64_t width, int64_t ahead)             \
    { scatter_rows_##dtype(PS_##op, target, list, values, value_stride, width, ahead); }    \
    CHECKED_INSTANCE(scatter_checked, op, dtype)                                        \
    CHECKED_INSTANCE(scatter_runs_checked, op, dtype)                                   \
    static void NAME(masked, op, dtype)(char *target, const char *mask, const char *values, \
                                        bool is_one, int64_t n)                             \
    { if (is_one) { masked_##dtype(PS_##op, target, mask, values, true, n); }               \
      else { masked_##dtype(PS_##op, target, mask, values, false, n); } }
#define SCATTER_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(SCATTER_INSTANCES, op)
PS_FOR_EACH_REDUCTION(SCATTER_OP, ~)
#define PLAN_INSTANCE(dtype, arith, kind, op, ...)                                      \
    static void NAME(plan_rows, op, dtype)(char *target, const ps_groups *groups,       \
                                           const char *values, int64_t value_stride,    \
                                           int64_t width)                               \
    { plan_rows_##dtype(PS_##op, target, groups, values, value_stride, width); }
#define PLAN_OP(op, kinds, ...) PS_FOR_EACH_DTYPE(PLAN_INSTANCE, op)
PS_FOR_EACH_REDUCTION(PLAN_OP, ~)

#define SCATTER_CELL(dtype, arith, kind, family, op, kinds, ...) \
    [PS_##dtype] = ((kinds) & kind) ? NAME(family, op, dtype) : NULL,
#define SCATTER_ROW(op, kinds, on_bool, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(SCATTER_CELL, family, op, kinds)},

/* Reductions whose order over a segment means something. */
#define IS_FOLD(op) (PS_##op != PS_sub && PS_##op != PS_div && PS_##op != PS_floor_div)
#define IS_EXTREME(op) (PS_##op >= PS_min && PS_##op <= PS_fmax)
#define ORDERED (BOOL | INT | FLOAT | TIME | LONG)
#define SEGMENT_INSTANCES(dtype, arith, kind, op, ...)                                  \
    static void NAME(segment, op, dtype)(char *out, const char *values,                 \
                                         const ps_segments *segments)                   \
    { if (IS_FOLD(op)) { segment_##dtype(PS_##op, out, values, segments); } }           \
    static void NAME(segment_rows, op, dtype)(char *out, const char *values,            \
                                              const ps_segments *segments)              \
    { if (IS_FOLD(op)) { segment_rows_##dtype(PS_##op, out, values, segments); } }      \
    static int64_t NAME(find_checked, op, dtype)(                                       \
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
#define FOLD_CELL(dtype, arith, kind, family, op, kinds, ...)                           \
    [PS_##dtype] = (FOLD_KINDS(op, kinds) & kind) && IS_FOLD(op) ? NAME(family, op, dtype)  \
                                                                 : NULL,
#define FOLD_ROW(op, kinds, on_bool, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(FOLD_CELL, family, op, kinds)},
#define FIND_CELL(dtype, arith, kind, op, ...) \
    [PS_##dtype] = (ORDERED & kind) && IS_EXTREME(op) ? NAME(find_checked, op, dtype)     \
                                                       : NULL,
#define FIND_ROW(op, ...) [PS_##op] = {PS_FOR_EACH_DTYPE(FIND_CELL, op)},

#define SCALE_INSTANCE(dtype, ...)                                                      \
    static void NAME(scale, mul, dtype)(char *values, const char *weights, int64_t n,   \
                                        int64_t width)                                  \
    { if (width == 1) { scale_##dtype(values, weights, n, 1); }                         \
      else { scale_##dtype(values, weights, n, width); } }
PS_FOR_EACH_DTYPE(SCALE_INSTANCE, ~)
#define SCALE_CELL(dtype, arith, kind, ...) \
    [PS_##dtype] = ((INT | FLOAT | COMPLEX) & kind) ? NAME(scale, mul, dtype) : NULL,

#define DEVIATE_INSTANCE(dtype)                                                         \
    static int64_t NAME(deviate_checked, square, dtype)(                                \
            bool is_wide, char *sum, const char *centre, int64_t size, const char *index,   \
            const char *values, int64_t n, int64_t width)                               \
    { return width == 1 && is_wide                                                      \
          ? deviate_checked_##dtype(true, sum, centre, size, index, values, n, 1)       \
          : deviate_checked_##dtype(is_wide, sum, centre, size, index, values, n, width); }
DEVIATE_INSTANCE(f32)
DEVIATE_INSTANCE(f64)

#define SIZE_INSTANCES(size, ...)                                                       \
    static void NAME(set, move, size)(char *target, const ps_list *list,                \
                                      const char *values, int64_t value_stride)         \
    { set_move##size(target, list, values, value_stride); }                             \
    static void NAME(gather, move, size)(char *out, const ps_list *list, const char *a, \
                                         int64_t out_stride)                            \
    { gather_move##size(out, list, a, out_stride); }                                    \
    static int64_t NAME(set_checked, move, size)(bool is_wide, char *target,            \
                                                 int64_t count, const char *index,      \
                                                 const char *values, int64_t stride,    \
                                                 int64_t n, int64_t ahead)              \
    { return is_wide                                                                    \
          ? set_checked_move##size(true, target, count, index, values, stride, n, ahead)    \
          : set_checked_move##size(false, target, count, index, values, stride, n, ahead); }\
    static int64_t NAME(gather_checked, move, size)(bool is_wide, char *out,            \
                                                    const char *a, int64_t count,       \
                                                    const char *index, int64_t n)       \
    { return is_wide ? gather_checked_move##size(true, out, a, count, index, n)         \
                     : gather_checked_move##size(false, out, a, count, index, n); }     \
    static void NAME(copy, move, size)(char *to, int64_t to_stride, const char *from,   \
                                       int64_t from_stride, int64_t n)                  \
    { copy_move##size(false, to, to_stride, from, from_stride, n); }                    \
    static void NAME(swap, move, size)(char *to, int64_t to_stride, const char *from,   \
                                       int64_t from_stride, int64_t n)                  \
    { copy_move##size(true, to, to_stride, from, from_stride, n); }                     \
    static void NAME(truth, move, size)(char *to, const char *from, int64_t stride,     \
                                        int64_t n, const char *bits)                    \
    { truth_move##size(to, from, stride, n, bits); }                                    \
    static void NAME(where, move, size)(char *out, const char *mask, const char *x,     \
                                        const char *y, bool x_one, bool y_one,          \
                                        int64_t n, bool streams)                        \
    { if (x_one && y_one) { where_move##size(out, mask, x, y, true, true, n, streams); }    \
      else if (x_one) { where_move##size(out, mask, x, y, true, false, n, streams); }       \
      else if (y_one) { where_move##size(out, mask, x, y, false, true, n, streams); }       \
      else { where_move##size(out, mask, x, y, false, false, n, streams); } }               \
    static void NAME(where_set, move, size)(char *target, const char *mask,             \
                                            const char *values, bool is_one, int64_t n) \
    { if (is_one) { where_set_move##size(target, mask, values, true, n); }              \
      else { where_set_move##size(target, mask, values, false, n); } }                  \
    static int64_t NAME(compress, move, size)(char *out, const char *a, const char *mask,   \
                                              int64_t n, int64_t room)                      \
    { return compress_move##size(out, a, mask, n, room); }                                  \
    static int64_t NAME(truth_words, move, size)(uint64_t *word, const char *from,      \
                                                 int64_t n, const char *bits)           \
    { return truth_words_move##size(word, from, n, bits); }
PS_FOR_EACH_SIZE(SIZE_INSTANCES, ~)
#define SIZE_CELL(size, family, ...) [PS_SIZE_##size] = NAME(family, move, size),

#define CAST_INSTANCE(to, from, ...)                                                    \
    static void NAME(cast, from, to)(char *result, const char *values, int64_t n,       \
                                     int64_t stride)                                    \
    { cast_##to(PS_##from, result, values, n, stride); }
#define CAST_CELL(to, from, ...) [PS_##from] = NAME(cast, from, to),
/* A macro cannot expand inside itself, so the second axis has a name of its own. */
#define FOR_EACH_SOURCE(X, ...)                                                         \
    X(__VA_ARGS__, b1, ~) X(__VA_ARGS__, i8, ~) X(__VA_ARGS__, u8, ~)                   \
    X(__VA_ARGS__, i16, ~) X(__VA_ARGS__, u16, ~) X(__VA_ARGS__, i32, ~)                \
    X(__VA_ARGS__, u32, ~) X(__VA_ARGS__, i64, ~) X(__VA_ARGS__, u64, ~)                \
    X(__VA_ARGS__, f16, ~) X(__VA_ARGS__, bf16, ~) X(__VA_ARGS__, f32, ~)               \
    X(__VA_ARGS__, f64, ~)
#define CAST_INSTANCES(to, ...) FOR_EACH_SOURCE(CAST_INSTANCE, to)
PS_FOR_EACH_REAL(CAST_INSTANCES, ~)
#define CAST_ROW(to, ...) [PS_##to] = {FOR_EACH_SOURCE(CAST_CELL, to)},

#define INDEX_CELL(type, family, ...) [PS_INDEX_##type] = family##_##type,

static int64_t NAME(positions, places, i64)(int64_t *to, const uint64_t *word,
                                            int64_t n_words, int64_t base, int64_t room)
{ return positions_i64(to, word, n_words, base, room); }
static void NAME(split, places, i64)(int64_t *list, int64_t *remainder, int64_t step,
                                     int64_t n, int64_t add, int64_t size)
{ split_i64(list, remainder, step, n, add, size); }

#define TABLE_(isa) ps_kernels_##isa
#define TABLE(isa) TABLE_(isa)
/* clang-format on */

/* Cells that a level may override before it makes its own table. */
#define POSITIONS NAME(positions, places, i64)

const ps_kernel_table TABLE(ISA) = {
#include "kernels/table.h"
};
