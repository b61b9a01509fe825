/* Which changes a lossy delta keeps: the largest, by the size of their difference
 * (contract in delta.h).
 *
 * Each unit that differs has a key, an integer that orders differences: the bits of a
 * float64 that is not negative, or the distance of integers itself. What is NaN or
 * infinite comes first. The least key that is kept is found byte by byte, counting
 * keys, so no order of them is ever made; of equal keys the first ones stay. Eight
 * passes over the keys take less than a sort, and their time does not depend on what
 * they are.
 *
 * Bits that a selection takes back are as if nothing had differed there.
 */
#include <math.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/delta.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    CHUNK_UNITS = 1 << 15, /* of a part of the call */
    /* Keys of which each is compared with all: counts of bytes take 10 us however few
     * there are, 64 keys among themselves 2. */
    FEW_KEYS = 64
};

#define FIRST_KEY UINT64_MAX

/* Bits of floats that are not negative are ordered as the floats are. */
static uint64_t
key_of_float(double difference)
{
    const double size = fabs(difference);
    uint64_t key;
    memcpy(&key, &size, sizeof(key));
    return isfinite(size) ? key : FIRST_KEY;
}

/* The distance of two numbers of itemsize bytes: below 2^64, so it never wraps. */
static uint64_t
key_of_integers(bool is_signed, int64_t itemsize, const char *old, const char *now)
{
    uint64_t a = 0, b = 0;
    memcpy(&a, old, (size_t)itemsize);
    memcpy(&b, now, (size_t)itemsize);
    if (is_signed) {
        const int shift = (int)(64 - 8 * itemsize);
        const int64_t x = (int64_t)(a << shift) >> shift;
        const int64_t y = (int64_t)(b << shift) >> shift;
        return x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y;
    }
    return a < b ? b - a : a - b;
}

/* Of a type that kernels cast exactly. */
static double
number_at(enum ps_dtype dtype, const char *at)
{
    double number;
    ps_convert(PS_f64, (char *)&number, dtype, ps_dtype_size[dtype], false, at, 0, 1);
    return number;
}

/* How far apart in the plane: both parts count, and hypot does not overflow early. */
static uint64_t
key_of_complex(enum ps_dtype dtype, const char *old, const char *now)
{
    const enum ps_dtype part = dtype == PS_c64 ? PS_f32 : PS_f64;
    const int64_t step = ps_dtype_size[part];
    return key_of_float(
            hypot(number_at(part, now) - number_at(part, old),
                  number_at(part, now + step) - number_at(part, old + step)));
}

/* Subtracted as they are, rounded once: keys have 64 bits. */
static uint64_t
key_of_longs(const char *old, const char *now)
{
    long double a, b;
    memcpy(&a, old, sizeof(a));
    memcpy(&b, now, sizeof(b));
    return key_of_float((double)(b - a));
}

/* NaT is the least integer: a difference with it is none. */
static uint64_t
key_of_times(const char *old, const char *now)
{
    int64_t a, b;
    memcpy(&a, old, sizeof(a));
    memcpy(&b, now, sizeof(b));
    return a == INT64_MIN || b == INT64_MIN ? FIRST_KEY
                                            : key_of_integers(true, 8, old, now);
}

/* Bits differ; numbers may not: -0.0 and 0.0 are no distance apart. */
static uint64_t
key_of_element(enum ps_dtype dtype, const char *old, const char *now)
{
    switch ((enum ps_kind)ps_dtype_kind[dtype]) {
        case PS_KIND_BOOL:
            return (*old != 0) != (*now != 0);
        case PS_KIND_INT:
            return key_of_integers(dtype == PS_i8 || dtype == PS_i16 ||
                                           dtype == PS_i32 || dtype == PS_i64,
                                   ps_dtype_size[dtype], old, now);
        case PS_KIND_TIME:
            return key_of_times(old, now);
        case PS_KIND_LONG:
            return key_of_longs(old, now);
        case PS_KIND_COMPLEX:
            return key_of_complex(dtype, old, now);
        default:
            return key_of_float(number_at(dtype, now) - number_at(dtype, old));
    }
}

/* Of a unit that differs: that of its largest difference. */
static uint64_t
key_of_unit(const ps_delta_call *call, int64_t unit)
{
    const size_t size = (size_t)call->itemsize;
    const int64_t first = unit * call->width;
    const int64_t stop = first + ps_delta_width(&call->delta, unit);
    uint64_t largest = 0;
    for (int64_t i = first; i < stop; i++) {
        const char *const old = call->old + i * call->itemsize;
        const char *const now = call->now + i * call->itemsize;
        if (memcmp(old, now, size) != 0) {
            const uint64_t key = key_of_element(call->dtype, old, now);
            largest = key > largest ? key : largest;
        }
    }
    return largest;
}

/* Keys have to be above it. -1 differences are not asked for: threshold >= 0. Bits of
 * what is not negative are in the order of keys; of integers those above it are those
 * above its whole part. */
static uint64_t
key_of_threshold(const ps_delta_call *call)
{
    const int kind = ps_dtype_kind[call->dtype];
    if (kind != PS_KIND_BOOL && kind != PS_KIND_INT && kind != PS_KIND_TIME) {
        uint64_t key;
        memcpy(&key, &call->threshold, sizeof(key));
        return key;
    }
    /* No distance of integers is above it; one with NaT is above all of them. */
    const uint64_t most = kind == PS_KIND_TIME ? FIRST_KEY - 1 : FIRST_KEY;
    return call->threshold >= 0x1p64 ? most : (uint64_t)call->threshold;
}

/* ---- all units that differ ---- */

/* What is done at each unit; false: its bit becomes 0. */
typedef struct selection selection;
struct selection {
    uint64_t *key;
    int64_t n;      /* keys so far */
    uint64_t least; /* that is kept */
    int64_t equals; /* so many of which are kept */
    bool (*visit)(const ps_delta_call *call, selection *keys, int64_t unit);
};

/* All units that differ, in ascending order: parts, words of each up to its last unit,
 * bits of each word. Four deep, since a signal is heard at each unit. */
static ps_status
visit_units(ps_delta_call *call, selection *keys, ps_run *run)
{
    int64_t unheard = 0;
    for (int64_t i = 0; i < call->n_parts; i++) {
        if (call->part[i].last < 0) {
            continue;
        }
        const int64_t last = call->part[i].last / 64;
        for (int64_t w = i * (CHUNK_UNITS / 64); w <= last; w++) {
            uint64_t kept = call->unit_word[w];
            for (uint64_t bits = kept; bits != 0; bits &= bits - 1) {
                if (!keys->visit(call, keys, 64 * w + __builtin_ctzll(bits))) {
                    kept &= ~(bits & -bits);
                }
                if (ps_run_stops_after(run, &unheard, 16 * call->width)) {
                    return ps_run_status(run);
                }
            }
            call->unit_word[w] = kept;
        }
    }
    return PS_SUCCESS;
}

/* The first visit drops nothing. */
static bool
note_key(const ps_delta_call *call, selection *keys, int64_t unit)
{
    keys->key[keys->n++] = key_of_unit(call, unit);
    return true;
}

/* Keys come in the order in which they were noted: they are not made again, since
 * another thread may have changed what they are of. The second visit takes what the
 * first has noted. */
static bool
keep_unit(const ps_delta_call *call, selection *keys, int64_t unit)
{
    (void)call, (void)unit;
    const uint64_t key = keys->key[keys->n++];
    if (key == keys->least) {
        return keys->equals-- > 0;
    }
    return key > keys->least;
}

/* Of the k largest of key [n], 0 < k <= n: the least, and how many equal ones are among
 * them. Few keys: each is compared with all. */
static void
find_among_few(const uint64_t *key, int64_t n, int64_t k, selection *keys)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t larger = 0, equals = 0;
        for (int64_t j = 0; j < n; j++) {
            larger += key[j] > key[i];
            equals += key[j] == key[i];
        }
        if (larger < k && k <= larger + equals) {
            keys->least = key[i];
            keys->equals = k - larger;
            return;
        }
    }
}

/* The same of any number. From the highest byte on: which byte has the k-th key? */
static void
find_least(const uint64_t *key, int64_t n, int64_t k, selection *keys)
{
    if (n <= FEW_KEYS) {
        find_among_few(key, n, k, keys);
        return;
    }
    uint64_t known = 0, mask = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        int64_t count[256] = {0};
        for (int64_t i = 0; i < n; i++) {
            if ((key[i] & mask) == known) {
                count[key[i] >> shift & 255]++;
            }
        }
        uint64_t byte = 255;
        for (; byte > 0 && count[byte] < k; byte--) {
            k -= count[byte];
        }
        known |= byte << shift;
        mask |= (uint64_t)255 << shift;
    }
    keys->least = known;
    keys->equals = k;
}

/* The threshold alone: all equals of it are left out. */
static void
settle_least(const ps_delta_call *call, selection *keys)
{
    const uint64_t threshold = call->has_threshold ? key_of_threshold(call) : 0;
    const int64_t n = keys->n;
    keys->least = threshold;
    keys->equals = call->has_threshold ? 0 : n;
    if (call->top_k >= 0 && call->top_k < n) {
        selection largest = {.least = FIRST_KEY, .equals = 0};
        if (call->top_k > 0) {
            find_least(keys->key, n, call->top_k, &largest);
        }
        const bool is_tighter = !call->has_threshold || largest.least > threshold;
        keys->least = is_tighter ? largest.least : threshold;
        keys->equals = is_tighter ? largest.equals : 0;
    }
}

/* Two visits: keys are noted, and what they decide is done. */
ps_status
ps_delta_select(ps_delta_call *call, ps_run *run)
{
    int64_t count = 0;
    for (int64_t i = 0; i < call->n_parts; i++) {
        count += call->part[i].last >= 0 ? call->part[i].count : 0;
    }
    selection keys = {.key = ps_scratch_get(8 * count), .visit = note_key};
    if (keys.key == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = visit_units(call, &keys, run);
    if (status.code == PS_OK) {
        settle_least(call, &keys);
        keys.n = 0;
        keys.visit = keep_unit;
        status = visit_units(call, &keys, run);
    }
    ps_scratch_put(keys.key, 8 * count);
    return status;
}
