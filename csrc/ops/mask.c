/* Conditions as kernels want them (contract in mask.h).
 *
 * A contiguous array of bytes is its own mask. All else is turned into bytes a block at
 * a time, in the first cache, so that no condition is ever copied whole. What makes an
 * element true is a set of bits (kernels/truth.tmpl.h): one kernel for each item size
 * serves all types and both byte orders.
 */
#include "ops/mask.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/strided.h"
#include "ops/values.h"

enum {
    /* Bytes of one chunk: about 0.1 ms, so that threads even out and signals are heard.
     */
    CHUNK_BYTES = 2 << 20,
    /* Bytes moved below which another thread costs more than it brings. */
    PARALLEL_BYTES = 1 << 20,
    /* Elements of a run of one value up to which runs are found many at a time. */
    SHORT_RUN = 64,
    /* Rows that lie across the memory from which columns are worth reading: squares of
     * eight are turned in registers. */
    LEAST_ROWS = 8
};

/* Put a number of `nbytes` bytes down, in the machine's byte order or the other one.
 * The low end of a wider number is taken, wherever it lies. */
static void
put_bits(char *to, int64_t nbytes, uint64_t bits, bool swapped)
{
    char native[sizeof(bits)];
    const uint16_t one = 1;
    const bool is_little = *(const char *)&one == 1;
    memcpy(native, &bits, sizeof(bits));
    const char *const low = is_little ? native : native + sizeof(bits) - nbytes;
    for (int64_t i = 0; i < nbytes; i++) {
        to[i] = swapped ? low[nbytes - 1 - i] : low[i];
    }
}

/* long double: 80 bits and padding that may hold anything, or 128 bits. NumPy swaps all
 * 16 bytes as one number, so the high half comes first there. */
static void
put_long_bits(char *to, bool swapped)
{
    const bool is_extended = LDBL_MANT_DIG == 64;
    const uint64_t low = UINT64_MAX, high = is_extended ? 0x7fff : INT64_MAX;
    put_bits(to + (swapped ? 8 : 0), 8, low, swapped);
    put_bits(to + (swapped ? 0 : 8), 8, high, swapped);
}

/* The bits that make an element true: all, but not the signs of floats. NaT has the top
 * bit alone, and is true as in NumPy. Repeated through all 16 bytes. */
static void
put_truth_bits(char *to, enum ps_dtype dtype, bool swapped)
{
    int64_t part = 2;
    uint64_t bits = INT16_MAX;
    switch (dtype) {
        case PS_f16:
        case PS_bf16:
            break;
        case PS_f32:
        case PS_c64:
            part = 4;
            bits = INT32_MAX;
            break;
        case PS_f64:
        case PS_c128:
            part = 8;
            bits = INT64_MAX;
            break;
        case PS_f80:
            put_long_bits(to, swapped);
            return;
        default:
            memset(to, 0xff, 16);
            return;
    }
    for (int64_t at = 0; at < 16; at += part) {
        put_bits(to + at, part, bits, swapped);
    }
}

/* Merging makes a contiguous array of any rank one run, and a run as long as can be of
 * any other. */
void
ps_mask_open(ps_mask_source *source, const ps_view *view)
{
    source->data = view->data;
    source->size = ps_size_of(view->itemsize);
    source->is_bytes = view->itemsize == 1;
    put_truth_bits(source->bits, view->dtype, view->swapped);
    source->ndim = ps_merge_view(view, source->shape, source->strides);
    source->n = 1;
    for (int axis = 0; axis < source->ndim; axis++) {
        source->n *= source->shape[axis];
    }
    source->is_contiguous = source->ndim == 0 ||
                            (source->ndim == 1 && source->strides[0] == view->itemsize);
}

/* value[r] as often as a run is long, run after run, for `rows` of them; `room` bytes
 * may be written. Eight bytes at a time, of which the next run overwrites what is too
 * much: a call for each run of few bytes takes longer. */
static void
spread(char *to, const char *value, int64_t rows, int64_t length, int64_t room)
{
    for (int64_t row = 0; row < rows; row++, to += length, room -= length) {
        if (room < length + 8) {
            memset(to, value[row], (size_t)length);
            continue;
        }
        const uint64_t eight = (uint64_t)(value[row] != 0) * 0x0101010101010101u;
        for (int64_t at = 0; at < length; at += 8) {
            memcpy(to + at, &eight, sizeof(eight));
        }
    }
}

/* to[r * pitch + c] = is element c of row r true, for `rows` rows of the last two axes,
 * the first of which begins at `from`: bytes of a stretch of each column, a tile at a
 * time, which are then turned. What is read of a line is read while it is near. */
static void
turn_rows(const ps_mask_source *source, const char *from, int64_t rows, char *to,
          int64_t pitch)
{
    enum {
        COLUMNS = 64,
        ROWS = 128
    };
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t length = source->shape[source->ndim - 1];
    const int64_t step = source->strides[source->ndim - 1];
    const int64_t row_step = source->strides[source->ndim - 2];
    char tile[COLUMNS * ROWS];
    int64_t offset[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        offset[i] = i * ROWS;
    }
    for (int64_t row = 0; row < rows; row += ROWS) {
        const int64_t n_rows = ps_min(ROWS, rows - row);
        for (int64_t column = 0; column < length; column += COLUMNS) {
            const int64_t n_columns = ps_min(COLUMNS, length - column);
            for (int64_t i = 0; i < n_columns; i++) {
                kernels->truth[source->size](
                        tile + i * ROWS, from + row * row_step + (column + i) * step,
                        row_step, n_rows, source->bits);
            }
            kernels->turn[PS_SIZE_1](to + row * pitch + column, pitch, offset,
                                     n_columns, tile, n_rows);
        }
    }
}

/* Do rows lie nearer to each other than their elements, as in Fortran order? */
static bool
lies_turned(const ps_mask_source *source)
{
    const int axis = source->ndim - 2;
    return axis >= 0 && source->strides[axis] != 0 &&
           llabs(source->strides[axis]) < llabs(source->strides[axis + 1]);
}

/* Whole rows of that kind, from the start of one on: their bytes go to the buffer, n at
 * most. Returns how many bytes; the walk is at the last of these rows. ns an element to
 * find the trues among 12,500 rows of 8, turned / row by row (Zen 3): bool 0.5 / 1.7,
 * float64 1.0 / 2.0. */
static int64_t
turned_rows(const ps_mask_source *source, ps_walk *run, int64_t *offset, char *buffer,
            int64_t n)
{
    const int axis = source->ndim - 2;
    if (!lies_turned(source) || run->at[axis + 1] != 0) {
        return 0;
    }
    const int64_t length = source->shape[axis + 1];
    const int64_t rows = ps_min(n / length, source->shape[axis] - run->at[axis]);
    if (rows < LEAST_ROWS) {
        return 0;
    }
    turn_rows(source, source->data + *offset, rows, buffer, length);
    run->at[axis] += rows - 1;
    *offset += (rows - 1) * source->strides[axis];
    return rows * length;
}

/* Runs of one element that stands for a few, from the start of one on: their bytes go
 * to the buffer, n at most. Returns how many bytes; the walk is at the last of these
 * runs.
 */
static int64_t
short_runs(const ps_mask_source *source, ps_walk *run, int64_t *offset, char *buffer,
           int64_t n)
{
    const int axis = source->ndim - 2;
    char value[64];
    if (axis < 0 || source->strides[axis + 1] != 0 || run->at[axis + 1] != 0 ||
        source->shape[axis + 1] > SHORT_RUN) {
        return 0;
    }
    const int64_t length = source->shape[axis + 1], stride = source->strides[axis];
    const int64_t rows = ps_min(ps_min((int64_t)sizeof(value), n / length),
                                source->shape[axis] - run->at[axis]);
    if (rows > 0) {
        ps_kernels()->truth[source->size](value, source->data + *offset, stride, rows,
                                          source->bits);
        spread(buffer, value, rows, length, n);
        run->at[axis] += rows - 1;
        *offset += (rows - 1) * stride;
    }
    return rows * length;
}

/* The bytes of (part of) a run, and of those behind it that are the same. Returns how
 * many. */
static int64_t
one_run(const ps_mask_source *source, ps_walk *run, int64_t offset, char *buffer,
        int64_t n)
{
    const int64_t stride = ps_inner_stride(source->ndim, source->strides);
    const int64_t count = ps_min(n, ps_walk_left(run));
    ps_kernels()->truth[source->size](buffer, source->data + offset, stride,
                                      stride != 0 ? count : 1, source->bits);
    if (stride == 0) {
        memset(buffer, *buffer, (size_t)count);
    }
    return count + ps_walk_repeat(run, source->strides, buffer, 1, count, n - count);
}

/* mask[i] = is element first + i true? Where bytes cannot be read as they lie, run
 * after run goes to the buffer; equal ones are found once. */
const char *
ps_mask_block(const ps_mask_source *source, int64_t first, int64_t n, char *buffer)
{
    if (n == 0) {
        return buffer;
    }
    const int64_t stride = ps_inner_stride(source->ndim, source->strides);
    ps_walk run;
    ps_walk_to(&run, source->ndim, source->shape, first);
    int64_t offset = ps_walk_offset(&run, source->strides);
    if (source->is_bytes && (stride == 1 || n == 1) && n <= ps_walk_left(&run)) {
        return source->data + offset;
    }
    for (int64_t at = 0;;) {
        int64_t several = short_runs(source, &run, &offset, buffer + at, n - at);
        if (several == 0) {
            several = turned_rows(source, &run, &offset, buffer + at, n - at);
        }
        at += several > 0 ? several
                          : one_run(source, &run, offset, buffer + at, n - at);
        if (at == n) {
            return buffer;
        }
        ps_walk_on(&run, source->strides, &offset);
    }
}

/* ---- rows that lie across the memory ---- */

enum {
    LINE = 64,
    /* A row whose elements lie in so many lines that some are gone from the second
     * cache before the next row asks for them. A step of many factors of two leaves
     * most of the cache's sets unused, which counts as if its lines were longer. */
    FAR_ROW_BYTES = 1 << 19,
    /* Such rows are read column after column: rows of a column share lines. At most so
     * many columns and at least so many rows at once. Fortran order, 4096 x 4096 bytes:
     * 0.9 ns an element where row by row takes 7. (At 3000 x 3001 float32, whose rows'
     * lines stay in the cache, columns take 3.1 and rows 1.4.) */
    MOST_COLUMNS = 1 << 13
};

/* Is a column of the last two axes nearer in memory than a row, so far from it that
 * the lines of one row are gone before the next row comes? */
static bool
lies_across(const ps_mask_source *source, int64_t n)
{
    if (source->ndim != 2 || source->shape[1] > MOST_COLUMNS ||
        n < LEAST_ROWS * ps_max(1, source->shape[1])) {
        return false;
    }
    const int64_t step = source->strides[1], factors_of_two = step & -step;
    return lies_turned(source) &&
           ps_max(factors_of_two, LINE) > FAR_ROW_BYTES / source->shape[1];
}

/* ps_mask_words by way of columns; -1 when there is no memory for it. The rows of the
 * buffer are a line further apart than they are long, lest they share sets as well. */
static int64_t
words_across(const ps_mask_source *source, int64_t first, int64_t n, uint64_t *word)
{
    const int64_t width = source->shape[1], pitch = width + LINE;
    const int64_t row = first / width, rows = (first + n - 1) / width - row + 1;
    char *const buffer = ps_scratch_get(rows * pitch);
    if (buffer == NULL) {
        return -1;
    }
    turn_rows(source, source->data + row * source->strides[0], rows, buffer, pitch);
    char block[PS_MASK_BLOCK];
    int64_t count = 0, from = first - row * width;
    for (int64_t at = 0; at < n; at += PS_MASK_BLOCK) {
        const int64_t part = ps_min(PS_MASK_BLOCK, n - at);
        for (int64_t done = 0; done < part;) {
            const int64_t column = from % width;
            const int64_t run = ps_min(part - done, width - column);
            memcpy(block + done, buffer + from / width * pitch + column, (size_t)run);
            done += run;
            from += run;
        }
        count += ps_kernels()->mask_words(word + at / 64, block, part);
    }
    ps_scratch_put(buffer, rows * pitch);
    return count;
}

/* A contiguous array goes straight to words, whole; any other by way of bytes, a block
 * at a time on the stack. */
int64_t
ps_mask_words(const ps_mask_source *source, int64_t first, int64_t n, uint64_t *word)
{
    const ps_kernel_table *const kernels = ps_kernels();
    char buffer[PS_MASK_BLOCK];
    int64_t count = 0;
    if (source->is_contiguous) {
        const int64_t itemsize = (int64_t)1 << source->size;
        return kernels->truth_words[source->size](word, source->data + first * itemsize,
                                                  n, source->bits);
    }
    if (lies_across(source, n)) {
        count = words_across(source, first, n, word);
        if (count >= 0) {
            return count;
        }
        count = 0;
    }
    for (int64_t at = 0; at < n; at += PS_MASK_BLOCK) {
        const int64_t part = ps_min(PS_MASK_BLOCK, n - at);
        const char *const mask = ps_mask_block(source, first + at, part, buffer);
        count += kernels->mask_words(word + at / 64, mask, part);
    }
    return count;
}

/* Bytes are counted as bytes, which is a third faster than by words. */
int64_t
ps_mask_count(const ps_mask_source *source, int64_t first, int64_t n)
{
    char buffer[PS_MASK_BLOCK];
    if (source->is_contiguous && !source->is_bytes) {
        return ps_mask_words(source, first, n, (uint64_t[PS_MASK_BLOCK / 64]){0});
    }
    return ps_kernels()->mask_count(ps_mask_block(source, first, n, buffer), n);
}

/* By way of words, which the kernel reads faster than bytes. */
int64_t
ps_mask_positions(int64_t *to, const char *mask, int64_t n, int64_t base)
{
    const ps_kernel_table *const kernels = ps_kernels();
    uint64_t word[PS_MASK_BLOCK / 64];
    const int64_t count = kernels->mask_words(word, mask, n);
    kernels->positions(to, word, (n + 63) / 64, base, count);
    return count;
}

int64_t
ps_mask_chunk(int64_t n, int64_t nbytes, int threads)
{
    int64_t chunk = CHUNK_BYTES / nbytes;
    if (threads > 1 && n * nbytes >= PARALLEL_BYTES) {
        chunk = ps_min(chunk, ps_ceil_div(n, 4 * threads));
    }
    return ps_ceil_div(chunk, PS_MASK_BLOCK) * PS_MASK_BLOCK;
}
