/* Scatter into a small target by way of a copy (contract in copied.h).
 *
 * Nobody sees the copy, so one pass checks the index and applies it, where a visible
 * target needs its index read twice. What differs from the target as it was copied is
 * then written, element by element: what the call does not name is not written, and
 * keeps what another thread may have put there meanwhile.
 */
#include "ops/copied.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "ops/direct.h"

/* to[i] = now[i] where it is not before[i]; n items of a constant size, so that each is
 * one comparison and one store. */
static inline __attribute__((always_inline)) void
write_items(char *to, const char *now, const char *before, const size_t size, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const size_t at = (size_t)i * size;
        if (memcmp(now + at, before + at, size) != 0) {
            memcpy(to + at, now + at, size);
        }
    }
}

/* Items of 16 bytes are written by halves: both belong to an element that is named. */
static void
write_changed(char *to, const char *now, const char *before, int64_t itemsize,
              int64_t n)
{
    switch (itemsize) {
        case 1:
            write_items(to, now, before, 1, n);
            break;
        case 2:
            write_items(to, now, before, 2, n);
            break;
        case 4:
            write_items(to, now, before, 4, n);
            break;
        default:
            write_items(to, now, before, 8, itemsize / 8 * n);
    }
}

/* Of n floats; for the bits, so that the compiler makes vector code of it. */
static bool
has_minus_zero(enum ps_dtype type, const char *data, int64_t n)
{
    int is_found = 0;
    if (type == PS_f32) {
        for (int64_t i = 0; i < n; i++) {
            is_found |= ((const u32 *)data)[i] == 0x80000000;
        }
    }
    else {
        for (int64_t i = 0; i < n; i++) {
            is_found |= ((const u64 *)data)[i] == 0x8000000000000000;
        }
    }
    return is_found != 0;
}

/* Looked for once, where the kernel would otherwise have to take into account, at every
 * value, that the element which it meets may be -0.0. */
void
ps_look_for_minus(ps_scatter_call *call)
{
    const enum ps_dtype type = call->target.dtype;
    call->target.is_plain =
            (type == PS_f32 || type == PS_f64) &&
            !has_minus_zero(type, call->target.data, call->address.index[0].size);
}

__attribute__((no_sanitize_thread)) void
ps_copy_shared(char *restrict to, const char *restrict from, int64_t nbytes)
{
    for (int64_t i = 0; i < nbytes; i++) {
        to[i] = from[i];
    }
}

/* The copy, and what it began as, lie in one block. What is written is found by
 * comparing these two: the target itself may be another thread's by then. Nothing has
 * been written before the pass has ended well, so an index that is bad, a signal or a
 * lack of memory leaves the target alone. */
ps_status
ps_run_copied(const ps_scatter_call *call, ps_run *run)
{
    const int64_t n = call->address.index[0].size;
    const int64_t nbytes = n * call->target.itemsize;
    char *const now = ps_scratch_get(2 * nbytes), *const before = now + nbytes;
    if (now == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ps_copy_shared(before, call->target.data, nbytes);
    memcpy(now, before, (size_t)nbytes);
    ps_scatter_call copied = *call;
    copied.target.data = now;
    copied.target.is_private = true;
    if (ps_is_extreme(call->op)) {
        ps_look_for_minus(&copied);
    }
    ps_direct direct;
    ps_status status = ps_open_direct(&copied, PS_WAY_PRIVATE, run, &direct);
    if (status.code == PS_OK) {
        status = ps_run_direct(&direct);
    }
    ps_close_direct(&direct);
    if (status.code == PS_OK) {
        write_changed(call->target.data, now, before, call->target.itemsize, n);
    }
    ps_scratch_put(now, 2 * nbytes);
    return status;
}
