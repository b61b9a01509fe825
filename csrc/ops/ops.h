/* The ops: pyscatter in plain C, without Python. What the binding hands over and calls.
 *
 * An op checks indices, chooses an algorithm, splits the work and runs kernels. The
 * structs below describe a call completely; all strides are in bytes. Arrays of axes
 * belong to the caller and may be rewritten (axes that move together are merged).
 */
#ifndef PS_OPS_OPS_H
#define PS_OPS_OPS_H

#include <stdatomic.h>

#include "base/status.h"
#include "base/tables.h"
#include "base/view.h"

/* Bytes of one value; types come in pairs, signed and unsigned. */
static inline int64_t
ps_index_itemsize(enum ps_index_type type)
{
    return (int64_t)1 << (type / 2);
}

/* One index array: entry e names row resolve(value[e]) of axis `axis` of the target. */
typedef struct {
    const char *data;
    int64_t *strides; /* per entry axis */
    enum ps_index_type type;
    bool swapped;
    int axis;     /* of the target, for messages */
    int64_t size; /* of that axis */
    int64_t step; /* from row to row of it */
} ps_index;

/* Where the entries of a call lie in the target: entry e, in C order over `shape`, is
 * at sum over m of row(index[m][e]) * step[m], plus sum over axes of e_axis *
 * link[axis]. */
typedef struct {
    int ndim;
    int64_t *shape;
    int64_t *link;
    int64_t n; /* product of shape */
    int n_index;
    ps_index *index;
    enum ps_mode mode;
    const char *mask; /* one bool per entry, False: no part in the call; or NULL */
    int64_t *mask_strides;
} ps_address;

/* The axes behind each entry: a whole row arrives there. */
typedef struct {
    int ndim;
    int64_t *shape;
    int64_t *target_strides;
    int64_t *value_strides;
} ps_rows;

/* The values, or the output of a gather. */
typedef struct {
    char *data;
    enum ps_dtype dtype;
    int64_t itemsize;
    int64_t *entry_strides; /* per entry axis */
    bool swapped;
    bool aligned;
} ps_values;

typedef struct {
    char *data;
    enum ps_dtype dtype;
    int64_t itemsize;
    bool swapped;
    bool aligned;
    bool is_private; /* nobody sees it before the call has succeeded */
} ps_target;

typedef struct {
    ps_address address;
    ps_rows rows;
    ps_target target;
    ps_values values;
    enum ps_op op;
    enum ps_dtype accumulator;
    bool include_self;
    bool compensated;
    bool is_checked; /* by ps_scatter: all of the index has been found in bounds */
} ps_scatter_call;

typedef struct {
    ps_address address;
    ps_rows rows;     /* value_strides are those of the output */
    ps_target source; /* what is gathered from */
    ps_values out;    /* same item type as source, native order */
    const char *fill; /* itemsize bytes for entries that name nothing */
    bool is_private;  /* out is fresh: it may be filled while indices are checked */
} ps_gather_call;

/* How a call runs: threads, and the caller's ear for signals. */
typedef struct {
    int threads;
    /* Called between chunks on the caller's thread; true: give up. has_written:
     * elements of a visible target have changed. NULL: never. */
    bool (*interrupted)(void *argument, bool has_written);
    void *argument;
    bool has_written;
    _Atomic int failed; /* enum ps_code of the first failure of any thread */
} ps_run;

/* Scatter (api.md). The status tells of bad indices before anything was written, unless
 * target.is_private. */
ps_status ps_scatter(ps_scatter_call *call, ps_run *run);

/* Does a zero divide something? For floor_div of integers; checks indices first. */
ps_status ps_has_zero_divisor(ps_scatter_call *call, ps_run *run, bool *has_zero);

ps_status ps_gather(ps_gather_call *call, ps_run *run);

/* May two elements of an array share a byte? True as well when bounded work does not
 * decide. */
bool ps_may_self_overlap(int ndim, const int64_t *shape, const int64_t *strides,
                         int64_t itemsize);

/* The algorithms by which tests force a choice; AUTO is the decision function's. */
#define PS_FOR_EACH_ALGORITHM(X) \
    X(automatic) X(straight) X(runs) X(owners) X(partition) X(columns) X(staged)
#define PS_ENUM_ALGORITHM(name) PS_ALGORITHM_##name,
enum ps_algorithm {
    PS_FOR_EACH_ALGORITHM(PS_ENUM_ALGORITHM) PS_NUM_ALGORITHMS
};

const char *ps_algorithm_name(enum ps_algorithm algorithm);

#endif
