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

/* What both looks share: the tables are those of the parts. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_key_numbering *numbering;
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

/* A block of one of the looks: its words, those that take part, and what is done with
 * them. */
static void
do_block(const looking *work, ps_key_table *table, bool marks, int64_t first, int64_t n,
         ps_key_room *room)
{
    ps_key_source *const source = work->numbering->source;
    const int64_t *at = NULL;
    ps_key_words(source, first, n, room->buffer, room->word);
    if (source->drops) {
        n = ps_keep_keys(source, first, n, room->word, room->at);
        at = room->at;
    }
    const bool is_beyond =
            marks ? (source->is_wide ? mark(true, table, room->word, at, first, n)
                                     : mark(false, table, room->word, at, first, n))
                  : (source->is_wide
                             ? look(true, table, room->word, at, first, n, source->ids)
                             : look(false, table, room->word, at, first, n,
                                    source->ids));
    if (is_beyond && work->numbering->is_guess) {
        atomic_store(&work->numbering->is_wrong, true);
    }
}

/* The room of a block is taken once for a stretch. All blocks of a stretch; those of a
 * look that marks from the last to the first. */
static void
do_part(looking *work, ps_key_part *part, ps_key_table *table, bool marks)
{
    ps_key_room room;
    const int64_t n = part->last - part->first;
    const int64_t blocks = ps_ceil_div(n, PS_KEY_BLOCK);
    int64_t unheard = 0;
    const ps_status status = ps_open_key_room(&room, n);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
        return;
    }
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t at = (marks ? blocks - 1 - k : k) * PS_KEY_BLOCK;
        do_block(work, table, marks, part->first + at, ps_min(PS_KEY_BLOCK, n - at),
                 &room);
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

/* Places in their order: those that were written get numbers. */
PS_WIDTH_INLINE void
number_places(const bool is_wide, ps_key_numbering *numbering, ps_numbered *numbered)
{
    void *const slot = numbering->part[0].table.slot;
    const int64_t places = (int64_t)numbering->part[0].table.mask + 1;
    int64_t count = 0;
    ps_stretch part = ps_stretch_of(numbering->run, places, 8 * numbering->parts);
    while (ps_next_stretch(&part)) {
        for (int64_t place = part.first; place < part.last; place++) {
            const int64_t entry = first_at(is_wide, numbering, place);
            ps_put(is_wide, slot, place, entry > 0 ? count : 0);
            if (entry > 0) {
                ps_put(is_wide, numbered->first, count++, entry - 1);
            }
        }
    }
    numbered->n = count;
}

/* Where no entry takes part there is no number to be looked for. */
ps_status
ps_number_near(ps_key_numbering *numbering, ps_numbered *numbered)
{
    const ps_key_source *const source = numbering->source;
    looking work = {numbering->run, numbering};
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
    source->is_wide ? number_places(true, numbering, numbered)
                    : number_places(false, numbering, numbered);
    PS_TRY(ps_run_status(work.run));
    numbering->is_guess = false;
    return numbered->n > 0 ? ps_run_chunks(work.run, numbering->parts, look_part, &work)
                           : PS_SUCCESS;
}

/* No table: the places are the numbers. */
ps_status
ps_code_near(ps_key_numbering *numbering, ps_numbered *numbered)
{
    looking work = {numbering->run, numbering};
    ps_key_table *const table = &numbering->part[0].table;
    table->low = numbering->low;
    table->mask = numbering->high - numbering->low;
    numbered->n = (int64_t)table->mask + 1;
    return ps_run_chunks(work.run, numbering->parts, look_part, &work);
}
