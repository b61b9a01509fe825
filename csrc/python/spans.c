/* Holes in items (contract in spans.h).
 *
 * A record may leave bytes to others: a view of some of its fields, padding, fields of
 * chosen offsets, all of these within fields and arrays of them. Such items are moved
 * stretch by stretch. Stretches that touch become one, so a record without holes is one
 * stretch, and an array of them in a field is not looked at element by element.
 */
#include "python/spans.h"

#include <stdlib.h>

#include "base/sizes.h"

static int add_type(ps_spans *spans, PyArray_Descr *descr, int64_t offset);

/* At the end; room is doubled whenever it is used up. */
static int
append(ps_spans *spans, int64_t first, int64_t n)
{
    const int64_t at = spans->n;
    if (at > 0 && spans->span[at - 1].first + spans->span[at - 1].n == first) {
        spans->span[at - 1].n += n;
        return 0;
    }
    if (spans->span == NULL || (at & (at - 1)) == 0) {
        ps_span *const room =
                PyMem_Realloc(spans->span, (size_t)ps_max(1, 2 * at) * sizeof(ps_span));
        if (room == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        spans->span = room;
    }
    spans->span[spans->n++] = (ps_span){first, n};
    return 0;
}

static int
compare_spans(const void *a, const void *b)
{
    const int64_t left = ((const ps_span *)a)->first;
    const int64_t right = ((const ps_span *)b)->first;
    return (left > right) - (left < right);
}

/* Fields come in any order and may share bytes. Stretches without a byte go. */
static void
merge_spans(ps_spans *spans)
{
    int64_t last = -1;
    if (spans->n > 1) {
        qsort(spans->span, (size_t)spans->n, sizeof(ps_span), compare_spans);
    }
    for (int64_t i = 0; i < spans->n; i++) {
        const ps_span next = spans->span[i];
        ps_span *const before = last >= 0 ? &spans->span[last] : NULL;
        if (next.n == 0) {
            continue;
        }
        if (before != NULL && next.first <= before->first + before->n) {
            before->n = ps_max(before->n, next.first + next.n - before->first);
        }
        else {
            spans->span[++last] = next;
        }
    }
    spans->n = last + 1;
}

static bool
is_whole(const ps_spans *spans, int64_t nbytes)
{
    return spans->n == 1 && spans->span[0].first == 0 && spans->span[0].n == nbytes;
}

static int
add_fields(ps_spans *spans, PyArray_Descr *descr, int64_t offset)
{
    PyObject *const names = PyDataType_NAMES(descr);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *const field = PyDict_GetItemWithError(PyDataType_FIELDS(descr),
                                                        PyTuple_GET_ITEM(names, i));
        if (field == NULL) {
            return -1;
        }
        const Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(field, 1));
        if ((at == -1 && PyErr_Occurred()) ||
            add_type(spans, (PyArray_Descr *)PyTuple_GET_ITEM(field, 0), offset + at) <
                    0) {
            return -1;
        }
    }
    return 0;
}

/* A field that is an array: the stretches of one element, over and over. */
static int
add_array(ps_spans *spans, PyArray_Descr *descr, int64_t offset)
{
    PyArray_Descr *const base = PyDataType_SUBARRAY(descr)->base;
    const int64_t nbytes = PyDataType_ELSIZE(descr), each = PyDataType_ELSIZE(base);
    ps_spans one = {NULL, 0};
    int status = add_type(&one, base, 0);
    merge_spans(&one);
    if (status == 0 && is_whole(&one, each)) {
        status = append(spans, offset, nbytes);
    }
    else {
        for (int64_t at = 0; status == 0 && one.n > 0 && at < nbytes; at += each) {
            for (int64_t i = 0; status == 0 && i < one.n; i++) {
                status = append(spans, offset + at + one.span[i].first, one.span[i].n);
            }
        }
    }
    ps_close_spans(&one);
    return status;
}

static int
add_type(ps_spans *spans, PyArray_Descr *descr, int64_t offset)
{
    if (PyDataType_HASSUBARRAY(descr)) {
        return add_array(spans, descr, offset);
    }
    if (PyDataType_HASFIELDS(descr)) {
        return add_fields(spans, descr, offset);
    }
    const int64_t nbytes = PyDataType_ELSIZE(descr);
    return nbytes == 0 ? 0 : append(spans, offset, nbytes);
}

int
ps_find_spans(PyArray_Descr *descr, ps_spans *spans)
{
    *spans = (ps_spans){NULL, 0};
    if (!PyDataType_HASFIELDS(descr)) {
        return 0;
    }
    /* Room for one stretch: a record without fields is all hole, but not NULL. */
    if (append(spans, 0, 0) < 0 || add_fields(spans, descr, 0) < 0) {
        return -1;
    }
    merge_spans(spans);
    if (is_whole(spans, PyDataType_ELSIZE(descr))) {
        ps_close_spans(spans);
    }
    return 0;
}

void
ps_close_spans(ps_spans *spans)
{
    PyMem_Free(spans->span);
    *spans = (ps_spans){NULL, 0};
}

int
ps_has_holes(PyArray_Descr *descr)
{
    ps_spans spans;
    const int status = ps_find_spans(descr, &spans);
    const bool has_holes = spans.span != NULL;
    ps_close_spans(&spans);
    return status < 0 ? -1 : has_holes;
}
