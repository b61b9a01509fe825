/* The kernels of single elements, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_elements.h"
