/* Products of complex numbers under a mask (contract in products.h).
 *
 * Elsewhere an entry that is left out holds the identity, which changes no bit. Nothing
 * is that for complex products: inf + 1j times 1 + 0j is inf + nan j. So here it is
 * skipped, and so is a lane to which nothing came. The order of all others is that of
 * kernels/segment.tmpl.h, so a mask that leaves nothing out changes no bit.
 *
 * Invariant: a row is read only where the mask says that its entry takes part, and only
 * after its number has been checked.
 *
 * One thread takes element after element. To compress the entries first would put them
 * into other lanes; kernels with a flag for each lane would double those of segments,
 * for a call that nobody times.
 */
#include "ops/products.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/run.h"
#include "ops/values.h"

enum {
    /* Those of a block of single elements, as everywhere: kernels/segment.tmpl.h. */
    LANES = 16
};

/* A product so far, or none. */
typedef struct {
    _Alignas(16) char item[16];
    bool is_live;
} product;

/* one = one * other, (ac - bd, ad + bc) as in kernels/combine.tmpl.h; what is not there
 * leaves the other as it is. */
static void
join(enum ps_dtype type, product *one, const product *other)
{
    if (!one->is_live || !other->is_live) {
        *one = one->is_live ? *one : *other;
        return;
    }
    if (type == PS_c64) {
        c64 *const a = (c64 *)(void *)one->item,
                   b = *(const c64 *)(const void *)other->item;
        *a = (c64){a->re * b.re - a->im * b.im, a->re * b.im + a->im * b.re};
    }
    else {
        c128 *const a = (c128 *)(void *)one->item,
                    b = *(const c128 *)(const void *)other->item;
        *a = (c128){a->re * b.re - a->im * b.im, a->re * b.im + a->im * b.re};
    }
}

/* Element j of entry e of an outer place whose values and mask begin there, as a number
 * of the type of products, or none where the mask leaves it out, whose row need not
 * exist. Rows are checked in a register; false where one does not exist. */
static bool
take(const ps_segment_call *call, const char *values, const char *mask, int64_t e,
     int64_t j, product *term)
{
    int64_t row = e;
    term->is_live = mask[e * call->mask_entry + j * call->mask_element] != 0;
    if (!term->is_live) {
        return true;
    }
    if (call->gather.data != NULL) {
        const ps_index *const gather = &call->gather;
        ps_kernels()->rows[gather->type](PS_MODE_RAISE, &row,
                                         gather->data + e * gather->strides[0], 1, 0,
                                         gather->size);
    }
    if (row >= 0) {
        ps_convert(call->type, term->item, call->dtype, call->itemsize, call->swapped,
                   values + row * call->row_stride + j * call->itemsize, 0, 1);
    }
    return row >= 0;
}

/* Entries [first, last) of one column into `whole`: single elements in blocks of lanes
 * that are joined by halves, wide rows from first to last. A lane that stays empty
 * takes no part in the halving, and a block without entries none in the whole. */
static bool
fold_column(const ps_segment_call *call, const char *values, const char *mask,
            int64_t first, int64_t last, int64_t j, product *whole)
{
    product lane[LANES], term;
    if (call->width > 1) {
        for (int64_t e = first; e < last; e++) {
            if (!take(call, values, mask, e, j, &term)) {
                return false;
            }
            join(call->type, whole, &term);
        }
        return true;
    }
    for (int64_t block = first; block < last; block += PS_FOLD_BLOCK) {
        const int64_t end = ps_min(last, block + PS_FOLD_BLOCK);
        memset(lane, 0, sizeof(lane));
        for (int64_t e = block; e < end; e++) {
            if (!take(call, values, mask, e, j, &term)) {
                return false;
            }
            join(call->type, &lane[(e - block) % LANES], &term);
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int i = 0; i < half; i++) {
                join(call->type, &lane[i], &lane[i + half]);
            }
        }
        join(call->type, whole, &lane[0]);
    }
    return true;
}

/* Limit number s, -1 where it is none of n_entries. */
static int64_t
limit(const ps_segment_call *call, const ps_index *index, int64_t s)
{
    int64_t value;
    ps_kernels()->rows[index->type](PS_MODE_DROP, &value,
                                    index->data + s * index->strides[0], 1, 0,
                                    call->n_entries + 1);
    return value;
}

/* All segments at one outer place: out (n_segments, width). Limits and rows are checked
 * as they are read, which is all that the caller has to know of a bad one. */
static ps_status
fold_place(const ps_segment_call *call, ps_run *run, const char *values,
           const char *mask, char *out)
{
    const int64_t size = ps_dtype_size[call->type];
    int64_t unheard = 0;
    for (int64_t s = 0; s < call->n_segments; s++) {
        const int64_t first = limit(call, &call->start, s);
        const int64_t last = limit(call, &call->stop, s);
        if (first < 0 || last < first) {
            return ps_fail(PS_INDEX_BAD);
        }
        for (int64_t j = 0; j < call->width; j++) {
            char *const to = out + (s * call->width + j) * size;
            product whole = {.is_live = call->goes_on};
            memcpy(whole.item, to, (size_t)size);
            if (!fold_column(call, values, mask, first, last, j, &whole)) {
                return ps_fail(PS_INDEX_BAD);
            }
            memcpy(to, whole.is_live ? whole.item : (const char *)call->empty,
                   (size_t)size);
            if (ps_run_stops_after(run, &unheard, (last - first + 1) * PS_LINE_BYTES)) {
                return ps_run_status(run);
            }
        }
    }
    return PS_SUCCESS;
}

/* One outer place after the other; out is fresh, or holds what every segment starts
 * from. */
ps_status
ps_multiply_some(const ps_segment_call *call, ps_run *run)
{
    const int64_t nbytes = call->n_segments * call->width * ps_dtype_size[call->type];
    for (int64_t outer = 0; outer < call->n_outer; outer++) {
        const char *values = call->values;
        int64_t rest = outer;
        for (int i = call->outer_ndim - 1; i >= 0; i--) {
            values += rest % call->outer_shape[i] * call->outer_strides[i];
            rest /= call->outer_shape[i];
        }
        PS_TRY(fold_place(call, run, values, call->mask + outer * call->mask_outer,
                          call->out + outer * nbytes));
    }
    return PS_SUCCESS;
}
