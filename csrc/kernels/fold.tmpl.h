/* fold: one block of a segment to one value, in the tree that segment.tmpl.h tells of.
 *
 * The tree is for sums and products of floats and complex numbers; everything else
 * comes out the same in any order. Floats are added and multiplied in vectors of lanes
 * (vectors.h), one segment alone or as many at a time as a vector has lanes: then the
 * last three steps of the tree are shared by all of them, which a segment of four
 * elements spends most of its time in (8 ns instead of 20 on Zen 1). Everything else
 * takes the same steps one by one. Contract: 1 <= n <= 4,096 contiguous aligned
 * elements.
 */

#if KIND_IS(COMPLEX)
/* The tree of complex numbers. Lanes without an element take no part: a product has no
 * neutral value that keeps infinities. */
TEMPLATE_INLINE T
OF_TYPE(fold_plain)(const enum ps_op op, const T *value, int64_t n)
{
    T lane[FOLD_LANES];
    const int64_t live = n < FOLD_LANES ? n : FOLD_LANES;
    int64_t i = live;
    for (int64_t k = 0; k < live; k++) {
        lane[k] = value[k];
    }
    for (; i + FOLD_LANES <= n; i += FOLD_LANES) {
        for (int k = 0; k < FOLD_LANES; k++) {
            lane[k] = OF_TYPE(combine)(op, lane[k], value[i + k]);
        }
    }
    for (int64_t k = 0; k < n - i; k++) {
        lane[k] = OF_TYPE(combine)(op, lane[k], value[i + k]);
    }
    for (int64_t half = FOLD_LANES / 2; half > 0; half /= 2) {
        for (int64_t k = 0; k < half && k + half < live; k++) {
            lane[k] = OF_TYPE(combine)(op, lane[k], lane[k + half]);
        }
    }
    return lane[0];
}

#define PARTS PASTE2(vector, REAL)

enum {
    OF_TYPE(PER_PARTS) = VECTOR_BYTES / sizeof(REAL),
    OF_TYPE(PARTS_OF_TREE) = 2 * FOLD_LANES / OF_TYPE(PER_PARTS)
};

/* The same for sums of at least sixteen: real and imaginary parts are lanes of their
 * own, as they lie in memory. What is left behind whole groups is added lane by lane.
 */
TEMPLATE_INLINE T
OF_TYPE(fold_parts)(const T *value, int64_t n)
{
    PARTS lane[OF_TYPE(PARTS_OF_TREE)];
    T total[FOLD_LANES];
    int64_t i = FOLD_LANES;
    memcpy(lane, value, sizeof(lane));
    for (; i + FOLD_LANES <= n; i += FOLD_LANES) {
        const REAL *const from = (const REAL *)(value + i);
#pragma GCC unroll 16
        for (int k = 0; k < OF_TYPE(PARTS_OF_TREE); k++) {
            lane[k] += *(const PARTS *)(from + k * OF_TYPE(PER_PARTS));
        }
    }
    memcpy(total, lane, sizeof(total));
    for (int64_t k = 0; k < n - i; k++) {
        total[k] = OF_TYPE(plus)(total[k], value[i + k]);
    }
    for (int half = FOLD_LANES / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            total[k] = OF_TYPE(plus)(total[k], total[k + half]);
        }
    }
    return total[0];
}
#endif

#if KIND_IS(FLOAT)

enum {
    OF_TYPE(PER_VECTOR) = VECTOR_BYTES / sizeof(T),
    OF_TYPE(VECTORS) = FOLD_LANES / OF_TYPE(PER_VECTOR)
};

/* Lane by lane; `op` is add or mul, a constant of the caller: one instruction, or two
 * on the baseline. */
TEMPLATE_INLINE VECTOR
OF_TYPE(join)(const enum ps_op op, VECTOR a, VECTOR b)
{
    return op == PS_add ? a + b : a * b;
}

/* Vector k of the lanes that hold the first n < 16 items at `from`, and neutral values
 * behind them. Reads all sixteen: a copy of some few would wait for its own stores. */
TEMPLATE_INLINE VECTOR
OF_TYPE(blend)(const T *from, int64_t n, const int k, const T neutral)
{
    const int before = k * OF_TYPE(PER_VECTOR);
    LANES is_in;
    memcpy(&is_in, OF_TYPE(window) + FOLD_LANES - n + before, sizeof(is_in));
    const LANES item = (LANES) * (const VECTOR *)(from + before);
    const LANES blank = (LANES)(neutral - (VECTOR){0}); /* a sum would lose -0.0 */
    return (VECTOR)((item & is_in) | (blank & ~is_in));
}

/* The lanes of n <= 4,096 elements, added up to one vector of them: the first steps of
 * the tree. There are sixteen elements to read behind the last whole group. */
TEMPLATE_INLINE VECTOR
OF_TYPE(fold_to_vector)(const enum ps_op op, const T *value, int64_t n, const T *tail,
                        const T neutral)
{
    VECTOR lane[OF_TYPE(VECTORS)];
    const int64_t whole = n & -FOLD_LANES;
#pragma GCC unroll 8
    for (int k = 0; k < OF_TYPE(VECTORS); k++) {
        lane[k] = OF_TYPE(blend)(tail, n - whole, k, neutral);
    }
    if (whole > 0) {
        VECTOR sum[OF_TYPE(VECTORS)];
#pragma GCC unroll 8
        for (int k = 0; k < OF_TYPE(VECTORS); k++) {
            sum[k] = *(const VECTOR *)(value + k * OF_TYPE(PER_VECTOR));
        }
        for (int64_t i = FOLD_LANES; i < whole; i += FOLD_LANES) {
#pragma GCC unroll 8
            for (int k = 0; k < OF_TYPE(VECTORS); k++) {
                const T *const from = value + i + k * OF_TYPE(PER_VECTOR);
                sum[k] = OF_TYPE(join)(op, sum[k], *(const VECTOR *)from);
            }
        }
#pragma GCC unroll 8
        for (int k = 0; k < OF_TYPE(VECTORS); k++) {
            lane[k] = OF_TYPE(join)(op, sum[k], lane[k]);
        }
    }
#pragma GCC unroll 4
    for (int half = OF_TYPE(VECTORS) / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (int k = 0; k < half; k++) {
            lane[k] = OF_TYPE(join)(op, lane[k], lane[k + half]);
        }
    }
    return lane[0];
}

/* The last steps of the tree for as many segments as a vector has lanes, at once; their
 * vectors stand in the order of `slot`. */
TEMPLATE_INLINE VECTOR
OF_TYPE(fold_together)(const enum ps_op op, VECTOR *lane)
{
    int n = OF_TYPE(PER_VECTOR) / 2;
#pragma GCC unroll 8
    for (int k = 0; k < n; k++) {
        lane[k] = HALVE(op, lane[2 * k], lane[2 * k + 1], 0);
    }
    n /= 2;
#pragma GCC unroll 8
    for (int k = 0; k < n; k++) {
        lane[k] = HALVE(op, lane[2 * k], lane[2 * k + 1], 1);
    }
    n /= 2;
#pragma GCC unroll 8
    for (int k = 0; k < n; k++) {
        lane[k] = HALVE(op, lane[2 * k], lane[2 * k + 1], 2);
    }
    return lane[0];
}

/* Where the vector of segment `s` of a group stands, so that the results come out in
 * order: halves of 32 bytes meet first. */
TEMPLATE_INLINE int
OF_TYPE(slot)(const int s)
{
    const int room = 16 / (int)sizeof(T), halves = OF_TYPE(PER_VECTOR) / room;
    return s % room * halves + s / room;
}

/* Outputs of as many segments as a vector has lanes, when none is longer than a block
 * and memory goes on behind them. */
TEMPLATE_INLINE bool
OF_TYPE(fold_group)(const enum ps_op op, T *to, const T *value, const int64_t *start,
                    const int64_t *stop, const ps_segments *segments)
{
    const T neutral = *(const T *)segments->neutral;
    VECTOR lane[OF_TYPE(PER_VECTOR)];
    int64_t longest = 0, shortest = 1, last = 0;
    for (int s = 0; s < OF_TYPE(PER_VECTOR); s++) {
        const int64_t n = stop[s] - start[s];
        longest = n > longest ? n : longest;
        shortest = n < shortest ? n : shortest;
        last = stop[s] > last ? stop[s] : last;
    }
    if (longest > PS_FOLD_BLOCK || last + FOLD_LANES > segments->readable) {
        return false;
    }
#pragma GCC unroll 8
    for (int s = 0; s < OF_TYPE(PER_VECTOR); s++) {
        const T *const from = value + start[s];
        const int64_t n = stop[s] - start[s];
        lane[OF_TYPE(slot)(s)] =
                OF_TYPE(fold_to_vector)(op, from, n, from + (n & -FOLD_LANES), neutral);
    }
    *(VECTOR *)to = OF_TYPE(fold_together)(op, lane);
    for (int s = 0; shortest == 0 && s < OF_TYPE(PER_VECTOR); s++) {
        to[s] = start[s] == stop[s] ? *(const T *)segments->empty : to[s];
    }
    return true;
}

/* One block by vectors, for add and mul: sixteen lanes, whatever the width of a vector,
 * so that all levels add the same numbers in the same order. */
TEMPLATE_INLINE T
OF_TYPE(fold_lanes)(const enum ps_op op, const T *value, int64_t n, const T neutral,
                    int64_t readable)
{
    const int64_t whole = n & -FOLD_LANES;
    const T *tail = value + whole;
    T spare[FOLD_LANES];
    if (whole + FOLD_LANES > readable) {
        memset(spare, 0, sizeof(spare));
        memcpy(spare, tail, (size_t)(n - whole) * sizeof(T));
        tail = spare;
    }
    VECTOR lane[OF_TYPE(PER_VECTOR)];
    lane[0] = OF_TYPE(fold_to_vector)(op, value, n, tail, neutral);
#pragma GCC unroll 8
    for (int s = 1; s < OF_TYPE(PER_VECTOR); s++) {
        lane[s] = lane[0];
    }
    return OF_TYPE(fold_together)(op, lane)[0];
}
#endif

/* One block of a segment: n elements at `value`, of which `readable` may be read:
 * behind the last of them, whatever is read is thrown away. Kinds whose order does not
 * show are folded in the shape that is fastest. */
TEMPLATE_INLINE T
OF_TYPE(fold)(const enum ps_op op, const T *value, int64_t n, const T neutral,
              int64_t readable)
{
    (void)readable, (void)neutral;
#if KIND_IS(FLOAT)
    if (op == PS_add || op == PS_mul) {
        return OF_TYPE(fold_lanes)(op, value, n, neutral, readable);
    }
#endif
#if KIND_IS(COMPLEX)
    return op == PS_add && n >= FOLD_LANES ? OF_TYPE(fold_parts)(value, n)
                                           : OF_TYPE(fold_plain)(op, value, n);
#else
    return OF_TYPE(fold_freely)(op, value, n);
#endif
}
