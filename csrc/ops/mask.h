/* Conditions as kernels want them: contiguous mask bytes, of which every non-zero one
 * is true, from an array of any number type, layout and byte order. */
#ifndef PS_OPS_MASK_H
#define PS_OPS_MASK_H

#include "ops/ops.h"

enum {
    /* Elements of a block that suits the first cache: the caller's buffer has room for
     * so many bytes. A multiple of 64. */
    PS_MASK_BLOCK = 4096
};

/* An array whose elements are asked whether they are true; axes that move together are
 * merged and those of length 1 left out. */
typedef struct {
    const char *data;
    int ndim;
    int64_t shape[PS_MAX_DIMS];
    int64_t strides[PS_MAX_DIMS];
    int64_t n;     /* elements */
    int size;      /* of an element, as the kernels' tables count it */
    bool is_bytes; /* elements are mask bytes already */
    bool is_contiguous;
    _Alignas(16) char bits[16]; /* an element is true when one is set; repeated */
} ps_mask_source;

/* The view's type must be a number (not PS_raw); it has less than 2^63 elements. */
void ps_mask_open(ps_mask_source *source, const ps_view *view);

/* Mask bytes of the elements [first, first + n) in C order, n <= PS_MASK_BLOCK: where
 * they lie when that is possible, else in `buffer`, as 0 and 1. */
const char *ps_mask_block(const ps_mask_source *source, int64_t first, int64_t n,
                          char *buffer);

/* word[i] = truth of the elements first + 64 i, ... in C order, n of them; bits beyond
 * are 0. word has room for n / 64 words, rounded up. Returns the number of true ones.
 */
int64_t ps_mask_words(const ps_mask_source *source, int64_t first, int64_t n,
                      uint64_t *word);

/* The number of true ones among the elements [first, first + n), n <= PS_MASK_BLOCK. */
int64_t ps_mask_count(const ps_mask_source *source, int64_t first, int64_t n);

/* to[k] = base + place of the k-th true byte of mask [n], n <= PS_MASK_BLOCK; to has
 * room for all of them and may have no more. Returns their number. */
int64_t ps_mask_positions(int64_t *to, const char *mask, int64_t n, int64_t base);

/* Elements of a chunk of n that move `nbytes` each, mask byte included: whole words of
 * the mask; at least four chunks for each thread where threads pay. */
int64_t ps_mask_chunk(int64_t n, int64_t nbytes, int threads);

#endif
