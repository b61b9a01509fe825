/* Running an op: the one place where the GIL is released (contract in core.h).
 *
 * While it is released, interrupted() is how the op hears of Ctrl-C: it takes the GIL
 * back every 20 ms and lets Python run its handlers. A call that has begun to write to
 * a visible target is left to finish for half a second, so that in practice a target is
 * changed wholly or not at all. Whatever else an op finds, before or after a handler
 * has raised an exception, that exception is what the call ends in.
 *
 * A daemon thread that asks for the GIL when the interpreter ends does not get it back:
 * CPython ends the thread there and then, and `leave` is the last that is heard of it.
 */
#include "python/core.h"

#include <pthread.h>
#include <time.h>

#include "base/pool.h"
#include "ops/run.h"

enum {
    /* Bytes below which a call ends within about 5 us: not worth the 30 ns of releasing
     * and retaking the GIL, nor a look at the threads. */
    RELEASE_BYTES = 32 << 10
};
static const double LISTEN_SECONDS = 0.02;

typedef struct {
    ps_run *run;
    PyThreadState *thread;
    double start, heard;
    bool has_raised; /* a handler has: its exception waits for the end of the call */
} ear;

double
ps_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The thread ends here: others must not go on with what lies on its stack. */
static void
leave(void *run)
{
    ps_run_fail(run, PS_INTERRUPTED);
    ps_leave_job();
}

static bool
interrupted(void *argument, bool has_written)
{
    ear *const listener = argument;
    const double time = ps_now();
    if (listener->has_raised) {
        return true;
    }
    if (time - listener->heard < LISTEN_SECONDS ||
        (has_written && time - listener->start < PS_FINISH_SECONDS)) {
        return false;
    }
    pthread_cleanup_push(leave, listener->run);
    PyEval_RestoreThread(listener->thread);
    listener->has_raised = PyErr_CheckSignals() != 0;
    listener->thread = PyEval_SaveThread();
    pthread_cleanup_pop(0);
    listener->heard = ps_now();
    return listener->has_raised;
}

ps_status
ps_run_op(ps_state *state, ps_op_fn op, void *call, int64_t nbytes)
{
    ps_run run = {.threads = 1};
    if (nbytes < RELEASE_BYTES) {
        return op(call, &run);
    }
    run.threads = ps_threads(state);
    if (run.threads < 1) {
        return ps_fail(PS_INTERRUPTED);
    }
    run.threads = ps_threads_that_pay(run.threads);
    const double start = ps_now();
    ear listener = {&run, NULL, start, start, false};
    run.interrupted = interrupted;
    run.argument = &listener;
    listener.thread = PyEval_SaveThread();
    const ps_status status = op(call, &run);
    PyEval_RestoreThread(listener.thread);
    return listener.has_raised ? ps_fail(PS_INTERRUPTED) : status;
}
