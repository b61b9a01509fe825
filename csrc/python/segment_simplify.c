/* What folds of segments have no way for, brought to what they do (contract in
 * segment_call.h): elements chosen among rows that gather= lists, or among entries of
 * several axes; values that are missing; weights that kernels do not know. */
#include "python/segment_call.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/numbers.h"
#include "python/py_gather.h"

int
ps_check_listed_rows(ps_reduce *reduce)
{
    const npy_intp n_rows = PyArray_DIM(reduce->values, reduce->axis);
    const ps_status status = ps_check_numbers(reduce->state, reduce->gather,
                                              reduce->named, PS_MODE_RAISE, n_rows);
    if (ps_raise(reduce->state, status, "gather") < 0) {
        return -1;
    }
    if (n_rows > 0 || PyArray_SIZE(reduce->gather) == 0) {
        return 0;
    }
    npy_intp shape[PS_MAX_DIMS];
    const int ndim = PyArray_NDIM(reduce->values);
    memcpy(shape, PyArray_DIMS(reduce->values), (size_t)ndim * sizeof(npy_intp));
    shape[reduce->axis] = 1;
    PyArray_Descr *const descr = PyArray_DESCR(reduce->values);
    Py_INCREF(descr);
    Py_SETREF(reduce->values, (PyArrayObject *)PyArray_Zeros(ndim, shape, descr, 0));
    return reduce->values != NULL ? 0 : -1;
}

/* values[gather] in place of both. */
static int
gather_rows(ps_reduce *reduce)
{
    PyArrayObject *const gather = reduce->gather;
    if (ps_check_listed_rows(reduce) < 0) {
        return -1;
    }
    Py_SETREF(reduce->values,
              ps_gather_rows(reduce->state, reduce->values, gather, reduce->axis,
                             reduce->batch_dims, reduce->named, PS_MODE_RAISE));
    reduce->n_own = PyArray_NDIM(gather) - reduce->batch_dims;
    Py_CLEAR(reduce->gather);
    return reduce->values != NULL ? 0 : -1;
}

/* `own` axes of an array from `at` on as one, or one of length 1 where there is none.
 */
static int
merge_axes(PyArrayObject **array, int at, int own)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int ndim = PyArray_NDIM(*array);
    int n = 0;
    for (int i = 0; i < at; i++) {
        shape[n++] = PyArray_DIM(*array, i);
    }
    shape[n] = 1;
    for (int i = at; i < at + own; i++) {
        shape[n] *= PyArray_DIM(*array, i);
    }
    n++;
    for (int i = at + own; i < ndim; i++) {
        shape[n++] = PyArray_DIM(*array, i);
    }
    PyArray_Dims dims = {shape, n};
    Py_SETREF(*array, (PyArrayObject *)PyArray_Newshape(*array, &dims, NPY_CORDER));
    return *array != NULL ? 0 : -1;
}

/* Entries along several axes, or none, lie along one. */
static int
merge_entries(ps_reduce *reduce)
{
    const int own = reduce->n_own, batch = reduce->batch_dims;
    PyArrayObject **const along[] = {&reduce->ids, &reduce->named, &reduce->weights};
    reduce->n_own = 1;
    for (int i = 0; i < 3; i++) {
        if (*along[i] != NULL && merge_axes(along[i], batch, own) < 0) {
            return -1;
        }
    }
    if (reduce->mask != NULL && !reduce->is_fine) {
        Py_SETREF(reduce->mask, (PyArrayObject *)Py_NewRef((PyObject *)reduce->named));
    }
    return (reduce->is_fine && merge_axes(&reduce->mask, reduce->axis, own) < 0) ||
                           merge_axes(&reduce->values, reduce->axis, own) < 0
                   ? -1
                   : 0;
}

/* One number for each entry, (batches, own axes), in the axes of the values; a new
 * reference. */
static PyArrayObject *
beside_values(const ps_reduce *reduce, PyArrayObject *array)
{
    npy_intp shape[PS_MAX_DIMS + 1];
    const int batch = reduce->batch_dims, axis = reduce->axis, own = reduce->n_own;
    const int ndim = PyArray_NDIM(reduce->values);
    for (int i = 0; i < ndim; i++) {
        const bool is_entry = i < batch || (i >= axis && i < axis + own);
        shape[i] = is_entry ? PyArray_DIM(reduce->values, i) : 1;
    }
    PyArray_Dims dims = {shape, ndim};
    return (PyArrayObject *)PyArray_Newshape(array, &dims, NPY_CORDER);
}

enum {
    BLOCK = 128
};

/* present[i] = is item i neither NaN nor NaT? n items side by side, at most BLOCK. */
static void
look_at_block(enum ps_dtype type, const char *item, int64_t n, char *present)
{
    f64 part[2 * BLOCK];
    const bool is_pair = ps_dtype_kind[type] == PS_KIND_COMPLEX;
    const int64_t size = ps_dtype_size[type];
    if (type != PS_t64 && type != PS_f80) {
        ps_convert(is_pair ? PS_c128 : PS_f64, (char *)part, type, size, false, item,
                   size, n);
    }
    for (int64_t i = 0; i < n; i++) {
        bool is_number = true;
        if (type == PS_t64) {
            is_number = ((const t64 *)(const void *)item)[i].ticks != INT64_MIN;
        }
        else if (type == PS_f80) {
            is_number = !isnan(((const f80 *)(const void *)item)[i]);
        }
        else if (is_pair) {
            is_number = !isnan(part[2 * i]) && !isnan(part[2 * i + 1]);
        }
        else {
            is_number = !isnan(part[i]);
        }
        present[i] = is_number;
    }
}

/* Which elements are not missing: a fresh array of bools. */
static PyArrayObject *
find_present(const ps_reduce *reduce)
{
    const bool is_wide = PyArray_TYPE(reduce->values) == NPY_CLONGDOUBLE;
    PyArrayObject *const plain =
            is_wide ? ps_cast_of(reduce->values, PyArray_DescrFromType(NPY_CDOUBLE))
                    : ps_contiguous(reduce->values);
    if (plain == NULL) {
        return NULL;
    }
    const enum ps_dtype type = ps_dtype_of(reduce->state, PyArray_DESCR(plain));
    const int64_t n = PyArray_SIZE(plain);
    PyArrayObject *const present =
            (PyArrayObject *)PyArray_Empty(PyArray_NDIM(plain), PyArray_DIMS(plain),
                                           PyArray_DescrFromType(NPY_BOOL), 0);
    const bool has_any =
            type != PS_raw && (ps_dtype_kind[type] & (PS_KIND_BOOL | PS_KIND_INT)) == 0;
    if (present != NULL && !has_any) {
        memset(PyArray_DATA(present), 1, (size_t)n);
    }
    for (int64_t i = 0; present != NULL && has_any && i < n; i += BLOCK) {
        look_at_block(type, PyArray_BYTES(plain) + i * ps_dtype_size[type],
                      ps_min(BLOCK, n - i), PyArray_BYTES(present) + i);
    }
    Py_DECREF((PyObject *)plain);
    return present;
}

/* Elements that are missing are left out beside those that where= leaves out. */
static int
leave_out_missing(ps_reduce *reduce)
{
    PyArrayObject *const present = find_present(reduce);
    int status = present != NULL ? 0 : -1;
    if (status == 0 && reduce->mask != NULL) {
        PyArrayObject *const mask =
                reduce->is_fine ? (PyArrayObject *)Py_NewRef((PyObject *)reduce->mask)
                                : beside_values(reduce, reduce->mask);
        PyObject *const both = mask != NULL ? PyNumber_InPlaceAnd((PyObject *)present,
                                                                  (PyObject *)mask)
                                            : NULL;
        status = both != NULL ? 0 : -1;
        Py_XDECREF((PyObject *)mask);
        Py_XDECREF(both);
    }
    Py_XSETREF(reduce->mask, present);
    reduce->is_fine = true;
    return status;
}

/* Products in place of the values, where kernels do not make them on the way. */
static int
weigh_values(ps_reduce *reduce)
{
    PyObject *const weigh = ps_get_helper(reduce->state, PS_HELPER_weighed);
    PyArrayObject *const weights =
            weigh != NULL ? beside_values(reduce, reduce->weights) : NULL;
    PyObject *const products =
            weights != NULL
                    ? PyObject_CallFunctionObjArgs(weigh, (PyObject *)reduce->values,
                                                   (PyObject *)weights, NULL)
                    : NULL;
    Py_XDECREF((PyObject *)weights);
    if (products == NULL) {
        return -1;
    }
    if (!PyArray_Check(products) ||
        !PyArray_SAMESHAPE((PyArrayObject *)products, reduce->values)) {
        Py_DECREF(products);
        return ps_raise_changed("values");
    }
    Py_SETREF(reduce->values, (PyArrayObject *)products);
    reduce->are_weighed = true;
    return 0;
}

/* Has gather= to be made rows of? Where elements are chosen among these, or are met by
 * what stands beside all of them. */
static bool
needs_rows(const ps_reduce *reduce, bool weighs)
{
    const enum ps_folded of = reduce->reduction->of;
    const bool by_runs = reduce->ids == NULL;
    const bool measures_pairs =
            reduce->reduction->spreads &&
            ps_dtype_kind[reduce->types.sum_type] == PS_KIND_COMPLEX;
    return reduce->skips_missing || weighs ||
           (reduce->is_fine && (!by_runs || reduce->compensated || of == PS_FOLD_ENDS ||
                                measures_pairs)) ||
           (reduce->mask != NULL && by_runs && of == PS_FOLD_POWERS);
}

/* Nothing of this is asked of most calls. */
int
ps_simplify_segments(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const bool chooses = reduce->is_fine || reduce->skips_missing;
    const bool weighs = reduce->weights != NULL &&
                        (ps_kernels()->scale[reduce->types.sum_type] == NULL ||
                         reduce->compensated);
    if ((reduce->gather != NULL && needs_rows(reduce, weighs) &&
         gather_rows(reduce) < 0) ||
        (chooses && reduce->n_own != 1 && merge_entries(reduce) < 0) ||
        (reduce->skips_missing && leave_out_missing(reduce) < 0) ||
        (weighs && weigh_values(reduce) < 0)) {
        return -1;
    }
    if (reduce->reduction->of == PS_FOLD_TRUTH && !PyArray_ISBOOL(reduce->values)) {
        Py_SETREF(reduce->values,
                  ps_cast_of(reduce->values, PyArray_DescrFromType(NPY_BOOL)));
    }
    return reduce->values != NULL ? 0 : -1;
}
