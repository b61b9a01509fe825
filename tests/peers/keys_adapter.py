"""Pytest plugin: NumPy's tests of unique and pandas' of factorize, for pyscatter.

Both are Python functions that their tests look up by name in a module, so the names
are given another meaning while tests run. What pyscatter does not mean stays with the
owner and is not counted: NaN that differ from each other, subclasses, pandas' arrays.

Use: pytest -p tests.peers.keys_adapter --peer-report=FILE FILE ...
"""

import importlib
from collections import Counter

import numpy as np

import pyscatter as ps
from tests.peers.reports import Report, register

pytest_plugins = ["tests.peers.reports"]

calls = Counter()
numpys_unique = np.unique


def as_columns(array, axis):
    """Return the items along an axis as columns of keys, one for each element."""
    moved = np.moveaxis(array, axis, 0)
    flat = moved.reshape(len(moved), -1)
    return moved, [flat[:, k] for k in range(flat.shape[1])]


def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    """np.unique by factorize, where the two mean the same."""
    array = np.asanyarray(ar)
    options = {"axis": axis, "equal_nan": equal_nan, "sorted": sorted}
    asked = (return_index, return_inverse, return_counts)
    is_plain = type(array) is np.ndarray and (array.dtype.kind != "O" or axis is None)
    has_axis = axis is not None and array.ndim > 1
    if not is_plain or not equal_nan or not isinstance(axis, (int, type(None))):
        return numpys_unique(ar, *asked, **options)
    if has_axis and not -array.ndim <= axis < array.ndim:
        return numpys_unique(ar, *asked, **options)
    if axis is not None and (not has_axis or array.size == 0):
        return numpys_unique(ar, *asked, **options)
    calls["unique"] += 1
    moved, columns = as_columns(array, axis) if has_axis else (array, [array])
    ids, values, first, counts = ps.factorize(
        *columns, sort=sorted, return_first=True, return_counts=True
    )
    if has_axis:
        values = np.moveaxis(moved[first], 0, axis)
    parts = (values, first, ids, counts)
    wanted = (True, *asked)
    chosen = tuple(p for p, is_wanted in zip(parts, wanted, strict=True) if is_wanted)
    return chosen if len(chosen) > 1 else values


def factorize_by(pandas_factorize):
    """Return pandas.factorize for plain arrays of numbers and objects."""

    def factorize(values, sort=False, use_na_sentinel=True, **options):
        is_plain = type(values) is np.ndarray and values.dtype.kind in "biufcO"
        if not is_plain or options:
            return pandas_factorize(
                values, sort=sort, use_na_sentinel=use_na_sentinel, **options
            )
        calls["factorize"] += 1
        missing = "drop" if use_na_sentinel else "group"
        return ps.factorize(values, sort=sort, missing=missing)

    return factorize


class RenamingReport(Report):
    """That of the tests that look one of the names up."""

    def pytest_collection_modifyitems(self, config, items):
        """Give the names in the test files their other meaning."""
        np.unique = unique
        for module in {item.module for item in items}:
            if getattr(module, "unique", None) is numpys_unique:
                module.unique = unique
            if module.__name__.endswith("test_algos"):
                algorithms = importlib.import_module("pandas.core.algorithms")
                algorithms.factorize = factorize_by(algorithms.factorize)


def pytest_configure(config):
    """Register the report."""
    register(config, calls, RenamingReport)
