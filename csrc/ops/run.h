/* Running chunks: shared by the ops. A failure in any thread stops all of them at their
 * next check; interrupts are asked for on the caller's thread alone. */
#ifndef PS_OPS_RUN_H
#define PS_OPS_RUN_H

#include "ops/ops.h"

enum {
    /* Bytes that a pass moves between two looks at a pending signal: 1 ms, or 20 where
     * each byte is converted. Passes count bytes, since entries are of any size. */
    PS_LISTEN_BYTES = 4 << 20,
    /* What a visit to a place anywhere in memory counts for. */
    PS_LINE_BYTES = 64
};

/* Should the current thread give up? Call it between stretches of at most a few
 * milliseconds of work. */
bool ps_run_stops(ps_run *run);

/* The same of a pass that has moved `nbytes` more; it asks every PS_LISTEN_BYTES.
 * *unheard belongs to the pass and starts at 0. */
static inline bool
ps_run_stops_after(ps_run *run, int64_t *unheard, int64_t nbytes)
{
    *unheard += nbytes;
    if (*unheard < PS_LISTEN_BYTES) {
        return false;
    }
    *unheard = 0;
    return ps_run_stops(run);
}

/* A plain loop over [0, n) in stretches, between which signals are heard:
 *     ps_stretch part = ps_stretch_of(run, n, nbytes); -- that each item moves
 *     while (ps_next_stretch(&part)) { ... [part.first, part.last) ... }
 *     ps_run_status(run) -- was it given up? */
typedef struct {
    ps_run *run;
    int64_t n, step, first, last;
} ps_stretch;

static inline ps_stretch
ps_stretch_of(ps_run *run, int64_t n, int64_t nbytes)
{
    return (ps_stretch){.run = run, .n = n, .step = PS_LISTEN_BYTES / nbytes};
}

static inline bool
ps_next_stretch(ps_stretch *part)
{
    part->first = part->last;
    if (part->first >= part->n || (part->first > 0 && ps_run_stops(part->run))) {
        return false;
    }
    part->last =
            part->n - part->first < part->step ? part->n : part->first + part->step;
    return true;
}

/* The first failure noted. */
ps_status ps_run_status(ps_run *run);

/* memset in stretches. */
ps_status ps_run_fill(ps_run *run, void *block, int byte, int64_t nbytes);

/* Note a failure; the first one counts. */
void ps_run_fail(ps_run *run, enum ps_code code);

/* fn(context, i) for i in [0, chunks) on the threads of `run`; the first failure noted.
 * `run` must be the first member that `context` points to (a ps_run *). */
ps_status ps_run_chunks(ps_run *run, int64_t chunks,
                        void (*fn)(void *context, int64_t chunk), void *context);

#endif
