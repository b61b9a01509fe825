/* Some order statistics of one column of keys, without sorting it. */
#ifndef PS_OPS_RANKS_H
#define PS_OPS_RANKS_H

#include "ops/run.h"

/* Keys of a type, none of them missing, in the order of quantile.tmpl.h. */
typedef struct {
    enum ps_dtype type;
    int64_t key_nbytes;
    char *keys;
    int64_t n;
} ps_column;

/* Put the keys of `n_ranks` ascending ranks where they would stand if the column were
 * sorted; all others are rearranged as well. The result depends on the keys and their
 * places alone. At most a fixed number of visits for each key and each halving of the
 * ranks, whatever the keys are. *unheard belongs to the pass. False: give up. */
bool ps_select_ranks(ps_run *run, const ps_column *column, const int64_t *rank,
                     int64_t n_ranks, int64_t *unheard);

#endif
