/* Bins and histograms: the words that kernels and ops share, and the kernels' own table
 * within a level's table. The contracts stand above the templates. */
#ifndef PS_BASE_BINS_H
#define PS_BASE_BINS_H

#include "base/tables.h"

/* How bins are found (bins.tmpl.h). */
#define PS_FOR_EACH_BIN_WAY(X) X(even) X(cells) X(bits) X(search) X(log2)
#define PS_ENUM_BIN_WAY(name) PS_BINS_##name,
enum ps_bin_way {
    PS_FOR_EACH_BIN_WAY(PS_ENUM_BIN_WAY) PS_NUM_BIN_WAYS
};

/* What becomes of elements without a bin: none; the first or last bin, NaN none; or
 * bins of their own before the first and behind the last, to which NaN goes. */
#define PS_FOR_EACH_OUTSIDE(X) X(drop) X(clip) X(extend)
#define PS_ENUM_OUTSIDE(name) PS_OUTSIDE_##name,
enum ps_outside {
    PS_FOR_EACH_OUTSIDE(PS_ENUM_OUTSIDE) PS_NUM_OUTSIDE
};

enum {
    /* Bits of float64 below those that number a bin of "log2". */
    PS_LOG2_SHIFT = 50,
    /* Elements of a block of slots; moments are summed by blocks of so many. */
    PS_BIN_BLOCK = 1024
};

/* Edges as kernels see them. */
typedef struct {
    const void *edge; /* [n_edges + 2], of the elements' type: edges between guards */
    int64_t n_edges;  /* those that elements can be compared with: usually n_bins + 1 */
    int32_t n_bins;
    int32_t before; /* edges that are below all elements of the type */
    bool is_closed; /* an element can equal the last edge */
    /* even and cells: the map of elements to places; */
    double low, scale, near;
    /* cells and bits: how many edges come before each cell, are in one at most, */
    const int32_t *base;
    int64_t n_cells, most;
    /* and, of bits and log2, the cell of the order of an element. */
    int shift;
    int64_t first;
} ps_bin_edges;

/* What a histogram knows of its elements; the last five speak of the finite ones. */
typedef struct {
    int64_t n_nan, n_posinf, n_neginf, n_finite;
    double min, max, sum, sum_squares;
} ps_moments;

typedef struct ps_bin_kernels {
    /* bins.tmpl.h, histogram.tmpl.h */
    void (*find[PS_NUM_BIN_WAYS][PS_NUM_DTYPES])(const ps_bin_edges *edges,
                                                 int32_t *slot, const char *x,
                                                 int64_t n);
    double (*fit[PS_NUM_DTYPES])(const ps_bin_edges *edges, int64_t first,
                                 int64_t last);
    int64_t (*index[PS_NUM_DTYPES])(bool by_bits, const ps_bin_edges *edges,
                                    int32_t *base);
    void (*measure[PS_NUM_DTYPES])(ps_moments *moments, const char *x, int64_t n);
    /* bins.h */
    void (*join)(enum ps_outside outside, bool is_first, int32_t *number,
                 const int32_t *slot, int64_t n, int32_t n_bins);
    void (*number)(char *to, int nbytes, const int32_t *number, int64_t n);
    void (*count)(uint32_t *count, int64_t step, int n_tables, const int32_t *slot,
                  int64_t n);
    void (*weigh)(enum ps_dtype type, char *sum, const int32_t *slot,
                  const char *weight, int64_t n);
} ps_bin_kernels;

#endif
