/* Keys as they are read: a block of a column becomes words, entries that take no part
 * are left out, and the keys of entries are copied out again (contracts in keys.h).
 *
 * A block is read once, into words that nobody else can write to; numbers follow from
 * these alone.
 *
 * Copies are made at the end, for as many entries as there are distinct keys: what was
 * read as a word is taken from the array again, since words do not tell 0.0 from -0.0,
 * nor one NaN from another.
 */
#include <stddef.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/keys.h"
#include "ops/run.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "ops/widths.h"

/* Bits of the bytes [from, size) of text, a multiple of four of them. */
static uint64_t
bits_behind(const char *item, int64_t from, int64_t size)
{
    uint64_t bits = 0;
    for (; from + 8 <= size; from += 8) {
        uint64_t two;
        memcpy(&two, item + from, sizeof(two));
        bits |= two;
    }
    if (from < size) {
        uint32_t one;
        memcpy(&one, item + from, sizeof(one));
        bits |= one;
    }
    return bits;
}

/* Characters of four bytes that fit in one: eight of them are a word, in their order,
 * and behind them are only zeros. What does not fit is told afterwards, since no branch
 * then depends on the text. */
static void
pack_narrow(ps_key_source *source, int64_t first, int64_t n, uint64_t *word)
{
    const int64_t size = source->itemsize, some = ps_min(size / 4, 8);
    const char *const keys = source->call->column->view.data + first * size;
    uint64_t behind = 0;
    uint32_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *const item = keys + i * size;
        uint64_t packed = 0;
        for (int64_t k = 0; k < some; k++) {
            uint32_t character;
            memcpy(&character, item + 4 * k, sizeof(character));
            all |= character;
            packed = packed << 8 | character;
        }
        behind |= bits_behind(item, 4 * some, size);
        word[i] = packed;
    }
    if (all > UINT8_MAX || behind != 0) {
        atomic_store(&source->has_wide, true);
    }
}

/* A constant array repeats one item for a whole block; items that are compared by their
 * bytes have no words, and are read where they lie. */
void
ps_key_words(ps_key_source *source, int64_t first, int64_t n, char *buffer,
             uint64_t *word)
{
    const ps_key_kernels *const kernels = ps_kernels()->keys;
    if (source->kind != PS_KEYS_WORDS) {
        return;
    }
    if (source->is_narrow) {
        pack_narrow(source, first, n, word);
        return;
    }
    if (source->dtype == PS_raw) {
        const ps_key_column *const column = source->call->column;
        const int unit = column->kind == PS_KEYS_UNITS ? 4 : 1;
        kernels->pack(word, column->view.data + first * source->itemsize, n,
                      source->itemsize, unit);
        return;
    }
    int64_t step;
    const char *const keys =
            ps_operand_block(&source->operand, first, n, buffer, &step);
    kernels->canon[source->dtype](word, keys, step == 0 ? 1 : n);
    for (int64_t i = 1; step == 0 && i < n; i++) {
        word[i] = word[0];
    }
}

/* Pairs have theirs in front, and it suffices: all missing pairs are one. The word by
 * which it can be told that the key of an entry is missing. */
static uint64_t
telling_word(const ps_key_source *source, const uint64_t *word, int64_t first,
             int64_t i)
{
    uint64_t pair;
    if (source->kind == PS_KEYS_WORDS) {
        return word[i];
    }
    memcpy(&pair, source->items + (first + i) * source->itemsize, sizeof(pair));
    return pair;
}

/* The least entry with a missing key is kept in mind, whichever thread meets it, for
 * the message. Words and entries move together to the front, without a branch on where
 * to: nothing moves past what is still to be read. */
int64_t
ps_keep_keys(ps_key_source *source, int64_t first, int64_t n, uint64_t *word,
             int64_t *at)
{
    const ps_keys_call *const call = source->call;
    const bool looks = source->has_missing && call->missing != PS_MISSING_GROUP;
    const bool has_words = source->kind == PS_KEYS_WORDS;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t entry = first + i;
        bool stays = call->mask == NULL || call->mask[entry] != 0;
        if (stays && looks && telling_word(source, word, first, i) == source->missing) {
            int64_t bad = atomic_load(&source->bad);
            while (entry < bad &&
                   !atomic_compare_exchange_weak(&source->bad, &bad, entry)) {
            }
            stays = false;
        }
        if (!stays) {
            ps_put(!source->are_short, source->ids, entry, -1);
            continue;
        }
        at[kept] = entry;
        if (has_words) {
            word[kept] = word[i];
        }
        kept++;
    }
    return kept;
}

/* ---- the other way ---- */

/* Elements that lie one stride apart, of 1, 2, 4 or 8 native bytes, or of any number.
 */
static void
take_items(const ps_take_call *call, const char *data, int64_t stride, int64_t from,
           int64_t to)
{
    const int64_t size = call->view->itemsize;
    for (int64_t i = from; i < to; i++) {
        const char *const item = data + ps_at(call->is_wide, call->first, i) * stride;
        if (size == 8) {
            memcpy(call->out + i * 8, item, 8);
        }
        else {
            memcpy(call->out + i * size, item, (size_t)size);
        }
    }
}

/* Any layout and byte order, one by one: an offset takes a division for each axis, 10
 * ns, but there are only as many as distinct keys. */
static void
take_each(const ps_take_call *call, int ndim, const int64_t *shape,
          const int64_t *strides, int64_t from, int64_t to)
{
    const ps_view *const view = call->view;
    for (int64_t i = from; i < to; i++) {
        const int64_t entry = ps_at(call->is_wide, call->first, i);
        const char *const item = view->data + ps_offset_of(ndim, shape, strides, entry);
        char *const out = call->out + i * view->itemsize;
        if (view->dtype == PS_raw) {
            memcpy(out, item, (size_t)view->itemsize);
        }
        else {
            ps_convert(view->dtype, out, view->dtype, view->itemsize, view->swapped,
                       item, 0, 1);
        }
    }
}

/* Entries were checked when they were made: each is below the number of elements. The
 * reads are scattered, so signals are heard by lines. */
ps_status
ps_take_keys(void *argument, ps_run *run)
{
    const ps_take_call *const call = argument;
    const ps_view *const view = call->view;
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS];
    const int ndim = ps_merge_view(view, shape, strides);
    const bool is_plain = ndim <= 1 && (view->dtype == PS_raw ||
                                        (!view->swapped && view->dtype != PS_b1));
    ps_stretch part = ps_stretch_of(run, call->n, PS_LINE_BYTES + view->itemsize);
    while (ps_next_stretch(&part)) {
        if (is_plain) {
            take_items(call, view->data, ps_inner_stride(ndim, strides), part.first,
                       part.last);
        }
        else {
            take_each(call, ndim, shape, strides, part.first, part.last);
        }
    }
    return ps_run_status(run);
}

/* ---- numbers ---- */

/* Counts are fresh and nobody sees them: a plain histogram. Neighbouring entries with
 * one key wait for each other, which takes less than a line from memory. */
ps_status
ps_count_keys(void *argument, ps_run *run)
{
    const ps_count_keys_call *const call = argument;
    ps_stretch part = ps_stretch_of(run, call->n, 16);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (call->ids[i] >= 0) {
                call->counts[call->ids[i]]++;
            }
        }
    }
    return ps_run_status(run);
}

/* A stretch of entries on each thread. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    int64_t *ids;
    int64_t n, parts;
    const void *to;
    bool is_wide;
} renumbering;

/* ids[i] = to[ids[i]]; those without a key keep -1. The table is as large as there are
 * keys, and read at random. */
PS_WIDTH_INLINE void
renumber(const bool is_wide, int64_t *ids, int64_t n, const void *to)
{
    for (int64_t i = 0; i < n; i++) {
        ids[i] = ids[i] < 0 ? -1 : ps_at(is_wide, to, ids[i]);
    }
}

/* Stretches of entries in order: no two threads write to one place, and a signal is
 * heard within milliseconds. */
static void
renumber_part(void *context, int64_t part)
{
    const renumbering *const work = context;
    const int64_t from = work->n / work->parts * part;
    const int64_t to =
            part + 1 < work->parts ? work->n / work->parts * (part + 1) : work->n;
    ps_stretch stretch = ps_stretch_of(work->run, to - from, 16);
    while (ps_next_stretch(&stretch)) {
        int64_t *const ids = work->ids + from + stretch.first;
        const int64_t n = stretch.last - stretch.first;
        work->is_wide ? renumber(true, ids, n, work->to)
                      : renumber(false, ids, n, work->to);
    }
}

/* In place: each id is read once, and replaced. */
ps_status
ps_renumber(ps_run *run, int64_t *ids, int64_t n, const void *to, bool is_wide)
{
    enum {
        /* Numbers that are worth a thread of their own: 40 us. */
        PART = 1 << 16
    };
    const int64_t parts = ps_max(1, ps_min(run->threads, n / PART));
    renumbering work = {run, ids, n, parts, to, is_wide};
    return ps_run_chunks(run, parts, renumber_part, &work);
}
