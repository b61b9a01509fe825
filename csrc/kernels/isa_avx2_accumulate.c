/* The sums of gradients, for CPUs with AVX2, BMI2 and F16C; AVX-512 has them, too. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS) && !defined(PS_SHARED_KERNELS)
#include "kernels/avx2.h"
#include "kernels/instances_accumulate.h"
#endif
