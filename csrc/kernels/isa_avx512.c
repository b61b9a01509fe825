/* Moves and the table, for CPUs with AVX-512 F, BW, VL and DQ, and the table of those
 * that have VBMI2 as well: the same kernels but for a few. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include "kernels/avx512.h"
#include "kernels/instances.h"

#pragma GCC target("avx512vbmi,avx512vbmi2")
#include "kernels/vbmi2.h"

const ps_kernel_table ps_kernels_avx512vbmi2 = {
#include "kernels/table.h"
};
#endif
