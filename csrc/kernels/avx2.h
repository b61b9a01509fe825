/* Opens the target region of the level avx2, for the units that are compiled for it.
 * System headers come first: their inline functions are not of this region. */
#include <immintrin.h>
#include "kernels/template.h"

#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt,f16c")
#define ISA_HAS_AVX2
#define ISA avx2
#if defined(PS_SHARED_KERNELS)
#define ISA_OF_ELEMENTS baseline
#include "kernels/shared.h"
#else
#define ISA_OF_ELEMENTS avx2
#endif
