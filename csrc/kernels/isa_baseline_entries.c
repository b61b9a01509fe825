/* The kernels that give each entry something back, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_entries.h"
