/* Tables in which keys are numbered, one for each stretch of the entries. */
#ifndef PS_OPS_KEYS_TABLE_H
#define PS_OPS_KEYS_TABLE_H

#include "ops/keys.h"

enum {
    PS_MOST_KEY_PARTS = 64
};

/* A stretch of the entries, numbered for itself. */
typedef struct {
    ps_key_table table;
    ps_numbered numbered;
    int64_t slot_nbytes, first, last;
    void *to; /* what its numbers are in the whole; NULL: themselves */
    int64_t to_nbytes;
} ps_key_part;

typedef struct {
    ps_run *run; /* first, for ps_run_chunks */
    ps_key_source *source;
    enum ps_key_way way;
    uint64_t low, high;           /* of all words, where they are near */
    uint64_t seen_low, seen_high; /* of those that have been looked at */
    bool is_guess;                /* or so it seems: words may lie beyond; then */
    _Atomic bool is_wrong;
    int64_t parts;
    int64_t seems;     /* as many keys there seem to be, or 0 */
    bool packs;        /* text that repeats is to be packed */
    ps_key_part *part; /* [parts] */
    ps_key_part one;
} ps_key_numbering;

enum {
    /* Entries whose room needs no memory: what operands want for a constant. */
    PS_SMALL_KEY_ROOM = PS_WORD_BITS,
    PS_KEY_ROOM_BYTES = 8 + 8 + 8 + 16
};

/* A block as it is worked on, of at most PS_KEY_BLOCK entries. */
typedef struct {
    uint64_t *word;
    int64_t *at, *id;
    char *buffer;
    char *memory; /* NULL: own */
    int64_t nbytes;
    _Alignas(64) char own[PS_SMALL_KEY_ROOM * PS_KEY_ROOM_BYTES];
} ps_key_room;

/* Room for the blocks of n entries; to be closed either way. */
ps_status ps_open_key_room(ps_key_room *room, int64_t n);
void ps_close_key_room(ps_key_room *room);

/* How a column is numbered: the way, and how many stretches. The range of near words
 * may be a guess. */
ps_status ps_choose_keys(ps_key_numbering *numbering, bool may_guess);

/* Can items be text of two words? */
bool ps_may_pack_text(const ps_key_source *source);

/* Items of such text become pairs of words, 16 n bytes that are the caller's to give
 * back; or, where a character is above 255, stay what they are, and *pairs as it was.
 */
ps_status ps_pack_text(ps_key_source *source, void **pairs);

/* Many words: a table for each bucket of them. Where the source is hostile after it
 * there is no result. */
ps_status ps_number_spread(ps_key_numbering *numbering, ps_numbered *numbered);

/* Keys that are near, numbered in their order. The parts are closed by the caller. */
ps_status ps_number_near(ps_key_numbering *numbering, ps_numbered *numbered);

/* Codes instead of numbers: distances from the least word, of which some may not occur;
 * numbered->n is their range, and there are no first entries. */
ps_status ps_code_near(ps_key_numbering *numbering, ps_numbered *numbered);

/* Room for `room` keys in a part whose stretch is known, and an empty table; 0: places
 * alone, of near words. Memory that is not used is not touched. To be closed either
 * way.
 */
ps_status ps_open_part(const ps_key_numbering *work, ps_key_part *part, int64_t room);
void ps_close_part(ps_key_part *part);

/* An empty table of `places` in a part that had another one or none, for keys that are
 * to be noted in word and first, which stay the caller's. */
ps_status ps_begin_table(const ps_key_numbering *work, ps_key_part *part,
                         uint64_t *word, void *first, int64_t places);

/* The table goes, numbers stay. */
void ps_free_places(ps_key_part *part);

/* n keys become numbers, id [n]: those of entries at[i], or base + i. Where the source
 * is hostile after it, they have not. */
ps_status ps_number_block(const ps_key_numbering *work, ps_key_part *part,
                          const uint64_t *word, int64_t n, const int64_t *at,
                          int64_t base, int64_t *id);

#endif
