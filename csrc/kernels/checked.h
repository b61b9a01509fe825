/* Reading an index in the passes that check as they go: scatter_checked into a target that
 * nobody can see, gather_checked into a fresh output or after a scan. Each value is read
 * once, into a register, and what is used is what was checked.
 */

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

/* The row that an index means under "raise", or a negative number. Negative indices take
 * the unlikely branch, which a processor learns where they are common. */
TEMPLATE_INLINE int64_t
checked_row(int64_t row, int64_t size)
{
    if (__builtin_expect((uint64_t)row < (uint64_t)size, 1)) {
        return row;
    }
    row += row < 0 ? size : INT64_MIN;
    return row < 0 ? -1 : row;
}
