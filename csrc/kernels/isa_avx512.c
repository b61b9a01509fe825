/* All kernels for CPUs with AVX-512 F, BW, VL and DQ. */
#if defined(__x86_64__)
#include <immintrin.h>
#include "kernels/template.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt,f16c")
#pragma GCC target("prefer-vector-width=512")
#define ISA_HAS_AVX512
#define ISA avx512
#include "kernels/instances.h"
#endif
