/* ranks: keys, and the steps by which some of their order statistics are found.
 *
 * A value becomes a key: an integer in the order of the values, in which only same bits
 * are equal (-0.0 is below 0.0); one key, the highest, stands for NaN or NaT. f80,
 * which no integer holds, is its own key. A column of keys is never sorted as a whole:
 * split parts a range by a pivot, and the op goes on with those parts that hold a
 * wanted rank, down to a few keys, which sort orders. Which pivot is taken depends on
 * keys and places alone, so that the same column takes the same way on every CPU.
 */
#if KIND_IS(FLOAT) || KIND_IS(LONG) || KIND_IS(TIME)

#if KIND_IS(LONG)
typedef f80 OF_TYPE(rank_key);
#elif KIND_IS(TIME)
typedef int64_t OF_TYPE(rank_key);
#else
#define SIGNED_u32 int32_t
#define SIGNED_u64 int64_t
#define SIGNED_BITS PASTE2(SIGNED, BITS)
typedef SIGNED_BITS OF_TYPE(rank_key);
#undef SIGNED_u32
#undef SIGNED_u64
#undef SIGNED_BITS
#endif

#if !KIND_IS(LONG)

/* Of NaN or NaT: no number of the type has it. */
TEMPLATE_INLINE
OF_TYPE(rank_key) OF_TYPE(missing_key)(void)
{
#if KIND_IS(FLOAT)
    return (OF_TYPE(rank_key))((BITS) ~(BITS)0 >> 1);
#else
    return INT64_MAX;
#endif
}

#endif

/* The bits of a negative float fall as it rises: all but the sign are turned. NaT, the
 * lowest number of ticks, becomes the highest by a step down that wraps. */
TEMPLATE_INLINE
OF_TYPE(rank_key) OF_TYPE(key_of_value)(T value)
{
#if KIND_IS(LONG)
    return value;
#elif KIND_IS(FLOAT)
    OF_TYPE(rank_key) bits;
    memcpy(&bits, &value, sizeof(T));
    bits ^= (bits >> (8 * sizeof(T) - 1)) & OF_TYPE(missing_key)();
    return value != value ? OF_TYPE(missing_key)() : bits;
#else
    return (OF_TYPE(rank_key))((uint64_t)value.ticks - 1);
#endif
}

/* The value of a key that is not missing. */
TEMPLATE_INLINE T
OF_TYPE(value_of_key)(OF_TYPE(rank_key) key)
{
#if KIND_IS(LONG)
    return key;
#elif KIND_IS(FLOAT)
    T value;
    key ^= (key >> (8 * sizeof(T) - 1)) & OF_TYPE(missing_key)();
    memcpy(&value, &key, sizeof(T));
    return value;
#else
    return (T){(int64_t)((uint64_t)key + 1)};
#endif
}

/* Is it the key of NaN or NaT? */
TEMPLATE_INLINE bool
OF_TYPE(is_missing)(OF_TYPE(rank_key) key)
{
#if KIND_IS(LONG)
    return key != key;
#else
    return key == OF_TYPE(missing_key)();
#endif
}

/* No NaN is compared: a column that holds one has been answered before. */
TEMPLATE_INLINE bool
OF_TYPE(is_below)(OF_TYPE(rank_key) a, OF_TYPE(rank_key) b)
{
#if KIND_IS(LONG)
    return a < b || (a == b && signbit(a) && !signbit(b));
#else
    return a < b;
#endif
}

/* Is one of n keys missing? It is then moved to the end. */
static bool
OF_TYPE(quantile_missing)(void *column, int64_t n)
{
    OF_TYPE(rank_key) *const key = column;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        count += OF_TYPE(is_missing)(key[i]);
    }
    for (int64_t i = 0; count > 0 && i < n; i++) {
        if (OF_TYPE(is_missing)(key[i])) {
            const OF_TYPE(rank_key) last = key[n - 1];
            key[n - 1] = key[i];
            key[i] = last;
            break;
        }
    }
    return count > 0;
}

/* Put n keys in order: few, so that insertion is quickest. */
static void
OF_TYPE(quantile_sort)(void *column, int64_t n)
{
    OF_TYPE(rank_key) *const key = column;
    for (int64_t i = 1; i < n; i++) {
        const OF_TYPE(rank_key) next = key[i];
        int64_t to = i;
        for (; to > 0 && OF_TYPE(is_below)(next, key[to - 1]); to--) {
            key[to] = key[to - 1];
        }
        key[to] = next;
    }
}

/* *to = the middle one of three. */
TEMPLATE_INLINE void
OF_TYPE(take_middle)(OF_TYPE(rank_key) * to, const OF_TYPE(rank_key) * key,
                     int64_t step)
{
    const OF_TYPE(rank_key) a = key[0], b = key[step], c = key[2 * step];
    const OF_TYPE(rank_key) low = OF_TYPE(is_below)(b, a) ? b : a;
    const OF_TYPE(rank_key) high = OF_TYPE(is_below)(b, a) ? a : b;
    *to = OF_TYPE(is_below)(c, low) ? low : OF_TYPE(is_below)(high, c) ? high : c;
}

/* A pivot among n keys, more than PS_FEW_KEYS: the middle of nine, or for many the
 * middle of the middles of 27 such nines. */
static void
OF_TYPE(quantile_pivot)(const void *column, int64_t n, void *pivot)
{
    enum {
        MANY = 4096,
        NINES = 27
    };
    const OF_TYPE(rank_key) *const key = column;
    OF_TYPE(rank_key) middle[NINES];
    const int64_t nines = n < MANY ? 1 : NINES;
    const int64_t step = n / (9 * nines);
    for (int64_t m = 0; m < nines; m++) {
        const OF_TYPE(rank_key) *const at = key + 9 * step * m + step / 2;
        OF_TYPE(rank_key) three[3];
        for (int64_t k = 0; k < 3; k++) {
            OF_TYPE(take_middle)(three + k, at + 3 * k * step, step);
        }
        OF_TYPE(take_middle)(middle + m, three, 1);
    }
    OF_TYPE(quantile_sort)(middle, nines);
    memcpy(pivot, middle + nines / 2, sizeof(OF_TYPE(rank_key)));
}

/* Go on with parting a range: keys [0, split->below) are below the pivot, those up to
 * split->done are not; take in `n` more. with_equals: below means "not above". Each key
 * is swapped whatever it is, and the border moves or stays: no branch to guess wrong.
 */
static void
OF_TYPE(quantile_split)(void *column, ps_split *split, int64_t n, bool with_equals)
{
    OF_TYPE(rank_key) *const key = column;
    OF_TYPE(rank_key) pivot;
    memcpy(&pivot, split->pivot, sizeof(OF_TYPE(rank_key)));
    int64_t below = split->below;
    const int64_t last = split->done + n;
    if (with_equals) {
        for (int64_t i = split->done; i < last; i++) {
            const OF_TYPE(rank_key) next = key[i];
            key[i] = key[below];
            key[below] = next;
            below += !OF_TYPE(is_below)(pivot, next);
        }
    }
    else {
        for (int64_t i = split->done; i < last; i++) {
            const OF_TYPE(rank_key) next = key[i];
            key[i] = key[below];
            key[below] = next;
            below += OF_TYPE(is_below)(next, pivot);
        }
    }
    split->below = below;
    split->done = last;
}

/* The middles of fives of n keys, swapped to the front; returns their number. Their own
 * middle is below, and above, three tenths of all keys, whatever these are. */
static int64_t
OF_TYPE(quantile_fives)(void *column, int64_t n)
{
    OF_TYPE(rank_key) *const key = column;
    const int64_t fives = n / 5;
    for (int64_t m = 0; m < fives; m++) {
        OF_TYPE(quantile_sort)(key + 5 * m, 5);
        const OF_TYPE(rank_key) middle = key[5 * m + 2];
        key[5 * m + 2] = key[m];
        key[m] = middle;
    }
    return fives;
}

#endif
