/* Keys sorted: those that have been numbered, and, where a hash does not tell keys
 * apart in bounded time, all entries (contract in keys.h).
 *
 * Words go through a radix sort of eight digits, of which those that all words share
 * are left out: whoever chooses the keys has no say in what it costs. Items of a few
 * words are sorted by these, the last one first. Few keys, and long items, of which few
 * bytes tell most apart, are merged. All of it is stable, so that the first of equal
 * entries is the first to have appeared.
 *
 * Passes over many words are cut into stretches, whose counts go on from one to the
 * next; merges of long runs are cut as well. A radix sort in place would need half the
 * memory, but loses the order of equal words, of which numbers by appearance are made.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    /* Numbers that insertion sorts: runs that are merged begin so long. */
    RUN = 16,
    /* Words from which eight counts of 256 pay: 64 of them take 1.2 us either way. */
    RADIX_FROM = 256,
    /* Words of an item up to which their digits are sorted: the comparisons of a merge
     * wait for items that lie anywhere, 20 times and more. */
    MOST_WORDS = 8,
    /* Numbers between two looks at a pending signal: comparisons of items that lie
     * anywhere take 0.1 us. */
    STRETCH = 1 << 15
};

/* ---- by digits ---- */

typedef struct {
    ps_run *run;
    bool is_wide;
    int64_t n;
    uint64_t *word, *other_word;
    void *at, *other_at;
    int64_t count[8][256];
} radix;

/* One digit: sums in place of counts, then pairs are moved, stretch by stretch. */
static void
sort_digit(radix *work, int digit)
{
    int64_t sum = 0, *const count = work->count[digit];
    for (int b = 0; b < 256; b++) {
        const int64_t here = count[b];
        count[b] = sum;
        sum += here;
    }
    const int64_t size = ps_width_bytes(work->is_wide, 1);
    ps_stretch part = ps_stretch_of(work->run, work->n, 16 + 2 * PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        ps_kernels()->keys->radix[work->is_wide](
                work->other_word, work->other_at, work->word + part.first,
                (char *)work->at + part.first * size, part.last - part.first, 8 * digit,
                count);
    }
    uint64_t *const word = work->word;
    void *const at = work->at;
    work->word = work->other_word;
    work->at = work->other_at;
    work->other_word = word;
    work->other_at = at;
}

/* All digits in which words differ, the lowest first. */
static ps_status
sort_digits(radix *work)
{
    memset(work->count, 0, sizeof(work->count));
    ps_stretch part = ps_stretch_of(work->run, work->n, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        ps_kernels()->keys->digits(work->word + part.first, part.last - part.first,
                                   work->count);
    }
    for (int digit = 0; digit < 8; digit++) {
        const int64_t some = work->count[digit][work->word[0] >> 8 * digit & 255];
        PS_TRY(ps_run_status(work->run));
        if (some < work->n) {
            sort_digit(work, digit);
        }
    }
    return ps_run_status(work->run);
}

/* word [n] and at [n] are sorted by words, stably. The results may lie in *other of the
 * two pairs of arrays, of which the caller owns both. */
static ps_status
sort_words(radix *work)
{
    const int64_t at_nbytes = ps_width_bytes(work->is_wide, work->n);
    uint64_t *const word = work->word, *const spare = ps_scratch_get(8 * work->n);
    void *const at = work->at, *const spare_at = ps_scratch_get(at_nbytes);
    ps_status status = ps_fail(PS_NO_MEMORY);
    work->other_word = spare;
    work->other_at = spare_at;
    if (spare != NULL && spare_at != NULL) {
        status = sort_digits(work);
    }
    if (status.code == PS_OK && work->word != word) {
        memcpy(word, work->word, (size_t)(8 * work->n));
        memcpy(at, work->at, (size_t)at_nbytes);
    }
    work->word = word;
    work->at = at;
    ps_scratch_put(spare, 8 * work->n);
    ps_scratch_put(spare_at, at_nbytes);
    return status;
}

/* ---- by merging ---- */

typedef struct {
    ps_run *run;
    bool is_wide;
    const ps_key_order *order;
    int64_t n, size; /* of a number, in bytes */
    char *from, *to;
} merging;

/* Two runs of `length` from `first` on, of which the second may be short or missing, in
 * stretches between which signals are heard. */
static void
merge_pair(const merging *work, int64_t first, int64_t length, int64_t *unheard)
{
    ps_key_merge merge = {.to = work->to + first * work->size,
                          .from = work->from + first * work->size,
                          .n = ps_min(2 * length, work->n - first)};
    merge.middle = merge.right = ps_min(length, merge.n);
    for (int64_t at = 0; at < merge.n; at += STRETCH) {
        const int64_t stop = ps_min(at + STRETCH, merge.n);
        if (ps_run_stops_after(work->run, unheard, (stop - at) * 2 * PS_LINE_BYTES)) {
            return;
        }
        ps_kernels()->keys->merge[work->is_wide](work->order, &merge, at, stop);
    }
}

/* number [n] in the order of what they stand for. */
static ps_status
merge_all(ps_run *run, bool is_wide, const ps_key_order *order, void *number, int64_t n)
{
    const int64_t size = ps_width_bytes(is_wide, 1), nbytes = n * size;
    char *const own = number;
    int64_t unheard = 0;
    for (int64_t first = 0; first < n; first += RUN) {
        const int64_t length = ps_min(RUN, n - first);
        ps_kernels()->keys->insert[is_wide](order, own + first * size, length);
        if (ps_run_stops_after(run, &unheard, length * 4 * PS_LINE_BYTES)) {
            return ps_run_status(run);
        }
    }
    if (n <= RUN) {
        return PS_SUCCESS;
    }
    char *const spare = ps_scratch_get(nbytes);
    if (spare == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    merging work = {run, is_wide, order, n, size, own, spare};
    for (int64_t length = RUN; length < n; length *= 2) {
        for (int64_t first = 0; first < n && ps_run_status(run).code == PS_OK;
             first += 2 * length) {
            merge_pair(&work, first, length, &unheard);
        }
        char *const merged = work.to;
        work.to = work.from;
        work.from = merged;
    }
    if (work.from != own) {
        memcpy(own, work.from, (size_t)nbytes);
    }
    ps_scratch_put(spare, nbytes);
    return ps_run_status(run);
}

/* ---- numbers ---- */

/* Numbers as they are before they are sorted. */
static void
put_ramp(bool is_wide, void *number, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, number, i, i);
    }
}

/* By digits; the words move with their numbers. The counts of all digits are 16 KB, too
 * much for a stack that may be a small thread's. */
static ps_status
sort_numbers(const ps_key_source *source, uint64_t *word, void *number, int64_t n)
{
    radix *const work = ps_scratch_get((int64_t)sizeof(radix));
    if (work == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    work->run = source->run;
    work->is_wide = source->is_wide;
    work->n = n;
    work->word = word;
    work->at = number;
    const ps_status status = sort_words(work);
    ps_scratch_put(work, (int64_t)sizeof(radix));
    return status;
}

/* ---- items by words ---- */

/* How an item falls into words of 8 bytes that are in its order: characters of four
 * bytes by twos, or by eights where none is above 255; bytes by eights; words as they
 * are. */
typedef struct {
    const ps_key_order *keys;
    int64_t per_word, n_words; /* units of an item in a word, and words */
} item_words;

/* The item that a number stands for: that of its first entry, or of the entry that it
 * is. */
static const char *
item_at(const item_words *words, bool is_wide, int64_t number)
{
    const ps_key_order *const keys = words->keys;
    const int64_t entry =
            keys->first != NULL ? ps_at(is_wide, keys->first, number) : number;
    return keys->items + entry * keys->itemsize;
}

/* Characters are native and may lie anywhere. */
static uint64_t
character_at(const char *item, int64_t i)
{
    uint32_t character;
    memcpy(&character, item + 4 * i, sizeof(character));
    return character;
}

/* Word k of an item; what lies behind its end is 0. */
static uint64_t
word_of_item(const item_words *words, const char *item, int64_t k)
{
    const bool has_characters = words->keys->kind == PS_KEYS_UNITS;
    const int64_t units = words->keys->itemsize / (has_characters ? 4 : 1);
    const int64_t first = k * words->per_word;
    const int shift = (int)(64 / words->per_word) % 64;
    uint64_t word = 0;
    if (words->keys->kind == PS_KEYS_PAIRS) {
        memcpy(&word, item + 8 * k, sizeof(word));
        return word;
    }
    for (int64_t i = first; i < first + words->per_word; i++) {
        const uint64_t unit = i >= units       ? 0
                              : has_characters ? character_at(item, i)
                                               : (uint8_t)item[i];
        word = word << shift | unit;
    }
    return word;
}

/* Is there one above 255? Where the run is stopped the answer does not matter. */
static bool
has_wide_character(const ps_key_source *source, const item_words *words,
                   const void *number, int64_t n)
{
    const int64_t characters = words->keys->itemsize / 4;
    uint64_t all = 0;
    ps_stretch part = ps_stretch_of(source->run, n, 2 * PS_LINE_BYTES);
    while (all <= UINT8_MAX && ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t one = ps_at(source->is_wide, number, i);
            const char *const item = item_at(words, source->is_wide, one);
            for (int64_t k = 0; k < characters; k++) {
                all |= character_at(item, k);
            }
        }
    }
    return all > UINT8_MAX;
}

/* Pairs of words are their own; the last word of others may be filled up with zeros,
 * which come before everything. */
static item_words
words_of_items(const ps_key_source *source, const ps_key_order *keys,
               const void *number, int64_t n)
{
    item_words words = {.keys = keys, .per_word = 8, .n_words = keys->itemsize / 8};
    if (keys->kind == PS_KEYS_BYTES) {
        words.n_words = ps_ceil_div(keys->itemsize, 8);
    }
    else if (keys->kind == PS_KEYS_UNITS) {
        words.per_word = has_wide_character(source, &words, number, n) ? 2 : 8;
        words.n_words = ps_ceil_div(keys->itemsize / 4, words.per_word);
    }
    return words;
}

/* By words, the last one first, each sorted by its digits, stably. Digits that all
 * items share cost nothing but the look at them. Another thread may rewrite items
 * between the words: then they are in a wrong order, and all there. */
static ps_status
sort_items(const ps_key_source *source, const item_words *words, void *number,
           int64_t n)
{
    uint64_t *const word = ps_scratch_get(8 * n);
    ps_status status = word != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
    for (int64_t k = words->n_words - 1; k >= 0 && status.code == PS_OK; k--) {
        ps_stretch part = ps_stretch_of(source->run, n, 2 * PS_LINE_BYTES);
        while (ps_next_stretch(&part)) {
            for (int64_t i = part.first; i < part.last; i++) {
                const int64_t one = ps_at(source->is_wide, number, i);
                word[i] = word_of_item(words, item_at(words, source->is_wide, one), k);
            }
        }
        status = ps_run_status(source->run);
        if (status.code == PS_OK) {
            status = sort_numbers(source, word, number, n);
        }
    }
    ps_scratch_put(word, 8 * n);
    return status;
}

/* Few items, and long ones, of which few bytes tell most apart, are merged. */
static ps_status
order_items(const ps_key_source *source, const ps_key_order *keys, void *number,
            int64_t n)
{
    if (n >= RADIX_FROM && keys->itemsize <= 4 * 8 * MOST_WORDS) {
        const item_words words = words_of_items(source, keys, number, n);
        if (words.n_words <= MOST_WORDS) {
            return sort_items(source, &words, number, n);
        }
    }
    return merge_all(source->run, source->is_wide, keys, number, n);
}

/* Words that are few, and items, which no digit can be taken of, are merged. Keys that
 * have numbers differ, so stability plays no part here. */
ps_status
ps_order_numbers(const ps_key_source *source, const ps_numbered *numbered, void *order)
{
    put_ramp(source->is_wide, order, numbered->n);
    if (source->kind == PS_KEYS_WORDS && numbered->n >= RADIX_FROM) {
        return sort_numbers(source, numbered->word, order, numbered->n);
    }
    const ps_key_order keys = {source->kind, numbered->word, source->items,
                               source->itemsize, numbered->first};
    return order_items(source, &keys, order, numbered->n);
}

/* ---- all entries ---- */

/* Small blocks, since their buffers lie on the stack: this is the way of the hostile,
 * not of the hasty. The entries that take part, and their words, where keys are words;
 * in order. */
static ps_status
list_entries(ps_key_source *source, ps_numbered *all)
{
    uint64_t word[PS_KEY_BLOCK / 16];
    int64_t at[PS_KEY_BLOCK / 16], unheard = 0;
    char buffer[PS_KEY_BLOCK / 16 * 16];
    const int64_t n = source->call->n, block = PS_KEY_BLOCK / 16;
    all->n = 0;
    for (int64_t first = 0; first < n; first += block) {
        const int64_t some = ps_min(block, n - first);
        ps_key_words(source, first, some, buffer, word);
        const int64_t kept = ps_keep_keys(source, first, some, word, at);
        for (int64_t i = 0; i < kept; i++) {
            ps_put(source->is_wide, all->first, all->n + i, at[i]);
        }
        if (all->word != NULL) {
            memcpy(all->word + all->n, word, (size_t)(8 * kept));
        }
        all->n += kept;
        if (ps_run_stops_after(source->run, &unheard, some * PS_LINE_BYTES)) {
            break;
        }
    }
    return ps_run_status(source->run);
}

/* Equal keys stand side by side then, and become one number: the last pass reads them
 * once, and writes over entries that it has read. */
static ps_status
sort_entries(ps_key_source *source, ps_numbered *all)
{
    ps_key_order order = {.kind = source->kind,
                          .word = all->word,
                          .items = source->items,
                          .itemsize = source->itemsize};
    if (all->n == 0) {
        return PS_SUCCESS;
    }
    if (source->kind != PS_KEYS_WORDS) {
        PS_TRY(order_items(source, &order, all->first, all->n));
    }
    else {
        PS_TRY(sort_numbers(source, all->word, all->first, all->n));
    }
    all->n = ps_kernels()->keys->runs[source->is_wide](&order, all->first, all->n,
                                                       all->first, source->ids);
    return PS_SUCCESS;
}

/* Memory for all entries at once: 12 bytes for each word and its entry, and as many
 * again while they are moved. It does not depend on what the keys are, nor does the
 * time that words take. */
ps_status
ps_number_by_sorting(ps_key_source *source, ps_numbered *numbered)
{
    const int64_t n = source->call->n;
    numbered->first_nbytes = ps_width_bytes(source->is_wide, n);
    numbered->first = ps_scratch_get(numbered->first_nbytes);
    if (source->kind == PS_KEYS_WORDS) {
        numbered->word_nbytes = 8 * n;
        numbered->word = ps_scratch_get(numbered->word_nbytes);
    }
    if (numbered->first == NULL ||
        (source->kind == PS_KEYS_WORDS && numbered->word == NULL)) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(list_entries(source, numbered));
    return sort_entries(source, numbered);
}
