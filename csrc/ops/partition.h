/* The scatter of large targets by a stable partition. */
#ifndef PS_OPS_PARTITION_H
#define PS_OPS_PARTITION_H

#include "ops/choose.h"

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_ready_call *ready;
    ps_bins bins;
    int64_t first, last; /* entries of the segment at work */
    int64_t segment;     /* entries of a segment at most */
    int n_parts;
    int64_t payload;     /* bytes carried beside an offset */
    int64_t *cursor;     /* [n_parts][n_bins]: counts, then where the next pair goes */
    int64_t *stop;       /* [n_parts][n_bins]: where the cursor has to end */
    int64_t *start;      /* [n_bins + 1]: where a bin starts */
    uint32_t *offset;    /* within a bin: of bytes */
    char *carried;       /* values, or source numbers as uint32_t; records of a row and
                          * its value where is_direct */
    ps_list_room *rooms; /* [n_groups]; lists of parts and of groups */
    int64_t n_groups, n_rooms;
    bool is_direct; /* elements, straight from an index that is plain: no lists */
    int row_shift;  /* rows of a bin then, as a power of two */
    char *block;
    int64_t nbytes;
} ps_partition;

/* Work memory for a call whose choice says the bins; false: none. To be closed in both
 * cases. */
bool ps_open_partition(const ps_ready_call *ready, ps_bins bins, ps_partition *work);

/* Run the call. */
ps_status ps_run_partition(ps_partition *work);

void ps_close_partition(ps_partition *work);

#endif
