/* What the two ways of softmax share: softmax_runs.c, softmax_ids.c.
 *
 * Both take blocks of entries, bring them to the type of the sums (load), subtract from
 * each the largest of its segment (terms), and take powers. They differ in how a
 * segment's entries come together.
 */
#ifndef PS_OPS_SOFTMAX_H
#define PS_OPS_SOFTMAX_H

#include "ops/ops.h"

enum {
    /* Elements that are worked on together: their blocks stay in the second cache, and
     * a block of single elements is one of the tree that sums of runs have. */
    PS_SOFTMAX_BLOCK = 4096
};

/* A call made ready; the outer part at hand. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_softmax_call *call;
    const char *values;
    char *out;
    int64_t capacity;                           /* entries of a block */
    int64_t n_items;                            /* elements of a block */
    int64_t raw_nbytes, row_nbytes, out_nbytes; /* of a row: values, sums, result */
    bool settles; /* infinite tops count as 0, since infinities have a logarithm */
    _Alignas(16) char initial[16]; /* of the sums' type; -inf where there is none */
} ps_softmax_job;

/* A block on its way. */
typedef struct {
    char *block; /* all of the memory */
    int64_t nbytes;
    int64_t *row;        /* the segment of each entry */
    int64_t *number;     /* of each gathered row */
    char *raw;           /* gathered rows */
    char *value, *power; /* rows of the sums' type */
    char *extra;
} ps_softmax_room;

/* Memory for a block, and `extra` bytes beside it. False: there is none. */
bool ps_softmax_open(const ps_softmax_job *job, int64_t extra, ps_softmax_room *room);

void ps_softmax_close(ps_softmax_room *room);

/* Entries [first, first + n) as rows of the sums' type, where they lie or in
 * room->value; NULL: a row that `gather` names does not exist. */
const char *ps_softmax_load(const ps_softmax_job *job, const ps_softmax_room *room,
                            int64_t first, int64_t n);

/* room->value = x - the top of its segment, which room->row says; n rows. */
void ps_softmax_terms(const ps_softmax_job *job, const ps_softmax_room *room,
                      const char *x, const char *top, int64_t n);

/* power = e^(room->value), n rows. */
void ps_softmax_powers(const ps_softmax_job *job, const ps_softmax_room *room,
                       char *power, int64_t n);

/* The result of entries [first, first + n) from `power`, or room->value for the
 * logarithm, and the sums of their segments, or the logarithms of these. */
void ps_softmax_write(const ps_softmax_job *job, const ps_softmax_room *room,
                      const char *power, const char *sum, int64_t first, int64_t n);

/* n elements of the sums' type become `initial`, or e^(initial - top). */
void ps_softmax_fill(const ps_softmax_job *job, char *to, int64_t n);
void ps_softmax_begin(const ps_softmax_job *job, char *sum, const char *top, int64_t n);

/* n sums become what the form wants of them: the logarithm, and for logsumexp, whose
 * `to` is of the result's dtype, the top added. `to` may be `sum` where it is not. */
void ps_softmax_end(const ps_softmax_job *job, char *to, char *sum, const char *top,
                    int64_t n);

/* One outer part each. */
ps_status ps_softmax_runs(ps_softmax_job *job);
ps_status ps_softmax_ids(ps_softmax_job *job);

#endif
