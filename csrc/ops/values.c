/* Values as kernels want them (contract in values.h).
 *
 * Good values (right type, native, aligned, rows contiguous, entries one stride apart)
 * are read where they lie. All others are packed a block at a time, so that a cast or a
 * broadcast never makes a full copy. A kernel call covers the longest stretch that has
 * one stride.
 */
#include "ops/values.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/strided.h"

enum {
    PIECE = 256, /* items converted at a time where two steps are needed */
    PIECE_BYTES = PIECE * 16
};

/* Five sizes cover every number type, and are those for which kernels of moves are
 * stamped; records and strings take the way of rows, -1. */
int
ps_size_of(int64_t itemsize)
{
    switch (itemsize) {
        case 1:
            return PS_SIZE_1;
        case 2:
            return PS_SIZE_2;
        case 4:
            return PS_SIZE_4;
        case 8:
            return PS_SIZE_8;
        case 16:
            return PS_SIZE_16;
        default:
            return -1;
    }
}

/* Complex numbers and pairs are two of a real type; every other type is its own part.
 */
static enum ps_dtype
part_of(enum ps_dtype type)
{
    switch (type) {
        case PS_c64:
        case PS_k32:
            return PS_f32;
        case PS_c128:
        case PS_k64:
            return PS_f64;
        default:
            return type;
    }
}

/* The types between which a kernel casts: the table says so itself, and is the same on
 * every level. */
static bool
is_real(enum ps_dtype type)
{
    return type != PS_raw &&
           ps_kernels_of(PS_LEVEL_baseline)->cast[type][PS_f64] != NULL;
}

/* Two numbers of one type side by side. */
static bool
is_complex(enum ps_dtype type)
{
    return type == PS_c64 || type == PS_c128;
}

/* A sum and what rounding has taken from it, as compensated sums are kept; no array
 * holds such items. */
static bool
is_pair(enum ps_dtype type)
{
    return type == PS_k32 || type == PS_k64;
}

/* Between real types, and between complex ones. Complex from real is left to NumPy: it
 * is rare and would need kernels of its own. Pairs are made here alone, of what they
 * sum. */
bool
ps_can_convert(enum ps_dtype from, enum ps_dtype to)
{
    if (is_pair(to)) {
        return is_real(from);
    }
    return from == to || (is_real(from) && is_real(to)) ||
           (is_complex(from) && is_complex(to));
}

/* to[i] = from[i], n items that are `to_stride` and `from_stride` bytes apart: bytes
 * as they are, or reversed in units, complex numbers by part. Any size; those that no
 * kernel has are copied one by one. */
static void
move_items(char *to, int64_t to_stride, const char *from, int64_t from_stride,
           int64_t itemsize, int n_parts, bool swaps, int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t unit = itemsize / n_parts;
    const int size = ps_size_of(swaps ? unit : itemsize);
    if (size < 0) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * to_stride, from + i * from_stride, (size_t)itemsize);
        }
        return;
    }
    if (!swaps) {
        kernels->copy[size](to, to_stride, from, from_stride, n);
        return;
    }
    for (int part = 0; part < n_parts; part++) {
        kernels->swap[size](to + part * unit, to_stride, from + part * unit,
                            from_stride, n);
    }
}

/* Numbers in an item, each of which has its bytes reversed for itself. */
static int
parts_of(enum ps_dtype type)
{
    return is_complex(type) ? 2 : 1;
}

/* to[i] = from[i] for one part of n items that lie `to_stride` and `stride` bytes
 * apart: through a native piece where bytes are reversed, and a contiguous one, since
 * the cast kernels write contiguously. `from` may overlap `to` only item for item. */
static void
convert_part(enum ps_dtype to_type, char *to, int64_t to_stride,
             enum ps_dtype from_type, bool swapped, const char *from, int64_t stride,
             int64_t n)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t from_size = ps_dtype_size[from_type],
                  to_size = ps_dtype_size[to_type];
    _Alignas(16) char native[PIECE_BYTES], result[PIECE_BYTES];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t count = ps_min(PIECE, n - i);
        const char *piece = from + i * stride;
        int64_t piece_stride = stride;
        if (swapped) {
            kernels->swap[ps_size_of(from_size)](native, from_size, piece, stride,
                                                 count);
            piece = native;
            piece_stride = from_size;
        }
        kernels->cast[to_type][from_type](result, piece, count, piece_stride);
        kernels->copy[ps_size_of(to_size)](to + i * to_stride, to_stride, result,
                                           to_size, count);
    }
}

/* Same type: bytes. Real types: one kernel. Complex numbers and pairs: part by part.
 * Booleans always pass through a kernel, which makes every true value 1.
 * ps_can_convert has said yes. */
void
ps_convert(enum ps_dtype to_type, char *to, enum ps_dtype from_type, int64_t itemsize,
           bool swapped, const char *from, int64_t stride, int64_t n)
{
    if (from_type == to_type && from_type != PS_b1) {
        move_items(to, itemsize, from, stride, itemsize, parts_of(from_type), swapped,
                   n);
        return;
    }
    const enum ps_dtype to_part = part_of(to_type), from_part = part_of(from_type);
    if (to_part == to_type && !swapped) {
        ps_kernels()->cast[to_type][from_type](to, from, n, stride);
        return;
    }
    const int64_t to_size = ps_dtype_size[to_type];
    const int n_parts = is_pair(to_type) ? 1 : parts_of(to_type);
    if (is_pair(to_type)) {
        memset(to, 0, (size_t)(n * to_size)); /* nothing has been lost yet */
    }
    for (int part = 0; part < n_parts; part++) {
        convert_part(to_part, to + part * ps_dtype_size[to_part], to_size, from_part,
                     swapped, from + part * ps_dtype_size[from_part], stride, n);
    }
}

void
ps_settle_booleans(char *data, int64_t n)
{
    ps_convert(PS_b1, data, PS_b1, 1, false, data, 1, n);
}

/* The cast goes through a small contiguous piece, since cast kernels write
 * contiguously and targets are strided. Rounding is that of the cast kernels, once. */
void
ps_store(enum ps_dtype to_type, int64_t itemsize, bool swapped, char *to,
         int64_t stride, enum ps_dtype from_type, const char *from, int64_t n)
{
    const int64_t from_size =
            to_type == from_type ? itemsize : ps_dtype_size[from_type];
    if (to_type == from_type) {
        move_items(to, stride, from, itemsize, itemsize, parts_of(to_type), swapped, n);
        return;
    }
    _Alignas(16) char piece[PIECE_BYTES];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t count = ps_min(PIECE, n - i);
        ps_convert(to_type, piece, from_type, from_size, false, from + i * from_size,
                   from_size, count);
        move_items(to + i * stride, stride, piece, itemsize, itemsize,
                   parts_of(to_type), swapped, count);
    }
}

/* Longer widths mean fewer kernel calls, so axes are merged first. Rows of a gather
 * are as wide as source and output allow, those of a scatter as the target does: its
 * values are packed where they do not lie so. */
ps_row_split
ps_split_rows(ps_rows *rows, int64_t itemsize, bool in_values)
{
    rows->ndim = ps_merge_axes(
            rows->ndim, rows->shape,
            (int64_t *const[]){rows->target_strides, rows->value_strides}, 2);
    ps_row_split split = {.n_outer = rows->ndim, .outer_count = 1, .width = 1};
    while (split.n_outer > 0 &&
           rows->target_strides[split.n_outer - 1] == itemsize * split.width &&
           (!in_values ||
            rows->value_strides[split.n_outer - 1] == itemsize * split.width)) {
        split.n_outer--;
        split.width *= rows->shape[split.n_outer];
    }
    for (int i = 0; i < split.n_outer; i++) {
        split.outer_count *= rows->shape[i];
    }
    return split;
}

/* Outer rows are numbered in C order of the row axes before the width. */
void
ps_outer_offsets(const ps_rows *rows, const ps_row_split *split, int64_t outer,
                 int64_t *target, int64_t *value)
{
    ps_walk at;
    ps_walk_to(&at, split->n_outer, rows->shape, outer);
    *target = ps_walk_offset(&at, rows->target_strides);
    *value = ps_walk_offset(&at, rows->value_strides);
}

/* Are the inner axes of a row contiguous in the values as well? Then a row is read
 * where it lies. */
static bool
has_contiguous_rows(const ps_rows *rows, const ps_row_split *split, int64_t itemsize)
{
    int64_t expected = itemsize;
    for (int i = rows->ndim - 1; i >= split->n_outer; i--) {
        if (rows->value_strides[i] != expected) {
            return false;
        }
        expected *= rows->shape[i];
    }
    return true;
}

/* Bytes of an element as kernels want it, for the stride of a packed block; what is
 * only moved keeps its size, which no type says: strings, records, unknown user
 * types. */
static int64_t
packed_size(const ps_value_source *source)
{
    return source->type == PS_raw ? source->values->itemsize
                                  : ps_dtype_size[source->type];
}

/* Packing costs a pass over the block; everything that kernels can read is left alone:
 * the right type (booleans never, whose bytes may be anything), native, aligned, rows
 * contiguous, and one stride from entry to entry, by which kernels step. Rows at
 * offsets of their own could be read by lists in some kernels, but then all the others
 * would have to know of them. */
ps_value_source
ps_value_source_of(const ps_address *address, const ps_rows *rows,
                   const ps_values *values, ps_row_split split, enum ps_dtype type)
{
    ps_value_source source = {.address = address,
                              .rows = rows,
                              .values = values,
                              .split = split,
                              .type = type,
                              .width = split.width};
    const bool is_even =
            ps_even_run(address->ndim, address->shape, values->entry_strides,
                        &source.stride) == address->n;
    const bool is_good = values->dtype == type && type != PS_b1 && !values->swapped &&
                         values->aligned &&
                         has_contiguous_rows(rows, &split, values->itemsize);
    const bool is_listed = values->offset != NULL || values->weights != NULL;
    source.packs = !is_even || !is_good || is_listed;
    if (source.packs) {
        source.is_constant = is_even && source.stride == 0 && !is_listed;
        source.stride = source.is_constant ? 0 : packed_size(&source) * split.width;
    }
    return source;
}

/* A part of the columns packs a narrower row; values that lie good are read `column`
 * items further on. The source itself stays what it is: pieces share it, and each has a
 * part of its own on its stack. */
ps_value_source
ps_narrow_values(const ps_value_source *source, int64_t column, int64_t width)
{
    ps_value_source part = *source;
    part.column = column;
    part.width = width;
    if (part.packs && !part.is_constant) {
        part.stride = packed_size(&part) * width;
    }
    return part;
}

/* One row stands for all where values do not depend on the entry; the product fits,
 * since callers keep n to a block. */
int64_t
ps_packed_nbytes(const ps_value_source *source, int64_t n)
{
    return source->packs
                   ? packed_size(source) * source->width * (source->is_constant ? 1 : n)
                   : 0;
}

/* to[c] = values[row, column + c] as `type`, c < width, run by run along the last of
 * the inner axes, of which there is at least one where rows are wider than an element.
 */
static void
pack_row(const ps_value_source *source, const char *row, char *to)
{
    const ps_rows *const rows = source->rows;
    const ps_values *const values = source->values;
    const int n_outer = source->split.n_outer;
    const int64_t *const strides = rows->value_strides + n_outer;
    const int64_t stride = rows->value_strides[rows->ndim - 1];
    ps_walk run;
    ps_walk_to(&run, rows->ndim - n_outer, rows->shape + n_outer, source->column);
    int64_t offset = ps_walk_offset(&run, strides);
    for (int64_t left = source->width;;) {
        const int64_t n = ps_min(ps_walk_left(&run), left);
        ps_convert(source->type, to, values->dtype, values->itemsize, values->swapped,
                   row + offset, stride, n);
        to += n * packed_size(source);
        left -= n;
        if (left == 0) {
            return;
        }
        ps_walk_on(&run, strides, &offset);
    }
}

/* Do entries lie side by side, and the items of a row apart, as values in C order do
 * for a target in Fortran order? Items have to be moved as they are. */
static bool
are_across(const ps_value_source *source, int64_t entry_stride)
{
    const ps_values *const values = source->values;
    return entry_stride == values->itemsize && values->dtype == source->type &&
           source->type != PS_b1 && !values->swapped &&
           ps_size_of(values->itemsize) >= 0 &&
           source->rows->ndim == source->split.n_outer + 1;
}

/* n rows of such entries: squares are turned in registers. ns an element of 4 of 8
 * columns of 12,500 float64, set in Fortran order, turned / row by row (Zen 3):
 * 0.61 / 0.98. */
static void
turn_rows(const ps_value_source *source, const char *from, int64_t n, char *buffer)
{
    enum {
        COLUMNS = 64
    };
    const int64_t itemsize = source->values->itemsize;
    const int64_t stride = source->rows->value_strides[source->rows->ndim - 1];
    int64_t offset[COLUMNS];
    for (int64_t first = 0; first < source->width; first += COLUMNS) {
        const int64_t columns = ps_min(COLUMNS, source->width - first);
        for (int64_t i = 0; i < columns; i++) {
            offset[i] = (source->column + first + i) * stride;
        }
        ps_kernels()->turn[ps_size_of(itemsize)](buffer + first * itemsize,
                                                 source->width * itemsize, offset,
                                                 columns, from, n);
    }
}

/* buffer[e] = the row of entry first + e, n of them, run by run along the innermost
 * entry axis: single elements a run at a time, rows one by one. */
static void
pack_block(const ps_value_source *source, int64_t first, int64_t n,
           int64_t value_offset, char *buffer)
{
    const ps_address *const address = source->address;
    const ps_values *const values = source->values;
    const int64_t stride = ps_inner_stride(address->ndim, values->entry_strides);
    const int64_t row_nbytes = ps_packed_nbytes(source, 1);
    ps_walk run;
    ps_walk_to(&run, address->ndim, address->shape, first);
    int64_t offset = ps_walk_offset(&run, values->entry_strides);
    for (int64_t done = 0; done < n;) {
        const char *const from = values->data + value_offset + offset;
        const int64_t count = ps_min(ps_walk_left(&run), n - done);
        if (source->split.width == 1) {
            ps_convert(source->type, buffer, values->dtype, values->itemsize,
                       values->swapped, from, stride, count);
            buffer += count * row_nbytes;
        }
        else if (are_across(source, stride)) {
            turn_rows(source, from, count, buffer);
            buffer += count * row_nbytes;
        }
        else {
            for (int64_t i = 0; i < count; i++, buffer += row_nbytes) {
                pack_row(source, from + i * stride, buffer);
            }
        }
        done += count;
        ps_walk_on(&run, values->entry_strides, &offset);
    }
}

/* Rows [first, first + n) that lie at offsets of their own, which the caller has
 * checked: buffer[i] = *(data + offset[first + i] + value_offset) by the loops of a
 * gather where kernels can read them as they are, else one by one. */
static void
pack_listed(const ps_value_source *source, int64_t first, int64_t n,
            int64_t value_offset, char *buffer)
{
    const ps_values *const values = source->values;
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t row_nbytes = ps_packed_nbytes(source, 1);
    const int size = ps_size_of(values->itemsize);
    const char *const from = values->data + value_offset;
    const bool is_single = source->split.width == 1;
    const bool is_ready =
            values->dtype == source->type && source->type != PS_b1 &&
            !values->swapped && values->aligned && size >= 0 &&
            has_contiguous_rows(source->rows, &source->split, values->itemsize);
    if (is_ready) {
        const ps_list list = {(int64_t *)values->offset + first, NULL, n};
        const char *const column = from + source->column * values->itemsize;
        if (is_single) {
            kernels->gather[size](buffer, &list, column, row_nbytes);
        }
        else {
            kernels->gather_rows(buffer, &list, column, row_nbytes, row_nbytes, false);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, buffer += row_nbytes) {
        const char *const row = from + values->offset[first + i];
        if (is_single) {
            ps_convert(source->type, buffer, values->dtype, values->itemsize,
                       values->swapped, row, 0, 1);
        }
        else {
            pack_row(source, row, buffer);
        }
    }
}

/* Values that do not depend on the entry are packed as the one row that they are: entry
 * 0 stands for all. Weights are the last step: each product is rounded once, in the
 * type of the sums, so that it is the same whichever way the values came. The block is
 * read only, since it may be the caller's. */
const char *
ps_block_values(const ps_value_source *source, int64_t first, int64_t n,
                int64_t value_offset, char *buffer)
{
    if (!source->packs) {
        return source->values->data + value_offset + first * source->stride +
               source->column * source->values->itemsize;
    }
    const ps_values *const values = source->values;
    if (values->offset != NULL) {
        pack_listed(source, first, n, value_offset, buffer);
    }
    else {
        pack_block(source, source->is_constant ? 0 : first, source->is_constant ? 1 : n,
                   value_offset, buffer);
    }
    if (values->weights != NULL) {
        const int64_t size = ps_dtype_size[source->type];
        ps_kernels()->scale[source->type](buffer, values->weights + first * size, n,
                                          source->width);
    }
    return buffer;
}
