/* Numbers of an index looked at for their own sake (contract in numbers.h): an address
 * of one index over nothing. */
#include "python/numbers.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "python/arrays.h"
#include "python/copies.h"

/* An address and what it points to. */
typedef struct {
    ps_index index;
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], link[PS_MAX_DIMS],
            mask_strides[PS_MAX_DIMS];
    ps_address address;
} lone_index;

/* The array as it is now; a mask that has lost its axes meanwhile is left aside. */
static void
open_address(lone_index *lone, PyArrayObject *index, PyArrayObject *mask)
{
    const int ndim = PyArray_NDIM(index);
    const int lead = mask != NULL ? ndim - PyArray_NDIM(mask) : 0;
    bool fits = mask != NULL && lead >= 0 && PyArray_ISBOOL(mask);
    for (int i = 0; i < ndim; i++) {
        lone->shape[i] = PyArray_DIM(index, i);
        lone->strides[i] = PyArray_STRIDE(index, i);
        lone->link[i] = 0;
        lone->mask_strides[i] = 0;
        if (fits && i >= lead && PyArray_DIM(mask, i - lead) != 1) {
            lone->mask_strides[i] = PyArray_STRIDE(mask, i - lead);
            fits = PyArray_DIM(mask, i - lead) == lone->shape[i];
        }
    }
    lone->index = (ps_index){.data = PyArray_BYTES(index),
                             .strides = lone->strides,
                             .type = (enum ps_index_type)ps_index_type_of(index),
                             .swapped = ps_is_swapped(index)};
    lone->address = (ps_address){.ndim = ndim,
                                 .shape = lone->shape,
                                 .link = lone->link,
                                 .n = PyArray_SIZE(index),
                                 .n_index = 1,
                                 .index = &lone->index,
                                 .mask = fits ? PyArray_BYTES(mask) : NULL,
                                 .mask_strides = lone->mask_strides};
}

ps_status
ps_top_of(ps_state *state, PyArrayObject *index, PyArrayObject *mask, int64_t *top)
{
    lone_index lone;
    open_address(&lone, index, mask);
    ps_top_call call = {.address = lone.address};
    const ps_status status =
            ps_run_op(state, ps_find_top, &call, PyArray_NBYTES(index));
    *top = call.top;
    return status;
}

static ps_status
run_check(void *address, ps_run *run)
{
    return ps_address_check(address, run);
}

ps_status
ps_check_numbers(ps_state *state, PyArrayObject *index, PyArrayObject *mask,
                 enum ps_mode mode, int64_t size)
{
    lone_index lone;
    open_address(&lone, index, mask);
    lone.index.size = size;
    lone.index.step = 1;
    lone.address.mode = mode;
    return ps_run_op(state, run_check, &lone.address, PyArray_NBYTES(index));
}

/* Of a contiguous index in native order. */
static int
are_sorted(PyArrayObject *index, int batch_dims)
{
    enum {
        BLOCK = 256
    };
    const int64_t n = PyArray_SIZE(index), size = PyArray_ITEMSIZE(index);
    const int type = ps_index_type_of(index);
    const char *const data = PyArray_BYTES(index);
    int64_t row[BLOCK], before = INT64_MIN, n_batches = 1;
    if (type < 0 || PyArray_NDIM(index) < batch_dims) {
        return ps_raise_changed("ids");
    }
    for (int i = 0; i < batch_dims; i++) {
        n_batches *= PyArray_DIM(index, i);
    }
    const int64_t each = n > 0 ? n / n_batches : 1;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        ps_kernels()->rows[type](PS_MODE_DROP, row, data + first * size, count, size,
                                 INT64_MAX);
        for (int64_t i = 0; i < count; i++) {
            if (row[i] < 0 || (row[i] < before && (first + i) % each != 0)) {
                return 0;
            }
            before = row[i];
        }
        if (ps_hears(first)) {
            if (ps_hear(first) < 0) {
                return -1;
            }
            if (!ps_is_there(index, data, n)) {
                return ps_raise_changed("ids");
            }
        }
    }
    return 1;
}

int
ps_are_sorted(PyArrayObject *index, int batch_dims)
{
    PyArrayObject *const plain = ps_contiguous(index);
    const int sorted = plain != NULL ? are_sorted(plain, batch_dims) : -1;
    Py_XDECREF((PyObject *)plain);
    return sorted;
}
