/* Numbers of rows become places, for loops over whole rows.
 *
 * The numbers of a list are offsets that have been checked, or row numbers straight
 * from a contiguous int64 index, which `numbering` turns into places (kernels.h): one
 * loop serves both.
 */

/* The place of pair i, from numbers that may lie in the caller's memory: each is read
 * once, into a register (the empty asm keeps the compiler from reading it again), and
 * checked there. False: out of bounds. */
TEMPLATE_INLINE bool
place_of(const ps_list *list, const ps_numbering *numbering, int64_t i, int64_t *place)
{
    int64_t row = list->offset[i];
    __asm__("" : "+r"(row));
    row = counted_row(row, numbering->counted);
    *place = (int64_t)((uint64_t)row * (uint64_t)numbering->step);
    return (uint64_t)row <= numbering->last;
}

/* Ask for the rows of the pair `ahead` pairs on, if there is one: the target's, and the
 * source's where sources are listed (consecutive ones are fetched by the hardware).
 * Asking needs no check. */
TEMPLATE_INLINE void
ask_ahead(const char *target, const ps_list *list, const ps_numbering *numbering,
          const char *values, int64_t value_stride, int64_t i, int64_t ahead,
          int64_t nbytes)
{
    if (ahead == 0 || i + ahead >= list->n) {
        return;
    }
    const uint64_t row = (uint64_t)list->offset[i + ahead];
    prefetch_row(target + row * (uint64_t)numbering->step, nbytes);
    if (list->source != NULL) {
        prefetch_row(values + list->source[i + ahead] * value_stride, nbytes);
    }
}
