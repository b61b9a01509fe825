/* A call of the change op made ready, and its parts (change.c, change_axes.c). */
#ifndef PS_OPS_CHANGE_PARTS_H
#define PS_OPS_CHANGE_PARTS_H

#include "ops/change.h"
#include "ops/operand.h"

/* How rows and features lie in the array's C order: lines of `width` elements, of which
 * number l belongs to row l % rows and begins at feature (l / rows) * width. */
typedef struct {
    int64_t rows, width, features;
    bool has_rows, has_features, is_complex;
    int64_t items; /* words of 8 bytes that a part keeps for them */
} ps_change_lines;

/* False: the sizes do not fit in 64 bits. */
bool ps_change_lines_of(const ps_change_call *call, ps_change_lines *lines);

/* Into how many parts an array of n elements is cut, by its size alone, so that their
 * words need no more room than it. */
int64_t ps_change_count_parts(const ps_change_lines *lines, int64_t n, int64_t wanted);

/* Elements [first, first + n) meet the words of a part. */
void ps_change_take_lines(const ps_change_lines *lines, int64_t *words, int64_t first,
                          int64_t n, const ps_change_spread *spread);

/* The words of all parts, in order, become what was asked for; spoils the words. */
void ps_change_finish_lines(const ps_change_lines *lines, int64_t *words, int64_t parts,
                            const ps_change_axes *axes);

#endif
