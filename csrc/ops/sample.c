/* A look at an index (contract in sample.h): stretches of neighbours spread over it.
 *
 * Nothing here says that an index is good: what is seen decides how a call runs, never
 * what it does. So the commonest index is read as it lies, 256 numbers at 0.1 us; all
 * others become lists, which takes 0.8 us and is worth it from calls of 10 us.
 */
#include "ops/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "ops/address.h"

enum {
    STRETCH = PS_SAMPLE_FROM,
    N_STRETCHES = PS_SAMPLE / STRETCH,
    /* Bytes between neighbours that count as near: of four kilobytes the prefetcher of
     * streams keeps one page. */
    NEAR_BYTES = 4096
};

/* The entry that stretch k begins with: the first of all, the last one's so that it
 * ends with the index. */
static int64_t
stretch_first(const ps_address *address, int64_t k)
{
    return (address->n - STRETCH) / (N_STRETCHES - 1) * k;
}

/* Note the offset of entry i of a stretch, and how it lies to the one before. */
static void
note(ps_sample *seen, int64_t i, int64_t offset)
{
    if (i > 0) {
        const int64_t apart = offset - seen->offset[seen->n - 1];
        seen->repeats += apart == 0;
        seen->near += apart < NEAR_BYTES && apart > -NEAR_BYTES;
    }
    seen->offset[seen->n++] = offset;
}

/* The numbers of a plain index, which may be out of bounds: those make the sample a bad
 * one. */
static bool
look_at_numbers(const ps_address *address, ps_sample *seen)
{
    const ps_index *const index = &address->index[0];
    const int64_t itemsize = ps_index_itemsize(index->type);
    for (int64_t k = 0; k < N_STRETCHES; k++) {
        const char *const from = index->data + stretch_first(address, k) * itemsize;
        for (int64_t i = 0; i < STRETCH; i++) {
            int64_t row;
            if (index->type == PS_INDEX_i64) {
                memcpy(&row, from + i * itemsize, sizeof(row));
            }
            else {
                int32_t narrow;
                memcpy(&narrow, from + i * itemsize, sizeof(narrow));
                row = narrow;
            }
            row += row < 0 ? index->size : 0;
            if (row < 0 || row >= index->size) {
                return false;
            }
            note(seen, i, row * index->step);
        }
    }
    return true;
}

/* Those of any address. Lists name what takes part alone: under a mask a stretch may be
 * short, or empty. */
static bool
look_at_lists(const ps_address *address, ps_sample *seen)
{
    ps_list_room room;
    if (!ps_list_room_open(&room, STRETCH)) {
        return false;
    }
    bool is_good = true;
    for (int64_t k = 0; k < N_STRETCHES && is_good; k++) {
        ps_list list;
        is_good = ps_address_list(address, stretch_first(address, k), STRETCH, &room,
                                  &list)
                          .code == PS_OK;
        for (int64_t i = 0; is_good && i < list.n; i++) {
            note(seen, i, list.offset[i]);
        }
    }
    ps_list_room_close(&room);
    return is_good;
}

/* Repeats and nearness are counted within stretches. */
bool
ps_look(const ps_address *address, ps_sample *seen)
{
    seen->n = seen->repeats = seen->near = 0;
    const bool is_plain = address->n_index == 1 &&
                          ps_address_is_plain(address, address->index[0].step);
    const bool is_good =
            is_plain ? look_at_numbers(address, seen) : look_at_lists(address, seen);
    return is_good && seen->n > 0;
}

static int
compare_offsets(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Sorting comes last: repeats and nearness are those of the index. */
void
ps_summarise(ps_sample *seen)
{
    qsort(seen->offset, (size_t)seen->n, sizeof(int64_t), compare_offsets);
    int64_t run = 1;
    seen->hottest = 1;
    for (int64_t i = 1; i < seen->n; i++) {
        run = seen->offset[i] == seen->offset[i - 1] ? run + 1 : 1;
        seen->hottest = ps_max(seen->hottest, run);
    }
}
