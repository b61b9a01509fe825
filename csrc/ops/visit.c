/* What entries say of their groups beside sums: where extremes are, and squared
 * distances from a centre (contract in ops.h).
 *
 * One thread walks the entries in blocks of neighbours: by ids from first to last, by
 * runs segment after segment, as many to a block as follow one another. A block is a
 * copy of the groups, checked, and rows of the type that kernels work in, where they
 * lie or packed; kernels check groups again as they read them, which leaves out those
 * that are -1. Where a mask chooses elements, a block of rows becomes one of single
 * elements whose groups are the elements of the results. Splitting the groups among
 * threads would have each of them read all ids; up to a thousand groups the passes take
 * 1 ns an entry, which leaves nothing to win.
 */
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/ops.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Entries of a block; their groups are 16 KiB. */
    BLOCK = 2048,
    /* Elements of a block at most. */
    STRETCH = 1 << 19,
    /* Segments whose limits are copied at a time. */
    SEGMENTS = 256
};

/* Visit n rows of `width`, of groups index[i]; the first is entry number `first`. */
typedef void (*visit_fn)(const ps_visit_call *call, const int64_t *index,
                         const char *rows, int64_t first, int64_t n, int64_t width);

/* A block on its way. */
typedef struct {
    ps_visit_call *call;
    ps_run *run;
    visit_fn visit;
    int64_t capacity; /* entries */
    int64_t first, n; /* the entries that it holds */
    int64_t *group;   /* of each, -1: none */
    int64_t *element; /* the same of each element, under a mask of elements */
    char *packed;
    char *block;
    int64_t nbytes;
    int64_t unheard; /* bytes since the last look at signals */
} visiting;

/* Places of extremes. Under a mask of elements there are `width` times as many groups
 * of one element each, which lie in the results as rows of `width` do. */
static void
visit_find(const ps_visit_call *call, const int64_t *index, const char *rows,
           int64_t first, int64_t n, int64_t width)
{
    const int64_t size = call->n_groups * (call->width / ps_max(1, width));
    ps_kernels()->find_checked[call->op][call->type](true, call->result, call->place,
                                                     size, (const char *)index, rows,
                                                     first, n, width);
}

/* Squared distances, into the same layout. */
static void
visit_deviate(const ps_visit_call *call, const int64_t *index, const char *rows,
              int64_t first, int64_t n, int64_t width)
{
    const int64_t size = call->n_groups * (call->width / ps_max(1, width));
    (void)first;
    ps_kernels()->deviate_checked[call->type](true, call->result, call->centre, size,
                                              (const char *)index, rows, n, width);
}

/* Where row number `entry` begins. */
static const char *
row_of(const ps_visit_call *call, int64_t entry)
{
    return call->values +
           (call->offset != NULL ? call->offset[entry] : entry * call->row_stride);
}

/* The rows of the block as kernels want them: n of `width` elements of the type that is
 * worked in, contiguous. */
static const char *
rows_of_block(const visiting *at)
{
    const ps_visit_call *const call = at->call;
    const int64_t nbytes = call->width * ps_dtype_size[call->type];
    const bool is_even = call->offset == NULL;
    if (is_even && call->dtype == call->type && !call->swapped && call->aligned &&
        call->row_stride == nbytes) {
        return row_of(call, at->first);
    }
    if (is_even && call->width == 1) {
        ps_convert(call->type, at->packed, call->dtype, call->itemsize, call->swapped,
                   row_of(call, at->first), call->row_stride, at->n);
        return at->packed;
    }
    for (int64_t i = 0; i < at->n; i++) {
        ps_convert(call->type, at->packed + i * nbytes, call->dtype, call->itemsize,
                   call->swapped, row_of(call, at->first + i), call->itemsize,
                   call->width);
    }
    return at->packed;
}

/* Groups of elements; those that the mask leaves out have none. */
static void
spread_groups(const visiting *at)
{
    const ps_visit_call *const call = at->call;
    const int64_t width = call->width;
    for (int64_t i = 0; i < at->n; i++) {
        const char *const mask = call->mask + (at->first + i) * call->mask_entry;
        const int64_t group = at->group[i];
        for (int64_t j = 0; j < width; j++) {
            at->element[i * width + j] =
                    group >= 0 && mask[j * call->mask_element] ? group * width + j : -1;
        }
    }
}

/* Visit what the block holds, and empty it. False: give up. */
static bool
flush(visiting *at)
{
    const ps_visit_call *const call = at->call;
    const int64_t n = at->n, width = call->width;
    if (n == 0) {
        return true;
    }
    const char *const rows = rows_of_block(at);
    if (at->element != NULL) {
        spread_groups(at);
        at->visit(call, at->element, rows, at->first * width, n * width, 1);
    }
    else {
        at->visit(call, at->group, rows, at->first, n, width);
    }
    at->n = 0;
    return !ps_run_stops_after(at->run, &at->unheard,
                               n * ps_max(PS_LINE_BYTES, width * 8));
}

/* ---- by ids ---- */

/* Entries from first to last. What the mask of entries leaves out is not looked at. */
static ps_status
visit_ids(visiting *at)
{
    ps_visit_call *const call = at->call;
    const ps_index *const ids = &call->ids;
    const bool has_none = call->n_groups == 0 && call->mode != PS_MODE_DROP;
    const bool refuses = ps_mode_refuses(call->mode) || has_none;
    const enum ps_mode mode = refuses ? PS_MODE_DROP : call->mode;
    const bool has_names = call->mask != NULL && call->mask_element == 0;
    for (int64_t first = 0; first < call->n; first += at->capacity) {
        at->first = first;
        at->n = ps_min(at->capacity, call->n - first);
        int64_t n_bad = ps_kernels()->rows[ids->type](
                mode, at->group, ids->data + first * ids->strides[0], at->n,
                ids->strides[0], call->n_groups);
        for (int64_t i = 0; has_names && i < at->n; i++) {
            if (!call->mask[(first + i) * call->mask_entry]) {
                n_bad -= at->group[i] < 0;
                at->group[i] = -1;
            }
        }
        call->n_bad += refuses ? n_bad : 0;
        if (!flush(at)) {
            return ps_run_status(at->run);
        }
    }
    return PS_SUCCESS;
}

/* ---- by runs ---- */

/* Add n entries from `entry` on, of segment s, whose group is its number. False: give
 * up. */
static bool
add_entries(visiting *at, int64_t s, int64_t entry, int64_t n)
{
    const ps_visit_call *const call = at->call;
    const bool has_names = call->mask != NULL && call->mask_element == 0;
    while (n > 0) {
        const bool is_next = at->n == 0 || at->first + at->n == entry;
        if ((at->n == at->capacity || !is_next) && !flush(at)) {
            return false;
        }
        at->first = at->n == 0 ? entry : at->first;
        const int64_t count = ps_min(n, at->capacity - at->n);
        for (int64_t i = 0; i < count; i++) {
            const bool is_in = !has_names || call->mask[(entry + i) * call->mask_entry];
            at->group[at->n + i] = is_in ? s : -1;
        }
        at->n += count;
        entry += count;
        n -= count;
    }
    return true;
}

/* Segments in order, whose limits are copied and checked some hundred at a time. */
static ps_status
visit_runs(visiting *at)
{
    ps_visit_call *const call = at->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const from = &call->start, *const to = &call->stop;
    int64_t start[SEGMENTS], stop[SEGMENTS];
    for (int64_t first = 0; first < call->n_groups; first += SEGMENTS) {
        const int64_t n = ps_min(SEGMENTS, call->n_groups - first);
        int64_t n_bad = kernels->rows[from->type](PS_MODE_DROP, start,
                                                  from->data + first * from->strides[0],
                                                  n, from->strides[0], call->n + 1);
        n_bad += kernels->rows[to->type](PS_MODE_DROP, stop,
                                         to->data + first * to->strides[0], n,
                                         to->strides[0], call->n + 1);
        for (int64_t i = 0; i < n; i++) {
            n_bad += start[i] > stop[i];
        }
        if (n_bad > 0) {
            return ps_fail(PS_INDEX_BAD);
        }
        for (int64_t i = 0; i < n; i++) {
            if (!add_entries(at, first + i, start[i], stop[i] - start[i])) {
                return ps_run_status(at->run);
            }
        }
    }
    return flush(at) ? PS_SUCCESS : ps_run_status(at->run);
}

/* ---- the ops ---- */

/* Memory for one block, and all blocks. */
static ps_status
visit_all(ps_visit_call *call, ps_run *run, visit_fn visit)
{
    const bool is_fine = call->mask != NULL && call->mask_element != 0;
    const int64_t width = ps_max(1, call->width);
    visiting at = {.call = call, .run = run, .visit = visit};
    at.capacity = ps_max(1, ps_min(BLOCK, STRETCH / width));
    const int64_t elements = at.capacity * width;
    at.nbytes = at.capacity * 8 + (is_fine ? elements * 8 : 0) +
                elements * ps_dtype_size[call->type];
    at.block = ps_scratch_get(at.nbytes);
    if (at.block == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    at.group = (int64_t *)(void *)at.block;
    at.element = is_fine ? at.group + at.capacity : NULL;
    at.packed = at.block + at.capacity * 8 + (is_fine ? elements * 8 : 0);
    const ps_status status = call->ids.data != NULL ? visit_ids(&at) : visit_runs(&at);
    ps_scratch_put(at.block, at.nbytes);
    return status;
}

ps_status
ps_find(void *argument, ps_run *run)
{
    ps_visit_call *const call = argument;
    const int64_t places = call->n_groups * call->width;
    PS_TRY(ps_run_fill(run, call->place, 0xff, places * (int64_t)sizeof(int64_t)));
    PS_TRY(visit_all(call, run, visit_find));
    const bool is_fine = call->mask != NULL && call->mask_element != 0;
    for (int64_t i = 0; is_fine && i < places; i++) { /* from elements to entries */
        call->place[i] = call->place[i] < 0 ? -1 : call->place[i] / call->width;
    }
    return PS_SUCCESS;
}

ps_status
ps_deviate(void *argument, ps_run *run)
{
    ps_visit_call *const call = argument;
    return visit_all(call, run, visit_deviate);
}
