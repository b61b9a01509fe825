/* The numbers of a delta's units, in six encodings: chosen, written, read, checked
 * (contract in delta.h).
 *
 *   index32, index64  a number each
 *   gap16             distances, less one; 65,535 adds so much and names no unit
 *   runs              (first, behind the last) of each stretch, as 32 or 64 bits
 *   bitmap            a bit for each unit of the array
 *   dense             nothing: every unit is stored
 *
 * What an encoding takes is known from a tally of the numbers: how many there are, in
 * how many runs, and how many gaps of more than 16 bits lie between them. Nothing is
 * written to find it out.
 *
 * Writers and readers work on blocks of numbers that stay in the first cache. Between
 * blocks they remember the last number, from which gaps and runs go on; a reader that
 * has come to the end of a head says so by a block of none.
 *
 * Each way of writing is the only one for its numbers, so that equal deltas of one
 * encoding have equal bytes, and a head that has been checked cannot lead outside the
 * array: numbers ascend strictly and stay below the number of units.
 */
#include <string.h>

#include "base/sizes.h"
#include "ops/delta.h"
#include "ops/run.h"

/* Do numbers of units, the one behind the last included, fit in 32 bits? The limit
 * behind a run may be the number of units. */
static bool
is_narrow(const ps_delta *delta)
{
    return ps_delta_units(delta) <= UINT32_MAX;
}

/* Of a bitmap. Units may be as many as 64 bits can count: no sum may come first. */
static int64_t
words_of(const ps_delta *delta)
{
    const int64_t units = ps_delta_units(delta);
    return units / 64 + (units % 64 != 0);
}

/* Of an item of the head; of runs two limits. */
static int64_t
item_nbytes(const ps_delta *delta)
{
    switch (delta->encoding) {
        case PS_DELTA_index32:
            return 4;
        case PS_DELTA_gap16:
            return 2;
        case PS_DELTA_runs:
            return is_narrow(delta) ? 8 : 16;
        default:
            return 8;
    }
}

/* Items may be any number that somebody has written. */
int64_t
ps_delta_head_nbytes(const ps_delta *delta)
{
    int64_t nbytes;
    return ps_multiply(delta->items, item_nbytes(delta), &nbytes) ? nbytes : -1;
}

/* ---- choosing ---- */

/* Escapes are counted as delta_gaps writes them, runs as write_runs does. */
void
ps_delta_count(ps_delta_tally *tally, const int64_t *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t gap = at[i] - tally->last - 1;
        tally->runs += gap != 0 || tally->count == 0;
        tally->escapes += gap / UINT16_MAX;
        tally->count++;
        tally->last = at[i];
    }
}

/* Of the head, by the tally: each encoding has its own unit of length. */
static int64_t
items_of(const ps_delta *delta, const ps_delta_tally *tally)
{
    switch (delta->encoding) {
        case PS_DELTA_gap16:
            return tally->count + tally->escapes;
        case PS_DELTA_runs:
            return tally->runs;
        case PS_DELTA_bitmap:
            return words_of(delta);
        case PS_DELTA_dense:
            return 0;
        default:
            return tally->count;
    }
}

/* Everything in `encoding`; false: it cannot be said so. Sizes fit, since both arrays
 * do. Values are counted in elements, of which a shorter last unit has fewer. */
static bool
try_encoding(ps_delta *delta, const ps_delta_tally *tally,
             enum ps_delta_encoding encoding, bool may_be_dense)
{
    const int64_t units = ps_delta_units(delta);
    delta->encoding = encoding;
    delta->count = encoding == PS_DELTA_dense ? units : tally->count;
    delta->items = items_of(delta, tally);
    delta->head_nbytes = ps_delta_head_nbytes(delta);
    /* The last block of an array may be shorter, and so may its values. */
    const bool has_last = delta->count > 0 &&
                          (encoding == PS_DELTA_dense || tally->last == units - 1);
    const int64_t missing = has_last ? units * delta->width - delta->n : 0;
    delta->values_nbytes = (delta->count * delta->width - missing) * delta->itemsize;
    return (encoding != PS_DELTA_index32 || is_narrow(delta)) &&
           (encoding != PS_DELTA_dense || may_be_dense);
}

/* Ties go to the first of the list, whose numbers are the quickest to read. The values
 * count, too: dense ones are those of all units. */
bool
ps_delta_choose(ps_delta *delta, const ps_delta_tally *tally,
                enum ps_delta_encoding encoding, bool may_be_dense)
{
    if (encoding != PS_DELTA_AUTO) {
        return try_encoding(delta, tally, encoding, may_be_dense);
    }
    ps_delta best = *delta;
    bool is_first = true;
    for (int i = 0; i < PS_NUM_DELTA_ENCODINGS; i++) {
        if (try_encoding(delta, tally, (enum ps_delta_encoding)i, may_be_dense) &&
            (is_first || delta->head_nbytes + delta->values_nbytes <
                                 best.head_nbytes + best.values_nbytes)) {
            best = *delta;
            is_first = false;
        }
    }
    *delta = best;
    return true;
}

/* ---- writing ---- */

/* The limit behind a run moves on with each number: nobody knows yet which is last. */
static void
write_runs(ps_delta_writer *writer, const int64_t *at, int64_t n)
{
    const bool narrow = is_narrow(writer->delta);
    uint32_t *const small = (uint32_t *)writer->head;
    uint64_t *const large = (uint64_t *)writer->head;
    for (int64_t i = 0; i < n; i++) {
        if (writer->items == 0 || at[i] != writer->last + 1) {
            const int64_t to = 2 * writer->items++;
            if (narrow) {
                small[to] = (uint32_t)at[i];
            }
            else {
                large[to] = (uint64_t)at[i];
            }
        }
        writer->last = at[i];
        if (narrow) {
            small[2 * writer->items - 1] = (uint32_t)at[i] + 1;
        }
        else {
            large[2 * writer->items - 1] = (uint64_t)at[i] + 1;
        }
    }
}

/* The words between two numbers become 0 as they are passed. Numbers ascend, so a word
 * is complete when a later one begins. */
static void
write_bits(ps_delta_writer *writer, const int64_t *at, int64_t n)
{
    uint64_t *const word = (uint64_t *)writer->head;
    for (int64_t i = 0; i < n; i++) {
        while (writer->items <= at[i] / 64) {
            word[writer->items++] = 0;
        }
        word[at[i] / 64] |= (uint64_t)1 << (at[i] % 64);
    }
}

/* Items follow those that have been written, of this writer or, where chunks are
 * written side by side, of those that are said to come before. */
void
ps_delta_write_head(ps_delta_writer *writer, const int64_t *at, int64_t n)
{
    switch (writer->delta->encoding) {
        case PS_DELTA_index32:
            for (int64_t i = 0; i < n; i++) {
                ((uint32_t *)writer->head)[writer->items + i] = (uint32_t)at[i];
            }
            writer->items += n;
            return;
        case PS_DELTA_index64:
            memcpy(writer->head + 8 * writer->items, at, (size_t)n * 8);
            writer->items += n;
            return;
        case PS_DELTA_gap16:
            writer->items += ps_kernels()->delta->gaps(
                    (uint16_t *)writer->head + writer->items, at, n, &writer->last);
            return;
        case PS_DELTA_runs:
            write_runs(writer, at, n);
            return;
        case PS_DELTA_bitmap:
            write_bits(writer, at, n);
            return;
        default:
            return;
    }
}

/* Places ascend within 16 bits, so no gap but the first can take an escape. */
void
ps_delta_write_places(ps_delta_writer *writer, const uint16_t *place, int64_t n,
                      int64_t base)
{
    if (writer->delta->encoding == PS_DELTA_gap16) {
        const int64_t first = base + place[0];
        ps_delta_write_head(writer, &first, 1);
        uint16_t *const gap = (uint16_t *)writer->head + writer->items;
        for (int64_t i = 1; i < n; i++) {
            gap[i - 1] = (uint16_t)(place[i] - place[i - 1] - 1);
        }
        writer->items += n - 1;
        writer->last = base + place[n - 1];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t number = base + place[i];
        if (writer->delta->encoding == PS_DELTA_index32) {
            ((uint32_t *)writer->head)[writer->items++] = (uint32_t)number;
        }
        else {
            ((uint64_t *)writer->head)[writer->items++] = (uint64_t)number;
        }
    }
}

/* Words of a bitmap behind the last number. Other encodings end with their last
 * number. */
void
ps_delta_end_head(ps_delta_writer *writer)
{
    while (writer->delta->encoding == PS_DELTA_bitmap &&
           writer->items < writer->delta->items) {
        ((uint64_t *)writer->head)[writer->items++] = 0;
    }
}

/* ---- reading ---- */

/* Nothing has been read, so the number before the first is -1. */
ps_delta_reader
ps_delta_read(const ps_delta *delta)
{
    return (ps_delta_reader){.delta = delta, .last = -1};
}

/* Number `i` of a head of numbers: of 32 bits, or of 64. */
static int64_t
number_in(const char *head, bool is_small, int64_t i)
{
    return is_small ? (int64_t)((const uint32_t *)(const void *)head)[i]
                    : ((const int64_t *)(const void *)head)[i];
}

/* Number `i` of the limits of runs. Of runs both limits are of one width, by the
 * number of units alone. */
static int64_t
limit_at(const ps_delta *delta, int64_t i)
{
    return number_in(delta->head, is_narrow(delta), i);
}

/* Number `i` of index32 or index64. */
static int64_t
number_at(const ps_delta *delta, int64_t i)
{
    return number_in(delta->head, delta->encoding == PS_DELTA_index32, i);
}

/* Units of the run at hand, or of the next one: at most `room`, those behind
 * reader->last. 0: no run is left. A run may be longer than a block: what is left of it
 * waits. */
static int64_t
take_of_run(ps_delta_reader *reader, int64_t room)
{
    if (reader->run == 0) {
        if (reader->item == reader->delta->items) {
            return 0;
        }
        /* Checked: the second limit is larger. */
        const int64_t first = limit_at(reader->delta, 2 * reader->item);
        reader->run = limit_at(reader->delta, 2 * reader->item + 1) - first;
        reader->last = first - 1;
        reader->item++;
    }
    const int64_t part = ps_min(reader->run, room);
    reader->run -= part;
    return part;
}

static int64_t
next_of_runs(ps_delta_reader *reader, int64_t *at)
{
    int64_t n = 0, part;
    while (n < PS_DELTA_BLOCK && (part = take_of_run(reader, PS_DELTA_BLOCK - n)) > 0) {
        for (int64_t i = 0; i < part; i++) {
            at[n++] = ++reader->last;
        }
    }
    return n;
}

/* Words are read until some bit is set, and so many that all of them have room. A
 * bitmap may have long stretches of zeros, which are passed at a word each. */
static int64_t
next_of_bits(ps_delta_reader *reader, int64_t *at)
{
    const uint64_t *const word = (const uint64_t *)reader->delta->head;
    int64_t n = 0;
    while (n == 0 && reader->item < reader->delta->items) {
        const int64_t words =
                ps_min(PS_DELTA_BLOCK / 64, reader->delta->items - reader->item);
        n = ps_kernels()->positions(at, word + reader->item, words, 64 * reader->item,
                                    PS_DELTA_BLOCK + 64);
        reader->item += words;
    }
    return n;
}

/* Blocks of escapes alone name nothing; the next one is read then. */
static int64_t
next_of_gaps(ps_delta_reader *reader, int64_t *at)
{
    const uint16_t *const gap = (const uint16_t *)reader->delta->head;
    int64_t n = 0;
    while (n == 0 && reader->item < reader->delta->items) {
        const int64_t part =
                ps_min(PS_DELTA_BLOCK, reader->delta->items - reader->item);
        n = ps_kernels()->delta->ungap(at, gap + reader->item, part, &reader->last);
        reader->item += part;
    }
    return n;
}

/* One number each. Dense deltas have no items: the number is its own place. */
static int64_t
next_of_items(ps_delta_reader *reader, int64_t *at)
{
    const ps_delta *const delta = reader->delta;
    const int64_t n = ps_min(PS_DELTA_BLOCK, delta->count - reader->done);
    for (int64_t i = 0; i < n; i++) {
        const int64_t item = reader->done + i;
        at[i] = delta->encoding == PS_DELTA_dense ? item : number_at(delta, item);
    }
    return n;
}

/* Each encoding fills the block as far as its items go; the count of what was read is
 * what items of fixed size are numbered by. */
int64_t
ps_delta_next(ps_delta_reader *reader, int64_t *at)
{
    int64_t n;
    switch (reader->delta->encoding) {
        case PS_DELTA_gap16:
            n = next_of_gaps(reader, at);
            break;
        case PS_DELTA_runs:
            n = next_of_runs(reader, at);
            break;
        case PS_DELTA_bitmap:
            n = next_of_bits(reader, at);
            break;
        default:
            n = next_of_items(reader, at);
    }
    reader->done += n;
    return n;
}

/* ---- skipping ---- */

/* How many numbers n <= PS_DELTA_BLOCK gaps name; *last moves on by them. Sums of 32
 * bits, which the compiler makes vectors of: 0.1 ns a gap, where sums of 64 bits that
 * go on from gap to gap take 0.45. */
static int64_t
add_gaps(const uint16_t *gap, int64_t n, int64_t *last)
{
    uint32_t escapes = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        escapes += gap[i] == UINT16_MAX;
        sum += gap[i];
    }
    *last += (int64_t)sum + n - escapes;
    return n - escapes;
}

/* The numbers of the blocks of gaps or words from the reader's place on, up to one
 * that has any: distances are added up, bits counted. The loops are of vectors: some
 * thousand numbers in a microsecond. */
static int64_t
skip_items(ps_delta_reader *reader)
{
    const ps_delta *const delta = reader->delta;
    const bool are_gaps = delta->encoding == PS_DELTA_gap16;
    const int64_t step = are_gaps ? PS_DELTA_BLOCK : PS_DELTA_BLOCK / 64;
    int64_t n = 0;
    while (n == 0 && reader->item < delta->items) {
        const int64_t part = ps_min(step, delta->items - reader->item);
        if (are_gaps) {
            n = add_gaps((const uint16_t *)delta->head + reader->item, part,
                         &reader->last);
        }
        else {
            ps_bits bits;
            ps_kernels()->delta->tally(
                    &bits, (const uint64_t *)delta->head + reader->item, part);
            n = bits.count;
        }
        reader->item += part;
    }
    return n;
}

/* As next_of_runs, stretch by stretch: blocks end alike. */
static int64_t
skip_runs(ps_delta_reader *reader)
{
    int64_t n = 0, part;
    while (n < PS_DELTA_BLOCK && (part = take_of_run(reader, PS_DELTA_BLOCK - n)) > 0) {
        reader->last += part;
        n += part;
    }
    return n;
}

/* Blocks end where those of ps_delta_next end. So a reader that has skipped reads on
 * as if it had read. */
int64_t
ps_delta_skip(ps_delta_reader *reader)
{
    const enum ps_delta_encoding encoding = reader->delta->encoding;
    const int64_t n =
            encoding == PS_DELTA_runs ? skip_runs(reader)
            : encoding == PS_DELTA_gap16 || encoding == PS_DELTA_bitmap
                    ? skip_items(reader)
                    : ps_min(PS_DELTA_BLOCK, reader->delta->count - reader->done);
    reader->done += n;
    return n;
}

/* Blocks of gaps may end in escapes, which count for the number that follows. */
int64_t
ps_delta_least(const ps_delta_reader *reader)
{
    const ps_delta *const delta = reader->delta;
    switch (delta->encoding) {
        case PS_DELTA_gap16:
        case PS_DELTA_runs:
            return reader->last + 1;
        case PS_DELTA_bitmap:
            return 64 * reader->item;
        case PS_DELTA_dense:
            return reader->done;
        default:
            return reader->done < delta->count ? number_at(delta, reader->done)
                                               : ps_delta_units(delta);
    }
}

/* ---- checking ---- */

/* Limits ascend: runs are not empty, and do not touch. *last: the last number. A delta
 * of one run, which is all of a small array, has two limits. */
static bool
check_runs(const ps_delta *delta, int64_t *last)
{
    int64_t behind = -1, count = 0;
    for (int64_t i = 0; i < delta->items; i++) {
        const int64_t first = limit_at(delta, 2 * i);
        const int64_t stop = limit_at(delta, 2 * i + 1);
        if (first <= behind || stop <= first || stop > ps_delta_units(delta)) {
            return false;
        }
        count += stop - first;
        behind = stop;
    }
    *last = behind - 1;
    return count == delta->count;
}

/* Words as many as the array needs, and no bit beyond its units. */
static bool
check_bits(const ps_delta *delta, int64_t *last)
{
    const uint64_t *const word = (const uint64_t *)delta->head;
    const int64_t units = ps_delta_units(delta);
    int64_t count = 0;
    *last = -1;
    for (int64_t i = 0; i < delta->items; i++) {
        count += __builtin_popcountll(word[i]);
        *last = word[i] != 0 ? 64 * i + 63 - __builtin_clzll(word[i]) : *last;
    }
    return delta->items == words_of(delta) && *last < units && count == delta->count;
}

/* No sum can overflow: items are as many as bytes of memory, at most. A gap of 65,535
 * is an escape wherever it stands. */
static bool
check_gaps(const ps_delta *delta, int64_t *last)
{
    const uint16_t *const gap = (const uint16_t *)delta->head;
    int64_t count = 0;
    *last = -1;
    for (int64_t i = 0; i < delta->items; i += PS_DELTA_BLOCK) {
        count += add_gaps(gap + i, ps_min(PS_DELTA_BLOCK, delta->items - i), last);
    }
    /* An escape at the end would name nothing: another way to write the same numbers.
     */
    const bool ends_well = delta->items == 0 || gap[delta->items - 1] != UINT16_MAX;
    return ends_well && count == delta->count;
}

/* Without a branch: the compiler compares several numbers at once. */
static bool
check_items(const ps_delta *delta, int64_t *last)
{
    *last = -1;
    bool ascends = true;
    if (delta->encoding == PS_DELTA_dense) {
        *last = ps_delta_units(delta) - 1;
        return delta->items == 0 && delta->count == ps_delta_units(delta);
    }
    /* Before the loop: items are what the head has room for. */
    if (delta->items != delta->count) {
        return false;
    }
    for (int64_t i = 0; i < delta->count; i++) {
        const int64_t number = number_at(delta, i);
        ascends &= number > *last;
        *last = number;
    }
    return ascends;
}

/* *last: the last number, or -1. */
static bool
check_numbers(const ps_delta *delta, int64_t *last)
{
    switch (delta->encoding) {
        case PS_DELTA_runs:
            return check_runs(delta, last);
        case PS_DELTA_bitmap:
            return check_bits(delta, last);
        case PS_DELTA_gap16:
            return check_gaps(delta, last);
        case PS_DELTA_index32:
            return is_narrow(delta) && check_items(delta, last);
        default:
            return check_items(delta, last);
    }
}

/* The caller has compared both sizes in bytes with the memory that there is. So no
 * loop goes beyond it: each is over items whose bytes are those of the head. Then
 * numbers are known to be in the array, and the size of their values follows. */
ps_status
ps_delta_check(void *argument, ps_run *run)
{
    (void)run;
    ps_delta_check_call *const call = argument;
    const ps_delta *const delta = call->delta;
    const int64_t units = ps_delta_units(delta);
    int64_t last, elements, nbytes;
    call->is_good = delta->count >= 0 && delta->count <= units && delta->items >= 0 &&
                    ps_delta_head_nbytes(delta) == delta->head_nbytes &&
                    (delta->count == 0 || delta->n > 0) &&
                    check_numbers(delta, &last) && last < units;
    if (!call->is_good) {
        return PS_SUCCESS;
    }
    const bool has_last = delta->count > 0 && last == units - 1;
    const int64_t missing = has_last ? delta->width - ps_delta_width(delta, last) : 0;
    call->is_good = ps_multiply(delta->count, delta->width, &elements) &&
                    ps_multiply(elements - missing, delta->itemsize, &nbytes) &&
                    nbytes == delta->values_nbytes;
    return PS_SUCCESS;
}
