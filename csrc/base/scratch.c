/* Work memory (contract in scratch.h). Small blocks are aligned_alloc; a large block is
 * an anonymous mapping, of which the last one up to KEEP_BYTES is kept in an atomic
 * slot that any thread may empty or fill, so there is no lock to hold across a fork.
 */
#define _GNU_SOURCE
#include "base/scratch.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sizes.h"

enum {
    ALIGNMENT = 64,
    HUGE_PAGE = 2 << 20,
    /* Keeping more would hold memory that users see in their process; refilling 64 MiB
     * of huge pages takes 6 ms, small beside the work that needs so much. */
    KEEP_BYTES = 64 << 20
};

typedef struct {
    int64_t nbytes;
} header;

/* The kept mapping; its first bytes hold its length while it waits here. */
static _Atomic(header *) kept;

static int64_t
rounded(int64_t nbytes)
{
    return ps_ceil_div(nbytes, HUGE_PAGE) * HUGE_PAGE;
}

static void *
map_large(int64_t nbytes)
{
    header *block = atomic_exchange(&kept, NULL);
    if (block != NULL) {
        if (block->nbytes == nbytes) {
            return block;
        }
        munmap(block, (size_t)block->nbytes);
    }
    /* Mapped with slack and trimmed, so that it starts on a huge page. */
    char *raw = mmap(NULL, (size_t)(nbytes + HUGE_PAGE), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    const size_t head = (size_t)(-(uintptr_t)raw & (uintptr_t)(HUGE_PAGE - 1));
    if (head > 0) {
        munmap(raw, head);
    }
    munmap(raw + head + nbytes, (size_t)HUGE_PAGE - head);
    madvise(raw + head, (size_t)nbytes, MADV_HUGEPAGE);
    return raw + head;
}

void *
ps_scratch_get(int64_t nbytes)
{
    if (nbytes < 0 || nbytes > INT64_MAX - 2 * HUGE_PAGE) {
        return NULL;
    }
    if (nbytes >= HUGE_PAGE) {
        return map_large(rounded(nbytes));
    }
    const int64_t padded = ps_ceil_div(ps_max(nbytes, 1), ALIGNMENT) * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, (size_t)padded);
}

void
ps_scratch_put(void *block, int64_t nbytes)
{
    if (block == NULL || nbytes < HUGE_PAGE) {
        free(block);
        return;
    }
    header *old = block;
    const int64_t length = rounded(nbytes);
    if (length <= KEEP_BYTES) {
        old->nbytes = length;
        old = atomic_exchange(&kept, old);
        if (old == NULL) {
            return;
        }
        munmap(old, (size_t)old->nbytes);
        return;
    }
    munmap(old, (size_t)length);
}
