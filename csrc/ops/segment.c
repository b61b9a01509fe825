/* The segment op: reductions of runs of entries (contract in ops.h).
 *
 * Segments are cut into chunks; an output belongs to one of them, so threads cannot
 * change it. A chunk copies and checks the limits of some hundred segments and folds
 * them piece by piece: as many whole segments as a piece holds, or a part of one that
 * is longer, which the next piece continues. There are three kinds of piece:
 *   plain    entries lie in memory as kernels want them: the kernel reads them there
 *   listed   rows that `gather` names: the kernel is given their checked numbers
 *   packed   everything else (casts, weights, foreign byte order, single gathered
 *            elements): entries are copied to scratch first
 * The fresh result is written while the limits are checked: nobody sees it before.
 * The comments are few: functions stand in the order of these lines, from a piece up.
 */
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/identity.h"
#include "ops/ops.h"
#include "ops/products.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Segments whose limits are copied at a time: 8 KiB of them. */
    SEGMENTS = 512,
    /* Entries of a listed piece; their numbers are 16 KiB. */
    LISTED = 2048,
    /* Bytes of a packed piece: half of a first cache, beside what is copied to it. */
    PACKED_BYTES = 16 << 10,
    /* Bytes of a plain piece: what is read between two looks at a pending signal. */
    STRETCH_BYTES = PS_LISTEN_BYTES,
    /* Bytes of one chunk, on average; below two of them one thread works alone. */
    CHUNK_BYTES = 256 << 10,
    /* The same of listed rows, which each chunk has to ask for anew, where each thread
     * has PARTS of them: 1e6 rows of 64 float32 out of 1e6, in bags of 20, take 29.2
     * ms, in chunks of CHUNK_BYTES 30.0 (Zen 3). */
    LISTED_BYTES = 4 << 20,
    PARTS = 8
};

_Static_assert(STRETCH_BYTES / 8 % PS_FOLD_BLOCK == 0, "whole blocks of the tree");

enum piece_kind {
    PLAIN,
    LISTED_ROWS,
    PACKED
};

/* What all chunks of a call share. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_segment_call *call;
    enum piece_kind kind;
    int64_t capacity;      /* entries of a piece */
    int64_t most;          /* segments of a piece */
    int64_t n_outputs;     /* segments at all outer places */
    int64_t chunk_length;  /* outputs of a chunk */
    int64_t raw_nbytes;    /* of a row as it lies in memory */
    int64_t packed_nbytes; /* of a row of `type` */
    _Alignas(16) char neutral[16];
} ready_segment;

/* A chunk's piece on its way to a kernel. */
typedef struct {
    const ready_segment *ready;
    int64_t start[SEGMENTS], stop[SEGMENTS]; /* of its segments, in the piece */
    int64_t n;
    int64_t first_out;         /* output of the first segment */
    bool continues;            /* that output holds a sum already */
    int64_t filled;            /* entries */
    int64_t unheard;           /* bytes since the last look at signals */
    const char *values, *mask; /* of the outer place at hand */
    char *out;
    int64_t *row; /* numbers of gathered rows */
    char *raw, *packed;
    char *block;
} piece;

static int64_t
room_nbytes(const ready_segment *ready)
{
    const int64_t packs = ready->kind == PACKED;
    return ready->capacity * (8 + packs * (ready->raw_nbytes + ready->packed_nbytes));
}

/* False: no memory. */
static bool
open_piece(piece *p, const ready_segment *ready)
{
    p->ready = ready;
    p->n = p->filled = p->unheard = 0;
    p->continues = false;
    p->block = NULL;
    if (ready->kind == PLAIN) {
        return true;
    }
    p->block = ps_scratch_get(room_nbytes(ready));
    p->row = (int64_t *)p->block;
    p->packed = p->block + 8 * ready->capacity;
    p->raw = p->packed + ready->capacity * ready->packed_nbytes;
    return p->block != NULL;
}

static void
close_piece(piece *p)
{
    if (p->block != NULL) {
        ps_scratch_put(p->block, room_nbytes(p->ready));
    }
}

/* Segments that start from what their outputs hold: a kernel goes on with the first of
 * its segments alone, so each has a call of its own. */
static void
fold_each(const ready_segment *ready,
          void (*kernel)(char *, const char *, const ps_segments *), char *out,
          const char *values, ps_segments segments)
{
    const int64_t n = segments.n;
    segments.n = 1;
    segments.continues = true;
    for (int64_t s = 0; s < n; s++, segments.start++, segments.stop++) {
        if (segments.start[0] < segments.stop[0]) {
            kernel(out + s * ready->packed_nbytes, values, &segments);
        }
    }
}

/* Fold n segments from output `first` on, whose limits stand in start and stop. False:
 * give up. */
static bool
fold(piece *p, int64_t first, const int64_t *start, const int64_t *stop, int64_t n)
{
    const ready_segment *const ready = p->ready;
    const ps_segment_call *const call = ready->call;
    const ps_kernel_table *const kernels = ps_kernels();
    const bool is_packed = ready->kind == PACKED;
    const ps_segments segments = {
            .start = start,
            .stop = stop,
            .n = n,
            .width = call->width,
            .value_stride = is_packed ? ready->packed_nbytes : call->row_stride,
            .row = ready->kind == LISTED_ROWS ? p->row : NULL,
            .n_rows = p->filled,
            .readable = is_packed ? p->filled : call->n_rows,
            .neutral = ready->neutral,
            .empty = call->empty,
            .continues = p->continues};
    char *const out = p->out + first * ready->packed_nbytes;
    const char *const values = is_packed ? p->packed : p->values;
    void (*const kernel)(char *, const char *, const ps_segments *) =
            call->width == 1 ? kernels->segment[call->op][call->type]
                             : kernels->segment_rows[call->op][call->type];
    if (call->goes_on) {
        fold_each(ready, kernel, out, values, segments);
    }
    else {
        kernel(out, values, &segments);
    }
    p->continues = false;
    return !ps_run_stops_after(
            ready->run, &p->unheard,
            p->filled * ps_max(ready->raw_nbytes, is_packed ? PS_LINE_BYTES : 1) +
                    n * ready->packed_nbytes);
}

/* Fold what the piece holds, and empty it. False: give up. */
static bool
flush(piece *p)
{
    const bool goes_on = p->n == 0 || fold(p, p->first_out, p->start, p->stop, p->n);
    p->n = p->filled = 0;
    return goes_on;
}

/* What the mask leaves out of n packed rows becomes the identity. */
static void
leave_out(const piece *p, int64_t first, int64_t n, char *to)
{
    const ps_segment_call *const call = p->ready->call;
    const int64_t size = ps_dtype_size[call->type];
    for (int64_t i = 0; i < n; i++) {
        const char *const mask = p->mask + (first + i) * call->mask_entry;
        char *const row = to + i * p->ready->packed_nbytes;
        for (int64_t j = 0; j < call->width; j++) {
            if (!mask[j * call->mask_element]) {
                memcpy(row + j * size, p->ready->neutral, (size_t)size);
            }
        }
    }
}

/* Entries [first, first + n) as rows of `type` at the end of the packed ones. */
static void
pack(piece *p, int64_t first, int64_t n)
{
    const ready_segment *const ready = p->ready;
    const ps_segment_call *const call = ready->call;
    char *const to = p->packed + p->filled * ready->packed_nbytes;
    const char *from = p->values + first * call->row_stride;
    int64_t stride = call->row_stride;
    if (call->gather.data != NULL) {
        const ps_kernel_table *const kernels = ps_kernels();
        int64_t *const offset = p->row + p->filled;
        const ps_list list = {offset, NULL, n};
        const int size = call->width == 1 ? ps_size_of(call->itemsize) : -1;
        kernels->list_place(offset, offset, n, call->row_stride, 0);
        if (size >= 0) {
            kernels->gather[size](p->raw, &list, p->values, call->itemsize);
        }
        else {
            kernels->gather_rows(p->raw, &list, p->values, ready->raw_nbytes,
                                 ready->raw_nbytes, false);
        }
        from = p->raw;
        stride = ready->raw_nbytes;
    }
    const bool is_dense = stride == ready->raw_nbytes;
    const bool is_one_stretch = is_dense || call->width == 1;
    const int64_t stretch = is_one_stretch ? n * call->width : call->width;
    const int64_t step = is_dense || call->width > 1 ? call->itemsize : stride;
    for (int64_t i = 0; i < (is_one_stretch ? 1 : n); i++) {
        ps_convert(call->type, to + i * ready->packed_nbytes, call->dtype,
                   call->itemsize, call->swapped, from + i * stride, step, stretch);
    }
    if (call->weights != NULL) {
        ps_kernels()->scale[call->type](
                to, call->weights + first * ps_dtype_size[call->type], n, call->width);
    }
    if (call->mask != NULL) {
        leave_out(p, first, n, to);
    }
}

/* Are all rows that do not exist those of entries that the mask leaves out? They become
 * the first row, which is there. */
static bool
excuse(const piece *p, int64_t first, int64_t n)
{
    const ps_segment_call *const call = p->ready->call;
    int64_t *const row = p->row + p->filled;
    for (int64_t i = 0; i < n; i++) {
        if (row[i] >= 0) {
            continue;
        }
        if (call->mask == NULL || call->n_rows == 0 || call->mask_element != 0 ||
            p->mask[(first + i) * call->mask_entry]) {
            return false;
        }
        row[i] = 0;
    }
    return true;
}

/* Take entries [first, first + n) into the piece; they fit, and the limits of their
 * segments stand in it. False: a row that does not exist. */
static bool
take(piece *p, int64_t first, int64_t n)
{
    const ps_index *const gather = &p->ready->call->gather;
    if (gather->data != NULL && n > 0) {
        const int64_t stride = gather->strides[0];
        if (ps_kernels()->rows[gather->type](PS_MODE_RAISE, p->row + p->filled,
                                             gather->data + first * stride, n, stride,
                                             gather->size) > 0 &&
            !excuse(p, first, n)) {
            return false;
        }
    }
    if (p->ready->kind == PACKED && n > 0) {
        pack(p, first, n);
    }
    p->filled += n;
    return true;
}

/* Note that output s has n entries from `first` on. */
static void
note(piece *p, int64_t s, int64_t first, int64_t n, bool continues)
{
    const int64_t at = p->ready->kind == PLAIN ? first : p->filled;
    if (p->n == 0) {
        p->first_out = s;
        p->continues = continues;
    }
    p->start[p->n] = at;
    p->stop[p->n++] = at + n;
}

/* All entries of output s. A segment that is longer than what is left of the piece
 * begins a piece of its own, so that the parts of one are whole blocks of its tree. */
static enum ps_code
fold_segment(piece *p, int64_t s, int64_t first, int64_t last)
{
    const int64_t capacity = p->ready->capacity;
    bool continues = false;
    if ((p->n == p->ready->most || last - first > capacity - p->filled) && !flush(p)) {
        return PS_INTERRUPTED;
    }
    do {
        const int64_t n = ps_min(last - first, capacity);
        note(p, s, first, n, continues);
        if (!take(p, first, n)) {
            return PS_INDEX_BAD;
        }
        first += n;
        continues = true;
        if (first < last && !flush(p)) {
            return PS_INTERRUPTED;
        }
    } while (first < last);
    return PS_OK;
}

/* Copies of the limits of n segments from `first` on; are they runs of entries? */
static bool
read_limits(const ps_segment_call *call, int64_t first, int64_t n, int64_t *start,
            int64_t *stop)
{
    const ps_kernel_table *const kernels = ps_kernels();
    const ps_index *const from = &call->start, *const to = &call->stop;
    const int64_t size = call->n_entries + 1;
    int64_t n_bad = kernels->rows[from->type](PS_MODE_DROP, start,
                                              from->data + first * from->strides[0], n,
                                              from->strides[0], size);
    n_bad += kernels->rows[to->type](PS_MODE_DROP, stop,
                                     to->data + first * to->strides[0], n,
                                     to->strides[0], size);
    for (int64_t i = 0; i < n; i++) {
        n_bad += start[i] > stop[i];
    }
    return n_bad == 0;
}

/* How many of n segments fit into one piece together, and *entries, theirs: any where
 * nothing is copied, neighbours elsewhere. To take them one by one costs 5 ns each, and
 * 60 with casts. */
static int64_t
count_together(const piece *p, const int64_t *start, const int64_t *stop, int64_t n,
               int64_t *entries)
{
    const bool is_plain = p->ready->kind == PLAIN;
    int64_t count = 0;
    n = ps_min(n, p->ready->most);
    for (*entries = 0; count < n; count++) {
        const int64_t length = stop[count] - start[count];
        const bool is_neighbour = count == 0 || start[count] == stop[count - 1];
        if (length > p->ready->capacity - *entries || !(is_plain || is_neighbour)) {
            break;
        }
        *entries += length;
    }
    return count;
}

/* Fold the first segments from output s on that fit into a piece; *done says how many.
 */
static enum ps_code
fold_together(piece *p, int64_t s, const int64_t *start, const int64_t *stop, int64_t n,
              int64_t *done)
{
    int64_t entries;
    const int64_t count = count_together(p, start, stop, n, &entries);
    *done = ps_max(1, count);
    if (count < 2) {
        return fold_segment(p, s, start[0], stop[0]);
    }
    if (!flush(p)) {
        return PS_INTERRUPTED;
    }
    if (p->ready->kind == PLAIN) {
        p->filled = entries;
        const bool goes_on = fold(p, s, start, stop, count);
        p->filled = 0;
        return goes_on ? PS_OK : PS_INTERRUPTED;
    }
    for (int64_t i = 0; i < count; i++) {
        p->start[i] = start[i] - start[0];
        p->stop[i] = stop[i] - start[0];
    }
    p->n = count;
    p->first_out = s;
    return take(p, start[0], entries) ? PS_OK : PS_INDEX_BAD;
}

static enum ps_code
fold_chunk(piece *p, int64_t first, int64_t last)
{
    int64_t start[SEGMENTS], stop[SEGMENTS];
    for (int64_t s = first; s < last; s += SEGMENTS) {
        const int64_t n = ps_min(SEGMENTS, last - s);
        if (!read_limits(p->ready->call, s, n, start, stop)) {
            return PS_INDEX_BAD;
        }
        for (int64_t i = 0, done; i < n; i += done) {
            const enum ps_code code =
                    fold_together(p, s + i, start + i, stop + i, n - i, &done);
            if (code != PS_OK) {
                return code;
            }
        }
    }
    return flush(p) ? PS_OK : PS_INTERRUPTED;
}

/* Make outer place number `outer` the one at hand. */
static void
go_to(piece *p, int64_t outer)
{
    const ps_segment_call *const call = p->ready->call;
    p->values = call->values;
    p->mask = call->mask != NULL ? call->mask + outer * call->mask_outer : NULL;
    p->out = call->out + outer * call->n_segments * p->ready->packed_nbytes;
    for (int i = call->outer_ndim - 1; i >= 0; i--) {
        p->values += outer % call->outer_shape[i] * call->outer_strides[i];
        outer /= call->outer_shape[i];
    }
}

/* Outputs [first, last), counted through all outer places. */
static enum ps_code
fold_outputs(piece *p, int64_t first, int64_t last)
{
    const int64_t n_segments = p->ready->call->n_segments;
    while (first < last) {
        const int64_t outer = first / n_segments, begin = outer * n_segments;
        const int64_t end = ps_min(last, begin + n_segments);
        go_to(p, outer);
        const enum ps_code code = fold_chunk(p, first - begin, end - begin);
        if (code != PS_OK) {
            return code;
        }
        first = end;
    }
    return PS_OK;
}

static void
run_chunk(void *context, int64_t chunk)
{
    const ready_segment *const ready = context;
    const int64_t first = chunk * ready->chunk_length;
    const int64_t last = ps_min(ready->n_outputs, first + ready->chunk_length);
    piece p;
    if (ps_run_stops(ready->run)) {
        return;
    }
    const enum ps_code code =
            open_piece(&p, ready) ? fold_outputs(&p, first, last) : PS_NO_MEMORY;
    close_piece(&p);
    if (code != PS_OK) {
        ps_run_fail(ready->run, code);
    }
}

static enum piece_kind
choose_kind(const ps_segment_call *call)
{
    const bool is_ready = call->dtype == call->type && call->aligned &&
                          !call->swapped && call->weights == NULL && call->mask == NULL;
    if (is_ready && call->width > 1) {
        return call->gather.data != NULL ? LISTED_ROWS : PLAIN;
    }
    const bool is_dense = call->row_stride == call->itemsize;
    return is_ready && is_dense && call->gather.data == NULL ? PLAIN : PACKED;
}

/* How many items of some bytes each, or of none, a room of so many bytes is for. */
static int64_t
items_in(int64_t room_nbytes, int64_t nbytes)
{
    return ps_max(1, room_nbytes / ps_max(1, nbytes));
}

/* Whole blocks of the tree for single elements. Rows of no elements have no bytes; what
 * names them is still checked. */
static int64_t
choose_capacity(const ready_segment *ready)
{
    if (ready->call->width == 1) {
        return ready->kind == PLAIN ? STRETCH_BYTES / 8 : PS_FOLD_BLOCK;
    }
    switch (ready->kind) {
        case PLAIN:
            return items_in(STRETCH_BYTES, ready->raw_nbytes);
        case LISTED_ROWS:
            return ps_min(LISTED, items_in(STRETCH_BYTES, ready->raw_nbytes));
        default:
            return items_in(PACKED_BYTES, ready->packed_nbytes);
    }
}

/* Outputs of a chunk, each with its entries of so many bytes. */
static int64_t
choose_length(const ready_segment *ready, int64_t nbytes)
{
    const int64_t length = items_in(CHUNK_BYTES, nbytes);
    const int64_t part = ready->n_outputs / (PARTS * (int64_t)ready->run->threads);
    const int64_t longer = ps_min(items_in(LISTED_BYTES, nbytes), part);
    return ready->kind == LISTED_ROWS ? ps_max(length, longer) : length;
}

ps_status
ps_segment(void *argument, ps_run *run)
{
    ps_segment_call *const call = argument;
    ready_segment ready = {.run = run,
                           .call = call,
                           .kind = choose_kind(call),
                           .raw_nbytes = call->width * call->itemsize,
                           .packed_nbytes = call->width * ps_dtype_size[call->type]};
    int64_t nbytes;
    if (call->n_segments == 0) {
        return PS_SUCCESS;
    }
    if (call->op == PS_mul && call->mask != NULL &&
        ps_dtype_kind[call->type] == PS_KIND_COMPLEX) {
        return ps_multiply_some(call, run);
    }
    ready.capacity = choose_capacity(&ready);
    if (!ps_multiply(ready.raw_nbytes, call->n_entries, &nbytes) ||
        !ps_multiply(call->n_segments, call->n_outer, &ready.n_outputs)) {
        return ps_fail(PS_TOO_LARGE);
    }
    ready.most = ps_min(SEGMENTS, items_in(STRETCH_BYTES, ready.packed_nbytes));
    ps_write_identity(call->op, call->type, ready.neutral);
    const int64_t each = ready.packed_nbytes + nbytes / call->n_segments;
    ready.chunk_length = choose_length(&ready, each);
    return ps_run_chunks(run, ps_ceil_div(ready.n_outputs, ready.chunk_length),
                         run_chunk, &ready);
}
