/* Includes TEMPLATE once per item size: pure moves need no more than that. */
#include "kernels/move_types.h"

#define T move1
#include TEMPLATE
#undef T
#define T move2
#include TEMPLATE
#undef T
#define T move4
#include TEMPLATE
#undef T
#define T move8
#include TEMPLATE
#undef T
#define T move16
#include TEMPLATE
#undef T
#undef TEMPLATE
