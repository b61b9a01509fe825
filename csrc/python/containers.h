/* The containers of sparse arrays, for module.c and for the ops that take them. */
#ifndef PS_PYTHON_CONTAINERS_H
#define PS_PYTHON_CONTAINERS_H

#include "python/core.h"

#include "python/matrix.h"
#include "python/transpose.h"

/* A CSR, CSC or COO: views that nobody can replace. What the arrays hold, and whether
 * their memory is still there, has to be checked at each use. */
typedef struct {
    PyObject_HEAD;
    enum ps_format format;
    int64_t shape[2];
    PyObject *data;     /* an array of one axis, or None: ones */
    PyObject *entries;  /* indices, or of COO col: of int32 or int64, of any layout */
    PyObject *pointers; /* indptr, or of COO row */
    PyObject *weak_references;
    ps_cell *cell; /* shared with transposes; NULL: none has been asked for */
} ps_container;

/* Make the base type, keep it in the state, add it to the module. 0 or -1. */
int ps_add_containers(PyObject *module);

/* The container in `object`, or NULL where it is something else. */
ps_container *ps_container_of(const ps_state *state, PyObject *object);

/* The format of a name such as "csr"; -1: there is none. */
int ps_format_named(const char *name);

/* Two sizes. 0, or -1 with an exception. */
int ps_to_shape(PyObject *object, int64_t *shape);

/* A container of the class `type`, whose arrays are fresh or another container's; they
 * become read-only. `data` may be None. */
PyObject *ps_new_container(ps_state *state, PyObject *type, PyObject *data,
                           PyArrayObject *entries, PyArrayObject *pointers,
                           const int64_t *shape);

#endif
