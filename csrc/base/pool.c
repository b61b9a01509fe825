/* The pool (contract in pool.h).
 *
 * One job at a time, guarded by `busy`, which callers only try: who fails runs alone.
 * A job is open while its caller works on it; a worker joins an open job under `lock`,
 * so a worker that wakes late finds it closed and is not waited for. The caller closes
 * the job when no chunk is left and waits for those who joined.
 *
 * After fork() only the forking thread exists in the child: `forget_workers` puts every
 * field back to its first state there, without touching what the parent holds. Where
 * that thread is the caller of the open job (a signal handler forks), the job goes on
 * in both processes, so the fork waits until workers have ended the chunks that they
 * are at, or rest: what else they had done by halves would be lost in the child.
 */
#define _GNU_SOURCE
#include "base/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/sizes.h"

enum {
    MAX_WORKERS = 255,
    /* A worker looks for the next job this often before it sleeps: about 5 us, the cost
     * of waking it again. */
    SPINS = 1000,
    IDLE_NS = 10 * 1000 * 1000
};

typedef struct {
    ps_chunk_fn fn;
    void *context;
    int64_t chunks;
    int helpers;        /* workers with a number below this may join */
    const fenv_t *fenv; /* the caller's rounding and denormal modes */
} job;

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Under `lock`, but for `posted` and `next`, which are read without it. */
static job current;
static bool is_open;
static bool was_open; /* before a fork */
static int joined;
static int resting; /* of those who joined */
static int n_workers;
static atomic_bool is_paused; /* workers are to leave the job at their next chunk */
static atomic_uint posted;
static _Atomic int64_t next;
/* Of the initial block of each thread: the lazy kind is allocated at a worker's first
 * use and ends the process when memory is refused just then. */
static _Thread_local bool is_worker __attribute__((tls_model("initial-exec")));
/* The caller of the open job, which holds `busy`. */
static _Thread_local bool is_caller __attribute__((tls_model("initial-exec")));

static void
pause_job(void)
{
    if (!is_caller) {
        return;
    }
    pthread_mutex_lock(&lock);
    was_open = is_open;
    is_open = false;
    atomic_store(&is_paused, true);
    while (joined > resting) {
        pthread_cond_wait(&left, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void
resume_job(void)
{
    if (!is_caller) {
        return;
    }
    pthread_mutex_lock(&lock);
    is_open = was_open;
    atomic_store(&is_paused, false);
    atomic_fetch_add(&posted, 1);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
}

static void
forget_workers(void)
{
    pthread_mutex_init(&busy, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&left, NULL);
    is_open = false;
    atomic_store(&is_paused, false);
    joined = resting = 0;
    n_workers = 0;
    if (is_caller) { /* it goes on with the chunks that are left, alone */
        pthread_mutex_lock(&busy);
    }
}

static void
register_fork_handlers(void)
{
    pthread_atfork(pause_job, resume_job, forget_workers);
}

void
ps_rest(void)
{
    if (!is_worker || !atomic_load(&is_paused)) {
        return;
    }
    pthread_mutex_lock(&lock);
    resting++;
    pthread_cond_signal(&left);
    while (atomic_load(&is_paused)) {
        pthread_cond_wait(&wake, &lock);
    }
    resting--;
    pthread_mutex_unlock(&lock);
}

static inline void
relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until none is left, or, for a worker, the job is paused. */
static void
run_chunks(const job *task)
{
    while (!(is_worker && atomic_load(&is_paused))) {
        const int64_t chunk = atomic_fetch_add(&next, 1);
        if (chunk >= task->chunks) {
            return;
        }
        task->fn(task->context, chunk);
    }
}

/* Sleep until a job other than number `seen` has been posted; its number. */
static unsigned
wait_for_job(unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&posted) != seen) {
            return atomic_load(&posted);
        }
        relax();
    }
    pthread_mutex_lock(&lock);
    while (atomic_load(&posted) == seen) {
        pthread_cond_wait(&wake, &lock);
    }
    seen = atomic_load(&posted);
    pthread_mutex_unlock(&lock);
    return seen;
}

static void *
work(void *argument)
{
    const int number = (int)(intptr_t)argument;
    is_worker = true;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(seen);
        pthread_mutex_lock(&lock);
        const job task = current;
        const bool joins = is_open && number < task.helpers;
        joined += joins;
        pthread_mutex_unlock(&lock);
        if (!joins) {
            continue;
        }
        fesetenv(task.fenv);
        run_chunks(&task);
        pthread_mutex_lock(&lock);
        if (--joined == 0) {
            pthread_cond_signal(&left);
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Have at least `wanted` workers if the system gives them. Under `busy`. */
static void
start_workers(int wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n_workers < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(intptr_t)n_workers) != 0) {
            break;
        }
        pthread_detach(thread);
        n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
post(const job *task)
{
    pthread_mutex_lock(&lock);
    current = *task;
    is_open = true;
    atomic_store(&next, 1);
    atomic_fetch_add(&posted, 1);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
}

static void
close_and_wait(void (*idle)(void *), void *context)
{
    pthread_mutex_lock(&lock);
    is_open = false;
    while (joined > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        const long nanoseconds = until.tv_nsec + IDLE_NS;
        until.tv_sec += nanoseconds / 1000000000;
        until.tv_nsec = nanoseconds % 1000000000;
        if (pthread_cond_timedwait(&left, &lock, &until) != 0) {
            pthread_mutex_unlock(&lock);
            idle(context);
            pthread_mutex_lock(&lock);
        }
    }
    pthread_mutex_unlock(&lock);
}

bool
ps_is_worker(void)
{
    return is_worker;
}

void
ps_parallel_for(int64_t chunks, ps_chunk_fn fn, void (*idle)(void *context),
                void *context, int threads)
{
    const int helpers = (int)ps_min(ps_min(threads, chunks) - 1, MAX_WORKERS);
    if (helpers < 1 || pthread_mutex_trylock(&busy) != 0) {
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            fn(context, chunk);
        }
        return;
    }
    pthread_once(&once, register_fork_handlers);
    is_caller = true;
    start_workers(helpers);
    fenv_t fenv;
    fegetenv(&fenv);
    const job task = {fn, context, chunks, helpers, &fenv};
    post(&task);
    fn(context, 0);
    run_chunks(&task);
    close_and_wait(idle, context);
    is_caller = false;
    pthread_mutex_unlock(&busy);
}

static void
do_nothing(void *context)
{
    (void)context;
}

void
ps_leave_job(void)
{
    if (!is_caller) {
        return;
    }
    atomic_store(&next, INT64_MAX / 2); /* beyond every chunk, and far from overflow */
    close_and_wait(do_nothing, NULL);
    is_caller = false;
    pthread_mutex_unlock(&busy);
}

/* CPUs granted by a cgroup (version 2) quota, or 0 when there is none. */
static int
quota_count(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    long long quota = 0, period = 0;
    if (file == NULL) {
        return 0;
    }
    const int n_read = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    if (n_read != 2 || quota <= 0 || period <= 0) {
        return 0;
    }
    return (int)ps_max(1, quota / period);
}

int
ps_processor_count(void)
{
    cpu_set_t set;
    int count = 1;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        count = CPU_COUNT(&set);
    }
    else {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online > 0 ? (int)online : 1;
    }
    const int quota = quota_count();
    return quota > 0 ? (int)ps_min(count, quota) : count;
}
