/* An array beside a mask: its elements in C order as kernels want them, side by side,
 * in one type and native byte order, a block at a time. */
#ifndef PS_OPS_OPERAND_H
#define PS_OPS_OPERAND_H

#include "kernels/kernels.h"
#include "ops/ops.h"

enum {
    /* Elements of a block: four buffers of float64 stay in the second cache, and the
     * start of a block costs little beside it. */
    PS_OPERAND_BLOCK = 2048
};

/* Axes that move together are merged and those of length 1 left out. */
typedef struct {
    char *data;
    int ndim;
    int64_t shape[PS_MAX_DIMS];
    int64_t strides[PS_MAX_DIMS];
    int64_t itemsize;
    enum ps_dtype dtype;
    enum ps_dtype type; /* what kernels are to see */
    bool swapped;
    bool is_ready;    /* elements are what kernels are to see as they lie */
    bool is_flat;     /* and all of them lie side by side, or they are constant */
    bool is_constant; /* one element for all of them, of which `item` holds a block */
    _Alignas(64) char item[PS_WORD_BITS * 16];
} ps_operand;

/* ps_can_convert(view->dtype, type), and an item size that the kernels' tables have. */
void ps_operand_open(ps_operand *operand, const ps_view *view, enum ps_dtype type);

/* Bytes of buffer that a block needs; 0 where it is never used. */
int64_t ps_operand_nbytes(const ps_operand *operand);

/* Elements [first, first + n), n <= PS_OPERAND_BLOCK unless is_flat: where they lie
 * when that is possible, else in `buffer`. *step: by how many items kernels go on from
 * block to block of a mask, PS_WORD_BITS, or 0 where as many equal ones stand for all.
 */
const char *ps_operand_block(const ps_operand *operand, int64_t first, int64_t n,
                             char *buffer, int64_t *step);

/* Kernels cannot read the elements as they lie: pack them. */
void ps_operand_pack(ps_operand *operand);

/* Where element `first` lies, and how many from there on lie one *stride apart. */
char *ps_operand_run(const ps_operand *operand, int64_t first, int64_t *n,
                     int64_t *stride);

/* The other way: elements [first, first + n) become those side by side at `from`. No
 * conversion: dtype == type, native. */
void ps_operand_store(const ps_operand *operand, int64_t first, int64_t n,
                      const char *from);

#endif
