/* The kernels that give each entry something back, for CPUs with AVX2, BMI2 and F16C.
 */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS) && !defined(PS_SHARED_KERNELS)
#include "kernels/avx2.h"
#include "kernels/instances_entries.h"
#endif
