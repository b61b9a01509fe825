/* The table of kernels: this room's only door.
 *
 * One table exists for each CPU level; ps_kernels() is the one in force. The contracts
 * stand above the templates. Where a family has a kernel for each reduction and element
 * type, the table holds where its grid of them is: grids are compiled in units of their
 * own, and levels may share one. A cell is NULL where tables.h says that the row does
 * not exist for the type.
 */
#ifndef PS_KERNELS_KERNELS_H
#define PS_KERNELS_KERNELS_H

#include "base/cpu.h"
#include "base/pullback.h"
#include "base/tables.h"

/* n pairs: byte offset into the target, number of the value; source NULL: 0, 1, ... */
typedef struct {
    int64_t *offset;
    int64_t *source;
    int64_t n;
} ps_list;

/* Entries as the caller's index names them: target is `size` contiguous elements, entry
 * i goes to row index[i], whose value lies i * value_stride bytes behind `values`
 * (0: one that all entries share). */
typedef struct {
    bool is_wide; /* index: n contiguous int64, not int32 */
    char *target;
    int64_t size;
    int64_t counted; /* what negatives count from: the size, or 0, out of bounds */
    const char *index;
    const char *values;
    int64_t value_stride;
    bool widens; /* values of float32 side by side, for a target of float64 */
    int64_t n;
    int64_t ahead;  /* entries ahead at which places are asked for; 0: they are near */
    bool *is_plain; /* does the target, of floats, hold no -0.0? false or NULL: it may;
                     * a kernel that brings one says so, for those that go on */
} ps_entries;

/* How numbers name places: row number r, which negatives reach from `counted` (0: none
 * do), is r * step bytes from the start, and in bounds up to `last`. */
typedef struct {
    uint64_t last;
    int64_t counted;
    int64_t step;
} ps_numbering;

/* Offsets of a list, which have been checked, are their own places. */
static const ps_numbering ps_are_offsets = {UINT64_MAX, 0, 1};

/* What a plan brings together: the entries at positions [start[g], start[g + 1]) go to
 * row[g] of the target. The part that a kernel works on is positions [first, last). */
typedef struct {
    const int32_t *start;
    const int32_t *order; /* the entry at each position; NULL: its own number */
    const int32_t *row;   /* NULL: group g is row g */
    int64_t first, last;
    int64_t group; /* that `first` is in */
    int64_t step;  /* bytes from row to row */
} ps_groups;

/* The numbers that a partition into ranges of the target works with (partition.h). */
typedef struct {
    int64_t low; /* least offset */
    int shift;   /* bin = (offset - low) >> shift */
    int64_t n_bins;
} ps_bins;

enum {
    /* The places that `split` takes lie within so many of each other: their list stays
     * in the first cache, and products of 32 bits are exact below 2^13. */
    PS_SPLIT_REACH = 4096
};

enum {
    /* Elements under a word of mask bits. A constant is so many equal items, over which
     * a kernel does not step on: it needs no variant for them, and reads them from the
     * first cache. */
    PS_WORD_BITS = 64
};

enum {
    /* Elements of a segment that are summed in lanes before the sum joins the total. */
    PS_FOLD_BLOCK = 4096
};

/* Which rows of the values belong to which output: output s folds rows start[s] up to
 * stop[s], which are numbers in `row` where there is one. */
typedef struct {
    const int64_t *start, *stop;
    int64_t n;
    int64_t width;        /* elements of a row */
    int64_t value_stride; /* bytes from row to row */
    const int64_t *row;
    int64_t n_rows;      /* in `row` */
    int64_t readable;    /* elements that may be read from the first value on */
    const void *neutral; /* one element, which changes nothing that it meets */
    const void *empty;   /* one element: what a segment without rows becomes */
    bool continues;      /* the first output goes on from what it holds */
} ps_segments;

/* How a scan runs, and what its segments have come to. */
typedef struct {
    char *running;  /* (size, width) elements; by runs one row */
    char *seen;     /* [size]: has an entry come? */
    int64_t size;   /* segments */
    int64_t width;  /* elements of a row that are joined */
    int64_t stride; /* bytes from row to row of values and out */
    bool is_exclusive, is_backward;
    const void *empty; /* one element: what an exclusive scan begins with */
} ps_scan;

/* Keys by segment and column (quantile.tmpl.h). */
typedef struct {
    void *keys;
    const int64_t *start; /* [size + 1]: entries of all segments before each */
    int64_t *taken;
    int64_t width;
} ps_columns;

/* A range of keys that is being parted. */
typedef struct {
    int64_t below, done;
    _Alignas(16) char pivot[16];
} ps_split;

enum {
    /* Keys that insertion sorts sooner than a pivot would part them. */
    PS_FEW_KEYS = 32
};

/* The quantiles that are wanted. */
typedef struct {
    const double *q; /* from 0 to 1; NULL: the median */
    int64_t n;
    int64_t step; /* bytes from one level's result to the next one's */
} ps_levels;

/* How a stored value and an element of x become one number, and how these meet. */
#define PS_FOR_EACH_PRODUCT(X) \
    X(add_times) X(min_times) X(max_times) X(min_plus) X(max_plus)
#define PS_ENUM_PRODUCT(name) PS_##name,
enum ps_product {
    PS_FOR_EACH_PRODUCT(PS_ENUM_PRODUCT) PS_NUM_PRODUCTS
};

/* Entries of a sparse matrix and the dense rows that they choose (spmm.tmpl.h). */
typedef struct {
    const char *index; /* of every entry: its column, in slices of CSC its row; int64 */
    bool is_wide;      /* or int32 */
    int64_t nnz;
    int64_t size;     /* what these numbers are below: rows of x, or of out */
    const char *data; /* of entry 0; the next ones data_step bytes on; 0: one for all */
    int64_t data_step;
    const char *x; /* rows x_step bytes apart */
    int64_t x_step, out_step;
    int64_t width;     /* elements of a row */
    int64_t asked;     /* bytes of rows that are asked for ahead of time; 0: none */
    const void *start; /* one element; NULL: rows begin at what they hold */
} ps_sparse_rows;

/* Entries in any order. */
typedef struct {
    const int64_t *row, *col;
    const int64_t *entry; /* NULL: first, first + 1, ... */
    int64_t first, n;
} ps_triplets;

/* What becomes of finished rows; elements that are NULL take no part. */
typedef struct {
    int64_t width, out_step, sum_step;
    bool is_mean;
    const void *alpha, *beta, *empty;
} ps_row_finish;

/* The rows whose inner products are wanted (sddmm.tmpl.h). */
typedef struct {
    const char *x, *y;
    int64_t x_step, y_step;
    int64_t width;
    int64_t asked;    /* bytes of rows of y that are asked for ahead of time */
    const char *data; /* of the first entry; or NULL */
} ps_dots;

/* The terms of a sparse product (spgemm.tmpl.h): A's entries, whose columns name rows
 * of B; B by rows; and for each column a sum and flags, which are zero between rows. */
typedef struct {
    const int64_t *a_col, *b_edge;
    const int32_t *b_col;
    const char *a, *b;
    char *sum;
    uint8_t *flag, *page, *book; /* of a column, of 64 of them, of 64 pages */
    int64_t n_books;             /* a multiple of 8 */
    int32_t *list;               /* room for all columns and 4 more */
} ps_products;

/* How the values of a delta meet the elements that they are for. */
enum ps_delta_op {
    PS_DELTA_OVERWRITE, /* new bits take the place of the old ones */
    PS_DELTA_XOR,       /* bits that differ are turned over */
    PS_DELTA_ADD,       /* differences of integers are added and wrap */
    PS_NUM_DELTA_OPS
};

/* The true bits of words: how many, in how many runs, the first and the last (-1). */
typedef struct {
    int64_t count, runs, first, last;
} ps_bits;

/* What deltas are made and applied with (delta.tmpl.h, delta.h). */
typedef struct {
    int64_t (*words[PS_NUM_SIZES])(uint64_t *word, const char *old, const char *now,
                                   int64_t n);
    int64_t (*take[PS_NUM_SIZES])(enum ps_delta_op op, char *to, const uint64_t *word,
                                  int64_t n_words, const char *old, const char *now);
    void (*pick[PS_NUM_SIZES])(enum ps_delta_op op, char *to, const uint16_t *at,
                               int64_t n, const char *old, const char *now);
    void (*put[PS_NUM_SIZES])(enum ps_delta_op op, char *target, const int64_t *at,
                              const char *values, int64_t n);
    void (*meet[PS_NUM_SIZES])(enum ps_delta_op op, char *to, const char *values,
                               int64_t n);
    void (*store[PS_NUM_SIZES])(enum ps_delta_op op, char *to, const char *old,
                                const char *now, int64_t n);
    void (*hash)(uint64_t *sum, const char *bytes, int64_t n_stripes, const char *ahead,
                 const char *beside);
    void (*tally)(ps_bits *bits, const uint64_t *word, int64_t n_words);
    void (*spread)(ps_bits *bits, uint16_t *to, const uint64_t *word, int64_t n_words);
    int64_t (*gaps)(uint16_t *to, const int64_t *at, int64_t n, int64_t *last);
    int64_t (*ungap)(int64_t *at, const uint16_t *gap, int64_t n, int64_t *last);
} ps_delta_kernels;
struct ps_change_kernels;
/* How keys are compared: as words, of which each number has one; as items, bytes side
 * by side, in the order of bytes, of native characters of four bytes, of pairs of
 * words. */
enum ps_key_kind {
    PS_KEYS_WORDS,
    PS_KEYS_BYTES,
    PS_KEYS_UNITS,
    PS_KEYS_PAIRS
};

/* Keys that are being numbered (keys.tmpl.h). Arrays of numbers hold int32 or int64. */
typedef struct {
    void *slot;        /* [mask + 1]: a number plus 1, or 0 */
    uint64_t mask;     /* places, less 1 */
    int shift;         /* the highest bits of a hash are the place */
    int64_t n, full;   /* numbers given; and how many may be before the table grows */
    int64_t budget;    /* what probes beyond the first of each key may still cost */
    bool asks;         /* places lie beyond the near caches */
    bool is_second;    /* the second hash of items */
    uint64_t low;      /* the least word, where words are their own places */
    uint64_t *word;    /* of each number */
    void *first;       /* of each number: the entry at which its key appeared */
    const char *items; /* of entries; NULL: keys are words */
    int64_t itemsize;
} ps_key_table;

/* What is being sorted: words by number; or items by entry, or by the first entry of a
 * number where there is such an array. */
typedef struct {
    enum ps_key_kind kind;
    const uint64_t *word;
    const char *items;
    int64_t itemsize;
    const void *first;
} ps_key_order;

/* Two sorted runs, [0, middle) and [middle, n), on their way to one. */
typedef struct {
    void *to;
    const void *from;
    int64_t middle, n;
    int64_t left, right; /* the first of each that is left */
} ps_key_merge;

/* The kernels of keys; [2]: with int32 numbers, with int64. */
typedef struct {
    /* keys_words.tmpl.h */
    void (*canon[PS_NUM_ALL_DTYPES])(uint64_t *word, const char *keys, int64_t n);
    void (*pack)(uint64_t *word, const char *keys, int64_t n, int64_t itemsize,
                 int unit);
    void (*range)(const uint64_t *word, int64_t n, uint64_t *low, uint64_t *high);
    void (*digits)(const uint64_t *word, int64_t n, int64_t (*count)[256]);
    /* keys.tmpl.h */
    int64_t (*words[2])(ps_key_table *table, const uint64_t *word, int64_t n,
                        const int64_t *at, int64_t base, int64_t *id);
    int64_t (*items[2])(ps_key_table *table, const uint64_t *word, int64_t n,
                        const int64_t *at, int64_t base, int64_t *id);
    int64_t (*near[2])(ps_key_table *table, const uint64_t *word, int64_t n,
                       const int64_t *at, int64_t base, int64_t *id);
    bool (*refill[2])(ps_key_table *table, int64_t from, int64_t to);
    void (*radix[2])(uint64_t *word_to, void *at_to, const uint64_t *word,
                     const void *at, int64_t n, int shift, int64_t *count);
    void (*insert[2])(const ps_key_order *order, void *number, int64_t n);
    void (*merge[2])(const ps_key_order *order, ps_key_merge *merge, int64_t at,
                     int64_t stop);
    int64_t (*runs[2])(const ps_key_order *order, const void *at, int64_t n,
                       void *first, int64_t *id);
} ps_key_kernels;

/* What becomes of a gradient: all of it is added, or what is finite, or nothing. */
enum ps_accumulation {
    PS_ACCUMULATE_ALL,
    PS_ACCUMULATE_FINITE,
    PS_ACCUMULATE_NONE
};

typedef struct {
    /* index.tmpl.h */
    int64_t (*scan[PS_NUM_INDEX_TYPES])(const char *index, int64_t n, int64_t stride,
                                        int64_t size);
    int64_t (*rows[PS_NUM_INDEX_TYPES])(enum ps_mode mode, int64_t *row,
                                        const char *index, int64_t n, int64_t stride,
                                        int64_t size);
    int64_t (*place[PS_NUM_INDEX_TYPES])(int64_t *offset, const char *index, int64_t n,
                                         int64_t stride, const ps_numbering *numbering,
                                         int64_t base, bool adds);
    /* list.h */
    void (*list_place)(int64_t *offset, const int64_t *row, int64_t n, int64_t step,
                       int64_t base);
    void (*list_shift)(int64_t *offset, const int64_t *row, int64_t n, int64_t step);
    void (*list_ramp)(int64_t *offset, int64_t n, int64_t step, int64_t base);
    int64_t (*list_keep)(int64_t *offset, int64_t *source, const int64_t *row,
                         int64_t n, int64_t first);
    int64_t (*list_filter)(int64_t *offset_out, int64_t *source_out,
                           const int64_t *offset, const int64_t *source_in, int64_t n,
                           int64_t first, int64_t low, int64_t high);
    /* scatter.tmpl.h */
    void (*const (*scatter)[PS_NUM_DTYPES])(char *target, const ps_list *list,
                                            const char *values, int64_t value_stride);
    void (*const (*scatter_runs)[PS_NUM_DTYPES])(char *target, const ps_list *list,
                                                 const char *values,
                                                 int64_t value_stride);
    /* rows.tmpl.h */
    int64_t (*const (*scatter_rows)[PS_NUM_DTYPES])(char *target, const ps_list *list,
                                                    const ps_numbering *numbering,
                                                    const char *values,
                                                    int64_t value_stride, int64_t width,
                                                    int64_t ahead, bool uses_runs);
    /* checked.tmpl.h */
    int64_t (*const (*scatter_checked)[PS_NUM_DTYPES])(const ps_entries *entries);
    int64_t (*const (*scatter_runs_checked)[PS_NUM_DTYPES])(const ps_entries *entries);
    /* plan.tmpl.h */
    void (*const (*plan_rows)[PS_NUM_DTYPES])(char *target, const ps_groups *groups,
                                              const char *values, int64_t value_stride,
                                              int64_t width);
    /* set.tmpl.h, rows_moved.h */
    void (*set[PS_NUM_SIZES])(char *target, const ps_list *list, const char *values,
                              int64_t value_stride);
    int64_t (*set_checked[PS_NUM_SIZES])(const ps_entries *entries);
    void (*set_rows)(char *target, const ps_list *list, const char *values,
                     int64_t value_stride, int64_t nbytes, int64_t ahead);
    int64_t (*set_rows_checked)(char *target, const ps_list *list,
                                const ps_numbering *numbering, const char *values,
                                int64_t value_stride, int64_t nbytes, int64_t ahead);
    /* gather.tmpl.h */
    void (*gather[PS_NUM_SIZES])(char *out, const ps_list *list, const char *a,
                                 int64_t out_stride);
    int64_t (*gather_checked[PS_NUM_SIZES])(enum ps_mode mode, bool is_wide, char *out,
                                            const char *a, int64_t size,
                                            const char *index, int64_t n,
                                            const char *fill);
    void (*gather_rows)(char *out, const ps_list *list, const char *a,
                        int64_t out_stride, int64_t nbytes, bool streams);
    int64_t (*gather_rows_checked)(char *out, const ps_list *list,
                                   const ps_numbering *numbering, const char *a,
                                   int64_t out_stride, int64_t nbytes, bool streams);
    void (*gather_apart)(char *out, const ps_list *list, const char *a,
                         int64_t out_stride, int64_t item_stride, int64_t width,
                         int64_t size);
    /* segment.tmpl.h */
    void (*const (*segment)[PS_NUM_DTYPES])(char *out, const char *values,
                                            const ps_segments *segments);
    void (*const (*segment_rows)[PS_NUM_DTYPES])(char *out, const char *values,
                                                 const ps_segments *segments);
    void (*const *scale)(char *values, const char *weights, int64_t n, int64_t width);
    /* spgemm.tmpl.h */
    void (*const *spgemm_add)(const ps_products *terms, int64_t first, int64_t last);
    int64_t (*const *spgemm_take)(const ps_products *terms, int32_t *col, char *out);
    int64_t (*const *spgemm_few)(const ps_products *terms, int64_t first, int64_t last,
                                 int32_t *col, char *out);
    void (*const *spgemm_list)(char *out, const int64_t *place, const char *a,
                               const char *b, int64_t n);
    /* visit.tmpl.h */
    int64_t (*const (*find_checked)[PS_NUM_DTYPES])(bool is_wide, char *best,
                                                    int64_t *place, int64_t size,
                                                    const char *index,
                                                    const char *values, int64_t first,
                                                    int64_t n, int64_t width);
    int64_t (*const *deviate_checked)(bool is_wide, char *sum, const char *centre,
                                      int64_t size, const char *index,
                                      const char *values, int64_t n, int64_t width);
    /* softmax.tmpl.h */
    void (*const *exp)(char *to, const char *from, int64_t n);
    void (*const *log)(char *to, const char *from, const char *top, int64_t n);
    void (*const *meet_groups)(enum ps_op op, bool settles, char *to, const char *from,
                               const char *group, const int64_t *row, int64_t n,
                               int64_t width);
    /* scan.tmpl.h */
    int64_t (*const (*scan_checked)[PS_NUM_DTYPES])(bool is_wide, char *out,
                                                    const char *values,
                                                    const char *index, int64_t n,
                                                    const ps_scan *scan);
    void (*const (*scan_runs)[PS_NUM_DTYPES])(char *out, const char *values,
                                              const int64_t *edge, int64_t n_parts,
                                              bool continues, const ps_scan *scan);
    /* ranks.tmpl.h */
    bool (*const *quantile_missing)(void *column, int64_t n);
    void (*const *quantile_sort)(void *column, int64_t n);
    void (*const *quantile_pivot)(const void *column, int64_t n, void *pivot);
    void (*const *quantile_split)(void *column, ps_split *split, int64_t n,
                                  bool with_equals);
    int64_t (*const *quantile_fives)(void *column, int64_t n);
    /* quantile.tmpl.h */
    int64_t (*const *quantile_place)(const ps_columns *columns, const ps_list *list,
                                     const char *values);
    int64_t (*const *quantile_pick)(const ps_columns *columns, const ps_list *list,
                                    const char *values, const char *mask);
    void (*const *quantile_finish)(char *out, const void *column, int64_t n,
                                   const ps_levels *levels);
    void (*const *quantile_few)(char *out, void *column, int64_t n,
                                const ps_levels *levels);
    /* where.tmpl.h */
    void (*where[PS_NUM_SIZES])(char *out, const char *mask, const char *x,
                                int64_t x_step, const char *y, int64_t y_step,
                                int64_t n, bool streams);
    void (*where_set[PS_NUM_SIZES])(char *target, const char *mask, const char *values,
                                    int64_t step, int64_t n);
    int64_t (*compress[PS_NUM_SIZES])(char *out, const char *a, const char *mask,
                                      int64_t n, int64_t room);
    /* masked.tmpl.h */
    void (*const (*masked)[PS_NUM_DTYPES])(char *target, const char *mask,
                                           const char *values, int64_t step, int64_t n);
    /* copy.tmpl.h, pack.tmpl.h */
    void (*turn[PS_NUM_SIZES])(char *to, int64_t to_stride, const int64_t *offset,
                               int64_t columns, const char *from, int64_t rows);
    void (*copy[PS_NUM_SIZES])(char *to, int64_t to_stride, const char *from,
                               int64_t from_stride, int64_t n);
    void (*swap[PS_NUM_SIZES])(char *to, int64_t to_stride, const char *from,
                               int64_t from_stride, int64_t n);
    void (*const (*cast)[PS_NUM_ALL_DTYPES])(char *to, const char *from, int64_t n,
                                             int64_t from_stride);
    /* partition.h */
    void (*partition_count)(int64_t *count, const int64_t *offset, int64_t n,
                            ps_bins bins);
    void (*partition_sources)(int64_t *cursor, uint32_t *offset_out,
                              uint32_t *source_out, const ps_list *list, int64_t first,
                              ps_bins bins);
    void (*partition_values4)(int64_t *cursor, uint32_t *offset_out, char *value_out,
                              const ps_list *list, const char *values,
                              int64_t value_stride, ps_bins bins);
    void (*partition_values8)(int64_t *cursor, uint32_t *offset_out, char *value_out,
                              const ps_list *list, const char *values,
                              int64_t value_stride, ps_bins bins);
    int64_t (*partition_count_rows)(const ps_entries *entries, int64_t *count,
                                    int shift);
    void (*partition_put_rows)(const ps_entries *entries, int64_t *cursor, char *record,
                               int64_t payload, int shift);
    void (*partition_take_rows)(uint32_t *row, char *value, int64_t payload,
                                const char *record, int64_t n);
    void (*list_widen)(int64_t *to, const uint32_t *from, int64_t n, int64_t base);
    /* truth.tmpl.h */
    void (*truth[PS_NUM_SIZES])(char *to, const char *from, int64_t stride, int64_t n,
                                const char *bits);
    int64_t (*truth_words[PS_NUM_SIZES])(uint64_t *word, const char *from, int64_t n,
                                         const char *bits);
    /* mask.h */
    int64_t (*mask_words)(uint64_t *word, const char *mask, int64_t n);
    int64_t (*mask_count)(const char *mask, int64_t n);
    void (*mask_add)(char *to, int64_t row_step, int64_t step, const char *mask,
                     int64_t rows, int64_t width);
    /* nonzero.tmpl.h */
    int64_t (*positions)(int64_t *to, const uint64_t *word, int64_t n_words,
                         int64_t base, int64_t room);
    void (*split)(int64_t *list, int64_t *remainder, int64_t step, int64_t n,
                  int64_t add, int64_t size);
    /* spmm.tmpl.h */
    int64_t (*const (*spmm_rows)[PS_NUM_DTYPES])(const ps_sparse_rows *m, char *out,
                                                 const int64_t *edge, int64_t n);
    int64_t (*const *spmm_slices)(const ps_sparse_rows *m, char *out,
                                  const int64_t *edge, int64_t n);
    void (*const *spmm_list)(enum ps_product op, const ps_sparse_rows *m, char *out,
                             const ps_triplets *list);
    void (*const *spmm_finish)(const ps_row_finish *finish, char *out, char *sum,
                               const int64_t *edge, int64_t n);
    /* sddmm.tmpl.h */
    void (*const *sddmm)(const ps_dots *dots, char *out, const int64_t *row,
                         const int64_t *col, int64_t n);
    /* delta.tmpl.h, delta.h */
    const ps_delta_kernels *delta;
    /* base/change.h */
    const struct ps_change_kernels *change;
    const ps_key_kernels *keys;
    const struct ps_bin_kernels *bins;
    /* accumulate.tmpl.h: the cells of a sum's type, by that of the gradient */
    int64_t (*const (*accumulate)[PS_NUM_ALL_DTYPES])(enum ps_accumulation how,
                                                      char *acc, const char *g,
                                                      int64_t n, double weight);
    /* pullback.tmpl.h: of float32 and float64 */
    const ps_pull_kernel *pull;
} ps_kernel_table;

/* The table in force. */
const ps_kernel_table *ps_kernels(void);

/* The table of a level that the machine has. */
const ps_kernel_table *ps_kernels_of(enum ps_level level);

enum ps_level ps_current_level(void);

/* Put the table of `level` in force; the level must be available. */
void ps_use_level(enum ps_level level);

/* The number of the algorithm that a test forces on the ops, 0 for none; setting it
 * returns the one before. It lives here because this is where forced choices live. */
int ps_forced_choice(void);
int ps_force_choice(int choice);

#endif
