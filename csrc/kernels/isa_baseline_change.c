/* The statistics of changes, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_change.h"
