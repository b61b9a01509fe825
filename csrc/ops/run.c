/* Running chunks (contract in run.h). */
#include "ops/run.h"

#include <stddef.h>
#include <string.h>

#include "base/pool.h"

/* Compare and exchange, so that a later failure, often a consequence, hides none. */
void
ps_run_fail(ps_run *run, enum ps_code code)
{
    int expected = PS_OK;
    atomic_compare_exchange_strong(&run->failed, &expected, (int)code);
}

/* Workers only read the flag: Python's signal handlers belong to the caller's thread,
 * and asking takes the GIL. */
bool
ps_run_stops(ps_run *run)
{
    if (atomic_load_explicit(&run->failed, memory_order_relaxed) != PS_OK) {
        return true;
    }
    if (run->interrupted == NULL || ps_is_worker() ||
        !run->interrupted(run->argument, run->has_written)) {
        return false;
    }
    ps_run_fail(run, PS_INTERRUPTED);
    return true;
}

/* PS_OK while none has been noted. */
ps_status
ps_run_status(ps_run *run)
{
    return ps_fail((enum ps_code)atomic_load(&run->failed));
}

/* New memory is mapped, page by page, as it is filled: longer than filling it. */
ps_status
ps_run_fill(ps_run *run, void *block, int byte, int64_t nbytes)
{
    ps_stretch part = ps_stretch_of(run, nbytes, 1);
    while (ps_next_stretch(&part)) {
        memset((char *)block + part.first, byte, (size_t)(part.last - part.first));
    }
    return ps_run_status(run);
}

/* What the caller does while others still work: hear signals. */
static void
listen(void *context)
{
    ps_run_stops(*(ps_run **)context);
}

/* The pool ends all chunks before it returns, failed or not, so `run` may live on the
 * caller's stack. */
ps_status
ps_run_chunks(ps_run *run, int64_t chunks, void (*fn)(void *context, int64_t chunk),
              void *context)
{
    ps_parallel_for(chunks, fn, listen, context, run->threads);
    return ps_run_status(run);
}
