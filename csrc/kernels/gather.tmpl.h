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
 * 1.01 and 1.12; in groups, of 3e6, 13.3 and 16.1; Zen 3). Asking needs no bounds. */
TEMPLATE_INLINE void
OF_TYPE(ask_for_streams)(const bool is_wide, const char *index, const T *out, int64_t i)
{
    enum {
        AHEAD = 256
    };
    __builtin_prefetch(index + (i + AHEAD) * (is_wide ? 8 : 4));
    __builtin_prefetch((const char *)out + (i + AHEAD) * (int64_t)sizeof(T), 1);
}

/* out[i] = a[index[i]] up to the first index that is negative or out of bounds: one
 * comparison, in the register from which the index is used, is all the check. */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_plain)(const bool is_wide, char *restrict out, const char *restrict a,
                      int64_t size, const char *restrict index, int64_t n)
{
    enum {
        STEP = 8
    };
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    int64_t row;
    for (int64_t i = 0; i + STEP <= n; i += STEP) {
        OF_TYPE(ask_for_streams)(is_wide, index, to, i);
#pragma GCC unroll 8
        for (int64_t k = i; k < i + STEP; k++) {
            if (__builtin_expect(!is_row_of(is_wide, index, k, size, 0, &row), 0)) {
                return k;
            }
            to[k] = from[row];
        }
    }
    return n / STEP * STEP;
}

/* The same from entry `done` on for whole groups, negatives counted from the end, up to
 * the first group that holds an index out of bounds. A group is copied to the stack and
 * checked there as a whole, so that no check stands between the loads: more misses of a
 * source that is far are under way. */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_groups)(const bool is_wide, int64_t done, char *restrict out,
                       const char *restrict a, int64_t size, const char *restrict index,
                       int64_t n)
{
    enum {
        GROUP = 32
    };
    int64_t row[GROUP];
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    for (; done + GROUP <= n; done += GROUP) {
#pragma GCC unroll 1
        for (int64_t k = 0; k < GROUP; k += 8) {
            OF_TYPE(ask_for_streams)(is_wide, index, to, done + k);
        }
        if (!rows_of_group(is_wide, row, index, done, GROUP, size)) {
            break;
        }
#pragma GCC unroll 8
        for (int64_t i = 0; i < GROUP; i++) {
            to[done + i] = from[row[i]];
        }
    }
    return done;
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
 * index out of bounds. A source that stays in the second cache is read item by item up
 * to the first negative (ns, item by item / in groups: of 64 KB 0.97 / 1.18, of 400
 * KB 1.54 / 1.64, of 1 MB 1.50 / 1.44, of 12 MB 16.6 / 13.3; Zen 3). Of the other
 * modes, clip and wrap find a row for each number, all others put the item at `fill`
 * where there is none.
 */
TEMPLATE_INLINE int64_t
OF_TYPE(gather_checked)(enum ps_mode mode, const bool is_wide, char *restrict out,
                        const char *restrict a, int64_t size,
                        const char *restrict index, int64_t n, const char *fill)
{
    enum {
        NEAR_BYTES = 512 << 10
    };
    const T *const from = (const T *)a;
    T *const to = (T *)out;
    int64_t row, i = 0;
    if (mode != PS_MODE_RAISE) {
        OF_TYPE(gather_moded)(mode, is_wide, out, a, size, index, n, fill);
        return n;
    }
    if (size <= NEAR_BYTES / (int64_t)sizeof(T)) {
        i = OF_TYPE(gather_plain)(is_wide, out, a, size, index, n);
    }
    i = OF_TYPE(gather_groups)(is_wide, i, out, a, size, index, n);
    for (; i < n && is_row_of(is_wide, index, i, size, size, &row); i++) {
        to[i] = from[row];
    }
    return i;
}
