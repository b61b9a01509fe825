/* The kernels of keys, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_keys.h"
