/* Deltas, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_delta.h"
