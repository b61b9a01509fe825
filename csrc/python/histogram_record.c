/* The base of Histogram: two arrays and some numbers that belong together, made in C
 * because ten elements are counted in the time that a Python constructor takes. The
 * Python side (pyscatter/histogram.py) subclasses it and gives it its methods. */
#include "python/histogram_record.h"

#include <stddef.h>
#include <structmember.h>

/* References and numbers of *from into a fresh object; they are stolen. */
static PyObject *
record_of(PyTypeObject *type, const ps_histogram_record *from)
{
    ps_histogram_record *const self = (ps_histogram_record *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_XDECREF(from->counts);
        Py_XDECREF(from->edges);
        Py_XDECREF(from->kind);
        return NULL;
    }
    const PyObject head = self->ob_base;
    *self = *from;
    self->ob_base = head;
    return (PyObject *)self;
}

PyObject *
ps_new_histogram(ps_state *state, const ps_histogram_record *record)
{
    PyObject *const type = ps_get_helper(state, PS_HELPER_Histogram);
    if (type == NULL || !PyType_Check(type) ||
        !PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)state->record_type)) {
        Py_XDECREF(record->counts);
        Py_XDECREF(record->edges);
        Py_XDECREF(record->kind);
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Histogram is no HistogramRecord");
        }
        return NULL;
    }
    return record_of((PyTypeObject *)type, record);
}

/* All fields in order, for copies, pickles and merged histograms. */
static PyObject *
new_record(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    ps_histogram_record record = {.counts = NULL};
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Histogram takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!O!UbbbLLLLLLdddd:Histogram", &PyArray_Type,
                          &record.counts, &PyArray_Type, &record.edges, &record.kind,
                          &record.is_density, &record.is_weighted, &record.is_found,
                          &record.n_nan, &record.n_posinf, &record.n_neginf,
                          &record.n_below, &record.n_above, &record.num, &record.min,
                          &record.max, &record.sum, &record.sum_squares)) {
        return NULL;
    }
    Py_INCREF(record.counts);
    Py_INCREF(record.edges);
    Py_INCREF(record.kind);
    return record_of(type, &record);
}

static int
visit_parts(PyObject *object, visitproc visit, void *arg)
{
    const ps_histogram_record *const self = (ps_histogram_record *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->counts);
    Py_VISIT(self->edges);
    Py_VISIT(self->kind);
    return 0;
}

static int
clear_parts(PyObject *object)
{
    ps_histogram_record *const self = (ps_histogram_record *)object;
    Py_CLEAR(self->counts);
    Py_CLEAR(self->edges);
    Py_CLEAR(self->kind);
    return 0;
}

static void
end(PyObject *object)
{
    ps_end_object(object, clear_parts);
}

/* clang-format off */
#define FIELD(name, type, member, text) \
    {#name, type, offsetof(ps_histogram_record, member), READONLY, text}
static PyMemberDef members[] = {
    FIELD(counts, T_OBJECT_EX, counts, "Elements, or sums of weights, of each bin."),
    FIELD(edges, T_OBJECT_EX, edges, "Where bins begin, and where the last one ends."),
    FIELD(kind, T_OBJECT_EX, kind, "\"bins\", \"edges\", \"tb1\", \"tb2\" or \"log2\"."),
    FIELD(density, T_BOOL, is_density, "Are counts densities?"),
    FIELD(weighted, T_BOOL, is_weighted, "Are counts sums of weights?"),
    FIELD(range_found, T_BOOL, is_found, "Was the range found from the elements?"),
    FIELD(n_nan, T_LONGLONG, n_nan, "Elements that are NaN."),
    FIELD(n_posinf, T_LONGLONG, n_posinf, "Elements that are positive infinity."),
    FIELD(n_neginf, T_LONGLONG, n_neginf, "Elements that are negative infinity."),
    FIELD(n_below, T_LONGLONG, n_below, "Finite elements below the first edge."),
    FIELD(n_above, T_LONGLONG, n_above, "Finite elements above the last edge."),
    FIELD(num, T_LONGLONG, num, "Finite elements."),
    FIELD(min, T_DOUBLE, min, "The least finite element; NaN where there is none."),
    FIELD(max, T_DOUBLE, max, "The largest finite element; NaN where there is none."),
    FIELD(sum, T_DOUBLE, sum, "Of the finite elements."),
    FIELD(sum_squares, T_DOUBLE, sum_squares, "Of the squares of the finite elements."),
    {NULL, 0, 0, 0, NULL}};
/* clang-format on */

int
ps_add_histogram_record(PyObject *module)
{
    static const char signature[] = "HistogramRecord(*fields)\n--\n\n";
    PyType_Slot slots[] = {
            {Py_tp_doc, (void *)signature}, {Py_tp_new, new_record},
            {Py_tp_dealloc, end},           {Py_tp_traverse, visit_parts},
            {Py_tp_members, members},       {0, NULL}};
    PyType_Spec spec = {.name = "pyscatter._core.HistogramRecord",
                        .basicsize = sizeof(ps_histogram_record),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    return ps_add_type(module, &spec, &ps_get_state(module)->record_type);
}
