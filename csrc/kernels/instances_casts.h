/* Stamps the casts between real types (pack.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/half.h"
#include "kernels/real.h"

#define TEMPLATE "kernels/pack.tmpl.h"
#include "kernels/foreach_real.h"

/* clang-format off */
#define CAST_INSTANCE(to, from, ...)                                                    \
    OF_UNIT void NAME(cast, from, to)(char *result, const char *values, int64_t n,       \
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

const GRID_OF(cast, PS_NUM_ALL_DTYPES) = {PS_FOR_EACH_REAL(CAST_ROW, ~)};
/* clang-format on */
