/* The extension module pyscatter._core: its functions, its state, its start.
 *
 * Import does no work beyond choosing the table of kernels, interning names and finding
 * a few NumPy objects. Public functions are exported directly, since a Python wrapper
 * would cost a tiny call half of its time; set_docstring gives them their text from the
 * Python modules of their families.
 */
#define PS_IMPORTS_NUMPY
#include "python/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "ops/values.h"
#include "python/args.h"
#include "python/arrays.h"
#include "python/assembly.h"
#include "python/bincount.h"
#include "python/change_answers.h"
#include "python/change_record.h"
#include "python/coloring.h"
#include "python/containers.h"
#include "python/conversion.h"
#include "python/copies.h"
#include "python/group_reduce.h"
#include "python/histogram_record.h"
#include "python/explain.h"
#include "python/kernel_list.h"
#include "python/matrix.h"
#include "python/py_accumulate.h"
#include "python/py_bins.h"
#include "python/py_change.h"
#include "python/py_delta.h"
#include "python/py_gather.h"
#include "python/py_histogram.h"
#include "python/py_keys.h"
#include "python/py_nonzero.h"
#include "python/py_plan.h"
#include "python/pullback.h"
#include "python/py_scatter.h"
#include "python/py_segment.h"
#include "python/py_spmm.h"
#include "python/py_where.h"
#include "python/softmax.h"
#include "python/spgemm.h"
#include "python/tracker.h"

ps_state *
ps_get_state(PyObject *module)
{
    return PyModule_GetState(module);
}

int
ps_add_type(PyObject *module, PyType_Spec *spec, PyObject **kept)
{
    PyObject *const type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        return -1;
    }
    const int status =
            PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type);
    if (kept != NULL) {
        *kept = type;
    }
    else {
        Py_DECREF(type);
    }
    return status;
}

#define HELPER_ROW(name, module) [PS_HELPER_##name] = {#name, module},
static const struct {
    const char *name, *module;
} helper_rows[PS_NUM_HELPERS] = {PS_FOR_EACH_HELPER(HELPER_ROW)};

PyObject *
ps_get_helper(ps_state *state, enum ps_helper helper)
{
    if (state->helper[helper] == NULL) {
        PyObject *const module = PyImport_ImportModule(helper_rows[helper].module);
        if (module == NULL) {
            return NULL;
        }
        state->helper[helper] =
                PyObject_GetAttrString(module, helper_rows[helper].name);
        Py_DECREF(module);
    }
    return state->helper[helper];
}

/* ---- rules that the Python side asks for ---- */

/* as_plain(array, name): an array of base class, whose elements are all there is to it.
 */
static PyObject *
as_plain(PyObject *module, PyObject *args)
{
    PyObject *object;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os", &object, &name)) {
        return NULL;
    }
    PyArrayObject *const array = ps_as_array(ps_get_state(module), object, name);
    PyArrayObject *const plain = array != NULL ? ps_plain(array) : NULL;
    Py_XDECREF((PyObject *)array);
    return (PyObject *)plain;
}

/* require_cast(what, dtype, target, casting): TypeError unless the rule allows it. */
static PyObject *
require_cast(PyObject *module, PyObject *args)
{
    PyArray_Descr *from, *to;
    PyObject *casting;
    const char *what;
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    if (!PyArg_ParseTuple(args, "sO!O!O", &what, &PyArrayDescr_Type, &from,
                          &PyArrayDescr_Type, &to, &casting) ||
        ps_to_casting(casting, &rule) < 0 ||
        ps_require_cast(ps_get_state(module), what, from, to, rule) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- threads ---- */

/* The first number of a comma list in an environment variable, or 0. */
static int
threads_from(const char *variable)
{
    const char *const text = getenv(variable);
    const long number = text != NULL ? strtol(text, NULL, 10) : 0;
    return number > 0 ? (int)(number < 1024 ? number : 1024) : 0;
}

static int
default_threads(void)
{
    int threads = threads_from("PYSCATTER_NUM_THREADS");
    if (threads == 0) {
        threads = threads_from("OMP_NUM_THREADS");
    }
    return threads > 0 ? threads : ps_processor_count();
}

int
ps_threads(ps_state *state)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(state->threads_var, NULL, &value) < 0) {
        return -1;
    }
    if (value != NULL) {
        const long threads = PyLong_AsLong(value);
        Py_DECREF(value);
        return threads == -1 && PyErr_Occurred() ? -1 : (int)threads;
    }
    if (state->threads == 0) {
        state->threads = default_threads();
    }
    return state->threads;
}

static PyObject *
get_threads(PyObject *module, PyObject *unused)
{
    (void)unused;
    const int threads = ps_threads(ps_get_state(module));
    return threads < 0 ? NULL : PyLong_FromLong(threads);
}

static PyObject *
set_threads(PyObject *module, PyObject *argument)
{
    ps_state *const state = ps_get_state(module);
    const long threads = PyLong_AsLong(argument);
    if (threads == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (state->threads == 0) {
        state->threads = default_threads();
    }
    const int before = state->threads;
    state->threads = (int)threads;
    return PyLong_FromLong(before);
}

/* ---- what was built, and hooks for tests ---- */

/* A tuple of the names of 0, 1, ..., n - 1; those that name() leaves out with NULL are
 * not in it. */
static PyObject *
tuple_of_names(int n, const char *(*name)(int))
{
    PyObject *const list = PyList_New(0);
    for (int i = 0; list != NULL && i < n; i++) {
        PyObject *const text = name(i) != NULL ? PyUnicode_FromString(name(i)) : NULL;
        const int status = text != NULL ? PyList_Append(list, text) : 0;
        Py_XDECREF(text);
        if (status < 0 || PyErr_Occurred()) {
            Py_DECREF(list);
            return NULL;
        }
    }
    PyObject *const tuple = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static const char *
available_level_name(int level)
{
    return ps_level_available((enum ps_level)level)
                   ? ps_level_name((enum ps_level)level)
                   : NULL;
}

static PyObject *
op_spellings(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return ps_op_spellings();
}

static PyObject *
list_levels(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return tuple_of_names(PS_NUM_LEVELS, available_level_name);
}

static int
use_level(const char *name, PyObject *error, const char *source)
{
    const int level = ps_level_named(name);
    if (level < 0 || !ps_level_available((enum ps_level)level)) {
        PyErr_Format(error, "%s names the CPU level '%s', which %s", source, name,
                     level < 0 ? "does not exist (baseline, avx2, avx512, avx512vbmi2)"
                               : "this machine does not have");
        return -1;
    }
    ps_use_level((enum ps_level)level);
    return 0;
}

static PyObject *
force_level(PyObject *module, PyObject *argument)
{
    (void)module;
    const char *const name = PyUnicode_AsUTF8(argument);
    const char *const before = ps_level_name(ps_current_level());
    if (name == NULL || use_level(name, PyExc_ValueError, "force_level") < 0) {
        return NULL;
    }
    return PyUnicode_FromString(before);
}

static PyObject *
current_level(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(ps_level_name(ps_current_level()));
}

static const char *
forcible_algorithm_name(int algorithm)
{
    return algorithm != PS_ALGORITHM_automatic
                   ? ps_algorithm_name((enum ps_algorithm)algorithm)
                   : NULL;
}

static PyObject *
list_algorithms(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return tuple_of_names(PS_NUM_ALGORITHMS, forcible_algorithm_name);
}

static PyObject *
force_algorithm(PyObject *module, PyObject *argument)
{
    (void)module;
    int found = argument == Py_None ? 0 : -1;
    for (int i = 1; found < 0 && PyUnicode_Check(argument) && i < PS_NUM_ALGORITHMS;
         i++) {
        if (PyUnicode_CompareWithASCIIString(
                    argument, ps_algorithm_name((enum ps_algorithm)i)) == 0) {
            found = i;
        }
    }
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "unknown algorithm %R", argument);
        return NULL;
    }
    const int before = ps_force_choice(found);
    if (before == PS_ALGORITHM_automatic || before >= PS_NUM_ALGORITHMS) {
        Py_RETURN_NONE; /* beyond them are ways to find bins */
    }
    return PyUnicode_FromString(ps_algorithm_name((enum ps_algorithm)before));
}

/* Tests want the threads that they ask for, also beside busy neighbours. */
static PyObject *
force_threads(PyObject *module, PyObject *argument)
{
    (void)module;
    const int always = PyObject_IsTrue(argument);
    return always < 0 ? NULL : PyBool_FromLong(ps_force_threads(always != 0));
}

/* Give an exported function its docstring, once; the text lives as long as the process,
 * as static docstrings do. */
static PyObject *
set_docstring(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function;
    const char *text;
    if (!PyArg_ParseTuple(args, "O!s", &PyCFunction_Type, &function, &text)) {
        return NULL;
    }
    PyMethodDef *const method = ((PyCFunctionObject *)function)->m_ml;
    if (method->ml_doc == NULL) {
        method->ml_doc = strdup(text);
        if (method->ml_doc == NULL) {
            return PyErr_NoMemory();
        }
    }
    Py_RETURN_NONE;
}

#define FAST(name, function) \
    {name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, NULL}
#define NAMED_METHOD(name, op) FAST(#name, ps_py_##name),
#define ENTRY_METHOD(name) FAST(#name, ps_py_##name),

static PyMethodDef methods[] = {
        FAST("scatter", ps_py_scatter),
        FAST("scatter_along_axis", ps_py_scatter_along_axis),
        FAST("scatter_nd", ps_py_scatter_nd),
        FAST("scatter_at", ps_py_scatter_at),
        FAST("scatter_where", ps_py_scatter_where),
        FAST("gather_where", ps_py_gather_where),
        FAST("where", ps_py_where),
        FAST("gather", ps_py_gather),
        FAST("gather_along_axis", ps_py_gather_along_axis),
        FAST("gather_nd", ps_py_gather_nd),
        FAST("gather_at", ps_py_gather_at),
        FAST("nonzero", ps_py_nonzero),
        FAST("flatnonzero", ps_py_flatnonzero),
        FAST("argwhere", ps_py_argwhere),
        FAST("count_nonzero", ps_py_count_nonzero),
        FAST("bincount", ps_py_bincount),
        FAST("delta", ps_py_delta),
        FAST("segment_reduce", ps_py_segment_reduce),
        FAST("factorize", ps_py_factorize),
        FAST("group_reduce", ps_py_group_reduce),
        {"force_keys", ps_py_force_keys, METH_VARARGS, NULL},
        FAST("spmm", ps_py_spmm),
        FAST("sddmm", ps_py_sddmm),
        FAST("histogram", ps_py_histogram),
        FAST("bin_index", ps_py_bin_index),
        FAST("binned_reduce", ps_py_binned_reduce),
        {"force_bin_way", ps_py_force_bin_way, METH_O, NULL},
        PS_FOR_EACH_SEGMENT_NAME(NAMED_METHOD) PS_FOR_EACH_SEGMENT_ENTRY(ENTRY_METHOD)
                PS_FOR_EACH_DROP_IN(NAMED_METHOD){"get_threads", get_threads,
                                                  METH_NOARGS, NULL},
        {"set_threads", set_threads, METH_O, NULL},
        FAST("change_stats", ps_py_change_stats),
        {"change_update", ps_py_change_update, METH_O, NULL},
        {"change_fields", ps_py_change_fields, METH_NOARGS, NULL},
        {"change_join", ps_py_change_join, METH_O, NULL},
        {"as_plain", as_plain, METH_VARARGS, NULL},
        {"require_cast", require_cast, METH_VARARGS, NULL},
        {"elementary", ps_py_elementary, METH_VARARGS, NULL},
        {"check_matrix", ps_py_check_matrix, METH_O, NULL},
        {"spgemm", ps_py_spgemm, METH_VARARGS, NULL},
        {"spgemm_again", ps_py_spgemm_again, METH_VARARGS, NULL},
        {"convert", ps_py_convert, METH_VARARGS, NULL},
        {"format_of", ps_py_format_of, METH_O, NULL},
        {"assemble", ps_py_assemble, METH_VARARGS, NULL},
        {"assembled", ps_py_assembled, METH_VARARGS, NULL},
        {"coo_to_csr", ps_py_coo_to_csr, METH_VARARGS, NULL},
        {"accumulate", ps_py_accumulate, METH_VARARGS, NULL},
        {"pull_back", (PyCFunction)(void (*)(void))ps_py_pull_back, METH_FASTCALL,
         NULL},
        {"begin", (PyCFunction)(void (*)(void))ps_py_begin, METH_FASTCALL, NULL},
        {"covers", (PyCFunction)(void (*)(void))ps_py_covers, METH_FASTCALL, NULL},
        {"are_factors", (PyCFunction)(void (*)(void))ps_py_are_factors, METH_FASTCALL,
         NULL},
        {"total_chosen", (PyCFunction)(void (*)(void))ps_py_total_chosen, METH_FASTCALL,
         NULL},
        {"op_spellings", op_spellings, METH_NOARGS, NULL},
        {"sum_chosen", ps_py_sum_chosen, METH_VARARGS, NULL},
        {"color_columns", ps_py_color_columns, METH_VARARGS, NULL},
        {"explain", ps_py_explain, METH_VARARGS, NULL},
        {"kernels", ps_py_kernels, METH_NOARGS, NULL},
        {"levels", list_levels, METH_NOARGS, NULL},
        {"level", current_level, METH_NOARGS, NULL},
        {"force_level", force_level, METH_O, NULL},
        {"algorithms", list_algorithms, METH_NOARGS, NULL},
        {"force_algorithm", force_algorithm, METH_O, NULL},
        {"force_threads", force_threads, METH_O, NULL},
        {"set_docstring", set_docstring, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL}};

/* ---- start ---- */

#define NAME_TEXT(name) [PS_NAME_##name] = #name,
static const char *const names[PS_NUM_NAMES] = {PS_FOR_EACH_NAME(
        NAME_TEXT) PS_FOR_EACH_OPERAND(NAME_TEXT) PS_FOR_EACH_CHANGE_NAME(NAME_TEXT)};

static int
find_numpy_objects(ps_state *state)
{
    static const char *const ufuncs[PS_NUM_OPS] = {[PS_add] = "add",
                                                   [PS_sub] = "subtract",
                                                   [PS_mul] = "multiply",
                                                   [PS_div] = "divide",
                                                   [PS_floor_div] = "floor_divide",
                                                   [PS_min] = "minimum",
                                                   [PS_max] = "maximum",
                                                   [PS_fmin] = "fmin",
                                                   [PS_fmax] = "fmax",
                                                   [PS_and] = "bitwise_and",
                                                   [PS_or] = "bitwise_or",
                                                   [PS_xor] = "bitwise_xor"};
    PyObject *const exceptions = PyImport_ImportModule("numpy.exceptions");
    if (exceptions == NULL) {
        return -1;
    }
    state->axis_error = PyObject_GetAttrString(exceptions, "AxisError");
    Py_DECREF(exceptions);
    PyObject *const numpy =
            state->axis_error != NULL ? PyImport_ImportModule("numpy") : NULL;
    if (numpy == NULL) {
        return -1;
    }
    for (int op = 0; op < PS_NUM_OPS; op++) {
        if (ufuncs[op] != NULL) {
            state->ufunc[op] = PyObject_GetAttrString(numpy, ufuncs[op]);
            if (state->ufunc[op] == NULL) {
                break;
            }
        }
    }
    Py_DECREF(numpy);
    return PyErr_Occurred() ? -1 : 0;
}

/* The best level that the machine has, or the one that PYSCATTER_CPU names. */
static int
choose_level(void)
{
    const char *const forced = getenv("PYSCATTER_CPU");
    if (forced != NULL && forced[0] != '\0') {
        return use_level(forced, PyExc_RuntimeError, "PYSCATTER_CPU");
    }
    for (int level = PS_NUM_LEVELS - 1; level >= 0; level--) {
        if (ps_level_available((enum ps_level)level)) {
            ps_use_level((enum ps_level)level);
            return 0;
        }
    }
    return 0;
}

static int
start(PyObject *module)
{
    ps_state *const state = ps_get_state(module);
    memset(state, 0, sizeof(*state));
    state->bfloat16_num = -1;
    if (PyArray_ImportNumPyAPI() < 0 || choose_level() < 0 ||
        find_numpy_objects(state) < 0) {
        return -1;
    }
    for (int i = 0; i < PS_NUM_NAMES; i++) {
        state->name[i] = PyUnicode_InternFromString(names[i]);
        if (state->name[i] == NULL) {
            return -1;
        }
    }
    state->threads_var = PyContextVar_New("pyscatter_threads", NULL);
    if (state->threads_var == NULL) {
        return -1;
    }
    if (ps_add_plan(module) < 0 || ps_add_containers(module) < 0 ||
        ps_add_histogram_record(module) < 0 || ps_add_change_record(module) < 0 ||
        ps_add_tracker(module) < 0 || ps_add_pull_operands(module) < 0 ||
        ps_add_calls(module) < 0) {
        return -1;
    }
    if (ps_add_delta(module) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "threads_var", state->threads_var);
}

static int
visit_state(PyObject *module, visitproc visit, void *arg)
{
    ps_state *const state = ps_get_state(module);
    for (int i = 0; i < PS_NUM_HELPERS; i++) {
        Py_VISIT(state->helper[i]);
    }
    for (int i = 0; i < PS_NUM_OPS; i++) {
        Py_VISIT(state->ufunc[i]);
    }
    Py_VISIT(state->plan_type);
    Py_VISIT(state->container_type);
    Py_VISIT(state->delta_type);
    Py_VISIT(state->axis_error);
    Py_VISIT(state->record_type);
    Py_VISIT(state->change_type);
    Py_VISIT(state->tb1_edges);
    Py_VISIT(state->masked_type);
    Py_VISIT(state->threads_var);
    return 0;
}

static int
clear_state(PyObject *module)
{
    ps_state *const state = ps_get_state(module);
    for (int i = 0; i < PS_NUM_NAMES; i++) {
        Py_CLEAR(state->name[i]);
    }
    for (int i = 0; i < PS_NUM_HELPERS; i++) {
        Py_CLEAR(state->helper[i]);
    }
    for (int i = 0; i < PS_NUM_OPS; i++) {
        Py_CLEAR(state->ufunc[i]);
    }
    Py_CLEAR(state->plan_type);
    Py_CLEAR(state->container_type);
    Py_CLEAR(state->delta_type);
    Py_CLEAR(state->axis_error);
    Py_CLEAR(state->record_type);
    Py_CLEAR(state->change_type);
    Py_CLEAR(state->tb1_edges);
    Py_CLEAR(state->masked_type);
    Py_CLEAR(state->threads_var);
    return 0;
}

static void
free_state(void *module)
{
    clear_state(module);
}

static PyModuleDef_Slot slots[] = {
        {Py_mod_exec, start},
#if PY_VERSION_HEX >= 0x030c00f0
        {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
        {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        .m_name = "pyscatter._core",
                                        .m_doc = "The C side of pyscatter.",
                                        .m_size = sizeof(ps_state),
                                        .m_methods = methods,
                                        .m_slots = slots,
                                        .m_traverse = visit_state,
                                        .m_clear = clear_state,
                                        .m_free = free_state};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
