/* Numbers of an index looked at for their own sake (contract in numbers.h): an address
 * of one index over nothing. */
#include "python/numbers.h"

#include "base/sizes.h"
#include "python/arrays.h"

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

static ps_status
run_top(void *call, ps_run *run)
{
    return ps_find_top(call, run);
}

ps_status
ps_top_of(ps_state *state, PyArrayObject *index, PyArrayObject *mask, int64_t *top)
{
    lone_index lone;
    open_address(&lone, index, mask);
    ps_top_call call = {.address = lone.address};
    const ps_status status = ps_run_op(state, run_top, &call, PyArray_NBYTES(index));
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
