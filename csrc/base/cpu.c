/* CPU levels: names and the run-time probe (contract in cpu.h). */
#include "base/cpu.h"

#include <string.h>

#define LEVEL_NAME(name) [PS_LEVEL_##name] = #name,
static const char *const level_names[PS_NUM_LEVELS] = {PS_FOR_EACH_LEVEL(LEVEL_NAME)};

const char *
ps_level_name(enum ps_level level)
{
    return level_names[level];
}

int
ps_level_named(const char *name)
{
    for (int level = 0; level < PS_NUM_LEVELS; level++) {
        if (strcmp(level_names[level], name) == 0) {
            return level;
        }
    }
    return -1;
}

bool
ps_level_available(enum ps_level level)
{
#if defined(PS_HAS_LEVELS)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq");
    switch (level) {
        case PS_LEVEL_avx2:
            return avx2;
        case PS_LEVEL_avx512:
            return avx512;
        case PS_LEVEL_avx512vbmi2:
            return avx512 && __builtin_cpu_supports("avx512vbmi") &&
                   __builtin_cpu_supports("avx512vbmi2");
        default:
            return true;
    }
#else
    return level == PS_LEVEL_baseline;
#endif
}
