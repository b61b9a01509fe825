/* Softmax by ids, in any order: maxima and sums are scatters, from first to last
 * (contract in softmax.h).
 *
 * Tops and sums are tables with a row for each segment. Powers are made by all threads
 * and then scattered on the sums, so that the order of every sum is that of the
 * entries. Softmax keeps them for the quotient, in the result where that has the sums'
 * type: to make them again would cost a third of the call. The other forms need them
 * for their sums alone, and take entries a stretch at a time.
 * The first scatter finds what is out of bounds; later passes check what they copy.
 * Where there are far more segments than entries, those that have some are numbered
 * first, so that millions of others cost no more than their share of the result.
 */
#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/group.h"
#include "ops/run.h"
#include "ops/softmax.h"
#include "ops/values.h"

enum {
    /* Elements of a chunk, for one thread: 0.1 ms of work. */
    CHUNK_ITEMS = 16 << 10,
    /* Chunks of a stretch: its powers fit into an outer cache. */
    STRETCH_CHUNKS = 8,
    /* Tables of so many segments, or of less than so many for each entry, are filled: a
     * sort of the ids costs as much where there are about five for each. */
    FEW_FROM = 4096,
    FEW_ENTRIES = 8
};

/* What a pass does with the entries of a stretch. */
enum step {
    LOAD,   /* copies them, as the sums' type, for the search for tops */
    POWERS, /* makes their powers */
    WRITE   /* makes their results */
};

typedef struct {
    ps_softmax_job job; /* first: it begins with the run */
    char *top, *sum;    /* of each segment */
    char *work;         /* copies or powers of a stretch */
    bool keeps;         /* `work` holds all of them, until they are divided */
    int64_t chunk;      /* entries of one */
    enum step step;
    int64_t first, n; /* the stretch */
} ready_ids;

/* The segments of entries [first, first + n), copied and checked in the copy. The first
 * scatter has found all of them in bounds; what is not so now, another thread wrote. */
static bool
read_ids(const ready_ids *ready, const ps_softmax_room *room, int64_t first, int64_t n)
{
    const ps_index *const ids = &ready->job.call->ids;
    const int64_t stride = ids->strides[0];
    return ps_kernels()->rows[ids->type](PS_MODE_DROP, room->row,
                                         ids->data + first * stride, n, stride,
                                         ids->size) == 0;
}

/* One step for a block of the stretch. The terms of a logarithm are made again for the
 * results, since they cost less than the memory that would keep them. */
static enum ps_code
work_block(const ready_ids *ready, const ps_softmax_room *room, int64_t first,
           int64_t n)
{
    const ps_softmax_job *const job = &ready->job;
    const bool is_done = ready->step == WRITE && ready->keeps;
    const int64_t offset = (first - ready->first) * job->row_nbytes;
    char *const work =
            ready->step != WRITE || ready->keeps ? ready->work + offset : NULL;
    if (ready->step != LOAD && !read_ids(ready, room, first, n)) {
        return PS_INDEX_CHANGED;
    }
    const char *const x = is_done ? work : ps_softmax_load(job, room, first, n);
    if (x == NULL) {
        return PS_INDEX_BAD;
    }
    if (ready->step == LOAD) {
        memcpy(work, x, (size_t)(n * job->row_nbytes));
        return PS_OK;
    }
    if (!is_done) {
        ps_softmax_terms(job, room, x, ready->top, n);
    }
    if (ready->step == POWERS) {
        ps_softmax_powers(job, room, work, n);
        return PS_OK;
    }
    ps_softmax_write(job, room, work, ready->sum, first, n);
    return PS_OK;
}

/* A chunk has memory of its own, and notes its failure for all. */
static void
run_chunk(void *context, int64_t chunk)
{
    const ready_ids *const ready = context;
    const ps_softmax_job *const job = &ready->job;
    const int64_t begin = ready->first + chunk * ready->chunk;
    const int64_t end = ps_min(ready->first + ready->n, begin + ready->chunk);
    ps_softmax_room room;
    if (ps_run_stops(job->run)) {
        return;
    }
    enum ps_code code = PS_NO_MEMORY;
    if (ps_softmax_open(job, 0, &room)) {
        code = PS_OK;
        for (int64_t i = begin; i < end && code == PS_OK; i += job->capacity) {
            code = work_block(ready, &room, i, ps_min(job->capacity, end - i));
        }
        ps_softmax_close(&room);
    }
    if (code != PS_OK) {
        ps_run_fail(job->run, code);
    }
}

/* One step for entries [first, first + n), on all threads. Chunks do not depend on how
 * many there are, and no two write to the same element. */
static ps_status
pass(ready_ids *ready, enum step step, int64_t first, int64_t n)
{
    ready->step = step;
    ready->first = first;
    ready->n = n;
    return ps_run_chunks(ready->job.run, ps_ceil_div(n, ready->chunk), run_chunk,
                         ready);
}

/* table[id] = table[id] op value, for entries [first, first + n). The values, which a
 * scatter only reads, are const here and not there. */
static ps_status
scatter(const ready_ids *ready, enum ps_op op, char *table, const char *values,
        enum ps_dtype dtype, int64_t first, int64_t n)
{
    const ps_softmax_call *const call = ready->job.call;
    const int64_t size = ps_dtype_size[call->type], itemsize = ps_dtype_size[dtype];
    int64_t shape = n, link = 0, stride = call->ids.strides[0];
    int64_t width = call->width, target_stride = size, value_stride = itemsize;
    int64_t entry_stride = itemsize * call->width;
    ps_index ids = call->ids;
    ids.data += first * stride;
    ids.strides = &stride;
    ids.step = size * call->width;
    ps_scatter_call scatter_call = {
            .address = {.ndim = 1,
                        .shape = &shape,
                        .link = &link,
                        .n = n,
                        .n_index = 1,
                        .index = &ids,
                        .mode = PS_MODE_IDS},
            .rows = {width == 1 ? 0 : 1, &width, &target_stride, &value_stride},
            .target = {.data = table,
                       .dtype = call->type,
                       .itemsize = size,
                       .aligned = true,
                       .is_private = true},
            .values = {.data = (char *)(uintptr_t)values,
                       .dtype = dtype,
                       .itemsize = itemsize,
                       .entry_strides = &entry_stride,
                       .aligned = true},
            .op = op,
            .accumulator = call->type,
            .include_self = true};
    ps_status status = ps_scatter(&scatter_call, ready->job.run);
    status.position += first;
    status.total = call->n_entries;
    return status;
}

/* For each stretch: a pass into ready->work, then a scatter of what it left there. */
static ps_status
scatter_stretches(ready_ids *ready, enum step step, enum ps_op op, char *table,
                  int64_t stretch)
{
    const ps_softmax_call *const call = ready->job.call;
    for (int64_t first = 0; first < call->n_entries; first += stretch) {
        const int64_t n = ps_min(stretch, call->n_entries - first);
        PS_TRY(pass(ready, step, first, n));
        PS_TRY(scatter(ready, op, table, ready->work, call->type, first, n));
    }
    return PS_SUCCESS;
}

/* Tables are walked in stretches of elements, whatever their width, between which
 * signals are heard. The part [part->first, part->last) of one. */
static char *
at(const ready_ids *ready, char *table, const ps_stretch *part)
{
    return table + part->first * ps_dtype_size[ready->job.call->type];
}

/* Entries that are gathered are copied first, since a scatter has values, but no list
 * of rows to take them from. Tops start from -inf, or from `initial`, which is that
 * where there is none. */
static ps_status
find_tops(ready_ids *ready, int64_t n_items, int64_t stretch)
{
    const ps_softmax_job *const job = &ready->job;
    const ps_softmax_call *const call = job->call;
    ps_stretch part = ps_stretch_of(job->run, n_items, 8);
    while (ps_next_stretch(&part)) {
        ps_softmax_fill(job, at(ready, ready->top, &part), part.last - part.first);
    }
    PS_TRY(ps_run_status(job->run));
    return call->gather.data == NULL
                   ? scatter(ready, PS_max, ready->top, job->values, call->dtype, 0,
                             call->n_entries)
                   : scatter_stretches(ready, LOAD, PS_max, ready->top, stretch);
}

/* Sums start from 0, or from the power of `initial`, and take the powers of a stretch
 * before the next one is made, so that the order is that of the entries. */
static ps_status
find_sums(ready_ids *ready, int64_t n_items, int64_t stretch)
{
    const ps_softmax_job *const job = &ready->job;
    if (!job->call->has_initial) {
        PS_TRY(ps_run_fill(job->run, ready->sum, 0,
                           n_items * ps_dtype_size[job->call->type]));
    }
    else {
        ps_stretch part = ps_stretch_of(job->run, n_items, 8);
        while (ps_next_stretch(&part)) {
            ps_softmax_begin(job, at(ready, ready->sum, &part),
                             at(ready, ready->top, &part), part.last - part.first);
        }
        PS_TRY(ps_run_status(job->run));
    }
    return scatter_stretches(ready, POWERS, PS_add, ready->sum, stretch);
}

/* Sums become what the form wants of them, 0.5 ms at a time; then entries meet those of
 * their segment. */
static ps_status
write_results(ready_ids *ready, int64_t n_items)
{
    const ps_softmax_job *const job = &ready->job;
    const bool is_sum = job->call->form == PS_LOGSUMEXP;
    const int64_t itemsize = ps_dtype_size[job->call->out_dtype];
    ps_stretch part = ps_stretch_of(job->run, n_items, 16);
    while (ps_next_stretch(&part)) {
        char *const sum = at(ready, ready->sum, &part);
        ps_softmax_end(job, is_sum ? job->out + part.first * itemsize : sum, sum,
                       at(ready, ready->top, &part), part.last - part.first);
    }
    PS_TRY(ps_run_status(job->run));
    return is_sum ? PS_SUCCESS : pass(ready, WRITE, 0, job->call->n_entries);
}

/* Tables, and room for a stretch, are one block; the result serves where it can. */
static ps_status
work_tables(const ps_softmax_job *job)
{
    const ps_softmax_call *const call = job->call;
    ready_ids ready = {.job = *job};
    const bool is_same = call->out_dtype == call->type;
    const bool sums_in_out = is_same && call->form == PS_LOGSUMEXP;
    const int64_t width = ps_max(1, call->width), size = call->ids.size;
    int64_t n_items, table_nbytes, work_nbytes;
    const bool works_in_out = is_same && call->form == PS_SOFTMAX;
    ready.keeps = call->form == PS_SOFTMAX;
    ready.chunk = ps_max(job->capacity, CHUNK_ITEMS / width);
    const int64_t stretch =
            ready.keeps ? ps_max(1, call->n_entries) : STRETCH_CHUNKS * ready.chunk;
    if (!ps_multiply(size, job->row_nbytes, &table_nbytes) ||
        table_nbytes > INT64_MAX / 4) {
        return ps_fail(PS_TOO_LARGE);
    }
    n_items = size * call->width;
    if (!ps_multiply(works_in_out ? 0 : ps_min(stretch, call->n_entries),
                     job->row_nbytes, &work_nbytes) ||
        work_nbytes > INT64_MAX / 4) {
        return ps_fail(PS_TOO_LARGE);
    }
    const int64_t tables = sums_in_out ? 1 : 2;
    const int64_t nbytes = ps_max(8, tables * table_nbytes + work_nbytes);
    char *const block = ps_scratch_get(nbytes);
    if (block == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    ready.top = block;
    ready.sum = sums_in_out ? job->out : block + table_nbytes;
    ready.work = works_in_out ? job->out : block + tables * table_nbytes;
    ps_status status = find_tops(&ready, n_items, stretch);
    if (status.code == PS_OK) {
        status = find_sums(&ready, n_items, stretch);
    }
    if (status.code == PS_OK) {
        status = write_results(&ready, n_items);
    }
    ps_scratch_put(block, nbytes);
    return status;
}

/* ---- far more segments than entries ---- */

/* The result of segments without entries in every row, then those of the k that are
 * `named`. */
static ps_status
spread_rows(const ps_softmax_job *job, int64_t *named, int64_t k, const char *rows)
{
    const ps_softmax_call *const call = job->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const int64_t itemsize = ps_dtype_size[call->out_dtype];
    const int64_t size = ps_dtype_size[call->type];
    const ps_list list = {named, NULL, k};
    _Alignas(16) char nothing[16];
    ps_convert(call->out_dtype, nothing, call->type, size, false, job->initial, size,
               1);
    ps_stretch part = ps_stretch_of(job->run, call->n_segments * call->width, itemsize);
    while (ps_next_stretch(&part)) {
        kernels->copy[ps_size_of(itemsize)](job->out + part.first * itemsize, itemsize,
                                            nothing, 0, part.last - part.first);
    }
    kernels->list_place(named, named, k, job->out_nbytes, 0);
    kernels->set_rows(job->out, &list, rows, job->out_nbytes, job->out_nbytes, 0);
    return ps_run_status(job->run);
}

/* The same call with the segments that have entries as its only ones, numbered by a
 * sort. `id` is a copy of our own, which nobody else can change; `named` receives the
 * segments, `rows` what logsumexp says of each. */
static ps_status
work_named(const ps_softmax_job *job, int64_t *id, int64_t *named, char *rows)
{
    const ps_softmax_call *const call = job->call;
    int64_t k = 0, stride = sizeof(int64_t);
    if (call->n_entries > 0) {
        PS_TRY(ps_rank_keys(id, call->n_entries, call->ids.size, named, &k, job->run));
    }
    ps_softmax_call few = *call;
    few.ids = (ps_index){.data = (const char *)id,
                         .strides = &stride,
                         .type = PS_INDEX_i64,
                         .size = k};
    ps_softmax_job few_job = *job;
    few_job.call = &few;
    if (call->form != PS_LOGSUMEXP) {
        return work_tables(&few_job);
    }
    few_job.out = rows;
    PS_TRY(work_tables(&few_job));
    return spread_rows(job, named, k, rows);
}

/* A bad id is left to the scatter on tables, which tells its position. */
static ps_status
work_few(const ps_softmax_job *job)
{
    const ps_softmax_call *const call = job->call;
    const ps_index *const ids = &call->ids;
    const int64_t n = call->n_entries;
    const int64_t rows_nbytes = call->form == PS_LOGSUMEXP ? n * job->out_nbytes : 0;
    const int64_t nbytes = 2 * n * (int64_t)sizeof(int64_t) + rows_nbytes + 8;
    int64_t *const id = ps_scratch_get(nbytes);
    if (id == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    int64_t *const named = id + n;
    const int64_t n_bad = ps_kernels()->rows[ids->type](PS_MODE_DROP, id, ids->data, n,
                                                        ids->strides[0], ids->size);
    const ps_status status = n_bad > 0
                                     ? work_tables(job)
                                     : work_named(job, id, named, (char *)(named + n));
    ps_scratch_put(id, nbytes);
    return status;
}

/* Both ways add the entries of a segment in the same order, so that bits do not tell
 * which it was. */
ps_status
ps_softmax_ids(ps_softmax_job *job)
{
    const int64_t size = job->call->ids.size, n = job->call->n_entries;
    return size > FEW_FROM && size / FEW_ENTRIES > n ? work_few(job) : work_tables(job);
}
