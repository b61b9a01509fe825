/* The check of a sparse structure: row pointers that rise, numbers within their axis.
 */
#ifndef PS_OPS_STRUCTURE_H
#define PS_OPS_STRUCTURE_H

#include "ops/ops.h"

/* Integers of 32 or 64 bits, aligned, native, side by side. */
typedef struct {
    const void *data;
    int64_t n;
    bool is_wide;
} ps_integers;

static inline int64_t
ps_integer(ps_integers integers, int64_t i)
{
    return integers.is_wide ? ((const int64_t *)integers.data)[i]
                            : ((const int32_t *)integers.data)[i];
}

/* What is wrong with a structure. */
enum ps_fault_kind {
    PS_FAULT_NONE,
    PS_FAULT_ENTRY,       /* a number that is not in [0, bound) */
    PS_FAULT_OTHER_ENTRY, /* the same of the other array of coordinates */
    PS_FAULT_FIRST,       /* a first row pointer that is not 0 */
    PS_FAULT_FALL,        /* a row pointer below the one before it, which is `bound` */
    PS_FAULT_LAST         /* a last row pointer that is not `bound`, the entries */
};

typedef struct {
    enum ps_fault_kind kind;
    int64_t position, value, bound;
} ps_fault;

/* entries [nnz] lie in [0, bound). Compressed: pointers [n + 1] rise from 0 to nnz.
 * Coordinates: pointers [nnz] lie in [0, other_bound). */
typedef struct {
    ps_integers entries, pointers;
    bool is_compressed;
    int64_t bound, other_bound;
    ps_fault fault; /* the answer */
} ps_structure_check;

ps_status ps_check_structure(void *check, ps_run *run); /* a ps_structure_check */

#endif
