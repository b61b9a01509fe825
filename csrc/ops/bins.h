/* Bins: edges made ready for the kernels, and the bins of elements by one to several
 * coordinates. The finder is shared with histograms. */
#ifndef PS_OPS_BINS_H
#define PS_OPS_BINS_H

#include "base/bins.h"
#include "ops/operand.h"
#include "ops/ops.h"

enum {
    /* Bytes of edges that need no work memory: calls of a few elements. */
    PS_FEW_EDGE_BYTES = 320,
    /* Coordinates of a call. */
    PS_MAX_COORDINATES = 32
};

/* Edges as they are given: n_bins + 1 of them that never decrease, none NaN. */
typedef struct {
    const double *edge; /* float64; */
    /* or, of integers beyond 2^53 that are compared with integers, these as int64, or
     * uint64; edges that the elements' type does not hold have been left out. */
    const void *whole;
    bool is_unsigned;
    int64_t n_whole, before;
    bool is_closed;
    int32_t n_bins;
} ps_edges;

/* Edges of n even bins from low to high, as np.linspace has them, or, where the width
 * overflows, from both of its ends. */
typedef struct {
    double *edge; /* [n + 1] */
    int64_t n;
    double low, high;
    bool increase; /* out: strictly; else not all edges have been made */
} ps_even_edges_call;

ps_status ps_make_even(void *call, ps_run *run); /* a ps_even_edges_call */

/* Do n + 1 edges never decrease, nor are NaN? One of the two kinds. */
typedef struct {
    const double *edge;
    const void *whole; /* int64, or uint64 */
    bool is_unsigned;
    int64_t n;
    bool never_decrease; /* out */
} ps_given_edges_call;

ps_status ps_look_at_edges(void *call, ps_run *run); /* a ps_given_edges_call */

/* Edges made ready for elements of one type. */
typedef struct {
    ps_bin_edges edges;
    enum ps_dtype type; /* f32, f64, i64, u64: what elements are converted to */
    enum ps_bin_way way;
    char *memory;
    int64_t nbytes;
    char few[PS_FEW_EDGE_BYTES];
} ps_finder;

/* The type in which elements of `dtype` are compared with edges of float64: all of
 * their values and no others. */
enum ps_dtype ps_bin_type(enum ps_dtype dtype);

/* For about n elements of `dtype`. finder->memory is `few`, and *finder is to be closed
 * whatever becomes of it. */
typedef struct {
    ps_finder *finder;
    const ps_edges *edges;
    enum ps_dtype dtype;
    int64_t n;
} ps_finder_call;

ps_status ps_finder_open(void *call, ps_run *run); /* a ps_finder_call */

/* The bins of powers of two from the one of `low` to that of `high`, finite. */
ps_status ps_finder_log2(ps_finder *finder, enum ps_dtype dtype, double low,
                         double high);

void ps_finder_close(ps_finder *finder);

/* The number of the bin of powers of two in which a finite value lies, and where bin
 * `number` begins; 0 begins at 0. */
int64_t ps_log2_bin(double value);
double ps_log2_edge(int64_t number);

/* The way that a test forces, or -1; of ps_force_choice. */
int ps_forced_bin_way(void);
int ps_force_bin_way(int way);
const char *ps_bin_way_name(enum ps_bin_way way);

/* Numbers of bins, or counts of them, of entries by n_coordinates coordinates, which
 * are views of one shape; bins are numbered in C order of the coordinates. */
typedef struct {
    int n_coordinates;
    const ps_view *coordinates;
    const ps_finder *const *finders;
    enum ps_outside outside;
    int64_t n;        /* entries */
    int64_t n_bins;   /* of all coordinates together, with those outside */
    char *number;     /* [n], contiguous, or NULL: -1 where there is no bin */
    int number_bytes; /* of one: 1, 2, 4, 8; n_bins - 1 fits */
    int64_t *count;   /* [n_bins], zeroed, or NULL */
} ps_bins_call;

ps_status ps_bins_find(void *call, ps_run *run); /* a ps_bins_call */

/* ---- shared with histograms ---- */

/* Tables in which pieces count on their own. */
typedef struct {
    int64_t step; /* items of a table */
    int n_tables; /* of a piece: 1 or 4 */
    int64_t n_pieces;
    uint32_t *count;
    int64_t nbytes;
} ps_tallies;

/* For n entries in slots [0, n_slots). n_pieces: at most so many. */
ps_status ps_tallies_open(ps_tallies *tallies, int64_t n, int64_t n_slots,
                          const ps_run *run);
uint32_t *ps_tallies_of(const ps_tallies *tallies, int64_t piece);

/* total[i] += all counts of slot first + i, i < n. */
void ps_tallies_add(const ps_tallies *tallies, int64_t first, int64_t *total,
                    int64_t n);
void ps_tallies_close(ps_tallies *tallies);

/* Elements [first, last) of `n`, in whole chunks of PS_BIN_CHUNK, are piece i. */
enum {
    PS_BIN_CHUNK = 1 << 16
};
void ps_bin_piece(int64_t n, int64_t n_pieces, int64_t piece, int64_t *first,
                  int64_t *last);

/* An array as an operand whose blocks kernels can read. */
void ps_bin_operand(ps_operand *operand, const ps_view *view, enum ps_dtype type);

/* Its elements [first, first + n), n <= PS_BIN_BLOCK, where they lie or in `buffer`,
 * which has room for as many. */
const char *ps_bin_values(const ps_operand *operand, int64_t first, int64_t n,
                          char *buffer);

#endif
