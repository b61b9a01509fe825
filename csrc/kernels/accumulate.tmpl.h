/* accumulate: acc[i] += weight * g[i], and how many of these products are not finite.
 *
 * Every byte of both is read once and every one of acc written once: the add waits for
 * memory, so that the look at each product costs nothing. What is looked at is the
 * product in acc's type, which is what would spoil the sum.
 *
 * `source`, `is_pair` and `how` are constants of the caller. Pairs are the two parts of
 * complex numbers; one that is not finite makes its element count, once. Counts of a
 * block are kept in as many bits as elements have, so that they fit into the lanes.
 */
#if KIND_IS(FLOAT)

/* Item i of a real type, exactly, or rounded once to T. */
TEMPLATE_INLINE T
OF_TYPE(item)(const enum ps_dtype source, const char *from, int64_t i)
{
    switch (source) {
        case PS_f16:
            return (T)f32_from_f16(((const f16 *)from)[i]);
        case PS_bf16:
            return (T)f32_from_bf16(((const bf16 *)from)[i]);
        case PS_f32:
            return (T)((const f32 *)from)[i];
        default:
            return (T)((const f64 *)from)[i];
    }
}

/* 1 where a number is infinite or NaN, else 0. */
TEMPLATE_INLINE BITS
OF_TYPE(is_odd)(T value)
{
    return value - value == 0 ? 0 : 1;
}

/* One product meets its sum. -0.0 leaves every number as it is. */
TEMPLATE_INLINE void
OF_TYPE(add_product)(const enum ps_accumulation how, T *sum, T product, BITS is_odd)
{
    if (how == PS_ACCUMULATE_ALL) {
        *sum += product;
    }
    else if (how == PS_ACCUMULATE_FINITE) {
        *sum += is_odd ? (T)-0.0 : product;
    }
}

/* n elements, which lie one after the other and aligned; acc and g share no byte.
 * Returns how many have a product that is not finite. */
TEMPLATE_INLINE int64_t
OF_TYPE(accumulate)(const enum ps_dtype source, const bool is_pair,
                    const enum ps_accumulation how, char *restrict acc,
                    const char *restrict g, int64_t n, double weight)
{
    T *const sum = (T *)acc;
    const T factor = (T)weight;
    int64_t count = 0;
    for (int64_t first = 0; first < n; first += ACCUMULATE_BLOCK) {
        const int64_t last =
                n - first < ACCUMULATE_BLOCK ? n : first + ACCUMULATE_BLOCK;
        BITS odd = 0;
        for (int64_t i = first; i < last; i++) {
            const int64_t at = is_pair ? 2 * i : i;
            const T re = factor * OF_TYPE(item)(source, g, at);
            const T im = is_pair ? factor * OF_TYPE(item)(source, g, at + 1) : 0;
            const BITS is_odd = OF_TYPE(is_odd)(re) | OF_TYPE(is_odd)(im);
            odd += is_odd;
            OF_TYPE(add_product)(how, &sum[at], re, is_odd);
            if (is_pair) {
                OF_TYPE(add_product)(how, &sum[at + 1], im, is_odd);
            }
        }
        count += (int64_t)odd;
    }
    return count;
}

#endif
