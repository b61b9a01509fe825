/* The check of a sparse structure (contract in structure.h).
 *
 * It says at construction, and before an op that will not look again, what is wrong
 * and where. It protects no memory: another thread may rewrite an array after it was
 * checked, so ops check what they use in their own copy or register.
 *
 * Numbers are read as unsigned ones, of which one bound is enough: the extremes of a
 * stretch are found without branches, and only a stretch that fails is searched.
 */
#include "ops/structure.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/run.h"

/* Position of the first number outside [0, bound), or -1. Half of the numbers of 32
 * bits are negative, whatever the bound is. */
static int64_t
find_outside(ps_integers integers, int64_t bound, ps_run *run)
{
    const int64_t size = integers.is_wide ? 8 : 4;
    const enum ps_index_type type = integers.is_wide ? PS_INDEX_u64 : PS_INDEX_u32;
    const int64_t limit = integers.is_wide ? bound : ps_min(bound, (int64_t)1 << 31);
    ps_stretch part = ps_stretch_of(run, integers.n, size);
    while (ps_next_stretch(&part)) {
        const int64_t bad = ps_kernels()->scan[type](
                (const char *)integers.data + part.first * size, part.last - part.first,
                size, limit);
        if (bad >= 0) {
            return part.first + bad;
        }
    }
    return -1;
}

/* Position of the first number that is less than the one before it, or -1. A stretch is
 * compared without branches, which vectors do, and searched where it fails. */
static inline int64_t
find_fall(const bool is_wide, ps_integers integers, ps_run *run)
{
    const int32_t *const narrow = integers.data;
    const int64_t *const wide = integers.data;
    ps_stretch part = ps_stretch_of(run, integers.n - 1, 8);
    while (ps_next_stretch(&part)) {
        bool falls = false;
        for (int64_t i = part.first; i < part.last; i++) {
            falls |= is_wide ? wide[i + 1] < wide[i] : narrow[i + 1] < narrow[i];
        }
        for (int64_t i = part.first; falls && i < part.last; i++) {
            if (ps_integer(integers, i + 1) < ps_integer(integers, i)) {
                return i + 1;
            }
        }
    }
    return -1;
}

static ps_fault
fault_at(enum ps_fault_kind kind, ps_integers integers, int64_t position, int64_t bound)
{
    return (ps_fault){kind, position, ps_integer(integers, position), bound};
}

/* Row pointers before entries, since they say how many there are. */
static ps_fault
check_pointers(const ps_structure_check *check, ps_run *run)
{
    const ps_integers pointers = check->pointers;
    if (ps_integer(pointers, 0) != 0) {
        return fault_at(PS_FAULT_FIRST, pointers, 0, 0);
    }
    const int64_t fall = pointers.is_wide ? find_fall(true, pointers, run)
                                          : find_fall(false, pointers, run);
    if (fall >= 0) {
        return fault_at(PS_FAULT_FALL, pointers, fall, ps_integer(pointers, fall - 1));
    }
    const int64_t last = pointers.n - 1;
    return ps_integer(pointers, last) != check->entries.n
                   ? fault_at(PS_FAULT_LAST, pointers, last, check->entries.n)
                   : (ps_fault){.kind = PS_FAULT_NONE};
}

/* The rows of coordinates; their columns are the entries. */
static ps_fault
check_coordinates(const ps_structure_check *check, ps_run *run)
{
    const int64_t bad = find_outside(check->pointers, check->other_bound, run);
    return bad >= 0 ? fault_at(PS_FAULT_OTHER_ENTRY, check->pointers, bad,
                               check->other_bound)
                    : (ps_fault){.kind = PS_FAULT_NONE};
}

ps_status
ps_check_structure(void *argument, ps_run *run)
{
    ps_structure_check *const check = argument;
    check->fault = check->is_compressed ? check_pointers(check, run)
                                        : check_coordinates(check, run);
    if (check->fault.kind == PS_FAULT_NONE) {
        const int64_t bad = find_outside(check->entries, check->bound, run);
        if (bad >= 0) {
            check->fault = fault_at(PS_FAULT_ENTRY, check->entries, bad, check->bound);
        }
    }
    return ps_run_status(run);
}
