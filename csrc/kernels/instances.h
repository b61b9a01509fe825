/* Stamps, for one CPU level, the kernels that are moves, or read an index or a mask,
 * and the table of pointers to all kernels (table.h): those of this unit, and the grids
 * of the others (stamps.h). */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/list.h"
#include "kernels/mask.h"
#include "kernels/partition.h"
#include "kernels/rows.h"
#include "kernels/rows_moved.h"

#define TEMPLATE "kernels/index.tmpl.h"
#include "kernels/foreach_index.h"
#define TEMPLATE "kernels/set.tmpl.h"
#include "kernels/foreach_size.h"
#include "kernels/lanes.h"
#define TEMPLATE "kernels/where.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/gather.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/copy.tmpl.h"
#include "kernels/foreach_size.h"
#define TEMPLATE "kernels/truth.tmpl.h"
#include "kernels/foreach_size.h"
#define T i64
#include "kernels/nonzero.tmpl.h"
#undef T

/* clang-format off */
#define SIZE_INSTANCES(size, ...)                                                       \
    OF_UNIT void NAME(set, move, size)(char *target, const ps_list *list,                \
                                      const char *values, int64_t value_stride)         \
    { set_move##size(target, list, values, value_stride); }                             \
    OF_UNIT void NAME(gather, move, size)(char *out, const ps_list *list, const char *a, \
                                         int64_t out_stride)                            \
    { gather_move##size(out, list, a, out_stride); }                                    \
    OF_UNIT int64_t NAME(set_checked, move, size)(const ps_entries *entries)             \
    { return entries->is_wide ? set_checked_move##size(true, entries)                   \
                              : set_checked_move##size(false, entries); }               \
    OF_UNIT int64_t NAME(gather_checked, move, size)(enum ps_mode mode, bool is_wide,    \
                                                    char *out, const char *a,           \
                                                    int64_t count, const char *index,   \
                                                    int64_t n, const char *fill)        \
    { return is_wide ? gather_checked_move##size(mode, true, out, a, count, index, n, fill) \
                     : gather_checked_move##size(mode, false, out, a, count, index, n, fill); } \
    OF_UNIT void NAME(copy, move, size)(char *to, int64_t to_stride, const char *from,   \
                                       int64_t from_stride, int64_t n)                  \
    { copy_move##size(false, to, to_stride, from, from_stride, n); }                    \
    OF_UNIT void NAME(swap, move, size)(char *to, int64_t to_stride, const char *from,   \
                                       int64_t from_stride, int64_t n)                  \
    { copy_move##size(true, to, to_stride, from, from_stride, n); }                     \
    OF_UNIT void NAME(turn, move, size)(char *to, int64_t to_stride,                      \
                                       const int64_t *offset, int64_t columns,          \
                                       const char *from, int64_t rows)                  \
    { turn_move##size(to, to_stride, offset, columns, from, rows); }                    \
    OF_UNIT void NAME(truth, move, size)(char *to, const char *from, int64_t stride,     \
                                        int64_t n, const char *bits)                    \
    { truth_move##size(to, from, stride, n, bits); }                                    \
    OF_UNIT void NAME(where, move, size)(char *out, const char *mask, const char *x,     \
                                        int64_t x_step, const char *y, int64_t y_step,  \
                                        int64_t n, bool streams)                        \
    { where_move##size(out, mask, x, x_step, y, y_step, n, streams); }                  \
    OF_UNIT void NAME(where_set, move, size)(char *target, const char *mask,             \
                                            const char *values, int64_t step, int64_t n) \
    { where_set_move##size(target, mask, values, step, n); }                             \
    OF_UNIT int64_t NAME(compress, move, size)(char *out, const char *a, const char *mask,   \
                                              int64_t n, int64_t room)                      \
    { return compress_move##size(out, a, mask, n, room); }                                  \
    OF_UNIT int64_t NAME(truth_words, move, size)(uint64_t *word, const char *from,      \
                                                 int64_t n, const char *bits)           \
    { return truth_words_move##size(word, from, n, bits); }
PS_FOR_EACH_SIZE(SIZE_INSTANCES, ~)
#define SIZE_CELL(size, family, ...) [PS_SIZE_##size] = NAME(family, move, size),

#define INDEX_CELL(type, family, ...) [PS_INDEX_##type] = family##_##type,

static int64_t NAME(positions, places, i64)(int64_t *to, const uint64_t *word,
                                            int64_t n_words, int64_t base, int64_t room)
{ return positions_i64(to, word, n_words, base, room); }
static void NAME(split, places, i64)(int64_t *list, int64_t *remainder, int64_t step,
                                     int64_t n, int64_t add, int64_t size)
{ split_i64(list, remainder, step, n, add, size); }

#define TABLE_(isa) ps_kernels_##isa
#define TABLE(isa) TABLE_(isa)

/* Cells that a level may override before it makes its own table. */
#define POSITIONS NAME(positions, places, i64)

#define DECLARE_GRID(family, isa) extern const GRID_TYPE(family) GRID(family, isa)[];
DECLARE_GRID(scatter, ISA_OF_ELEMENTS)
DECLARE_GRID(scatter_runs, ISA_OF_ELEMENTS)
DECLARE_GRID(scatter_checked, ISA_OF_ELEMENTS)
DECLARE_GRID(scatter_runs_checked, ISA_OF_ELEMENTS)
DECLARE_GRID(scatter_rows, ISA)
DECLARE_GRID(plan_rows, ISA)
DECLARE_GRID(segment, ISA)
DECLARE_GRID(segment_rows, ISA)
DECLARE_GRID(scale, ISA)
DECLARE_GRID(spgemm_add, ISA_OF_ELEMENTS)
DECLARE_GRID(spgemm_take, ISA_OF_ELEMENTS)
DECLARE_GRID(spgemm_few, ISA_OF_ELEMENTS)
DECLARE_GRID(spgemm_list, ISA_OF_ELEMENTS)
DECLARE_GRID(find_checked, ISA)
DECLARE_GRID(deviate_checked, ISA)
DECLARE_GRID(exp, ISA)
DECLARE_GRID(log, ISA)
DECLARE_GRID(meet_groups, ISA)
DECLARE_GRID(scan_checked, ISA_OF_ELEMENTS)
DECLARE_GRID(scan_runs, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_place, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_pick, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_missing, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_sort, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_pivot, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_split, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_fives, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_finish, ISA_OF_ELEMENTS)
DECLARE_GRID(quantile_few, ISA_OF_ELEMENTS)
DECLARE_GRID(masked, ISA)
DECLARE_GRID(spmm_rows, ISA)
DECLARE_GRID(spmm_slices, ISA)
DECLARE_GRID(spmm_list, ISA)
DECLARE_GRID(spmm_finish, ISA)
DECLARE_GRID(sddmm, ISA)
extern const struct ps_bin_kernels GRID(bin_kernels, ISA);
DECLARE_GRID(cast, ISA)
extern const ps_delta_kernels GRID(delta, ISA);
extern const struct ps_change_kernels GRID(change, ISA);
extern const ps_key_kernels GRID(keys, baseline);
DECLARE_GRID(accumulate, ISA_OF_ELEMENTS)
DECLARE_GRID(pull, baseline)
/* clang-format on */

const ps_kernel_table TABLE(ISA) = {
#include "kernels/table.h"
};
