/* Statistics of a change: what their kernels are given and leave, and the table of
 * them.
 *
 * Arrays are measured in blocks that stay in the first cache while several loops walk
 * over them. What a block comes to is a ps_change, and the op joins these in order.
 */
#ifndef PS_BASE_CHANGE_H
#define PS_BASE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Elements of a block: two of float64 fill half of a first cache of 32 KiB. Lanes
     * of a float32 sum then take 128 terms each. */
    PS_CHANGE_BLOCK = 1024
};

/* clang-format off */

/* Integers of a ps_change. n: pairs whose difference counts; n_new: elements of the new
 * array that do; argmax_abs and first_nonfinite: flat positions, or -1. */
#define PS_FOR_EACH_CHANGE_COUNT(X)                                                     \
    X(n) X(n_new) X(n_changed) X(n_changed_value) X(n_over_tol) X(n_sign_flips)         \
    X(n_zero) X(n_became_zero) X(n_left_zero) X(n_nan) X(n_posinf) X(n_neginf)          \
    X(n_skipped) X(argmax_abs) X(first_nonfinite)

/* Reals: sums of d, |d| and |d|^2, squared distances of d from its mean, extremes; then
 * of old and new, and of new alone. Sums of complex numbers have a second part. */
#define PS_FOR_EACH_CHANGE_REAL(X)                                                      \
    X(sum) X(sum_imag) X(sum_abs) X(sum_squares) X(m2) X(min) X(max) X(max_abs)         \
    X(dot) X(old_squares) X(new_squares)                                                \
    X(new_sum) X(new_sum_imag) X(new_m2) X(new_min) X(new_max)

#define PS_CHANGE_COUNT(name) int64_t name;
#define PS_CHANGE_REAL(name) double name;
typedef struct {
    PS_FOR_EACH_CHANGE_COUNT(PS_CHANGE_COUNT)
    PS_FOR_EACH_CHANGE_REAL(PS_CHANGE_REAL)
} ps_change;

/* clang-format on */

/* A block of two arrays, n <= PS_CHANGE_BLOCK elements side by side. */
typedef struct {
    const void *old; /* NULL: there is none, and the new array alone is measured */
    const void *now;
    const double *diff; /* of f64: differences that the caller knows; NULL: now - old */
    const void *next; /* where the next block of the new array lies, to be asked for */
    int64_t n;
    int64_t first; /* flat position of the first element */
    double atol, rtol;
    double best; /* of all blocks before: where |d| is larger, its place is looked for
                  */
    bool finite_only;
} ps_change_block;

/* The same element by element, for what is kept by rows and features. */
typedef struct {
    double *diff, *diff_imag, *size; /* d and |d| */
    double *now, *now_imag;
    uint8_t *changed;
    uint8_t *is_pair, *is_new; /* does the pair, or the new element, count? */
} ps_change_spread;

/* What is known of the numbers at each place: pivot is the first of them, or 0 where
 * that is no number; sums and squares are of distances from it. */
typedef struct {
    int64_t *n;
    double *pivot, *sum, *squares;
} ps_change_moments;

/* Words of features, without imaginary parts. */
typedef struct {
    double *max;
    int64_t *n_changed, *n_alive;
    ps_change_moments diff, now;
} ps_change_columns;

typedef struct ps_change_kernels {
    /* change.tmpl.h, change_exact.tmpl.h: by what is measured */
    void (*f32)(const ps_change_block *block, ps_change *change);
    void (*f64)(const ps_change_block *block, ps_change *change);
    void (*c64)(const ps_change_block *block, ps_change *change);
    void (*c128)(const ps_change_block *block, ps_change *change);
    void (*spread_f32)(const ps_change_block *block, const ps_change_spread *to);
    void (*spread_f64)(const ps_change_block *block, const ps_change_spread *to);
    void (*spread_c64)(const ps_change_block *block, const ps_change_spread *to);
    void (*spread_c128)(const ps_change_block *block, const ps_change_spread *to);
    /* change_axes.h: place at + i * step, step 0 or 1, meets number i */
    int64_t (*differ_u16)(const void *old, const void *now, int64_t n,
                          uint8_t *changed);
    void (*widen_i64)(const ps_change_block *block, double *old, double *now,
                      double *diff, ps_change *change);
    void (*widen_u64)(const ps_change_block *block, double *old, double *now,
                      double *diff, ps_change *change);
    void (*moments)(const ps_change_moments *to, int64_t at, int64_t step,
                    const double *from, const uint8_t *counts, int64_t n);
    void (*totals)(double *sum, double *max, int64_t at, int64_t step,
                   const double *from, const uint8_t *counts, int64_t n);
    void (*tally)(int64_t *count, int64_t at, int64_t step, const uint8_t *flag,
                  int64_t n);
    /* change_columns.tmpl.h */
    int64_t (*columns_f32)(const ps_change_columns *to, int64_t at, const void *old,
                           const void *now, int64_t pitch, int64_t rows, int64_t n);
    int64_t (*columns_f64)(const ps_change_columns *to, int64_t at, const void *old,
                           const void *now, int64_t pitch, int64_t rows, int64_t n);
    /* change_copy.h */
    void (*stream)(char *to, const char *from, int64_t nbytes);
    void (*end_stream)(void);
} ps_change_kernels;

#endif
