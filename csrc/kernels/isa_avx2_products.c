/* The kernels of sparse products, for CPUs with AVX2, BMI2 and F16C; AVX-512 has them,
 * too. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS)
#include "kernels/avx2.h"
#include "kernels/instances_products.h"
#endif
