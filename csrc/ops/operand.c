/* Arrays beside a mask (contract in operand.h).
 *
 * Each array merges its axes for itself, so that a contiguous one is read in place
 * whatever the others look like, and a broadcast one is never copied whole. Coordinates
 * are divided out once a block; from run to run they are counted up.
 * The comments below add what operand.h does not say.
 */
#include "ops/operand.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"

/* Booleans are never ready: every true value is to become 1. */
void
ps_operand_open(ps_operand *operand, const ps_view *view, enum ps_dtype type)
{
    operand->data = view->data;
    operand->itemsize = view->itemsize;
    operand->dtype = view->dtype;
    operand->type = type;
    operand->swapped = view->swapped;
    operand->is_ready = view->dtype == type && type != PS_b1 && !view->swapped;
    int last = -1;
    for (int axis = 0; axis < view->ndim; axis++) {
        const int64_t size = view->shape[axis], stride = view->strides[axis];
        if (size == 1) {
            continue;
        }
        if (last >= 0 && operand->strides[last] == stride * size) {
            operand->shape[last] *= size;
            operand->strides[last] = stride;
            continue;
        }
        last++;
        operand->shape[last] = size;
        operand->strides[last] = stride;
    }
    operand->ndim = last + 1;
    const bool is_one = operand->ndim == 0 || (last == 0 && operand->strides[0] == 0);
    operand->is_flat =
            operand->is_ready &&
            (is_one || (last == 0 && operand->strides[0] == operand->itemsize));
}

/* Of an element as kernels are to see it; bytes that are only moved keep their size. */
static int64_t
size_of_type(const ps_operand *operand)
{
    return operand->type == PS_raw ? operand->itemsize : ps_dtype_size[operand->type];
}

/* Flat arrays are read in place, whatever the block. */
int64_t
ps_operand_nbytes(const ps_operand *operand)
{
    return operand->is_flat ? 0 : PS_OPERAND_BLOCK * size_of_type(operand);
}

/* Where a run along the innermost axis starts, and what is left of it. */
typedef struct {
    char *data;
    int64_t left;
    int64_t stride;
    int64_t coordinate[PS_MAX_DIMS];
} run_place;

/* The run that holds element `first`. An array of one element for all is a run without
 * end. */
static void
find_run(const ps_operand *operand, int64_t first, run_place *run)
{
    const int last = operand->ndim - 1;
    run->data = operand->data;
    run->left = INT64_MAX;
    run->stride = 0;
    if (last < 0) {
        return;
    }
    for (int axis = last; axis >= 0; axis--) {
        const int64_t at = axis > 0 ? first % operand->shape[axis] : first;
        first = axis > 0 ? first / operand->shape[axis] : 0;
        run->coordinate[axis] = at;
        run->data += at * operand->strides[axis];
    }
    run->stride = operand->strides[last];
    run->left = operand->shape[last] - run->coordinate[last];
}

/* From a run, of which `done` elements have been taken to its end, to the next one. */
static void
next_run(const ps_operand *operand, run_place *run)
{
    const int last = operand->ndim - 1;
    run->data -= run->coordinate[last] * run->stride;
    run->coordinate[last] = 0;
    run->left = operand->shape[last];
    for (int axis = last - 1; axis >= 0; axis--) {
        run->data += operand->strides[axis];
        if (++run->coordinate[axis] < operand->shape[axis]) {
            return;
        }
        run->data -= operand->shape[axis] * operand->strides[axis];
        run->coordinate[axis] = 0;
    }
}

/* A flat array is no longer flat then: every block has to be packed. */
void
ps_operand_pack(ps_operand *operand)
{
    operand->is_ready = operand->is_flat = false;
}

/* For targets, which kernels work on in place: no conversion is thought of. */
char *
ps_operand_run(const ps_operand *operand, int64_t first, int64_t *n, int64_t *stride)
{
    run_place run;
    find_run(operand, first, &run);
    *n = run.left;
    *stride = run.stride;
    return run.data;
}

/* A row that repeats along the axis before it is packed once, and copied as often as
 * the block asks for: `count` elements at `row`, of which `wanted` more are wanted.
 * Returns how many were added, and steps over their runs. */
static int64_t
repeat_row(const ps_operand *operand, run_place *run, char *row, int64_t count,
           int64_t wanted)
{
    const int axis = operand->ndim - 2;
    if (axis < 0 || operand->strides[axis] != 0 || count < operand->shape[axis + 1]) {
        return 0;
    }
    const int64_t rest = operand->shape[axis] - 1 - run->coordinate[axis];
    const int64_t rows = ps_min(wanted / count, rest);
    const size_t nbytes = (size_t)(count * size_of_type(operand));
    for (int64_t i = 1; i <= rows; i++) {
        memcpy(row + (size_t)i * nbytes, row, nbytes);
    }
    run->coordinate[axis] += rows;
    return rows * count;
}

/* A run that a kernel can read as it lies; else it is packed, an item that stands for
 * all of them once. */
const char *
ps_operand_block(const ps_operand *operand, int64_t first, int64_t n, char *buffer,
                 bool *is_one)
{
    run_place run;
    find_run(operand, first, &run);
    *is_one = run.stride == 0 && run.left >= n;
    if (operand->is_ready && run.left >= n &&
        (*is_one || run.stride == operand->itemsize)) {
        return run.data;
    }
    const int64_t size = size_of_type(operand);
    if (*is_one) {
        n = 1;
    }
    char *to = buffer;
    for (int64_t done = 0;;) {
        const int64_t count = ps_min(run.left, n - done);
        ps_convert(operand->type, to, operand->dtype, operand->itemsize,
                   operand->swapped, run.data, run.stride, count);
        const int64_t added = repeat_row(operand, &run, to, count, n - done - count);
        to += (count + added) * size;
        done += count + added;
        if (done >= n) {
            return buffer;
        }
        next_run(operand, &run);
    }
}

/* Strided copies, run by run, of a block that a kernel has left in a buffer. */
void
ps_operand_store(const ps_operand *operand, int64_t first, int64_t n, const char *from)
{
    const int size = ps_size_of(operand->itemsize);
    run_place run;
    find_run(operand, first, &run);
    for (int64_t done = 0;;) {
        const int64_t count = ps_min(run.left, n - done);
        ps_kernels()->copy[size](run.data, run.stride, from, operand->itemsize, count);
        from += count * operand->itemsize;
        done += count;
        if (done >= n) {
            return;
        }
        next_run(operand, &run);
    }
}

/* Reversed axes lie in the same order as plain ones. */
static int64_t
magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* An insertion sort: stable, and nothing to do for C order. */
void
ps_order_axes(ps_view *views, int n_views, int64_t *shape, int64_t *const *strides)
{
    const int ndim = views[0].ndim;
    for (int i = 1; i < ndim; i++) {
        for (int axis = i;
             axis > 0 && magnitude(strides[0][axis - 1]) < magnitude(strides[0][axis]);
             axis--) {
            const int64_t size = shape[axis];
            shape[axis] = shape[axis - 1];
            shape[axis - 1] = size;
            for (int v = 0; v < n_views; v++) {
                const int64_t stride = strides[v][axis];
                strides[v][axis] = strides[v][axis - 1];
                strides[v][axis - 1] = stride;
            }
        }
    }
    for (int v = 0; v < n_views; v++) {
        views[v].shape = shape;
        views[v].strides = strides[v];
    }
}
