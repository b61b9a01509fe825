/* Which table of kernels is in force, and which algorithm tests force on the ops: the
 * process-wide choices, set at import and by tests. Both are atomic and read once a
 * call, so a test that switches them never mixes tables within a kernel; results do not
 * depend on either, which is what those tests show.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "kernels/kernels.h"

extern const ps_kernel_table ps_kernels_baseline;
#if defined(PS_HAS_LEVELS)
extern const ps_kernel_table ps_kernels_avx2;
extern const ps_kernel_table ps_kernels_avx512;
extern const ps_kernel_table ps_kernels_avx512vbmi2;
#endif

static _Atomic(enum ps_level) level_in_force = PS_LEVEL_baseline;
static _Atomic int forced_choice;

/* Tables are constants: whoever holds one may go on using it while another is put in
 * force. */
const ps_kernel_table *
ps_kernels_of(enum ps_level level)
{
    switch (level) {
#if defined(PS_HAS_LEVELS)
        case PS_LEVEL_avx2:
            return &ps_kernels_avx2;
        case PS_LEVEL_avx512:
            return &ps_kernels_avx512;
        case PS_LEVEL_avx512vbmi2:
            return &ps_kernels_avx512vbmi2;
#endif
        default:
            return &ps_kernels_baseline;
    }
}

/* The level is read anew at each use, relaxed: any order will do. */
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

/* The algorithm that a test forces, by the number that csrc/ops gives it. */
int
ps_forced_choice(void)
{
    return atomic_load_explicit(&forced_choice, memory_order_relaxed);
}

int
ps_force_choice(int choice)
{
    return atomic_exchange(&forced_choice, choice);
}
