/* The binding of colours: a pattern by rows and by columns, copied and checked. */
#include "python/coloring.h"

#include "base/sizes.h"
#include "ops/coloring.h"
#include "python/arrays.h"

enum {
    ROW_EDGE,
    COL,
    COL_EDGE,
    ROW,
    ORDER,
    N_ARRAYS
};

/* Private copies: nobody can rewrite what has been checked. */
static int
copy_arrays(PyObject *const *given, PyArrayObject **array)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        array[i] = (PyArrayObject *)PyArray_FROMANY(
                given[i], NPY_INT64, 1, 1, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY);
        if (array[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Do the edges rise from 0 to nnz, and are all numbers below `size`? */
static bool
is_side(const int64_t *edge, int64_t n, const int64_t *number, int64_t nnz,
        int64_t size)
{
    bool fits = edge[0] == 0 && edge[n] == nnz;
    for (int64_t i = 0; i < n; i++) {
        fits = fits && edge[i] <= edge[i + 1];
    }
    for (int64_t i = 0; i < nnz; i++) {
        fits = fits && number[i] >= 0 && number[i] < size;
    }
    return fits;
}

static bool
is_pattern(const ps_coloring_call *call, PyArrayObject **array)
{
    if (call->n_rows < 0 || call->n_cols < 0 || PyArray_SIZE(array[ROW]) != call->nnz ||
        PyArray_SIZE(array[ORDER]) != call->n_cols) {
        return false;
    }
    for (int64_t i = 0; i < call->n_cols; i++) {
        if (call->order[i] < 0 || call->order[i] >= call->n_cols) {
            return false;
        }
    }
    return is_side(call->row_edge, call->n_rows, call->col, call->nnz, call->n_cols) &&
           is_side(call->col_edge, call->n_cols, call->row, call->nnz, call->n_rows);
}

static PyObject *
colored(ps_state *state, PyArrayObject **array)
{
    ps_coloring_call call = {.n_rows = PyArray_SIZE(array[ROW_EDGE]) - 1,
                             .n_cols = PyArray_SIZE(array[COL_EDGE]) - 1,
                             .nnz = PyArray_SIZE(array[COL]),
                             .row_edge = PyArray_DATA(array[ROW_EDGE]),
                             .col = PyArray_DATA(array[COL]),
                             .col_edge = PyArray_DATA(array[COL_EDGE]),
                             .row = PyArray_DATA(array[ROW]),
                             .order = PyArray_DATA(array[ORDER])};
    if (!is_pattern(&call, array)) {
        PyErr_SetString(PyExc_ValueError, "no pattern by rows and columns");
        return NULL;
    }
    const npy_intp size = call.n_cols;
    PyObject *const color = PyArray_SimpleNew(1, &size, NPY_INT64);
    if (color == NULL) {
        return NULL;
    }
    call.color = PyArray_DATA((PyArrayObject *)color);
    const int64_t nbytes = 64 * ps_min(call.nnz + call.n_cols, INT64_MAX / 64);
    if (ps_raise(state, ps_run_op(state, ps_color_columns, &call, nbytes), "col") < 0) {
        Py_DECREF(color);
        return NULL;
    }
    return Py_BuildValue("NL", color, (long long)call.colors);
}

/* color_columns(row_edge, col, col_edge, row, order): a colour for each column, and how
 * many there are. */
PyObject *
ps_py_color_columns(PyObject *module, PyObject *args)
{
    PyObject *given[N_ARRAYS], *result = NULL;
    PyArrayObject *array[N_ARRAYS] = {NULL};
    if (!PyArg_ParseTuple(args, "OOOOO", &given[ROW_EDGE], &given[COL],
                          &given[COL_EDGE], &given[ROW], &given[ORDER])) {
        return NULL;
    }
    if (copy_arrays(given, array) == 0) {
        result = colored(ps_get_state(module), array);
    }
    for (int i = 0; i < N_ARRAYS; i++) {
        Py_XDECREF((PyObject *)array[i]);
    }
    return result;
}
