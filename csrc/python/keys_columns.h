/* Keys as Python has them become columns for the op. */
#ifndef PS_PYTHON_KEYS_COLUMNS_H
#define PS_PYTHON_KEYS_COLUMNS_H

#include "python/arrays.h"

#include "ops/keys.h"

/* What a column reads, and where its axes lie. */
typedef struct {
    PyArrayObject *array;
    ps_axes axes;
} ps_column_room;

/* The keys of a call, and the columns that they make: one, or those of a record's
 * fields. */
typedef struct {
    Py_ssize_t n_keys;
    PyArrayObject **key; /* views of base class, of one shape */
    int n, room;
    ps_key_column *column;
    ps_column_room **at;
} ps_key_columns;

/* Every key as an array; nothing of them is looked at before the last has been
 * converted. 0 or -1; to be closed either way. */
int ps_open_keys(ps_state *state, ps_key_columns *keys, PyObject *const *objects,
                 Py_ssize_t n);
void ps_close_keys_columns(ps_key_columns *keys);

/* The columns of keys that have been opened. Objects are numbered here, which runs
 * their code: with sort, in the order of <. */
int ps_make_columns(ps_state *state, ps_key_columns *keys, bool sorts,
                    bool keeps_missing);

/* The keys of entries `first` of array number `k`; a new reference, or NULL. */
PyArrayObject *ps_unique_keys(ps_state *state, const ps_key_columns *keys, Py_ssize_t k,
                              const ps_keys_call *call, PyArrayObject *first);

/* Numbers of objects: a fresh array of intp in C order, in which equal objects have one
 * number, in the order of < where `sorts`; keeps_missing: NaN and None come last, else
 * they are -1. `array` is of objects, and nobody else has it. */
PyArrayObject *ps_number_objects(PyArrayObject *array, bool sorts, bool keeps_missing);

#endif
