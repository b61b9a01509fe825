/* The products of sparse matrices, for CPUs with AVX-512. */
#include "base/cpu.h"
#if defined(PS_HAS_LEVELS) && !defined(PS_SHARED_KERNELS)
#include "kernels/avx512.h"
#include "kernels/instances_sparse.h"
#endif
