/* The reductions of segments that one fold answers: names, kinds, dtypes. */
#ifndef PS_PYTHON_REDUCTIONS_H
#define PS_PYTHON_REDUCTIONS_H

#include "python/core.h"

/* What is folded. */
enum ps_folded {
    PS_FOLD_VALUES,
    PS_FOLD_TRUTH,  /* of the values, as bools */
    PS_FOLD_ONES,   /* one for each entry */
    PS_FOLD_ENDS,   /* nothing: the first or the last of the values is moved */
    PS_FOLD_PLACES, /* nothing: the numbers of the entries that win are the result */
    PS_FOLD_ORDER,  /* nothing: order statistics of the values are the result */
    PS_FOLD_POWERS, /* e to the values; the logarithm of the sums is the result */
    PS_FOLD_RUNNING /* values, and what each entry has come to is the result */
};

typedef struct {
    const char *name;
    enum ps_op fold;
    enum ps_folded of;
    bool divides;      /* the sum by the count */
    const char *kinds; /* of dtypes as NumPy says them; "V" is bfloat16 */
    bool spreads;      /* squares about the mean are the result, ... */
    bool roots;        /* ... or the root of their mean */
    bool needs_levels; /* numbers from 0 to 1 say which order statistics */
} ps_reduction;

/* What a call computes in and what it returns. */
typedef struct {
    PyArray_Descr *result, *sum; /* owned */
    enum ps_dtype result_type, sum_type;
} ps_fold_types;

/* Is it min, max, fmin or fmax? */
bool ps_is_order(enum ps_op op);

/* The row of a name, an alias or a ufunc, NULL: of add; NULL with an exception. */
const ps_reduction *ps_find_reduction(const ps_state *state, PyObject *op);

/* The row of its own name; NULL where there is none. */
const ps_reduction *ps_reduction_named(const char *name);

/* The types for values of dtype `given`, where `dtype` is what the caller names, or
 * NULL. PS_raw: values that are moved, as what is not of numbers. 0, or -1 with an
 * exception. To be closed in any case. */
int ps_find_types(ps_state *state, const ps_reduction *reduction, PyArray_Descr *given,
                  PyObject *dtype, ps_fold_types *types);

void ps_close_types(ps_fold_types *types);

#endif
