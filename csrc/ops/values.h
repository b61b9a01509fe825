/* Values as kernels want them: contiguous rows of one type, packed where they are not.
 */
#ifndef PS_OPS_VALUES_H
#define PS_OPS_VALUES_H

#include "ops/ops.h"

/* The item size as the kernels' tables count it, or -1 where only memcpy serves. */
int ps_size_of(int64_t itemsize);

/* Can ps_convert turn `from` into `to`? NumPy has to do the other casts beforehand. */
bool ps_can_convert(enum ps_dtype from, enum ps_dtype to);

/* The largest finite number of a type of floats, or of a complex one's parts, that is
 * narrower than f64; INFINITY for all other types. */
double ps_largest_float(enum ps_dtype type);

/* to[i] = from[i], n items: `to` contiguous, native and aligned, `from` strided in
 * either byte order. `itemsize` is that of `from`. */
void ps_convert(enum ps_dtype to_type, char *to, enum ps_dtype from_type,
                int64_t itemsize, bool swapped, const char *from, int64_t stride,
                int64_t n);

/* to[i] = from[i] the other way: `from` contiguous, native; `to` strided, either order.
 */
void ps_store(enum ps_dtype to_type, int64_t itemsize, bool swapped, char *to,
              int64_t stride, enum ps_dtype from_type, const char *from, int64_t n);

/* n booleans side by side that were moved as bytes: whatever is true becomes 1. */
void ps_settle_booleans(char *data, int64_t n);

/* How the axes behind an entry fall into rows: the last axes form `width` elements that
 * are contiguous in the target; the first `n_outer` ones are walked around the kernels.
 */
typedef struct {
    int n_outer;
    int64_t outer_count;
    int64_t width;
} ps_row_split;

/* Merge row axes that move together and split them. in_values: the width has to be
 * contiguous in the values (the output of a gather) as well. */
ps_row_split ps_split_rows(ps_rows *rows, int64_t itemsize, bool in_values);

/* Offsets of the outer row number `outer` in target and values. */
void ps_outer_offsets(const ps_rows *rows, const ps_row_split *split, int64_t outer,
                      int64_t *target, int64_t *value);

/* The values of a call beside its address and rows: can kernels read them in place? */
typedef struct {
    const ps_address *address;
    const ps_rows *rows;
    const ps_values *values;
    ps_row_split split;
    enum ps_dtype type; /* what kernels work in */
    bool packs;
    int64_t stride;        /* from entry to entry as kernels see them, packed or not */
    bool is_constant;      /* packed rows do not depend on the entry */
    int64_t column, width; /* the part of a row that is wanted: at first all of it */
} ps_value_source;

ps_value_source ps_value_source_of(const ps_address *address, const ps_rows *rows,
                                   const ps_values *values, ps_row_split split,
                                   enum ps_dtype type);

/* The same for some columns of each row. */
ps_value_source ps_narrow_values(const ps_value_source *source, int64_t column,
                                 int64_t width);

/* Bytes that packing n entries needs; 0 where values are read in place. */
int64_t ps_packed_nbytes(const ps_value_source *source, int64_t n);

/* Where kernels find the values of entries [first, first + n) in the columns of the
 * source, of the outer row with `value_offset`: in place, or packed into `buffer`. */
const char *ps_block_values(const ps_value_source *source, int64_t first, int64_t n,
                            int64_t value_offset, char *buffer);

#endif
