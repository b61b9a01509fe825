/* A look at some hundred entries of an index, by which ps_choose decides. */
#ifndef PS_OPS_SAMPLE_H
#define PS_OPS_SAMPLE_H

#include "ops/ops.h"

enum {
    PS_SAMPLE = 256,
    /* Entries that an index has at least where it is looked at. */
    PS_SAMPLE_FROM = 16
};

/* What a look at the index showed. */
typedef struct {
    int64_t n;
    int64_t offset[PS_SAMPLE];
    int64_t repeats; /* neighbours that are equal */
    int64_t near; /* neighbours so near that the hardware fetches what lies between */
    /* By ps_summarise, which puts the offsets in ascending order: */
    int64_t hottest; /* samples that share the most frequent offset */
} ps_sample;

/* False: there is nothing to see, or an index is bad. */
bool ps_look(const ps_address *address, ps_sample *seen);

void ps_summarise(ps_sample *seen);

#endif
