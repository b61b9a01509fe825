/* A stable partition of pairs by ranges of the target: machinery of the scatter op.
 *
 * Pairs whose offsets fall into the same bin of 2^shift bytes are brought together in
 * their order of arrival. Applied bin by bin, a target that is too large for any cache
 * is worked on piece by piece in one; each bin belongs to one thread, so the bits are
 * those of the plain loop. What is carried is the offset within the bin, in 32 bits,
 * and the value itself (elements) or its source number (rows).
 */

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

/* to[i] = base + from[i]. */
static void
list_widen(int64_t *restrict to, const uint32_t *restrict from, int64_t n, int64_t base)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = base + from[i];
    }
}
