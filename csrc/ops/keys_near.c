/* Words that lie close together, in their order (contract in keys_table.h).
 *
 * A word's distance from the least one is its place, so neither a number nor a word has
 * to be looked up while entries are read: each writes itself into its place, from the
 * last to the first, and what stays is the first entry of every key. Then places that
 * were written are numbered in their order, which is that of keys, and a second look at
 * the words finds the numbers. No load waits for a store, and no branch depends on
 * keys.
 *
 * The range of the words may be a guess, from a look at some of them: then the first
 * look tells whether it holds, and a pass to find the range is spared.
 *
 * Where numbers may be short, one look does: it leaves the distance of each entry in
 * the place of its number, and distances become numbers there, if they are none yet.
 *
 * Between the looks another thread may write other words. Places that nobody has
 * written, and words beyond, then stand for number 0.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys_table.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    /* Places that are soon all written, and may be looked over after each block until
     * they are. ns an entry of 5,000,000 int64 among 100, with marks / without: 1.6 and
     * 1.0. */
    FEW_PLACES = 4096
};

/* What the looks share: the tables are those of the parts. Of short numbers: */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_key_numbering *numbering;
    int64_t bias;   /* the place from which distances are counted, */
    uint32_t reach; /* the farthest, but for words that were not foreseen */
    bool are_few;   /* places up to there are few, and no entry is left out */
} looking;

/* place[distance] = entry + 1, from the last to the first. Does a word lie beyond the
 * places? */
PS_WIDTH_INLINE bool
mark(const bool is_wide, ps_key_table *table, const uint64_t *word, const int64_t *at,
     int64_t base, int64_t n)
{
    const uint64_t low = table->low, mask = table->mask;
    void *const slot = table->slot;
    uint64_t most = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        const uint64_t far = word[i] - low;
        const int64_t entry = at != NULL ? at[i] : base + i;
        most = far > most ? far : most;
        ps_put(is_wide, slot, (int64_t)(far <= mask ? far : 0), entry + 1);
    }
    return most > mask;
}

/* ids[entry] = the number at the place of its word, or the distance itself. Does a word
 * lie beyond the places? */
PS_WIDTH_INLINE bool
look(const bool is_wide, const ps_key_table *table, const uint64_t *word,
     const int64_t *at, int64_t base, int64_t n, int64_t *ids)
{
    const uint64_t low = table->low, mask = table->mask;
    const void *const slot = table->slot;
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t far = word[i] - low;
        const int64_t place = (int64_t)(far <= mask ? far : 0);
        most = far > most ? far : most;
        ids[at != NULL ? at[i] : base + i] =
                slot != NULL ? ps_at(is_wide, slot, place) : place;
    }
    return most > mask;
}

/* ---- short numbers ---- */

/* code[i] = the distance of word i. Are all within reach? Differences have a sign where
 * one is not, so that four are found at a time. */
static bool
code_words(const looking *work, const ps_key_table *table, const uint64_t *word,
           int64_t n, int32_t *code)
{
    const uint64_t base = table->low + (uint64_t)work->bias;
    uint64_t all = 0;
    uint32_t over = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t far = word[i] - base;
        all |= far;
        over |= work->reach - (uint32_t)far;
        code[i] = (int32_t)far;
    }
    return all <= INT32_MAX && over <= INT32_MAX;
}

/* The same for words of which some are not within reach, but may have places; one
 * without counts as the nearest. Is there one? */
static bool
code_others(const looking *work, const ps_key_table *table, const uint64_t *word,
            int64_t n, int32_t *code)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t far = word[i] - table->low;
        most = far > most ? far : most;
        code[i] = (int32_t)((far <= table->mask ? (int64_t)far : work->bias) -
                            work->bias);
    }
    return most > table->mask;
}

/* slot[code] = entry + 1; from the first to the last where the table has none. */
static void
mark_empty(int32_t *slot, const int32_t *code, int64_t base, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (__builtin_expect(slot[code[i]] == 0, 0)) {
            slot[code[i]] = (int32_t)(base + i) + 1;
        }
    }
}

/* And from the last to the first, without a branch. */
static void
mark_any(int32_t *slot, const int32_t *code, const int64_t *at, int64_t base, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        slot[code[i]] = (int32_t)(at != NULL ? at[i] : base + i) + 1;
    }
}

static bool
are_all_marked(const int32_t *slot, uint32_t reach)
{
    uint32_t place = 0;
    while (place <= reach && slot[place] != 0) {
        place++;
    }
    return place > reach;
}

/* A block of the one look. Where places are few blocks come from the first to the last,
 * and need no marks when all places within reach have theirs. Is a word beyond? */
static bool
code_block(const looking *work, ps_key_table *table, const ps_key_room *room,
           const int64_t *at, int64_t first, int64_t n, bool *are_all)
{
    int32_t *const ids = (int32_t *)work->numbering->source->ids;
    int32_t *const code = at != NULL ? (int32_t *)room->id : ids + first;
    int32_t *const slot = (int32_t *)table->slot + work->bias;
    const bool are_within = code_words(work, table, room->word, n, code);
    const bool is_beyond = !are_within && code_others(work, table, room->word, n, code);
    if (!work->are_few) {
        mark_any(slot, code, at, first, n);
    }
    else if (!*are_all || !are_within) {
        mark_empty(slot, code, first, n);
        *are_all = *are_all || are_all_marked(slot, work->reach);
    }
    for (int64_t i = 0; at != NULL && i < n; i++) {
        ids[at[i]] = code[i];
    }
    return is_beyond;
}

/* Codes become numbers where they lie: nobody else has them. Those that are left out
 * are -1, and then no other is below 0. */
static void
number_codes(const looking *work, const ps_key_part *part)
{
    const ps_key_source *const source = work->numbering->source;
    const int32_t *const number =
            (const int32_t *)work->numbering->part[0].table.slot + work->bias;
    const bool drops = source->drops;
    int32_t *const code = (int32_t *)source->ids + part->first;
    ps_stretch some = ps_stretch_of(work->run, part->last - part->first, 8);
    while (ps_next_stretch(&some)) {
        for (int64_t i = some.first; i < some.last; i++) {
            code[i] = drops && code[i] < 0 ? -1 : number[code[i]];
        }
    }
}

/* ---- blocks ---- */

/* A block of one of the looks: its words, those that take part, and what is done with
 * them. */
static void
do_block(const looking *work, ps_key_table *table, bool marks, int64_t first, int64_t n,
         ps_key_room *room, bool *are_all)
{
    ps_key_source *const source = work->numbering->source;
    const int64_t *at = NULL;
    ps_key_words(source, first, n, room->buffer, room->word);
    if (source->drops) {
        n = ps_keep_keys(source, first, n, room->word, room->at);
        at = room->at;
    }
    const bool is_beyond =
            source->are_short ? code_block(work, table, room, at, first, n, are_all)
            : marks ? (source->is_wide ? mark(true, table, room->word, at, first, n)
                                       : mark(false, table, room->word, at, first, n))
                    : (source->is_wide ? look(true, table, room->word, at, first, n,
                                              source->ids)
                                       : look(false, table, room->word, at, first, n,
                                              source->ids));
    if (is_beyond && work->numbering->is_guess) {
        atomic_store(&work->numbering->is_wrong, true);
    }
}

/* The room of a block is taken once for a stretch. All blocks of a stretch; those of a
 * look that marks from the last to the first, but where places are few. */
static void
do_part(looking *work, ps_key_part *part, ps_key_table *table, bool marks)
{
    ps_key_room room;
    const int64_t n = part->last - part->first;
    const int64_t blocks = ps_ceil_div(n, PS_KEY_BLOCK);
    const bool is_backward = marks && !work->are_few;
    bool are_all = false;
    int64_t unheard = 0;
    const ps_status status = ps_open_key_room(&room, n);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
        return;
    }
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t at = (is_backward ? blocks - 1 - k : k) * PS_KEY_BLOCK;
        do_block(work, table, marks, part->first + at, ps_min(PS_KEY_BLOCK, n - at),
                 &room, &are_all);
        if (atomic_load(&work->numbering->is_wrong) ||
            ps_run_stops_after(work->run, &unheard, PS_KEY_BLOCK * 32)) {
            break;
        }
    }
    ps_close_key_room(&room);
}

static void
mark_part(void *context, int64_t i)
{
    looking *const work = context;
    ps_key_part *const part = &work->numbering->part[i];
    const ps_status status = ps_open_part(work->numbering, part, 0);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
        return;
    }
    do_part(work, part, &part->table, true);
}

/* Every stretch goes by the table of the first. */
static void
look_part(void *context, int64_t i)
{
    looking *const work = context;
    ps_key_part *const part = work->numbering->part;
    if (work->numbering->source->are_short) {
        number_codes(work, &part[i]);
        return;
    }
    do_part(work, &part[i], &part[0].table, false);
}

/* The entry that stands at a place in the first of the tables that has one there; plus
 * 1, or 0. */
PS_WIDTH_INLINE int64_t
first_at(const bool is_wide, const ps_key_numbering *numbering, int64_t place)
{
    int64_t entry = 0;
    for (int64_t i = 0; entry == 0 && i < numbering->parts; i++) {
        entry = ps_at(is_wide, numbering->part[i].table.slot, place);
    }
    return entry;
}

/* Places in their order: those that were written get numbers. Returns the first of
 * these. */
PS_WIDTH_INLINE int64_t
number_places(const bool is_wide, ps_key_numbering *numbering, ps_numbered *numbered)
{
    void *const slot = numbering->part[0].table.slot;
    const int64_t places = (int64_t)numbering->part[0].table.mask + 1;
    int64_t count = 0, lowest = 0;
    ps_stretch part = ps_stretch_of(numbering->run, places, 8 * numbering->parts);
    while (ps_next_stretch(&part)) {
        for (int64_t place = part.first; place < part.last; place++) {
            const int64_t entry = first_at(is_wide, numbering, place);
            ps_put(is_wide, slot, place, entry > 0 ? count : 0);
            if (entry > 0) {
                lowest = count == 0 ? place : lowest;
                ps_put(is_wide, numbered->first, count++, entry - 1);
            }
        }
    }
    numbered->n = count;
    return lowest;
}

/* Are distances the numbers, since the places of all keys lie side by side? */
static bool
are_numbers(const looking *work, int64_t lowest, int64_t n)
{
    const ps_key_table *const table = &work->numbering->part[0].table;
    const int32_t *const number = table->slot;
    const int64_t last = lowest + n - 1;
    return work->numbering->source->are_short && lowest == work->bias &&
           last <= (int64_t)table->mask && number[last] == n - 1;
}

/* Short numbers are counted from the least word that has been seen, where few are to be
 * expected: then they are mostly numbers of keys already. */
static looking
look_for(ps_key_numbering *numbering)
{
    const uint64_t places = numbering->seen_high - numbering->seen_low;
    const bool are_few = numbering->source->are_short && places < FEW_PLACES &&
                         !numbering->source->drops;
    return (looking){
            .run = numbering->run,
            .numbering = numbering,
            .bias = are_few ? (int64_t)(numbering->seen_low - numbering->low) : 0,
            .reach = (uint32_t)(are_few ? places : numbering->high - numbering->low),
            .are_few = are_few};
}

/* Where no entry takes part there is no number to be looked for. */
ps_status
ps_number_near(ps_key_numbering *numbering, ps_numbered *numbered)
{
    const ps_key_source *const source = numbering->source;
    looking work = look_for(numbering);
    PS_TRY(ps_run_chunks(work.run, numbering->parts, mark_part, &work));
    if (atomic_load(&numbering->is_wrong)) {
        return PS_SUCCESS;
    }
    const int64_t places = (int64_t)numbering->part[0].table.mask + 1;
    numbered->first_nbytes =
            ps_width_bytes(source->is_wide, ps_min(places, source->call->n));
    numbered->first = ps_scratch_get(numbered->first_nbytes);
    if (numbered->first == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const int64_t lowest = source->is_wide ? number_places(true, numbering, numbered)
                                           : number_places(false, numbering, numbered);
    PS_TRY(ps_run_status(work.run));
    numbering->is_guess = false;
    return numbered->n > 0 && !are_numbers(&work, lowest, numbered->n)
                   ? ps_run_chunks(work.run, numbering->parts, look_part, &work)
                   : PS_SUCCESS;
}

/* No table: the places are the numbers. */
ps_status
ps_code_near(ps_key_numbering *numbering, ps_numbered *numbered)
{
    looking work = {.run = numbering->run, .numbering = numbering};
    ps_key_table *const table = &numbering->part[0].table;
    table->low = numbering->low;
    table->mask = numbering->high - numbering->low;
    numbered->n = (int64_t)table->mask + 1;
    return ps_run_chunks(work.run, numbering->parts, look_part, &work);
}
