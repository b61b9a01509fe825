/* Entries put in order by a number of theirs, stably: the sort behind the conversions
 * and assemblies of sparse matrices. */
#ifndef PS_OPS_BUCKETS_H
#define PS_OPS_BUCKETS_H

#include "ops/ops.h"
#include "ops/widths.h"

enum {
    /* Entries that are read at a time. */
    PS_BUCKET_BLOCK = 1024
};

/* number[0 .. n) = the keys of entries [first, first + n), 0 <= key < n_keys, or
 * (of_keys false) the other numbers of the same entries, checked in the copy. */
typedef ps_status (*ps_read_fn)(const void *context, bool of_keys, int64_t first,
                                int64_t n, int64_t *number);

typedef struct {
    ps_read_fn read;
    const void *context;
    int64_t n, n_keys;
    bool is_wide; /* the arrays hold int64; else all sizes are below 2^31 */
    void *key;    /* [n]: work memory */
    void *start;  /* [n_keys + 1]: where the entries of each key begin */
    void *other;  /* [n]: other numbers of the entries, by key, then as they came */
    void *order;  /* [n]: which entry it is */
} ps_buckets;

/* Is any array of so many items within 64 bits? */
static inline bool
ps_fits_buckets(int64_t n, int64_t n_keys)
{
    return n < INT64_MAX / 64 && n_keys < INT64_MAX / 64;
}

/* Are most of n numbers far from the one before? Who goes where such numbers say waits
 * for memory at each step. */
bool ps_jumps_about(bool is_wide, const void *number, int64_t n);

/* Fill start, other and order. The status of a reader that fails; of several, that of
 * the first entries, on any number of threads. */
ps_status ps_fill_buckets(ps_buckets *buckets, ps_run *run);

#endif
