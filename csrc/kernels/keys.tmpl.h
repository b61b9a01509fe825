/* Keys are numbered in the order in which they appear. T is the type of a number.
 *
 * A key is either a word (keys_words.tmpl.h) or an item: `itemsize` bytes that are
 * equal where keys are. A place of the table holds 0 or the number of a key, plus 1,
 * and what is compared lies with the numbers: tables stay so small that more of them
 * fits in a cache, and growing one moves no keys. The price, a second line that a
 * look-up needs, is paid ahead of time: of some keys at a time first the places are
 * asked for, then what the numbers there stand for.
 *
 * Three loops over a few keys at a time, of which only the last depends on itself:
 * hashes and requests for places, requests for what is compared, comparisons. Misses of
 * many keys are then under way at once.
 *
 * Every loop ends however keys collide: table->budget is what probes beyond the first
 * of each key may cost, and where it is spent the caller goes another way.
 */

/* The entry that key i of a call is of. */
TEMPLATE_INLINE int64_t
OF_TYPE(entry_of)(const int64_t *at, int64_t base, int64_t i)
{
    return at != NULL ? at[i] : base + i;
}

/* The hash of a word, or of the item of an entry. */
TEMPLATE_INLINE uint64_t
OF_TYPE(hash_of)(const bool has_items, const ps_key_table *table, uint64_t word,
                 int64_t entry)
{
    return has_items ? hash_of_item(table->items + entry * table->itemsize,
                                    table->itemsize, table->is_second)
                     : hash_of_word(word, table->is_second);
}

/* place[i] = where key i of n <= KEYS_AT_A_TIME is looked for first; asked for ahead of
 * time are these, then what is known of the numbers there, then the items that these
 * are of. */
TEMPLATE_INLINE void
OF_TYPE(ask_for)(const bool has_items, const bool asks, const ps_key_table *table,
                 const uint64_t *word, int64_t n, const int64_t *at, int64_t base,
                 uint64_t *place)
{
    const T *const slot = table->slot, *const first = table->first;
    const uint64_t *const known = table->word;
    for (int64_t i = 0; i < n; i++) {
        const int64_t entry = OF_TYPE(entry_of)(at, base, i);
        const uint64_t hash =
                OF_TYPE(hash_of)(has_items, table, has_items ? 0 : word[i], entry);
        place[i] = hash >> table->shift;
        if (asks) {
            __builtin_prefetch(slot + place[i]);
        }
    }
    for (int64_t i = 0; asks && i < n; i++) {
        const T number = slot[place[i]];
        const T known_at = number - (number > 0);
        __builtin_prefetch(has_items ? (const char *)(first + known_at)
                                     : (const char *)(known + known_at));
    }
    for (int64_t i = 0; has_items && i < n; i++) {
        const T number = slot[place[i]];
        if (number > 0) {
            __builtin_prefetch(table->items +
                               (int64_t)first[number - 1] * table->itemsize);
        }
    }
}

/* Keys are words, or items (`has_items`): entry e's is table->items + e * itemsize, and
 * two are compared there, by way of `first`. Other threads may rewrite items meanwhile:
 * then numbers are wrong.
 *
 * numbered: how many of the n keys have been done, of which key i has become number
 * id[i]. Fewer than n: the table is full, or its budget is spent. A new key, that of
 * entry at[i], or base + i where at is NULL, is noted in table->word (words) and
 * table->first. word [n] of words, at [n] or NULL, id [n], which may be the words' own
 * memory; numbers are below table->full <= INT64_MAX of T. */
TEMPLATE_INLINE int64_t
OF_TYPE(number_keys)(const bool has_items, const bool asks, ps_key_table *table,
                     const uint64_t *word, int64_t n, const int64_t *at, int64_t base,
                     int64_t *id)
{
    T *const slot = table->slot, *const first = table->first;
    uint64_t *const known = table->word;
    const char *const items = table->items;
    const uint64_t mask = table->mask;
    const int64_t size = table->itemsize;
    uint64_t place[KEYS_AT_A_TIME];
    for (int64_t start = 0; start < n; start += KEYS_AT_A_TIME) {
        const int64_t stop =
                n - start < KEYS_AT_A_TIME ? n : start + (int64_t)KEYS_AT_A_TIME;
        OF_TYPE(ask_for)(has_items, asks, table, word + start, stop - start,
                         at != NULL ? at + start : NULL, base + start, place);
        for (int64_t i = start; i < stop; i++) {
            const int64_t entry = OF_TYPE(entry_of)(at, base, i);
            const uint64_t key = has_items ? 0 : word[i];
            uint64_t p = place[i - start];
            T number = slot[p];
            while (number != 0 &&
                   (has_items ? !same_items(items + entry * size,
                                            items + (int64_t)first[number - 1] * size,
                                            size)
                              : known[number - 1] != key)) {
                p = (p + 1) & mask;
                number = slot[p];
                if (--table->budget < 0) {
                    return i;
                }
            }
            if (number == 0) {
                if (table->n == table->full) {
                    return i;
                }
                number = (T)++table->n;
                slot[p] = number;
                first[number - 1] = (T)entry;
                if (!has_items) {
                    known[number - 1] = key;
                }
            }
            id[i] = (int64_t)number - 1;
        }
    }
    return n;
}

/* Small tables are near anyway: there asking brings nothing. */
static int64_t
NAME(keys_words, number, T)(ps_key_table *table, const uint64_t *word, int64_t n,
                            const int64_t *at, int64_t base, int64_t *id)
{
    return table->asks
                   ? OF_TYPE(number_keys)(false, true, table, word, n, at, base, id)
                   : OF_TYPE(number_keys)(false, false, table, word, n, at, base, id);
}

/* Items lie anywhere, whatever the size of the table. */
static int64_t
NAME(keys_items, number, T)(ps_key_table *table, const uint64_t *word, int64_t n,
                            const int64_t *at, int64_t base, int64_t *id)
{
    return OF_TYPE(number_keys)(true, true, table, word, n, at, base, id);
}

/* The same of words between low and low + mask, where the place of a word is its
 * distance from low and nothing is compared; a word beyond, which another thread has
 * written since the range was looked at, counts as the lowest. Never ends early. */
static int64_t
NAME(keys_near, number, T)(ps_key_table *table, const uint64_t *word, int64_t n,
                           const int64_t *at, int64_t base, int64_t *id)
{
    T *const slot = table->slot, *const first = table->first;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t far = word[i] - table->low;
        const uint64_t p = far <= table->mask ? far : 0;
        T number = slot[p];
        if (number == 0) {
            number = (T)++table->n;
            slot[p] = number;
            table->word[number - 1] = table->low + p;
            first[number - 1] = (T)(at != NULL ? at[i] : base + i);
        }
        id[i] = (int64_t)number - 1;
    }
    return n;
}

/* Numbers [from, to), whose keys differ, go to the table, which lacks them. False: its
 * budget is spent. */
static bool
NAME(keys_refill, number, T)(ps_key_table *table, int64_t from, int64_t to)
{
    T *const slot = table->slot;
    const T *const first = table->first;
    for (int64_t i = from; i < to; i++) {
        const uint64_t hash =
                table->items != NULL
                        ? OF_TYPE(hash_of)(true, table, 0, first[i])
                        : OF_TYPE(hash_of)(false, table, table->word[i], 0);
        uint64_t p = hash >> table->shift;
        while (slot[p] != 0) {
            p = (p + 1) & table->mask;
            if (--table->budget < 0) {
                return false;
            }
        }
        slot[p] = (T)(i + 1);
    }
    return true;
}

/* ---- sorting ---- */

/* One pass of a radix sort: pairs go to the place that count, of the digit of their
 * word at `shift`, says, stably. count [256] has been summed up. */
static void
NAME(keys_radix, number, T)(uint64_t *word_to, void *at_to, const uint64_t *word,
                            const void *at, int64_t n, int shift, int64_t *count)
{
    T *const to_number = at_to;
    const T *const from_number = at;
    for (int64_t i = 0; i < n; i++) {
        const int64_t to = count[word[i] >> shift & 255]++;
        word_to[to] = word[i];
        to_number[to] = from_number[i];
    }
}

/* Does number a come before number b? Words are looked up by number; items by entry,
 * which is the number itself where all entries are sorted. */
TEMPLATE_INLINE bool
OF_TYPE(comes_before)(const ps_key_order *order, int64_t a, int64_t b)
{
    if (order->kind == PS_KEYS_WORDS) {
        return order->word[a] < order->word[b];
    }
    const int64_t size = order->itemsize;
    const T *const first = order->first;
    const int64_t one = first != NULL ? (int64_t)first[a] : a;
    const int64_t other = first != NULL ? (int64_t)first[b] : b;
    return compare_items(order->kind, order->items + one * size,
                         order->items + other * size, size) < 0;
}

/* Some numbers, sorted by insertion, stably: what a merge starts from. n is so small
 * that its square does not matter. */
static void
NAME(keys_insert, number, T)(const ps_key_order *order, void *numbers, int64_t n)
{
    T *const number = numbers;
    for (int64_t i = 1; i < n; i++) {
        const T moved = number[i];
        int64_t to = i;
        while (to > 0 && OF_TYPE(comes_before)(order, moved, number[to - 1])) {
            number[to] = number[to - 1];
            to--;
        }
        number[to] = moved;
    }
}

/* The next items [at, stop) of `to`, into which two neighbouring sorted runs of `from`,
 * [0, middle) and [middle, n), are merged stably; next: the first of each that is left.
 */
static void
NAME(keys_merge, number, T)(const ps_key_order *order, ps_key_merge *merge, int64_t at,
                            int64_t stop)
{
    T *const to = merge->to;
    const T *const from = merge->from;
    int64_t left = merge->left, right = merge->right;
    for (int64_t i = at; i < stop; i++) {
        const bool takes_right =
                right < merge->n &&
                (left == merge->middle ||
                 OF_TYPE(comes_before)(order, from[right], from[left]));
        to[i] = takes_right ? from[right++] : from[left++];
    }
    merge->left = left;
    merge->right = right;
}

/* Sorted entries become numbers: entries at[i] whose keys are equal have one, and equal
 * ones stand side by side. id[entry] = its number; first[number] = its first entry,
 * which may be the same array as `at`. Returns how many there are. */
static int64_t
NAME(keys_runs, number, T)(const ps_key_order *order, const void *entries, int64_t n,
                           void *firsts, int64_t *id)
{
    const T *const at = entries;
    T *const first = firsts;
    int64_t count = 0;
    int64_t last = -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t entry = at[i];
        bool is_new = i == 0;
        if (!is_new && order->kind == PS_KEYS_WORDS) {
            is_new = order->word[i] != order->word[i - 1];
        }
        else if (!is_new) {
            is_new = !same_items(order->items + last * order->itemsize,
                                 order->items + entry * order->itemsize,
                                 order->itemsize);
        }
        last = entry;
        if (is_new) {
            first[count++] = (T)entry;
        }
        id[entry] = count - 1;
    }
    return count;
}
