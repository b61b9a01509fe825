/* Grouping by a radix sort (contract in group.h).
 *
 * A word holds a key and its place, so that sorting words by their upper half alone is
 * stable and leaves the places beside the keys: 8 bits a pass, as many passes as the
 * keys have bytes. Keys of more than 32 bits are sorted with their places as pairs;
 * short lists, which no pass over 256 counters repays, by comparison. Every pass hears
 * of signals.
 */
#include "ops/group.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

enum {
    RADIX_FROM = 512, /* 256 counters a pass cost as much as sorting this many */
    DIGIT_BITS = 8,
    N_DIGITS = 1 << DIGIT_BITS
};

/* start[d] = how many items have a digit below d, from the counts of each digit. */
static void
place_digits(int64_t *start)
{
    int64_t at = 0;
    for (int digit = 0; digit < N_DIGITS; digit++) {
        const int64_t count = start[digit];
        start[digit] = at;
        at += count;
    }
}

/* One stable pass over n items of `width` words (a constant of the caller) by the digit
 * at `shift` of their first word. Nothing is moved once the run has failed. */
static inline __attribute__((always_inline)) void
sort_by_digit(ps_run *run, const int width, const uint64_t *restrict from,
              uint64_t *restrict to, int64_t n, int shift)
{
    const int64_t nbytes = width * (int64_t)sizeof(uint64_t);
    int64_t start[N_DIGITS] = {0};
    ps_stretch part = ps_stretch_of(run, n, nbytes);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            start[(from[i * width] >> shift) & (N_DIGITS - 1)]++;
        }
    }
    if (ps_run_status(run).code != PS_OK) {
        return;
    }
    place_digits(start);
    part = ps_stretch_of(run, n, 2 * nbytes);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const uint64_t *const item = from + i * width;
            uint64_t *const place =
                    to + start[(item[0] >> shift) & (N_DIGITS - 1)]++ * width;
            for (int word = 0; word < width; word++) {
                place[word] = item[word];
            }
        }
    }
}

/* The digits of 0 <= key <= max from `low` bits of the first word up, the lowest first.
 * The result is in one of the two arrays, unless the run has failed. */
static inline __attribute__((always_inline)) uint64_t *
sort_items(ps_run *run, const int width, uint64_t *from, uint64_t *to, int64_t n,
           int low, int64_t max)
{
    for (int bit = 0; bit + low < 64 && bit < 63 && max >> bit > 0; bit += DIGIT_BITS) {
        sort_by_digit(run, width, from, to, n, low + bit);
        if (ps_run_status(run).code != PS_OK) {
            break;
        }
        uint64_t *const other = from;
        from = to;
        to = other;
    }
    return from;
}

/* ---- pairs ---- */

/* Two words each, of which the first is the key. Stable: pairs of one key keep their
 * order. */
const ps_keyed *
ps_sort_keyed(ps_run *run, ps_keyed *pairs, ps_keyed *room, int64_t n, int64_t max)
{
    _Static_assert(sizeof(ps_keyed) == 2 * sizeof(uint64_t), "two words");
    return (const ps_keyed *)(const void *)sort_items(
            run, 2, (uint64_t *)(void *)pairs, (uint64_t *)(void *)room, n, 0, max);
}

/* ---- ranks ---- */

/* For qsort, which is not stable: ranks of equal keys are equal, so that the order
 * among them shows nowhere. */
static int
compare_keyed(const void *a, const void *b)
{
    const ps_keyed *const left = a, *const right = b;
    return (left->key > right->key) - (left->key < right->key);
}

/* Walks sorted keys: the rank of each new one. */
typedef struct {
    int64_t *distinct;
    int64_t n;
} ranking;

/* Keys come in ascending order: a new one is the next rank. */
static int64_t
next_rank(ranking *ranks, int64_t key)
{
    if (ranks->n == 0 || ranks->distinct[ranks->n - 1] != key) {
        ranks->distinct[ranks->n++] = key;
    }
    return ranks->n - 1;
}

/* Ranks of keys that are sorted as pairs. Those that are left out keep their -1. */
static ps_status
rank_pairs(ps_run *run, int64_t *key, int64_t n, int64_t bound, ranking *ranks)
{
    const int64_t nbytes = 2 * n * (int64_t)sizeof(ps_keyed);
    ps_keyed *const pairs = ps_scratch_get(nbytes);
    const ps_keyed *sorted = pairs;
    if (pairs == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    int64_t count = 0;
    ps_stretch part = ps_stretch_of(run, n, sizeof(ps_keyed));
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (key[i] >= 0) {
                pairs[count++] = (ps_keyed){key[i], i};
            }
        }
    }
    if (n < RADIX_FROM) {
        qsort(pairs, (size_t)count, sizeof(ps_keyed), compare_keyed);
    }
    else if (ps_run_status(run).code == PS_OK) {
        sorted = ps_sort_keyed(run, pairs, pairs + n, count, bound - 1);
    }
    part = ps_stretch_of(run, count, PS_LINE_BYTES);
    while (ps_run_status(run).code == PS_OK && ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            key[sorted[i].place] = next_rank(ranks, sorted[i].key);
        }
    }
    ps_scratch_put(pairs, nbytes);
    return ps_run_status(run);
}

/* The words live in the caller's two arrays: sorting takes no memory of its own. They
 * end in `words`, sorted; *count of them, those of keys that are not left out. */
static ps_status
sort_words(ps_run *run, int64_t *key, int64_t n, int64_t bound, uint64_t *words,
           int64_t *count)
{
    uint64_t *from = (uint64_t *)key;
    ps_stretch part = ps_stretch_of(run, n, sizeof(uint64_t));
    *count = 0;
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (key[i] >= 0) {
                from[(*count)++] = (uint64_t)key[i] << 32 | (uint64_t)i;
            }
        }
    }
    PS_TRY(ps_run_status(run));
    from = sort_items(run, 1, from, words, *count, 32, bound - 1);
    PS_TRY(ps_run_status(run));
    part = ps_stretch_of(run, from == words ? 0 : *count, sizeof(uint64_t));
    while (ps_next_stretch(&part)) {
        memcpy(words + part.first, from + part.first,
               (size_t)(part.last - part.first) * sizeof(uint64_t));
    }
    return ps_run_status(run);
}

/* Words of key << 32 | place, sorted by the key alone; each then says whose rank it
 * is. distinct is both: words ahead, ranks' keys behind, which never catch up. */
static ps_status
rank_words(ps_run *run, int64_t *key, int64_t n, int64_t bound, ranking *ranks)
{
    uint64_t *const words = (uint64_t *)ranks->distinct;
    int64_t count;
    PS_TRY(sort_words(run, key, n, bound, words, &count));
    /* -1 for those left out */
    PS_TRY(ps_run_fill(run, key, 0xff, n * (int64_t)sizeof(int64_t)));
    ps_stretch part = ps_stretch_of(run, count, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            /* Read before its place is written: no rank is beyond i. */
            const uint64_t word = words[i];
            key[word & UINT32_MAX] = next_rank(ranks, (int64_t)(word >> 32));
        }
    }
    return ps_run_status(run);
}

/* Words serve as long as key and place fit into 32 bits each. */
ps_status
ps_rank_keys(int64_t *key, int64_t n, int64_t bound, int64_t *distinct,
             int64_t *n_distinct, ps_run *run)
{
    ranking ranks = {distinct, 0};
    const bool fits = bound <= (int64_t)1 << 32 && n <= (int64_t)1 << 32;
    const ps_status status = fits && n >= RADIX_FROM
                                     ? rank_words(run, key, n, bound, &ranks)
                                     : rank_pairs(run, key, n, bound, &ranks);
    *n_distinct = ranks.n;
    return status;
}
