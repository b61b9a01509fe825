/* Would NumPy warn of a cast? (ps_check_cast in ops.h)
 *
 * Kernels cast without a word, where NumPy warns of floats that overflow a narrower
 * type and of floats that an integer type does not hold. All elements are looked at, as
 * float64, block by block; those who find something leave the cast to NumPy, which then
 * sees the selected elements alone.
 */
#include <math.h>
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/operand.h"
#include "ops/run.h"
#include "ops/values.h"

/* Numbers in [low, high] are cast without a word; infinities and NaN where `specials`.
 */
typedef struct {
    f64 low, high;
    bool specials;
} cast_range;

/* Of any width, signed or not. */
static bool
is_integer(enum ps_dtype type)
{
    return ps_dtype_kind[type] == PS_KIND_INT;
}

/* What an integer type holds, as floats: 2^63 - 1 is none, so the ends are those floats
 * that lie inside. */
static cast_range
range_of_integer(enum ps_dtype type)
{
    const int n_bits = 8 * ps_dtype_size[type];
    const bool is_signed =
            type == PS_i8 || type == PS_i16 || type == PS_i32 || type == PS_i64;
    const f64 end = ldexp(1, n_bits - is_signed);
    return (cast_range){is_signed ? -end : 0, nextafter(end, 0), false};
}

/* float16 ends at 2^16 - 2^5, bfloat16 and float32 one unit in the last place below
 * 2^128; all that is wider holds what Python's floats hold. */
f64
ps_largest_float(enum ps_dtype type)
{
    switch (type) {
        case PS_f16:
            return 65504;
        case PS_bf16:
            return 0x1.fep127;
        case PS_f32:
        case PS_c64:
            return 0x1.fffffep127;
        default:
            return INFINITY;
    }
}

/* Infinities and NaN are numbers of every type of floats, and of no integer. */
static cast_range
range_of(enum ps_dtype type)
{
    const f64 largest = ps_largest_float(type);
    return isinf(largest) ? range_of_integer(type)
                          : (cast_range){-largest, largest, true};
}

/* Does every cast from one type to the other go without a word? */
static bool
is_always_silent(enum ps_dtype from, enum ps_dtype to)
{
    const bool holds_all = to == PS_f64 || to == PS_c128 || to == PS_b1;
    const bool is_small = from == PS_b1 || (is_integer(from) && to != PS_f16);
    return holds_all || is_small || from == to;
}

/* Without a way out of the loop, so that it is vector code. */
static bool
block_is_silent(const f64 *value, int64_t n, cast_range range)
{
    int n_loud = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool is_special = !isfinite(value[i]) && range.specials;
        const bool is_inside = value[i] >= range.low && value[i] <= range.high;
        n_loud |= !is_inside && !is_special;
    }
    return n_loud == 0;
}

/* On one thread: a single reading of the array as it came, before it is broadcast. */
ps_status
ps_check_cast(void *argument, ps_run *run)
{
    ps_cast_check *const check = argument;
    const bool is_complex = ps_dtype_kind[check->view.dtype] == PS_KIND_COMPLEX;
    const cast_range range = range_of(check->type);
    const int n_parts = is_complex ? 2 : 1;
    ps_operand operand;
    int64_t n;
    check->is_silent = true;
    if (is_always_silent(check->view.dtype, check->type)) {
        return PS_SUCCESS;
    }
    if (!ps_count(check->view.ndim, check->view.shape, &n)) {
        return ps_fail(PS_TOO_LARGE);
    }
    ps_operand_open(&operand, &check->view, is_complex ? PS_c128 : PS_f64);
    if (!check->view.aligned) {
        ps_operand_pack(&operand);
    }
    const int64_t nbytes = PS_OPERAND_BLOCK * n_parts * (int64_t)sizeof(f64);
    char *const buffer = ps_scratch_get(nbytes);
    if (buffer == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t at = 0; at < n && check->is_silent && !ps_run_stops(run);
         at += PS_OPERAND_BLOCK) {
        const int64_t count = ps_min(PS_OPERAND_BLOCK, n - at);
        int64_t step;
        const char *const values = ps_operand_block(&operand, at, count, buffer, &step);
        check->is_silent = block_is_silent((const f64 *)(const void *)values,
                                           (step == 0 ? 1 : count) * n_parts, range);
    }
    ps_scratch_put(buffer, nbytes);
    return ps_run_status(run);
}
