/* free: folds that come out the same in any order: of integers, bools and times, and
 * extremes of all that has an order.
 *
 * result = value[0] op value[1] op ... op value[n - 1], n >= 1 contiguous aligned
 * elements. The loops are plain so that the compiler makes vector code of them;
 * extremes of floats are made integers on the way, since the rule for zeros and NaN
 * costs a branch for every tie: 400,000 float32 in segments of 30, many of them equal,
 * take 3 ms by that rule.
 */

/* An element as a result holds it: bools are 0 or 1 there. */
TEMPLATE_INLINE T
OF_TYPE(settled)(T value)
{
#if KIND_IS(BOOL)
    return value != 0;
#else
    return value;
#endif
}

#if KIND_IS(FLOAT)
enum {
    OF_TYPE(KEY_SHIFT) = 8 * sizeof(T) - 1
};

/* An integer that compares as the number does, -0.0 below +0.0, and that is least or
 * most of all for a NaN: so that it wins under min and max, and loses under fmin and
 * fmax. Integers have one instruction for min, and vectors of them. */
TEMPLATE_INLINE KEY
OF_TYPE(key_of)(const enum ps_op op, const T *value)
{
    const KEY most = (KEY)((BITS)-1 >> 1), least = -most - 1;
    const T infinity = (T)INFINITY;
    KEY bits, bound;
    memcpy(&bits, value, sizeof(bits));
    memcpy(&bound, &infinity, sizeof(bound));
    const KEY key = bits ^ ((bits >> OF_TYPE(KEY_SHIFT)) & most);
    const KEY of_nan = op == PS_min || op == PS_fmax ? least : most;
    const KEY is_nan =
            -((bits & most) > bound); /* all ones: gcc 12 needs it spelt out */
    return (key & ~is_nan) | (of_nan & is_nan);
}

TEMPLATE_INLINE T
OF_TYPE(number_of_key)(KEY key)
{
    const KEY most = (KEY)((BITS)-1 >> 1), least = -most - 1;
    T value;
    key = key == least ? most : key; /* no number has either: NaN */
    key ^= (key >> OF_TYPE(KEY_SHIFT)) & most;
    memcpy(&value, &key, sizeof(value));
    return value;
}
#endif

/* Where the order changes nothing: integers, bools, times, extremes. The compiler makes
 * vector code of the loops over integers; with one vector a turn, the time hangs on
 * where the loop happens to lie (sums of 100,000 int64 by offsets 24 or 39 us; four a
 * turn 17, Zen 3). */
TEMPLATE_INLINE T
OF_TYPE(fold_freely)(const enum ps_op op, const T *value, int64_t n)
{
#if KIND_IS(FLOAT)
    KEY best = OF_TYPE(key_of)(op, value);
    for (int64_t i = 1; i < n; i++) {
        const KEY key = OF_TYPE(key_of)(op, value + i);
        if (op == PS_min || op == PS_fmin) {
            best = key < best ? key : best;
        }
        else {
            best = key > best ? key : best;
        }
    }
    return OF_TYPE(number_of_key)(best);
#else
    T total = OF_TYPE(settled)(value[0]);
#pragma GCC unroll 4
    for (int64_t i = 1; i < n; i++) {
#if KIND_IS(LONG)
        const bool is_low = op == PS_min || op == PS_fmin;
        if (is_low ? total < value[i] : total > value[i]) {
            continue; /* mostly: the whole rule costs twice the time */
        }
#endif
        total = OF_TYPE(combine)(op, total, value[i]);
    }
    return total;
#endif
}
