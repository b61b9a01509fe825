/* The steps of pullbacks, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_pullback.h"
