/* What products of a container keep (contract in transpose.h).
 *
 * A matrix that is multiplied once should not pay for a sort and its memory; one that
 * is multiplied often should. So the second product of a cell makes what the later ones
 * use: it costs at most about as much as the products that it did not speed up.
 *
 * What is kept is counted by its users, since one thread may use it while another,
 * whose arrays have changed, throws it out of the cell.
 */
#include "python/transpose.h"

typedef struct ps_kept {
    ps_row_order turned;
    int64_t users;
} kept_entries;

struct ps_cell {
    int64_t users;
    bool was_used; /* by a product that kept nothing */
    kept_entries *kept;
};

static void
drop_kept(kept_entries *kept)
{
    if (kept != NULL && --kept->users == 0) {
        ps_close_row_order(&kept->turned);
        PyMem_Free(kept);
    }
}

ps_cell *
ps_hold_cell(ps_cell **cell)
{
    if (*cell == NULL) {
        *cell = PyMem_Calloc(1, sizeof(**cell));
        if (*cell == NULL) {
            return NULL;
        }
        (*cell)->users = 1;
    }
    (*cell)->users++;
    return *cell;
}

void
ps_drop_cell(ps_cell *cell)
{
    if (cell != NULL && --cell->users == 0) {
        drop_kept(cell->kept);
        PyMem_Free(cell);
    }
}

int64_t
ps_cell_bytes(const ps_cell *cell)
{
    return cell != NULL && cell->kept != NULL ? ps_row_order_bytes(&cell->kept->turned)
                                              : 0;
}

bool
ps_open_keeper(ps_cell **at, ps_keeper *keeper)
{
    ps_cell *const cell = ps_hold_cell(at);
    *keeper = (ps_keeper){.cell = cell};
    if (cell == NULL || (cell->kept == NULL && !cell->was_used)) {
        if (cell != NULL) {
            cell->was_used = true;
        }
        return false;
    }
    keeper->keeping.makes = cell->kept == NULL;
    keeper->kept =
            cell->kept != NULL ? cell->kept : PyMem_Calloc(1, sizeof(*keeper->kept));
    if (keeper->kept == NULL) {
        return false;
    }
    keeper->kept->users++;
    keeper->keeping.turned = &keeper->kept->turned;
    return true;
}

/* Another thread may have been here meanwhile. */
void
ps_close_keeper(ps_keeper *keeper)
{
    ps_cell *const cell = keeper->cell;
    kept_entries *const kept = keeper->kept;
    if (keeper->keeping.is_made && cell->kept == NULL) {
        cell->kept = kept;
        kept->users++;
    }
    else if (keeper->keeping.is_stale && cell->kept == kept) {
        cell->kept = NULL;
        cell->was_used = false;
        drop_kept(kept);
    }
    drop_kept(kept);
    ps_drop_cell(cell);
    *keeper = (ps_keeper){0};
}
