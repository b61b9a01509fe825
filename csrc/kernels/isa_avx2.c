/* All kernels for CPUs with AVX2, BMI2 and F16C. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include <immintrin.h>
#include "kernels/template.h"

#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt,f16c")
#define ISA_HAS_AVX2
#define ISA avx2
#include "kernels/instances.h"
#endif
