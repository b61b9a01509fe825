/* One column of keys is numbered (contract in keys.h).
 *
 *   near     words that lie close together are their own places in a table
 *   hash     an open-addressing table of numbers, which compares what they stand for
 *   spread   a table for each bucket of words, where one of all would be too large
 *   second   a table with another hash, where keys collide in the first
 *   sort     all entries are sorted: words that hardly repeat; keys that collide again
 *
 * All ways number keys in the order of appearance, or, sorted, turn that into the order
 * of keys; so do several threads, each of which numbers a stretch of the entries for
 * itself: the keys of the first stretch come first, then those of the next that are
 * new, in their order. Nothing but the keys decides a number.
 *
 * A table is given up, and with it what has been numbered, when its probes have cost
 * more than random keys can make them cost (`budget`); the way after it begins anew. So
 * keys that collide cost a part of one way more, and no key has to be looked at for
 * what it is.
 *
 * Where two stretches are joined, only their keys meet, not their entries; what a
 * stretch's numbers become in the whole is a small table, through which its ids go in
 * the same pass that brings them into the order of keys.
 *
 * Tables grow by factors of two and are at most 11/16 full; numbers are 32 bits wide
 * where entries are so few. In all, a key that occurs once costs up to 24 bytes.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys_table.h"
#include "ops/run.h"
#include "ops/widths.h"

/* Twice is once: pointers go with the memory. */
void
ps_free_numbered(ps_numbered *numbered)
{
    ps_scratch_put(numbered->word, numbered->word_nbytes);
    ps_scratch_put(numbered->first, numbered->first_nbytes);
    *numbered = (ps_numbered){0};
}

/* ---- a stretch ---- */

/* Block by block: a block is read into words, those that take part are kept, and these
 * are numbered. Numbers go where they belong at once, but where entries are left out.
 */
static ps_status
number_entries(ps_key_numbering *work, ps_key_part *part, ps_key_room *room)
{
    ps_key_source *const source = work->source;
    int64_t unheard = 0;
    for (int64_t first = part->first; first < part->last; first += PS_KEY_BLOCK) {
        int64_t n = ps_min(PS_KEY_BLOCK, part->last - first);
        ps_key_words(source, first, n, room->buffer, room->word);
        if (!source->drops) {
            PS_TRY(ps_number_block(work, part, room->word, n, NULL, first,
                                   source->ids + first));
        }
        else {
            n = ps_keep_keys(source, first, n, room->word, room->at);
            PS_TRY(ps_number_block(work, part, room->word, n, room->at, 0, room->id));
        }
        for (int64_t i = 0; source->drops && i < n; i++) {
            source->ids[room->at[i]] = room->id[i];
        }
        if (atomic_load(&source->is_hostile) ||
            ps_run_stops_after(work->run, &unheard, PS_KEY_BLOCK * PS_LINE_BYTES)) {
            return PS_SUCCESS;
        }
    }
    return PS_SUCCESS;
}

/* The first stretch has room for the keys of all: the others are joined to it. A part
 * that fails says so in the run, which stops the others. */
static void
number_part(void *context, int64_t i)
{
    ps_key_numbering *const work = context;
    ps_key_part *const part = &work->part[i];
    const int64_t n = i == 0 ? work->source->call->n : part->last - part->first;
    ps_key_room room;
    ps_status status = ps_open_key_room(&room, n);
    if (status.code == PS_OK) {
        status = ps_open_part(work, part, ps_max(n, 1));
    }
    if (status.code == PS_OK) {
        status = number_entries(work, part, &room);
    }
    part->numbered.n = part->table.n;
    ps_close_key_room(&room);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
}

/* ---- all of them ---- */

/* part->to[number] = the number of the same key in the first stretch, which has those
 * of all stretches before: new ones follow in their order. */
static ps_status
join_part(ps_key_numbering *work, ps_key_part *part, ps_key_room *room)
{
    const bool is_wide = work->source->is_wide;
    const ps_numbered *const own = &part->numbered;
    int64_t unheard = 0;
    ps_free_places(part);
    part->to_nbytes = ps_width_bytes(is_wide, own->n);
    part->to = ps_scratch_get(part->to_nbytes);
    if (part->to == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t first = 0; first < own->n; first += PS_KEY_BLOCK) {
        const int64_t n = ps_min(PS_KEY_BLOCK, own->n - first);
        for (int64_t i = 0; i < n; i++) {
            room->at[i] = ps_at(is_wide, own->first, first + i);
        }
        const uint64_t *const word = own->word != NULL ? own->word + first : room->word;
        PS_TRY(ps_number_block(work, &work->part[0], word, n, room->at, 0, room->id));
        if (atomic_load(&work->source->is_hostile) ||
            ps_run_stops_after(work->run, &unheard, n * 2 * PS_LINE_BYTES)) {
            return PS_SUCCESS;
        }
        for (int64_t i = 0; i < n; i++) {
            ps_put(is_wide, part->to, first + i, room->id[i]);
        }
    }
    return PS_SUCCESS;
}

/* In the order of stretches, which is that of appearance. */
static ps_status
join_parts(ps_key_numbering *work)
{
    ps_key_room room;
    ps_status status = ps_open_key_room(&room, work->source->call->n);
    for (int64_t i = 1; i < work->parts && status.code == PS_OK; i++) {
        if (!atomic_load(&work->source->is_hostile)) {
            status = join_part(work, &work->part[i], &room);
        }
    }
    work->part[0].numbered.n = work->part[0].table.n;
    ps_close_key_room(&room);
    return status.code != PS_OK ? status : ps_run_status(work->run);
}

/* rank[number] = its place in the order of keys, and `first` in that order, which is
 * used up. */
static ps_status
rank_numbers(ps_key_numbering *work, void *order, void *rank)
{
    ps_numbered *const numbered = &work->part[0].numbered;
    const bool is_wide = work->source->is_wide;
    ps_stretch part = ps_stretch_of(work->run, numbered->n, 2 * PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t k = part.first; k < part.last; k++) {
            const int64_t number = ps_at(is_wide, order, k);
            ps_put(is_wide, rank, number, k);
            ps_put(is_wide, order, k, ps_at(is_wide, numbered->first, number));
        }
    }
    PS_TRY(ps_run_status(work->run));
    memcpy(numbered->first, order, (size_t)ps_width_bytes(is_wide, numbered->n));
    return PS_SUCCESS;
}

/* What the numbers of each stretch become, if they change. */
static ps_status
renumber_parts(ps_key_numbering *work, const void *rank)
{
    const ps_key_source *const source = work->source;
    const bool is_wide = source->is_wide;
    for (int64_t i = 0; i < work->parts; i++) {
        ps_key_part *const part = &work->part[i];
        const bool is_twice = part->to != NULL && rank != NULL;
        ps_stretch some = ps_stretch_of(work->run, is_twice ? part->numbered.n : 0,
                                        PS_LINE_BYTES);
        while (ps_next_stretch(&some)) {
            for (int64_t k = some.first; k < some.last; k++) {
                ps_put(is_wide, part->to, k,
                       ps_at(is_wide, rank, ps_at(is_wide, part->to, k)));
            }
        }
        const void *const to = part->to != NULL ? part->to : rank;
        if (to != NULL) {
            PS_TRY(ps_renumber(work->run, source->ids + part->first,
                               part->last - part->first, to, is_wide));
        }
    }
    return PS_SUCCESS;
}

/* Numbers in their final order; for each its first entry. Numbers in the order of
 * appearance stay what they are, but for those of later stretches. */
static ps_status
finish(ps_key_numbering *work)
{
    const bool is_wide = work->source->is_wide;
    const int64_t nbytes = ps_width_bytes(is_wide, work->part[0].numbered.n);
    if (!work->source->call->sorts) {
        ps_free_places(&work->part[0]);
        return renumber_parts(work, NULL);
    }
    void *const order = ps_scratch_get(nbytes), *rank = NULL;
    ps_status status = ps_fail(PS_NO_MEMORY);
    ps_free_places(&work->part[0]);
    if (order != NULL) {
        status = ps_order_numbers(work->source, &work->part[0].numbered, order);
    }
    if (status.code == PS_OK) {
        rank = ps_scratch_get(nbytes);
        status = rank != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
    }
    if (status.code == PS_OK) {
        status = rank_numbers(work, order, rank);
    }
    if (status.code == PS_OK) {
        status = renumber_parts(work, rank);
    }
    ps_scratch_put(order, nbytes);
    ps_scratch_put(rank, nbytes);
    return status;
}

/* Stretches side by side, then joined, then renumbered. */
static ps_status
number_and_join(ps_key_numbering *work, ps_numbered *numbered)
{
    PS_TRY(ps_run_chunks(work->run, work->parts, number_part, work));
    if (!atomic_load(&work->source->is_hostile)) {
        PS_TRY(join_parts(work));
    }
    if (atomic_load(&work->source->is_hostile)) {
        return PS_SUCCESS;
    }
    const ps_status status = finish(work);
    *numbered = work->part[0].numbered;
    work->part[0].numbered = (ps_numbered){0};
    return status;
}

/* Stretches as long as each other; memory for what they need where there are several.
 */
static ps_status
get_parts(ps_key_numbering *work)
{
    const int64_t n = work->source->call->n, parts = work->parts;
    work->part = parts > 1 ? ps_scratch_get(parts * (int64_t)sizeof(ps_key_part))
                           : &work->one;
    if (work->part == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t i = 0; i < parts; i++) {
        work->part[i] = (ps_key_part){.first = n / parts * i,
                                      .last = i + 1 < parts ? n / parts * (i + 1) : n};
    }
    return PS_SUCCESS;
}

/* By a table. Whatever happens, all memory of the stretches goes but what the caller is
 * given. Where source->is_hostile is set in the end there is no result. */
static ps_status
number_by_table(ps_key_numbering *work, ps_numbered *numbered)
{
    const bool is_near = work->way == PS_KEY_WAY_near;
    PS_TRY(get_parts(work));
    const ps_status status =
            is_near && work->source->wants_codes   ? ps_code_near(work, numbered)
            : is_near && work->source->call->sorts ? ps_number_near(work, numbered)
            : work->way == PS_KEY_WAY_spread       ? ps_number_spread(work, numbered)
                                                   : number_and_join(work, numbered);
    for (int64_t i = 0; i < work->parts; i++) {
        ps_close_part(&work->part[i]);
    }
    if (work->part != &work->one) {
        ps_scratch_put(work->part, work->parts * (int64_t)sizeof(ps_key_part));
    }
    return status;
}

/* Numbers are given anew as their first entries come by. Sorted numbers in the order of
 * appearance: that of the first entries of keys. */
static ps_status
number_by_appearance(ps_key_source *source, ps_numbered *numbered)
{
    const bool is_wide = source->is_wide;
    const int64_t nbytes = ps_width_bytes(is_wide, numbered->n);
    int64_t given = 0, unheard = 0;
    void *const to = ps_scratch_get(nbytes);
    if (to == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    memset(to, 0xff, (size_t)nbytes);
    for (int64_t i = 0; i < source->call->n; i++) {
        const int64_t id = source->ids[i];
        if (id >= 0 && ps_at(is_wide, to, id) < 0) {
            ps_put(is_wide, numbered->first, given, i);
            ps_put(is_wide, to, id, given++);
        }
        if (ps_run_stops_after(source->run, &unheard, 16)) {
            break;
        }
    }
    ps_status status = ps_run_status(source->run);
    if (status.code == PS_OK) {
        status = ps_renumber(source->run, source->ids, source->call->n, to, is_wide);
    }
    ps_scratch_put(to, nbytes);
    return status;
}

/* ---- the column ---- */

/* Does the way write ids as int32? A distance has to fit. Codes are joined to others as
 * they are. */
static bool
are_short(const ps_key_numbering *work)
{
    const ps_key_source *const source = work->source;
    return source->call->may_be_short && source->call->sorts && !source->wants_codes &&
           !source->is_wide && work->way == PS_KEY_WAY_near &&
           work->high - work->low < INT32_MAX;
}

/* Each way starts from nothing: ids of one that was given up are written over. Hostile
 * keys go from hash to hash, and to sorting in the end. */
static ps_status
number_by(ps_key_numbering *work, ps_numbered *numbered)
{
    ps_key_source *const source = work->source;
    source->are_short = are_short(work);
    if (work->way != PS_KEY_WAY_sort) {
        PS_TRY(number_by_table(work, numbered));
        if (atomic_load(&work->is_wrong)) {
            atomic_store(&work->is_wrong, false);
            PS_TRY(ps_choose_keys(work, false));
            return number_by(work, numbered);
        }
        if (!atomic_load(&source->is_hostile)) {
            return PS_SUCCESS;
        }
        atomic_store(&source->is_hostile, false);
        work->way =
                work->way == PS_KEY_WAY_second ? PS_KEY_WAY_sort : PS_KEY_WAY_second;
        return number_by(work, numbered);
    }
    PS_TRY(ps_number_by_sorting(source, numbered));
    return source->call->sorts ? PS_SUCCESS : number_by_appearance(source, numbered);
}

/* The words have served when the numbers are there. */
ps_status
ps_number_column(ps_key_source *source, ps_numbered *numbered)
{
    ps_key_numbering work = {.run = source->run, .source = source, .parts = 1};
    atomic_init(&work.is_wrong, false);
    void *pairs = NULL;
    ps_status status = ps_choose_keys(&work, true);
    if (status.code == PS_OK && work.packs) {
        status = ps_pack_text(source, &pairs);
    }
    if (status.code == PS_OK) {
        status = number_by(&work, numbered);
    }
    ps_scratch_put(pairs, 16 * source->call->n);
    ps_scratch_put(numbered->word, numbered->word_nbytes);
    numbered->word = NULL;
    return status;
}
