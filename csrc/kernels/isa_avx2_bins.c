/* Bins and histograms, for CPUs with AVX2, BMI2 and F16C. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include "kernels/avx2.h"
#include "kernels/instances_bins.h"
#endif
