/* Names the level baseline, for the units that any CPU can run: what the compiler's
 * default target allows. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "kernels/template.h"

#define ISA baseline
#define ISA_OF_ELEMENTS baseline
