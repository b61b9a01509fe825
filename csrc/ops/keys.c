/* The keys op: distinct keys are numbered, of one array or of several together.
 *
 * A column of numbers is read as words that are equal where keys are (kernels'
 * keys_words.tmpl.h); so are short strings; all other items are compared byte by byte.
 * Numbers of a column are numbered again together with those of the next: a pair of
 * numbers is a word. Where the result is to be in the order of keys, so are the numbers
 * of each column, and then the order of pairs is that of the keys, the first column
 * first. Records are columns, too: their fields.
 */
#include "ops/keys.h"

#include <stddef.h>
#include <string.h>

#include "base/scratch.h"
#include "base/sizes.h"
#include "ops/run.h"
#include "ops/widths.h"

enum {
    /* Bytes of an item that fit in a word. */
    WORD_BYTES = 8,
    /* Items that are looked at for wide characters before any is packed. */
    LOOKS = 256,
    /* Bytes of text that may be short all the same: looking at more takes longer than a
     * hash of what is there. */
    MOST_TEXT = 256
};

/* ---- a column ---- */

/* The word of a missing key of numbers; is there one? What the kernels make of NaN and
 * NaT: ones, as many as the dtype has bits. */
static bool
word_of_missing(enum ps_dtype dtype, uint64_t *word)
{
    const int kind = ps_dtype_kind[dtype];
    *word = dtype == PS_f32        ? UINT32_MAX
            : kind == PS_KIND_HALF ? UINT16_MAX
                                   : UINT64_MAX;
    return kind == PS_KIND_FLOAT || kind == PS_KIND_HALF || kind == PS_KIND_LONG ||
           kind == PS_KIND_COMPLEX || kind == PS_KIND_TIME;
}

/* Pairs of words of all keys, side by side: keys of two words are compared as items.
 * Blocks are as long as operands have them; a constant is made once and repeated. */
static ps_status
make_pairs(ps_key_source *source, char *pairs)
{
    const enum ps_dtype dtype = source->dtype;
    const int64_t nbytes = ps_operand_nbytes(&source->operand), n = source->call->n;
    char *const buffer = ps_scratch_get(nbytes);
    int64_t unheard = 0;
    if (buffer == NULL) {
        return ps_fail(PS_NO_MEMORY);
    }
    for (int64_t first = 0; first < n; first += PS_OPERAND_BLOCK) {
        int64_t step, some = ps_min(PS_OPERAND_BLOCK, n - first);
        const char *const keys =
                ps_operand_block(&source->operand, first, some, buffer, &step);
        uint64_t *const word = (uint64_t *)(void *)(pairs + 16 * first);
        ps_kernels()->keys->canon[dtype](word, keys, step == 0 ? 1 : some);
        for (int64_t i = 1; step == 0 && i < some; i++) {
            memcpy(word + 2 * i, word, 16);
        }
        if (ps_run_stops_after(source->run, &unheard, some * PS_LINE_BYTES)) {
            break;
        }
    }
    ps_scratch_put(buffer, nbytes);
    return ps_run_status(source->run);
}

/* Short items are packed into words as they are read, all others are compared by their
 * bytes. Entries are looked at one by one only where some may be left out. */
static void
open_source(ps_key_source *source, const ps_keys_call *call, ps_run *run)
{
    const ps_key_column *const column = call->column;
    *source = (ps_key_source){.run = run,
                              .call = call,
                              .itemsize = column->view.itemsize,
                              .dtype = column->view.dtype,
                              .is_wide = call->n >= INT32_MAX,
                              .ids = call->ids};
    atomic_init(&source->bad, INT64_MAX);
    atomic_init(&source->has_wide, false);
    if (column->view.dtype == PS_raw) {
        const bool is_short = source->itemsize <= WORD_BYTES;
        source->kind = is_short ? PS_KEYS_WORDS : column->kind;
        source->items = is_short ? NULL : column->view.data;
    }
    else {
        ps_operand_open(&source->operand, &column->view, column->view.dtype);
        source->has_missing =
                column->is_coded || word_of_missing(source->dtype, &source->missing);
    }
    if (column->is_coded) {
        const int64_t missing = -1;
        ps_kernels()->keys->canon[PS_i64](&source->missing, (const char *)&missing, 1);
    }
    source->drops = call->mask != NULL ||
                    (source->has_missing && call->missing != PS_MISSING_GROUP);
}

/* Text of up to eight characters, in however wide items, is packed into words where
 * these are narrow: one look-up of a word in place of 32 bytes and more that lie
 * anywhere. A look at some says whether to try. */
static bool
tries_narrow(ps_key_source *source)
{
    const ps_keys_call *const call = source->call;
    const bool is_text = source->dtype == PS_raw && call->column->kind == PS_KEYS_UNITS;
    const int64_t step = ps_max(1, call->n / LOOKS);
    if (!is_text || source->kind == PS_KEYS_WORDS || source->itemsize > MOST_TEXT) {
        return false;
    }
    source->kind = PS_KEYS_WORDS;
    source->is_narrow = true;
    for (int64_t i = 0; i < call->n; i += step) {
        uint64_t word;
        ps_key_words(source, i, 1, NULL, &word);
    }
    return !atomic_load(&source->has_wide);
}

/* Text as words, if that is possible; else as it is: what has been numbered then goes.
 */
static ps_status
number_text(ps_key_source *source, ps_numbered *numbered)
{
    const char *const items = source->items;
    const enum ps_key_kind kind = source->kind;
    if (tries_narrow(source)) {
        source->items = NULL;
        PS_TRY(ps_number_column(source, numbered));
        if (!atomic_load(&source->has_wide)) {
            return PS_SUCCESS;
        }
        ps_free_numbered(numbered);
    }
    source->items = items;
    source->kind = kind;
    source->is_narrow = false;
    return ps_number_column(source, numbered);
}

/* Keys of two words are brought side by side first, 16 bytes each, as a conversion:
 * that is what makes equal ones equal byte by byte. The memory goes when numbers are
 * there: nothing refers to it. */
static ps_status
number_one(ps_keys_call *call, ps_run *run, bool wants_codes, ps_numbered *numbered)
{
    ps_key_source source;
    int64_t nbytes = 0;
    open_source(&source, call, run);
    source.wants_codes = wants_codes;
    call->drops = call->drops || source.drops;
    const bool is_pair = source.dtype == PS_f80 || source.dtype == PS_c128;
    if (is_pair && !ps_multiply(call->n, 16, &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    char *const pairs = is_pair ? ps_scratch_get(nbytes) : NULL;
    ps_status status = is_pair && pairs == NULL ? ps_fail(PS_NO_MEMORY) : PS_SUCCESS;
    if (is_pair && pairs != NULL) {
        status = make_pairs(&source, pairs);
        source.kind = PS_KEYS_PAIRS;
        source.items = pairs;
        source.itemsize = 16;
    }
    if (status.code == PS_OK) {
        status = number_text(&source, numbered);
    }
    ps_scratch_put(pairs, nbytes);
    call->are_short = source.are_short;
    const int64_t bad = atomic_load(&source.bad);
    if (call->missing == PS_MISSING_RAISE && bad != INT64_MAX) {
        call->bad = bad;
    }
    return status;
}

/* ---- several ---- */

/* to[i] = ids[i] * n_keys + next[i], or -1 where either is missing: pairs in the order
 * of the first, then of the second. to may be either array. */
static ps_status
join_columns(ps_run *run, const int64_t *ids, const int64_t *next, int64_t n,
             int64_t n_keys, int64_t *to)
{
    ps_stretch part = ps_stretch_of(run, n, 24);
    while (ps_next_stretch(&part)) {
        for (int64_t i = part.first; i < part.last; i++) {
            to[i] = (ids[i] | next[i]) < 0 ? -1 : ids[i] * n_keys + next[i];
        }
    }
    return ps_run_status(run);
}

/* The numbers of pairs; those of -1 are missing and have none. Pairs of few keys lie
 * close together, and take the table. None are joined to the last ones: these may be
 * short. */
static ps_status
number_pairs(ps_keys_call *call, ps_run *run, int64_t *pair, bool are_last,
             ps_numbered *numbered)
{
    const int64_t stride = sizeof(int64_t);
    ps_key_column column = {.view = {.data = (char *)pair,
                                     .dtype = PS_i64,
                                     .ndim = 1,
                                     .itemsize = stride,
                                     .shape = &call->n,
                                     .strides = &stride,
                                     .aligned = true},
                            .is_coded = call->drops};
    ps_keys_call own = *call;
    ps_key_source source;
    own.column = &column;
    own.mask = NULL;
    own.missing = PS_MISSING_DROP;
    own.may_be_short = call->may_be_short && are_last;
    open_source(&source, &own, run);
    const ps_status status = ps_number_column(&source, numbered);
    call->are_short = source.are_short;
    return status;
}

/* Columns that have been joined: ids are numbers below n_codes. */
typedef struct {
    ps_keys_call *call;
    ps_run *run;
    int64_t n_codes;
    int64_t *next; /* [n]: numbers of the next column, or of pairs */
} joining;

/* The next column, numbered for itself, and then with those before it. Pairs stay codes
 * while their range is no wider than that of a column may be: then the next ones need
 * no numbers either. The last pairs are numbered in any case. */
static ps_status
add_column(joining *work, int k, ps_numbered *numbered)
{
    ps_keys_call own = *work->call;
    ps_numbered next = {0};
    int64_t codes;
    own.column += k;
    own.ids = work->next;
    ps_status status = number_one(&own, work->run, true, &next);
    const int64_t n_keys = ps_max(next.n, 1), n = own.n;
    work->call->bad = own.bad;
    work->call->drops = own.drops;
    ps_free_numbered(&next);
    PS_TRY(status);
    if (!ps_multiply(work->n_codes, n_keys, &codes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    const bool stays = k + 1 < own.n_columns && codes / 4 <= n;
    int64_t *const ids = work->call->ids;
    PS_TRY(join_columns(work->run, ids, work->next, n, n_keys,
                        stays ? ids : work->next));
    if (!stays) {
        ps_free_numbered(numbered);
        PS_TRY(number_pairs(work->call, work->run, work->next, k + 1 == own.n_columns,
                            numbered));
        codes = ps_max(numbered->n, 1);
    }
    work->n_codes = codes;
    return PS_SUCCESS;
}

/* Each column costs a pass or two over its keys and one over the pairs. An array of
 * numbers is all that is needed beside the ids: the column writes its own there, pairs
 * replace them, and the numbers of pairs are the new ids. */
static ps_status
number_all(ps_keys_call *call, ps_run *run, ps_numbered *numbered)
{
    int64_t nbytes;
    PS_TRY(number_one(call, run, call->n_columns > 1, numbered));
    if (call->n_columns == 1 || call->bad >= 0) {
        return PS_SUCCESS;
    }
    if (!ps_multiply(call->n, sizeof(int64_t), &nbytes)) {
        return ps_fail(PS_TOO_LARGE);
    }
    joining work = {call, run, ps_max(numbered->n, 1), ps_scratch_get(nbytes)};
    ps_status status = work.next != NULL ? PS_SUCCESS : ps_fail(PS_NO_MEMORY);
    ps_free_numbered(numbered);
    for (int k = 1; k < call->n_columns && status.code == PS_OK && call->bad < 0; k++) {
        status = add_column(&work, k, numbered);
    }
    ps_scratch_put(work.next, nbytes);
    return status;
}

/* first is owned by the call, whether it succeeds or not. */
ps_status
ps_number_keys(void *argument, ps_run *run)
{
    ps_keys_call *const call = argument;
    ps_numbered numbered = {0};
    call->bad = -1;
    call->drops = false;
    const ps_status status = number_all(call, run, &numbered);
    call->is_wide = call->n >= INT32_MAX;
    call->n_keys = numbered.n;
    call->first = numbered.first;
    call->first_nbytes = numbered.first_nbytes;
    return status;
}

/* What the op has left behind; closing twice does nothing more, since the pointer goes.
 */
void
ps_close_keys(ps_keys_call *call)
{
    ps_scratch_put(call->first, call->first_nbytes);
    call->first = NULL;
}
