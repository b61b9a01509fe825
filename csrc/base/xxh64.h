/* XXH64: a checksum of bytes that finds what accidents do to them; it is no defence
 * against people. Written from the published description of the algorithm. */
#ifndef PS_BASE_XXH64_H
#define PS_BASE_XXH64_H

#include <stdint.h>

/* The XXH64 of bytes [nbytes], which may lie anywhere. */
uint64_t ps_xxh64(const void *bytes, int64_t nbytes, uint64_t seed);

#endif
