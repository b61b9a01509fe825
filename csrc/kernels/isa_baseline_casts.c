/* The casts, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_casts.h"
