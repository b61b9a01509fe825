/* Traits and way of a call (contract in choose.h): what is known before a pass over the
 * entries is planned.
 *
 *   traits  from op, types and byte orders: does it move, count, need a stage?
 *   way     from sizes: is it worth a plan of work at all, and who checks the index?
 */
#include <stddef.h>

#include "base/sizes.h"
#include "ops/choose.h"
#include "ops/joined.h"

enum {
    /* Calls that move up to this stay in one piece and one list. */
    ONE_LIST_BYTES = 256 << 10,
    /* Entries of a call that needs no list (measured above is_short). */
    SHORT_ENTRIES = 4096,
    /* Bytes of a target of which a copy stays near, and entries that each of its
     * elements has to meet on the average (measured above is_copied). */
    COPIED_BYTES = 256 << 10,
    MANY_ENTRIES = 16,
    /* Bytes of a target that nobody sees, of which lists read the index once as well,
     * beyond which a tuple becomes one: ns a pair of columns added to float64, by lists
     * / joined, of 7 KB 1.7 / 1.8, of 720 KB 2.5 / 2.7, of 8 MB 8.0 / 5.6 (Zen 3). */
    JOINED_FAR = 1 << 20
};

/* Moves need a stage only where bytes have to change on the way to a foreign byte
 * order; reductions wherever kernels cannot work on the target itself. */
static bool
needs_stage(const ps_scatter_call *call, bool is_move)
{
    const ps_target *const target = &call->target;
    if (is_move) {
        return target->swapped && (call->values.dtype != target->dtype ||
                                   call->values.swapped != target->swapped);
    }
    return ps_forced_choice() == PS_ALGORITHM_staged || call->op == PS_mean ||
           call->compensated || target->swapped || !target->aligned ||
           call->accumulator != target->dtype;
}

ps_traits
ps_traits_of(const ps_scatter_call *call)
{
    const bool is_move = ps_is_move(call->op), is_mean = call->op == PS_mean;
    return (ps_traits){.is_move = is_move,
                       .is_mean = is_mean,
                       .needs_stage = needs_stage(call, is_move),
                       .needs_prefill = !is_move && !call->include_self,
                       .applied = is_mean ? PS_add : call->op,
                       .type = is_move ? call->target.dtype : call->accumulator};
}

/* Single elements that are reduced, by kernels on the target itself. */
static bool
is_of_elements(const ps_scatter_call *call)
{
    return call->rows.ndim == 0 && call->traits.applied < PS_NUM_REDUCTIONS &&
           !call->traits.needs_stage && !call->traits.needs_prefill &&
           call->target.dtype < PS_NUM_DTYPES;
}

/* Single elements that are set, whole, in the order of their bytes. */
static bool
sets_elements(const ps_scatter_call *call)
{
    return call->op == PS_set && call->rows.ndim == 0 && call->spans == NULL &&
           !call->traits.needs_stage && !call->target.swapped &&
           call->target.dtype < PS_NUM_DTYPES && ps_size_of(call->target.itemsize) >= 0;
}

/* Elements whose values kernels read as they lie, and few: a handful make a list on the
 * stack, more have an index that needs none. It spares the tiny calls that loops are
 * full of a third of their time, and those of a thousand entries the half (1,000
 * float64 into 100: 3.8 us and 2.5, Zen 3). */
static bool
is_short(const ps_scatter_call *call)
{
    const ps_address *const address = &call->address;
    const ps_values *const values = &call->values;
    if (address->n > SHORT_ENTRIES || address->ndim > 1 ||
        !(is_of_elements(call) || sets_elements(call)) || call->target.dtype == PS_b1 ||
        values->dtype != call->target.dtype || values->swapped || !values->aligned ||
        values->offset != NULL || values->weights != NULL) {
        return false;
    }
    return address->n <= PS_FEW_ENTRIES ||
           (ps_forced_choice() == PS_ALGORITHM_automatic &&
            address->mode == PS_MODE_RAISE &&
            ps_address_is_plain(address, call->target.itemsize));
}

/* Is the index one that kernels read as it lies? */
static bool
is_plain(const ps_scatter_call *call)
{
    return is_of_elements(call) && call->address.n_index == 1 &&
           ps_address_is_plain(&call->address, call->target.itemsize);
}

bool
ps_meets_many(const ps_scatter_call *call)
{
    return is_plain(call) &&
           call->address.n / MANY_ENTRIES >= call->address.index[0].size;
}

/* May the call run on a copy of the target, of which elements that changed are written
 * back? One pass then checks and writes. ns an entry of 1e6 float64 (Zen 3), with a
 * scan before / with a copy: into 1,000 0.80 / 0.58, into 16,000 1.2 / 1.0; at 8
 * entries an element both take the same, at one the copy takes three times as long. */
static bool
is_copied(const ps_scatter_call *call)
{
    const ps_address *const address = &call->address;
    const bool is_forced = ps_forced_choice() == PS_ALGORITHM_copied;
    return is_plain(call) &&
           (is_forced ||
            (ps_forced_choice() == PS_ALGORITHM_automatic && ps_meets_many(call) &&
             address->index[0].size <= COPIED_BYTES / call->target.itemsize));
}

/* May the whole call be one list that a single piece makes before it writes? Then the
 * list is the check: ps_choose does not cut such a call, and its block is all of it.
 * Those that a test forces to be cut, and plans, whose rows are in bounds, are not for
 * that. */
static bool
is_one_list(const ps_scatter_call *call, int64_t row_count)
{
    int64_t nbytes;
    return call->address.n <= PS_BLOCK && call->address.plan == NULL &&
           ps_forced_choice() == PS_ALGORITHM_automatic &&
           !call->traits.needs_prefill && !call->traits.needs_stage &&
           ps_multiply(row_count, call->target.itemsize, &nbytes) &&
           nbytes <= ONE_LIST_BYTES &&
           call->address.n * (nbytes + 16) <= ONE_LIST_BYTES;
}

/* Rows side by side in the target, reduced by kernels on the target itself. */
static bool
is_of_rows(const ps_scatter_call *call)
{
    const ps_rows *const rows = &call->rows;
    int64_t nbytes = call->target.itemsize;
    for (int axis = rows->ndim - 1; axis >= 0; axis--) {
        if (rows->target_strides[axis] != nbytes) {
            return false;
        }
        nbytes *= rows->shape[axis];
    }
    return rows->ndim > 0 && call->traits.applied < PS_NUM_REDUCTIONS &&
           !call->traits.needs_stage && !call->traits.needs_prefill &&
           call->target.dtype < PS_NUM_DTYPES;
}

/* Does an element of a tuple's target lie more than JOINED_FAR from the first? */
static bool
reaches_far(const ps_address *address)
{
    int64_t reach = 0;
    for (int m = 0; m < address->n_index; m++) {
        reach += (address->index[m].size - 1) * address->index[m].step;
    }
    return reach > JOINED_FAR;
}

/* Does a tuple of indices become one first? Those that fit one list do not: ns a pair
 * of int64 added to float64, by one list / joined: 300 pairs 4.5 / 5.1, 2,000 1.8 /
 * 2.1; by several lists / joined, 5,000 2.1 / 1.9, of columns of one array 3.5 / 2.3;
 * 1e6 into 1e6 6.5 / 4.1 and 8.8 / 3.9, their maxima 11.5 / 4.5; 200,000 rows of 16
 * float32 into 100 x 100 9.1 / 7.2 (Zen 3). */
static bool
is_joined(const ps_scatter_call *call)
{
    const ps_address *const address = &call->address;
    if (address->n <= PS_BLOCK || address->n > PS_JOINED_MOST ||
        ps_forced_choice() != PS_ALGORITHM_automatic) {
        return false;
    }
    const int64_t step = ps_common_step(address);
    if (step == 0 || (call->target.is_private && !reaches_far(address))) {
        return false;
    }
    if (is_of_elements(call) || sets_elements(call)) {
        return step % call->target.itemsize == 0;
    }
    return is_of_rows(call) && !call->target.is_private;
}

enum ps_way
ps_choose_way(const ps_scatter_call *call, int64_t row_count)
{
    if (is_short(call)) {
        return PS_WAY_SHORT;
    }
    if (call->address.n == 0 || row_count == 0 || call->target.itemsize == 0) {
        return PS_WAY_NONE;
    }
    if (is_joined(call)) {
        return PS_WAY_JOINED;
    }
    if (call->target.is_private) {
        return PS_WAY_PRIVATE;
    }
    return is_copied(call)                ? PS_WAY_COPIED
           : is_one_list(call, row_count) ? PS_WAY_LIST
                                          : PS_WAY_CHECKED;
}
