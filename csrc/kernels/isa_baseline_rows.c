/* The kernels that combine rows, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_rows.h"
