/* Running chunks: shared by the ops. A failure in any thread stops all of them at their
 * next check; interrupts are asked for on the caller's thread alone. */
#ifndef PS_OPS_RUN_H
#define PS_OPS_RUN_H

#include "ops/ops.h"

/* Should the current thread give up? Call it between stretches of at most a few
 * milliseconds of work. */
bool ps_run_stops(ps_run *run);

/* Note a failure; the first one counts. */
void ps_run_fail(ps_run *run, enum ps_code code);

/* fn(context, i) for i in [0, chunks) on the threads of `run`; the first failure noted.
 * `run` must be the first member that `context` points to (a ps_run *). */
ps_status ps_run_chunks(ps_run *run, int64_t chunks,
                        void (*fn)(void *context, int64_t chunk), void *context);

#endif
