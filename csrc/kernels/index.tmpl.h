/* The kernels that read an index: the only ones that can say "no".
 *
 * An index is read twice. scan looks at all of it before the first write of a call and
 * finds the first value out of bounds. rows copies a block of it, resolves every value
 * to a row number in [0, size) or -1, and counts what is out of bounds again, in the
 * copy: what the other kernels see has been checked after it left memory that another
 * thread may rewrite. Needs T, an integer type.
 */

/* One index: a load that no other load can replace, from any address. */
TEMPLATE_INLINE T
OF_TYPE(load)(const char *address)
{
    T value;
    memcpy(&value, address, sizeof(T));
    return value;
}

/* The value as int64_t; what does not fit (u64 beyond 2^63) becomes the largest. */
TEMPLATE_INLINE int64_t
OF_TYPE(widen)(T value)
{
    return (sizeof(T) == 8 && (T)-1 > 0 && value > (T)INT64_MAX) ? INT64_MAX
                                                                 : (int64_t)value;
}

/* Is the scan one of signs? Unsigned ones of 32 bits may have the highest bit set; of
 * narrower ones extremes are found as fast. */
#define SCANS_SIGNS (sizeof(T) == 8 || (sizeof(T) == 4 && (T) - 1 < 0))

/* What the scan of signs computes in. */
typedef __typeof__(__builtin_choose_expr(sizeof(T) == 8, (uint64_t)0,
                                         (uint32_t)0)) OF_TYPE(bits);

/* The highest bit: does one value lie outside [-low, high]? One that does turns the
 * sign of value + low or of high - value; sums that wrap err on the side of true. */
TEMPLATE_INLINE
OF_TYPE(bits)
OF_TYPE(beyond)(const char *address, OF_TYPE(bits) low, OF_TYPE(bits) high)
{
    const OF_TYPE(bits) value = (OF_TYPE(bits))OF_TYPE(load)(address);
    return (value + low) | (high - value);
}

/* Does a value of a stretch lie outside [-counted, size)? Every level has the
 * instructions: before AVX-512, extremes of int64 take a comparison and a choice each
 * (a scan takes 0.22 ns a value instead of 0.3 to 0.7, Zen 3). The quarters of the
 * stretch are read side by side, four streams of which more is on its way than of one:
 * ns a value of int64, one stream / four (Zen 3): of 1e5 0.16 / 0.14, of 1e6 behind 16
 * MB of other data 0.36 / 0.22, of 1e7 0.50 / 0.37. */
TEMPLATE_INLINE bool
OF_TYPE(strays)(const char *index, int64_t count, int64_t stride, int64_t size,
                int64_t counted)
{
    const OF_TYPE(bits) high = (OF_TYPE(bits))size - 1, low = (OF_TYPE(bits))counted;
    const int64_t quarter = count / 4;
    const char *const second = index + quarter * stride;
    const char *const third = second + quarter * stride;
    const char *const fourth = third + quarter * stride;
    OF_TYPE(bits) all = 0;
    for (int64_t i = 0; i < quarter; i++) {
        all |= OF_TYPE(beyond)(index + i * stride, low, high);
        all |= OF_TYPE(beyond)(second + i * stride, low, high);
        all |= OF_TYPE(beyond)(third + i * stride, low, high);
        all |= OF_TYPE(beyond)(fourth + i * stride, low, high);
    }
    for (int64_t i = 4 * quarter; i < count; i++) {
        all |= OF_TYPE(beyond)(index + i * stride, low, high);
    }
    return all >> (8 * sizeof(all) - 1) != 0;
}

/* The same by extremes. */
TEMPLATE_INLINE bool
OF_TYPE(exceeds)(const char *index, int64_t count, int64_t stride, int64_t size)
{
    T low = OF_TYPE(load)(index), high = low;
    for (int64_t i = 0; i < count; i++) {
        const T value = OF_TYPE(load)(index + i * stride);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    return OF_TYPE(widen)(low) < -size || OF_TYPE(widen)(high) >= size;
}

/* May a value of a stretch be out of bounds? First as if negatives were, which there
 * seldom are. */
TEMPLATE_INLINE bool
OF_TYPE(may_be_bad)(const char *index, int64_t count, int64_t stride, int64_t size)
{
    const bool is_unsigned = (T)-1 > 0;
    if (!SCANS_SIGNS) {
        return OF_TYPE(exceeds)(index, count, stride, size);
    }
    return OF_TYPE(strays)(index, count, stride, size, 0) &&
           (is_unsigned || OF_TYPE(strays)(index, count, stride, size, size));
}

/* first bad = least i with not -size <= index[i] < size, or -1.
 * index: n values `stride` bytes apart. Moves n * sizeof(T) bytes. A stretch is looked
 * at without branches; only one that fails is searched. */
static int64_t
OF_TYPE(scan)(const char *index, int64_t n, int64_t stride, int64_t size)
{
    enum {
        STRETCH = 1 << 14
    };
    if (SCANS_SIGNS && sizeof(T) == 4 && size > INT32_MAX) {
        return -1;
    }
    for (int64_t start = 0; start < n; start += STRETCH) {
        const int64_t count = n - start < STRETCH ? n - start : STRETCH;
        const char *const from = index + start * stride;
        const bool may_be_bad =
                stride == (int64_t)sizeof(T)
                        ? OF_TYPE(may_be_bad)(from, count, sizeof(T), size)
                        : OF_TYPE(may_be_bad)(from, count, stride, size);
        for (int64_t i = 0; may_be_bad && i < count; i++) {
            const int64_t value = OF_TYPE(widen)(OF_TYPE(load)(from + i * stride));
            if (value < -size || value >= size) {
                return start + i;
            }
        }
    }
    return -1;
}
#undef SCANS_SIGNS

/* The row that one value means under `mode`; -1: out of bounds. `size` is positive
 * unless the mode is raise or drop. */
TEMPLATE_INLINE int64_t
OF_TYPE(row)(const enum ps_mode mode, T value, int64_t size)
{
    int64_t row = OF_TYPE(widen)(value);
    switch (mode) {
        case PS_MODE_RAISE:
            row = counted_row(row, size);
            return (uint64_t)row >= (uint64_t)size ? -1 : row;
        case PS_MODE_CLIP:
            row = row < 0 ? 0 : row;
            return row >= size ? size - 1 : row;
        case PS_MODE_WRAP:
            if (sizeof(T) == 8 && (T)-1 > 0) {
                return (int64_t)((uint64_t)value % (uint64_t)size);
            }
            return wrapped_row(row, size);
        default:
            return (uint64_t)row >= (uint64_t)size ? -1 : row;
    }
}

/* row[i] = the row that index[i] means; returns how many are -1.
 * row [n], index: n values `stride` bytes apart. */
TEMPLATE_INLINE int64_t
OF_TYPE(resolve)(const enum ps_mode mode, int64_t *restrict row, const char *index,
                 int64_t n, int64_t stride, int64_t size)
{
    int64_t n_bad = 0;
    if (stride == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            const T value = OF_TYPE(load)(index + i * (int64_t)sizeof(T));
            const int64_t found = OF_TYPE(row)(mode, value, size);
            n_bad += found < 0;
            row[i] = found;
        }
        return n_bad;
    }
    for (int64_t i = 0; i < n; i++) {
        const T value = OF_TYPE(load)(index + i * stride);
        const int64_t found = OF_TYPE(row)(mode, value, size);
        n_bad += found < 0;
        row[i] = found;
    }
    return n_bad;
}

static int64_t
OF_TYPE(rows)(enum ps_mode mode, int64_t *row, const char *index, int64_t n,
              int64_t stride, int64_t size)
{
    switch (mode) {
        case PS_MODE_RAISE:
            return OF_TYPE(resolve)(PS_MODE_RAISE, row, index, n, stride, size);
        case PS_MODE_CLIP:
            return OF_TYPE(resolve)(PS_MODE_CLIP, row, index, n, stride, size);
        case PS_MODE_WRAP:
            return OF_TYPE(resolve)(PS_MODE_WRAP, row, index, n, stride, size);
        default:
            return OF_TYPE(resolve)(PS_MODE_DROP, row, index, n, stride, size);
    }
}

/* The loop of place, for a step that is a power of two (`by_shift`) or any. */
TEMPLATE_INLINE int64_t
OF_TYPE(place_by)(const bool by_shift, const bool adds, int64_t *restrict offset,
                  const char *restrict index, int64_t n, int64_t stride,
                  const ps_numbering *numbering, int64_t base)
{
    const uint64_t last = numbering->last, step = (uint64_t)numbering->step;
    const int64_t counted = numbering->counted;
    const int shift = by_shift ? __builtin_ctzll(step) : 0;
    int64_t n_bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const T value = OF_TYPE(load)(index + i * stride);
        const uint64_t row = (uint64_t)counted_row(OF_TYPE(widen)(value), counted);
        const uint64_t place = (uint64_t)base + (by_shift ? row << shift : row * step);
        n_bad += row > last;
        offset[i] = (int64_t)(adds ? (uint64_t)offset[i] + place : place);
    }
    return n_bad;
}

/* offset[i] = base + row * step, for the row that index[i] means under "raise"; added
 * to what is there where the call `adds`. Returns how many are out of bounds, for which
 * the offset means nothing. index: n values `stride` bytes apart; the numbering has
 * rows. The passes rows and list_place or list_shift in one: ns for each of 10,000
 * tuples of two and three int64, checked and added to float64, 3.2 and 5.4, by two
 * passes 5.3 and 8.4 (Zen 3). */
static int64_t
OF_TYPE(place)(int64_t *offset, const char *index, int64_t n, int64_t stride,
               const ps_numbering *numbering, int64_t base, bool adds)
{
    const int64_t step = numbering->step, dense = sizeof(T);
    if (stride != dense) {
        return adds ? OF_TYPE(place_by)(false, true, offset, index, n, stride,
                                        numbering, base)
                    : OF_TYPE(place_by)(false, false, offset, index, n, stride,
                                        numbering, base);
    }
    if (step > 0 && (step & (step - 1)) == 0) { /* no 64-bit product before AVX-512 */
        return adds ? OF_TYPE(place_by)(true, true, offset, index, n, dense, numbering,
                                        base)
                    : OF_TYPE(place_by)(true, false, offset, index, n, dense, numbering,
                                        base);
    }
    return adds ? OF_TYPE(place_by)(false, true, offset, index, n, dense, numbering,
                                    base)
                : OF_TYPE(place_by)(false, false, offset, index, n, dense, numbering,
                                    base);
}
