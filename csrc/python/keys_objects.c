/* Keys that are Python objects are numbered by a dict, so by hash and == (contract in
 * keys_columns.h).
 *
 * The array is a copy that nobody else has: whatever __hash__, __eq__ and < do to the
 * caller's, each object stays alive, and the numbers fit what has been read. None, and
 * what is not equal to itself, are two missing keys: they are never looked up.
 */
#include "python/keys_columns.h"

#include "python/copies.h"

typedef struct {
    PyObject *numbers;  /* dict: object to number */
    PyObject *objects;  /* list: of each number its object */
    npy_intp none, nan; /* entries that are missing: how many */
} object_numbers;

enum {
    NONE = -2,
    NAN_OBJECT = -1,
    /* Light turns that one object takes, 2 ns each: hashed, looked up, compared. */
    TURNS = 1 << 6
};

/* Is it unlike itself? 1 or 0, or -1 with an exception. What answers with something
 * else than a bool is like itself. */
static int
is_nan(PyObject *object)
{
    if (PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
        PyBytes_CheckExact(object) || PyBool_Check(object)) {
        return 0;
    }
    if (PyFloat_CheckExact(object)) {
        const double value = PyFloat_AS_DOUBLE(object);
        return value != value;
    }
    PyObject *const answer = PyObject_RichCompare(object, object, Py_NE);
    if (answer == NULL) {
        return -1;
    }
    const bool is_bool = PyBool_Check(answer) || PyArray_IsScalar(answer, Bool);
    const int result = is_bool ? PyObject_IsTrue(answer) : 0;
    Py_DECREF(answer);
    return result;
}

/* The number of an object that is not missing. */
static int
number_of(object_numbers *work, PyObject *object, npy_intp *number)
{
    PyObject *const found = PyDict_GetItemWithError(work->numbers, object);
    if (found != NULL) {
        *number = PyLong_AsSsize_t(found);
        return *number == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    *number = PyList_GET_SIZE(work->objects);
    PyObject *const fresh = PyLong_FromSsize_t(*number);
    const int status =
            fresh == NULL || PyDict_SetItem(work->numbers, object, fresh) < 0 ||
                            PyList_Append(work->objects, object) < 0
                    ? -1
                    : 0;
    Py_XDECREF(fresh);
    return status;
}

/* id[i] = the number of object i, NONE or NAN_OBJECT. */
static int
number_all(object_numbers *work, PyObject *const *object, npy_intp n, npy_intp *id)
{
    for (npy_intp i = 0; i < n; i++) {
        PyObject *const one = object[i] != NULL ? object[i] : Py_None;
        const int missing = one == Py_None ? 0 : is_nan(one);
        if (missing < 0 || ps_hear((i + 1) * TURNS) < 0) {
            return -1;
        }
        if (one == Py_None || missing) {
            id[i] = one == Py_None ? NONE : NAN_OBJECT;
            work->none += one == Py_None;
            work->nan += one != Py_None;
        }
        else if (number_of(work, one, &id[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* rank[number] = the place of its object in the order of <. */
static int
rank_objects(const object_numbers *work, npy_intp *rank)
{
    PyObject *const sorted = PyList_GetSlice(work->objects, 0, PY_SSIZE_T_MAX);
    int status = sorted != NULL ? PyList_Sort(sorted) : -1;
    if (status < 0 && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_SetString(PyExc_TypeError,
                        "sort=True needs keys that < compares with each other (use "
                        "sort=False for the order of appearance)");
    }
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(sorted); k++) {
        PyObject *const number =
                PyDict_GetItemWithError(work->numbers, PyList_GET_ITEM(sorted, k));
        if (number == NULL) {
            status = PyErr_Occurred() ? -1 : ps_raise_changed("keys");
            break;
        }
        rank[PyLong_AsSsize_t(number)] = k;
        status = ps_hear((k + 1) * TURNS);
    }
    Py_XDECREF(sorted);
    return status;
}

static void
finish(const object_numbers *work, const npy_intp *rank, bool keeps_missing, npy_intp n,
       npy_intp *id)
{
    const npy_intp count = PyList_GET_SIZE(work->objects);
    for (npy_intp i = 0; i < n; i++) {
        if (id[i] >= 0) {
            id[i] = rank != NULL ? rank[id[i]] : id[i];
        }
        else if (keeps_missing) {
            id[i] = count + (id[i] == NONE && work->nan > 0);
        }
        else {
            id[i] = -1;
        }
    }
}

static int
number_and_rank(object_numbers *work, PyArrayObject *array, bool sorts,
                bool keeps_missing, npy_intp *id)
{
    const npy_intp n = PyArray_SIZE(array);
    if (number_all(work, PyArray_DATA(array), n, id) < 0) {
        return -1;
    }
    const size_t count = (size_t)PyList_GET_SIZE(work->objects);
    npy_intp *const rank = sorts ? PyMem_Calloc(count + 1, sizeof(npy_intp)) : NULL;
    int status = 0;
    if (sorts && rank == NULL) {
        PyErr_NoMemory();
        status = -1;
    }
    else if (sorts) {
        status = rank_objects(work, rank);
    }
    if (status == 0) {
        finish(work, rank, keeps_missing, n, id);
    }
    PyMem_Free(rank);
    return status;
}

PyArrayObject *
ps_number_objects(PyArrayObject *array, bool sorts, bool keeps_missing)
{
    object_numbers work = {.numbers = PyDict_New(), .objects = PyList_New(0)};
    PyArrayObject *ids = (PyArrayObject *)PyArray_SimpleNew(
            PyArray_NDIM(array), PyArray_DIMS(array), NPY_INTP);
    if (ids != NULL &&
        (work.numbers == NULL || work.objects == NULL ||
         number_and_rank(&work, array, sorts, keeps_missing, PyArray_DATA(ids)) < 0)) {
        Py_CLEAR(ids);
    }
    Py_XDECREF(work.numbers);
    Py_XDECREF(work.objects);
    return ids;
}
