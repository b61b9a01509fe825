/* Which table of kernels is in force: one pointer, set at import and by tests. */
#include <stdatomic.h>
#include <stddef.h>

#include "kernels/kernels.h"

extern const ps_kernel_table ps_kernels_baseline;
#if defined(__x86_64__)
extern const ps_kernel_table ps_kernels_avx2;
extern const ps_kernel_table ps_kernels_avx512;
#endif

static _Atomic(enum ps_level) level_in_force = PS_LEVEL_baseline;

const ps_kernel_table *
ps_kernels_of(enum ps_level level)
{
    switch (level) {
#if defined(__x86_64__)
        case PS_LEVEL_avx2:
            return &ps_kernels_avx2;
        case PS_LEVEL_avx512:
        case PS_LEVEL_avx512vbmi2:
            return &ps_kernels_avx512;
#endif
        default:
            return &ps_kernels_baseline;
    }
}

const ps_kernel_table *
ps_kernels(void)
{
    return ps_kernels_of(atomic_load_explicit(&level_in_force, memory_order_relaxed));
}

enum ps_level
ps_current_level(void)
{
    return atomic_load_explicit(&level_in_force, memory_order_relaxed);
}

void
ps_use_level(enum ps_level level)
{
    atomic_store(&level_in_force, level);
}
