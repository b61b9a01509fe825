/* In which bin is each element? slot[i] = how many of the edges e[0] <= ... <= e[n] are
 * at most x[i]: 0 below all of them, 1 .. n in a bin, n + 1 above; an element equal to
 * the last edge is in the last bin, and one that is NaN has slot n + 2.
 *
 * Contract of all: x holds n contiguous elements of T, which another thread may
 * rewrite; slots are in [0, n_bins + 2] whatever it does. Edges lie behind one that is
 * below everything and before one that nothing reaches. Each element is read once or
 * twice, each slot written once.
 *
 * The fast ways rest on maps that never decrease, computed for the edges as for the
 * elements, so that nothing need be known of rounding: where map(x) is clear of
 * map(edge), so is x of the edge. Only what comes near an edge is compared with it.
 */
#if KIND_IS(FLOAT) || KIND_IS(INT)

/* From the number of edges <= x to a slot. */
TEMPLATE_INLINE int32_t
OF_TYPE(bin_settled)(const ps_bin_edges *edges, T x, int32_t count)
{
    const T last = ((const T *)edges->edge)[edges->n_edges];
    const bool is_last =
            edges->is_closed && count == (int32_t)edges->n_edges && x == last;
    const int32_t slot = count + edges->before - (is_last ? 1 : 0);
#if KIND_IS(FLOAT)
    return x != x ? edges->n_bins + 2 : slot;
#else
    return slot;
#endif
}

/* For edges that lie anyhow: halves, eight elements side by side so that one's loads do
 * not wait for another's. */
TEMPLATE_INLINE void
OF_TYPE(bins_search)(const ps_bin_edges *edges, int32_t *slot, const T *x, int64_t n)
{
    enum {
        ABREAST = 8
    };
    const T *const edge = (const T *)edges->edge + 1;
    for (int64_t first = 0; first < n; first += ABREAST) {
        const int wide = (int)(n - first < ABREAST ? n - first : ABREAST);
        T value[ABREAST] = {0};
        int64_t count[ABREAST] = {0};
        memcpy(value, x + first, (size_t)wide * sizeof(T));
        for (int64_t left = edges->n_edges; left > 1; left -= left / 2) {
            const int64_t half = left / 2;
            for (int k = 0; k < ABREAST; k++) {
                count[k] += value[k] >= edge[count[k] + half - 1] ? half : 0;
            }
        }
        for (int k = 0; k < wide; k++) {
            count[k] += edges->n_edges > 0 && value[k] >= edge[count[k]];
            slot[first + k] = OF_TYPE(bin_settled)(edges, value[k], (int32_t)count[k]);
        }
    }
}
#endif

#if KIND_IS(FLOAT)

/* The map of evenly spaced edges and cells: 1 at `low`, one more a step further on. */
TEMPLATE_INLINE T
OF_TYPE(bin_place)(T x, T low, T scale)
{
    return (x - low) * scale + 1;
}

/* The same kept in (0, top); NaN is 0.5. */
TEMPLATE_INLINE T
OF_TYPE(bin_kept)(T place, T top)
{
    place = place > (T)0.5 ? place : (T)0.5;
    return place < top ? place : top;
}

/* How far the map of edges [first, last) is from whole numbers at most; NaN and
 * infinity are "further than any". */
TEMPLATE_INLINE double
OF_TYPE(bins_fit)(const ps_bin_edges *edges, int64_t first, int64_t last)
{
    const T *const edge = (const T *)edges->edge + 1;
    const T low = (T)edges->low, scale = (T)edges->scale;
    double worst = 0;
    for (int64_t i = first; i < last; i++) {
        const T place = OF_TYPE(bin_place)(edge[i], low, scale);
        const double away = fabs((double)place - (double)(i + 1));
        worst = away <= worst ? worst : away < INFINITY ? away : INFINITY;
    }
    return worst;
}

/* The same by one comparison each, with the edge of the nearest whole number: of the
 * others the map tells on which side of them an element is. */
TEMPLATE_INLINE void
OF_TYPE(bins_beside)(const ps_bin_edges *edges, int32_t *restrict slot,
                     const T *restrict x, int64_t n)
{
    const ps_bin_edges own = *edges; /* slots are stored over what it points to, else */
    const T *restrict const edge = (const T *)own.edge;
    const T low = (T)own.low, scale = (T)own.scale;
    const T top = (T)own.n_bins + (T)1.5;
    for (int64_t i = 0; i < n; i++) {
        const T value = x[i];
        const int32_t nearest =
                (int32_t)(OF_TYPE(bin_kept)(OF_TYPE(bin_place)(value, low, scale),
                                            top) +
                          (T)0.5);
        const int32_t count = nearest - 1 + (value >= edge[nearest]);
        slot[i] = OF_TYPE(bin_settled)(&own, value, count);
    }
}

/* For even edges: arithmetic alone, in groups; a group with an element near an edge is
 * done again, with comparisons. `near` is more than bins_fit, less than 1/2. */
TEMPLATE_INLINE void
OF_TYPE(bins_even)(const ps_bin_edges *edges, int32_t *slot, const T *x, int64_t n)
{
    enum {
        GROUP = 64
    };
    const T low = (T)edges->low, scale = (T)edges->scale;
    const T near = (T)edges->near, far = 1 - near;
    const T top = (T)edges->n_bins + (T)1.5;
    const int32_t missing = edges->n_bins + 2;
    for (int64_t first = 0; first < n; first += GROUP) {
        const int64_t last = n - first < GROUP ? n : first + GROUP;
        int32_t is_near = 0;
        for (int64_t i = first; i < last; i++) {
            const T place =
                    OF_TYPE(bin_kept)(OF_TYPE(bin_place)(x[i], low, scale), top);
            const int32_t whole = (int32_t)place;
            const T rest = place - (T)whole;
            is_near |= (rest < near) | (rest > far);
            slot[i] = x[i] != x[i] ? missing : whole;
        }
        if (is_near) {
            OF_TYPE(bins_beside)(edges, slot + first, x + first, last - first);
        }
    }
}

/* The order of floats as integers: -0.0 and 0.0 are 0. */
TEMPLATE_INLINE KEY
OF_TYPE(bin_order)(T x)
{
    KEY bits;
    memcpy(&bits, &x, sizeof(bits));
    const KEY least = sizeof(KEY) == 4 ? (KEY)INT32_MIN : (KEY)INT64_MIN;
    return bits >= 0 ? bits : least - bits;
}

/* The cell of an element: a map that never decreases, NaN aside. */
TEMPLATE_INLINE int32_t
OF_TYPE(bin_cell)(const bool by_bits, const ps_bin_edges *edges, T x)
{
    if (by_bits) {
        const KEY cell = (OF_TYPE(bin_order)(x) >> edges->shift) - (KEY)edges->first;
        const KEY most = (KEY)edges->n_cells, kept = cell < most ? cell : most;
        return (int32_t)(kept > 0 ? kept : 0);
    }
    return (int32_t)OF_TYPE(bin_kept)(
            OF_TYPE(bin_place)(x, (T)edges->low, (T)edges->scale),
            (T)edges->n_cells + (T)0.5);
}

/* base[c] = how many edges are in cells before c, for c in [0, n_cells]; returns how
 * many are in one cell at most. */
TEMPLATE_INLINE int64_t
OF_TYPE(bins_index)(const bool by_bits, const ps_bin_edges *edges, int32_t *base)
{
    const T *const edge = (const T *)edges->edge + 1;
    int64_t most = 0, run = 0;
    int32_t cell = 0;
    for (int64_t i = 0; i < edges->n_edges; i++) {
        const int32_t own = OF_TYPE(bin_cell)(by_bits, edges, edge[i]);
        run = i > 0 && own < cell ? run + 1 : 1;
        for (; cell <= own; cell++) {
            base[cell] = (int32_t)i;
        }
        most = run > most ? run : most;
    }
    for (; cell <= edges->n_cells; cell++) {
        base[cell] = (int32_t)edges->n_edges;
    }
    return most;
}

/* Slots of cells of which each has at most `most` edges, a constant of the caller for
 * the fewest. */
TEMPLATE_INLINE void
OF_TYPE(bins_compare)(const ps_bin_edges *edges, const int64_t most,
                      int32_t *restrict slot, const T *restrict x, int64_t n)
{
    const ps_bin_edges own = *edges; /* slots are stored over what it points to, else */
    const T *restrict const edge = (const T *)own.edge + 1;
    const int32_t *restrict const base = own.base;
    for (int64_t i = 0; i < n; i++) {
        const T value = x[i];
        int32_t count = base[slot[i]];
        for (int64_t k = 0; k < most; k++) {
            count += value >= edge[count];
        }
        slot[i] = OF_TYPE(bin_settled)(&own, value, count);
    }
}

/* For all other edges that cells can hold apart: the edges of earlier cells are below,
 * those of the own cell, `edges->most` at most, are compared with. */
TEMPLATE_INLINE void
OF_TYPE(bins_cells)(const bool by_bits, const ps_bin_edges *edges,
                    int32_t *restrict slot, const T *restrict x, int64_t n)
{
    const ps_bin_edges own = *edges;
    for (int64_t i = 0; i < n; i++) {
        slot[i] = OF_TYPE(bin_cell)(by_bits, &own, x[i]);
    }
    switch (own.most) {
        case 1:
            OF_TYPE(bins_compare)(edges, 1, slot, x, n);
            return;
        case 2:
            OF_TYPE(bins_compare)(edges, 2, slot, x, n);
            return;
        default:
            OF_TYPE(bins_compare)(edges, own.most, slot, x, n);
    }
}
#endif
