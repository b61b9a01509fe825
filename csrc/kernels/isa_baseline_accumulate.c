/* The sums of gradients, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_accumulate.h"
