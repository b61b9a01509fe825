/* Grouping by a radix sort (contract in group.h).
 *
 * A word holds a key and its place, so that sorting words by their upper half alone is
 * stable and leaves the places beside the keys: 8 bits a pass, as many passes as the
 * keys have bytes. Keys of more than 32 bits, and short lists, which no pass over 256
 * counters repays, are sorted by comparison, in memory of their own.
 * A textbook sort: few comments.
 */
#include "ops/group.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"

enum {
    RADIX_FROM = 512, /* 256 counters a pass cost as much as sorting this many */
    DIGIT_BITS = 8,
    N_DIGITS = 1 << DIGIT_BITS
};

typedef struct {
    int64_t key, place;
} keyed;

static int
compare_keyed(const void *a, const void *b)
{
    const keyed *const left = a, *const right = b;
    return (left->key > right->key) - (left->key < right->key);
}

/* Walks sorted keys: the rank of each new one. */
typedef struct {
    int64_t *distinct;
    int64_t n;
} ranking;

static int64_t
next_rank(ranking *ranks, int64_t key)
{
    if (ranks->n == 0 || ranks->distinct[ranks->n - 1] != key) {
        ranks->distinct[ranks->n++] = key;
    }
    return ranks->n - 1;
}

static ps_status
rank_by_comparison(int64_t *key, int64_t n, ranking *ranks)
{
    keyed *const pairs = ps_scratch_get(n * (int64_t)sizeof(keyed));
    if (pairs == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (key[i] >= 0) {
            pairs[count++] = (keyed){key[i], i};
        }
    }
    qsort(pairs, (size_t)count, sizeof(keyed), compare_keyed);
    for (int64_t i = 0; i < count; i++) {
        key[pairs[i].place] = next_rank(ranks, pairs[i].key);
    }
    ps_scratch_put(pairs, n * (int64_t)sizeof(keyed));
    return PS_SUCCESS;
}

/* One stable pass by the digit at `shift`. */
static void
sort_by_digit(const uint64_t *restrict from, uint64_t *restrict to, int64_t n,
              int shift)
{
    int64_t start[N_DIGITS] = {0};
    for (int64_t i = 0; i < n; i++) {
        start[(from[i] >> shift) & (N_DIGITS - 1)]++;
    }
    int64_t at = 0;
    for (int digit = 0; digit < N_DIGITS; digit++) {
        const int64_t count = start[digit];
        start[digit] = at;
        at += count;
    }
    for (int64_t i = 0; i < n; i++) {
        to[start[(from[i] >> shift) & (N_DIGITS - 1)]++] = from[i];
    }
}

/* The words live in the caller's two arrays: sorting takes no memory of its own. */
static void
rank_by_radix(int64_t *key, int64_t n, int64_t bound, ranking *ranks)
{
    uint64_t *from = (uint64_t *)key, *to = (uint64_t *)ranks->distinct;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (key[i] >= 0) {
            from[count++] = (uint64_t)key[i] << 32 | (uint64_t)i;
        }
    }
    for (int shift = 0; shift < 32 && (bound - 1) >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(from, to, count, 32 + shift);
        uint64_t *const other = from;
        from = to;
        to = other;
    }
    uint64_t *const words = (uint64_t *)ranks->distinct;
    if (from != words) {
        memcpy(words, from, (size_t)count * sizeof(uint64_t));
    }
    memset(key, 0xff, (size_t)n * sizeof(int64_t)); /* -1 for those left out */
    for (int64_t i = 0; i < count; i++) {
        /* Read before its place is written: no rank is beyond i. */
        const uint64_t word = words[i];
        key[word & UINT32_MAX] = next_rank(ranks, (int64_t)(word >> 32));
    }
}

ps_status
ps_rank_keys(int64_t *key, int64_t n, int64_t bound, int64_t *distinct,
             int64_t *n_distinct)
{
    ranking ranks = {distinct, 0};
    const bool fits = bound <= (int64_t)1 << 32 && n <= (int64_t)1 << 32;
    ps_status status = PS_SUCCESS;
    if (fits && n >= RADIX_FROM) {
        rank_by_radix(key, n, bound, &ranks);
    }
    else {
        status = rank_by_comparison(key, n, &ranks);
    }
    *n_distinct = ranks.n;
    return status;
}
