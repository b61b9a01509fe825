/* Keys become numbers: what the files of the family share (keys.c says how). */
#ifndef PS_OPS_KEYS_H
#define PS_OPS_KEYS_H

#include "kernels/kernels.h"
#include "ops/operand.h"
#include "ops/ops.h"

/* What becomes of entries whose key is missing: NaN, NaT. */
enum ps_missing {
    PS_MISSING_GROUP, /* a key as any other */
    PS_MISSING_DROP,  /* number -1, and no key */
    PS_MISSING_RAISE
};

/* The ways of one column; tests force one. */
#define PS_FOR_EACH_KEY_WAY(X) X(automatic) X(near) X(hash) X(spread) X(second) X(sort)
#define PS_ENUM_KEY_WAY(name) PS_KEY_WAY_##name,
enum ps_key_way {
    PS_FOR_EACH_KEY_WAY(PS_ENUM_KEY_WAY) PS_NUM_KEY_WAYS
};

/* One array of keys: numbers in any layout; or bytes (dtype PS_raw), native and side by
 * side, which are told apart by all of them and sorted as `kind` says. */
typedef struct {
    ps_view view;
    enum ps_key_kind kind; /* of bytes: PS_KEYS_BYTES, PS_KEYS_UNITS */
    bool is_coded;         /* of int64: -1 is a missing key */
} ps_key_column;

/* n entries, of which each has a key in every column. Those where mask [n], or NULL, is
 * 0 take no part. ids [n] receives their numbers, as int32 in the front half of its
 * memory where that may be and is less to write; results that the call owns until it is
 * closed: the first entry of each number. */
typedef struct {
    const ps_key_column *column;
    int n_columns;
    int64_t n;
    const char *mask;
    bool sorts; /* numbers follow the order of keys, else that of appearance */
    enum ps_missing missing;
    enum ps_key_way way;
    int parts; /* 0: as many as pay */
    int64_t *ids;
    bool may_be_short; /* ids may be int32; and */
    bool are_short;    /* they are */
    int64_t n_keys;
    bool is_wide; /* first holds int64, not int32 */
    void *first;  /* [n_keys] */
    int64_t bad;  /* an entry whose key is missing, where that is an error; or -1 */
    bool drops;   /* some ids may be -1 */
    int64_t first_nbytes;
} ps_keys_call;

ps_status ps_number_keys(void *call, ps_run *run); /* a ps_keys_call */
void ps_close_keys(ps_keys_call *call);

/* Native copies of the keys of entries first[0 .. n), side by side. */
typedef struct {
    const ps_view *view;
    const void *first;
    bool is_wide;
    int64_t n;
    char *out;
} ps_take_call;

ps_status ps_take_keys(void *call, ps_run *run); /* a ps_take_call */

/* counts[ids[i]] += 1 of every id from 0 up; counts are zero. */
typedef struct {
    const int64_t *ids;
    int64_t n;
    int64_t *counts;
} ps_count_keys_call;

ps_status ps_count_keys(void *call, ps_run *run); /* a ps_count_keys_call */

/* ---- one column (keys_number.c, keys_sort.c) ---- */

enum {
    /* Entries that are read, kept and numbered at a time: words, entries and numbers of
     * a block take 48 KB and stay in the second cache. */
    PS_KEY_BLOCK = PS_OPERAND_BLOCK
};

/* A column made ready. */
typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    const ps_keys_call *call;
    ps_operand operand; /* of numbers */
    const char *items;  /* of bytes, or of pairs of words */
    int64_t itemsize;
    enum ps_dtype dtype;   /* of numbers; PS_raw: short items, packed to words */
    enum ps_key_kind kind; /* as which keys are compared */
    bool has_missing;
    uint64_t missing; /* the (first) word of a missing key */
    bool is_narrow; /* up to eight characters, of which none is to be above 255; else */
    _Atomic bool has_wide; /* one is: there is no result */
    bool drops;            /* entries may be left out */
    bool wants_codes; /* numbers may be distances of words that lie close together */
    bool is_wide;
    int64_t *ids;
    bool are_short; /* the way that has been taken writes them as int32 */
    _Atomic int64_t bad;
    _Atomic bool is_hostile;
} ps_key_source;

/* Numbers and the first entry of each, which are the caller's to give back. */
typedef struct {
    int64_t n;
    uint64_t *word; /* NULL: keys are items */
    void *first;
    int64_t word_nbytes, first_nbytes;
} ps_numbered;

/* The words of entries [first, first + n), n <= PS_KEY_BLOCK; buffer has room for as
 * many numbers. Of items no words are made. */
void ps_key_words(ps_key_source *source, int64_t first, int64_t n, char *buffer,
                  uint64_t *word);

/* Which of these take part: their entries in at[], their words moved together; the ids
 * of the others become -1. Returns how many there are. */
int64_t ps_keep_keys(ps_key_source *source, int64_t first, int64_t n, uint64_t *word,
                     int64_t *at);

/* By sorting all entries, whatever their keys; numbers follow the order of keys. */
ps_status ps_number_by_sorting(ps_key_source *source, ps_numbered *numbered);

/* order[k] = the number whose key is number k in the order of keys. The words are moved
 * about. */
ps_status ps_order_numbers(const ps_key_source *source, const ps_numbered *numbered,
                           void *order);

/* One column: ids are those of the call. */
ps_status ps_number_column(ps_key_source *source, ps_numbered *numbered);
void ps_free_numbered(ps_numbered *numbered);

/* Numbers of an array of numbers: ids[i] = to[ids[i]], where ids[i] >= 0. */
ps_status ps_renumber(ps_run *run, int64_t *ids, int64_t n, const void *to,
                      bool is_wide);

#endif
