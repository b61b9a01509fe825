/* Entries of segments (contract in entries.h). */
#include "python/entries.h"

#include "ops/values.h"
#include "python/copies.h"

ps_index
ps_vector_index(PyArrayObject *vector, int64_t size, int64_t *stride)
{
    *stride = PyArray_STRIDE(vector, 0);
    return (ps_index){.data = PyArray_BYTES(vector),
                      .strides = stride,
                      .type = (enum ps_index_type)ps_index_type_of(vector),
                      .size = size,
                      .step = 1};
}

PyArrayObject *
ps_open_rows(ps_state *state, PyArrayObject *array, PyArray_Descr *descr,
             enum ps_dtype type, bool widens, enum ps_dtype *dtype)
{
    const enum ps_dtype given = ps_dtype_of(state, PyArray_DESCR(array));
    const bool is_castable = !widens && given != PS_t64 && given != PS_raw &&
                             ps_can_convert(given, type);
    PyArrayObject *rows;
    if (is_castable || PyArray_EquivTypes(PyArray_DESCR(array), descr)) {
        *dtype = given;
        rows = ps_contiguous(array);
    }
    else {
        *dtype = ps_dtype_of(state, descr);
        Py_INCREF(descr);
        rows = ps_cast_of(array, descr);
    }
    return rows;
}
