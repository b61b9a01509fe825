/* gather: out[source[i]] = a[offset[i]]. A pure move: one instance per item size (T is
 * an unaligned move type). out holds source numbers 0, 1, ... `out_stride` bytes apart;
 * source NULL means 0, 1, ..., n - 1. offset [n] has been checked. Moves
 * n * (8 + 2 sizeof(T)) bytes.
 *
 * gather_checked takes the commonest index as it comes: n contiguous int32 or int64
 * (is_wide), of which each is read once; a: `size` contiguous items, size > 0; out [n].
 */

TEMPLATE_INLINE void
OF_TYPE(gather)(char *restrict out, const ps_list *list, const char *restrict a,
                int64_t out_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    if (source == NULL && out_stride == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < list->n; i++) {
            *(T *)(out + i * (int64_t)sizeof(T)) = *(const T *)(a + offset[i]);
        }
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t to = source != NULL ? source[i] : i;
        *(T *)(out + to * out_stride) = *(const T *)(a + offset[i]);
    }
}

/* Ask for index and output `AHEAD` entries on: random reads spoil the hardware's own
 * prefetch of streams (1e6 float32 of 8,000 with 0.74 ns each, without 0.78; of 50,000
 * 1.01 and 1.12; Zen 3). Asking needs no bounds. */
TEMPLATE_INLINE void
OF_TYPE(ask_for_streams)(const bool is_wide, const char *index, const T *out, int64_t i)
{
    enum {
        AHEAD = 256
    };
    __builtin_prefetch(index + (i + AHEAD) * (is_wide ? 8 : 4));
    __builtin_prefetch((const char *)out + (i + AHEAD) * (int64_t)sizeof(T), 1);
}

/* out[i] = a[row of index[i]] from entry i on, in steps of some, up to an index that is
 * out of bounds, or negative where those are not counted from the end (`counts`). One
 * comparison, in the register from which the index is used, is all the check; memcpy,
 * because a vector moves 16 bytes at once. `ahead`: how many entries ahead items are
 * asked for; 0: they are near. Returns where it stopped. */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_raised)(const bool is_wide, const bool counts, const int64_t ahead,
                       char *restrict out, const char *restrict a, int64_t size,
                       const char *restrict index, int64_t n, int64_t i)
{
    enum {
        STEP = 8
    };
    const int64_t counted = counts ? size : 0, last = n - STEP - ahead;
    int64_t row;
    for (; i <= last; i += STEP) {
        OF_TYPE(ask_for_streams)(is_wide, index, (const T *)out, i);
#pragma GCC unroll 8
        for (int64_t k = i; k < i + STEP; k++) {
            if (ahead > 0) {
                is_row_of(is_wide, index, k + ahead, size, counted, &row);
                __builtin_prefetch(a + (uint64_t)row * sizeof(T));
            }
            if (__builtin_expect(!is_row_of(is_wide, index, k, size, counted, &row),
                                 0)) {
                return k;
            }
            memcpy(out + k * (int64_t)sizeof(T), a + row * (int64_t)sizeof(T),
                   sizeof(T));
        }
    }
    return i;
}

/* Do most neighbours in an index lie within a page of each other? Eight pairs tell; the
 * lines of such an index are near when they are wanted. */
TEMPLATE_INLINE bool
OF_TYPE(runs_along)(const bool is_wide, const char *index, int64_t n)
{
    enum {
        PAIRS = 8,
        PAGE = 4096 / sizeof(T)
    };
    int near = 0;
    for (int64_t k = 0; k < PAIRS && n >= 2 * PAIRS; k++) {
        const int64_t i = (n - 2) / (PAIRS - 1) * k;
        const uint64_t step = (uint64_t)index_at(is_wide, index, i + 1) -
                              (uint64_t)index_at(is_wide, index, i);
        near += step + PAGE <= 2 * (uint64_t)PAGE;
    }
    return near * 2 > PAIRS;
}

/* One loop of those below, for a mode that is a constant. */
TEMPLATE_INLINE void
OF_TYPE(gather_under)(const enum ps_mode mode, const bool is_wide, char *restrict out,
                      const char *restrict a, int64_t size, const char *restrict index,
                      int64_t n, const char *fill)
{
    enum {
        STEP = 16
    };
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    const T filled = mode == PS_MODE_FILL ? *(const T *)fill : from[0];
    for (int64_t first = 0; first < n; first += STEP) {
        const int64_t last = n - first < STEP ? n : first + STEP;
        OF_TYPE(ask_for_streams)(is_wide, index, to, first);
        OF_TYPE(ask_for_streams)(is_wide, index, to, first + STEP / 2);
        for (int64_t i = first; i < last; i++) {
            const int64_t row = row_i64(mode, index_at(is_wide, index, i), size);
            if (mode == PS_MODE_FILL) {
                const T item = from[row & ~(row >> 63)];
                to[i] = OF_TYPE(choose)(row >= 0, item, filled);
            }
            else {
                to[i] = from[row];
            }
        }
    }
}

/* The modes that refuse no number: without a branch, since numbers out of bounds may
 * come at random. */
TEMPLATE_INLINE void
OF_TYPE(gather_moded)(enum ps_mode mode, const bool is_wide, char *restrict out,
                      const char *restrict a, int64_t size, const char *restrict index,
                      int64_t n, const char *fill)
{
    switch (mode) {
        case PS_MODE_CLIP:
            OF_TYPE(gather_under)
            (PS_MODE_CLIP, is_wide, out, a, size, index, n, fill);
            break;
        case PS_MODE_WRAP:
            OF_TYPE(gather_under)
            (PS_MODE_WRAP, is_wide, out, a, size, index, n, fill);
            break;
        default:
            OF_TYPE(gather_under)
            (PS_MODE_FILL, is_wide, out, a, size, index, n, fill);
            break;
    }
}

/* out[i] = a[row of index[i]] straight from the caller's index; returns n, or, under
 * "raise", in which negatives count from the end, how many have been moved before an
 * index out of bounds. Of a source that does not stay in the second cache, items are
 * asked for ahead, unless the index runs along it: ns an item of 1e6 float64, so / not,
 * of 80 KB 0.80 / 0.60, of 800 KB 0.97 / 1.07, of 8 MB 3.4 / 4.5, of 40 MB 7.9 / 10.0,
 * sorted ones of 800 KB 1.8 / 1.3 (Zen 3). From the first negative on, they are
 * counted: a fifth of the time where the source is near. Of the other modes, clip and
 * wrap find a row for each number, all others put the item at `fill` where there is
 * none.
 */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_checked)(enum ps_mode mode, const bool is_wide, char *restrict out,
                        const char *restrict a, int64_t size,
                        const char *restrict index, int64_t n, const char *fill)
{
    enum {
        NEAR_BYTES = 512 << 10,
        AHEAD = 32
    };
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    int64_t row, i = 0;
    if (mode != PS_MODE_RAISE) {
        OF_TYPE(gather_moded)(mode, is_wide, out, a, size, index, n, fill);
        return n;
    }
    if (size <= NEAR_BYTES / (int64_t)sizeof(T) ||
        OF_TYPE(runs_along)(is_wide, index, n)) {
        i = OF_TYPE(gather_raised)(is_wide, false, 0, out, a, size, index, n, i);
        i = OF_TYPE(gather_raised)(is_wide, true, 0, out, a, size, index, n, i);
    }
    else {
        i = OF_TYPE(gather_raised)(is_wide, false, AHEAD, out, a, size, index, n, i);
        i = OF_TYPE(gather_raised)(is_wide, true, AHEAD, out, a, size, index, n, i);
    }
    for (; i < n && is_row_of(is_wide, index, i, size, size, &row); i++) {
        to[i] = from[row];
    }
    return i;
}
