/* Selection (contract in ranks.h): a quicksort that only goes where a rank is wanted.
 *
 * A range with wanted ranks is parted by a pivot from its own keys; keys that equal the
 * least one are put aside together, so that few distinct keys cost few passes (Peters
 * 2021). A range whose pivots have been bad too often takes the middle of the middles
 * of fives (Blum and others 1973): worst cases stay linear. All loops over keys are
 * kernels; here is only which range comes next. Ranges are parted in stretches, between
 * which signals are heard.
 */
#include "ops/ranks.h"

#include <stddef.h>

#include "base/sizes.h"
#include "kernels/kernels.h"

enum {
    /* A pivot is bad that leaves more than 7/8 of a range on one side; so many a range
     * and what comes of it may have: one in 3,000 random columns has more. */
    BAD_PIVOTS = 6,
    /* The larger half waits while the smaller is worked on, so that at most one range
     * waits for each halving of the column. */
    MOST_RANGES = 64
};

/* Keys [first, last) and the wanted ranks among them. */
typedef struct {
    int64_t first, last;
    const int64_t *rank;
    int64_t n_ranks;
    int spare; /* bad pivots that it may still have */
} range;

/* Where key i is. */
static char *
key_at(const ps_column *column, int64_t i)
{
    return column->keys + i * column->key_nbytes;
}

/* The part of r from `first` up to `last`, with its ranks. */
static range
part_of(const range *r, int64_t first, int64_t last, int spare)
{
    range part = {first, last, r->rank, 0, spare};
    const int64_t *const end = r->rank + r->n_ranks;
    while (part.rank < end && *part.rank < first) {
        part.rank++;
    }
    while (part.rank + part.n_ranks < end && part.rank[part.n_ranks] < last) {
        part.n_ranks++;
    }
    return part;
}

/* Part [first, last) by the pivot; *border is where those begin that are not below it.
 * False: give up. */
static bool
split_range(ps_run *run, const ps_column *column, const range *r, ps_split *split,
            bool with_equals, int64_t *border, int64_t *unheard)
{
    const int64_t n = r->last - r->first;
    const int64_t stretch = PS_LISTEN_BYTES / column->key_nbytes;
    split->below = split->done = 0;
    while (split->done < n) {
        const int64_t count = ps_min(stretch, n - split->done);
        ps_kernels()->quantile_split[column->type](key_at(column, r->first), split,
                                                   count, with_equals);
        if (ps_run_stops_after(run, unheard, 2 * count * column->key_nbytes)) {
            return false;
        }
    }
    *border = r->first + split->below;
    return true;
}

static bool select_in(ps_run *run, const ps_column *column, range whole,
                      int64_t *unheard);

/* A pivot among the keys of r. False: give up. */
static bool
choose_pivot(ps_run *run, const ps_column *column, const range *r, char *pivot,
             int64_t *unheard)
{
    char *const keys = key_at(column, r->first);
    const int64_t n = r->last - r->first;
    if (r->spare > 0) {
        ps_kernels()->quantile_pivot[column->type](keys, n, pivot);
        return true;
    }
    const int64_t n_fives = ps_kernels()->quantile_fives[column->type](keys, n);
    const int64_t middle = r->first + n_fives / 2;
    const range fives = {r->first, r->first + n_fives, &middle, 1, 0};
    if (!select_in(run, column, fives, unheard)) {
        return false;
    }
    for (int64_t i = 0; i < column->key_nbytes; i++) {
        pivot[i] = key_at(column, middle)[i];
    }
    return true;
}

/* Part r; it becomes the smaller part that has wanted ranks, *other the larger one, or
 * what has none. False: give up. */
static bool
part_range(ps_run *run, const ps_column *column, range *r, range *other,
           int64_t *unheard)
{
    ps_split split;
    int64_t border;
    *other = (range){.n_ranks = 0};
    if (!choose_pivot(run, column, r, split.pivot, unheard) ||
        !split_range(run, column, r, &split, false, &border, unheard)) {
        return false;
    }
    if (border == r->first) { /* the pivot is the least: its equals are in place */
        if (!split_range(run, column, r, &split, true, &border, unheard)) {
            return false;
        }
        const int64_t before = r->last - r->first;
        const bool is_bad = r->spare > 0 && r->last - border > before - before / 8;
        *r = part_of(r, border, r->last, r->spare - is_bad);
        return true;
    }
    const int64_t n = r->last - r->first;
    const int64_t larger = ps_max(border - r->first, r->last - border);
    const int spare = r->spare - (r->spare > 0 && larger > n - n / 8);
    const range low = part_of(r, r->first, border, spare);
    const range high = part_of(r, border, r->last, spare);
    const bool takes_low = high.n_ranks == 0 ||
                           (low.n_ranks > 0 && border - r->first <= r->last - border);
    *r = takes_low ? low : high;
    *other = takes_low ? high : low;
    return true;
}

/* The ranks of `whole`, range by range. False: give up. */
static bool
select_in(ps_run *run, const ps_column *column, range whole, int64_t *unheard)
{
    range waiting[MOST_RANGES];
    int n_waiting = 0;
    for (range r = whole;; r = waiting[--n_waiting]) {
        while (r.n_ranks > 0 && r.last - r.first > PS_FEW_KEYS) {
            range other;
            if (!part_range(run, column, &r, &other, unheard)) {
                return false;
            }
            if (other.n_ranks > 0) {
                waiting[n_waiting++] = other;
            }
        }
        if (r.n_ranks > 0) {
            ps_kernels()->quantile_sort[column->type](key_at(column, r.first),
                                                      r.last - r.first);
        }
        if (n_waiting == 0) {
            return true;
        }
    }
}

bool
ps_select_ranks(ps_run *run, const ps_column *column, const int64_t *rank,
                int64_t n_ranks, int64_t *unheard)
{
    const range whole = {0, column->n, rank, n_ranks, BAD_PIVOTS};
    return select_in(run, column, whole, unheard);
}
