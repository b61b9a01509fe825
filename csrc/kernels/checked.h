/* Reading an index in scatter_checked, the pass that checks as it writes to a target
 * that nobody can see. Each value is read once, into a register, and what is used is
 * what was checked. Gathers have no such pass: straight from the index they were up to
 * twice as slow as through lists, whose short loops keep more misses under way.
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
