/* A stable counting sort on threads (contract in buckets.h).
 *
 *   count   each part of the entries counts its own keys, and keeps a copy of them,
 *           which nobody else writes to
 *   start   sums over keys, and within a key over parts: where each part may write
 *   place   each part puts its entries where its own sums say
 *
 * Parts are stretches of entries in order, so an entry ends up where a single part
 * would have put it, and no two threads write to one place. A part costs an array of
 * counts as long as the keys are many: there are no more parts than entries pay for.
 */
#include "ops/buckets.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Entries that make a part worth while: some 100 us. */
    PART_ENTRIES = 1 << 15,
    MOST_PARTS = 64,
    /* Bytes of counts beyond which their lines are asked for ahead: a near cache. */
    NEAR_BYTES = 256 << 10,
    COUNT_AHEAD = 24,
    PLACE_AHEAD = 12,
    /* Numbers so far apart name lines that no near cache holds both of. */
    FAR = 4096,
    LOOKS = 256
};

typedef struct {
    ps_run *run;
    ps_buckets *buckets;
    int64_t parts;
    bool asks;                    /* are lines asked for ahead? */
    void *count;                  /* [parts][n_keys] */
    ps_status status[MOST_PARTS]; /* of each part's reading */
} sorting;

/* Parts are equal stretches of entries but for the last one, which takes what is left.
 */
static int64_t
first_of(const sorting *work, int64_t part)
{
    const int64_t n = work->buckets->n;
    return part == work->parts ? n : n / work->parts * part;
}

/* A part's own counts, one for each key. */
static void *
counts_of(const sorting *work, int64_t part)
{
    return (char *)work->count +
           ps_width_bytes(work->buckets->is_wide, part * work->buckets->n_keys);
}

/* ---- count ---- */

/* count[number[i]] += 1, key[first + i] = number[i], for a block of n entries. The copy
 * is what the second pass goes by: the two must not differ, whatever another thread
 * does to the numbers meanwhile. */
PS_WIDTH_INLINE void
count_block(const bool is_wide, const sorting *work, void *count, int64_t first,
            int64_t n, const int64_t *number)
{
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, work->buckets->key, first + i, number[i]);
        ps_put(is_wide, count, number[i], ps_at(is_wide, count, number[i]) + 1);
    }
}

/* ---- place ---- */

/* Stores wait for their lines one after the other; asked for, they come side by side.
 */
PS_WIDTH_INLINE void
ask_ahead(const bool is_wide, const sorting *work, const void *count, int64_t i)
{
    const ps_buckets *const buckets = work->buckets;
    const int64_t size = is_wide ? 8 : 4;
    if (i + COUNT_AHEAD < buckets->n) {
        const int64_t later = ps_at(is_wide, work->buckets->key, i + COUNT_AHEAD);
        const int64_t next = ps_at(is_wide, work->buckets->key, i + PLACE_AHEAD);
        const int64_t to = ps_at(is_wide, count, next);
        __builtin_prefetch((const char *)count + later * size, 1);
        __builtin_prefetch((char *)buckets->other + to * size, 1);
        __builtin_prefetch((char *)buckets->order + to * size, 1);
    }
}

/* other[to] = number[i], order[to] = first + i, with to = count[key]++: where the next
 * entry of the part with this key goes. */
PS_WIDTH_INLINE void
place_block(const bool is_wide, const bool asks, const sorting *work, void *count,
            int64_t first, int64_t n, const int64_t *number)
{
    const ps_buckets *const buckets = work->buckets;
    for (int64_t i = 0; i < n; i++) {
        const int64_t key = ps_at(is_wide, buckets->key, first + i);
        const int64_t to = ps_at(is_wide, count, key);
        if (asks) {
            ask_ahead(is_wide, work, count, first + i);
        }
        ps_put(is_wide, buckets->other, to, number[i]);
        ps_put(is_wide, buckets->order, to, first + i);
        ps_put(is_wide, count, key, to + 1);
    }
}

/* Some pairs of neighbours are looked at. */
bool
ps_jumps_about(bool is_wide, const void *number, int64_t n)
{
    const int64_t step = n / LOOKS;
    int64_t jumps = 0;
    for (int64_t i = 0; step > 1 && i < LOOKS; i++) {
        const int64_t one = ps_at(is_wide, number, i * step);
        const int64_t next = ps_at(is_wide, number, i * step + 1);
        jumps += one - next > FAR || next - one > FAR;
    }
    return jumps > LOOKS / 2;
}

/* ---- both ---- */

/* Which of the loops it is. */
static void
do_block(const sorting *work, bool of_keys, void *count, int64_t first, int64_t n,
         const int64_t *number)
{
    const ps_buckets *const buckets = work->buckets;
    if (of_keys) {
        buckets->is_wide ? count_block(true, work, count, first, n, number)
                         : count_block(false, work, count, first, n, number);
    }
    else if (buckets->is_wide) {
        work->asks ? place_block(true, true, work, count, first, n, number)
                   : place_block(true, false, work, count, first, n, number);
    }
    else {
        work->asks ? place_block(false, true, work, count, first, n, number)
                   : place_block(false, false, work, count, first, n, number);
    }
}

/* One part of one of the passes, block by block. */
static void
do_part(sorting *work, bool of_keys, int64_t part)
{
    int64_t number[PS_BUCKET_BLOCK], unheard = 0;
    const ps_buckets *const buckets = work->buckets;
    const int64_t last = first_of(work, part + 1);
    for (int64_t first = first_of(work, part); first < last; first += PS_BUCKET_BLOCK) {
        const int64_t n = ps_min(PS_BUCKET_BLOCK, last - first);
        work->status[part] = buckets->read(buckets->context, of_keys, first, n, number);
        if (work->status[part].code != PS_OK ||
            ps_run_stops_after(work->run, &unheard, n * PS_LINE_BYTES)) {
            return;
        }
        do_block(work, of_keys, counts_of(work, part), first, n, number);
    }
}

/* The two passes as chunks of a run. */
static void
count_part(void *context, int64_t part)
{
    do_part(context, true, part);
}

static void
place_part(void *context, int64_t part)
{
    do_part(context, false, part);
}

/* The first part's failure, or the run's. */
static ps_status
run_parts(sorting *work, void (*fn)(void *context, int64_t chunk))
{
    const ps_status status = ps_run_chunks(work->run, work->parts, fn, work);
    for (int64_t part = 0; part < work->parts; part++) {
        PS_TRY(work->status[part]);
    }
    return status;
}

/* count[part][key] becomes where the part's next entry of the key goes. */
PS_WIDTH_INLINE void
sum_counts(const bool is_wide, sorting *work)
{
    ps_buckets *const buckets = work->buckets;
    const int64_t n_keys = buckets->n_keys;
    int64_t sum = 0;
    ps_stretch stretch = ps_stretch_of(work->run, n_keys, 8 * work->parts);
    while (ps_next_stretch(&stretch)) {
        for (int64_t key = stretch.first; key < stretch.last; key++) {
            ps_put(is_wide, buckets->start, key, sum);
            for (int64_t part = 0; part < work->parts; part++) {
                const int64_t at = part * n_keys + key;
                const int64_t count = ps_at(is_wide, work->count, at);
                ps_put(is_wide, work->count, at, sum);
                sum += count;
            }
        }
    }
    ps_put(is_wide, buckets->start, n_keys, sum);
}

/* Two reads of each entry, one write: as in any counting sort. */
static ps_status
sort_parts(sorting *work, int64_t count_bytes)
{
    PS_TRY(ps_run_fill(work->run, work->count, 0, count_bytes));
    PS_TRY(run_parts(work, count_part));
    work->buckets->is_wide ? sum_counts(true, work) : sum_counts(false, work);
    PS_TRY(ps_run_status(work->run));
    const ps_buckets *const buckets = work->buckets;
    work->asks = ps_width_bytes(buckets->is_wide, buckets->n_keys) > NEAR_BYTES &&
                 ps_jumps_about(buckets->is_wide, buckets->key, buckets->n);
    return run_parts(work, place_part);
}

/* A part has to earn its counts, which are cleared, summed up and read: it has more
 * entries than there are keys. */
ps_status
ps_fill_buckets(ps_buckets *buckets, ps_run *run)
{
    const int64_t n = buckets->n, n_keys = buckets->n_keys;
    const int64_t paid = ps_min(n / PART_ENTRIES, n / (n_keys + 1));
    const int64_t most = ps_min(run->threads, MOST_PARTS);
    sorting work = {
            .run = run, .buckets = buckets, .parts = ps_max(1, ps_min(most, paid))};
    const int64_t nbytes = ps_width_bytes(buckets->is_wide, work.parts * n_keys);
    work.count = ps_scratch_get(nbytes);
    const ps_status status =
            work.count != NULL ? sort_parts(&work, nbytes) : ps_fail(PS_NO_MEMORY);
    ps_scratch_put(work.count, nbytes);
    return status;
}
