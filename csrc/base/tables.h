/* The lists of the house: element types, index types, reductions, item sizes.
 *
 * Enums, function names, tables of function pointers and the list that Python sees
 * (`_core.kernels()`) are stamped from the rows below, so that a new reduction or a new
 * element type is a row here (docs/howto-add-a-reduction.md,
 * docs/howto-add-a-dtype.md). Nothing else in the house enumerates them by hand,
 * foreach_dtype.h excepted.
 */
#ifndef PS_BASE_TABLES_H
#define PS_BASE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* Element types under the names that function names and Python use. Booleans are bytes
 * of which every non-zero value is true; times are a struct so that generic selection
 * tells them from integers; k32 and k64 are a running sum with its Neumaier correction.
 */
typedef uint8_t b1;
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef long double f80;
typedef struct {
    uint16_t bits;
} f16;
typedef struct {
    uint16_t bits;
} bf16;
typedef struct {
    f32 re, im;
} c64;
typedef struct {
    f64 re, im;
} c128;
typedef struct {
    int64_t ticks;
} t64;
typedef struct {
    f32 sum, rest;
} k32;
typedef struct {
    f64 sum, rest;
} k64;

/* Kinds of element type, as bits: a reduction names the kinds that it is defined for.
 */
enum ps_kind {
    PS_KIND_BOOL = 1,
    PS_KIND_INT = 2,
    PS_KIND_FLOAT = 4,
    PS_KIND_COMPLEX = 8,
    PS_KIND_TIME = 16,
    PS_KIND_LONG = 32, /* long double: order and moves only */
    PS_KIND_PAIR = 64, /* compensated accumulators, never a caller's dtype */
    PS_KIND_HALF = 128 /* stored types: arithmetic happens in f32 */
};

/* clang-format off */

/* Types with kernels of their own. `arith` is where integer arithmetic happens:
 * unsigned and at least 32 bits wide, so that it wraps and never traps. `unsign` is the
 * type whose kernels serve where a sign plays no part.
 *  name  arith     kind     unsign */
#define PS_FOR_EACH_DTYPE(X, ...)                   \
    X(b1,   uint32_t, BOOL,    b1,   __VA_ARGS__)   \
    X(i8,   uint32_t, INT,     u8,   __VA_ARGS__)   \
    X(u8,   uint32_t, INT,     u8,   __VA_ARGS__)   \
    X(i16,  uint32_t, INT,     u16,  __VA_ARGS__)   \
    X(u16,  uint32_t, INT,     u16,  __VA_ARGS__)   \
    X(i32,  uint32_t, INT,     u32,  __VA_ARGS__)   \
    X(u32,  uint32_t, INT,     u32,  __VA_ARGS__)   \
    X(i64,  uint64_t, INT,     u64,  __VA_ARGS__)   \
    X(u64,  uint64_t, INT,     u64,  __VA_ARGS__)   \
    X(f32,  f32,      FLOAT,   f32,  __VA_ARGS__)   \
    X(f64,  f64,      FLOAT,   f64,  __VA_ARGS__)   \
    X(f80,  f80,      LONG,    f80,  __VA_ARGS__)   \
    X(c64,  c64,      COMPLEX, c64,  __VA_ARGS__)   \
    X(c128, c128,     COMPLEX, c128, __VA_ARGS__)   \
    X(t64,  t64,      TIME,    t64,  __VA_ARGS__)   \
    X(k32,  k32,      PAIR,    k32,  __VA_ARGS__)   \
    X(k64,  k64,      PAIR,    k64,  __VA_ARGS__)

/* Types that are stored but computed in f32. */
#define PS_FOR_EACH_STORED_DTYPE(X, ...)       \
    X(f16,  f32,      HALF,    __VA_ARGS__)    \
    X(bf16, f32,      HALF,    __VA_ARGS__)

/* Types between which values are cast while they are packed: the real numbers. Beside
 * each its kind and the type whose kernels serve where a sign plays no part: here the
 * one with a sign, from and to which x86 converts floats. */
#define PS_FOR_EACH_REAL(X, ...)                                               \
    X(b1, BOOL, b1, __VA_ARGS__)                                               \
    X(i8, INT, i8, __VA_ARGS__) X(u8, INT, i8, __VA_ARGS__)                    \
    X(i16, INT, i16, __VA_ARGS__) X(u16, INT, i16, __VA_ARGS__)                \
    X(i32, INT, i32, __VA_ARGS__) X(u32, INT, i32, __VA_ARGS__)                \
    X(i64, INT, i64, __VA_ARGS__) X(u64, INT, i64, __VA_ARGS__)                \
    X(f16, HALF, f16, __VA_ARGS__) X(bf16, HALF, bf16, __VA_ARGS__)            \
    X(f32, FLOAT, f32, __VA_ARGS__) X(f64, FLOAT, f64, __VA_ARGS__)

/* Integer types of an index. */
#define PS_FOR_EACH_INDEX(X, ...)                                              \
    X(i8, __VA_ARGS__) X(u8, __VA_ARGS__) X(i16, __VA_ARGS__)                  \
    X(u16, __VA_ARGS__) X(i32, __VA_ARGS__) X(u32, __VA_ARGS__)                \
    X(i64, __VA_ARGS__) X(u64, __VA_ARGS__)

/* Pure moves depend on the item size alone. */
#define PS_FOR_EACH_SIZE(X, ...)                                               \
    X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(4, __VA_ARGS__)                      \
    X(8, __VA_ARGS__) X(16, __VA_ARGS__)

/* Reductions: dst = combine(dst, value), one expression per kind. In an expression a is
 * the old value and b the arriving one, A and B the same as `arith`; the functions are
 * those of kernels/combine.tmpl.h. `kinds` says where the row exists: elsewhere its
 * expression is never reached and its cell in the table of kernels is NULL. Kernels
 * that would be the same are one: `bools` is the reduction that this one is on bools,
 * which have and, or, xor; `integers` the one that it is on integers, where fmin is
 * min; and `sign` is ANY where integers give the same bits with a sign and without, so
 * that the kernel of the type without one serves both, else OWN.
 *  name, kinds, bools, integers, sign,
 *      integer, real, complex, time, pair */
#define PS_FOR_EACH_REDUCTION(X, ...)                                                  \
    X(add, (BOOL | INT | FLOAT | COMPLEX | TIME | PAIR), or, add, ANY,                 \
      A + B, a + b, OF_TYPE(plus)(a, b), OF_TYPE(time_plus)(a, b),                     \
      OF_TYPE(pair_plus)(a, b), __VA_ARGS__)                                           \
    X(sub, (INT | FLOAT | COMPLEX | TIME | PAIR), or, sub, ANY,                        \
      A - B, a - b, OF_TYPE(minus)(a, b), OF_TYPE(time_minus)(a, b),                   \
      OF_TYPE(pair_minus)(a, b), __VA_ARGS__)                                          \
    X(mul, (BOOL | INT | FLOAT | COMPLEX), and, mul, ANY,                              \
      A * B, a * b, OF_TYPE(times)(a, b), b, b, __VA_ARGS__)                           \
    X(div, (FLOAT | COMPLEX), or, div, OWN,                                            \
      b, a / b, OF_TYPE(over)(a, b), b, b, __VA_ARGS__)                                \
    X(floor_div, (INT | FLOAT), or, floor_div, OWN,                                    \
      OF_TYPE(floor_quotient)(a, b), OF_TYPE(floor_over)(a, b), b, b, b,               \
      __VA_ARGS__)                                                                     \
    X(min, (BOOL | INT | FLOAT | COMPLEX | TIME | LONG), and, min, OWN,                \
      a < b ? a : b, OF_TYPE(least)(a, b), OF_TYPE(first_of)(a, b),                    \
      OF_TYPE(earliest)(a, b), b, __VA_ARGS__)                                         \
    X(max, (BOOL | INT | FLOAT | COMPLEX | TIME | LONG), or, max, OWN,                 \
      a > b ? a : b, OF_TYPE(greatest)(a, b), OF_TYPE(last_of)(a, b),                  \
      OF_TYPE(latest)(a, b), b, __VA_ARGS__)                                           \
    X(fmin, (BOOL | INT | FLOAT | COMPLEX | TIME | LONG), and, min, OWN,               \
      a < b ? a : b, OF_TYPE(least_number)(a, b),                                      \
      OF_TYPE(first_number)(a, b), OF_TYPE(earliest_time)(a, b), b, __VA_ARGS__)       \
    X(fmax, (BOOL | INT | FLOAT | COMPLEX | TIME | LONG), or, max, OWN,                \
      a > b ? a : b, OF_TYPE(greatest_number)(a, b),                                   \
      OF_TYPE(last_number)(a, b), OF_TYPE(latest_time)(a, b), b, __VA_ARGS__)          \
    X(and, (BOOL | INT), and, and, ANY, A & B, b, b, b, b, __VA_ARGS__)                \
    X(or, (BOOL | INT), or, or, ANY, A | B, b, b, b, b, __VA_ARGS__)                   \
    X(xor, (BOOL | INT), xor, xor, ANY, A ^ B, b, b, b, b, __VA_ARGS__)

/* clang-format on */

#define PS_ENUM_DTYPE(name, ...) PS_##name,
enum ps_dtype {
    PS_FOR_EACH_DTYPE(PS_ENUM_DTYPE, ~) /* those with kernels come first */
    PS_NUM_DTYPES,
    PS_BEFORE_STORED = PS_NUM_DTYPES - 1,
    PS_FOR_EACH_STORED_DTYPE(PS_ENUM_DTYPE, ~) PS_NUM_ALL_DTYPES,
    PS_raw = PS_NUM_ALL_DTYPES /* bytes that are only moved: strings, records */
};

#define PS_ENUM_INDEX(name, ...) PS_INDEX_##name,
enum ps_index_type {
    PS_FOR_EACH_INDEX(PS_ENUM_INDEX, ~) PS_NUM_INDEX_TYPES
};

#define PS_ENUM_REDUCTION(name, ...) PS_##name,
enum ps_op {
    PS_FOR_EACH_REDUCTION(PS_ENUM_REDUCTION, ~) PS_NUM_REDUCTIONS,
    PS_set = PS_NUM_REDUCTIONS,
    PS_first,
    PS_mean,
    PS_NUM_OPS
};

#define PS_ENUM_SIZE(size, ...) PS_SIZE_##size,
enum ps_size {
    PS_FOR_EACH_SIZE(PS_ENUM_SIZE, ~) PS_NUM_SIZES
};

/* What a negative or too large index means: the option `mode`. */
enum ps_mode {
    PS_MODE_RAISE,
    PS_MODE_DROP,
    PS_MODE_CLIP,
    PS_MODE_WRAP,
    PS_MODE_FILL,
    PS_MODE_IDS /* of segments: as raise, but a negative is out of bounds */
};

#define PS_DTYPE_SIZE(name, ...) [PS_##name] = (uint8_t)sizeof(name),
static const uint8_t ps_dtype_size[PS_NUM_ALL_DTYPES] = {
        PS_FOR_EACH_DTYPE(PS_DTYPE_SIZE, ~) PS_FOR_EACH_STORED_DTYPE(PS_DTYPE_SIZE, ~)};

#define PS_DTYPE_KIND(name, arith, kind, ...) [PS_##name] = PS_KIND_##kind,
static const uint8_t ps_dtype_kind[PS_NUM_ALL_DTYPES] = {
        PS_FOR_EACH_DTYPE(PS_DTYPE_KIND, ~) PS_FOR_EACH_STORED_DTYPE(PS_DTYPE_KIND, ~)};

#endif
