/* Deltas: what turns one array into another, exactly.
 *
 * An array is a row of units: single elements, rows, or blocks; the last block may be
 * shorter. A delta has the numbers of some units, ascending, and for each what is
 * stored of it. Arrays are contiguous and native here; bits are all that counts.
 */
#ifndef PS_OPS_DELTA_H
#define PS_OPS_DELTA_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* How the numbers of units are written down (delta_code.c). */
#define PS_FOR_EACH_DELTA_ENCODING(X) \
    X(index32) X(index64) X(gap16) X(runs) X(bitmap) X(dense)
#define PS_ENUM_DELTA_ENCODING(name) PS_DELTA_##name,
enum ps_delta_encoding {
    PS_FOR_EACH_DELTA_ENCODING(PS_ENUM_DELTA_ENCODING) PS_NUM_DELTA_ENCODINGS,
    PS_DELTA_AUTO = PS_NUM_DELTA_ENCODINGS
};

enum {
    /* Numbers of units that are decoded at a time: 16 KB, in the first cache. */
    PS_DELTA_BLOCK = 2048,
    /* Bytes whose sums are one part of a checksum: with its twin, in the first cache.
     */
    PS_HASH_BLOCK = 8192,
    PS_HASH_STRIPE = 64,
    PS_HASH_LANES = 8,
    /* Bytes up to which an array's sums need no work memory. */
    PS_FEW_BLOCKS = 4
};

typedef struct {
    enum ps_delta_encoding encoding;
    enum ps_delta_op op;
    int64_t n, itemsize; /* of the array */
    int64_t width;       /* elements of a unit */
    int64_t count;       /* units that are stored */
    int64_t items;       /* of the head */
    const char *head;    /* the numbers; aligned to 8 */
    const char *values;  /* units side by side */
    int64_t head_nbytes, values_nbytes;
} ps_delta;

static inline int64_t
ps_delta_units(const ps_delta *delta)
{
    return delta->n / delta->width + (delta->n % delta->width != 0);
}

/* Elements of unit number `unit`. */
static inline int64_t
ps_delta_width(const ps_delta *delta, int64_t unit)
{
    const int64_t left = delta->n - unit * delta->width;
    return left < delta->width ? left : delta->width;
}

/* ---- numbers of units (delta_code.c) ---- */

/* What ascending numbers come to in each encoding. Begin with last = -1. */
typedef struct {
    int64_t count, runs, escapes, last;
} ps_delta_tally;

/* n more numbers. */
void ps_delta_count(ps_delta_tally *tally, const int64_t *at, int64_t n);

/* Set encoding, items and both sizes from count and the tally: the smallest encoding,
 * or the one in `encoding`. PS_DELTA_dense is thought of only where `may_be_dense`, and
 * makes every unit a stored one. False: the encoding cannot say these numbers. */
bool ps_delta_choose(ps_delta *delta, const ps_delta_tally *tally,
                     enum ps_delta_encoding encoding, bool may_be_dense);

/* Bytes of a head; -1: no such head can be. */
int64_t ps_delta_head_nbytes(const ps_delta *delta);

/* Writes a head, block after block. */
typedef struct {
    const ps_delta *delta;
    char *head;
    int64_t items, last;
} ps_delta_writer;

void ps_delta_write_head(ps_delta_writer *writer, const int64_t *at, int64_t n);

/* The same for the numbers base + place[i], where encodings are lists of numbers. */
void ps_delta_write_places(ps_delta_writer *writer, const uint16_t *place, int64_t n,
                           int64_t base);

/* After the last number. */
void ps_delta_end_head(ps_delta_writer *writer);

/* Reads a head that has been checked, from its first unit on. */
typedef struct {
    const ps_delta *delta;
    int64_t item, last, done;
    int64_t run; /* numbers left of the run at hand */
} ps_delta_reader;

ps_delta_reader ps_delta_read(const ps_delta *delta);

/* The next numbers, at most PS_DELTA_BLOCK, to `at`, which has room for 64 more.
 * Returns how many: 0 at the end. */
int64_t ps_delta_next(ps_delta_reader *reader, int64_t *at);

/* Step over what ps_delta_next would return. */
int64_t ps_delta_skip(ps_delta_reader *reader);

/* No number that is still to come is below this one, and all that have been are. */
int64_t ps_delta_least(const ps_delta_reader *reader);

/* Is a delta whole: numbers ascending, in range, as many as counted, and values of
 * their size? Takes a ps_delta_check_call. */
typedef struct {
    const ps_delta *delta;
    bool is_good;
} ps_delta_check_call;

ps_status ps_delta_check(void *call, ps_run *run);

/* ---- making one (delta.c) ---- */

/* A chunk of units, and where its part of the delta lies. */
typedef struct {
    int64_t count, first, last; /* of its numbers; last -1: none */
    int64_t runs;
    int64_t before;       /* units stored ahead of it */
    int64_t items_before; /* in the head */
    int64_t last_before;  /* the number ahead of its first, or -1 */
    int64_t staged;       /* where its values wait; -1: nowhere */
    bool has_places;      /* ahead of these values, 2 bytes each */
} ps_delta_part;

typedef struct {
    const char *old, *now;
    int64_t n, itemsize, width;
    enum ps_delta_op op;
    enum ps_delta_encoding encoding;
    /* Only the units of the largest differences (delta_select.c). */
    bool selects;
    enum ps_dtype dtype;
    int64_t top_k; /* -1: all of them */
    bool has_threshold;
    double threshold;
    /* found */
    ps_delta delta;                      /* without head and values */
    bool is_possible;                    /* in the encoding that was asked for */
    uint64_t checksum_old, checksum_new; /* of old, and of now */
    /* work memory */
    uint64_t *word;      /* a bit for each element */
    uint64_t *unit_word; /* a bit for each unit; the same where units are elements */
    ps_delta_part *part;
    int64_t n_parts, scratch_nbytes;
    char *scratch, *staging;
    int64_t staging_nbytes;
    uint64_t *sum_old, *sum_new;
    ps_delta_part few_parts[1];
    uint64_t few_words[PS_FEW_WORDS];
    uint64_t few_sums[2 * PS_HASH_LANES * PS_FEW_BLOCKS];
} ps_delta_call;

/* Find what differs; then the caller makes room for head and values, and they are
 * written; then close, whatever has happened. Take a ps_delta_call. */
ps_status ps_delta_find(void *call, ps_run *run);
ps_status ps_delta_write(void *call, ps_run *run);
void ps_delta_close(ps_delta_call *call);

/* Drop the units that the call does not select; bits of unit_word become 0. */
ps_status ps_delta_select(ps_delta_call *call, ps_run *run);

/* ---- using one (delta_apply.c) ---- */

/* Apply to a target of the delta's size, of any layout. */
typedef struct {
    const ps_delta *delta;
    ps_view target;
    int parts; /* numbers of an element, of which each has its own byte order */
} ps_delta_apply_call;

ps_status ps_delta_apply(void *call, ps_run *run);

/* The checksum of an array, or of what it becomes under a delta; beside the latter, if
 * it is wanted, that of the array as it is. */
typedef struct {
    const char *bytes;
    int64_t nbytes;
    const ps_delta *delta; /* or NULL */
    bool wants_base;
    uint64_t checksum, checksum_base;
} ps_hash_call;

ps_status ps_hash_array(void *call, ps_run *run);

/* Sums of n blocks (the last may be shorter) of bytes [nbytes]. */
void ps_hash_blocks(uint64_t *sum, const char *bytes, int64_t nbytes);

static inline int64_t
ps_hash_count(int64_t nbytes)
{
    return nbytes / PS_HASH_BLOCK + (nbytes % PS_HASH_BLOCK != 0);
}

uint64_t ps_hash_finish(const uint64_t *sum, int64_t nbytes);

/* The XXH64 of bytes, into which a delta's head and values are copied first, where
 * there is one. */
typedef struct {
    const ps_delta *delta; /* or NULL */
    char *head, *values;
    const char *bytes;
    int64_t nbytes;
    uint64_t checksum;
} ps_seal_call;

ps_status ps_seal(void *call, ps_run *run);

/* All numbers of a delta, to at [count]. */
typedef struct {
    const ps_delta *delta;
    int64_t *at;
} ps_delta_list_call;

ps_status ps_delta_list(void *call, ps_run *run);

/* values [of the delta] = the units of `array` that the delta names. */
typedef struct {
    const ps_delta *delta;
    const char *array;
    char *values;
} ps_delta_gather_call;

ps_status ps_delta_gather(void *call, ps_run *run);

/* The values of the opposite delta of op add: their negatives, as numbers of itemsize.
 */
void ps_delta_negate(const ps_delta *delta, char *values);

/* ---- several (delta_merge.c) ---- */

/* One delta for two, `first` and then `second`, of equal units and op. Numbers and
 * values are in work memory until it is closed. */
typedef struct {
    const ps_delta *first, *second;
    ps_delta delta; /* without head and values */
    int64_t *at;
    char *values;
    int64_t count; /* numbers */
    int64_t scratch_nbytes;
} ps_delta_merge_call;

ps_status ps_delta_merge(void *call, ps_run *run);
void ps_delta_merge_close(ps_delta_merge_call *call);

#endif
