/* The kernels that combine under a mask, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_masked.h"
