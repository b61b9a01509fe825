/* What a reduction starts from where no old value takes part (contract in identity.h).
 *
 * Neutral where the op has a neutral value: whatever arrives first is then the result,
 * to the bit. Differences and quotients start from 0 and 1, as sums and products of
 * what they take away. A table in the form of switches, by kind of number.
 */
#include "ops/identity.h"

#include <math.h>
#include <string.h>

/* Of f32, f64, f80 and the real part of complex numbers. +0.0 for add would turn a
 * first arrival of -0.0 into +0.0; NaN for fmin and fmax stays where only NaN arrives.
 * Infinities are below and above every number. */
static double
real_identity(enum ps_op op)
{
    switch (op) {
        case PS_add:
            return -0.0;
        case PS_mul:
        case PS_div:
        case PS_floor_div:
            return 1;
        case PS_min:
            return INFINITY;
        case PS_max:
            return -INFINITY;
        case PS_fmin:
        case PS_fmax:
            return NAN;
        default:
            return 0;
    }
}

/* Bits of an integer identity; the lowest and highest values depend on width and sign.
 * fmin and fmax are min and max, since no integer is NaN. */
static uint64_t
integer_identity(enum ps_op op, int n_bits, bool is_signed)
{
    const uint64_t ones = ~(uint64_t)0 >> (64 - n_bits);
    const uint64_t highest = is_signed ? ones >> 1 : ones;
    switch (op) {
        case PS_mul:
        case PS_floor_div:
            return 1;
        case PS_min:
        case PS_fmin:
            return highest;
        case PS_max:
        case PS_fmax:
            return is_signed ? highest + 1 : 0;
        case PS_and:
            return ones;
        default:
            return 0;
    }
}

/* In ticks; NaT is the lowest integer, as in NumPy, and neutral for fmin and fmax
 * alone. Sums of times start from 0. */
static int64_t
time_identity(enum ps_op op)
{
    switch (op) {
        case PS_min:
            return INT64_MAX;
        case PS_max:
            return -INT64_MAX; /* the lowest time that is not NaT */
        case PS_fmin:
        case PS_fmax:
            return INT64_MIN;
        default:
            return 0;
    }
}

/* Booleans: `and`, products and minima start from true. Half types are computed in f32
 * and have no identity of their own; compensated pairs start with nothing kept. */
void
ps_write_identity(enum ps_op op, enum ps_dtype type, void *element)
{
    const double real = real_identity(op);
    /* A complex sum starts from -0.0 in both parts, a product from 1 + 0j. */
    const double imaginary = op == PS_add ? -0.0 : 0.0;
    switch (type) {
        case PS_b1:
            *(b1 *)element =
                    op == PS_mul || op == PS_min || op == PS_fmin || op == PS_and;
            return;
        case PS_f32:
            *(f32 *)element = (f32)real;
            return;
        case PS_f64:
            *(f64 *)element = real;
            return;
        case PS_f80:
            *(f80 *)element = real;
            return;
        case PS_c64:
            *(c64 *)element = (c64){(f32)real, (f32)imaginary};
            return;
        case PS_c128:
            *(c128 *)element = (c128){real, imaginary};
            return;
        case PS_k32:
            *(k32 *)element = (k32){(f32)real, 0};
            return;
        case PS_k64:
            *(k64 *)element = (k64){real, 0};
            return;
        case PS_t64:
            *(t64 *)element = (t64){time_identity(op)};
            return;
        default: {
            const int size = ps_dtype_size[type];
            const bool is_signed =
                    type == PS_i8 || type == PS_i16 || type == PS_i32 || type == PS_i64;
            const uint64_t bits = integer_identity(op, 8 * size, is_signed);
            memcpy(element, &bits, (size_t)size); /* little-endian */
        }
    }
}

/* Not the identity where that has a meaning of its own beside numbers: a sum of nothing
 * is +0, and times of nothing are missing. */
void
ps_write_empty(enum ps_op op, enum ps_dtype type, void *element)
{
    memset(element, 0, ps_dtype_size[type]);
    op = op == PS_fmin ? PS_min : op == PS_fmax ? PS_max : op;
    if (op == PS_add) {
        return;
    }
    ps_write_identity(op, type, element);
    if (type == PS_t64) {
        *(t64 *)element = (t64){INT64_MIN};
    }
}
