/* Arrays beside a mask (contract in operand.h).
 *
 * Each array merges its axes for itself, so that a contiguous one is read in place
 * whatever the others look like, and a broadcast one is never copied whole.
 */
#include "ops/operand.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/strided.h"
#include "ops/values.h"

/* A block of the element at `offset`, or the n < PS_WORD_BITS items that are asked
 * for, as kernels are to see it. */
static void
repeat_item(const ps_operand *operand, int64_t offset, int64_t n, char *items)
{
    ps_convert(operand->type, items, operand->dtype, operand->itemsize,
               operand->swapped, operand->data + offset, 0, ps_min(n, PS_WORD_BITS));
}

/* Kernels can read what has their type, native. Booleans are never ready: every true
 * value is to become 1. A single element for all is repeated once and for all. */
void
ps_operand_open(ps_operand *operand, const ps_view *view, enum ps_dtype type)
{
    operand->data = view->data;
    operand->itemsize = view->itemsize;
    operand->dtype = view->dtype;
    operand->type = type;
    operand->swapped = view->swapped;
    operand->is_ready = view->dtype == type && type != PS_b1 && !view->swapped;
    operand->ndim = ps_merge_view(view, operand->shape, operand->strides);
    const bool is_run = operand->ndim == 1;
    operand->is_constant = operand->ndim == 0 || (is_run && operand->strides[0] == 0);
    operand->is_flat =
            operand->is_constant ||
            (operand->is_ready && is_run && operand->strides[0] == operand->itemsize);
    if (operand->is_constant) {
        repeat_item(operand, 0, is_run ? operand->shape[0] : 1, operand->item);
    }
}

/* Of an element as kernels are to see it; bytes that are only moved keep their size. */
static int64_t
size_of_type(const ps_operand *operand)
{
    return operand->type == PS_raw ? operand->itemsize : ps_dtype_size[operand->type];
}

/* Flat arrays are read in place, whatever the block; all others may need to be packed,
 * since a block may end a run. */
int64_t
ps_operand_nbytes(const ps_operand *operand)
{
    return operand->is_flat ? 0 : PS_OPERAND_BLOCK * size_of_type(operand);
}

/* A flat array is no longer flat then: every block has to be packed. */
void
ps_operand_pack(ps_operand *operand)
{
    operand->is_ready = false;
    operand->is_flat = operand->is_constant;
}

/* For targets, which kernels work on in place: no conversion is thought of, and the
 * caller ends its blocks where a run ends. */
char *
ps_operand_run(const ps_operand *operand, int64_t first, int64_t *n, int64_t *stride)
{
    ps_walk run;
    ps_walk_to(&run, operand->ndim, operand->shape, first);
    *n = ps_walk_left(&run);
    *stride = ps_inner_stride(operand->ndim, operand->strides);
    return operand->data + ps_walk_offset(&run, operand->strides);
}

/* Whole rows whose items lie apart while the rows lie side by side, as in Fortran
 * order, from the start of one on: items that are moved as they are go to the buffer,
 * n at most. Returns how many; the walk is at the last of these rows. ns an element to
 * select half of 12,500 rows of 8 float64 by a mask that lies alike, turned / row by
 * row (Zen 3): 1.5 / 5.4. */
static int64_t
turned_rows(const ps_operand *operand, ps_walk *run, int64_t *offset, char *to,
            int64_t n)
{
    enum {
        COLUMNS = 64, /* columns that are turned at a time */
        LEAST_ROWS = 8
    };
    const int axis = operand->ndim - 2;
    const int64_t size = operand->itemsize;
    if (axis < 0 || !operand->is_ready || operand->strides[axis] != size ||
        run->at[axis + 1] != 0) {
        return 0;
    }
    const int64_t length = operand->shape[axis + 1],
                  stride = operand->strides[axis + 1];
    const int64_t rows = ps_min(n / length, operand->shape[axis] - run->at[axis]);
    if (rows < LEAST_ROWS) {
        return 0;
    }
    int64_t columns[COLUMNS];
    for (int64_t first = 0; first < length; first += COLUMNS) {
        const int64_t count = ps_min(COLUMNS, length - first);
        for (int64_t i = 0; i < count; i++) {
            columns[i] = (first + i) * stride;
        }
        ps_kernels()->turn[ps_size_of(size)](to + first * size, length * size, columns,
                                             count, operand->data + *offset, rows);
    }
    run->at[axis] += rows - 1;
    *offset += (rows - 1) * size;
    return rows * length;
}

/* Elements of a run as `type`, or as many of what comes behind it as are the same: n at
 * most. Returns how many. */
static int64_t
one_run(const ps_operand *operand, ps_walk *run, int64_t offset, char *to, int64_t n)
{
    const int64_t count = ps_min(ps_walk_left(run), n);
    ps_convert(operand->type, to, operand->dtype, operand->itemsize, operand->swapped,
               operand->data + offset, ps_inner_stride(operand->ndim, operand->strides),
               count);
    return count + ps_walk_repeat(run, operand->strides, to, size_of_type(operand),
                                  count, n - count);
}

/* item[i] = element first + i as `type`, n of them. A run that a kernel can read as it
 * lies; else it is packed, an item that stands for all of them once. buffer has room
 * for n items of `type`. */
const char *
ps_operand_block(const ps_operand *operand, int64_t first, int64_t n, char *buffer,
                 int64_t *step)
{
    *step = 0;
    if (operand->is_constant) {
        return operand->item;
    }
    const int64_t stride = ps_inner_stride(operand->ndim, operand->strides);
    ps_walk run;
    ps_walk_to(&run, operand->ndim, operand->shape, first);
    int64_t offset = ps_walk_offset(&run, operand->strides);
    const bool is_whole = ps_walk_left(&run) >= n;
    if (stride == 0 && is_whole) {
        repeat_item(operand, offset, n, buffer);
        return buffer;
    }
    *step = PS_WORD_BITS;
    if (operand->is_ready && is_whole && stride == operand->itemsize) {
        return operand->data + offset;
    }
    for (int64_t done = 0;;) {
        char *const to = buffer + done * size_of_type(operand);
        const int64_t turned = turned_rows(operand, &run, &offset, to, n - done);
        done += turned > 0 ? turned : one_run(operand, &run, offset, to, n - done);
        if (done >= n) {
            return buffer;
        }
        ps_walk_on(&run, operand->strides, &offset);
    }
}

/* Strided copies, run by run, of a block that a kernel has left in a buffer: element
 * first + i receives item i of `from`, n of them. */
void
ps_operand_store(const ps_operand *operand, int64_t first, int64_t n, const char *from)
{
    const int size = ps_size_of(operand->itemsize);
    const int64_t stride = ps_inner_stride(operand->ndim, operand->strides);
    ps_walk run;
    ps_walk_to(&run, operand->ndim, operand->shape, first);
    int64_t offset = ps_walk_offset(&run, operand->strides);
    for (int64_t done = 0;;) {
        const int64_t count = ps_min(ps_walk_left(&run), n - done);
        ps_kernels()->copy[size](operand->data + offset, stride, from,
                                 operand->itemsize, count);
        from += count * operand->itemsize;
        done += count;
        if (done >= n) {
            return;
        }
        ps_walk_on(&run, operand->strides, &offset);
    }
}
