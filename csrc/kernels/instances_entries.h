/* Stamps the kernels that give each entry something back (scan.tmpl.h), and those of
 * order statistics (ranks.tmpl.h, quantile.tmpl.h). AVX-512 takes those of AVX2. */
#include "kernels/stamps.h"

#include "kernels/checked.h"

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/scan.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/ranks.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/quantile.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
/* Of the integers only those of 64 bits, unsigned but for their order. */
#define IS_EXTREME(op) (PS_##op >= PS_min && PS_##op <= PS_fmax)
#define SCAN_KINDS(op)                                                                  \
    ((PS_##op == PS_add ? FLOAT | LONG | COMPLEX | TIME                                 \
      : PS_##op == PS_mul ? FLOAT | LONG | COMPLEX                                      \
      : IS_EXTREME(op) ? FLOAT | LONG | TIME : 0))
#define IS_BITWISE(op) (PS_##op == PS_and || PS_##op == PS_or || PS_##op == PS_xor)
#define SCANS_u64(op)                                                                   \
    (PS_##op == PS_add || PS_##op == PS_mul || SCANS_i64(op) || IS_BITWISE(op))
#define SCANS_i64(op) (PS_##op == PS_min || PS_##op == PS_max)
#define IS_SCAN(op, dtype, kind)                                                        \
    ((SCAN_KINDS(op) & kind) != 0 || (PS_##dtype == PS_u64 && SCANS_u64(op)) ||         \
     (PS_##dtype == PS_i64 && SCANS_i64(op)))
#define SCAN_INSTANCES(dtype, kind, op)                                                 \
    OF_UNIT int64_t NAME(scan_checked, op, dtype)(                                      \
            bool is_wide, char *out, const char *values, const char *index, int64_t n,  \
            const ps_scan *scan)                                                        \
    { if (!IS_SCAN(op, dtype, kind)) { return 0; }                                      \
      return scan_checked_##dtype(PS_##op, is_wide, out, values, index, n, scan); }     \
    OF_UNIT void NAME(scan_runs, op, dtype)(                                            \
            char *out, const char *values, const int64_t *edge, int64_t n_parts,        \
            bool continues, const ps_scan *scan)                                        \
    { if (IS_SCAN(op, dtype, kind)) {                                                   \
          scan_runs_##dtype(PS_##op, out, values, edge, n_parts, continues, scan); } }
#define FOR_EACH_SCANNED(X, ...)                                                        \
    X(i64, INT, __VA_ARGS__) X(u64, INT, __VA_ARGS__) X(f32, FLOAT, __VA_ARGS__)        \
    X(f64, FLOAT, __VA_ARGS__) X(f80, LONG, __VA_ARGS__) X(c64, COMPLEX, __VA_ARGS__)   \
    X(c128, COMPLEX, __VA_ARGS__) X(t64, TIME, __VA_ARGS__)
#define SCAN_OP(op, ...) FOR_EACH_SCANNED(SCAN_INSTANCES, op)
PS_FOR_EACH_REDUCTION(SCAN_OP, ~)
#define SCAN_CELL(dtype, kind, family, op) \
    [PS_##dtype] = IS_SCAN(op, dtype, kind) ? NAME(family, op, dtype) : NULL,
#define SCAN_ROW(op, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {FOR_EACH_SCANNED(SCAN_CELL, family, op)},

const GRID_OF(scan_checked, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(SCAN_ROW, scan_checked)};
const GRID_OF(scan_runs, PS_NUM_REDUCTIONS) = {PS_FOR_EACH_REDUCTION(SCAN_ROW, scan_runs)};

/* One function for each type of what has an order, floats and times. */
#define QUANTILE_GRID(step)                                                             \
    const GRID_OF(quantile_##step, PS_NUM_DTYPES) = {[PS_f32] = quantile_##step##_f32,  \
                                                     [PS_f64] = quantile_##step##_f64,  \
                                                     [PS_f80] = quantile_##step##_f80,  \
                                                     [PS_t64] = quantile_##step##_t64};
QUANTILE_GRID(place)
QUANTILE_GRID(pick)
QUANTILE_GRID(missing)
QUANTILE_GRID(sort)
QUANTILE_GRID(pivot)
QUANTILE_GRID(split)
QUANTILE_GRID(fives)
QUANTILE_GRID(finish)
QUANTILE_GRID(few)
/* clang-format on */
