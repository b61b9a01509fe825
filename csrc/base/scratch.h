/* Work memory: every byte that the ops allocate comes from here and goes back here.
 *
 * Blocks of 2 MiB and more are mapped with huge pages, since the first touch of 4 KiB
 * pages costs more than most kernels (2.1 us a page against 0.4 us); a few such blocks
 * are kept for the next call.
 */
#ifndef PS_BASE_SCRATCH_H
#define PS_BASE_SCRATCH_H

#include <stdint.h>

/* `nbytes` bytes aligned to 64, not cleared; NULL when there is no memory. */
void *ps_scratch_get(int64_t nbytes);

/* Give back a block of `nbytes`; NULL is allowed. */
void ps_scratch_put(void *block, int64_t nbytes);

#endif
