/* Keys become columns (contract in keys_columns.h).
 *
 * An array of numbers is read as it lies, in any layout; strings and bytes have to be
 * native and side by side; records are taken apart into their fields, and these into
 * the elements of their arrays; objects and StringDType are numbered here.
 */
#include "python/keys_columns.h"

#include <string.h>

#include "base/sizes.h"
#include "python/copies.h"

enum {
    /* Columns of a call: a record of more numbers than this is no key. */
    MOST_COLUMNS = 1 << 12
};

/* ---- the arrays ---- */

int
ps_open_keys(ps_state *state, ps_key_columns *keys, PyObject *const *objects,
             Py_ssize_t n)
{
    *keys = (ps_key_columns){0};
    keys->key = PyMem_Calloc((size_t)n, sizeof(PyArrayObject *));
    if (keys->key == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; keys->n_keys < n; keys->n_keys++) {
        if (objects[keys->n_keys] == Py_None) {
            /* One missing key: sooner an argument left out, or values and keys swapped.
             */
            PyErr_SetString(PyExc_TypeError,
                            "keys are None; expected an array of keys");
            return -1;
        }
        PyArrayObject *const array = ps_as_array(state, objects[keys->n_keys], "keys");
        if (array == NULL) {
            return -1;
        }
        keys->key[keys->n_keys] = array;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        if (ps_hold_view(&keys->key[k]) < 0) {
            return -1;
        }
        PyArrayObject *const one = keys->key[0], *const other = keys->key[k];
        if (!PyArray_SAMESHAPE(one, other)) {
            return ps_raise_shapes(PyExc_ValueError,
                                   "keys have shapes %U and %U; expected one shape",
                                   PyArray_NDIM(one), PyArray_DIMS(one),
                                   PyArray_NDIM(other), PyArray_DIMS(other));
        }
    }
    return 0;
}

void
ps_close_keys_columns(ps_key_columns *keys)
{
    for (Py_ssize_t k = 0; k < keys->n_keys; k++) {
        Py_XDECREF((PyObject *)keys->key[k]);
    }
    for (int i = 0; i < keys->n; i++) {
        Py_XDECREF((PyObject *)keys->at[i]->array);
        PyMem_Free(keys->at[i]);
    }
    PyMem_Free(keys->key);
    PyMem_Free(keys->column);
    PyMem_Free(keys->at);
}

/* ---- columns ---- */

typedef struct {
    ps_state *state;
    ps_key_columns *keys;
    bool sorts, keeps_missing;
} making;

static int
make_room(ps_key_columns *keys)
{
    if (keys->n >= MOST_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "keys have more than %d fields", MOST_COLUMNS);
        return -1;
    }
    if (keys->n < keys->room) {
        return 0;
    }
    const int room = 2 * keys->room + 1;
    ps_key_column *const column =
            PyMem_Realloc(keys->column, (size_t)room * sizeof(ps_key_column));
    if (column != NULL) {
        keys->column = column;
    }
    ps_column_room **const at =
            PyMem_Realloc(keys->at, (size_t)room * sizeof(ps_column_room *));
    if (at != NULL) {
        keys->at = at;
    }
    if (column == NULL || at == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    keys->room = room;
    return 0;
}

/* A column that reads `array`, whose reference is stolen, NULL: an exception is set. */
static int
add_column(ps_key_columns *keys, PyArrayObject *array, enum ps_dtype dtype,
           enum ps_key_kind kind, bool is_coded)
{
    ps_column_room *const room =
            array != NULL && make_room(keys) == 0 ? PyMem_Malloc(sizeof(*room)) : NULL;
    if (room == NULL) {
        Py_XDECREF((PyObject *)array);
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        return -1;
    }
    room->array = array;
    keys->at[keys->n] = room;
    keys->column[keys->n++] =
            (ps_key_column){.view = ps_view_of(array, dtype, &room->axes),
                            .kind = kind,
                            .is_coded = is_coded};
    return 0;
}

/* Objects, or text that NumPy keeps elsewhere, by numbers. */
static int
add_objects(making *work, PyArrayObject *array)
{
    PyArrayObject *const own = ps_cast_of(array, PyArray_DescrFromType(NPY_OBJECT));
    PyArrayObject *const ids =
            own != NULL ? ps_number_objects(own, work->sorts, work->keeps_missing)
                        : NULL;
    Py_XDECREF((PyObject *)own);
    return add_column(work->keys, ids, PS_i64, PS_KEYS_WORDS, true);
}

/* Complex numbers of long doubles: two columns; all that have a NaN are one key. */
static int
add_long_complex(making *work, PyArrayObject *array)
{
    PyArrayObject *const own =
            ps_cast_of(array, PyArray_DescrFromType(NPY_CLONGDOUBLE));
    if (own == NULL) {
        return -1;
    }
    npy_clongdouble *const number = PyArray_DATA(own);
    for (npy_intp i = 0; i < PyArray_SIZE(own); i++) {
        long double part[2];
        memcpy(part, &number[i], sizeof(part));
        if (part[0] != part[0] || part[1] != part[1]) {
            part[0] = part[1] = (long double)Py_NAN;
            memcpy(&number[i], part, sizeof(part));
        }
        if (ps_hear(i + 1) < 0) {
            Py_DECREF((PyObject *)own);
            return -1;
        }
    }
    int status = 0;
    for (int part = 0; part < 2 && status == 0; part++) {
        PyArrayObject *const half = (PyArrayObject *)PyArray_GetField(
                own, PyArray_DescrFromType(NPY_LONGDOUBLE),
                part * (int)sizeof(long double));
        status = add_column(work->keys, half, PS_f80, PS_KEYS_WORDS, false);
    }
    Py_DECREF((PyObject *)own);
    return status;
}

static int add_any(making *work, PyArrayObject *array);

/* The field of `descr`, a borrowed reference, at `offset` of each item. */
static int
add_field(making *work, PyArrayObject *array, PyArray_Descr *descr, npy_intp offset)
{
    Py_INCREF((PyObject *)descr);
    PyArrayObject *const field =
            (PyArrayObject *)PyArray_GetField(array, descr, (int)offset);
    const int status = field != NULL ? add_any(work, field) : -1;
    Py_XDECREF((PyObject *)field);
    return status;
}

/* Every element of a field, which may be an array. */
static int
add_elements(making *work, PyArrayObject *array, PyArray_Descr *descr, npy_intp offset)
{
    if (!PyDataType_HASSUBARRAY(descr)) {
        return add_field(work, array, descr, offset);
    }
    PyArray_Descr *const base = PyDataType_SUBARRAY(descr)->base;
    const npy_intp each = PyDataType_ELSIZE(base);
    for (npy_intp at = 0; each > 0 && at < PyDataType_ELSIZE(descr); at += each) {
        if (add_field(work, array, base, offset + at) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_record(making *work, PyArrayObject *array)
{
    PyArray_Descr *const descr = PyArray_DESCR(array);
    PyObject *const names = PyDataType_NAMES(descr);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *const field = PyDict_GetItemWithError(PyDataType_FIELDS(descr),
                                                        PyTuple_GET_ITEM(names, i));
        const Py_ssize_t offset =
                field != NULL ? PyLong_AsSsize_t(PyTuple_GET_ITEM(field, 1)) : -1;
        if (offset < 0 ||
            add_elements(work, array, (PyArray_Descr *)PyTuple_GET_ITEM(field, 0),
                         offset) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Strings and bytes: native, side by side. */
static int
add_bytes(making *work, PyArrayObject *array)
{
    const int number = PyArray_DESCR(array)->type_num;
    if (number != NPY_STRING && number != NPY_UNICODE && number != NPY_VOID) {
        PyErr_Format(PyExc_TypeError, "keys of dtype %S cannot be told apart",
                     (PyObject *)PyArray_DESCR(array));
        return -1;
    }
    return add_column(work->keys, ps_contiguous(array), PS_raw,
                      number == NPY_UNICODE ? PS_KEYS_UNITS : PS_KEYS_BYTES, false);
}

static int
add_any(making *work, PyArrayObject *array)
{
    PyArray_Descr *const descr = PyArray_DESCR(array);
    const enum ps_dtype dtype = ps_dtype_of(work->state, descr);
    if (dtype != PS_raw) {
        return add_column(work->keys, (PyArrayObject *)Py_NewRef((PyObject *)array),
                          dtype, PS_KEYS_WORDS, false);
    }
    if (descr->type_num == NPY_OBJECT || descr->type_num == NPY_VSTRING) {
        return add_objects(work, array);
    }
    if (descr->type_num == NPY_CLONGDOUBLE) {
        return add_long_complex(work, array);
    }
    return PyDataType_HASFIELDS(descr) ? add_record(work, array)
                                       : add_bytes(work, array);
}

/* Code of objects, and handlers of signals, may have taken memory away. */
static int
check_memory(const ps_key_columns *keys)
{
    bool is_there = true;
    for (Py_ssize_t k = 0; k < keys->n_keys; k++) {
        is_there = is_there && ps_lies_in_base(keys->key[k]);
    }
    for (int i = 0; i < keys->n; i++) {
        is_there = is_there && ps_lies_in_base(keys->at[i]->array);
    }
    return is_there ? 0 : ps_raise_changed("keys");
}

/* Records without a field are all equal: a column of zeros stands for them. */
int
ps_make_columns(ps_state *state, ps_key_columns *keys, bool sorts, bool keeps_missing)
{
    making work = {state, keys, sorts, keeps_missing};
    for (Py_ssize_t k = 0; k < keys->n_keys; k++) {
        if (add_any(&work, keys->key[k]) < 0) {
            return -1;
        }
    }
    if (keys->n == 0) {
        PyArrayObject *const zeros = (PyArrayObject *)PyArray_ZEROS(
                PyArray_NDIM(keys->key[0]), PyArray_DIMS(keys->key[0]), NPY_BOOL, 0);
        return add_column(keys, zeros, PS_b1, PS_KEYS_WORDS, false);
    }
    return check_memory(keys);
}

/* ---- uniques ---- */

/* By NumPy: objects, and text that it keeps elsewhere. */
static PyArrayObject *
take_by_numpy(PyArrayObject *array, PyArrayObject *first)
{
    PyArrayObject *const flat = ps_flat_of(array);
    PyArrayObject *const taken =
            flat != NULL ? (PyArrayObject *)PyArray_TakeFrom(flat, (PyObject *)first, 0,
                                                             NULL, NPY_RAISE)
                         : NULL;
    Py_XDECREF((PyObject *)flat);
    return taken;
}

/* The same type in native byte order; a new reference. Records are asked first: NumPy
 * does not notice that memory has run out while it takes them apart. */
static PyArray_Descr *
native_of(PyArray_Descr *descr)
{
    PyObject *const is_native =
            PyDataType_HASFIELDS(descr)
                    ? PyObject_GetAttrString((PyObject *)descr, "isnative")
                    : Py_NewRef(Py_False);
    const bool stays = is_native == Py_True;
    if (is_native == NULL) {
        return NULL;
    }
    Py_DECREF(is_native);
    return stays ? (PyArray_Descr *)Py_NewRef((PyObject *)descr)
                 : PyArray_DescrNewByteorder(descr, NPY_NATIVE);
}

/* Room for the keys of n numbers. NumPy gives a string of no characters one, which
 * nothing is written to. */
static PyArrayObject *
room_of(PyArray_Descr *descr, npy_intp n)
{
    Py_INCREF((PyObject *)descr);
    PyArrayObject *const room = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, descr, 1, &n, NULL, NULL, 0, NULL);
    if (room != NULL && PyDataType_ELSIZE(descr) == 0) {
        memset(PyArray_DATA(room), 0, (size_t)PyArray_NBYTES(room));
    }
    return room;
}

/* Not by NumPy: what is not an object is copied as it lies. */
static PyArrayObject *
take_by_bytes(ps_state *state, PyArrayObject *key, PyArray_Descr *native,
              const ps_keys_call *call)
{
    PyArray_Descr *const own = PyArray_DESCR(key);
    const enum ps_dtype dtype = ps_dtype_of(state, own);
    const npy_intp n = call->n_keys;
    PyArrayObject *taken = room_of(dtype == PS_raw ? own : native, n);
    ps_axes axes;
    const ps_view view = ps_view_of(key, dtype, &axes);
    if (taken != NULL) {
        ps_take_call take = {&view, call->first, call->is_wide, n,
                             PyArray_BYTES(taken)};
        const ps_status status = ps_run_op(state, ps_take_keys, &take, 64 * n);
        if (ps_raise(state, status, "keys") < 0) {
            Py_CLEAR(taken);
        }
    }
    return taken;
}

/* Strings and records are taken as they are, and made native then: bytes between fields
 * are zeros where a record is made anew. */
PyArrayObject *
ps_unique_keys(ps_state *state, const ps_key_columns *keys, Py_ssize_t k,
               const ps_keys_call *call, PyArrayObject *first)
{
    PyArrayObject *const key = keys->key[k];
    PyArray_Descr *const own = PyArray_DESCR(key);
    if (own->type_num == NPY_OBJECT || own->type_num == NPY_VSTRING) {
        return take_by_numpy(key, first);
    }
    PyArray_Descr *const native = native_of(own);
    if (native == NULL) {
        return NULL;
    }
    PyArrayObject *taken = PyDataType_REFCHK(own)
                                   ? take_by_numpy(key, first)
                                   : take_by_bytes(state, key, native, call);
    if (taken != NULL && !PyArray_EquivTypes(PyArray_DESCR(taken), native) &&
        PyDataType_ELSIZE(own) > 0) {
        Py_INCREF((PyObject *)native);
        Py_SETREF(taken, ps_fresh_copy(taken, native));
    }
    Py_DECREF((PyObject *)native);
    return taken;
}
