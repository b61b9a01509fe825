/* All kernels for any CPU: what the compiler's default target allows. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "kernels/template.h"

#define ISA baseline
#include "kernels/instances.h"
