/* Colours for the columns of a pattern: greedy, at distance two.
 *
 * Columns that share no row may share a direction of differentiation. One after the
 * other, in the order that the caller gives (largest degree first needs few colours),
 * each column takes the least colour that none of the columns in its rows has. A column
 * marks the colours that it may not have with its own number, so that no mark is ever
 * cleared. Time is the sum over rows of the square of their entries; memory is two
 * numbers for each column.
 */
#include "ops/coloring.h"

#include <stddef.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"

/* Mark with `column` every colour in its rows; `unheard` counts bytes for signals. */
static bool
mark_neighbours(const ps_coloring_call *call, int64_t column, int64_t *mark,
                ps_run *run, int64_t *unheard)
{
    for (int64_t i = call->col_edge[column]; i < call->col_edge[column + 1]; i++) {
        const int64_t row = call->row[i];
        const int64_t first = call->row_edge[row], last = call->row_edge[row + 1];
        for (int64_t j = first; j < last; j++) {
            const int64_t color = call->color[call->col[j]];
            if (color >= 0) {
                mark[color] = column;
            }
        }
        if (ps_run_stops_after(run, unheard, (last - first + 1) * PS_LINE_BYTES)) {
            return false;
        }
    }
    return true;
}

/* The least colour that `column` has not marked; its neighbours leave one free. */
static int64_t
least_free(const int64_t *mark, int64_t column)
{
    int64_t color = 0;
    while (mark[color] == column) {
        color++;
    }
    return color;
}

/* A column has at most n_cols - 1 neighbours, so one of n_cols colours is free. */
static ps_status
color_in_order(ps_coloring_call *call, int64_t *mark, ps_run *run)
{
    int64_t unheard = 0;
    for (int64_t i = 0; i < call->n_cols; i++) {
        call->color[i] = mark[i] = -1;
    }
    for (int64_t i = 0; i < call->n_cols; i++) {
        const int64_t column = call->order[i];
        if (!mark_neighbours(call, column, mark, run, &unheard)) {
            return ps_run_status(run);
        }
        const int64_t color = least_free(mark, column);
        call->color[column] = color;
        call->colors = ps_max(call->colors, color + 1);
    }
    return PS_SUCCESS;
}

ps_status
ps_color_columns(void *argument, ps_run *run)
{
    ps_coloring_call *const call = argument;
    int64_t nbytes;
    if (!ps_multiply(call->n_cols, (int64_t)sizeof(int64_t), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    call->colors = 0;
    int64_t *const mark = ps_scratch_get(nbytes);
    if (mark == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    const ps_status status = color_in_order(call, mark, run);
    ps_scratch_put(mark, nbytes);
    return status;
}
