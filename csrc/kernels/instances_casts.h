/* Stamps the casts between real types (pack.tmpl.h). */
#include "kernels/stamps.h"

#include "kernels/half.h"
#include "kernels/real.h"

#define TEMPLATE "kernels/pack.tmpl.h"
#include "kernels/foreach_real.h"

/* clang-format off */
#define CAST_INSTANCE(to, from, kind, sign)                                                       \
    OF_UNIT void NAME(cast, from, to)(char *result, const char *values, int64_t n,      \
                                      int64_t stride)                                   \
    { cast_##to(PS_##from, result, values, n, stride); }

/* An integer that is cast to one of its size or less, or to bool, gives the same bits
 * whether it has a sign or not. So do integers that others are cast to, but those of
 * eight bytes from floats. */
#define CAST_CELL(to, to_kind, to_sign, from, from_kind, from_sign)                     \
    [PS_##from] = to_kind == INT && !(from_kind & (INT | BOOL)) && sizeof(to) == 8      \
                          ? NAME(cast, from, to)                                        \
                  : from_kind == INT && (to_kind == BOOL || (to_kind == INT && sizeof(to) <= sizeof(from))) \
                          ? NAME(cast, from_sign, to_sign)                              \
                          : NAME(cast, from, to_sign),
/* A macro cannot expand inside itself, so the second axis has a name of its own. */
#define FOR_EACH_SOURCE(X, ...)                                                         \
    X(__VA_ARGS__, b1, BOOL, b1)                                                        \
    X(__VA_ARGS__, i8, INT, i8) X(__VA_ARGS__, u8, INT, i8)                             \
    X(__VA_ARGS__, i16, INT, i16) X(__VA_ARGS__, u16, INT, i16)                         \
    X(__VA_ARGS__, i32, INT, i32) X(__VA_ARGS__, u32, INT, i32)                         \
    X(__VA_ARGS__, i64, INT, i64) X(__VA_ARGS__, u64, INT, i64)                         \
    X(__VA_ARGS__, f16, HALF, f16) X(__VA_ARGS__, bf16, HALF, bf16)                     \
    X(__VA_ARGS__, f32, FLOAT, f32) X(__VA_ARGS__, f64, FLOAT, f64)
#define CAST_INSTANCES(to, ...) FOR_EACH_SOURCE(CAST_INSTANCE, to)
PS_FOR_EACH_REAL(CAST_INSTANCES, ~)
#define CAST_ROW(to, kind, sign, ...) [PS_##to] = {FOR_EACH_SOURCE(CAST_CELL, to, kind, sign)},

const GRID_OF(cast, PS_NUM_ALL_DTYPES) = {PS_FOR_EACH_REAL(CAST_ROW, ~)};
/* clang-format on */
