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
 *
 * Chunks are taken by whoever is free, so a worker that does not come holds up nobody.
 * One that loses its processor in the midst of a chunk does, for as long as a neighbour
 * keeps it. That cannot be seen beforehand, only afterwards: jobs that took longer than
 * the caller alone would have are followed by calls on one thread, for a time that is
 * long beside what was lost.
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
    IDLE_NS = 10 * 1000 * 1000,
    /* Jobs in a row that workers held up, after which one thread works alone for so
     * many times the length of the last one, and twice as long after each that fails
     * again. A job of 3 ms beside eight busy threads on two processors takes 11 ms on
     * two threads (Zen 3): trying it costs 1 part in 32, and a neighbour that is gone
     * is noticed within a second. */
    STRIKES = 2,
    ALONE_FACTOR = 32,
    LONGEST_ALONE_NS = 1000 * 1000 * 1000
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

/* Under `busy`, but for the two that are read without it. */
static int strikes;
static int64_t alone_ns;
static _Atomic int64_t alone_until;
static atomic_bool always_threads;

/* ---- do threads pay at present? ---- */

static int64_t
now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A job has taken from `start` to `end`, of which the caller has worked for `worked` on
 * `own` of its chunks. Would it have been sooner alone? Where nobody came it was. Work
 * is time of its processor: what it has waited for one, it may owe to its own workers.
 */
static void
judge_job(int64_t start, int64_t end, int64_t worked, int64_t own, int64_t chunks)
{
    const double alone = (double)worked * (double)chunks / (double)own;
    if (own == chunks) {
        return;
    }
    if ((double)(end - start) <= alone) {
        strikes = 0;
        alone_ns = 0;
        return;
    }
    if (++strikes < STRIKES) {
        return;
    }
    strikes = STRIKES - 1; /* the next try is the last one */
    alone_ns = ps_max(2 * alone_ns, ALONE_FACTOR * (end - start));
    alone_ns = ps_min(alone_ns, LONGEST_ALONE_NS);
    atomic_store(&alone_until, end + alone_ns);
}

int
ps_threads_that_pay(int threads)
{
    const int64_t until = atomic_load(&alone_until);
    return threads > 1 && until != 0 && !atomic_load(&always_threads) &&
                           now_ns(CLOCK_MONOTONIC) < until
                   ? 1
                   : threads;
}

bool
ps_force_threads(bool always)
{
    return atomic_exchange(&always_threads, always);
}

/* ---- jobs ---- */

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

/* Until none is left, or, for a worker, the job is paused. Returns how many it ran. */
static int64_t
run_chunks(const job *task)
{
    int64_t n = 0;
    for (; !(is_worker && atomic_load(&is_paused)); n++) {
        const int64_t chunk = atomic_fetch_add(&next, 1);
        if (chunk >= task->chunks) {
            break;
        }
        task->fn(task->context, chunk);
    }
    return n;
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
    const int64_t start = now_ns(CLOCK_MONOTONIC);
    const int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
    post(&task);
    fn(context, 0);
    const int64_t own = 1 + run_chunks(&task);
    const int64_t worked = now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
    close_and_wait(idle, context);
    judge_job(start, now_ns(CLOCK_MONOTONIC), worked, own, chunks);
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
