/* Stamps the products of sparse and dense matrices (spmm.tmpl.h, spmm_list.tmpl.h,
 * sddmm.tmpl.h).
 *
 * Rows in registers have instances where a product is a few instructions and people
 * wait for it; all other types and ways to meet take the lists, whose instance for a
 * type holds all of these. Sums and products of integers give the same bits with a sign
 * and without. */
#include "kernels/stamps.h"

#include "kernels/checked.h"
#include "kernels/vectors.h"

#include "kernels/dots.h"

/* Cache lines of columns that registers hold: half of these, or more where there are
 * enough for the products beside them. Complex products and comparisons need registers
 * of their own. */
/* clang-format off */
#define FOR_FEW_LINES(X, op, dtype) X(op, dtype, 1) X(op, dtype, 2)
#if defined(ISA_HAS_AVX512)
#define FOR_EACH_LINES(X, op, dtype) FOR_FEW_LINES(X, op, dtype) X(op, dtype, 4) X(op, dtype, 8)
#elif defined(ISA_HAS_AVX2)
#define FOR_EACH_LINES(X, op, dtype) FOR_FEW_LINES(X, op, dtype) X(op, dtype, 4)
#else
#define FOR_EACH_LINES FOR_FEW_LINES
#endif
/* clang-format on */

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/spmm.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/spmm_list.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/sddmm.tmpl.h"
#include "kernels/foreach_dtype.h"

typedef int64_t rows_kernel(const ps_sparse_rows *m, char *out, const int64_t *edge,
                            int64_t n);

/* All columns of n rows: 2^k lines of them, lines[k], before the next are begun. Lines
 * beyond those that are asked for follow from row to row, which the processor sees. */
TEMPLATE_INLINE int64_t
spmm_all_lines(rows_kernel *const *lines, const int powers, rows_kernel *rest,
               const ps_sparse_rows *m, const int64_t itemsize, char *out,
               const int64_t *edge, int64_t n)
{
    ps_sparse_rows part = *m;
    const int64_t nbytes = m->width * itemsize;
    int64_t done = 0, bad = -1;
    for (int k = powers - 1; k >= 0; k--) {
        const int64_t step = (int64_t)CACHE_LINE << k;
        for (; bad < 0 && nbytes - done >= step; done += step) {
            part.x = m->x + done;
            part.asked = done < m->asked ? m->asked : 0;
            bad = lines[k](&part, out + done, edge, n);
        }
    }
    if (bad < 0 && done < nbytes) {
        part.x = m->x + done;
        part.asked = done < m->asked ? m->asked : 0;
        part.width = (nbytes - done) / itemsize;
        bad = rest(&part, out + done, edge, n);
    }
    return bad;
}

/* Row i of out, out_step bytes from the one before, has entries [edge[i], edge[i + 1])
 * and begins at `start`, or, where that is NULL, at what it holds. edge [n + 1] has
 * been checked; it never decreases. Returns -1, or the first entry whose column is out
 * of bounds, when the rows hold anything.
 *
 * All rows meet some lines of columns, then all of them the next: so each row of x is
 * asked for by the loop that uses it, as far as that uses it. 128 columns of float32
 * take 60 ms; 90 where stretches of a row's entries meet all columns in turn (1.17e6
 * entries in 169,000 rows, Zen 3). Rows of more than WIDE_BYTES do it in stretches of
 * about WIDE_ENTRIES entries: 1024 columns then take 55 ms, in all rows 70 (200,000
 * entries in 20,000 rows). */
TEMPLATE_INLINE int64_t
spmm_rows_by_lines(rows_kernel *const *lines, const int powers, rows_kernel *rest,
                   const ps_sparse_rows *m, const int64_t itemsize, char *out,
                   const int64_t *edge, int64_t n)
{
    enum {
        WIDE_BYTES = 1024,
        WIDE_ENTRIES = 16
    };
    const bool by_stretches = m->width * itemsize > WIDE_BYTES;
    int64_t bad = -1;
    for (int64_t i = 0, next; i < n && bad < 0; i = next) {
        next = by_stretches ? i + 1 : n;
        while (next < n && edge[next + 1] - edge[i] <= WIDE_ENTRIES) {
            next++;
        }
        bad = spmm_all_lines(lines, powers, rest, m, itemsize, out + i * m->out_step,
                             edge + i, next - i);
    }
    return bad;
}

/* clang-format off */
#define STRING_(text) #text
#define STRING(text) STRING_(text)
/* A function of a kernel's own, to which symbols say that it belongs. */
#define ROWS_PART(part, op, dtype)                                                      \
    OF_UNIT int64_t NAME(part, op, dtype)(const ps_sparse_rows *m, char *out,           \
                                          const int64_t *edge, int64_t n)               \
        __asm__(STRING(NAME(spmm_rows, op, dtype)) "." #part);                          \
    OF_UNIT __attribute__((noinline)) int64_t NAME(part, op, dtype)(                    \
            const ps_sparse_rows *m, char *out, const int64_t *edge, int64_t n)
#define LINES_INSTANCE(op, dtype, lines)                                                \
    ROWS_PART(spmm_lines_##lines, op, dtype)                                            \
    { enum { LINE = CACHE_LINE / sizeof(dtype) };                                       \
      return m->is_wide ? spmm_lines_##dtype(PS_##op, true, lines, LINE, m, out, edge, n)   \
                        : spmm_lines_##dtype(PS_##op, false, lines, LINE, m, out, edge, n); }
#define NARROW_INSTANCE(name, op, dtype)                                                \
    ROWS_PART(name, op, dtype)                                                          \
    { return m->is_wide ? name##_##dtype(PS_##op, true, m, out, edge, n)                \
                        : name##_##dtype(PS_##op, false, m, out, edge, n); }
#define COMMA_NAME(op, dtype, lines) NAME(spmm_lines_##lines, op, dtype),
#define ROWS_INSTANCE(op, dtype, for_each_lines)                                        \
    NARROW_INSTANCE(spmm_column, op, dtype) NARROW_INSTANCE(spmm_rest, op, dtype)       \
    for_each_lines(LINES_INSTANCE, op, dtype)                                           \
    OF_UNIT int64_t NAME(spmm_rows, op, dtype)(const ps_sparse_rows *m, char *out,      \
                                               const int64_t *edge, int64_t n)          \
    { static rows_kernel *const lines[] = {for_each_lines(COMMA_NAME, op, dtype)};      \
      const int powers = sizeof(lines) / sizeof(lines[0]);                              \
      const int64_t itemsize = sizeof(dtype);                                           \
      const bool is_column = m->width == 1 && m->x_step == itemsize && m->data_step == itemsize; \
      return is_column ? NAME(spmm_column, op, dtype)(m, out, edge, n)                  \
                       : spmm_rows_by_lines(lines, powers, NAME(spmm_rest, op, dtype),  \
                                            m, itemsize, out, edge, n); }
#define SUM_ROWS_INSTANCE(op, dtype) ROWS_INSTANCE(op, dtype, FOR_EACH_LINES)
#define OTHER_ROWS_INSTANCE(op, dtype) ROWS_INSTANCE(op, dtype, FOR_FEW_LINES)
#define FOR_EACH_SUM(X)                                                                 \
    X(add_times, u32) X(add_times, u64) X(add_times, f32) X(add_times, f64)
#define FOR_EACH_OTHER(X)                                                               \
    X(add_times, c64) X(add_times, c128)                                                \
    X(min_times, f32) X(min_times, f64) X(max_times, f32) X(max_times, f64)
FOR_EACH_SUM(SUM_ROWS_INSTANCE)
FOR_EACH_OTHER(OTHER_ROWS_INSTANCE)

#define SLICES_OF(dtype, is_column)                                                     \
    m->is_wide ? spmm_slices_##dtype(PS_add_times, true, is_column, m, out, edge, n)    \
               : spmm_slices_##dtype(PS_add_times, false, is_column, m, out, edge, n)
/* The loop over single columns is called, or it would share registers with the other. */
#define SLICES_INSTANCE(dtype)                                                          \
    OF_UNIT __attribute__((noinline)) int64_t NAME(spmm_slices, column, dtype)(         \
            const ps_sparse_rows *m, char *out, const int64_t *edge, int64_t n)         \
    { return SLICES_OF(dtype, true); }                                                  \
    OF_UNIT int64_t NAME(spmm_slices, add_times, dtype)(const ps_sparse_rows *m, char *out, \
                                                        const int64_t *edge, int64_t n) \
    { const bool is_plain = m->data_step == sizeof(dtype) && m->out_step == sizeof(dtype);  \
      return m->width == 1 && is_plain ? NAME(spmm_slices, column, dtype)(m, out, edge, n)  \
                                       : (SLICES_OF(dtype, false)); }
#define FOR_EACH_SLICES(X) X(f32) X(f64) X(c64) X(c128)
FOR_EACH_SLICES(SLICES_INSTANCE)

#define LIST_INSTANCES(dtype)                                                           \
    OF_UNIT void NAME(spmm_list, any, dtype)(enum ps_product op, const ps_sparse_rows *m,   \
                                             char *out, const ps_triplets *list)         \
    { switch (op) {                                                                     \
        case PS_add_times: spmm_list_##dtype(PS_add_times, m, out, list); return;       \
        case PS_min_times: spmm_list_##dtype(PS_min_times, m, out, list); return;       \
        case PS_max_times: spmm_list_##dtype(PS_max_times, m, out, list); return;       \
        case PS_min_plus: spmm_list_##dtype(PS_min_plus, m, out, list); return;         \
        default: spmm_list_##dtype(PS_max_plus, m, out, list); } }
#define SUM_LIST_INSTANCES(dtype)                                                       \
    OF_UNIT void NAME(spmm_list, any, dtype)(enum ps_product op, const ps_sparse_rows *m,   \
                                             char *out, const ps_triplets *list)         \
    { (void)op; spmm_list_##dtype(PS_add_times, m, out, list); }
#define TYPE_INSTANCES(dtype)                                                           \
    OF_UNIT void NAME(spmm_finish, any, dtype)(const ps_row_finish *finish, char *out,  \
                                               char *sum,       const int64_t *edge,    \
                                               int64_t n)                               \
    { spmm_finish_##dtype(finish, out, sum, edge, n); }                                 \
    OF_UNIT void NAME(sddmm, dot, dtype)(const ps_dots *dots, char *out,                \
                                         const int64_t *row, const int64_t *col, int64_t n) \
    { sddmm_##dtype(dots, out, row, col, n); }
#define FOR_EACH_REAL_TYPE(X) X(b1) X(i8) X(u8) X(i16) X(u16) X(i32) X(u32) X(i64) X(u64) X(f32) X(f64)
FOR_EACH_REAL_TYPE(LIST_INSTANCES)
SUM_LIST_INSTANCES(c64)
SUM_LIST_INSTANCES(c128)
#define FOR_EACH_UNSIGNED(X) X(b1) X(u8) X(u16) X(u32) X(u64) X(f32) X(f64) X(c64) X(c128)
FOR_EACH_UNSIGNED(TYPE_INSTANCES)

const GRID_OF(spmm_rows, PS_NUM_PRODUCTS) = {
    [PS_add_times] = {
        [PS_i32] = NAME(spmm_rows, add_times, u32), [PS_u32] = NAME(spmm_rows, add_times, u32),
        [PS_i64] = NAME(spmm_rows, add_times, u64), [PS_u64] = NAME(spmm_rows, add_times, u64),
        [PS_f32] = NAME(spmm_rows, add_times, f32), [PS_f64] = NAME(spmm_rows, add_times, f64),
        [PS_c64] = NAME(spmm_rows, add_times, c64), [PS_c128] = NAME(spmm_rows, add_times, c128)},
    [PS_min_times] = {
        [PS_f32] = NAME(spmm_rows, min_times, f32), [PS_f64] = NAME(spmm_rows, min_times, f64)},
    [PS_max_times] = {
        [PS_f32] = NAME(spmm_rows, max_times, f32), [PS_f64] = NAME(spmm_rows, max_times, f64)}};

/* All types with numbers: the instance of the type, or of the one without a sign. */
#define SIGNED_CELLS(name, op)                                                          \
    [PS_i8] = NAME(name, op, u8), [PS_i16] = NAME(name, op, u16),                       \
    [PS_i32] = NAME(name, op, u32), [PS_i64] = NAME(name, op, u64),                     \
    [PS_b1] = NAME(name, op, b1), [PS_u8] = NAME(name, op, u8),                         \
    [PS_u16] = NAME(name, op, u16), [PS_u32] = NAME(name, op, u32),                     \
    [PS_u64] = NAME(name, op, u64), [PS_f32] = NAME(name, op, f32),                     \
    [PS_f64] = NAME(name, op, f64), [PS_c64] = NAME(name, op, c64),                     \
    [PS_c128] = NAME(name, op, c128)
#define OWN_SLICES(dtype) [PS_##dtype] = NAME(spmm_slices, add_times, dtype),
const GRID_OF(spmm_slices, PS_NUM_DTYPES) = {FOR_EACH_SLICES(OWN_SLICES)};
#define OWN_LIST(dtype) [PS_##dtype] = NAME(spmm_list, any, dtype),
const GRID_OF(spmm_list, PS_NUM_DTYPES) = {
    FOR_EACH_REAL_TYPE(OWN_LIST) OWN_LIST(c64) OWN_LIST(c128)};
const GRID_OF(spmm_finish, PS_NUM_DTYPES) = {SIGNED_CELLS(spmm_finish, any)};
const GRID_OF(sddmm, PS_NUM_DTYPES) = {SIGNED_CELLS(sddmm, dot)};
/* clang-format on */
