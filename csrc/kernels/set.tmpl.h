/* set: target[offset[i]] = value[source[i]], in order, so that the last of equal
 * offsets stays. A pure move: one instance per item size (T is an unaligned move type),
 * and one for rows of any length. The contract is that of scatter.tmpl.h without
 * alignment.
 */

TEMPLATE_INLINE void
OF_TYPE(set)(char *restrict target, const ps_list *list, const char *restrict values,
             int64_t value_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    if (source == NULL) {
        for (int64_t i = 0; i < list->n; i++) {
            *(T *)(target + offset[i]) = *(const T *)(values + i * value_stride);
        }
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        *(T *)(target + offset[i]) = *(const T *)(values + source[i] * value_stride);
    }
}
