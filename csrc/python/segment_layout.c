/* Arguments of calls on segments laid out: which axes are entries, which entries take
 * part, which segment has which (contract in segment_call.h). */
#include "python/segment_call.h"

#include "base/sizes.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/by_ids.h"
#include "python/copies.h"
#include "python/limits.h"
#include "python/numbers.h"
#include "python/py_plan.h"

/* ---- shapes in words ---- */

/* n lengths as a tuple, a new reference. */
static PyObject *
shape_of(const npy_intp *shape, int n)
{
    return PyArray_IntTupleFromIntp(n, shape);
}

/* ValueError: `format` names an array, its shape, up to two shapes that it is compared
 * with, and a number. The shapes are consumed; returns -1. */
static int
refuse(const char *format, const char *name, PyArrayObject *array, PyObject *one,
       PyObject *two, int n)
{
    PyObject *const own = shape_of(PyArray_DIMS(array), PyArray_NDIM(array));
    if (own != NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, format, name, own, one, two, n);
    }
    Py_XDECREF(own);
    Py_XDECREF(one);
    Py_XDECREF(two);
    return -1;
}

/* ---- which axes ---- */

/* axis=None: everything in C order, but for what gather= or a plan numbers. */
static int
flatten(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    const bool lists = reduce->gather != NULL;
    const bool has_axes = reduce->mask != NULL && PyArray_NDIM(reduce->mask) > 1;
    PyArrayObject **const arrays[] = {
            &reduce->values, lists || reduce->plan != NULL ? NULL : &reduce->ids,
            lists || !has_axes ? NULL : &reduce->mask};
    if (reduce->batch_dims != 0) {
        PyErr_SetString(PyExc_ValueError, "axis=None has no batches");
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (arrays[i] != NULL && *arrays[i] != NULL) {
            Py_SETREF(*arrays[i], ps_flat_of(*arrays[i]));
            if (*arrays[i] == NULL) {
                return -1;
            }
        }
    }
    return 0;
}

/* Entries that only limits tell of, as bools in one place. */
static int
stand_in(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    npy_intp n, step = 0;
    if (ps_count_entries(reduce->state, &reduce->runs, is_given(work, LENGTHS), &n) <
        0) {
        return -1;
    }
    PyArrayObject *const one =
            (PyArrayObject *)PyArray_Zeros(0, NULL, PyArray_DescrFromType(NPY_BOOL), 0);
    reduce->values = one != NULL ? ps_view_with(one, 1, &n, &step) : NULL;
    Py_XDECREF((PyObject *)one);
    return reduce->values != NULL ? 0 : -1;
}

/* Are axes [at, at + n) of one array axes [first, first + n) of another? */
static bool
has_axes(PyArrayObject *array, int at, PyArrayObject *other, int first, int n)
{
    return PyArray_NDIM(array) >= at + n && PyArray_NDIM(other) >= first + n &&
           PyArray_CompareLists(PyArray_DIMS(array) + at, PyArray_DIMS(other) + first,
                                n);
}

/* Has an index the batch axes of the values in front? 0, or -1 with an exception. */
static int
check_batches(const ps_reduce *reduce, PyArrayObject *index, const char *name)
{
    PyArrayObject *const values = reduce->values;
    const int batch = reduce->batch_dims, ndim = PyArray_NDIM(values);
    if (batch < 0 || batch > ndim || batch > PyArray_NDIM(index)) {
        PyErr_Format(PyExc_ValueError,
                     "batch_dims is %d; values has %d axes and %s has %d", batch, ndim,
                     name, PyArray_NDIM(index));
        return -1;
    }
    return has_axes(index, 0, values, 0, batch)
                   ? 0
                   : refuse("%s has shape %R; expected %R, the batch axes of values "
                            "%R, "
                            "in front",
                            name, index, shape_of(PyArray_DIMS(values), batch),
                            shape_of(PyArray_DIMS(values), ndim), 0);
}

/* The axis of the entries, behind those of the batches. */
static int
place_axis(ps_reduce *reduce, int n_axes)
{
    reduce->axis = ps_check_axis(reduce->state, reduce->axis, n_axes);
    if (reduce->axis >= reduce->batch_dims) {
        return 0;
    }
    if (reduce->axis >= 0) {
        PyErr_Format(PyExc_ValueError, "axis %d is one of the %d batch axes",
                     reduce->axis, reduce->batch_dims);
    }
    return -1;
}

/* Do gather= and the ids beside it fit each other? */
static int
check_listed(const ps_reduce *reduce)
{
    PyArrayObject *const ids = reduce->ids, *const gather = reduce->gather;
    const int n = PyArray_NDIM(gather);
    if (ids == NULL) {
        return n == 1 ? 0
                      : refuse("%s has shape %R; expected one axis", "gather", gather,
                               NULL, NULL, 0);
    }
    return PyArray_NDIM(ids) == n && has_axes(ids, 0, gather, 0, n)
                   ? 0
                   : refuse("%s has shape %R; expected %R = gather.shape", "ids", ids,
                            shape_of(PyArray_DIMS(gather), n), NULL, 0);
}

/* Ids of axes that the values do not have there. */
static int
refuse_ids(const ps_reduce *reduce)
{
    PyArrayObject *const values = reduce->values, *const ids = reduce->ids;
    const int batch = reduce->batch_dims, ndim = PyArray_NDIM(values);
    npy_intp shape[2 * PS_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < batch; i++) {
        shape[n++] = PyArray_DIM(values, i);
    }
    for (int i = reduce->axis; i < ndim && n < PyArray_NDIM(ids); i++) {
        shape[n++] = PyArray_DIM(values, i);
    }
    return refuse("%s has shape %R; expected %R, the axes of values %R from axis %d on",
                  "ids", ids, shape_of(shape, n), shape_of(PyArray_DIMS(values), ndim),
                  reduce->axis);
}

/* Where the entries lie: along as many axes of the values as ids have beside their
 * batches, or along the one that gather= or runs are of. */
int
ps_place_segment_axes(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    if ((reduce->values == NULL && stand_in(work) < 0) ||
        (work->slot[AXIS] == Py_None && flatten(work) < 0)) {
        return -1;
    }
    PyArrayObject *const ids = reduce->ids, *const gather = reduce->gather;
    const int ndim = PyArray_NDIM(reduce->values), batch = reduce->batch_dims;
    if (ids == NULL && batch != 0) {
        PyErr_SetString(PyExc_ValueError, "batch_dims goes with ids");
        return -1;
    }
    if ((ids != NULL && check_batches(reduce, ids, "ids") < 0) ||
        (gather != NULL && check_batches(reduce, gather, "gather") < 0)) {
        return -1;
    }
    const int own = ids != NULL && gather == NULL ? PyArray_NDIM(ids) - batch : 1;
    reduce->n_own = own;
    if (place_axis(reduce, ndim + (own == 0)) < 0) {
        return -1;
    }
    if (gather != NULL) {
        return check_listed(reduce);
    }
    return ids == NULL || has_axes(ids, batch, reduce->values, reduce->axis, own)
                   ? 0
                   : refuse_ids(reduce);
}

/* The shape of the entries, batches first. Its axes. */
static int
entry_shape(const ps_reduce *reduce, npy_intp *shape)
{
    PyArrayObject *const like = reduce->gather != NULL ? reduce->gather : reduce->ids;
    if (like != NULL) {
        for (int i = 0; i < PyArray_NDIM(like); i++) {
            shape[i] = PyArray_DIM(like, i);
        }
        return PyArray_NDIM(like);
    }
    shape[0] = PyArray_DIM(reduce->values, reduce->axis);
    return 1;
}

/* The shape of the values, gathered. Its axes. */
static int
full_shape(const ps_reduce *reduce, npy_intp *shape)
{
    PyArrayObject *const values = reduce->values, *const gather = reduce->gather;
    int n = 0;
    for (int i = 0; i < PyArray_NDIM(values); i++) {
        if (gather == NULL || i != reduce->axis) {
            shape[n++] = PyArray_DIM(values, i);
            continue;
        }
        for (int k = reduce->batch_dims; k < PyArray_NDIM(gather); k++) {
            shape[n++] = PyArray_DIM(gather, k);
        }
    }
    return n;
}

/* ---- which entries ---- */

static bool
has_shape(PyArrayObject *array, const npy_intp *shape, int n)
{
    return PyArray_NDIM(array) == n &&
           PyArray_CompareLists(PyArray_DIMS(array), shape, n);
}

/* where=: one bool for each entry, or for each element. */
int
ps_place_segment_mask(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    npy_intp shape[2 * PS_MAX_DIMS], full[2 * PS_MAX_DIMS];
    if (reduce->mask == NULL) {
        return 0;
    }
    const int n = entry_shape(reduce, shape), n_full = full_shape(reduce, full);
    if (PyArray_NDIM(reduce->mask) == 0) {
        PyArrayObject *const whole = (PyArrayObject *)PyArray_Empty(
                n, shape, PyArray_DescrFromType(NPY_BOOL), 0);
        if (whole == NULL || PyArray_CopyInto(whole, reduce->mask) < 0) {
            Py_XDECREF((PyObject *)whole);
            return -1;
        }
        Py_SETREF(reduce->mask, whole);
    }
    reduce->is_fine = !has_shape(reduce->mask, shape, n);
    if (reduce->is_fine && !has_shape(reduce->mask, full, n_full)) {
        return refuse(
                "'%s' has shape %R; expected %R, the shape of the entries, or %R, "
                "that of the values",
                "where", reduce->mask, shape_of(shape, n), shape_of(full, n_full), 0);
    }
    if (!reduce->is_fine) {
        reduce->named = (PyArrayObject *)Py_NewRef((PyObject *)reduce->mask);
    }
    return 0;
}

/* ---- weights ---- */

/* One weight of the type of sums for each entry, side by side. */
int
ps_place_segment_weights(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    npy_intp shape[PS_MAX_DIMS];
    if (reduce->weights == NULL) {
        return 0;
    }
    const int ndim = entry_shape(reduce, shape);
    if (!ps_broadcasts_to(reduce->weights, ndim, shape)) {
        return refuse(
                "%s has shape %R; expected to broadcast to %R, the shape of the "
                "entries",
                "weights", reduce->weights, shape_of(shape, ndim), NULL, 0);
    }
    PyArray_Descr *const descr = reduce->types.sum;
    if (has_shape(reduce->weights, shape, ndim) &&
        PyArray_EquivTypes(PyArray_DESCR(reduce->weights), descr)) {
        Py_SETREF(reduce->weights, ps_contiguous(reduce->weights));
        return reduce->weights != NULL ? 0 : -1;
    }
    Py_SETREF(reduce->weights, ps_cast_quietly(reduce->state, reduce->weights, descr));
    Py_INCREF(descr);
    PyArrayObject *const whole = (PyArrayObject *)PyArray_Empty(ndim, shape, descr, 0);
    const int status = whole != NULL && reduce->weights != NULL
                               ? PyArray_CopyInto(whole, reduce->weights)
                               : -1;
    Py_XSETREF(reduce->weights, whole);
    return status;
}

/* ---- how many segments ---- */

/* A copy of signed ids in which -1 stands in for the lowest, which has no opposite and
 * is taken for too large. */
static PyArrayObject *
without_lowest(PyArrayObject *ids)
{
    PyArrayObject *const others = ps_cast_of(ids, PyArray_DescrFromType(NPY_INT64));
    for (npy_intp i = 0; others != NULL && i < PyArray_SIZE(others); i++) {
        int64_t *const id = (int64_t *)PyArray_DATA(others) + i;
        *id = *id == INT64_MIN ? -1 : *id;
    }
    return others;
}

/* The largest id and one, unless one alone asks for so much that it is hardly meant.
 * Ids of entries that the mask leaves out are not looked at. */
static int
size_from_ids(ps_reduce *reduce)
{
    const int64_t n = PyArray_SIZE(reduce->ids);
    ps_status status =
            ps_top_of(reduce->state, reduce->ids, reduce->named, &reduce->size);
    if (status.code == PS_TOO_LARGE && PyArray_ISSIGNED(reduce->ids)) {
        PyArrayObject *const others = without_lowest(reduce->ids);
        if (others == NULL) {
            return -1;
        }
        status = ps_top_of(reduce->state, others, reduce->named, &reduce->size);
        Py_DECREF((PyObject *)others);
    }
    const bool is_vast = status.code == PS_TOO_LARGE;
    if (!is_vast && ps_raise(reduce->state, status, "ids") < 0) {
        return -1;
    }
    if (is_vast || (reduce->size > (int64_t)1 << 27 && reduce->size / 64 > n)) {
        const uint64_t top = is_vast ? (uint64_t)INT64_MAX : (uint64_t)reduce->size - 1;
        PyErr_Format(PyExc_ValueError,
                     "ids go up to %llu%s with only %lld entries; pass num_segments if "
                     "that is meant",
                     (unsigned long long)top, is_vast ? " or more" : "", (long long)n);
        return -1;
    }
    return 0;
}

/* num_segments= beside something that knows it: what says so, and the number. */
static int
check_size(ps_reduce *reduce, const char *says, int64_t size)
{
    if (reduce->size >= 0 && reduce->size != size) {
        PyErr_Format(PyExc_ValueError, "num_segments is %lld; the %s %lld",
                     (long long)reduce->size, says, (long long)size);
        return -1;
    }
    reduce->size = size;
    return 0;
}

/* By ids: what is named is within bounds even where all elements are left out. */
static int
place_ids(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    if (is_on(work, ASSUME_SORTED) && reduce->plan == NULL &&
        ps_check_sorted(reduce->state, reduce->ids, reduce->batch_dims) < 0) {
        return -1;
    }
    const int status =
            reduce->plan != NULL
                    ? check_size(reduce, "plan has size",
                                 ps_plan_of(reduce->state, reduce->plan)->size)
            : reduce->size < 0 ? size_from_ids(reduce)
                               : 0;
    const bool refuses = reduce->mode == PS_MODE_IDS ||
                         (reduce->size == 0 && reduce->mode != PS_MODE_DROP);
    if (status < 0 || !reduce->is_fine || !refuses) {
        return status;
    }
    return ps_raise(reduce->state,
                    ps_check_numbers(reduce->state, reduce->ids, reduce->named,
                                     PS_MODE_IDS, reduce->size),
                    "ids");
}

/* Offsets, whose ends are right; what lies between is checked in use. */
static int
place_offsets(ps_reduce *reduce, bool from_lengths, int64_t n_entries)
{
    ps_runs *const runs = &reduce->runs;
    int64_t first = -1, last = -1;
    runs->are_offsets = true;
    if (from_lengths && runs->starts == NULL) {
        runs->starts = ps_offsets_of(reduce->state, runs->stops, n_entries);
        if (runs->starts == NULL) {
            return -1;
        }
    }
    runs->n_segments = PyArray_DIM(runs->starts, 0) - 1;
    return runs->n_segments >= 0 && ps_read_limit(runs->starts, 0, &first) &&
                           first == 0 &&
                           ps_read_limit(runs->starts, runs->n_segments, &last) &&
                           last == n_entries
                   ? 0
                   : ps_raise_limits(reduce->state, runs, n_entries);
}

static int
place_runs(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_runs *const runs = &reduce->runs;
    npy_intp n_entries;
    entry_shape(reduce, &n_entries);
    if (!is_given(work, STARTS)) {
        if (place_offsets(reduce, is_given(work, LENGTHS), n_entries) < 0) {
            return -1;
        }
    }
    else {
        runs->n_segments = PyArray_DIM(runs->starts, 0);
        if (PyArray_DIM(runs->stops, 0) != runs->n_segments) {
            return ps_raise_shapes(
                    PyExc_ValueError,
                    "starts has shape %U and stops has %U; expected the same", 1,
                    PyArray_DIMS(runs->starts), 1, PyArray_DIMS(runs->stops));
        }
    }
    return check_size(reduce, "ranges say that it is", runs->n_segments);
}

int
ps_place_segments(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    npy_intp shape[PS_MAX_DIMS + 1];
    if ((reduce->ids != NULL ? place_ids(work) : place_runs(work)) < 0 ||
        (reduce->gather != NULL && ps_check_listed_rows(reduce) < 0)) {
        return -1;
    }
    if (ps_result_shape(reduce, true, shape) < 0) {
        PyErr_Format(PyExc_ValueError,
                     "a result of %lld segments with such rows is too large",
                     (long long)reduce->size);
        return -1;
    }
    return 0;
}
