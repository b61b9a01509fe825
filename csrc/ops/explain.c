/* The explain op: one pass over two arrays that are meant to be nearly equal (contract
 * in explain.h).
 *
 * Both are read block by block, whatever their layout and type, in the first cache, so
 * no copy of either and no array of differences is made. Elements that are equal, which
 * are nearly all, cost one comparison. Integers are compared as integers: their
 * distance is exact, and is a float64 only where it meets the tolerance.
 *
 * One thread: the answer is read by a person, and the first mismatches are those of the
 * lowest numbers.
 */
#include "ops/explain.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/operand.h"
#include "ops/run.h"

/* An integer of any 64 bits, with or without a sign. */
typedef __int128 wide;

/* A pair of elements: are they equal, or both NaN; how far apart, and how large is what
 * was desired. distance is NaN where there is none. */
typedef struct {
    bool is_equal, is_finite;
    double distance, size;
} comparison;

/* An infinity is equal to itself alone, and near nothing. */
static comparison
compare_reals(double actual, double desired)
{
    return (comparison){
            .is_equal = actual == desired || (isnan(actual) && isnan(desired)),
            .is_finite = isfinite(actual) && isfinite(desired),
            .distance = fabs(actual - desired),
            .size = fabs(desired)};
}

/* Eight bytes are read as the type says. */
static wide
integer_at(enum ps_dtype type, const char *at)
{
    int64_t bits;
    memcpy(&bits, at, sizeof(bits));
    return type == PS_u64 ? (wide)(uint64_t)bits : (wide)bits;
}

/* The distance of two numbers of 64 bits has 65; it is rounded once. */
static comparison
compare_integers(wide actual, wide desired)
{
    const wide distance = actual < desired ? desired - actual : actual - desired;
    return (comparison){.is_equal = distance == 0,
                        .is_finite = true,
                        .distance = (double)distance,
                        .size = (double)(desired < 0 ? -desired : desired)};
}

/* Rounded once they have been subtracted. */
static comparison
compare_longs(const char *actual, const char *desired)
{
    long double a, d;
    memcpy(&a, actual, sizeof(a));
    memcpy(&d, desired, sizeof(d));
    return (comparison){.is_equal = a == d || (isnan(a) && isnan(d)),
                        .is_finite = isfinite(a) && isfinite(d),
                        .distance = (double)fabsl(a - d),
                        .size = (double)fabsl(d)};
}

/* NaN in either part is NaN. */
static comparison
compare_complex(const char *actual, const char *desired)
{
    double a[2], d[2];
    memcpy(a, actual, sizeof(a));
    memcpy(d, desired, sizeof(d));
    const bool both_nan = (isnan(a[0]) || isnan(a[1])) && (isnan(d[0]) || isnan(d[1]));
    return (comparison){.is_equal = (a[0] == d[0] && a[1] == d[1]) || both_nan,
                        .is_finite = isfinite(a[0]) && isfinite(a[1]) &&
                                     isfinite(d[0]) && isfinite(d[1]),
                        .distance = hypot(a[0] - d[0], a[1] - d[1]),
                        .size = hypot(d[0], d[1])};
}

/* Both types are of one kind, so that of the first decides, but for the sign of
 * integers. */
static comparison
compare(const ps_explain_call *call, const char *actual, const char *desired)
{
    double a, d;
    switch (call->actual_type) {
        case PS_f80:
            return compare_longs(actual, desired);
        case PS_c128:
            return compare_complex(actual, desired);
        case PS_f64:
            memcpy(&a, actual, sizeof(a));
            memcpy(&d, desired, sizeof(d));
            return compare_reals(a, d);
        default:
            return compare_integers(integer_at(call->actual_type, actual),
                                    integer_at(call->desired_type, desired));
    }
}

/* Element number `at` is not what was desired. A desired zero makes any distance
 * infinitely large. */
static void
note_mismatch(ps_explain_call *call, int64_t at, const comparison *pair)
{
    if (call->n_mismatch < PS_FIRST_MISMATCHES) {
        call->first[call->n_mismatch] = at;
    }
    call->n_mismatch++;
    if (!isnan(pair->distance)) {
        call->max_abs = fmax(call->max_abs, pair->distance);
        if (pair->size > 0) {
            call->max_rel = fmax(call->max_rel, pair->distance / pair->size);
        }
    }
}

/* n elements from `first` on; step 0: one for all of them. Elements are passed one by
 * one; that they are equal is what the processor expects. */
static void
compare_block(ps_explain_call *call, int64_t first, int64_t n, const char *actual,
              int64_t actual_step, const char *desired, int64_t desired_step)
{
    for (int64_t i = 0; i < n; i++) {
        const comparison pair = compare(call, actual, desired);
        if (!pair.is_equal &&
            !(pair.is_finite && pair.distance <= call->atol + call->rtol * pair.size)) {
            note_mismatch(call, first + i, &pair);
        }
        actual += actual_step;
        desired += desired_step;
    }
}

/* Bytes from element to element of a block. */
static int64_t
step_of(const ps_operand *operand, int64_t step)
{
    return step == 0 ? 0 : ps_dtype_size[operand->type];
}

/* Two operands, their buffers in one block of work memory. */
typedef struct {
    ps_operand actual, desired;
    char buffer[2][PS_OPERAND_BLOCK * 16];
} explaining;

/* An array of no elements is not opened: it has no first one to look at. */
ps_status
ps_explain(void *argument, ps_run *run)
{
    ps_explain_call *const call = argument;
    call->n_mismatch = 0;
    call->max_abs = call->max_rel = -1;
    if (!ps_count(call->actual.ndim, call->actual.shape, &call->n)) {
        return ps_fail(PS_TOO_LARGE);
    }
    explaining *const work = ps_scratch_get((int64_t)sizeof(explaining));
    if (work == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    int64_t unheard = 0;
    if (call->n > 0) {
        ps_operand_open(&work->actual, &call->actual, call->actual_type);
        ps_operand_open(&work->desired, &call->desired, call->desired_type);
    }
    for (int64_t at = 0; at < call->n; at += PS_OPERAND_BLOCK) {
        /* A constant is a block of 64 equal items, of which one is enough here. */
        const int64_t n = ps_min(PS_OPERAND_BLOCK, call->n - at);
        int64_t one, two;
        const char *const actual =
                ps_operand_block(&work->actual, at, n, work->buffer[0], &one);
        const char *const desired =
                ps_operand_block(&work->desired, at, n, work->buffer[1], &two);
        compare_block(call, at, n, actual, step_of(&work->actual, one), desired,
                      step_of(&work->desired, two));
        if (ps_run_stops_after(run, &unheard, 16 * n)) {
            break;
        }
    }
    ps_scratch_put(work, (int64_t)sizeof(explaining));
    return ps_run_status(run);
}
