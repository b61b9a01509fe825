/* Edges made ready for the kernels (contract in bins.h): in the elements' own type, and
 * with the way that finds bins fastest.
 *
 * float32 elements are compared in float32, with each edge rounded up to the next
 * float32: none lies between the two. Even edges need arithmetic alone; others need a
 * table of cells, linear or by the bits of floats, that holds most of them apart, and
 * edges that neither does are searched for. A way is taken when the edges themselves
 * show that it is right, so nothing here depends on how they were made.
 */
#include <math.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/bins.h"
#include "ops/run.h"

enum {
    /* Elements to a cell at least: making a cell takes 1 ns, and finding a bin in a
     * table saves 5 to 10. */
    PER_CELL = 8,
    /* Cells to an edge at first: half of them hold evenly scattered edges apart. Eight
     * times as many where these do not, as long as the table stays in the second cache.
     */
    CELLS = 4,
    MORE = 8,
    FEWEST_CELLS = 64,
    MOST_CELLS = 1 << 17,
    /* Cells by the upper bits of floats, of which edges meet few: as many as float32
     * has with four bits of the fraction. */
    BIT_CELLS = 8192,
    /* Edges in a cell that are compared with one after the other. */
    MOST_IN_CELL = 2
};
/* Elements so near to an edge, as a share of a bin, are compared with it; beyond,
 * float32 is too coarse and float64 takes its place. One element in 64 that is near
 * makes even arithmetic as slow as a search. */
static const double FLOAT_FIT = 0x1p-11, DOUBLE_FIT = 0x1p-8;

enum ps_dtype
ps_bin_type(enum ps_dtype dtype)
{
    switch (dtype) {
        case PS_i32:
        case PS_u32:
        case PS_i64:
        case PS_u64:
        case PS_f64:
            return PS_f64;
        default:
            return PS_f32;
    }
}

/* A test's choice shares its place with those of other ops, behind them. */
int
ps_forced_bin_way(void)
{
    const int choice = ps_forced_choice() - PS_NUM_ALGORITHMS;
    return choice >= 0 && choice < PS_BINS_log2 ? choice : -1;
}

/* Setting it gives back the one before; other ops take such a choice for none. */
int
ps_force_bin_way(int way)
{
    const int before =
            ps_force_choice(way < 0 ? PS_ALGORITHM_automatic : PS_NUM_ALGORITHMS + way);
    return before >= PS_NUM_ALGORITHMS ? before - PS_NUM_ALGORITHMS : -1;
}

/* Names by which tests ask for a way. */
const char *
ps_bin_way_name(enum ps_bin_way way)
{
#define BIN_WAY_NAME(name) [PS_BINS_##name] = #name,
    static const char *const names[PS_NUM_BIN_WAYS] = {
            PS_FOR_EACH_BIN_WAY(BIN_WAY_NAME)};
    return names[way];
}

/* ---- edges in the type of the elements ---- */

/* The next float32 that is not below: x >= edge and x >= this are the same of float32.
 */
static float
rounded_up(double edge)
{
    const float near = (float)edge;
    return (double)near < edge ? nextafterf(near, INFINITY) : near;
}

/* The edges between their guards, as `type`, f32 or f64. */
static void
put_edges(ps_finder *finder, const ps_edges *given, enum ps_dtype type, ps_run *run)
{
    ps_bin_edges *const edges = &finder->edges;
    const int64_t n = (int64_t)given->n_bins + 1;
    float *const narrow = (float *)finder->memory;
    double *const wide = (double *)finder->memory;
    finder->type = type;
    edges->n_edges = n;
    edges->n_bins = given->n_bins;
    ps_stretch part = ps_stretch_of(run, n, 16);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            if (type == PS_f32) {
                narrow[i + 1] = rounded_up(given->edge[i]);
            }
            else {
                wide[i + 1] = given->edge[i];
            }
        }
    }
    if (type == PS_f32) {
        narrow[0] = -INFINITY;
        narrow[n + 1] = NAN;
        edges->is_closed = (double)narrow[n] == given->edge[n - 1];
        return;
    }
    wide[0] = -INFINITY;
    wide[n + 1] = NAN;
    edges->is_closed = true;
}

/* Integers have no number that is below, or above, all of them: guards are never read,
 * since halving stays between the edges. */
static void
put_whole_edges(ps_finder *finder, const ps_edges *given)
{
    ps_bin_edges *const edges = &finder->edges;
    memcpy(finder->memory + 8, given->whole, (size_t)given->n_whole * 8);
    finder->type = given->is_unsigned ? PS_u64 : PS_i64;
    edges->n_edges = given->n_whole;
    edges->n_bins = given->n_bins;
    edges->before = (int32_t)given->before;
    edges->is_closed = given->is_closed;
    finder->way = PS_BINS_search;
}

/* ---- ways ---- */

/* Places of the edges one step apart, as far as they are even. */
static void
put_map(ps_bin_edges *edges, const ps_edges *given, int64_t steps)
{
    edges->low = given->edge[0];
    edges->scale = (double)steps / (given->edge[given->n_bins] - given->edge[0]);
}

/* How far the map is from whole numbers at most; where the run is stopped it does not
 * matter. */
static double
fit_of(const ps_finder *finder, ps_run *run)
{
    ps_stretch part = ps_stretch_of(run, finder->edges.n_edges, 16);
    double worst = 0;
    while (ps_next_stretch(&part)) {
        worst = fmax(worst, ps_kernels()->bins->fit[finder->type](
                                    &finder->edges, part.first, part.last));
    }
    return worst;
}

/* Elements nearer to an edge than the edges are to whole numbers are compared with it;
 * twice that, and a little more, so that the comparison is strict whatever is rounded.
 */
static bool
try_even(ps_finder *finder, const ps_edges *given, ps_run *run)
{
    ps_bin_edges *const edges = &finder->edges;
    put_map(edges, given, given->n_bins);
    const double fit = fit_of(finder, run);
    const double least = finder->type == PS_f32 ? 0x1p-20 : 0x1p-40;
    if (!(fit <= (finder->type == PS_f32 ? FLOAT_FIT : DOUBLE_FIT))) {
        return false;
    }
    edges->near = 2 * fit + least;
    finder->way = PS_BINS_even;
    return true;
}

/* float64 where float32 is too coarse. */
static bool
try_even_wider(ps_finder *finder, const ps_edges *given, ps_run *run)
{
    if (try_even(finder, given, run)) {
        return true;
    }
    if (finder->type == PS_f64) {
        return false;
    }
    put_edges(finder, given, PS_f64, run);
    if (try_even(finder, given, run)) {
        return true;
    }
    put_edges(finder, given, PS_f32, run);
    return false;
}

/* Does a table that has been made hold the edges apart? */
static bool
try_table(ps_finder *finder, bool by_bits, int32_t *base)
{
    ps_bin_edges *const edges = &finder->edges;
    edges->base = base;
    edges->most = ps_kernels()->bins->index[finder->type](by_bits, edges, base);
    finder->way = by_bits ? PS_BINS_bits : PS_BINS_cells;
    return edges->most <= MOST_IN_CELL;
}

/* Cells of equal width between the first edge and the last, and one for what is above.
 */
static bool
try_cells(ps_finder *finder, const ps_edges *given, int32_t *base, int64_t most)
{
    int64_t cells = ps_max(finder->edges.n_edges * CELLS, FEWEST_CELLS);
    bool serves = false;
    for (; !serves && cells <= most; cells *= MORE) {
        put_map(&finder->edges, given, cells);
        finder->edges.n_cells = cells + 1;
        serves = try_table(finder, false, base);
    }
    return serves;
}

/* The order of a float as an integer (bin_order of bins.tmpl.h). */
static int64_t
order_of(const ps_finder *finder, int64_t at)
{
    if (finder->type == PS_f32) {
        int32_t bits;
        memcpy(&bits, finder->memory + at * 4, sizeof(bits));
        return bits >= 0 ? bits : (int64_t)INT32_MIN - bits;
    }
    int64_t bits;
    memcpy(&bits, finder->memory + at * 8, sizeof(bits));
    return bits >= 0 ? bits : (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits);
}

/* Cells of floats whose upper bits are the same. At least one bit is left out, so that
 * differences of cells fit in 32 bits. */
static bool
try_bits(ps_finder *finder, int32_t *base, int64_t most)
{
    ps_bin_edges *const edges = &finder->edges;
    const int64_t low = order_of(finder, 1), high = order_of(finder, edges->n_edges);
    bool serves = false;
    for (int64_t cells = BIT_CELLS; !serves && cells <= most; cells *= MORE) {
        edges->shift = 1;
        while ((high >> edges->shift) - (low >> edges->shift) >= cells) {
            edges->shift++;
        }
        edges->first = low >> edges->shift;
        edges->n_cells = (high >> edges->shift) - edges->first + 1;
        serves = try_table(finder, true, base);
    }
    return serves;
}

/* The first way that serves; a search always does. */
static void
choose_way(ps_finder *finder, const ps_edges *given, int32_t *base, int64_t most,
           ps_run *run)
{
    const int forced = ps_forced_bin_way();
    const bool is_free = forced < 0;
    if ((is_free || forced == PS_BINS_even) && try_even_wider(finder, given, run)) {
        return;
    }
    if (base != NULL &&
        (((is_free || forced == PS_BINS_cells) &&
          try_cells(finder, given, base, most)) ||
         ((is_free || forced == PS_BINS_bits) && try_bits(finder, base, most)))) {
        return;
    }
    finder->way = PS_BINS_search;
}

/* ---- memory ---- */

/* Bytes of edges, and behind them of a table where there may be one. */
static ps_status
take_memory(ps_finder *finder, int64_t edge_bytes, int64_t cells)
{
    finder->nbytes = edge_bytes + cells * (int64_t)sizeof(int32_t);
    finder->memory = finder->few;
    if (finder->nbytes > PS_FEW_EDGE_BYTES) {
        finder->memory = ps_scratch_get(finder->nbytes);
    }
    finder->edges.edge = finder->memory;
    return finder->memory != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

ps_status
ps_finder_open(void *argument, ps_run *run)
{
    const ps_finder_call *const call = argument;
    ps_finder *const finder = call->finder;
    const ps_edges *const edges = call->edges;
    finder->edges = (ps_bin_edges){.n_bins = edges->n_bins};
    if (edges->whole != NULL) {
        PS_TRY(take_memory(finder, (edges->n_whole + 2) * 8, 0));
        put_whole_edges(finder, edges);
        return PS_SUCCESS;
    }
    const int64_t n_edges = (int64_t)edges->n_bins + 1;
    const int64_t most = ps_forced_bin_way() >= 0
                                 ? MOST_CELLS
                                 : ps_min(call->n / PER_CELL, MOST_CELLS);
    const bool has_table = most >= n_edges * CELLS && most >= FEWEST_CELLS;
    const int64_t cells = has_table ? most + 4 : 0;
    const int64_t edge_bytes = (n_edges + 2) * 8;
    PS_TRY(take_memory(finder, edge_bytes, cells));
    put_edges(finder, edges, ps_bin_type(call->dtype), run);
    choose_way(finder, edges,
               has_table ? (int32_t *)(finder->memory + edge_bytes) : NULL, most, run);
    return ps_run_status(run);
}

/* Twice does no harm. */
void
ps_finder_close(ps_finder *finder)
{
    if (finder->memory != finder->few) {
        ps_scratch_put(finder->memory, finder->nbytes);
    }
    finder->memory = finder->few;
}

/* ---- powers of two ---- */

/* The order of float64 without its lower bits; bin_order of bins.tmpl.h. */
int64_t
ps_log2_bin(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const int64_t order =
            bits >= 0 ? bits : (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits);
    return order >> PS_LOG2_SHIFT;
}

/* The outermost limits are the largest finite numbers, not infinities. */
double
ps_log2_edge(int64_t number)
{
    const uint64_t size = (uint64_t)(number < 0 ? -number : number) << PS_LOG2_SHIFT;
    double edge;
    memcpy(&edge, &size, sizeof(edge));
    edge = edge < INFINITY ? edge : 0x1.fffffffffffffp1023;
    return number < 0 ? -edge : edge;
}

/* No memory: the bin is arithmetic on bits. */
ps_status
ps_finder_log2(ps_finder *finder, enum ps_dtype dtype, double low, double high)
{
    const int64_t first = ps_log2_bin(low);
    finder->memory = finder->few;
    finder->edges = (ps_bin_edges){.n_bins = (int32_t)(ps_log2_bin(high) - first + 1),
                                   .first = first};
    finder->type = ps_bin_type(dtype);
    finder->way = PS_BINS_log2;
    return PS_SUCCESS;
}
