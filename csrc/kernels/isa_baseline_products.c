/* The kernels of sparse products, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_products.h"
