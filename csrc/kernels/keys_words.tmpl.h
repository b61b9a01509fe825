/* Keys of type T as words: equal where keys are equal, and in the order of keys.
 *
 * word[i] = the word of keys[i], i in [0, n). keys: n native numbers side by side, of
 * any alignment. Signs are turned round, so that words compare without one; -0.0 is
 * 0.0; all NaN are one word of ones, as is NaT, above every number. Complex numbers
 * that have a NaN are that word, others go by their real part first; where a part has
 * 64 bits a key is two words. Integer arithmetic alone: no floating-point flag is
 * raised, and no rounding or flushing mode changes a key.
 */

#if !KIND_IS(PAIR)
static void
NAME(keys_canon, word, T)(uint64_t *restrict word, const char *restrict keys, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        T key;
        memcpy(&key, keys + i * (int64_t)sizeof(T), sizeof(T));
#if KIND_IS(BOOL)
        word[i] = key != 0;
#elif KIND_IS(INT)
        word[i] = (uint64_t)(int64_t)key + ((uint64_t)((T)-1 < 1) << 63);
#elif KIND_IS(TIME)
        word[i] = ((uint64_t)key.ticks ^ UINT64_C(1) << 63) - 1;
#elif KIND_IS(FLOAT) || KIND_IS(HALF)
        uint64_t bits = 0;
        memcpy(&bits, &key, sizeof(key));
        word[i] = PASTE2(ordered, T)(bits);
#elif KIND_IS(LONG)
        order_long(key, word + 2 * i);
#else
        uint64_t re = 0, im = 0;
        memcpy(&re, &key.re, sizeof(key.re));
        memcpy(&im, &key.im, sizeof(key.im));
        PASTE2(join, T)(re, im, word + i * (int64_t)(sizeof(T) / 8));
#endif
    }
}
#endif
