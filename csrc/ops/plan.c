/* Building a plan (contract in plan.h), in time proportional to the index.
 *
 *   rows    the index becomes lists, block by block, as in any call: checked in a copy,
 *           negatives and modes resolved; what is kept is the row of each entry
 *   look    sorted? between which rows? Entries in ascending order need no order
 *   groups  dense: one for each row of the axis, by counting; compact, where the axis
 *           is much longer than the index: one for each row that is named, by a radix
 *           sort of (row, entry) words
 *
 * Both sorts are stable, so a row keeps its entries in the order of the index.
 * Loops over rows exist for int32 and int64: `is_wide` is a constant of an inlined
 * function there.
 */
#include "ops/plan.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/address.h"
#include "ops/group.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    /* Row pointers cover the whole axis up to this many rows per entry. */
    DENSE_ROWS = 4,
    DENSE_SPARE = 1024
};

/* Bytes of n items of one of the plan's arrays, which all have one width. In range: n
 * is no more than ps_build_plan has allowed. */
static int64_t
nbytes_of(const ps_plan *plan, int64_t n)
{
    return ps_width_bytes(plan->is_wide, n);
}

/* What __sizeof__ and nbytes show: all arrays, of which `order` and `touched` may be
 * missing. */
int64_t
ps_plan_nbytes(const ps_plan *plan)
{
    const int64_t order = plan->order != NULL ? plan->n_kept : 0;
    const int64_t touched = plan->touched != NULL ? plan->n_groups : 0;
    return nbytes_of(plan, plan->n + order + plan->n_groups + 1 + touched);
}

/* The sizes of its arrays are kept in the plan, so closing needs no more than that. */
void
ps_close_plan(ps_plan *plan)
{
    ps_scratch_put(plan->row, nbytes_of(plan, plan->n));
    ps_scratch_put(plan->order, nbytes_of(plan, plan->n_kept));
    ps_scratch_put(plan->start, nbytes_of(plan, plan->n_groups + 1));
    ps_scratch_put(plan->touched, nbytes_of(plan, plan->n_groups));
    plan->row = plan->order = plan->start = plan->touched = NULL;
}

/* ---- rows ---- */

/* row[first + i] = the row of entry i of a block of n, -1 for those that the list
 * leaves out. Offsets of the list are rows, since the address has steps of one. Where
 * some are left out, all are -1 first: a list does not name those that it lacks. */
PS_WIDTH_INLINE void
store_rows(const bool is_wide, void *row, int64_t first, int64_t n, const ps_list *list)
{
    if (list->source == NULL) {
        for (int64_t i = 0; i < n; i++) {
            ps_put(is_wide, row, first + i, list->offset[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        ps_put(is_wide, row, first + i, -1);
    }
    for (int64_t i = 0; i < list->n; i++) {
        ps_put(is_wide, row, first + list->source[i], list->offset[i]);
    }
}

/* Is one of n entries below 0? The rows kernel under "drop" says so: with an axis
 * without end, nothing else is out of bounds. */
static bool
holds_negative(const ps_index *index, int64_t first, int64_t n, int64_t *room)
{
    const bool is_signed = index->type % 2 == 0;
    const int64_t stride = index->strides[0];
    return is_signed && ps_kernels()->rows[index->type](PS_MODE_DROP, room,
                                                        index->data + first * stride, n,
                                                        stride, INT64_MAX) > 0;
}

/* Note the first entry below 0, if it is among the n from `first` on: ids of segments
 * have no negative meaning, and the error names it. */
static void
note_negative(ps_plan *plan, const ps_index *index, int64_t first, int64_t n,
              int64_t *room)
{
    if (plan->has_negative || !holds_negative(index, first, n, room)) {
        return;
    }
    int64_t i = 0;
    while (i < n - 1 && room[i] >= 0) {
        i++;
    }
    plan->has_negative = true;
    plan->first_negative = first + i;
}

/* row[e] for all n entries, n_kept and has_negative. A block is checked in its copy
 * before it is stored; the first index out of bounds under `raise` ends it, and the
 * plan is thrown away by the caller. */
static ps_status
fill_rows(ps_plan_build *build, ps_run *run)
{
    ps_plan *const plan = build->plan;
    const ps_address *const address = &build->address;
    ps_list_room room;
    if (!ps_list_room_open(&room, plan->n)) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_status status = PS_SUCCESS;
    int64_t unheard = 0;
    for (int64_t first = 0; first < plan->n; first += room.capacity) {
        ps_list list;
        const int64_t n = ps_min(room.capacity, plan->n - first);
        if (ps_run_stops_after(run, &unheard, n * PS_LINE_BYTES)) {
            status = ps_run_status(run);
            break;
        }
        status = ps_address_list(address, first, n, &room, &list);
        if (status.code != PS_OK) {
            break;
        }
        plan->is_wide ? store_rows(true, plan->row, first, n, &list)
                      : store_rows(false, plan->row, first, n, &list);
        plan->n_kept += list.n;
        note_negative(plan, address->index, first, n, room.row);
    }
    ps_list_room_close(&room);
    return status;
}

/* ---- a look at all rows ---- */

/* is_sorted, min and max of row [n], -1 left out where `drops`. Without a branch on
 * rows that are left out, where none is, the compiler makes vector code of the loop. */
PS_WIDTH_INLINE void
look_at_rows(const bool is_wide, const bool drops, ps_plan *plan, ps_run *run)
{
    int64_t low = INT64_MAX, high = -1, before = 0;
    bool is_sorted = true;
    ps_stretch part = ps_stretch_of(run, plan->n, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t row = ps_at(is_wide, plan->row, i);
            if (!drops || row >= 0) {
                low = ps_min(low, row);
                high = ps_max(high, row);
                is_sorted &= row >= before;
                before = row;
            }
        }
    }
    plan->is_sorted = is_sorted;
    plan->min = high < 0 ? 0 : low;
    plan->max = high;
}

/* Which of the four loops it is: by width, and by whether rows are left out. */
static ps_status
look(ps_plan *plan, ps_run *run)
{
    if (plan->n_kept < plan->n) {
        plan->is_wide ? look_at_rows(true, true, plan, run)
                      : look_at_rows(false, true, plan, run);
    }
    else {
        plan->is_wide ? look_at_rows(true, false, plan, run)
                      : look_at_rows(false, false, plan, run);
    }
    return ps_run_status(run);
}

/* ---- groups, one for each row of the axis ---- */

/* start[g + 1] = entries of row g, then their sum up to it. */
PS_WIDTH_INLINE void
count_rows(const bool is_wide, ps_plan *plan, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, plan->n, PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t row = ps_at(is_wide, plan->row, i);
            if (row >= 0) {
                ps_put(is_wide, plan->start, row + 1,
                       ps_at(is_wide, plan->start, row + 1) + 1);
            }
        }
    }
    int64_t sum = 0;
    part = ps_stretch_of(run, plan->n_groups, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t g = part.first + 1; g <= part.last; g++) {
            const int64_t count = ps_at(is_wide, plan->start, g);
            plan->largest = ps_max(plan->largest, count);
            plan->n_named += count > 0;
            sum += count;
            ps_put(is_wide, plan->start, g, sum);
        }
    }
}

/* Ask for the place where the entry `ahead` entries on will be put: its start, and the
 * line of `order` that this names by then or nearly so. Stores wait for their lines one
 * after the other; asked for, they come side by side. */
PS_WIDTH_INLINE void
ask_place(const bool is_wide, const ps_plan *plan, int64_t i)
{
    enum {
        START_AHEAD = 24,
        ORDER_AHEAD = 12
    };
    const size_t size = is_wide ? sizeof(int64_t) : sizeof(int32_t);
    if (i + START_AHEAD < plan->n) {
        const int64_t later = ps_max(0, ps_at(is_wide, plan->row, i + START_AHEAD));
        const int64_t next = ps_max(0, ps_at(is_wide, plan->row, i + ORDER_AHEAD));
        __builtin_prefetch((char *)plan->start + (size_t)later * size, 1);
        __builtin_prefetch(
                (char *)plan->order + (size_t)ps_at(is_wide, plan->start, next) * size,
                1);
    }
}

/* start[g] moves along its group while entries are placed, up to the start of the next
 * one; at the end all are moved back by one place. */
PS_WIDTH_INLINE void
place_entries(const bool is_wide, ps_plan *plan, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, plan->n, 2 * PS_LINE_BYTES);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t row = ps_at(is_wide, plan->row, i);
            ask_place(is_wide, plan, i);
            if (row >= 0) {
                const int64_t to = ps_at(is_wide, plan->start, row);
                ps_put(is_wide, plan->order, to, i);
                ps_put(is_wide, plan->start, row, to + 1);
            }
        }
    }
    part = ps_stretch_of(run, plan->n_groups, 8);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t g = plan->n_groups - i;
            ps_put(is_wide, plan->start, g, ps_at(is_wide, plan->start, g - 1));
        }
    }
    ps_put(is_wide, plan->start, 0, 0);
}

/* start [size + 1] and, unless entries are in order already, order [n_kept]: entry
 * numbers grouped by row, in the order of the index within each. Two passes over row,
 * as in any counting sort. */
static ps_status
group_dense(ps_plan *plan, ps_run *run)
{
    plan->n_groups = plan->size;
    plan->start = ps_scratch_get(nbytes_of(plan, plan->n_groups + 1));
    if (plan->start == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(ps_run_fill(run, plan->start, 0, nbytes_of(plan, plan->n_groups + 1)));
    plan->is_wide ? count_rows(true, plan, run) : count_rows(false, plan, run);
    PS_TRY(ps_run_status(run));
    if (plan->order != NULL) {
        plan->is_wide ? place_entries(true, plan, run)
                      : place_entries(false, plan, run);
    }
    return ps_run_status(run);
}

/* ---- groups, one for each row that is named ---- */

/* The entries that take part, by row; in one of the two halves of `room`. */
static const ps_keyed *
sort_named(const ps_plan *plan, ps_keyed *room, ps_run *run)
{
    int64_t n = 0;
    ps_stretch part = ps_stretch_of(run, plan->n, sizeof(ps_keyed));
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            const int64_t row = ps_at(plan->is_wide, plan->row, i);
            if (row >= 0) {
                room[n++] = (ps_keyed){row, i};
            }
        }
    }
    return plan->is_sorted || ps_run_status(run).code != PS_OK
                   ? room
                   : ps_sort_keyed(run, room, room + plan->n_kept, n, plan->max);
}

/* How many rows differ. */
static int64_t
count_distinct(const ps_keyed *sorted, int64_t n, ps_run *run)
{
    int64_t count = n > 0;
    ps_stretch part = ps_stretch_of(run, n, sizeof(ps_keyed));
    while (ps_next_stretch(&part)) {
        for (int64_t i = ps_max(1, part.first); i < part.last; i++) {
            count += sorted[i].key != sorted[i - 1].key;
        }
    }
    return count;
}

/* start [n_groups + 1], touched [n_groups] = the row of each group, order [n_kept],
 * and the largest group, from n_kept pairs (row, entry) in the order of their rows. */
static ps_status
store_groups(ps_plan *plan, const ps_keyed *sorted, ps_run *run)
{
    int64_t g = -1, first = 0;
    ps_stretch part = ps_stretch_of(run, plan->n_kept, 2 * sizeof(ps_keyed));
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (i == 0 || sorted[i].key != sorted[i - 1].key) {
                first = i;
                ps_put(plan->is_wide, plan->start, ++g, i);
                ps_put(plan->is_wide, plan->touched, g, sorted[i].key);
            }
            plan->largest = ps_max(plan->largest, i - first + 1);
            if (plan->order != NULL) {
                ps_put(plan->is_wide, plan->order, i, sorted[i].place);
            }
        }
    }
    ps_put(plan->is_wide, plan->start, plan->n_groups, plan->n_kept);
    return ps_run_status(run);
}

/* The plan's own arrays, from entries in the order of their rows. */
static ps_status
group_sorted(ps_plan *plan, const ps_keyed *sorted, ps_run *run)
{
    PS_TRY(ps_run_status(run));
    const int64_t n_groups = count_distinct(sorted, plan->n_kept, run);
    PS_TRY(ps_run_status(run));
    plan->n_groups = plan->n_named = n_groups;
    plan->start = ps_scratch_get(nbytes_of(plan, plan->n_groups + 1));
    plan->touched = ps_scratch_get(nbytes_of(plan, plan->n_groups));
    return plan->start != NULL && plan->touched != NULL
                   ? store_groups(plan, sorted, run)
                   : ps_fail(PS_NO_MEMORY);
}

/* The same arrays where the axis is much longer than the index: groups exist for named
 * rows alone, so that no memory or time goes to the others. */
static ps_status
group_compact(ps_plan *plan, ps_run *run)
{
    const int64_t nbytes = 2 * plan->n_kept * (int64_t)sizeof(ps_keyed);
    ps_keyed *const room = ps_scratch_get(nbytes);
    if (room == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const ps_status status = group_sorted(plan, sort_named(plan, room, run), run);
    ps_scratch_put(room, nbytes);
    return status;
}

/* ---- the whole ---- */

/* Rows, look, groups. Entries that are in order and complete are their own order,
 * which then stays NULL. int32 serves as long as both sizes fit, which halves the
 * memory that every later call reads. What an error leaves behind the caller closes. */
ps_status
ps_build_plan(void *argument, ps_run *run)
{
    ps_plan_build *const build = argument;
    ps_plan *const plan = build->plan;
    plan->n = build->address.n;
    plan->size = build->address.index[0].size;
    plan->mode = build->address.mode;
    plan->is_wide = ps_max(plan->n, plan->size) >= INT32_MAX;
    if (plan->n > INT64_MAX / (4 * (int64_t)sizeof(ps_keyed))) {
        return ps_fail(PS_TOO_LARGE);
    }
    plan->row = ps_scratch_get(nbytes_of(plan, plan->n));
    if (plan->row == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    PS_TRY(fill_rows(build, run));
    PS_TRY(look(plan, run));
    if (!plan->is_sorted || plan->n_kept < plan->n) {
        plan->order = ps_scratch_get(nbytes_of(plan, plan->n_kept));
        if (plan->order == NULL) {
            return ps_fail(PS_NO_MEMORY);
        }
    }
    const bool is_dense = plan->size / DENSE_ROWS <= plan->n + DENSE_SPARE;
    PS_TRY(is_dense ? group_dense(plan, run) : group_compact(plan, run));
    plan->is_unique = plan->largest <= 1;
    return PS_SUCCESS;
}

/* ---- using it ---- */

/* The greatest g with start[g] <= position, which skips empty groups before it. */
int64_t
ps_plan_group(const ps_plan *plan, int64_t position)
{
    int64_t low = 0, high = plan->n_groups;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(ps_at(plan->is_wide, plan->start, middle) <= position ? &low : &high) =
                middle;
    }
    return low;
}

/* Where threads may cut: the start of the group that `position` falls into, or the end
 * of it if the group began earlier. Both ends of the plan are cuts. */
int64_t
ps_plan_cut(const ps_plan *plan, int64_t position)
{
    if (position <= 0 || position >= plan->n_kept) {
        return position <= 0 ? 0 : plan->n_kept;
    }
    const int64_t group = ps_plan_group(plan, position);
    const int64_t start = ps_at(plan->is_wide, plan->start, group);
    return start == position ? start : ps_at(plan->is_wide, plan->start, group + 1);
}

/* What kernels are given for positions [first, last), a cut each: the group of the
 * first one is looked up here, the others follow. */
ps_groups
ps_plan_groups(const ps_plan *plan, int64_t first, int64_t last, int64_t step)
{
    return (ps_groups){.start = plan->start,
                       .order = plan->order,
                       .row = plan->touched,
                       .first = first,
                       .last = last,
                       .group = ps_plan_group(plan, first),
                       .step = step};
}
