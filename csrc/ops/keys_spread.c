/* Many words: spread over buckets by a hash, and numbered bucket by bucket (contract in
 * keys_table.h).
 *
 * A table of all keys is larger than the near caches when keys are many, and each
 * look-up then waits twice for memory. Equal words fall into one bucket, and a table
 * for the keys of one bucket is small. Every pass over entries but that by buckets
 * reads and writes in order, at one place or at one for each bucket:
 *
 *   read     words of entries, and the bucket of each
 *   spread   words move to their buckets, in the order of entries
 *   number   words in a bucket become numbers there, in place
 *   give     in the order of entries, numbers by appearance; or, in the order of keys,
 * these are sorted fetch    numbers in a bucket become those of the result, and entries
 * in their order fetch them: the next one of their bucket
 *
 * A number that is as large as there are keys before it in its bucket is new, which is
 * how the first entry of each key is met, whatever the number of stretches that threads
 * work on: how many keys of a bucket a stretch finds there has been noted.
 *
 * Entries that take no part are a bucket of their own, where all fetch -1.
 *
 * Words are read once, into memory that nobody else can write to, and so are buckets:
 * whatever another thread does to the keys, a bucket receives what was counted for it.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys_table.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    /* As many streams as can be written to at a time; their number is a byte. */
    MOST_BUCKETS = 128,
    FEWEST_BUCKETS = 16,
    /* Keys of a bucket: words, numbers and places take 200 KB, in the second cache. */
    BUCKET_KEYS = 1 << 13,
    /* Entries that are numbered between two looks at a pending signal. */
    STRETCH = 1 << 15,
    /* Tasks for each thread, since buckets may differ. */
    TASKS = 4,
    FEWEST_PLACES = 256,
    /* Numbers of a bucket that are asked for ahead of time: more streams than the
     * hardware follows. */
    AHEAD = 16
};

/* What is added to the number of a new key. */
static const int64_t NEW = INT64_C(1) << 62;

/* A place for each bucket, for what takes no part, and for the end. */
typedef struct {
    int64_t at[MOST_BUCKETS + 2];
} per_bucket;

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_key_numbering *numbering;
    ps_numbered *numbered;
    int64_t n, n_buckets, n_stretches, n_tasks;
    int shift;
    uint8_t *code;     /* [n]: the bucket of an entry */
    uint64_t *stream;  /* [n]: words, then numbers, in buckets */
    per_bucket *from;  /* of each stretch: where its entries of a bucket begin */
    per_bucket *known; /* and how many keys the bucket has before them */
    per_bucket start;  /* where buckets begin in the stream */
    per_bucket n_keys; /* of each bucket */
    per_bucket base;   /* the number of its first key among those of all buckets */
    void *to;          /* what the number of a key is in the result */
    int64_t to_nbytes, room;
    bool marks; /* new keys are marked in the stream */
} spreading;

/* ---- reading ---- */

/* Another hash than that of tables: the words of a bucket are to differ in theirs. */
static int64_t
bucket_of(const spreading *work, uint64_t word)
{
    return (int64_t)((word ^ word >> 32) * UINT64_C(0x9fb21c651e98df25) >> work->shift);
}

/* Words wait where their numbers will stand. */
static void
read_words(spreading *work, const uint64_t *word, const int64_t *at, int64_t base,
           int64_t n, int64_t *count)
{
    int64_t *const ids = work->numbering->source->ids;
    for (int64_t i = 0; i < n; i++) {
        const int64_t entry = at != NULL ? at[i] : base + i;
        const int64_t bucket = bucket_of(work, word[i]);
        work->code[entry] = (uint8_t)bucket;
        ids[entry] = (int64_t)word[i];
        count[bucket]++;
    }
}

/* Entries that are left out have been given the code of their bucket before those that
 * take part are given theirs. */
static void
read_stretch(void *context, int64_t i)
{
    spreading *const work = context;
    ps_key_source *const source = work->numbering->source;
    const ps_key_part *const part = &work->numbering->part[i];
    int64_t *const count = work->from[i].at, unheard = 0;
    ps_key_room room;
    memset(count, 0, sizeof(per_bucket));
    const ps_status status = ps_open_key_room(&room, part->last - part->first);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
        return;
    }
    for (int64_t first = part->first; first < part->last; first += PS_KEY_BLOCK) {
        const int64_t n = ps_min(PS_KEY_BLOCK, part->last - first);
        ps_key_words(source, first, n, room.buffer, room.word);
        if (!source->drops) {
            read_words(work, room.word, NULL, first, n, count);
        }
        else {
            memset(work->code + first, (int)work->n_buckets, (size_t)n);
            const int64_t kept = ps_keep_keys(source, first, n, room.word, room.at);
            count[work->n_buckets] += n - kept;
            read_words(work, room.word, room.at, 0, kept, count);
        }
        if (ps_run_stops_after(work->run, &unheard, n * 32)) {
            break;
        }
    }
    ps_close_key_room(&room);
}

/* ---- spreading ---- */

/* Counts become places: bucket by bucket, in each the stretches in their order. */
static void
lay_out(spreading *work)
{
    int64_t at = 0;
    for (int64_t b = 0; b <= work->n_buckets; b++) {
        work->start.at[b] = at;
        for (int64_t s = 0; s < work->n_stretches; s++) {
            const int64_t count = work->from[s].at[b];
            work->from[s].at[b] = at;
            at += count;
        }
    }
    work->start.at[work->n_buckets + 1] = at;
}

/* Each stretch knows where its words of a bucket go: no two threads write to one place,
 * and words of a bucket keep the order of their entries. */
static void
spread_stretch(void *context, int64_t i)
{
    spreading *const work = context;
    const ps_key_part *const part = &work->numbering->part[i];
    const int64_t *const ids = work->numbering->source->ids + part->first;
    const uint8_t *const code = work->code + part->first;
    uint64_t *const stream = work->stream;
    per_bucket next = work->from[i];
    ps_stretch some = ps_stretch_of(work->run, part->last - part->first, PS_LINE_BYTES);
    while (ps_next_stretch(&some)) {
        for (int64_t k = some.first; k < some.last; k++) {
            stream[next.at[code[k]]++] = (uint64_t)ids[k];
        }
    }
}

/* ---- numbering ---- */

/* What a stretch has put into a bucket ends where the next one's begins. */
static int64_t
end_of(const spreading *work, int64_t stretch, int64_t bucket)
{
    return stretch + 1 < work->n_stretches ? work->from[stretch + 1].at[bucket]
                                           : work->start.at[bucket + 1];
}

/* The words of a bucket become numbers. */
static ps_status
number_bucket(spreading *work, ps_key_part *part, int64_t bucket)
{
    for (int64_t s = 0; s < work->n_stretches; s++) {
        const int64_t end = end_of(work, s, bucket);
        work->known[s].at[bucket] = part->table.n;
        for (int64_t at = work->from[s].at[bucket]; at < end; at += STRETCH) {
            uint64_t *const word = work->stream + at;
            PS_TRY(ps_number_block(work->numbering, part, word,
                                   ps_min(STRETCH, end - at), NULL, at,
                                   (int64_t *)(void *)word));
            if (atomic_load(&work->numbering->source->is_hostile) ||
                ps_run_stops(work->run)) {
                return PS_SUCCESS;
            }
        }
    }
    return PS_SUCCESS;
}

static int64_t
first_bucket(const spreading *work, int64_t task)
{
    return work->n_buckets * task / work->n_tasks;
}

/* Some buckets, one after the other, each with an empty table that is as large as that
 * of the one before. Their keys are noted side by side, from where the first of them
 * begins in the stream: there are no more keys than entries. */
static void
number_buckets(void *context, int64_t task)
{
    spreading *const work = context;
    const bool is_wide = work->numbering->source->is_wide;
    const int64_t last = first_bucket(work, task + 1);
    int64_t room = work->start.at[first_bucket(work, task)], places = FEWEST_PLACES;
    ps_status status = PS_SUCCESS;
    ps_key_part part = {0};
    for (int64_t b = first_bucket(work, task); b < last && status.code == PS_OK; b++) {
        char *const first =
                (char *)work->numbered->first + ps_width_bytes(is_wide, room);
        status = ps_begin_table(work->numbering, &part, work->numbered->word + room,
                                first, places);
        if (status.code == PS_OK) {
            status = number_bucket(work, &part, b);
            work->n_keys.at[b] = part.table.n;
            room += part.table.n;
            places = (int64_t)part.table.mask + 1;
        }
        if (atomic_load(&work->numbering->source->is_hostile)) {
            break;
        }
    }
    ps_close_part(&part);
    if (status.code != PS_OK) {
        ps_run_fail(work->run, status.code);
    }
}

/* Keys of all buckets side by side, and how many there are. */
static ps_status
gather_keys(spreading *work)
{
    uint64_t *const word = work->numbered->word;
    int64_t given = 0;
    for (int64_t task = 0; task < work->n_tasks; task++) {
        const int64_t from = work->start.at[first_bucket(work, task)], before = given;
        for (int64_t b = first_bucket(work, task); b < first_bucket(work, task + 1);
             b++) {
            work->base.at[b] = given;
            given += work->n_keys.at[b];
        }
        ps_stretch part = ps_stretch_of(work->run, given - before, 16);
        while (from != before && ps_next_stretch(&part)) {
            memmove(word + before + part.first, word + from + part.first,
                    (size_t)(8 * (part.last - part.first)));
        }
    }
    work->base.at[work->n_buckets] = given;
    work->numbered->n = given;
    return ps_run_status(work->run);
}

/* ---- the result ---- */

/* to[number] = the place of its key in the order of keys. */
static ps_status
rank_keys(spreading *work)
{
    const bool is_wide = work->numbering->source->is_wide;
    const int64_t nbytes = ps_width_bytes(is_wide, work->numbered->n);
    void *const order = ps_scratch_get(nbytes);
    if (order == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = ps_order_numbers(work->numbering->source, work->numbered, order);
    ps_stretch part = ps_stretch_of(work->run, work->numbered->n, PS_LINE_BYTES);
    while (status.code == PS_OK && ps_next_stretch(&part)) {
        for (int64_t k = part.first; k < part.last; k++) {
            ps_put(is_wide, work->to, ps_at(is_wide, order, k), k);
        }
    }
    ps_scratch_put(order, nbytes);
    return status.code != PS_OK ? status : ps_run_status(work->run);
}

/* Numbers of a bucket, in the stream, become those of the result; where a key is new
 * there, and that is to be told, with a mark. The part of `to` that a bucket needs is
 * small. */
PS_WIDTH_INLINE void
translate(const bool is_wide, const spreading *work, int64_t bucket, int64_t *seen,
          const ps_stretch *some)
{
    const int64_t base = work->base.at[bucket], start = work->start.at[bucket];
    const int64_t mark = work->marks ? NEW : 0;
    for (int64_t at = start + some->first; at < start + some->last; at++) {
        const int64_t number = (int64_t)work->stream[at];
        const bool is_new = number == *seen;
        *seen += is_new;
        work->stream[at] = (uint64_t)(ps_at(is_wide, work->to, base + number) +
                                      (is_new ? mark : 0));
    }
}

/* Threads share buckets as when these were numbered. */
static void
translate_buckets(void *context, int64_t task)
{
    spreading *const work = context;
    const bool is_wide = work->numbering->source->is_wide;
    for (int64_t b = first_bucket(work, task); b < first_bucket(work, task + 1); b++) {
        int64_t seen = 0;
        ps_stretch some = ps_stretch_of(
                work->run, work->start.at[b + 1] - work->start.at[b], PS_LINE_BYTES);
        while (ps_next_stretch(&some)) {
            is_wide ? translate(true, work, b, &seen, &some)
                    : translate(false, work, b, &seen, &some);
        }
    }
}

/* Entries [first, last) of a stretch fetch what the stream has for them; the entry of a
 * marked number is the first of its key. */
static void
fetch_stretch(void *context, int64_t i)
{
    spreading *const work = context;
    const bool is_wide = work->numbering->source->is_wide;
    const ps_key_part *const part = &work->numbering->part[i];
    int64_t *const ids = work->numbering->source->ids;
    per_bucket next = work->from[i];
    ps_stretch some = ps_stretch_of(work->run, part->last - part->first, PS_LINE_BYTES);
    while (ps_next_stretch(&some)) {
        for (int64_t e = part->first + some.first; e < part->first + some.last; e++) {
            const uint64_t *const at = work->stream + next.at[work->code[e]]++;
            int64_t number = (int64_t)*at;
            __builtin_prefetch(at + AHEAD);
            if (number >= NEW) {
                number -= NEW;
                ps_put(is_wide, work->numbered->first, number, e);
            }
            ids[e] = number;
        }
    }
}

/* The same while numbers are given by appearance: those of a stretch begin with as many
 * as the stretches before have found. Entries receive them at once where there is one
 * stretch. */
PS_WIDTH_INLINE void
give(const bool is_wide, const spreading *work, int64_t first, int64_t last,
     per_bucket *next, per_bucket *seen, int64_t *given)
{
    int64_t *const ids = work->numbering->source->ids;
    const bool writes = work->n_stretches == 1;
    for (int64_t i = first; i < last; i++) {
        const int bucket = work->code[i];
        const uint64_t *const at = work->stream + next->at[bucket]++;
        const int64_t number = (int64_t)*at, k = work->base.at[bucket] + number;
        __builtin_prefetch(at + AHEAD);
        if (number == seen->at[bucket]) {
            seen->at[bucket]++;
            ps_put(is_wide, work->numbered->first, *given, i);
            ps_put(is_wide, work->to, k, (*given)++);
        }
        if (writes) {
            ids[i] = ps_at(is_wide, work->to, k);
        }
    }
}

static void
give_stretch(void *context, int64_t i)
{
    spreading *const work = context;
    const bool is_wide = work->numbering->source->is_wide;
    const ps_key_part *const part = &work->numbering->part[i];
    per_bucket next = work->from[i], seen = work->known[i];
    int64_t given = 0;
    for (int64_t b = 0; b < work->n_buckets; b++) {
        given += seen.at[b];
    }
    seen.at[work->n_buckets] = -1;
    ps_stretch some = ps_stretch_of(work->run, part->last - part->first, PS_LINE_BYTES);
    while (ps_next_stretch(&some)) {
        const int64_t first = part->first + some.first, last = part->first + some.last;
        is_wide ? give(true, work, first, last, &next, &seen, &given)
                : give(false, work, first, last, &next, &seen, &given);
    }
}

/* Numbers by appearance. Entries that take no part are given number 0 of their bucket,
 * which stands for -1. */
static ps_status
give_numbers(spreading *work)
{
    const bool is_wide = work->numbering->source->is_wide;
    const int64_t dropped = work->start.at[work->n_buckets];
    ps_put(is_wide, work->to, work->numbered->n, -1);
    PS_TRY(ps_run_fill(work->run, work->stream + dropped, 0, 8 * (work->n - dropped)));
    return ps_run_chunks(work->run, work->n_stretches, give_stretch, work);
}

/* Numbers in the order of keys are translated and fetched; so are those by appearance
 * that several stretches have given. */
static ps_status
finish(spreading *work)
{
    const ps_key_source *const source = work->numbering->source;
    const int64_t dropped = work->start.at[work->n_buckets];
    work->to_nbytes = ps_width_bytes(source->is_wide, work->numbered->n + 1);
    work->to = ps_scratch_get(work->to_nbytes);
    if (work->to == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    work->marks = source->call->sorts;
    if (source->call->sorts) {
        PS_TRY(rank_keys(work));
    }
    else {
        PS_TRY(give_numbers(work));
        if (work->n_stretches == 1) {
            return PS_SUCCESS;
        }
    }
    PS_TRY(ps_run_fill(work->run, work->stream + dropped, 0xff,
                       8 * (work->n - dropped)));
    PS_TRY(ps_run_chunks(work->run, work->n_tasks, translate_buckets, work));
    return ps_run_chunks(work->run, work->n_stretches, fetch_stretch, work);
}

/* ---- all of it ---- */

static ps_status
run_passes(spreading *work)
{
    const ps_key_source *const source = work->numbering->source;
    PS_TRY(ps_run_chunks(work->run, work->n_stretches, read_stretch, work));
    lay_out(work);
    PS_TRY(ps_run_chunks(work->run, work->n_stretches, spread_stretch, work));
    PS_TRY(ps_run_chunks(work->run, work->n_tasks, number_buckets, work));
    if (atomic_load(&source->is_hostile)) {
        return PS_SUCCESS;
    }
    PS_TRY(gather_keys(work));
    return finish(work);
}

/* The stream, whose pages are all written to, and room for as many keys as entries, of
 * which pages without a key cost nothing. */
static ps_status
get_memory(spreading *work)
{
    ps_numbered *const numbered = work->numbered;
    const int64_t n = work->n;
    work->room = work->n_stretches * (int64_t)sizeof(per_bucket);
    work->code = ps_scratch_get(n);
    work->stream = ps_scratch_get(8 * n);
    work->from = ps_scratch_get(work->room);
    work->known = ps_scratch_get(work->room);
    numbered->word_nbytes = 8 * n;
    numbered->word = ps_scratch_get(numbered->word_nbytes);
    numbered->first_nbytes = ps_width_bytes(work->numbering->source->is_wide, n);
    numbered->first = ps_scratch_get(numbered->first_nbytes);
    return work->code != NULL && work->stream != NULL && work->from != NULL &&
                           work->known != NULL && numbered->word != NULL &&
                           numbered->first != NULL
                   ? PS_SUCCESS
                   : ps_fail(PS_NO_MEMORY);
}

/* As many buckets as keep their tables small, and no more. */
ps_status
ps_number_spread(ps_key_numbering *numbering, ps_numbered *numbered)
{
    spreading work = {.run = numbering->run,
                      .numbering = numbering,
                      .numbered = numbered,
                      .n = numbering->source->call->n,
                      .n_buckets = FEWEST_BUCKETS,
                      .n_stretches = numbering->parts};
    while (work.n_buckets < MOST_BUCKETS &&
           work.n_buckets * BUCKET_KEYS < numbering->seems) {
        work.n_buckets *= 2;
    }
    work.shift = 64 - __builtin_ctzll((uint64_t)work.n_buckets);
    work.n_tasks = work.n_stretches == 1
                           ? 1
                           : ps_min(work.n_buckets, TASKS * work.n_stretches);
    ps_status status = get_memory(&work);
    if (status.code == PS_OK) {
        status = run_passes(&work);
    }
    ps_scratch_put(work.code, work.n);
    ps_scratch_put(work.stream, 8 * work.n);
    ps_scratch_put(work.from, work.room);
    ps_scratch_put(work.known, work.room);
    ps_scratch_put(work.to, work.to_nbytes);
    if (atomic_load(&numbering->source->is_hostile)) {
        ps_free_numbered(numbered);
    }
    return status;
}
