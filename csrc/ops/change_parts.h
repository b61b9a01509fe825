/* A call of the change op made ready, and its parts (change.c, change_axes.c,
 * change_room.c, change_ways.c). */
#ifndef PS_OPS_CHANGE_PARTS_H
#define PS_OPS_CHANGE_PARTS_H

#include "ops/change.h"
#include "ops/operand.h"
#include "ops/run.h"

/* How rows and features lie in the array's C order: lines of `width` elements, of which
 * number l belongs to row l % rows and begins at feature (l / rows) * width. */
typedef struct {
    int64_t rows, width, features;
    bool has_rows, has_features, is_complex;
    bool takes_rows, takes_features; /* of those: element by element */
    int64_t items;                   /* words of 8 bytes that a part keeps for them */
} ps_change_lines;

/* False: the sizes do not fit in 64 bits. */
bool ps_change_lines_of(const ps_change_call *call, ps_change_lines *lines);

/* Into how many parts an array of n elements is cut, by its size alone, so that their
 * words need no more room than it. */
int64_t ps_change_count_parts(const ps_change_lines *lines, int64_t n, int64_t wanted);

/* Elements [first, first + n) meet the words of a part. */
void ps_change_take_lines(const ps_change_lines *lines, int64_t *words, int64_t first,
                          int64_t n, const ps_change_spread *spread);

/* Elements that belong to one row and come to *change; has_changed: some bit of theirs
 * has. */
void ps_change_take_row(const ps_change_lines *lines, int64_t *words, int64_t row,
                        const ps_change *change, bool has_changed);

/* Words of the features of real numbers. */
ps_change_columns ps_change_columns_of(const ps_change_lines *lines, int64_t *words);

/* The words of all parts, in order, become what was asked for; spoils the words. */
void ps_change_finish_lines(const ps_change_lines *lines, int64_t *words, int64_t parts,
                            const ps_change_axes *axes);

enum {
    PS_CHANGE_SMALL_ROOM = 256, /* bytes: what ten elements need of any type */
    PS_CHANGE_WIDE = 3
};

/* One call made ready. */
typedef struct {
    ps_change_call *call;
    ps_operand old, now, copy;
    ps_change_lines lines;
    enum ps_dtype type; /* what is measured: f32, f64, c64, c128 */
    bool is_half, is_wide;
    bool is_copied_first; /* blocks can be measured where they have been copied to */
    bool is_streamed;     /* the copy is written past the caches */
    bool is_over_old;     /* `copy` is `old` itself */
    int64_t n, parts, part_blocks;
    int64_t first_part;  /* of all calls */
    ps_change *change;   /* of each part */
    int64_t *words;      /* rows and features of each part */
    bool by_runs;        /* rows take runs of a block as these have been measured */
    bool by_columns;     /* features take several rows at once, after the blocks */
    const char *columns; /* the new array for them */
    int64_t nbytes;      /* of both */
    ps_change own;       /* that of a single part without words */
} ps_change_ready;

/* Buffers of a block: as it lies, as it is measured, element by element. */
typedef struct {
    char *block;
    char *old, *now;
    double *wide[PS_CHANGE_WIDE];
    ps_change_spread spread;
    uint8_t *changed;
    _Alignas(64) char small[PS_CHANGE_SMALL_ROOM];
} ps_change_room;

/* Bytes of a call's buffers; those up to PS_CHANGE_SMALL_ROOM are in the room. */
int64_t ps_change_room_nbytes(const ps_change_ready *ready);

/* Lay them in room->block, which is aligned to a line. */
void ps_change_lay_room(const ps_change_ready *ready, ps_change_room *room);

/* The kernel of what is measured. */
void ps_change_run_kernel(const ps_change_ready *ready, const ps_change_block *block,
                          ps_change *change);

/* Which rows and features need not be taken element by element. */
void ps_change_find_ways(ps_change_ready *ready);

/* Rows of a block that has come to *whole; by_runs. */
void ps_change_take_rows(const ps_change_ready *ready, const ps_change_block *block,
                         const ps_change_room *room, const ps_change *whole,
                         int64_t *words);

/* Features of elements [first, stop), whose blocks are done; by_columns. */
void ps_change_take_features(const ps_change_ready *ready, int64_t first, int64_t stop,
                             ps_run *run, const ps_change_room *room, int64_t *words);

#endif
