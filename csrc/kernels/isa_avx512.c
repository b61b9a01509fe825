/* All kernels for CPUs with AVX-512 F, BW, VL and DQ, and the table of those that have
 * VBMI2 as well: the same kernels but for a few. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include <immintrin.h>
#include "kernels/template.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt,f16c")
#pragma GCC target("prefer-vector-width=512")
#define ISA_HAS_AVX512
#define ISA_HAS_AVX2
#define ISA avx512
#include "kernels/instances.h"

#pragma GCC target("avx512vbmi,avx512vbmi2")
#include "kernels/vbmi2.h"

const ps_kernel_table ps_kernels_avx512vbmi2 = {
#include "kernels/table.h"
};
#endif
