/* What a call on segments computes in, and the scalars that are given in these types
 * (contract in segment_call.h). May run Python code, before a shape is looked at. */
#include "python/segment_call.h"

#include "ops/values.h"
#include "python/arrays.h"
#include "python/copies.h"
#include "python/values.h"

/* What cannot become `initial` or `fill_value`, in words of its own. */
static int
refuse_scalar(const char *name, PyObject *object, PyArray_Descr *descr)
{
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s is %R, which does not fit dtype %S", name,
                     object, (PyObject *)descr);
    }
    else if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s is %R; expected a scalar of dtype %S", name,
                     object, (PyObject *)descr);
    }
    return -1;
}

/* initial= or fill_value= as an item of `descr`, in `type`. */
static int
take_scalar(const ps_segment_work *work, enum slot slot, PyArray_Descr *descr,
            enum ps_dtype type, char *item)
{
    const char *const name = slot == INITIAL ? "initial" : "fill_value";
    PyObject *const object = work->slot[slot];
    ps_incoming incoming = {NULL};
    const bool is_list = PyList_Check(object) || PyTuple_Check(object);
    int status = 0;
    if (!is_list && ps_take_values(work->reduce.state, object, descr, type,
                                   NPY_SAME_KIND_CASTING, &incoming) < 0) {
        status = refuse_scalar(name, object, descr);
    }
    else if (is_list || (incoming.array != NULL && PyArray_NDIM(incoming.array) != 0)) {
        PyErr_Format(PyExc_ValueError, "%s is %R; expected a scalar", name, object);
        status = -1;
    }
    else {
        const ps_values *const view = &incoming.view;
        ps_convert(type, item, view->dtype, view->itemsize, view->swapped, view->data,
                   0, 1);
    }
    ps_close_values(&incoming);
    return status;
}

/* The dtype that a call computes from: that of the values, or of their products; truth
 * is asked of the values first of all. */
static PyArray_Descr *
given_descr(const ps_reduce *reduce, enum ps_dtype given)
{
    if (reduce->values == NULL ||
        (reduce->reduction->of == PS_FOLD_TRUTH &&
         (given != PS_raw || PyArray_ISCOMPLEX(reduce->values)))) {
        return PyArray_DescrFromType(NPY_BOOL);
    }
    PyArray_Descr *both[2] = {PyArray_DESCR(reduce->values), NULL};
    if (reduce->weights == NULL) {
        return (PyArray_Descr *)Py_NewRef((PyObject *)both[0]);
    }
    both[1] = PyArray_DESCR(reduce->weights);
    return PyArray_ResultType(0, NULL, 2, both);
}

/* What kernels do not convert to the type of sums is NumPy's to cast: ticks of another
 * unit, which are numbers of the same type that mean other times, in foreign byte
 * orders as well, once, before rows are counted in them. 0 or -1. */
static int
cast_values(ps_reduce *reduce, enum ps_dtype given)
{
    const enum ps_dtype type = reduce->types.sum_type;
    PyArray_Descr *const descr = reduce->types.sum;
    const enum ps_folded of = reduce->reduction->of;
    if (of == PS_FOLD_ONES || of == PS_FOLD_TRUTH ||
        (type == PS_t64 ? PyArray_EquivTypes(PyArray_DESCR(reduce->values), descr) != 0
                        : ps_can_convert(given, type))) {
        return 0;
    }
    Py_INCREF(descr);
    Py_SETREF(reduce->values, ps_cast_of(reduce->values, descr));
    return reduce->values != NULL ? 0 : -1;
}

/* initial= in the type of sums; where half types are compared, it is one of them. */
static int
take_initial(ps_segment_work *work, enum ps_dtype given)
{
    ps_reduce *const reduce = &work->reduce;
    const ps_fold_types *const types = &reduce->types;
    const bool is_place = reduce->reduction->of == PS_FOLD_PLACES;
    const bool is_half = given != PS_raw && ps_dtype_kind[given] == PS_KIND_HALF &&
                         ps_is_order(reduce->reduction->fold) &&
                         (is_place || types->result_type == given);
    if (!is_half) {
        return take_scalar(work, INITIAL, types->sum, types->sum_type, reduce->start);
    }
    char item[16];
    PyArray_Descr *const half = ps_descr_of(reduce->state, given);
    const int status =
            half != NULL ? take_scalar(work, INITIAL, half, given, item) : -1;
    if (status == 0) {
        ps_convert(types->sum_type, reduce->start, given, ps_dtype_size[given], false,
                   item, 0, 1);
    }
    Py_XDECREF(half);
    return status;
}

int
ps_take_segment_types(ps_segment_work *work)
{
    ps_reduce *const reduce = &work->reduce;
    ps_fold_types *const types = &reduce->types;
    enum ps_dtype given = PS_b1;
    if (reduce->values != NULL &&
        ps_storage_of(reduce->state, reduce->values, &given) < 0) {
        return -1;
    }
    PyArray_Descr *const descr = given_descr(reduce, given);
    const int found = descr != NULL ? ps_find_types(reduce->state, reduce->reduction,
                                                    descr, work->slot[DTYPE], types)
                                    : -1;
    Py_XDECREF(descr);
    if (found < 0) {
        return -1;
    }
    if (types->sum_type == PS_raw || types->result_type == PS_raw) {
        reduce->is_foreign = true;
        return 0;
    }
    if (reduce->values != NULL && cast_values(reduce, given) < 0) {
        return -1;
    }
    return (reduce->starts && take_initial(work, given) < 0) ||
                           (reduce->fills &&
                            take_scalar(work, FILL_VALUE, types->result,
                                        types->result_type, reduce->fill) < 0)
                   ? -1
                   : 0;
}
