/* XXH64 (contract in xxh64.h): four sums over stripes of 32 bytes, which meet, then the
 * bytes that are left, then a last mixing. 4 bytes a cycle, which its multiplications
 * allow at most. */
#include "base/xxh64.h"

static const uint64_t prime[5] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f,
                                  0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                                  0x27d4eb2f165667c5};

static inline uint64_t
turned(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* Numbers are little-endian on every machine. */
static inline uint64_t
number_at(const unsigned char *bytes, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++) {
        x |= (uint64_t)bytes[i] << (8 * i);
    }
    return x;
}

static inline uint64_t
step(uint64_t sum, uint64_t x)
{
    return turned(sum + x * prime[1], 31) * prime[0];
}

/* The whole stripes, from *bytes on, which goes behind them. */
static uint64_t
sum_stripes(const unsigned char **bytes, int64_t n, uint64_t seed)
{
    uint64_t sum[4] = {seed + prime[0] + prime[1], seed + prime[1], seed,
                       seed - prime[0]};
    for (int64_t i = 0; i < n; i++, *bytes += 32) {
        for (int lane = 0; lane < 4; lane++) {
            sum[lane] = step(sum[lane], number_at(*bytes + 8 * lane, 8));
        }
    }
    uint64_t hash = turned(sum[0], 1) + turned(sum[1], 7) + turned(sum[2], 12) +
                    turned(sum[3], 18);
    for (int lane = 0; lane < 4; lane++) {
        hash = (hash ^ step(0, sum[lane])) * prime[0] + prime[3];
    }
    return hash;
}

uint64_t
ps_xxh64(const void *start, int64_t nbytes, uint64_t seed)
{
    const unsigned char *bytes = start;
    uint64_t hash =
            nbytes >= 32 ? sum_stripes(&bytes, nbytes / 32, seed) : seed + prime[4];
    hash += (uint64_t)nbytes;
    int64_t left = nbytes % 32;
    for (; left >= 8; left -= 8, bytes += 8) {
        hash ^= step(0, number_at(bytes, 8));
        hash = turned(hash, 27) * prime[0] + prime[3];
    }
    if (left >= 4) {
        hash ^= number_at(bytes, 4) * prime[0];
        hash = turned(hash, 23) * prime[1] + prime[2];
        left -= 4;
        bytes += 4;
    }
    for (; left > 0; left--, bytes++) {
        hash ^= *bytes * prime[4];
        hash = turned(hash, 11) * prime[0];
    }
    hash = (hash ^ hash >> 33) * prime[1];
    hash = (hash ^ hash >> 29) * prime[2];
    return hash ^ hash >> 32;
}
