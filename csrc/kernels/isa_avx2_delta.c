/* Deltas, for CPUs with AVX2 and BMI2. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include "kernels/avx2.h"
#include "kernels/instances_delta.h"
#endif
