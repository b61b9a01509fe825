/* Stamps the finders of bins (bins.tmpl.h), what becomes of them (bins.h), and the
 * moments of histograms (histogram.tmpl.h). Narrow types are f32 by then, and integers
 * f64 but for those that are compared with integers beyond 2^53. */
#include "kernels/stamps.h"

#include "base/bins.h"
#include "kernels/vectors.h"

#define TEMPLATE "kernels/bins.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/histogram.tmpl.h"
#include "kernels/foreach_dtype.h"

#include "kernels/bins.h"

/* clang-format off */
#define FINDER(way, dtype, call)                                                        \
    OF_UNIT void NAME(bins_find, way, dtype)(const ps_bin_edges *edges, int32_t *slot,  \
                                             const char *x, int64_t n)                  \
    { const dtype *const from = (const dtype *)x; call; }
#define FINDERS(dtype)                                                                  \
    FINDER(even, dtype, bins_even_##dtype(edges, slot, from, n))                        \
    FINDER(cells, dtype, bins_cells_##dtype(false, edges, slot, from, n))               \
    FINDER(bits, dtype, bins_cells_##dtype(true, edges, slot, from, n))                 \
    FINDER(search, dtype, bins_search_##dtype(edges, slot, from, n))                    \
    FINDER(log2, dtype, bins_log2_##dtype(edges, slot, from, n))                        \
    OF_UNIT double NAME(bins_fit, even, dtype)(const ps_bin_edges *edges, int64_t first, \
                                               int64_t last)                            \
    { return bins_fit_##dtype(edges, first, last); }                                    \
    OF_UNIT int64_t NAME(bins_index, any, dtype)(bool by_bits, const ps_bin_edges *edges, \
                                                 int32_t *base)                         \
    { return by_bits ? bins_index_##dtype(true, edges, base)                            \
                     : bins_index_##dtype(false, edges, base); }                        \
    OF_UNIT void NAME(histogram_measure, any, dtype)(ps_moments *moments, const char *x, \
                                                     int64_t n)                         \
    { histogram_measure_##dtype(moments, (const dtype *)x, n); }
FINDERS(f32)
FINDERS(f64)
FINDER(search, i64, bins_search_i64(edges, slot, from, n))
FINDER(search, u64, bins_search_u64(edges, slot, from, n))

#define OF_FLOATS(family, op) {[PS_f32] = NAME(family, op, f32), [PS_f64] = NAME(family, op, f64)}
const ps_bin_kernels GRID(bin_kernels, ISA) = {
    .find = {[PS_BINS_even] = OF_FLOATS(bins_find, even),
             [PS_BINS_cells] = OF_FLOATS(bins_find, cells),
             [PS_BINS_bits] = OF_FLOATS(bins_find, bits),
             [PS_BINS_log2] = OF_FLOATS(bins_find, log2),
             [PS_BINS_search] = {[PS_f32] = NAME(bins_find, search, f32),
                                 [PS_f64] = NAME(bins_find, search, f64),
                                 [PS_i64] = NAME(bins_find, search, i64),
                                 [PS_u64] = NAME(bins_find, search, u64)}},
    .fit = OF_FLOATS(bins_fit, even),
    .index = OF_FLOATS(bins_index, any),
    .measure = OF_FLOATS(histogram_measure, any),
    .join = NAME(bins_join, any, i32),
    .number = NAME(bins_number, any, i32),
    .count = NAME(bins_count, any, i32),
    .weigh = NAME(bins_weigh, any, i32)};
/* clang-format on */
