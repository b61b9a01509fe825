/* Reading an index in the kernels that take it as it comes: scatter_checked and its kin
 * read each value once, into a register; gather_checked copies a group of them. What is
 * used is what was checked, whatever another thread does to the index meanwhile.
 */

enum {
    /* Entries that scatter_checked takes at a time: a cache line of int64. */
    IN_GROUP = 8,
    /* Entries that are taken one by one before groups are tried again. */
    IN_SINGLES = 64,
    /* Bytes of index and values that are asked for before they are used. */
    STREAM_BYTES = 2048
};

/* One of the two index types that these passes read: int64 (is_wide) or int32. */
TEMPLATE_INLINE int64_t
index_at(const bool is_wide, const char *index, int64_t i)
{
    if (is_wide) {
        int64_t value;
        memcpy(&value, index + 8 * i, sizeof(value));
        return value;
    }
    int32_t value;
    memcpy(&value, index + 4 * i, sizeof(value));
    return value;
}

/* Is entry i in bounds? Then *row is the row that it means; negatives count from
 * `counted`. */
TEMPLATE_INLINE bool
is_row_of(const bool is_wide, const char *index, int64_t i, int64_t size,
          int64_t counted, int64_t *row)
{
    *row = counted_row(index_at(is_wide, index, i), counted);
    return (uint64_t)*row < (uint64_t)size;
}
