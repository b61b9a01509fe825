/* Text of nine to sixteen characters, of which none is above 255, as pairs of words
 * (contract in keys_table.h).
 *
 * An item of such text is up to 64 bytes, of which three quarters are zeros, and lies
 * anywhere: its hash is a chain of eight products, and each look-up waits for a line or
 * two from memory. Two words are a quarter of that, in the order of the text, the first
 * character highest. Making them is one pass in order.
 *
 * They are memory of their own, so it is asked first whether keys repeat: where all
 * differ, numbers and places take as much again.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/keys_table.h"
#include "ops/run.h"

enum {
    IN_WORD = 8,
    /* Entries that are worth a thread of their own: 0.3 ms. */
    PART = 1 << 15
};

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_key_source *source;
    uint64_t *pair;
    int64_t parts;
    _Atomic bool has_wide; /* a character above 255: there is no result */
} packing;

/* n characters from `text` on, 1 <= n <= IN_WORD, in front of zeros. */
static uint64_t
pack(const char *text, int64_t n, uint32_t *all)
{
    uint64_t packed = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t character;
        memcpy(&character, text + 4 * i, sizeof(character));
        *all |= character;
        packed = packed << 8 | character;
    }
    return packed << 8 * (IN_WORD - n);
}

/* A stretch for each thread; whether its characters fit is asked afterwards, so that no
 * branch depends on the text. */
static void
pack_part(void *context, int64_t part)
{
    packing *const work = context;
    const ps_key_source *const source = work->source;
    const int64_t size = source->itemsize, rest = size / 4 - IN_WORD;
    const int64_t n = source->call->n, share = n / work->parts, from = share * part;
    const int64_t to = part + 1 < work->parts ? from + share : n;
    ps_stretch some = ps_stretch_of(work->run, to - from, size + 16);
    while (!atomic_load(&work->has_wide) && ps_next_stretch(&some)) {
        uint32_t all = 0;
        for (int64_t i = from + some.first; i < from + some.last; i++) {
            const char *const item = source->items + i * size;
            work->pair[2 * i] = pack(item, IN_WORD, &all);
            work->pair[2 * i + 1] = pack(item + 4 * IN_WORD, rest, &all);
        }
        if (all > UINT8_MAX) {
            atomic_store(&work->has_wide, true);
        }
    }
}

bool
ps_may_pack_text(const ps_key_source *source)
{
    return source->kind == PS_KEYS_UNITS && source->itemsize > 4 * IN_WORD &&
           source->itemsize <= 2 * 4 * IN_WORD;
}

ps_status
ps_pack_text(ps_key_source *source, void **pairs)
{
    const int64_t n = source->call->n, nbytes = 16 * n;
    packing work = {.run = source->run,
                    .source = source,
                    .pair = ps_scratch_get(nbytes),
                    .parts = ps_max(1, ps_min(source->run->threads, n / PART))};
    atomic_init(&work.has_wide, false);
    if (work.pair == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const ps_status status = ps_run_chunks(work.run, work.parts, pack_part, &work);
    if (status.code != PS_OK || atomic_load(&work.has_wide)) {
        ps_scratch_put(work.pair, nbytes);
        return status;
    }
    *pairs = work.pair;
    source->kind = PS_KEYS_PAIRS;
    source->items = (const char *)work.pair;
    source->itemsize = 16;
    return status;
}
