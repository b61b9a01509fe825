/* Work memory (contract in scratch.h). Small blocks are aligned_alloc; a large block is
 * an anonymous mapping, of which the last few small ones or a larger one are kept in
 * atomic slots that any thread may empty or fill, so there is no lock to hold across a
 * fork. A call that needs blocks of several sizes finds all of them again.
 */
#define _GNU_SOURCE
#include "base/scratch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sizes.h"

enum {
    ALIGNMENT = 64,
    HUGE_PAGE = 2 << 20,
    /* Keeping more would hold memory that users see in their process; refilling 64 MiB
     * of huge pages takes 6 ms, small beside the work that needs so much. */
    KEEP_BYTES = 64 << 20,
    /* Several blocks, where one would not do: they stay while results are made, and
     * what a call takes beyond these is promised. */
    KEEP_BLOCKS = 4,
    KEEP_SEVERAL = 24 << 20
};

typedef struct {
    int64_t nbytes;
} header;

/* The kept mappings; their first bytes hold their length while they wait here. `held`
 * is the sum of these, and more for a moment while threads put blocks side by side. */
static _Atomic(header *) kept[KEEP_BLOCKS];
static _Atomic int64_t held;
static atomic_uint next_out;

static int64_t
rounded(int64_t nbytes)
{
    return ps_ceil_div(nbytes, HUGE_PAGE) * HUGE_PAGE;
}

/* Nobody else has a block that has been taken out of its slot. */
static void
drop(header *block)
{
    if (block != NULL) {
        atomic_fetch_sub(&held, block->nbytes);
        munmap(block, (size_t)block->nbytes);
    }
}

static bool
keep_in_free_slot(header *block)
{
    for (int i = 0; i < KEEP_BLOCKS; i++) {
        header *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, block)) {
            return true;
        }
    }
    return false;
}

/* A kept block of this very length, or NULL: a longer one would not be known again by
 * the length that it comes back with. */
static void *
take_kept(int64_t nbytes)
{
    for (int i = 0; i < KEEP_BLOCKS; i++) {
        header *const block = atomic_exchange(&kept[i], NULL);
        if (block != NULL && block->nbytes == nbytes) {
            atomic_fetch_sub(&held, nbytes);
            return block;
        }
        if (block != NULL && !keep_in_free_slot(block)) {
            drop(block);
        }
    }
    return NULL;
}

/* Kept blocks go until `nbytes` have gone, or none is left. */
static void
drop_kept(int64_t nbytes)
{
    for (int i = 0; i < KEEP_BLOCKS && nbytes > 0; i++) {
        header *const block = atomic_exchange(&kept[i], NULL);
        nbytes -= block != NULL ? block->nbytes : 0;
        drop(block);
    }
}

/* The next slot in turn has this block, or NULL, in place of its own. */
static void
replace_next(header *block)
{
    const unsigned slot = atomic_fetch_add(&next_out, 1) % KEEP_BLOCKS;
    drop(atomic_exchange(&kept[slot], block));
}

/* Others go, one slot after the other, until there is room for this one. */
static void
keep(header *block)
{
    const int64_t most = ps_max(KEEP_SEVERAL, block->nbytes);
    atomic_fetch_add(&held, block->nbytes);
    for (int i = 0; i < KEEP_BLOCKS && atomic_load(&held) > most; i++) {
        replace_next(NULL);
    }
    if (atomic_load(&held) > most) {
        drop(block);
    }
    else if (!keep_in_free_slot(block)) {
        replace_next(block);
    }
}

static char *
map_fresh(int64_t nbytes)
{
    char *const raw = mmap(NULL, (size_t)nbytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return raw != MAP_FAILED ? raw : NULL;
}

static void *
map_large(int64_t nbytes)
{
    void *const known = take_kept(nbytes);
    if (known != NULL) {
        return known;
    }
    /* What is mapped anew takes the place of as much that is kept: a call that needs
     * one block after the other holds no more at a time than if none were kept. */
    drop_kept(nbytes);
    /* Mapped with slack and trimmed, so that it starts on a huge page. */
    char *raw = map_fresh(nbytes + HUGE_PAGE);
    if (raw == NULL) { /* what is kept must not be what is missing */
        drop_kept(INT64_MAX);
        raw = map_fresh(nbytes + HUGE_PAGE);
    }
    if (raw == NULL) {
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
    header *const large = block;
    large->nbytes = rounded(nbytes);
    if (large->nbytes <= KEEP_BYTES) {
        keep(large);
        return;
    }
    munmap(large, (size_t)large->nbytes);
}
