/* Levels of the CPU for which kernels are compiled, and which of them can run here. */
#ifndef PS_BASE_CPU_H
#define PS_BASE_CPU_H

#include <stdbool.h>

/* Levels beyond the baseline exist on x86-64. A build for a single use, such as an
 * instrumented one, may leave them out: their kernels are the same sources. */
#if defined(__x86_64__) && !defined(PS_BASELINE_ONLY)
#define PS_HAS_LEVELS
#endif

/* In ascending order: a machine that has a level has all below it. avx512vbmi2 uses the
 * kernels of avx512 with a few overrides. */
#define PS_FOR_EACH_LEVEL(X) X(baseline) X(avx2) X(avx512) X(avx512vbmi2)

#define PS_ENUM_LEVEL(name) PS_LEVEL_##name,
enum ps_level {
    PS_FOR_EACH_LEVEL(PS_ENUM_LEVEL) PS_NUM_LEVELS
};

const char *ps_level_name(enum ps_level level);

/* Can this machine run `level`? */
bool ps_level_available(enum ps_level level);

/* The level called `name`, or -1. */
int ps_level_named(const char *name);

#endif
