/* A stable partition of pairs by ranges of the target: machinery of the scatter op.
 *
 * Pairs whose offsets fall into the same bin of 2^shift bytes are brought together in
 * their order of arrival. Applied bin by bin, a target that is too large for any cache
 * is worked on piece by piece in one; each bin belongs to one thread, so the bits are
 * those of the plain loop. What is carried is the offset within the bin, in 32 bits,
 * and the value itself (elements) or its source number (rows).
 *
 * Elements whose index kernels can read as it lies need no list: what is carried is the
 * row within a bin of 2^shift rows, which scatter_checked takes as an index of int32.
 */

enum {
    /* Bytes behind a cursor that are asked for: a line and a half. */
    PUT_AHEAD = 96
};

/* count[bin] += pairs in it. */
static void
partition_count(int64_t *restrict count, const int64_t *restrict offset, int64_t n,
                ps_bins bins)
{
    for (int64_t i = 0; i < n; i++) {
        count[(uint64_t)(offset[i] - bins.low) >> bins.shift]++;
    }
}

/* Put the pairs of a list at the cursors of their bins: offset_out, source_out at
 * cursor[bin]++. Source numbers start at `first`. */
static void
partition_sources(int64_t *restrict cursor, uint32_t *restrict offset_out,
                  uint32_t *restrict source_out, const ps_list *list, int64_t first,
                  ps_bins bins)
{
    const int64_t mask = ((int64_t)1 << bins.shift) - 1;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t at = list->offset[i] - bins.low;
        const int64_t to = cursor[(uint64_t)at >> bins.shift]++;
        const int64_t from = list->source != NULL ? list->source[i] : i;
        offset_out[to] = (uint32_t)(at & mask);
        source_out[to] = (uint32_t)(first + from);
    }
}

/* The same with the values themselves. */
static void
partition_values4(int64_t *restrict cursor, uint32_t *restrict offset_out,
                  char *restrict value_out, const ps_list *list, const char *values,
                  int64_t value_stride, ps_bins bins)
{
    const int64_t mask = ((int64_t)1 << bins.shift) - 1;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t at = list->offset[i] - bins.low;
        const int64_t to = cursor[(uint64_t)at >> bins.shift]++;
        const int64_t from = list->source != NULL ? list->source[i] : i;
        offset_out[to] = (uint32_t)(at & mask);
        memcpy(value_out + 4 * to, values + from * value_stride, 4);
    }
}

static void
partition_values8(int64_t *restrict cursor, uint32_t *restrict offset_out,
                  char *restrict value_out, const ps_list *list, const char *values,
                  int64_t value_stride, ps_bins bins)
{
    const int64_t mask = ((int64_t)1 << bins.shift) - 1;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t at = list->offset[i] - bins.low;
        const int64_t to = cursor[(uint64_t)at >> bins.shift]++;
        const int64_t from = list->source != NULL ? list->source[i] : i;
        offset_out[to] = (uint32_t)(at & mask);
        memcpy(value_out + 8 * to, values + from * value_stride, 8);
    }
}

/* The row that entry i names, or 0; *n_bad counts those that are out of bounds. Read
 * into a register and checked there: what another thread writes to the index between
 * counting and putting moves a record to another bin, never out of the work memory. The
 * entries are the caller's own copy, which no store of counters or records can change:
 * read from memory that these might, its members cost as much as the rest of the loop.
 */
TEMPLATE_INLINE uint64_t
bounded_row(const bool is_wide, ps_entries entries, int64_t i, int64_t *n_bad)
{
    const uint64_t row =
            (uint64_t)counted_row(index_at(is_wide, entries.index, i), entries.counted);
    const bool is_bad = row >= (uint64_t)entries.size;
    *n_bad += is_bad;
    return is_bad ? 0 : row;
}

TEMPLATE_INLINE int64_t
count_rows(const bool is_wide, ps_entries entries, int64_t *restrict count, int shift)
{
    int64_t n_bad = 0;
    for (int64_t i = 0; i < entries.n; i++) {
        count[bounded_row(is_wide, entries, i, &n_bad) >> shift]++;
    }
    return n_bad;
}

/* count[bin] += entries in it; returns how many are out of bounds. */
static int64_t
partition_count_rows(const ps_entries *entries, int64_t *count, int shift)
{
    return entries->is_wide ? count_rows(true, *entries, count, shift)
                            : count_rows(false, *entries, count, shift);
}

/* The loop of partition_put_rows, for one width of index and one of values. */
TEMPLATE_INLINE void
put_rows(const bool is_wide, const int64_t payload, ps_entries entries,
         int64_t *restrict cursor, char *restrict record, int shift)
{
    const uint64_t mask = ((uint64_t)1 << shift) - 1;
    int64_t n_bad = 0;
    for (int64_t i = 0; i < entries.n; i++) {
        const uint64_t row = bounded_row(is_wide, entries, i, &n_bad);
        const uint32_t within = (uint32_t)(row & mask);
        char *const to = record + (4 + payload) * cursor[row >> shift]++;
        __builtin_prefetch(to + PUT_AHEAD, 1);
        memcpy(to, &within, 4);
        memcpy(to + 4, entries.values + i * entries.value_stride, (size_t)payload);
    }
}

/* Put a record for each entry, its row and its value side by side, at the cursor of its
 * bin. payload: bytes of a value, 4 or 8. One stream for each bin: two, of rows and of
 * values, are more lines than a first cache holds. The line that a cursor comes to next
 * is asked for. */
static void
partition_put_rows(const ps_entries *entries, int64_t *cursor, char *record,
                   int64_t payload, int shift)
{
    if (payload == 4 && entries->is_wide) {
        put_rows(true, 4, *entries, cursor, record, shift);
    }
    else if (payload == 4) {
        put_rows(false, 4, *entries, cursor, record, shift);
    }
    else if (entries->is_wide) {
        put_rows(true, 8, *entries, cursor, record, shift);
    }
    else {
        put_rows(false, 8, *entries, cursor, record, shift);
    }
}

/* The loop of partition_take_rows. */
TEMPLATE_INLINE void
take_rows(const int64_t payload, uint32_t *restrict row, char *restrict value,
          const char *restrict record, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const char *const from = record + (4 + payload) * i;
        memcpy(row + i, from, 4);
        memcpy(value + payload * i, from + 4, (size_t)payload);
    }
}

/* row[i] and value[i] of n records, for kernels that want them apart. */
static void
partition_take_rows(uint32_t *row, char *value, int64_t payload, const char *record,
                    int64_t n)
{
    if (payload == 4) {
        take_rows(4, row, value, record, n);
    }
    else {
        take_rows(8, row, value, record, n);
    }
}

/* to[i] = base + from[i]. */
static void
list_widen(int64_t *restrict to, const uint32_t *restrict from, int64_t n, int64_t base)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = base + from[i];
    }
}
