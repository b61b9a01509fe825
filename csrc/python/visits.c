/* Second looks at entries (contract in visits.h).
 *
 * The op sees one batch at one place of the axes before the entries: a row for each
 * entry, a group for each. What does not lie like that is copied: values whose rows or
 * entry axes are not walked by one stride, ids and masks that are not contiguous.
 */
#include "python/visits.h"

#include "base/sizes.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/numbers.h"

int
ps_place_rows(ps_reduce *work)
{
    PyArrayObject *const values = work->values;
    if (work->gather == NULL || work->offsets != NULL) {
        return 0;
    }
    PyArrayObject *const rows = ps_contiguous(work->gather);
    const int64_t n = rows != NULL ? PyArray_SIZE(rows) : 0;
    work->offsets = PyMem_Malloc((size_t)ps_max(n, 1) * sizeof(int64_t));
    if (rows == NULL || work->offsets == NULL || PyArray_NDIM(values) <= work->axis ||
        ps_index_type_of(rows) < 0) {
        Py_XDECREF((PyObject *)rows);
        return PyErr_Occurred() ? -1 : ps_raise_changed("values");
    }
    const int64_t step = PyArray_STRIDE(values, work->axis);
    const int64_t size = PyArray_ITEMSIZE(rows);
    const int64_t n_bad = ps_kernels()->rows[ps_index_type_of(rows)](
            PS_MODE_RAISE, work->offsets, PyArray_BYTES(rows), n, size,
            PyArray_DIM(values, work->axis));
    int64_t n_batches = 1;
    for (int i = 0; i < work->batch_dims; i++) {
        n_batches *= PyArray_DIM(values, i);
    }
    const int64_t each = n_batches > 0 ? n / n_batches : 0;
    for (int64_t batch = 0; batch < n_batches; batch++) {
        int64_t rest = batch, offset = 0;
        for (int axis = work->batch_dims - 1; axis >= 0; axis--) {
            offset += rest % PyArray_DIM(values, axis) * PyArray_STRIDE(values, axis);
            rest /= PyArray_DIM(values, axis);
        }
        /* Rows that are not there are those of entries that take no part. */
        int64_t *const row = work->offsets + batch * each;
        for (int64_t i = 0; i < each; i++) {
            row[i] = ps_max(row[i], 0) * step + offset;
        }
    }
    Py_DECREF((PyObject *)rows);
    return n_bad > 0 && (work->named == NULL || PyArray_DIM(values, work->axis) == 0)
                   ? ps_raise_changed("gather")
                   : 0;
}

/* What one call of ps_visit holds, and how it goes from place to place. */
typedef struct {
    ps_reduce *work;
    PyArrayObject *values, *ids, *mask; /* owned, or NULL */
    int64_t n_batches, n_before, n;     /* n: entries of a batch */
    int64_t id_stride, start_stride, stop_stride;
    ps_visit_call call;
} visits;

/* Values in one stride along the entries, with rows side by side. */
static PyArrayObject *
walkable(const ps_reduce *work)
{
    PyArrayObject *const values = work->values;
    const enum ps_dtype given = ps_dtype_of(work->state, PyArray_DESCR(values));
    if (!ps_can_convert(given, work->types.sum_type)) {
        Py_INCREF(work->types.sum);
        return ps_cast_of(values, work->types.sum);
    }
    int64_t nbytes = PyArray_ITEMSIZE(values);
    bool is_good = work->n_own == 1;
    for (int i = PyArray_NDIM(values) - 1; i > work->axis; i--) {
        is_good = is_good &&
                  (PyArray_DIM(values, i) == 1 || PyArray_STRIDE(values, i) == nbytes);
        nbytes *= PyArray_DIM(values, i);
    }
    return is_good ? (PyArrayObject *)Py_NewRef((PyObject *)values)
                   : ps_copy_of(values, NPY_CORDER);
}

static int
take_arrays(visits *all)
{
    ps_reduce *const work = all->work;
    PyArrayObject *const mask = work->is_fine ? work->mask : work->named;
    all->values = walkable(work);
    if (all->values != NULL && all->values != work->values) {
        /* Rows are counted from here. */
        Py_SETREF(work->values, (PyArrayObject *)Py_NewRef((PyObject *)all->values));
        PyMem_Free(work->offsets);
        work->offsets = NULL;
    }
    if (all->values != NULL && work->ids != NULL) {
        all->ids = ps_contiguous(work->ids);
    }
    if (all->values != NULL && mask != NULL) {
        all->mask = ps_contiguous(mask);
    }
    return PyErr_Occurred() ? -1 : ps_place_rows(work);
}

/* Ids of the first batch, or runs. 0, or -1 where they are no longer what they were. */
static int
open_groups(visits *all)
{
    ps_visit_call *const call = &all->call;
    const ps_runs *const runs = &all->work->runs;
    if (all->ids != NULL) {
        if (ps_index_type_of(all->ids) < 0) {
            return ps_raise_changed("ids");
        }
        all->id_stride = PyArray_ITEMSIZE(all->ids);
        call->ids = (ps_index){.data = PyArray_BYTES(all->ids),
                               .strides = &all->id_stride,
                               .type = (enum ps_index_type)ps_index_type_of(all->ids)};
        return 0;
    }
    return ps_open_limits(runs, &call->start, &all->start_stride, &call->stop,
                          &all->stop_stride);
}

/* Entries of a batch, and rows, in the shapes as they are now. */
static int
open_rows(visits *all)
{
    const ps_reduce *const work = all->work;
    PyArrayObject *const values = all->values;
    ps_visit_call *const call = &all->call;
    const int batch = work->batch_dims, axis = work->axis, own = work->n_own;
    const int64_t *const shape = (const int64_t *)PyArray_DIMS(values);
    const int ndim = PyArray_NDIM(values);
    if (ndim < axis + own || !ps_count(batch, shape, &all->n_batches) ||
        !ps_count(axis - batch, shape + batch, &all->n_before) ||
        !ps_count(own, shape + axis, &all->n) ||
        !ps_count(ndim - axis - own, shape + axis + own, &call->width)) {
        return ps_raise_changed("values");
    }
    if (work->gather != NULL) {
        all->n = PyArray_SIZE(work->gather) / ps_max(1, all->n_batches);
    }
    const int64_t expected = all->n_batches * all->n;
    const int64_t elements = expected * all->n_before * call->width;
    if ((all->ids != NULL && PyArray_SIZE(all->ids) != expected) ||
        (all->mask != NULL &&
         PyArray_SIZE(all->mask) != (work->is_fine ? elements : expected))) {
        return ps_raise_changed("values");
    }
    call->dtype = ps_dtype_of(work->state, PyArray_DESCR(values));
    call->itemsize = PyArray_ITEMSIZE(values);
    call->swapped = ps_is_swapped(values);
    call->aligned = PyArray_ISALIGNED(values);
    call->row_stride = own > 0 ? PyArray_STRIDE(values, axis + own - 1)
                               : call->width * call->itemsize;
    call->mask_entry = work->is_fine ? call->width : 1;
    call->mask_element = work->is_fine;
    call->n = all->n;
    call->n_groups = work->size;
    return 0;
}

/* Bytes from the values to place `at` of `n_axes` axes from `first` on. */
static int64_t
offset_of(PyArrayObject *values, int first, int n_axes, int64_t at)
{
    int64_t offset = 0;
    for (int i = first + n_axes - 1; i >= first; i--) {
        offset += at % PyArray_DIM(values, i) * PyArray_STRIDE(values, i);
        at /= PyArray_DIM(values, i);
    }
    return offset;
}

/* The op at one place. */
static ps_status
visit_place(visits *all, bool finds, int64_t batch, int64_t before)
{
    const ps_reduce *const work = all->work;
    ps_visit_call call = all->call;
    PyArrayObject *const values = all->values;
    const int64_t block = batch * all->n_before + before;
    const int64_t first = block * call.n_groups * call.width;
    const int64_t masked = work->is_fine ? block * all->n * call.width : batch * all->n;
    call.values =
            PyArray_BYTES(values) +
            offset_of(values, work->batch_dims, work->axis - work->batch_dims, before);
    if (work->offsets != NULL) { /* which are counted from the first batch */
        call.offset = work->offsets + batch * all->n;
    }
    else {
        call.values += offset_of(values, 0, work->batch_dims, batch);
    }
    if (all->ids != NULL) {
        call.ids.data += batch * all->n * all->id_stride;
    }
    call.mask = all->mask != NULL ? PyArray_BYTES(all->mask) + masked : NULL;
    call.result += first * ps_dtype_size[call.type];
    call.centre =
            call.centre != NULL ? call.centre + first * ps_dtype_size[call.type] : NULL;
    call.place = call.place != NULL ? call.place + first : NULL;
    const int64_t nbytes = all->n * (call.width * call.itemsize + 8);
    const ps_status status =
            ps_run_op(work->state, finds ? ps_find : ps_deviate, &call, nbytes);
    all->call.n_bad += call.n_bad;
    return status;
}

/* Are limits good of which no value has been looked at? */
static int
look_at_limits(const visits *all)
{
    const ps_reduce *const work = all->work;
    PyArray_Descr *const wide = PyArray_DescrFromType(NPY_INT64);
    PyArrayObject *const counts = ps_new_filled(work, false, wide, NULL);
    const int status = counts != NULL ? ps_measure_runs(work->state, &work->runs,
                                                        all->n, PyArray_DATA(counts))
                                      : -1;
    Py_DECREF(wide);
    Py_XDECREF((PyObject *)counts);
    return status;
}

static int
visit_places(visits *all, bool finds)
{
    const ps_reduce *const work = all->work;
    const int ndim = PyArray_NDIM(all->values);
    for (int64_t batch = 0; batch < all->n_batches; batch++) {
        for (int64_t before = 0; before < all->n_before; before++) {
            if (PyArray_NDIM(all->values) != ndim) { /* a handler of a signal */
                return ps_raise_changed("values");
            }
            const ps_status status = visit_place(all, finds, batch, before);
            if (status.code == PS_INDEX_BAD) {
                return ps_raise_runs(work->state, &work->runs, all->n);
            }
            if (ps_raise(work->state, status, "ids") < 0) {
                return -1;
            }
        }
    }
    const bool was_blind = all->n_before == 0; /* nothing has been looked at */
    if (was_blind && work->ids == NULL) {
        return look_at_limits(all);
    }
    const bool refuses = work->mode == PS_MODE_IDS ||
                         (work->size == 0 && work->mode != PS_MODE_DROP);
    if (work->is_fine || (all->call.n_bad == 0 && !(was_blind && refuses))) {
        return 0; /* under a mask of elements ids have been checked */
    }
    const ps_status status = ps_check_numbers(work->state, work->ids, work->named,
                                              PS_MODE_IDS, work->size);
    if (ps_raise(work->state, status, "ids") < 0) {
        return -1;
    }
    return all->call.n_bad == 0 ? 0 : ps_raise_changed("ids");
}

int
ps_visit(ps_reduce *work, bool finds, PyArrayObject *result, PyArrayObject *place,
         PyArrayObject *centre)
{
    visits all = {.work = work,
                  .call = {.mode = work->mode,
                           .op = work->reduction->fold,
                           .type = work->types.sum_type,
                           .place = place != NULL ? PyArray_DATA(place) : NULL,
                           .centre = centre != NULL ? PyArray_BYTES(centre) : NULL,
                           .result = PyArray_BYTES(result)}};
    int done = -1;
    if (take_arrays(&all) == 0 && open_rows(&all) == 0) {
        const int64_t size = all.n_batches * all.n_before * work->size * all.call.width;
        done = PyArray_SIZE(result) != size ? ps_raise_changed("values")
               : open_groups(&all) < 0      ? -1
                                            : visit_places(&all, finds);
    }
    Py_XDECREF((PyObject *)all.values);
    Py_XDECREF((PyObject *)all.ids);
    Py_XDECREF((PyObject *)all.mask);
    return done;
}
