/* Stamps the kernels of change (change.tmpl.h, change_exact.tmpl.h, change_axes.h,
 * change_copy.h).
 *
 * Integers and halves are measured as floats that hold them, so there are two kernels
 * for real numbers and two for complex ones. */
#include "kernels/stamps.h"

#include "kernels/change_lanes.h"

#define KIND FLOAT
#define T f32
#include "kernels/change_exact.tmpl.h"
#include "kernels/change.tmpl.h"
#include "kernels/change_levels.tmpl.h"
#undef T
#define T f64
#include "kernels/change_exact.tmpl.h"
#include "kernels/change.tmpl.h"
#include "kernels/change_levels.tmpl.h"
#undef T
#define T f32
#include "kernels/change_columns.tmpl.h"
#undef T
#define T f64
#include "kernels/change_columns.tmpl.h"
#undef T
#undef KIND
#define KIND COMPLEX
#define T c64
#define REAL f32
#include "kernels/change_exact.tmpl.h"
#undef T
#undef REAL
#define T c128
#define REAL f64
#include "kernels/change_exact.tmpl.h"
#undef T
#undef REAL
#undef KIND

#include "kernels/change_axes.h"
#include "kernels/change_copy.h"

/* clang-format off */
#define CHANGE_INSTANCES(dtype, function)                                              \
    static void NAME(change, block, dtype)(const ps_change_block *block, ps_change *change) \
    { function##_##dtype(block, change); }                                             \
    static void NAME(change, spread, dtype)(const ps_change_block *block,              \
                                            const ps_change_spread *to)                \
    { change_spread_##dtype(block, to); }
CHANGE_INSTANCES(f32, change)
CHANGE_INSTANCES(f64, change)
CHANGE_INSTANCES(c64, change_exactly)
#define COLUMNS_INSTANCE(dtype)                                                        \
    static int64_t NAME(change, columns, dtype)(                                       \
            const ps_change_columns *to, int64_t at, const void *old, const void *now, \
            int64_t pitch, int64_t rows, int64_t n)                                    \
    { return change_columns_##dtype(to, at, old, now, pitch, rows, n); }
COLUMNS_INSTANCE(f32)
COLUMNS_INSTANCE(f64)
CHANGE_INSTANCES(c128, change_exactly)

#define CHANGE_CELLS(dtype)                                                            \
    .dtype = NAME(change, block, dtype), .spread_##dtype = NAME(change, spread, dtype),
const ps_change_kernels GRID(change, ISA) = {
    CHANGE_CELLS(f32) CHANGE_CELLS(f64) CHANGE_CELLS(c64) CHANGE_CELLS(c128)
    .differ_u16 = change_differ_u16,
    .widen_i64 = change_widen_i64,
    .widen_u64 = change_widen_u64,
    .moments = change_moments,
    .totals = change_totals,
    .tally = change_tally,
    .columns_f32 = NAME(change, columns, f32),
    .columns_f64 = NAME(change, columns, f64),
    .stream = change_stream,
    .end_stream = change_end_stream};
/* clang-format on */
