/* Bins and histograms, for any CPU. */
#include "kernels/baseline.h"
#include "kernels/instances_bins.h"
