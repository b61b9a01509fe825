/* The products of sparse matrices, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_sparse.h"
