/* Numbers of an index looked at for their own sake (contract in numbers.h): an address
 * of one index over nothing. */
#include "python/numbers.h"

#include "base/sizes.h"
#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"

/* An address and what it points to. */
typedef struct {
    ps_index index;
    int64_t shape[PS_MAX_DIMS], strides[PS_MAX_DIMS], link[PS_MAX_DIMS],
            mask_strides[PS_MAX_DIMS];
    ps_address address;
} lone_index;

/* The array as it is now; a mask that has lost its axes meanwhile is left aside. */
static void
open_address(lone_index *lone, PyArrayObject *index, PyArrayObject *mask)
{
    const int ndim = PyArray_NDIM(index);
    const int lead = mask != NULL ? ndim - PyArray_NDIM(mask) : 0;
    bool fits = mask != NULL && lead >= 0 && PyArray_ISBOOL(mask);
    for (int i = 0; i < ndim; i++) {
        lone->shape[i] = PyArray_DIM(index, i);
        lone->strides[i] = PyArray_STRIDE(index, i);
        lone->link[i] = 0;
        lone->mask_strides[i] = 0;
        if (fits && i >= lead && PyArray_DIM(mask, i - lead) != 1) {
            lone->mask_strides[i] = PyArray_STRIDE(mask, i - lead);
            fits = PyArray_DIM(mask, i - lead) == lone->shape[i];
        }
    }
    lone->index = (ps_index){.data = PyArray_BYTES(index),
                             .strides = lone->strides,
                             .type = (enum ps_index_type)ps_index_type_of(index),
                             .swapped = ps_is_swapped(index)};
    lone->address = (ps_address){.ndim = ndim,
                                 .shape = lone->shape,
                                 .link = lone->link,
                                 .n = PyArray_SIZE(index),
                                 .n_index = 1,
                                 .index = &lone->index,
                                 .mask = fits ? PyArray_BYTES(mask) : NULL,
                                 .mask_strides = lone->mask_strides};
}

ps_status
ps_top_of(ps_state *state, PyArrayObject *index, PyArrayObject *mask, int64_t *top)
{
    lone_index lone;
    open_address(&lone, index, mask);
    ps_top_call call = {.address = lone.address};
    const ps_status status =
            ps_run_op(state, ps_find_top, &call, PyArray_NBYTES(index));
    *top = call.top;
    return status;
}

static ps_status
run_check(void *address, ps_run *run)
{
    return ps_address_check(address, run);
}

/* A negative number has the highest bit of all joined. */
int64_t
ps_short_top(PyArrayObject *index)
{
    const npy_intp n = PyArray_DIM(index, 0);
    const void *const data = PyArray_DATA(index);
    const int type = ps_index_type_of(index);
    int64_t all = 0, top = -1;
    for (npy_intp i = 0; i < n && type == PS_INDEX_i64; i++) {
        const int64_t number = ((const int64_t *)data)[i];
        all |= number;
        top = number > top ? number : top;
    }
    for (npy_intp i = 0; i < n && type == PS_INDEX_i32; i++) {
        const int64_t number = ((const int32_t *)data)[i];
        all |= number;
        top = number > top ? number : top;
    }
    return all < 0 || top == INT64_MAX ? 0 : top + 1;
}

ps_status
ps_check_numbers(ps_state *state, PyArrayObject *index, PyArrayObject *mask,
                 enum ps_mode mode, int64_t size)
{
    lone_index lone;
    open_address(&lone, index, mask);
    lone.index.size = size;
    lone.index.step = 1;
    lone.address.mode = mode;
    return ps_run_op(state, run_check, &lone.address, PyArray_NBYTES(index));
}

/* ---- numbers in order ---- */

/* Is the array of numbers that int64 does not hold? Their keys begin at its lowest. */
static bool
is_wide(PyArrayObject *array)
{
    return PyArray_ISUNSIGNED(array) && PyArray_ITEMSIZE(array) == 8;
}

int64_t
ps_key_of_zero(PyArrayObject *array)
{
    return is_wide(array) ? INT64_MIN : 0;
}

/* n numbers that are `stride` bytes apart, in native order, as keys. */
static void
read_keys(ps_state *state, PyArrayObject *array, const char *from, int64_t stride,
          int64_t n, int64_t *key)
{
    const enum ps_dtype type = ps_dtype_of(state, PyArray_DESCR(array));
    ps_convert(PS_i64, (char *)key, type, PyArray_ITEMSIZE(array), false, from, stride,
               n);
    for (int64_t i = 0; i < n && is_wide(array); i++) {
        key[i] ^= INT64_MIN;
    }
}

int64_t
ps_key_of(ps_state *state, PyArrayObject *array, npy_intp at)
{
    int64_t key;
    read_keys(state, array, PyArray_BYTES(array) + at * PyArray_STRIDE(array, 0), 0, 1,
              &key);
    return key;
}

/* A key as the number that it stands for. */
static PyObject *
number_of(PyArrayObject *array, int64_t key)
{
    return is_wide(array) ? PyLong_FromUnsignedLongLong((uint64_t)(key ^ INT64_MIN))
                          : PyLong_FromLongLong(key);
}

static int
refuse_fall(PyArrayObject *index, int64_t before, int64_t key, int64_t position)
{
    PyObject *const from = number_of(index, before), *const to = number_of(index, key);
    if (from != NULL && to != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "assume_sorted: ids fall from %S to %S at position %lld", from, to,
                     (long long)position);
    }
    Py_XDECREF(from);
    Py_XDECREF(to);
    return -1;
}

/* Of a contiguous index in native order. */
static int
check_sorted(ps_state *state, PyArrayObject *index, int batch_dims)
{
    enum {
        BLOCK = 256
    };
    const int64_t n = PyArray_SIZE(index), size = PyArray_ITEMSIZE(index);
    const char *const data = PyArray_BYTES(index);
    int64_t key[BLOCK], before = INT64_MIN, n_batches = 1;
    if (PyArray_NDIM(index) < batch_dims) {
        return ps_raise_changed("ids");
    }
    for (int i = 0; i < batch_dims; i++) {
        n_batches *= PyArray_DIM(index, i);
    }
    const int64_t each = n > 0 ? n / n_batches : 1;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = ps_min(BLOCK, n - first);
        read_keys(state, index, data + first * size, size, count, key);
        for (int64_t i = 0; i < count; before = key[i++]) {
            if (key[i] < before && (first + i) % each != 0) {
                return refuse_fall(index, before, key[i], (first + i) % each);
            }
        }
        if (ps_hears(first)) {
            if (ps_hear(first) < 0) {
                return -1;
            }
            if (!ps_is_there(index, data, n)) {
                return ps_raise_changed("ids");
            }
        }
    }
    return 0;
}

int
ps_check_sorted(ps_state *state, PyArrayObject *index, int batch_dims)
{
    PyArrayObject *const plain = ps_contiguous(index);
    const int status = plain != NULL ? check_sorted(state, plain, batch_dims) : -1;
    Py_XDECREF((PyObject *)plain);
    return status;
}

ps_index
ps_line_index(PyArrayObject *array, int64_t size, int64_t *stride)
{
    *stride = PyArray_NDIM(array) == 1 ? PyArray_STRIDE(array, 0)
                                       : PyArray_ITEMSIZE(array);
    return (ps_index){.data = PyArray_BYTES(array),
                      .strides = stride,
                      .type = (enum ps_index_type)ps_index_type_of(array),
                      .size = size,
                      .step = 1};
}
