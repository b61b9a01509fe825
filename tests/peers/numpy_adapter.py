"""Pytest plugin: NumPy's own test files, with their indexed updates sent to pyscatter.

Ufuncs and arrays refuse new attributes, so nothing can be patched from outside.
Instead the listed modules are compiled from a changed syntax tree, in memory: each
`x.at`, `x.take`, `x.put` and so on becomes a question to `lookup`, which answers with
pyscatter where x is one of the objects that it replaces, and with NumPy elsewhere. In
the file on indexing, `x[i]` and `x[i] = v` go the same way when i holds arrays. What
pyscatter does not offer (unary ufuncs, object arithmetic, long double sums, views)
stays NumPy's and is not counted.

Use: pytest -p tests.peers.numpy_adapter --peer-report=FILE FILE ...
"""

import ast
import functools
import gc
import importlib.abc
import importlib.machinery
import pathlib
import sys

import numpy as np
import pytest

import pyscatter as ps
from tests.peers import numpy_masks, numpy_segments
from tests.peers.numpy_calls import calls, moved, reached
from tests.peers.reports import Report, register

pytest_plugins = ["tests.peers.reports"]

NUMPY = pathlib.Path(np.__file__).resolve().parent
FILES = [
    NUMPY / room / "tests" / f"test_{stem}.py"
    for room, stems in (
        ("_core", "api casting_floatingpoint_errors dtype half indexing"),
        ("_core", "item_selection mem_overlap multiarray nditer numeric"),
        ("_core", "regression scalarmath ufunc umath"),
        ("lib", "arraysetops function_base index_tricks nanfunctions shape_base"),
    )
    for stem in stems.split()
]

DROP_INS = {
    getattr(np, name): getattr(ps, name + "_at")
    for name in (
        "add subtract multiply divide floor_divide minimum maximum fmin fmax "
        "bitwise_and bitwise_or bitwise_xor"
    ).split()
}
ORDER = (np.minimum, np.maximum, np.fmin, np.fmax)


def _offered(ufunc, dtype):
    """Say whether pyscatter has this arithmetic on this dtype."""
    if dtype.kind in "mM" or dtype.char == "g":
        return ufunc in ORDER or (dtype.kind == "m" and ufunc in (np.add, np.subtract))
    return dtype.kind in "biufc" and dtype.char != "G" and dtype.num < 24


def _at(ufunc, a, *args):
    if len(args) != 2 or not isinstance(a, np.ndarray) or not _offered(ufunc, a.dtype):
        return ufunc.at(a, *args)
    reached(ufunc.__name__)
    return DROP_INS[ufunc](a, *args)


def _positions(index):
    """Take over NumPy's rule for take and put: a mask means the numbers 0 and 1."""
    index = np.asarray(index)
    if index.dtype == bool or (index.size == 0 and index.dtype == float):
        return index.astype(np.intp)
    return index


def _take(a, indices, axis=None, out=None, mode="raise"):
    a = np.asanyarray(a)
    if not moved(a):
        return np.take(a, indices, axis, out, mode)
    reached("take")
    result = ps.gather(a, _positions(indices), axis=axis, mode=mode, out=out)
    return result[()] if out is None else result


def _put(a, ind, v, mode="raise"):
    if not isinstance(a, np.ndarray) or not moved(a):
        return np.put(a, ind, v, mode)
    reached("put")
    ind = _positions(ind)
    v = np.asarray(v, dtype=a.dtype)
    if v.size == 0:
        ind = ind[:0]
    ps.scatter(a, ind, np.resize(v, ind.shape), axis=None, mode=mode, out=a)


def _take_along_axis(arr, indices, axis=-1):
    reached("take_along_axis")
    return ps.gather_along_axis(arr, indices, axis)


def _put_along_axis(arr, indices, values, axis):
    reached("put_along_axis")
    ps.scatter_along_axis(arr, indices, values, axis, casting="unsafe", out=arr)


FUNCTIONS = {
    **numpy_masks.FUNCTIONS,
    **numpy_segments.FUNCTIONS,
    "take": _take,
    "put": _put,
    "take_along_axis": _take_along_axis,
    "put_along_axis": _put_along_axis,
}
UFUNC_METHODS = ("at", "reduceat")
METHODS = {"take": _take, "put": _put, **numpy_masks.METHODS}


def _advanced(index):
    """Say whether an index makes NumPy copy elements instead of making a view."""
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [p for p in parts if isinstance(p, (bool, np.bool, list, np.ndarray))]
    return bool(arrays) and not any(np.asarray(p).dtype.kind in "UO" for p in arrays)


def _plain(obj, index):
    return type(obj) is np.ndarray and moved(obj) and _advanced(index)


def _getitem(obj, index):
    if not _plain(obj, index):
        return obj[index]
    reached("getitem")
    return ps.gather_at(obj, index)[()]


def _setitem(obj, index, value):
    if not _plain(obj, index):
        obj[index] = value
        return
    reached("setitem")
    ps.scatter_at(obj, index, value, casting="unsafe", out=obj)


def lookup(obj, name):
    """Return what `obj.name` shall mean in the changed modules."""
    if name == "at" and isinstance(obj, np.ufunc) and obj in DROP_INS:
        return functools.partial(_at, obj)
    if name == "reduceat" and isinstance(obj, np.ufunc):
        return functools.partial(numpy_segments.reduceat, obj)
    if obj is np and name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in METHODS and isinstance(obj, np.ndarray):
        return functools.partial(METHODS[name], obj)
    return getattr(obj, name)


def _call(place, name, *args):
    """Build a call of one of the names that the loader puts into each module."""
    call = ast.Call(ast.Name(name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(call, place))


class _Rewriter(ast.NodeTransformer):
    """Turn attribute reads into lookups and note which definitions use what."""

    def __init__(self, subscripts):
        self.subscripts = subscripts
        self.users = {}
        self.inside = []

    def _definition(self, node):
        self.inside.append(node.name)
        self.users.setdefault(node.name, set())
        self.generic_visit(node)
        self.inside.pop()
        return node

    visit_FunctionDef = _definition

    def _note(self, name):
        for user in self.inside:
            self.users[user].add(name)

    def visit_Name(self, node):
        self._note(node.id)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        self._note(node.attr)
        wanted = node.attr in UFUNC_METHODS or node.attr in FUNCTIONS
        if not wanted or not isinstance(node.ctx, ast.Load):
            return node
        return _call(node, "__peer_lookup__", node.value, ast.Constant(node.attr))

    def _index(self, node):
        """Return the index as an expression: a bare slice is none outside brackets."""
        self._note("[]")
        keeper = ast.Name("__peer_index__", ast.Load())
        return ast.Subscript(keeper, node.slice, ast.Load())

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if not self.subscripts or not isinstance(node.ctx, ast.Load):
            return node
        return _call(node, "__peer_getitem__", node.value, self._index(node))

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        if not self.subscripts or not isinstance(target, ast.Subscript):
            return node
        index = self._index(target)
        call = _call(node, "__peer_setitem__", target.value, index, node.value)
        return ast.copy_location(ast.Expr(call), node)


def _reaching(users):
    """Return the definitions that reach a replaced name, also through others."""
    reaching = {*UFUNC_METHODS, "[]", *FUNCTIONS}
    while True:
        more = {name for name, used in users.items() if used & reaching} - reaching
        if not more:
            return reaching
        reaching |= more


class _Loader(importlib.machinery.SourceFileLoader):
    """Compile from source each time: cached bytecode would be NumPy's own."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path))
        rewriter = _Rewriter(subscripts=path.endswith("test_indexing.py"))
        tree = rewriter.visit(tree)
        self.reaching = _reaching(rewriter.users)
        return compile(tree, path, "exec")

    def exec_module(self, module):
        vars(module).update(
            __peer_lookup__=lookup,
            __peer_getitem__=_getitem,
            __peer_setitem__=_setitem,
            __peer_index__=np.s_,
        )
        super().exec_module(module)
        module.__peer_reaching__ = self.reaching
        for name, function in FUNCTIONS.items():
            if getattr(module, name, None) is getattr(np, name):
                setattr(module, name, function)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.rpartition(".")[2] not in {file.stem for file in FILES}:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec and spec.origin and pathlib.Path(spec.origin).resolve() in FILES:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Report(Report):
    """That of the tests that can reach pyscatter, on equal terms."""

    def pytest_collection_modifyitems(self, config, items):
        chosen = [i for i in items if i.originalname in i.module.__peer_reaching__]
        config.hook.pytest_deselected(items=[i for i in items if i not in set(chosen)])
        items[:] = chosen

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self):
        # Some of these tests draw unseeded numbers; a list of results needs the same.
        np.random.seed(2024)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self):
        # Some count references, also to what garbage of earlier tests refers to.
        gc.disable()
        try:
            return (yield)
        finally:
            gc.enable()


def pytest_configure(config):
    sys.meta_path.insert(0, _Finder())
    register(config, calls, _Report)
