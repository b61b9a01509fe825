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
 * enough for the products beside them. */
#if defined(ISA_HAS_AVX512)
#define LINES 8
#elif defined(ISA_HAS_AVX2)
#define LINES 4
#else
#define LINES 2
#endif

#define TEMPLATE "kernels/combine.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/spmm.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/spmm_list.tmpl.h"
#include "kernels/foreach_dtype.h"
#define TEMPLATE "kernels/sddmm.tmpl.h"
#include "kernels/foreach_dtype.h"

/* clang-format off */
#define ROWS_INSTANCE(op, dtype)                                                        \
    OF_UNIT int64_t NAME(spmm_rows, op, dtype)(const ps_sparse_rows *m, char *out,      \
                                               const int64_t *edge, int64_t n)          \
    { return m->is_wide ? spmm_rows_##dtype(PS_##op, true, m, out, edge, n)             \
                        : spmm_rows_##dtype(PS_##op, false, m, out, edge, n); }
#define FOR_EACH_ROWS(X)                                                                \
    X(add_times, u32) X(add_times, u64) X(add_times, f32) X(add_times, f64)             \
    X(add_times, c64) X(add_times, c128)                                                \
    X(min_times, f32) X(min_times, f64) X(max_times, f32) X(max_times, f64)
FOR_EACH_ROWS(ROWS_INSTANCE)

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
