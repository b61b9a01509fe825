/* A small pool of threads of our own: parallel_for over a list of chunks.
 *
 * Why not OpenMP: libgomp hangs a forked child at its first region and spins for
 * milliseconds beside a busy neighbour (docs/design/scatter.md). This pool starts at
 * the first parallel call, sleeps after a short spin, forgets its workers in a forked
 * child, where a job that was under way goes on, and lets a caller that finds it busy
 * run alone, so it can neither hang nor oversubscribe. Which thread runs a chunk never
 * decides a result: that is the ops' duty.
 */
#ifndef PS_BASE_POOL_H
#define PS_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef void (*ps_chunk_fn)(void *context, int64_t chunk);

/* Run fn(context, i) for every i in [0, chunks) on up to `threads` threads, the caller
 * included. The caller runs chunk 0 first; the others are taken in ascending order.
 * Returns when all have ended; a caller that has nothing left to do meanwhile calls
 * idle(context) every 10 ms, so that it can hear of signals. */
void ps_parallel_for(int64_t chunks, ps_chunk_fn fn, void (*idle)(void *context),
                     void *context, int threads);

/* To be called now and then in a chunk that takes long, where it is noted how far it
 * has come: the caller may fork there, and in the child it finds the chunk unfinished.
 */
void ps_rest(void);

/* For a thread that ends in the midst of its ps_parallel_for: no chunk is begun any
 * more, and those under way on other threads have ended when it returns. Nothing where
 * the current thread has no job. */
void ps_leave_job(void);

/* Is the current thread one of the pool's own? */
bool ps_is_worker(void);

/* How many of `threads` are worth asking for at present: 1 for a while after jobs whose
 * workers came too late, beside a neighbour that keeps the processors busy. */
int ps_threads_that_pay(int threads);

/* For tests, which want the threads that they ask for: always, or as it pays. Returns
 * what it was. */
bool ps_force_threads(bool always);

/* Processors that this process may use: affinity and cgroup quota. At least 1. */
int ps_processor_count(void);

#endif
