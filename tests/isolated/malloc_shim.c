/* Allocators that refuse on demand, to be preloaded (tests only).
 *
 * A test writes into the numbers below (through ctypes): `shim_left` requests are
 * granted, the next `shim_span` are refused, later ones are granted again.
 * `shim_refused` counts refusals, `shim_inside` those that code between the addresses
 * `shim_low` and `shim_high` received, `shim_live` blocks that were not freed,
 * `shim_mapped` bytes of anonymous mappings. Starting a thread counts as a request: it
 * needs a stack.
 *
 * The real functions are glibc's own names for them: to look malloc up by dlsym would
 * call malloc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t count, size_t nbytes);
extern void *__libc_realloc(void *block, size_t nbytes);
extern void *__libc_memalign(size_t alignment, size_t nbytes);
extern void __libc_free(void *block);

enum {
    DEPTH = 100
};

typedef int (*thread_starter)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                              void *);

atomic_long shim_left = LONG_MAX;
atomic_long shim_span = 1;
atomic_long shim_refused;
atomic_long shim_inside;
atomic_long shim_low;
atomic_long shim_high;
atomic_long shim_live;
atomic_long shim_mapped;
static thread_starter start_thread;

__attribute__((constructor)) static void
prepare(void)
{
    void *frame;
    start_thread = (thread_starter)dlsym(RTLD_NEXT, "pthread_create");
    backtrace(&frame, 1); /* the first call allocates */
}

/* Whether a frame belongs to the loop that runs Python code. */
static int
is_interpreter(void *frame)
{
    Dl_info found;
    return dladdr(frame, &found) != 0 && found.dli_sname != NULL &&
           strcmp(found.dli_sname, "_PyEval_EvalFrameDefault") == 0;
}

/* Whether the code that a test looks at is asking, or has called who asks, with no
 * Python code between them. */
static int
asked_from_inside(void)
{
    void *frames[DEPTH];
    const int depth = backtrace(frames, DEPTH);
    for (int i = 0; i < depth; i++) {
        const long address = (long)(intptr_t)frames[i];
        if (address >= atomic_load(&shim_low) && address < atomic_load(&shim_high)) {
            return 1;
        }
        if (is_interpreter(frames[i])) {
            return 0;
        }
    }
    return 0;
}

static int
refuses(void)
{
    const long left = atomic_fetch_sub(&shim_left, 1);
    if (left > 0 || left <= -atomic_load(&shim_span)) {
        return 0;
    }
    atomic_fetch_add(&shim_refused, 1);
    if (left == 0) { /* one look a call: unwinding is slow */
        atomic_fetch_add(&shim_inside, asked_from_inside());
    }
    errno = ENOMEM;
    return 1;
}

static void *
counted(void *block)
{
    if (block != NULL) {
        atomic_fetch_add(&shim_live, 1);
    }
    return block;
}

void *
malloc(size_t nbytes)
{
    return refuses() ? NULL : counted(__libc_malloc(nbytes));
}

void *
calloc(size_t count, size_t nbytes)
{
    return refuses() ? NULL : counted(__libc_calloc(count, nbytes));
}

void *
realloc(void *block, size_t nbytes)
{
    if (refuses()) {
        return NULL;
    }
    if (block == NULL) {
        return counted(__libc_realloc(block, nbytes));
    }
    if (nbytes == 0) {
        atomic_fetch_sub(&shim_live, 1);
    }
    return __libc_realloc(block, nbytes);
}

void *
memalign(size_t alignment, size_t nbytes)
{
    return refuses() ? NULL : counted(__libc_memalign(alignment, nbytes));
}

void *
aligned_alloc(size_t alignment, size_t nbytes)
{
    return memalign(alignment, nbytes);
}

int
posix_memalign(void **block, size_t alignment, size_t nbytes)
{
    void *fresh = memalign(alignment, nbytes);
    if (fresh == NULL) {
        return ENOMEM;
    }
    *block = fresh;
    return 0;
}

void
free(void *block)
{
    if (block != NULL) {
        atomic_fetch_sub(&shim_live, 1);
    }
    __libc_free(block);
}

void *
mmap(void *place, size_t nbytes, int protection, int flags, int file, off_t offset)
{
    const int anonymous = (flags & MAP_ANONYMOUS) != 0;
    if (anonymous && refuses()) {
        return MAP_FAILED;
    }
    void *block =
            (void *)syscall(SYS_mmap, place, nbytes, protection, flags, file, offset);
    if (anonymous && block != MAP_FAILED) {
        atomic_fetch_add(&shim_mapped, (long)nbytes);
    }
    return block;
}

void *
mmap64(void *place, size_t nbytes, int protection, int flags, int file, off_t offset)
{
    return mmap(place, nbytes, protection, flags, file, offset);
}

int
munmap(void *block, size_t nbytes)
{
    atomic_fetch_sub(&shim_mapped, (long)nbytes);
    return (int)syscall(SYS_munmap, block, nbytes);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*body)(void *), void *argument)
{
    return refuses() ? EAGAIN : start_thread(thread, attributes, body, argument);
}
