/* Sums in slots (contract in slots.h): a scatter into what leaves first values as they
 * are.
 *
 * It runs on one thread where neighbours in the input have slots near each other, as
 * those of a mesh do: the scatter is then as fast as the values arrive, 1 ns each, and
 * threads, which would have to find out who owns what, take 3 times that. Contributions
 * that jump about are parted among threads as any scatter's are.
 */
#include "ops/slots.h"

#include <string.h>

#include "ops/buckets.h"
#include "ops/run.h"

/* n items of `size` bytes, a constant of this inlined function: the compiler makes
 * plain stores of what would be a call of memcpy for each item. */
PS_WIDTH_INLINE void
repeat(const size_t size, char *out, int64_t n, const char *item)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + i * (int64_t)size, item, size);
    }
}

/* -0.0 of floats, 0 of integers and bools: adding to it gives what was added, to the
 * bit. Nothing else leaves a first -0.0 as it is. */
static ps_status
fill_start(const ps_slots_call *call, ps_run *run)
{
    const enum ps_dtype type = call->values.dtype;
    const int64_t size = ps_dtype_size[type];
    const bool is_single = type == PS_f32 || type == PS_c64;
    char item[16] = {0};
    if (ps_dtype_kind[type] & (PS_KIND_FLOAT | PS_KIND_COMPLEX | PS_KIND_HALF)) {
        const int64_t part = ps_dtype_kind[type] == PS_KIND_HALF ? size
                             : is_single                         ? 4
                                                                 : 8;
        for (int64_t i = part - 1; i < size; i += part) {
            item[i] = (char)0x80;
        }
    }
    ps_stretch stretch = ps_stretch_of(run, call->n_out, 16);
    while (ps_next_stretch(&stretch)) {
        char *const out = call->out + stretch.first * size;
        const int64_t n = stretch.last - stretch.first;
        switch (size) {
            case 1:
                repeat(1, out, n, item);
                break;
            case 2:
                repeat(2, out, n, item);
                break;
            case 4:
                repeat(4, out, n, item);
                break;
            case 8:
                repeat(8, out, n, item);
                break;
            default:
                repeat(16, out, n, item);
        }
    }
    return ps_run_status(run);
}

/* Slots are an index like any other: they are checked as they are used. The scatter
 * goes on a run of its own, which hears what the caller's hears; whether it has threads
 * changes no bit, since each slot meets its values in order. */
ps_status
ps_sum_slots(void *argument, ps_run *run)
{
    const ps_slots_call *const call = argument;
    const enum ps_dtype type = call->values.dtype;
    const bool is_half = ps_dtype_kind[type] == PS_KIND_HALF;
    ps_index index = {.data = call->slot,
                      .strides = call->slot_strides,
                      .type = call->is_wide ? PS_INDEX_i64 : PS_INDEX_i32,
                      .size = call->n_out,
                      .step = ps_dtype_size[type]};
    ps_scatter_call scatter = {.address = {.ndim = call->ndim,
                                           .shape = call->shape,
                                           .link = call->zeros,
                                           .n = call->n,
                                           .n_index = 1,
                                           .index = &index,
                                           .mode = PS_MODE_IDS},
                               .target = {.data = call->out,
                                          .dtype = type,
                                          .itemsize = ps_dtype_size[type],
                                          .aligned = true,
                                          .is_private = true},
                               .values = {.data = call->values.data,
                                          .dtype = type,
                                          .itemsize = call->values.itemsize,
                                          .entry_strides = call->value_strides,
                                          .swapped = call->values.swapped,
                                          .aligned = call->values.aligned},
                               .op = PS_add,
                               .accumulator = is_half ? PS_f32 : type,
                               .include_self = true};
    PS_TRY(fill_start(call, run));
    if (ps_jumps_about(call->is_wide, call->slot, call->n)) {
        return ps_scatter(&scatter, run);
    }
    ps_run alone = {
            .threads = 1, .interrupted = run->interrupted, .argument = run->argument};
    return ps_scatter(&scatter, &alone);
}
