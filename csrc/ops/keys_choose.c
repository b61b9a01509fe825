/* How a column of keys is numbered (contract in keys_table.h): the one decision of the
 * family. It depends on a look at the keys, and nothing but time depends on it: every
 * way gives the same numbers, and tests force each.
 *
 *   near     the range of the words is at most four times as wide as there are entries
 *   sort     words that hardly repeat: their sort is due anyway, or as good as a table
 *            that is larger than all caches
 *   spread   words that repeat, but are too many for a table in the caches
 *   hash     all others: items, and words of which there are few or that come in runs
 *
 * How many keys there are is told by how many of a sample are equal, at places that
 * are as good as random: evenly spaced ones would not see runs.
 */
#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys_table.h"
#include "ops/run.h"

enum {
    /* Entries that are worth a thread of their own: 0.3 ms. */
    PART = 1 << 16,
    /* Entries that are looked at for their range. */
    LOOKS = 256,
    TOGETHER = 16,
    /* And for how often they repeat, one in SPACING: 40 ns each, beside 20 to 100 ns
     * for each entry when there are many keys. */
    SAMPLE = 4096,
    MOST_SAMPLE = 1 << 16,
    SPACING = 256,
    /* Entries from which one thread profits from knowing. */
    MANY_ENTRIES = 1 << 19,
    /* Entries whose text may be packed, and keys from which it is: fewer items stay in
     * the near caches. ms for 500,000 U16, as they are / packed: among 10 keys 7.5 and
     * 8.8, 1,000 11.6 and 11.0, 10,000 16.5 and 12.8, 40,000 54 and 27. */
    TEXT = 1 << 17,
    TEXT_KEYS = 1 << 12,
    /* Keys from which buckets of them are faster than one table. ns an entry of
     * 5,000,000 words, by a table and by buckets: 100,000 keys 13 and 27, 300,000 26
     * and 27, 1,000,000 40 and 31. Two threads gain more by buckets, since none has to
     * be joined. */
    MANY_KEYS = 250000
};

/* ---- ranges ---- */

/* Low and high of some words, evenly spread, two lines at a time: a sequence that
 * repeats after as many entries is seen through all the same, since nothing depends on
 * the guess but time. */
static void
look_at_some(ps_key_numbering *work, ps_key_room *room)
{
    const int64_t n = work->source->call->n, step = n / LOOKS;
    work->low = UINT64_MAX;
    work->high = 0;
    for (int64_t i = 0; i < n && step > 1; i += step) {
        const int64_t some = ps_min(ps_min(TOGETHER, step), n - i);
        ps_key_words(work->source, i, some, room->buffer, room->word);
        ps_kernels()->keys->range(room->word, some, &work->low, &work->high);
    }
}

/* What all words may lie between if some do between low and high: an eighth more on
 * either side. */
static void
guess_range(ps_key_numbering *work)
{
    const uint64_t more = (work->high - work->low) / 8 + LOOKS;
    work->low = work->low > more ? work->low - more : 0;
    work->high = work->high < UINT64_MAX - more ? work->high + more : UINT64_MAX;
}

/* Low and high of all words, as long as they are no farther apart than `widest`. */
static ps_status
look_at_all(ps_key_numbering *work, uint64_t widest, ps_key_room *room)
{
    const int64_t n = work->source->call->n;
    int64_t unheard = 0;
    for (int64_t i = 0; i < n && (i == 0 || work->high - work->low <= widest);
         i += PS_KEY_BLOCK) {
        const int64_t some = ps_min(PS_KEY_BLOCK, n - i);
        ps_key_words(work->source, i, some, room->buffer, room->word);
        ps_kernels()->keys->range(room->word, some, &work->low, &work->high);
        if (ps_run_stops_after(work->run, &unheard, some * 32)) {
            break;
        }
    }
    return ps_run_status(work->run);
}

/* Does a table of places pay? It is written once for each of its places, so a range
 * that is wider than the entries are many costs more than a hash: it pays where the
 * range is at most four times as wide as there are entries. A few words tell most
 * ranges that are wide without a look at all, and those that are not without one
 * either, where the first look at places checks the guess. */
static ps_status
look_at_range(ps_key_numbering *work, bool may_guess, ps_key_room *room)
{
    const ps_keys_call *const call = work->source->call;
    const int64_t n = call->n;
    const uint64_t widest = n > INT64_MAX / 4 ? INT64_MAX : 4 * (uint64_t)n - 1;
    look_at_some(work, room);
    const bool is_few = n < 16 * LOOKS, seems_near = work->high - work->low <= widest;
    if (!is_few && !seems_near) {
        return PS_SUCCESS;
    }
    const uint64_t low = work->low, high = work->high;
    work->seen_low = low;
    work->seen_high = high;
    guess_range(work);
    if (may_guess && !is_few && work->high - work->low <= widest &&
        (call->sorts || work->source->wants_codes)) {
        work->is_guess = true;
        work->way = PS_KEY_WAY_near;
        return PS_SUCCESS;
    }
    work->low = low;
    work->high = high;
    PS_TRY(look_at_all(work, widest, room));
    work->seen_low = work->low;
    work->seen_high = work->high;
    if (work->high - work->low <= widest) {
        work->way = PS_KEY_WAY_near;
    }
    return PS_SUCCESS;
}

/* ---- repeats ---- */

/* What a sample of the entries shows. */
typedef struct {
    int64_t size, equal; /* how many there are, and pairs of them that are equal */
    int64_t runs;        /* entries of the sample whose next one is equal */
} repeats;

/* A place that is as good as random, the same one in each call. */
static int64_t
place_of(int64_t i, int64_t n)
{
    uint64_t mixed = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)((mixed ^ mixed >> 31) % (uint64_t)n);
}

/* Keys of the sample are numbered; a key that is not new has an equal one in front of
 * it. Of S entries among u keys S^2 / 2u pairs are equal, as long as those are few. The
 * hash is the second one, so that keys made to collide are seen for how many they are.
 */
static ps_status
look_at_repeats(ps_key_numbering *work, ps_key_room *room, repeats *seen)
{
    ps_key_source *const source = work->source;
    const int64_t n = source->call->n;
    ps_key_part sample = {0};
    *seen = (repeats){.size = ps_max(SAMPLE, ps_min(n / SPACING, MOST_SAMPLE))};
    work->way = PS_KEY_WAY_second;
    ps_status status = ps_open_part(work, &sample, seen->size);
    for (int64_t i = 0; i < seen->size && status.code == PS_OK; i++) {
        const int64_t entry = place_of(i, n), some = ps_min(2, n - entry);
        ps_key_words(source, entry, some, room->buffer, room->word);
        seen->runs += some == 2 && source->kind == PS_KEYS_WORDS &&
                      room->word[0] == room->word[1];
        status = ps_number_block(work, &sample, room->word, 1, NULL, entry, room->id);
    }
    seen->equal = seen->size - sample.table.n;
    work->way = PS_KEY_WAY_hash;
    ps_close_part(&sample);
    return status;
}

/* As many keys as `equal` pairs in a sample speak for. */
static double
keys_of(const repeats *seen)
{
    return (double)seen->size * (double)seen->size / (2.0 * (double)seen->equal + 0.5);
}

/* Words in the hash, of which many differ. The same entry twice in the sample counts
 * for a pair, which makes n different keys seem n. */
static void
choose_by_repeats(ps_key_numbering *work, const repeats *seen)
{
    const double n = (double)work->source->call->n, keys = keys_of(seen);
    if (work->source->kind != PS_KEYS_WORDS || 2 * seen->runs > seen->size ||
        keys < MANY_KEYS) {
        return;
    }
    work->way = 5 * keys > 4 * n ? PS_KEY_WAY_sort : PS_KEY_WAY_spread;
    work->seems = ps_min((int64_t)keys, work->source->call->n);
}

/* ---- the decision ---- */

/* A way that a test asks for, as far as these keys can go it. */
static enum ps_key_way
forced(const ps_key_numbering *work)
{
    const enum ps_key_way way = work->source->call->way;
    const bool has_words = work->source->kind == PS_KEYS_WORDS;
    const bool needs_words = way == PS_KEY_WAY_near || way == PS_KEY_WAY_spread;
    return needs_words && !has_words ? PS_KEY_WAY_hash : way;
}

/* Stretches, unless a test says how many. Places of a near table are cleared by each,
 * and tables are joined key by key, so that keys have to be few: joining one takes 20
 * ns, numbering an entry 5, so they have to be fewer than an eighth of the entries. */
static int64_t
parts_of(const ps_key_numbering *work, double keys)
{
    const ps_keys_call *const call = work->source->call;
    const int64_t most = ps_min(work->run->threads, call->n / PART);
    if (call->parts > 0) {
        return ps_max(1, ps_min(call->parts, ps_min(call->n, PS_MOST_KEY_PARTS)));
    }
    const bool are_few = work->way == PS_KEY_WAY_near
                                 ? work->high - work->low < (uint64_t)call->n / 8
                                 : keys < (double)call->n / 8;
    const bool shares =
            work->way == PS_KEY_WAY_spread || (work->way != PS_KEY_WAY_sort && are_few);
    return shares ? ps_max(1, ps_min(most, PS_MOST_KEY_PARTS)) : 1;
}

static ps_status
decide(ps_key_numbering *work, bool may_guess, ps_key_room *room)
{
    const ps_keys_call *const call = work->source->call;
    const bool is_free = call->way == PS_KEY_WAY_automatic;
    const bool may_share = work->run->threads > 1 && call->n >= 2 * PART;
    const bool may_pack = call->n >= TEXT && ps_may_pack_text(work->source);
    double keys = 0;
    work->way =
            is_free || forced(work) == PS_KEY_WAY_near ? PS_KEY_WAY_hash : forced(work);
    if (work->source->kind == PS_KEYS_WORDS && call->n > 0 &&
        (is_free || call->way == PS_KEY_WAY_near)) {
        PS_TRY(look_at_range(work, may_guess, room));
    }
    if (work->way == PS_KEY_WAY_hash && is_free &&
        (may_share || may_pack || call->n >= MANY_ENTRIES)) {
        repeats seen;
        PS_TRY(look_at_repeats(work, room, &seen));
        keys = keys_of(&seen);
        choose_by_repeats(work, &seen);
        work->packs = may_pack && keys >= TEXT_KEYS && keys < (double)call->n / 4;
    }
    work->parts = parts_of(work, keys);
    return PS_SUCCESS;
}

ps_status
ps_choose_keys(ps_key_numbering *numbering, bool may_guess)
{
    ps_key_room room;
    numbering->is_guess = false;
    numbering->seems = 0;
    numbering->packs = false;
    PS_TRY(ps_open_key_room(&room, numbering->source->call->n));
    const ps_status status = decide(numbering, may_guess, &room);
    ps_close_key_room(&room);
    return status;
}
