/* gather: out[source[i]] = a[offset[i]]. A pure move: one instance per item size (T is
 * an unaligned move type). out holds source numbers 0, 1, ... `out_stride` bytes apart;
 * source NULL means 0, 1, ..., n - 1. offset [n] has been checked. Moves
 * n * (8 + 2 sizeof(T)) bytes.
 */

TEMPLATE_INLINE void
OF_TYPE(gather)(char *restrict out, const ps_list *list, const char *restrict a,
                int64_t out_stride)
{
    const int64_t *const restrict offset = list->offset;
    const int64_t *const restrict source = list->source;
    if (source == NULL && out_stride == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < list->n; i++) {
            *(T *)(out + i * (int64_t)sizeof(T)) = *(const T *)(a + offset[i]);
        }
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t to = source != NULL ? source[i] : i;
        *(T *)(out + to * out_stride) = *(const T *)(a + offset[i]);
    }
}
