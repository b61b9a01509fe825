"""aggregate with numpy-groupies' contract: what users rely on, without that package.

Its own test-suite is run on aggregate by test_peer_groupies.py, where it is installed.
"""

import doctest
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest

from pyscatter.compat.numpy_groupies import aggregate
from tests.cases import assert_same, rng_for

NAN = np.nan
IDS = np.array([3, 0, 0, 1, 0, 3, 5, 5, 0, 4])
A = np.array([13.2, 3.5, 3.5, -8.2, 3.0, 13.4, 99.2, -7.1, 0.0, 53.7])
RESULTS = {
    "sum": [10.0, -8.2, 0, 26.6, 53.7, 92.1],
    "prod": [0, -8.2, 1, 13.2 * 13.4, 53.7, 99.2 * -7.1],
    "mean": [2.5, -8.2, NAN, 13.3, 53.7, 46.05],
    "min": [0, -8.2, NAN, 13.2, 53.7, -7.1],
    "max": [3.5, -8.2, NAN, 13.4, 53.7, 99.2],
    "first": [3.5, -8.2, NAN, 13.2, 53.7, 99.2],
    "last": [0, -8.2, NAN, 13.4, 53.7, -7.1],
    "argmin": [8, 3, -1, 0, 9, 7],
    "argmax": [1, 3, -1, 5, 9, 6],
    "len": [4, 1, 0, 2, 1, 2],
    "nunique": [3, 1, 0, 2, 1, 2],
    "all": [False, True, False, True, True, True],
    "any": [True, True, False, True, True, True],
    "median": [3.25, -8.2, NAN, 13.3, 53.7, 46.05],
    "var": [np.var([3.5, 3.5, 3, 0]), 0, NAN, 0.01, 0, 53.15**2],
}


@pytest.mark.parametrize("func", RESULTS)
def test_functions(func):
    result = aggregate(IDS, A, func)
    np.testing.assert_allclose(result, RESULTS[func], rtol=1e-12)
    assert result.dtype == np.asarray(RESULTS[func]).dtype or func in ("sum", "prod")
    again = aggregate(IDS, A, func, size=8)
    assert len(again) == 8
    np.testing.assert_array_equal(again[:6], result)


@pytest.mark.parametrize("func", ["sum", "prod", "mean", "min", "max", "first", "last"])
def test_fill_values_are_for_absent_groups_alone(func):
    identity = {"sum": 0.0, "prod": 1.0, "min": np.inf, "max": -np.inf}.get(func, 2.0)
    values = np.full(3, identity)
    result = aggregate([0, 2, 2], values, func, size=4, fill_value=-9.5)
    assert result.tolist() == [identity, -9.5, identity, -9.5]
    whole = aggregate([1], np.array([7], np.int8), func, fill_value=-5)
    assert whole.tolist() == [-5, 7]


def test_nan_forms():
    values, ids = np.array([NAN, 1, 2, NAN, NAN, 4]), [0, 0, 0, 1, 1, 2]
    for func, expected in (
        ("nansum", [3, 0, 4]),
        ("nanmean", [1.5, NAN, 4]),
        ("nanmax", [2, NAN, 4]),
        ("nanfirst", [1, NAN, 4]),
        ("nanlen", [2, 0, 1]),
        ("nanargmin", [1, -1, 5]),
        ("argmin", [-1, -1, 5]),
        ("anynan", [True, True, False]),
        ("allnan", [False, True, False]),
        ("nancumsum", [0, 1, 3, 0, 0, 4]),
        ("sum", [NAN, NAN, 4]),
    ):
        np.testing.assert_array_equal(aggregate(ids, values, func), expected, func)


def test_items_stay_items():
    ids, a = np.array([1, 0, 1, 0, 1]), np.array([3, 9, 1, 4, 2])
    for func, expected in (
        ("cumsum", [3, 9, 4, 13, 6]),
        ("cumprod", [3, 9, 3, 36, 6]),
        ("cummax", [3, 9, 3, 9, 3]),
        ("cummin", [3, 9, 1, 4, 1]),
        ("sort", [1, 4, 2, 9, 3]),
    ):
        assert aggregate(ids, a, func).tolist() == expected, func
    assert aggregate(ids, a, "sort", reverse=True).tolist() == [3, 9, 2, 4, 1]
    packed = aggregate(ids, a, list)
    assert [block.tolist() for block in packed] == [[9, 4], [3, 1, 2]]
    spread = aggregate(ids, a, lambda block: block.max() - block.min())
    assert spread.tolist() == [5, 2]


def test_axes_and_coordinates():
    table = np.arange(6.0).reshape(2, 3)
    assert aggregate([1, 0, 1], table, axis=1).tolist() == [[1, 2], [4, 8]]
    assert aggregate([1, 1], table, "max", axis=0).tolist()[1] == [3, 4, 5]
    where = aggregate([1, 0, 1], table, "argmax", axis=1)
    assert where.tolist() == [[1, 2], [1, 2]]
    coordinates = [[0, 1, 1], [2, 0, 0]]
    placed = aggregate(coordinates, [5, 6, 7], size=(2, 3))
    assert placed.tolist() == [[0, 0, 5], [13, 0, 0]]
    assert np.isfortran(aggregate(coordinates, [5, 6, 7], size=(2, 3), order="F"))


@pytest.mark.parametrize("code", ["b", "B", "H", "i", "q", "Q", "f", "d", "F", "?"])
def test_sums_do_not_wrap(code):
    top = np.ones(300, code) if code in "?fdF" else np.full(300, 100, code)
    result = aggregate(np.zeros(300, int), top)
    assert result.tolist() == [300 if code in "?fdF" else 30_000]


@pytest.mark.parametrize(
    ("error", "match", "args", "options"),
    [
        (ValueError, "must not be empty", ([], []), {}),
        (ValueError, "negative indices not supported", ([0, -1], [1, 2]), {}),
        (ValueError, "too large for size 2", ([0, 2], [1, 2]), {"size": 2}),
        (ValueError, "same length", ([0, 1], [1, 2, 3]), {}),
        (TypeError, "integer type", ([0.0, 1.0], [1, 2]), {}),
        (ValueError, "neither a valid function", ([0], [1], "mode"), {}),
        (TypeError, "fills an object result", ([0], [1]), {"fill_value": None}),
        (ValueError, "convertible", ([0], [1], "max"), {"fill_value": NAN}),
        (ValueError, "scalar inputs", ([0], 1.0, "mean"), {}),
        (OverflowError, "exact mean", ([0, 0], [2**53, 2**53], "mean"), {}),
        (TypeError, "imaginary", ([0], [1j]), {"dtype": float}),
        (ValueError, "specify axis", ([0], [[1]]), {}),
        (NotImplementedError, "out", ([0], [1]), {"out": np.zeros(1)}),
    ],
)
@pytest.mark.parametrize("func", ["sum", "max", "first", "median"])
def test_errors(error, match, args, options, func):
    if len(args) == 2 and func != "sum":
        if "convertible" in match or "scalar" in match:
            return
        args = (*args, func)
    with pytest.raises(error, match=match):
        aggregate(*args, **options)


def test_many_values_match_a_loop():
    rng = rng_for("groupies")
    ids, values = rng.integers(0, 70, 5000), rng.standard_normal(5000)
    for func in ("sum", "mean", "std", "median", "min", "argmax", "prod"):
        groups = [np.flatnonzero(ids == g) for g in range(70)]
        if func == "argmax":
            expected = [p[np.argmax(values[p])] for p in groups]
        else:
            expected = [getattr(np, func)(values[p]) for p in groups]
        np.testing.assert_allclose(aggregate(ids, values, func), expected, rtol=1e-11)
    first = aggregate(ids, values, "first")
    assert_same(first, np.array([values[ids == g][0] for g in range(70)]))


def test_examples():
    failed, tried = doctest.testmod(sys.modules[aggregate.__module__])
    assert tried > 2 and not failed


def test_it_is_imported_by_who_wants_it_and_imports_no_peer():
    code = "import sys, pyscatter; assert 'pyscatter.compat' not in sys.modules\n"
    code += "import pyscatter.compat.numpy_groupies\n"
    code += "assert not {'numpy_groupies', 'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    names = [*signature(aggregate).parameters]
    assert names[:5] == ["group_idx", "a", "func", "size", "fill_value"]
