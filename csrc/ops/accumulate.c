/* The accumulate op: a gradient is added to a buffer, element by element.
 *
 * Elements are cut into parts that threads take as they come; each element belongs to
 * one part and is one sum, so neither the number of threads nor the cuts change a bit,
 * and counts of integers add up in any order. A part is as much as is read between two
 * looks at a signal.
 */
#include "ops/accumulate.h"

#include <stdatomic.h>

#include "base/sizes.h"
#include "ops/run.h"

enum {
    /* Bytes of acc in a part: enough that handing it out costs nothing, and few enough
     * that threads end together. */
    PART_BYTES = 256 << 10
};

typedef struct {
    ps_run *run;
    const ps_accumulate_call *call;
    const ps_kernel_table *kernels;
    int64_t part; /* elements */
    _Atomic int64_t odd;
} job;

static void
run_part(void *context, int64_t chunk)
{
    job *const work = context;
    const ps_accumulate_call *const call = work->call;
    const int64_t first = chunk * work->part;
    const int64_t n = ps_min(work->part, call->n - first);
    if (ps_run_stops(work->run)) {
        return;
    }
    const int64_t odd = work->kernels->accumulate[call->to][call->from](
            call->how, call->acc + first * ps_dtype_size[call->to],
            call->g + first * ps_dtype_size[call->from], n, call->weight);
    atomic_fetch_add_explicit(&work->odd, odd, memory_order_relaxed);
}

/* Nothing is checked: there is no index. A call that only counts writes nothing, and
 * may be interrupted at once. */
ps_status
ps_accumulate(void *argument, ps_run *run)
{
    ps_accumulate_call *const call = argument;
    job work = {.run = run,
                .call = call,
                .kernels = ps_kernels(),
                .part = PART_BYTES / ps_dtype_size[call->to]};
    run->has_written = call->how != PS_ACCUMULATE_NONE;
    const ps_status status =
            ps_run_chunks(run, ps_ceil_div(call->n, work.part), run_part, &work);
    call->odd = atomic_load(&work.odd);
    return status;
}
