/* Opens the target region of the level avx512: F, BW, VL and DQ. System headers come
 * first: their inline functions are not of this region. */
#include <immintrin.h>
#include "kernels/template.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt,f16c")
#pragma GCC target("prefer-vector-width=512")
#define ISA_HAS_AVX512
#define ISA_HAS_AVX2
#define ISA avx512
#if defined(PS_SHARED_KERNELS)
#define ISA_OF_ELEMENTS baseline
#include "kernels/shared.h"
#else
#define ISA_OF_ELEMENTS avx2
#endif
