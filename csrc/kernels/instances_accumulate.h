/* Stamps the sums of gradients with a look at each (accumulate.tmpl.h): a sum is
 * float32 or float64, real or complex, and takes what floats there are.
 */
#include "kernels/stamps.h"

#include "kernels/half.h"

enum {
    /* Elements whose odd ones are counted in one register. */
    ACCUMULATE_BLOCK = 4096
};

#define TEMPLATE "kernels/accumulate.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define ACCUMULATE_AS(real, source, is_pair, how)                                       \
    accumulate_##real(PS_##source, is_pair, how, acc, g, n, weight)
#define ACCUMULATE_INSTANCE(to, from, real, source, is_pair)                            \
    OF_UNIT int64_t NAME(accumulate, from, to)(enum ps_accumulation how, char *acc,     \
                                               const char *g, int64_t n, double weight) \
    { switch (how) {                                                                    \
        case PS_ACCUMULATE_ALL: return ACCUMULATE_AS(real, source, is_pair, PS_ACCUMULATE_ALL); \
        case PS_ACCUMULATE_FINITE: return ACCUMULATE_AS(real, source, is_pair, PS_ACCUMULATE_FINITE); \
        default: return ACCUMULATE_AS(real, source, is_pair, PS_ACCUMULATE_NONE); } }
#define FOR_EACH_ACCUMULATION(X)                                                        \
    X(f32, f16, f32, f16, false) X(f32, bf16, f32, bf16, false)                         \
    X(f32, f32, f32, f32, false) X(f32, f64, f32, f64, false)                           \
    X(f64, f16, f64, f16, false) X(f64, bf16, f64, bf16, false)                         \
    X(f64, f32, f64, f32, false) X(f64, f64, f64, f64, false)                           \
    X(c64, c64, f32, f32, true) X(c64, c128, f32, f64, true)                            \
    X(c128, c64, f64, f32, true) X(c128, c128, f64, f64, true)
FOR_EACH_ACCUMULATION(ACCUMULATE_INSTANCE)

#define ACCUMULATE_CELL(to, from) [PS_##from] = NAME(accumulate, from, to)
const GRID_OF(accumulate, PS_NUM_DTYPES) = {
    [PS_f32] = {ACCUMULATE_CELL(f32, f16), ACCUMULATE_CELL(f32, bf16),
                ACCUMULATE_CELL(f32, f32), ACCUMULATE_CELL(f32, f64)},
    [PS_f64] = {ACCUMULATE_CELL(f64, f16), ACCUMULATE_CELL(f64, bf16),
                ACCUMULATE_CELL(f64, f32), ACCUMULATE_CELL(f64, f64)},
    [PS_c64] = {ACCUMULATE_CELL(c64, c64), ACCUMULATE_CELL(c64, c128)},
    [PS_c128] = {ACCUMULATE_CELL(c128, c64), ACCUMULATE_CELL(c128, c128)}};
/* clang-format on */
