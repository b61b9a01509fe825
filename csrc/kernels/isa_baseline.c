/* Moves and the table, for any CPU: what the compiler's default target allows. */
#include "kernels/baseline.h"
#include "kernels/instances.h"
