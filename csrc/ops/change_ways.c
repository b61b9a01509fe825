/* Rows and features by the stretch: not element by element, where that can be helped
 * (contract in change_parts.h).
 *
 * A block that lies within one row is known already; of one that does not, each run is
 * measured once more. Features of plain arrays are taken after the blocks of a part, in
 * a second walk over it, several rows at once: what is known of a feature takes ten
 * times the room of the elements that meet it, and would be read and written for each.
 * 2.5 million f32 in 256 rows take 2.0 ms instead of 7.5 with rows, and 5 instead of 20
 * with features, where plain statistics take 1.5; halves and integers of up to 32 bits
 * become floats on the way, and take 8 to 11 ms instead of 16 to 18. Each way gives the
 * same bits as element by element for features, and follows from sizes for rows.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/change_parts.h"
#include "ops/values.h"

enum {
    /* Rows from which on a kernel for each costs less than all elements spread out. */
    LEAST_RUN = 64,
    LEAST_COLUMNS = 16,
    /* Features of which both arrays' rows and the words stay in the first two caches,
     * while groups of rows go by; rows of a group whose lines do not drive each other
     * out, at whatever distance they lie. */
    TILE = 256,
    GROUP = 8,
    /* Rows of a group that is converted first, which has room for one block. */
    CONVERTED_GROUP = PS_CHANGE_BLOCK / TILE
};

/* Is an array measured as another type than its own? */
static bool
is_converted(const ps_change_ready *ready)
{
    return ready->type != ready->call->now.dtype;
}

/* Which rows and features need not be taken element by element. Features read the
 * arrays once more, so the old one must still be there; the new one is read where it
 * has been copied to, if it has. */
void
ps_change_find_ways(ps_change_ready *ready)
{
    const ps_change_call *const call = ready->call;
    ps_change_lines *const lines = &ready->lines;
    const bool is_copied = call->copy.data != NULL;
    const ps_operand *const now = is_copied ? &ready->copy : &ready->now;
    const ps_operand *const old = call->old.data != NULL ? &ready->old : now;
    const bool is_plain = (ready->type == PS_f32 || ready->type == PS_f64) &&
                          !ready->is_wide && now->is_flat && !now->is_constant &&
                          old->is_flat && !old->is_constant && !ready->is_over_old &&
                          !call->finite_only;
    ready->by_runs = lines->has_rows && lines->width >= LEAST_RUN;
    ready->by_columns =
            lines->has_features && lines->width >= LEAST_COLUMNS && is_plain;
    ready->columns = now->data;
    lines->takes_rows = lines->has_rows && !ready->by_runs;
    lines->takes_features = lines->has_features && !ready->by_columns;
}

/* Rows that are long enough take what the elements of theirs come to: those of the
 * whole block, which is known, or of a run of it, which is measured once more. Of
 * integers and halves other bits are other numbers, or have been looked at. */
void
ps_change_take_rows(const ps_change_ready *ready, const ps_change_block *block,
                    const ps_change_room *room, const ps_change *whole, int64_t *words)
{
    const ps_change_lines *const lines = &ready->lines;
    const int64_t size = ps_dtype_size[ready->type];
    for (int64_t done = 0, count; done < block->n; done += count) {
        const int64_t at = block->first + done, line = at / lines->width;
        ps_change_block run = *block;
        ps_change change = *whole;
        count = ps_min(lines->width - at % lines->width, block->n - done);
        if (count < block->n) {
            run.now = (const char *)block->now + done * size;
            run.old =
                    block->old != NULL ? (const char *)block->old + done * size : NULL;
            run.diff = block->diff != NULL ? block->diff + done : NULL;
            run.n = count;
            run.best = INFINITY; /* places are not asked for */
            ps_change_run_kernel(ready, &run, &change);
        }
        bool has_changed = change.n_changed > 0;
        if (block->old != NULL && (ready->is_half || ready->is_wide)) {
            has_changed = ready->is_wide ? change.max_abs > 0
                                         : memchr(room->changed + done, 1,
                                                  (size_t)count) != NULL;
        }
        ps_change_take_row(lines, words, line % lines->rows, &change, has_changed);
    }
}

/* Features of several rows as they are measured: `pitch` elements from row to row. */
typedef struct {
    const char *old, *now;
    int64_t pitch;
} columns_source;

/* n features of `rows` rows from element `first` on: where they lie, or converted, row
 * by row, into the buffers of a block. */
static columns_source
source_of(const ps_change_ready *ready, int64_t first, int64_t n, int64_t rows,
          const ps_change_room *room)
{
    const int64_t size = ready->now.itemsize, width = ready->lines.width;
    const bool has_old = ready->call->old.data != NULL;
    const char *now = ready->columns + first * size;
    const char *old = has_old ? ready->old.data + first * size : now;
    if (!is_converted(ready)) {
        return (columns_source){old, now, width};
    }
    const enum ps_dtype dtype = ready->call->now.dtype;
    char *const was = (char *)room->wide[0], *const is = (char *)room->wide[1];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t to = row * n * ps_dtype_size[ready->type];
        ps_convert(ready->type, is + to, dtype, size, false, now, size, n);
        if (has_old) {
            ps_convert(ready->type, was + to, dtype, size, false, old, size, n);
        }
        now += width * size;
        old += width * size;
    }
    return (columns_source){has_old ? was : is, is, n};
}

/* Four features of `rows` rows, or the last few of a line: element by element. Halves
 * that are NaN may have bits that their floats have not. */
static void
take_odd_columns(const ps_change_ready *ready, const columns_source *from,
                 int64_t first, int64_t n, int64_t rows, const ps_change_room *room,
                 int64_t *words)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    const int64_t size = ps_dtype_size[ready->type];
    const bool has_old = ready->call->old.data != NULL;
    ps_change_lines lines = ready->lines;
    lines.takes_rows = false;
    lines.takes_features = true;
    for (int64_t row = 0; row < rows; row++, first += lines.width) {
        const int64_t at = row * from->pitch * size;
        const ps_change_block block = {.old = has_old ? from->old + at : NULL,
                                       .now = from->now + at,
                                       .n = n,
                                       .first = first};
        (ready->type == PS_f32 ? kernels->spread_f32 : kernels->spread_f64)(
                &block, &room->spread);
        if (ready->is_half && has_old) {
            kernels->differ_u16(ready->old.data + 2 * first, ready->columns + 2 * first,
                                n, room->spread.changed);
        }
        ps_change_take_lines(&lines, words, first, n, &room->spread);
    }
}

/* n <= TILE features, from element `first` on, in as many rows. */
static void
take_tile(const ps_change_ready *ready, int64_t first, int64_t n, int64_t rows,
          const ps_change_room *room, int64_t *words)
{
    const ps_change_kernels *const kernels = ps_kernels()->change;
    const ps_change_lines *const lines = &ready->lines;
    const ps_change_columns to = ps_change_columns_of(lines, words);
    const int64_t size = ps_dtype_size[ready->type], width = lines->width;
    const int64_t outer = first / width / lines->rows;
    const int64_t at = outer * width + first % width;
    columns_source from = source_of(ready, first, n, rows, room);
    for (int64_t done = 0; done < n;) {
        const int64_t some =
                (ready->type == PS_f32 ? kernels->columns_f32 : kernels->columns_f64)(
                        &to, at + done, from.old, from.now, from.pitch, rows, n - done);
        done += some;
        from.old += some * size;
        from.now += some * size;
        if (done < n) {
            const int64_t few = ps_min(n - done, 4);
            take_odd_columns(ready, &from, first + done, few, rows, room, words);
            done += few;
            from.old += few * size;
            from.now += few * size;
        }
    }
}

/* Elements [first, first + n), which lie in lines of one outer place, whole ones if
 * they are several: tile after tile, in groups of rows. */
static void
take_columns(const ps_change_ready *ready, int64_t first, int64_t n, ps_run *run,
             const ps_change_room *room, int64_t *words)
{
    const int64_t width = ready->lines.width;
    const int64_t span = ps_min(n, width), rows = n / span;
    const int64_t group = is_converted(ready) ? CONVERTED_GROUP : GROUP;
    int64_t unheard = 0;
    for (int64_t at = 0; at < span; at += TILE) {
        const int64_t count = ps_min(TILE, span - at);
        for (int64_t row = 0; row < rows; row += group) {
            const int64_t some = ps_min(group, rows - row);
            take_tile(ready, first + at + row * width, count, some, room, words);
            if (ps_run_stops_after(run, &unheard, count * some * 16)) {
                return;
            }
        }
    }
}

/* The features of a part's elements: the rest of a line, whole lines as far as the next
 * outer place, and so on. */
void
ps_change_take_features(const ps_change_ready *ready, int64_t first, int64_t stop,
                        ps_run *run, const ps_change_room *room, int64_t *words)
{
    const int64_t width = ready->lines.width, block = width * ready->lines.rows;
    while (first < stop && !ps_run_stops(run)) {
        const int64_t inner = first % width, left = stop - first;
        int64_t n = ps_min(width - inner, left);
        if (inner == 0 && left >= width) {
            n = ps_min(block - first % block, left / width * width);
        }
        take_columns(ready, first, n, run, room, words);
        first += n;
    }
}
