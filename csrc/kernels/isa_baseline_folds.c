/* The kernels that fold entries or visit their groups, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_folds.h"
