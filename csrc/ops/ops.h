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

enum {
    /* Words of 64 bits that describe an array of up to 2,048 elements: such a call
     * needs no work memory. */
    PS_FEW_WORDS = 32,
    /* Elements up to which rows that lie as a kernel wants them are one kernel call,
     * which the binding makes itself: an op around it would take a third of its time
     * and more (ten elements: where 150 ns, 175 through ps_where; gather_where 150,
     * 230). 1,024 take 0.3 us. */
    PS_SHORT_ROW = 1024
};

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
    const struct ps_plan *plan; /* whose rows are the only index; or NULL */
    /* The only index numbers elements of an array of these axes in C order, and its
     * step is 1; 0: it numbers the rows of an axis. */
    int flat_ndim;
    const int64_t *flat_shape, *flat_strides;
} ps_address;

/* Is an index out of bounds an error? */
static inline bool
ps_mode_refuses(enum ps_mode mode)
{
    return mode == PS_MODE_RAISE || mode == PS_MODE_IDS;
}

/* What negatives of index m count from; 0 where they are out of bounds. */
static inline int64_t
ps_counted_size(const ps_address *address, int m)
{
    return address->mode == PS_MODE_RAISE ? address->index[m].size : 0;
}

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
    /* Of each entry in C order, or NULL: how many bytes from `data` its row is, in
     * place of entry_strides; what its values are multiplied by, of the type that they
     * are combined in. */
    const int64_t *offset;
    const char *weights;
} ps_values;

typedef struct {
    char *data;
    enum ps_dtype dtype;
    int64_t itemsize;
    bool swapped;
    bool aligned;
    bool is_private; /* nobody sees it before the call has succeeded */
    bool is_plain;   /* private, of floats, and seen to hold no -0.0 */
} ps_target;

/* A stretch of the bytes of an item. */
typedef struct {
    int64_t first, n;
} ps_span;

/* Is op a minimum or maximum, of which floats know a rule for zeros and one for NaN? */
static inline bool
ps_is_extreme(enum ps_op op)
{
    return op >= PS_min && op <= PS_fmax;
}

/* Does the op move items as they are, in whatever type? "first" is "set" walked
 * backwards. */
static inline bool
ps_is_move(enum ps_op op)
{
    return op == PS_set || op == PS_first;
}

/* What follows from the op, the types and the layouts of a call. */
typedef struct {
    bool is_move;
    bool is_mean;       /* arrivals are counted, and sums divided */
    bool needs_stage;   /* an accumulator apart from the target */
    bool needs_prefill; /* destinations start from the op's identity */
    enum ps_op applied; /* what kernels apply: add for a mean */
    enum ps_dtype type; /* what they work in */
} ps_traits;

typedef struct {
    ps_address address;
    ps_rows rows;
    ps_target target;
    ps_values values;
    /* What is written of an item that is moved: nothing but these stretches, ascending;
     * NULL: all of it. */
    const ps_span *spans;
    int64_t n_spans;
    enum ps_op op;
    enum ps_dtype accumulator;
    bool include_self;
    bool compensated;
    bool spares_others; /* of the target nothing is read that the index does not name */
    ps_traits traits;   /* found by the op that is called */
} ps_scatter_call;

typedef struct {
    ps_address address;
    ps_rows rows;     /* value_strides are those of the output */
    ps_target source; /* what is gathered from */
    ps_values out;    /* same item type as source, native order */
    const char *fill; /* itemsize bytes for entries that name nothing */
    bool is_private;  /* out is fresh: it may be filled while indices are checked */
} ps_gather_call;

/* One more than the largest number among the entries of an address of one index, 0
 * where there is none; negatives are ignored. Size, step and mode of the address are
 * set here. PS_TOO_LARGE: a number that does not fit in 64 bits. */
typedef struct {
    ps_address address;
    int64_t top;
} ps_top_call;

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

/* ---- the ops ----
 *
 * Each takes its call as the binding hands it over (python/run.c): a pointer to the
 * struct that is named beside it. */

/* A ps_scatter_call. The status tells of bad indices before anything was written,
 * unless target.is_private. */
ps_status ps_scatter(void *call, ps_run *run);

/* Does a zero divide something? For floor_div of integers; checks indices first. */
typedef struct {
    ps_scatter_call *call;
    bool has_zero; /* the answer */
} ps_divisor_check;

ps_status ps_check_divisors(void *check, ps_run *run);

/* Is one of n integers side by side zero? */
bool ps_has_zero(enum ps_dtype type, const char *value, int64_t n);

/* The largest magnitude, infinities aside, among the values that take part, which are
 * f64 or c128; checks indices first. */
typedef struct {
    ps_scatter_call *call;
    double largest; /* the answer */
} ps_largest_search;

ps_status ps_find_largest(void *search, ps_run *run);

ps_status ps_find_top(void *call, ps_run *run); /* a ps_top_call */

/* Are all entries of an address in bounds? */
ps_status ps_address_check(const ps_address *address, ps_run *run);

/* A ps_gather_call. */
ps_status ps_gather(void *call, ps_run *run);

/* Is there nothing to warn of in any conversion of the elements of `view` to `type`: no
 * overflow of a float, no float that the integer type does not hold? ps_can_convert has
 * been asked. Errs on the side of false by half a unit in the last place. */
typedef struct {
    ps_view view;
    enum ps_dtype type;
    bool is_silent; /* the answer */
} ps_cast_check;

ps_status ps_check_cast(void *check, ps_run *run);

/* Views of one shape; broadcast axes have stride 0. out is native, has an item size of
 * the kernels' tables, and shares no memory with the others unless it is x or y itself,
 * element for element. x and y can be converted to its dtype (ps_can_convert). */
typedef struct {
    ps_view condition, x, y, out;
    bool is_private; /* nobody sees out before the call has succeeded */
} ps_where_call;

ps_status ps_where(void *call, ps_run *run);

/* ps_scatter of a call without index arrays: its mask alone says where. */
ps_status ps_scatter_where(void *call, ps_run *run);

/* The elements of `a` where `mask`, a view of bools of the same shape, is true, in C
 * order. ps_count_where first, then room for `count` elements at `out`, then
 * ps_gather_where; ps_end_gather_where in any case. */
typedef struct {
    ps_view mask, a;
    char *out;       /* of a's dtype, native and aligned */
    bool is_private; /* nobody sees out before the call has succeeded */
    int64_t count;   /* of trues */
    int64_t *start;  /* number of trues before each chunk, the count at the end */
    int64_t n, chunks;
    int64_t one_start[2]; /* start of a single chunk */
} ps_compress_call;

ps_status ps_count_where(void *call, ps_run *run);
ps_status ps_gather_where(void *call, ps_run *run);
void ps_end_gather_where(ps_compress_call *call);

enum {
    /* Bytes of elements that stand on the stack beside their mask. */
    PS_FEW_BYTES = 4096
};

/* Elements that are only moved, up to PS_SHORT_ROW and PS_FEW_BYTES of them, and their
 * mask, side by side: where they lie, or in here. False: they are one for all. */
typedef struct {
    const char *a, *mask;
    char mask_bytes[PS_SHORT_ROW];
    _Alignas(64) char items[PS_FEW_BYTES];
} ps_few_where;

bool ps_open_few_where(const ps_view *a, const ps_view *mask, ps_few_where *few);

/* The places of the true elements of an array, in C order. ps_nonzero_find counts them;
 * then the caller makes room and ps_nonzero_write writes them. In between the call
 * holds a bit for each element, so the array is read once and may change afterwards. */
typedef struct {
    ps_view view;    /* of numbers */
    int64_t n;       /* elements */
    int64_t count;   /* true ones, once found */
    uint64_t *word;  /* bits, chunk after chunk as `area` says */
    int64_t *before; /* true ones before each chunk */
    int64_t *area;   /* where each chunk's words are */
    int64_t scratch_nbytes;
    uint64_t few[PS_FEW_WORDS]; /* the words of a small array */
    /* Where the coordinates along `n_axes` axes of these sizes go, one array for each:
     * place k to out[axis][k * step], k < room. One axis of size n: flat places. */
    int n_axes;
    const int64_t *sizes;
    int64_t *out[PS_MAX_DIMS];
    int64_t step;
    int64_t room;
} ps_nonzero_call;

/* Whatever it returns, ps_nonzero_close gives back what the call holds. */
ps_status ps_nonzero_find(void *call, ps_run *run);
ps_status ps_nonzero_write(void *call, ps_run *run);
void ps_nonzero_close(ps_nonzero_call *call);

/* out, zeroed int64, counts the true elements that lie at each of its places: per axis
 * of the view its step, 0 along axes that are counted over. */
typedef struct {
    ps_view view;
    char *out;
    const int64_t *out_strides;
} ps_count_call;

ps_status ps_count_nonzero(void *call, ps_run *run);

/* Reductions of runs of entries: out row s folds entries [start[s], stop[s]) of the
 * values, or of the rows of them that `gather` lists, in the order that segment.tmpl.h
 * fixes. Index arrays have one axis, native order, and are checked as they are read: a
 * run that leaves [0, n_entries] or decreases and a row that does not exist are
 * PS_INDEX_BAD, without more; the caller looks which. What `mask` leaves out keeps its
 * lane, with the identity in it, which changes no bit; its row need not exist. */
typedef struct {
    ps_index start, stop;
    int64_t n_segments;
    int64_t n_entries;
    ps_index gather;     /* of entries, data NULL: entries are the rows of the values */
    const char *weights; /* one of `type` for each entry, contiguous, or NULL */
    const char *values;  /* rows of `width` contiguous items */
    enum ps_dtype dtype; /* of the values; ps_can_convert it to `type` */
    int64_t itemsize, n_rows, row_stride, width;
    bool swapped, aligned;
    /* Axes before the entries: at each of their n_outer >= 1 places stand values and
     * results of their own. */
    int outer_ndim;
    const int64_t *outer_shape, *outer_strides;
    int64_t n_outer;
    /* One bool for each entry, or for each element; NULL: all. Bytes from place to
     * place of the outer axes, from entry to entry, from element to element. */
    const char *mask;
    int64_t mask_outer, mask_entry, mask_element;
    enum ps_op op;
    enum ps_dtype type; /* of sums and out */
    const void *empty;  /* what a segment without entries becomes */
    bool goes_on;       /* out holds what every segment starts from */
    char *out;          /* (n_outer, n_segments, width), fresh */
} ps_segment_call;

ps_status ps_segment(void *call, ps_run *run); /* a ps_segment_call */

/* What folds by groups leave becomes what a caller asked for. sums and out are arrays
 * (n_batches, n_before, n_segments, width), contiguous; out may be sums, and is of a
 * type that ps_can_convert makes of theirs. count is (n_batches, n_segments), or of
 * their shape where entries were chosen element by element (is_fine); it may be NULL
 * when nothing divides and nothing is filled. */
typedef struct {
    enum ps_dtype type, out_type;
    char *sums, *out;
    int64_t n_batches, n_before, n_segments, width;
    const int64_t *count;
    bool is_fine;
    bool divides; /* sums become means: of count, or, of f32 and f64, ... */
    bool spreads; /* f32 or f64 are squares about means: over count less ddof, ... */
    bool roots;   /* ... of which the square root */
    double ddof;
    const char *weight_sums; /* ... of these, of `type`, laid out as count; or NULL */
    const void *fill; /* of out_type: the result of groups without entries, or NULL */
} ps_finish_call;

ps_status ps_finish(void *call, ps_run *run); /* a ps_finish_call */

/* What entries say of their groups: entry i, 0 <= i < n, has a row of `width` items and
 * belongs to group ids[i], or to that of the runs it lies in, where ids.data is NULL.
 * ps_find: place (n_groups, width) receives the numbers of the extremes, -1 for none,
 * `result` of the same shape holds these. ps_deviate, of f32 and f64: result, zeroed,
 * receives the sums of (value - centre)^2. n_bad counts ids that were out of bounds and
 * should not have been; a bad limit of a run is PS_INDEX_BAD. */
typedef struct {
    ps_index ids; /* one axis, native */
    enum ps_mode mode;
    ps_index start, stop; /* n_groups of them */
    int64_t n, n_groups;
    const char *mask; /* as in ps_segment_call */
    int64_t mask_entry, mask_element;
    const char *values;
    const int64_t *offset; /* bytes from `values` to each row; NULL: row_stride apart */
    enum ps_dtype dtype;   /* ps_can_convert it to `type` */
    int64_t itemsize, row_stride, width;
    bool swapped, aligned;
    enum ps_op op;
    enum ps_dtype type; /* of result and centre */
    int64_t *place;
    const char *centre;
    char *result;
    int64_t n_bad;
} ps_visit_call;

/* Each takes a ps_visit_call. */
ps_status ps_find(void *call, ps_run *run);
ps_status ps_deviate(void *call, ps_run *run);

/* Softmax and its kin, segment by segment: with top the largest entry of a segment,
 *   PS_SOFTMAX      e^(x - top) / sum, sum that of e^(x - top) over the segment
 *   PS_LOG_SOFTMAX  x - top - log(sum)
 *   PS_LOGSUMEXP    log(sum) + top, for each segment; infinite tops count as 0
 * Segments are said by ids or by runs of entries, which for the first two leave none
 * out; sums by ids add from first to last, those of runs as segment.tmpl.h fixes. Index
 * arrays are as for ps_segment. A bad id is told with its position (total > 0), a bad
 * limit or row without. */
enum ps_softmax_form {
    PS_SOFTMAX,
    PS_LOG_SOFTMAX,
    PS_LOGSUMEXP
};

typedef struct {
    enum ps_softmax_form form;
    bool has_ids;
    ps_index ids;         /* of ids.size segments, or ... */
    ps_index start, stop; /* ... runs */
    int64_t n_segments, n_entries;
    ps_index gather;    /* of entries, data NULL: entries are the rows of the values */
    const char *values; /* (outer, n_rows, width), contiguous, native, aligned */
    int64_t outer, n_rows, width;
    enum ps_dtype dtype; /* of the values; ps_can_convert it to `type` */
    enum ps_dtype type;  /* f32 or f64: of sums */
    bool has_initial;    /* logsumexp: a first entry of every segment */
    double initial;
    enum ps_dtype out_dtype;
    char *out; /* (outer, n_entries or n_segments, width), fresh */
} ps_softmax_call;

ps_status ps_softmax(void *call, ps_run *run); /* a ps_softmax_call */

/* Running forms: out row e is what the segment of entry e has come to there. Values are
 * (n, `width`) of `dtype`, which ps_can_convert to `type`, out is the same of `result`,
 * to which `type` converts; both contiguous. Segments are said by ids of any size, or
 * by offsets (n_segments + 1 of them, native, of one axis). Ids below 0, and offsets
 * that do not rise from 0 to n, are PS_INDEX_BAD, without more; the caller looks which.
 */
typedef struct {
    ps_index ids; /* data NULL: offsets say it */
    ps_index offsets;
    int64_t n_segments;
    const char *values;
    int64_t n, width;
    enum ps_op op;
    enum ps_dtype dtype, type, result;
    bool is_exclusive, is_backward;
    const void *empty; /* of `type`: what an exclusive form begins with */
    char *out;         /* fresh */
} ps_scan_call;

ps_status ps_running(void *call, ps_run *run); /* a ps_scan_call */

/* The type in which a running form is computed, whose accumulator is `type`, and what
 * the op is called there: integers and bools are widened. */
enum ps_dtype ps_scan_type(enum ps_dtype type, enum ps_op *op);

/* Order statistics of segments. Values are rows of `width` contiguous items of `dtype`,
 * which ps_can_convert to `type`: f32, f64, f80 or t64. Entry e is row e, or the row
 * that `gather` names. Its segment is said by the address (ids), or it belongs to those
 * whose runs [start, stop) hold it. Ids are checked with a status for the message; a
 * run that leaves [0, n_entries] or falls and a row that does not exist are
 * PS_INDEX_BAD with total 0; the caller looks which. */
typedef struct {
    ps_address address; /* n_index 0: runs say it */
    ps_index start, stop;
    ps_index gather; /* data NULL: entries are rows */
    int64_t n_segments, n_entries;
    const char *values;
    enum ps_dtype dtype;
    int64_t itemsize, n_rows, width;
    const char *mask; /* of entries, bools side by side, for runs; or NULL */
    const char
            *elements; /* (n_entries, width) bools: elements that take part; or NULL */
    enum ps_dtype type;
    const double *q; /* [n_levels] from 0 to 1; NULL: the median, one level */
    int64_t n_levels;
    char *out; /* (n_levels, n_segments, width) of `type`, fresh */
} ps_quantile_call;

ps_status ps_quantile(void *call, ps_run *run); /* a ps_quantile_call */

/* May two elements of an array share a byte? True as well when bounded work does not
 * decide. */
bool ps_may_self_overlap(int ndim, const int64_t *shape, const int64_t *strides,
                         int64_t itemsize);

/* The algorithms by which tests force a choice; AUTO is the decision function's. */
#define PS_FOR_EACH_ALGORITHM(X) \
    X(automatic)                 \
    X(straight) X(runs) X(owners) X(partition) X(columns) X(staged) X(grouped) X(copied)
#define PS_ENUM_ALGORITHM(name) PS_ALGORITHM_##name,
enum ps_algorithm {
    PS_FOR_EACH_ALGORITHM(PS_ENUM_ALGORITHM) PS_NUM_ALGORITHMS
};

const char *ps_algorithm_name(enum ps_algorithm algorithm);

#endif
