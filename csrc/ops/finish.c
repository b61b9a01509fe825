/* The end of a reduction by groups (contract in finish.h and ops.h).
 *
 * One pass over the sums, in pieces that stay in the first cache: a piece is divided,
 * cast to where the caller sees it, and its empty groups are filled there. Whether a
 * group is empty is asked of its count, never of its value. A mean of nothing is NaN,
 * NaT, or 0 where a type has neither.
 */
#include "ops/finish.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Half of a first cache, beside the result of a cast: what has just been divided is
     * cast from there.
     * Bytes of the sums that are worked at a time. */
    PIECE_BYTES = 16 << 10,
    /* Counts that are looked at together. */
    RUN = 64
};

/* C rounds towards zero, np.floor_divide down. */
static int64_t
floor_mean(int64_t sum, int64_t count)
{
    const int64_t quotient = sum / count;
    return quotient - (sum % count < 0);
}

/* One switch for all types, in the loop: the compiler moves it out. Complex numbers are
 * divided part by part, since a quotient of two would round more than once. */
void
ps_divide_sums(enum ps_dtype type, char *row, int64_t n, int64_t count)
{
    for (int64_t i = 0; i < n; i++) {
        switch (type) {
            case PS_f32:
                ((f32 *)row)[i] /= (f32)count;
                break;
            case PS_f64:
                ((f64 *)row)[i] /= (f64)count;
                break;
            case PS_k32:
                ((k32 *)row)[i].sum /= (f32)count;
                break;
            case PS_k64:
                ((k64 *)row)[i].sum /= (f64)count;
                break;
            case PS_c64:
                ((c64 *)row)[i].re /= (f32)count;
                ((c64 *)row)[i].im /= (f32)count;
                break;
            case PS_c128:
                ((c128 *)row)[i].re /= (f64)count;
                ((c128 *)row)[i].im /= (f64)count;
                break;
            case PS_i64:
                ((i64 *)row)[i] = floor_mean(((i64 *)row)[i], count);
                break;
            case PS_u64:
                ((u64 *)row)[i] /= (u64)count;
                break;
            default: { /* t64 */
                int64_t *const ticks = (int64_t *)row + i;
                *ticks = *ticks == INT64_MIN ? INT64_MIN : *ticks / count;
            }
        }
    }
}

/* The mean of nothing where division by zero does not say it; floats divide. */
static void
write_no_mean(enum ps_dtype type, char *item)
{
    memset(item, 0, ps_dtype_size[type]);
    switch (type) {
        case PS_c64:
            *(f32 *)(void *)item = (f32)NAN;
            break;
        case PS_c128:
            *(f64 *)(void *)item = NAN;
            break;
        case PS_t64:
            *(t64 *)(void *)item = (t64){INT64_MIN};
            break;
        default:
            break;
    }
}

/* Are n counts all zero? No branch in the loop, so that it is vector code. Where few
 * entries have millions of groups, whole runs are, and what these become is one value:
 * to divide each takes ten times as long as to write it.
 */
static bool
are_empty(const int64_t *count, int64_t n)
{
    int64_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= count[i];
    }
    return any == 0;
}

/* sum[i] /= count[i]: the commonest means. A look at the type for each of a million of
 * them takes longer than the division. */
static void
divide_doubles(f64 *sum, const int64_t *count, int64_t n)
{
    for (int64_t first = 0; first < n; first += RUN) {
        const int64_t last = ps_min(n, first + RUN);
        if (are_empty(count + first, last - first)) {
            const f64 nothing = sum[first] / (f64)count[first];
            for (int64_t i = first; i < last; i++) {
                sum[i] = nothing;
            }
            continue;
        }
        for (int64_t i = first; i < last; i++) {
            sum[i] /= (f64)count[i];
        }
    }
}

/* sums[i][j] /= count[i], n rows of `width`. Where a count is zero, floats become 0 / 0
 * as the machine has it, which np.divide gives as well, and the others what
 * write_no_mean says. */
static void
divide(const ps_finish_call *call, char *sums, const int64_t *count, int64_t n,
       int64_t width)
{
    const int64_t size = ps_dtype_size[call->type];
    if (call->type == PS_f64 && width == 1) {
        divide_doubles((f64 *)(void *)sums, count, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        char *const row = sums + i * width * size;
        if (count[i] != 0 || ps_dtype_kind[call->type] == PS_KIND_FLOAT) {
            ps_divide_sums(call->type, row, width, count[i]);
            continue;
        }
        for (int64_t j = 0; j < width; j++) {
            write_no_mean(call->type, row + j * size);
        }
    }
}

/* sums[i][j] /= weight[i] of the same type, which is f32 or f64: no other type has a
 * weighted mean here. Nothing over nothing is NaN. */
static void
divide_by_weights(enum ps_dtype type, char *sums, const char *weight, int64_t n,
                  int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < width; j++) {
            if (type == PS_f32) {
                ((f32 *)(void *)sums)[i * width + j] /= ((const f32 *)weight)[i];
            }
            else {
                ((f64 *)(void *)sums)[i * width + j] /= ((const f64 *)weight)[i];
            }
        }
    }
}

/* What squares about a mean become: over the count less ddof, NaN where that is not
 * positive; the quotient is of the type of the squares. */
static double
spread_of(const ps_finish_call *call, double square, double freedom)
{
    double spread = NAN;
    if (freedom > 0) {
        spread = call->type == PS_f32 ? (double)((f32)square / (f32)freedom)
                                      : square / freedom;
    }
    /* Of a float32, the root in float64 rounds to that in float32. */
    return call->roots ? sqrt(spread) : spread;
}

/* sums[i][j] = spread_of(sums[i][j], count[i]), elements [first, last) of n rows. */
static void
spread_row(const ps_finish_call *call, char *sums, int64_t count, int64_t first,
           int64_t last)
{
    const double freedom = (double)count - call->ddof;
    for (int64_t j = first; j < last; j++) {
        if (call->type == PS_f32) {
            f32 *const square = (f32 *)(void *)sums + j;
            *square = (f32)spread_of(call, (double)*square, freedom);
        }
        else {
            f64 *const square = (f64 *)(void *)sums + j;
            *square = spread_of(call, *square, freedom);
        }
    }
}

/* All rows; a run of rows without entries is the first of them, again and again: what
 * has been copied is copied behind itself. */
static void
spread(const ps_finish_call *call, char *sums, const int64_t *count, int64_t n,
       int64_t width)
{
    const int64_t nbytes = width * ps_dtype_size[call->type];
    for (int64_t first = 0; first < n; first += RUN) {
        const int64_t last = ps_min(n, first + RUN);
        const bool is_empty = nbytes > 0 && are_empty(count + first, last - first);
        for (int64_t i = first; i < (is_empty ? first + 1 : last); i++) {
            spread_row(call, sums, count[i], i * width, (i + 1) * width);
        }
        char *const run = sums + first * nbytes;
        const int64_t all = (last - first) * nbytes;
        for (int64_t done = nbytes; is_empty && done < all; done *= 2) {
            memcpy(run + done, run, (size_t)ps_min(done, all - done));
        }
    }
}

/* out[i][j] = fill where count[i] is zero: groups that nothing came to. Counts are of
 * rows of `width`, of which one element is written after the other. */
static void
fill_empty(const ps_finish_call *call, char *out, const int64_t *count, int64_t n,
           int64_t width)
{
    const int64_t size = ps_dtype_size[call->out_type];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; count[i] == 0 && j < width; j++) {
            memcpy(out + (i * width + j) * size, call->fill, (size_t)size);
        }
    }
}

/* Rows [first, first + n) of a block of groups, whose counts begin at number `counted`:
 * one for each row, or for each element, which then is a row of its own. The order is
 * that of exactness: the quotient is made in the type of the sums and rounded once, and
 * a fill value of the result's type is never rounded. */
static void
finish_rows(const ps_finish_call *call, int64_t first, int64_t counted, int64_t n)
{
    const int64_t *const count = call->count != NULL ? call->count + counted : NULL;
    const int64_t width = call->width, elements = n * width;
    const int64_t size = ps_dtype_size[call->type];
    char *const sums = call->sums + first * width * size;
    char *const out = call->out + first * width * ps_dtype_size[call->out_type];
    const int64_t rows = call->is_fine ? elements : n;
    const int64_t each = call->is_fine ? 1 : width;
    if (call->spreads) {
        spread(call, sums, count, rows, each);
    }
    else if (call->divides && call->weight_sums != NULL) {
        divide_by_weights(call->type, sums, call->weight_sums + counted * size, rows,
                          each);
    }
    else if (call->divides) {
        divide(call, sums, count, rows, each);
    }
    if (call->out != call->sums) {
        ps_convert(call->out_type, out, call->type, size, false, sums, size, elements);
    }
    if (call->fill != NULL) {
        fill_empty(call, out, count, rows, each);
    }
}

/* Blocks are what one batch and one place of the axes before the segments hold; the
 * batches alone have counts of their own. */
ps_status
ps_finish(void *argument, ps_run *run)
{
    ps_finish_call *const call = argument;
    const int64_t nbytes = ps_max(1, call->width * ps_dtype_size[call->type]);
    const int64_t most = ps_max(1, PIECE_BYTES / nbytes);
    const int64_t n_blocks = call->n_batches * call->n_before;
    int64_t unheard = 0;
    for (int64_t block = 0; block < n_blocks; block++) {
        const int64_t first = block * call->n_segments;
        const int64_t batch = block / call->n_before * call->n_segments;
        const int64_t counted = call->is_fine ? first * call->width : batch;
        for (int64_t s = 0; s < call->n_segments; s += most) {
            const int64_t n = ps_min(most, call->n_segments - s);
            const int64_t at = counted + (call->is_fine ? s * call->width : s);
            finish_rows(call, first + s, at, n);
            if (ps_run_stops_after(run, &unheard, n * nbytes)) {
                return ps_run_status(run);
            }
        }
    }
    return PS_SUCCESS;
}
