/* Tables in which keys are numbered (contract in keys_table.h).
 *
 * A table holds numbers; the words that they stand for lie with the numbers, so a table
 * grows without a look at the entries, from numbers alone. It is given up when its
 * probes have cost more than random keys can make them cost: keys that collide cost a
 * part of one way more, and no key has to be looked at for what it is.
 *
 * The room for words and first entries is taken once, for as many as there can be:
 * growing would copy them, and pages that are not used cost nothing.
 */
#include "ops/keys_table.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    LEAST_SLOTS = 64,
    /* Bytes of places beyond which they are asked for ahead of time. */
    NEAR_BYTES = 128 << 10,
    /* Probes beyond the first that an entry may cost on average, and one table. Random
     * keys that all differ cost 1.1 each, and 0.3 more where tables grow; each repeat
     * at most 1.1. */
    PROBES = 4,
    SPARE_PROBES = 4096
};

/* ---- blocks ---- */

ps_status
ps_open_key_room(ps_key_room *room, int64_t n)
{
    n = ps_max(PS_SMALL_KEY_ROOM, ps_min(n, PS_KEY_BLOCK));
    room->nbytes = n * PS_KEY_ROOM_BYTES;
    room->memory = n > PS_SMALL_KEY_ROOM ? ps_scratch_get(room->nbytes) : NULL;
    if (n > PS_SMALL_KEY_ROOM && room->memory == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    char *const memory = room->memory != NULL ? room->memory : room->own;
    room->word = (uint64_t *)(void *)memory;
    room->at = (int64_t *)(void *)(memory + 8 * n);
    room->id = room->at + n;
    room->buffer = (char *)(room->id + n);
    return PS_SUCCESS;
}

void
ps_close_key_room(ps_key_room *room)
{
    ps_scratch_put(room->memory, room->nbytes);
}

/* ---- tables ---- */

/* Places can be had again from the numbers: they go as soon as no key is looked up. */
void
ps_free_places(ps_key_part *part)
{
    ps_scratch_put(part->table.slot, part->slot_nbytes);
    part->table.slot = NULL;
}

/* Empty places. A table beyond the near caches is asked for ahead of time. */
static ps_status
get_places(const ps_key_numbering *work, ps_key_part *part, int64_t places)
{
    part->slot_nbytes = ps_width_bytes(work->source->is_wide, places);
    part->table.slot = ps_scratch_get(part->slot_nbytes);
    part->table.mask = (uint64_t)places - 1;
    part->table.asks = part->slot_nbytes > NEAR_BYTES;
    return part->table.slot != NULL
                   ? ps_run_fill(work->run, part->table.slot, 0, part->slot_nbytes)
                   : ps_fail(PS_NO_MEMORY);
}

/* A table of `places`, a power of two, that has all numbers given so far. One that is
 * small beside the entries stays nearly empty: then most keys are found at the first
 * look, and no branch goes wrong. */
static ps_status
resize(const ps_key_numbering *work, ps_key_part *part, int64_t places)
{
    ps_key_table *const table = &part->table;
    ps_free_places(part);
    PS_TRY(get_places(work, part, places));
    table->shift = 64 - __builtin_ctzll((uint64_t)places);
    const bool is_small = places < work->source->call->n / 8;
    table->full = is_small ? places / 4 : places / 16 * 11;
    ps_stretch some = ps_stretch_of(work->run, table->n, 2 * PS_LINE_BYTES);
    while (ps_next_stretch(&some)) {
        if (!ps_kernels()->keys->refill[work->source->is_wide](table, some.first,
                                                               some.last)) {
            atomic_store(&work->source->is_hostile, true);
            return PS_SUCCESS;
        }
    }
    return ps_run_status(work->run);
}

/* A table without places. */
static void
describe(const ps_key_numbering *work, ps_key_part *part, uint64_t *word, void *first)
{
    part->table = (ps_key_table){.budget = SPARE_PROBES,
                                 .is_second = work->way == PS_KEY_WAY_second,
                                 .low = work->low,
                                 .word = word,
                                 .first = first,
                                 .items = work->source->items,
                                 .itemsize = work->source->itemsize};
}

ps_status
ps_begin_table(const ps_key_numbering *work, ps_key_part *part, uint64_t *word,
               void *first, int64_t places)
{
    ps_free_places(part);
    describe(work, part, word, first);
    return resize(work, part, places);
}

/* For as many keys as there can be: untouched pages cost nothing. */
static ps_status
get_numbers(const ps_key_source *source, ps_numbered *numbered, int64_t room)
{
    const bool has_words = source->kind == PS_KEYS_WORDS;
    numbered->first_nbytes = ps_width_bytes(source->is_wide, room);
    numbered->first = ps_scratch_get(numbered->first_nbytes);
    numbered->word_nbytes = has_words ? 8 * room : 0;
    numbered->word = has_words ? ps_scratch_get(numbered->word_nbytes) : NULL;
    return numbered->first != NULL && (!has_words || numbered->word != NULL)
                   ? PS_SUCCESS
                   : ps_fail(PS_NO_MEMORY);
}

/* The table begins small and grows by its keys, since nobody knows how many there will
 * be. */
ps_status
ps_open_part(const ps_key_numbering *work, ps_key_part *part, int64_t room)
{
    ps_numbered *const numbered = &part->numbered;
    if (room > 0) {
        PS_TRY(get_numbers(work->source, numbered, room));
    }
    if (work->way == PS_KEY_WAY_near) {
        describe(work, part, numbered->word, numbered->first);
        return get_places(work, part, (int64_t)(work->high - work->low) + 1);
    }
    int64_t places = LEAST_SLOTS;
    while (places < 4096 && places < 2 * room) {
        places *= 2;
    }
    return ps_begin_table(work, part, numbered->word, numbered->first, places);
}

/* Whatever it has; what has been handed on is no longer there. */
void
ps_close_part(ps_key_part *part)
{
    ps_free_places(part);
    ps_free_numbered(&part->numbered);
    ps_scratch_put(part->to, part->to_nbytes);
}

/* n keys become numbers, id [n]; the table grows as it has to. A kernel that ends early
 * with room to spare has spent its budget: the keys are hostile. */
ps_status
ps_number_block(const ps_key_numbering *work, ps_key_part *part, const uint64_t *word,
                int64_t n, const int64_t *at, int64_t base, int64_t *id)
{
    const ps_key_kernels *const kernels = ps_kernels()->keys;
    const int is_wide = work->source->is_wide;
    ps_key_table *const table = &part->table;
    int64_t (*const number)(ps_key_table *, const uint64_t *, int64_t, const int64_t *,
                            int64_t, int64_t *) =
            work->way == PS_KEY_WAY_near ? kernels->near[is_wide]
            : table->items != NULL       ? kernels->items[is_wide]
                                         : kernels->words[is_wide];
    table->budget += n * PROBES;
    for (int64_t done = 0;;) {
        done += number(table, word + done, n - done, at != NULL ? at + done : NULL,
                       base + done, id + done);
        if (done == n) {
            return PS_SUCCESS;
        }
        if (table->n < table->full) {
            atomic_store(&work->source->is_hostile, true);
        }
        else {
            PS_TRY(resize(work, part, 2 * (int64_t)(table->mask + 1)));
        }
        if (atomic_load(&work->source->is_hostile)) {
            return PS_SUCCESS;
        }
    }
}
