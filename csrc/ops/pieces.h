/* A scatter call made ready, and the pieces that its work is split into.
 *
 * Every algorithm ends in pieces: each is run by one thread, and no two pieces write
 * the same element, so that the order in which an element meets its values is the order
 * of the index whatever the split.
 */
#ifndef PS_OPS_PIECES_H
#define PS_OPS_PIECES_H

#include "kernels/kernels.h"
#include "ops/address.h"
#include "ops/values.h"

/* How blocks of entries are applied (ops/choose.c). */
typedef struct {
    bool uses_runs;       /* offsets repeat: keep the running value in a register */
    bool is_checked_pass; /* straight from the caller's index, checked as it is used */
    bool is_grouped;      /* entries are taken in the plan's order, group by group */
    bool is_one_list;     /* a block is the whole call */
    bool widens;          /* values of float32 are read as float64 by the kernel */
    int64_t ahead;        /* rows asked for ahead of time; 0 where the target is near */
} ps_manner;

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_scatter_call *call;
    ps_row_split split;
    ps_value_source values;
    int64_t itemsize; /* of the target */
    ps_manner manner; /* as chosen */
} ps_ready_call;

/* What one thread does: entries [first, last) (or, grouped, positions in the plan's
 * order, cut between groups), of which those that it owns by offset,
 * outer rows [outer_first, outer_last), `width` columns from `column` on. */
typedef struct {
    int64_t first, last;
    bool filters;
    int64_t low, high; /* owned offsets, where `filters` */
    int64_t outer_first, outer_last;
    int64_t column, width;
} ps_piece;

/* The piece that is the whole call. */
ps_piece ps_whole_piece(const ps_ready_call *ready);

/* Apply a list to rows: the kernel that op, type and width call for. */
void ps_apply_list(const ps_ready_call *ready, char *target, const ps_list *list,
                   const char *values, int64_t value_stride, int64_t width);

/* n entries from `first` on of a call whose address is plain, as kernels take them. */
ps_entries ps_plain_entries(const ps_scatter_call *call, const ps_manner *manner,
                            int64_t first, int64_t n, const char *values,
                            int64_t value_stride);

/* Apply entries: the kernel that op and type call for. False: one is out of bounds,
 * before which all have been applied. */
bool ps_apply_entries(const ps_scatter_call *call, const ps_manner *manner,
                      const ps_entries *entries);

/* Work memory of a piece, opened before any piece of the call writes, so that a lack of
 * memory leaves the target alone. */
typedef struct {
    ps_list_room lists;
    ps_list_room owned; /* lists after the filter */
    char *packed;       /* values of a block, or NULL */
    int64_t packed_nbytes;
    int64_t capacity; /* entries of a block */
    int64_t done;     /* entries of the piece that have been applied */
    bool is_plain;    /* the target holds no -0.0 yet */
    int64_t unheard;  /* bytes since the last look at signals */
} ps_piece_room;

/* False: no memory. To be closed in both cases. */
bool ps_open_piece_room(const ps_ready_call *ready, const ps_piece *piece,
                        ps_piece_room *room);

void ps_close_piece_room(ps_piece_room *room);

/* Run a piece, or what is left of it; failures go to the run. */
void ps_run_piece(const ps_ready_call *ready, const ps_piece *piece,
                  ps_piece_room *room);

#endif
