/* A scatter that kernels can work on in place (contract in direct.h): all memory first,
 * then the pieces or the partition that choose.c decided on. Opening and running are
 * two steps so that a call of two passes (prefill, then op) has everything it needs
 * before the first of them writes.
 */
#include "ops/direct.h"

#include <stddef.h>

#include "base/scratch.h"
#include "ops/run.h"

/* One room for each piece, since each runs on a thread of its own. */
static int64_t
rooms_nbytes(const ps_direct *direct)
{
    return direct->choice.n_pieces * (int64_t)sizeof(ps_piece_room);
}

/* n_rooms counts the rooms that were begun, so that closing knows what to give back. */
static bool
open_rooms(ps_direct *direct)
{
    direct->rooms = ps_scratch_get(rooms_nbytes(direct));
    for (int i = 0; direct->rooms != NULL && i < direct->choice.n_pieces; i++) {
        direct->n_rooms++;
        if (!ps_open_piece_room(&direct->ready, &direct->choice.pieces[i],
                                &direct->rooms[i])) {
            return false;
        }
    }
    return direct->rooms != NULL;
}

/* The row axes are split, the values looked at, and ps_choose asked; then memory is
 * taken for what it chose, and for nothing else. */
ps_status
ps_open_direct(ps_scatter_call *call, enum ps_way way, ps_run *run, ps_direct *direct)
{
    ps_ready_call *const ready = &direct->ready;
    *ready = (ps_ready_call){
            .run = run, .call = call, .itemsize = call->target.itemsize};
    direct->rooms = NULL;
    direct->n_rooms = 0;
    ready->split = ps_split_rows(&call->rows, ready->itemsize, false);
    ready->values = ps_value_source_of(&call->address, &call->rows, &call->values,
                                       ready->split, call->traits.type);
    ps_choose(ready, way, &direct->choice);
    ready->manner = direct->choice.manner;
    if (ready->manner.widens) {
        ready->values.packs = false;
        ready->values.stride = ps_dtype_size[PS_f32];
    }
    const bool is_open =
            direct->choice.algorithm == PS_ALGORITHM_partition
                    ? ps_open_partition(ready, direct->choice.bins, &direct->partition)
                    : open_rooms(direct);
    return is_open ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
}

/* Also what was opened in part, whatever the status of opening it was. */
void
ps_close_direct(ps_direct *direct)
{
    if (direct->choice.algorithm == PS_ALGORITHM_partition) {
        ps_close_partition(&direct->partition);
        return;
    }
    for (int i = 0; i < direct->n_rooms; i++) {
        ps_close_piece_room(&direct->rooms[i]);
    }
    ps_scratch_put(direct->rooms, rooms_nbytes(direct));
}

/* What the pool hands to its threads: which piece is theirs, they are told by number.
 */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_direct *direct;
} piece_work;

static void
run_numbered_piece(void *context, int64_t number)
{
    ps_direct *const direct = ((piece_work *)context)->direct;
    ps_run_piece(&direct->ready, &direct->choice.pieces[number],
                 &direct->rooms[number]);
}

/* A visible target may change from here on. Pieces that a fork has left behind are run
 * again by the thread that is there: each goes on from the entry at which it stopped.
 */
ps_status
ps_run_direct(ps_direct *direct)
{
    ps_run *const run = direct->ready.run;
    run->has_written = !direct->ready.call->target.is_private;
    if (direct->choice.algorithm == PS_ALGORITHM_partition) {
        return ps_run_partition(&direct->partition);
    }
    piece_work work = {run, direct};
    PS_TRY(ps_run_chunks(run, direct->choice.n_pieces, run_numbered_piece, &work));
    /* Pieces at which threads were that a fork has left behind. */
    for (int64_t number = 0; number < direct->choice.n_pieces; number++) {
        run_numbered_piece(&work, number);
    }
    return ps_run_status(run);
}
