/* What was built: kernels(), by which tests and benchmarks find all there is to try. */
#include "python/kernel_list.h"

#include "base/bins.h"
#include "kernels/kernels.h"
#include "ops/bins.h"
#include "ops/change.h"
#include "ops/values.h"

#define OP_NAME(name, ...) [PS_##name] = #name,
static const char *const reduction_names[PS_NUM_REDUCTIONS] = {
        PS_FOR_EACH_REDUCTION(OP_NAME, ~)};
#define DTYPE_NAME(name, ...) [PS_##name] = #name,
static const char *const dtype_names[PS_NUM_ALL_DTYPES] = {
        PS_FOR_EACH_DTYPE(DTYPE_NAME, ~) PS_FOR_EACH_STORED_DTYPE(DTYPE_NAME, ~)};

#define PRODUCT_NAME(name) [PS_##name] = #name,
static const char *const product_names[PS_NUM_PRODUCTS] = {
        PS_FOR_EACH_PRODUCT(PRODUCT_NAME)};

/* What kernels() lists: families with a kernel for each reduction and type, then moves
 * and truth (`op` names what they do), which are built by item size; a row for each
 * dtype has them tested by dtype. */
static const struct {
    const char *family, *op;
} listed[] = {{"scatter", NULL},     {"plan", NULL},        {"where", NULL},
              {"segment", NULL},     {"scan", NULL},        {"scatter", "set"},
              {"gather", "get"},     {"nonzero", "find"},   {"where", "select"},
              {"where", "set"},      {"where", "compress"}, {"change", "measure"},
              {"keys", "number"},    {"bins", "find"},      {"histogram", "measure"},
              {"accumulate", "add"}, {"delta", "find"},     {"quantile", "select"},
              {"spmm", NULL},        {"spmm", "sddmm"}};
enum {
    N_GRIDS = 5,
    N_LISTED = sizeof(listed) / sizeof(listed[0]),
    DOTS = N_LISTED - 1,
    PRODUCTS = N_LISTED - 2,
    QUANTILES = N_LISTED - 3,
    DELTAS = N_LISTED - 4,
    ACCUMULATIONS = N_LISTED - 5,
    HISTOGRAMS = N_LISTED - 6,
    BINS = N_LISTED - 7,
    KEYS = N_LISTED - 8,
    CHANGES = N_LISTED - 9
};

typedef void (*any_kernel)(void);

/* Types without a kernel for rows have that of lists, which has all ops. */
static any_kernel
product_at(const ps_kernel_table *kernels, int op, int dtype)
{
    if (kernels->spmm_rows[op][dtype] != NULL) {
        return (any_kernel)kernels->spmm_rows[op][dtype];
    }
    const bool is_sum = op == PS_add_times;
    return is_sum || ps_dtype_kind[dtype] != PS_KIND_COMPLEX
                   ? (any_kernel)kernels->spmm_list[dtype]
                   : NULL;
}

/* Elements of these families are measured, or their gradients added, as one of a few
 * types; bins have a kernel for each way to find them. */
static any_kernel
measure_at(const ps_kernel_table *kernels, int row, int dtype)
{
    const bool is_complex = ps_dtype_kind[dtype] == PS_KIND_COMPLEX;
    if (row == CHANGES && ps_is_measurable((enum ps_dtype)dtype)) {
        const enum ps_dtype type = ps_measured_as((enum ps_dtype)dtype);
        return type == PS_f32   ? (any_kernel)kernels->change->f32
               : type == PS_f64 ? (any_kernel)kernels->change->f64
               : type == PS_c64 ? (any_kernel)kernels->change->c64
                                : (any_kernel)kernels->change->c128;
    }
    if (row == ACCUMULATIONS) {
        return (any_kernel)kernels->accumulate[is_complex ? PS_c128 : PS_f64][dtype];
    }
    if (row == KEYS) {
        return (any_kernel)kernels->keys->canon[dtype];
    }
    if (is_complex || !ps_is_measurable((enum ps_dtype)dtype)) {
        return NULL;
    }
    const enum ps_dtype type = ps_bin_type((enum ps_dtype)dtype);
    return row == HISTOGRAMS ? (any_kernel)kernels->bins->measure[type]
           : row == BINS     ? (any_kernel)kernels->bins->find[0][type]
                             : NULL;
}

/* The kernel of a row of `listed` at a level; NULL: there is none. */
static any_kernel
kernel_at(enum ps_level level, int row, int op, int dtype)
{
    const ps_kernel_table *const kernels = ps_kernels_of(level);
    const int size = ps_size_of(ps_dtype_size[dtype]);
    const bool is_typed = row < N_GRIDS || row >= QUANTILES;
    if (is_typed ? dtype >= PS_NUM_DTYPES : ps_dtype_kind[dtype] == PS_KIND_PAIR) {
        return NULL;
    }
    switch (row) {
        case 0:
            return (any_kernel)kernels->scatter[op][dtype];
        case 1:
            return (any_kernel)kernels->plan_rows[op][dtype];
        case 2:
            return (any_kernel)kernels->masked[op][dtype];
        case 3:
            return (any_kernel)kernels->segment[op][dtype];
        case 4:
            return (any_kernel)kernels->scan_runs[op][dtype];
        case 5:
            return (any_kernel)kernels->set[size];
        case 6:
            return (any_kernel)kernels->gather[size];
        case 7:
            return (any_kernel)kernels->truth[size];
        case 8:
            return (any_kernel)kernels->where[size];
        case 9:
            return (any_kernel)kernels->where_set[size];
        case CHANGES:
        case KEYS:
        case BINS:
        case HISTOGRAMS:
        case ACCUMULATIONS:
            return measure_at(kernels, row, dtype);
        case DELTAS:
            return (any_kernel)kernels->delta->words[size];
        case QUANTILES:
            return (any_kernel)kernels->quantile_finish[dtype];
        case PRODUCTS:
            return product_at(kernels, op, dtype);
        case DOTS:
            return (any_kernel)kernels->sddmm[dtype];
        default:
            return (any_kernel)kernels->compress[size];
    }
}

static int
op_count(int row)
{
    return row == PRODUCTS ? PS_NUM_PRODUCTS : row < N_GRIDS ? PS_NUM_REDUCTIONS : 1;
}

static const char *
listed_op(int row, int op)
{
    return row == PRODUCTS ? product_names[op]
           : row < N_GRIDS ? reduction_names[op]
                           : listed[row].op;
}

/* "op dtype level" of the first that has the same kernel: levels share kernels, and so
 * do types and reductions whose arithmetic is the same. */
static PyObject *
first_with(int row, any_kernel kernel)
{
    for (int level = 0; level < PS_NUM_LEVELS; level++) {
        for (int i = 0; i < op_count(row) * PS_NUM_ALL_DTYPES; i++) {
            const int op = i / PS_NUM_ALL_DTYPES, dtype = i % PS_NUM_ALL_DTYPES;
            if (kernel_at((enum ps_level)level, row, op, dtype) == kernel) {
                return PyUnicode_FromFormat("%s %s %s", listed_op(row, op),
                                            dtype_names[dtype],
                                            ps_level_name((enum ps_level)level));
            }
        }
    }
    Py_UNREACHABLE();
}

static int
append_kernels(PyObject *list, enum ps_level level, int row)
{
    int status = 0;
    for (int i = 0; i < op_count(row) * PS_NUM_ALL_DTYPES && status == 0; i++) {
        const int op = i / PS_NUM_ALL_DTYPES, dtype = i % PS_NUM_ALL_DTYPES;
        const any_kernel kernel = kernel_at(level, row, op, dtype);
        if (kernel == NULL) {
            continue;
        }
        PyObject *const item = Py_BuildValue(
                "(ssssN)", listed[row].family, listed_op(row, op), dtype_names[dtype],
                ps_level_name(level), first_with(row, kernel));
        status = item != NULL ? PyList_Append(list, item) : -1;
        Py_XDECREF(item);
    }
    return status;
}

PyObject *
ps_py_kernels(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *const list = PyList_New(0);
    for (int i = 0; list != NULL && i < PS_NUM_LEVELS * N_LISTED; i++) {
        const enum ps_level level = (enum ps_level)(i / N_LISTED);
        if (ps_level_available(level) &&
            append_kernels(list, level, i % N_LISTED) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}
