"""Worked examples: each is one rule of the manual and its answer.

They double as documentation, and are asked of the library and of its slow twin, which
so is anchored by answers that were written by hand.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import assert_fresh, assert_same

LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
ALONE = {"include_self": False}
NAN, INF = np.nan, np.inf
GRID = np.arange(12).reshape(3, 4)


def f32(*numbers):
    """Return float32 numbers."""
    return np.array(numbers, np.float32)


SCATTER_EXAMPLES = {
    "a repeated position counts every time": (
        lambda lib: lib.scatter(np.zeros(3), [0, 0, 1, 1, 2], 1.0, op="add"),
        np.array([2.0, 2.0, 1.0]),
    ),
    "set keeps the last, in C order of the index": (
        lambda lib: lib.scatter(np.zeros(3), [[0, 1], [1, 0]], [[1.0, 2], [3, 4]]),
        np.array([4.0, 3.0, 0.0]),
    ),
    "first keeps the first": (
        lambda lib: lib.scatter(np.zeros(3), [0, 1, 1], [1.0, 2, 3], op="first"),
        np.array([1.0, 2.0, 0.0]),
    ),
    "rows arrive whole": (
        lambda lib: lib.scatter(
            np.zeros((3, 2)), [2, 0, 2], [[1.0, 2], [3, 4], [5, 6]], op="add"
        ),
        np.array([[3.0, 4], [0, 0], [6, 8]]),
    ),
    "one value serves all positions": (
        lambda lib: lib.scatter(np.arange(4), [1, -1], 9),
        np.array([0, 9, 2, 9]),
    ),
    "axis=1 updates columns": (
        lambda lib: lib.scatter(
            np.zeros((2, 3)), [0, 0], [[1.0, 2], [3, 4]], 1, op="add"
        ),
        np.array([[3.0, 0, 0], [7, 0, 0]]),
    ),
    "axis=None counts in the flat array": (
        lambda lib: lib.scatter(np.zeros((2, 3)), [4, -1], [1.0, 2.0], None),
        np.array([[0.0, 0, 0], [0, 1, 2]]),
    ),
    "a batch scatter-add": (
        lambda lib: lib.scatter(
            np.zeros((2, 3)),
            [[0, 0], [2, 1]],
            [[1.0, 2], [3, 4]],
            batch_dims=1,
            op="add",
        ),
        np.array([[3.0, 0, 0], [0, 4, 3]]),
    ),
    "along an axis, element by element": (
        lambda lib: lib.scatter_along_axis(
            np.zeros((2, 3)), [[0, 2], [1, 1]], [[1.0, 2], [3, 4]], op="add"
        ),
        np.array([[1.0, 0, 2], [0, 7, 0]]),
    ),
    "tuples name elements": (
        lambda lib: lib.scatter_nd(np.zeros((2, 2)), [[0, 1], [1, 0]], [10.0, 20.0]),
        np.array([[0.0, 10], [20, 0]]),
    ),
    "short tuples name rows": (
        lambda lib: lib.scatter_nd(np.zeros((3, 2)), [[2], [2]], [[1.0, 2], [3, 4]]),
        np.array([[0.0, 0], [0, 0], [3, 4]]),
    ),
    "one tuple": (
        lambda lib: lib.scatter_nd(np.array([1, 2, 3]), [1], 5),
        np.array([1, 5, 3]),
    ),
    "an index expression": (
        lambda lib: lib.scatter_at(
            np.zeros((2, 4)), (slice(None), [0, 0, 3]), [1.0, 2.0, 4.0], op="add"
        ),
        np.array([[3.0, 0, 0, 4], [3, 0, 0, 4]]),
    ),
    "a mask in an index expression": (
        lambda lib: lib.scatter_at(np.arange(4), [True, False, True, False], [7, 8]),
        np.array([7, 1, 8, 3]),
    ),
    "negative positions count from the end under raise alone": (
        lambda lib: lib.scatter(np.zeros(3), [-1, 0], [1.0, 2.0], mode="drop"),
        np.array([2.0, 0, 0]),
    ),
    "clip moves what is outside to the nearest end": (
        lambda lib: lib.scatter(np.zeros(3), [-1, 3], [1.0, 2.0], mode="clip"),
        np.array([1.0, 0, 2]),
    ),
    "wrap is the index modulo the size": (
        lambda lib: lib.scatter(np.zeros(3), [-1, 4], [1.0, 2.0], mode="wrap"),
        np.array([0.0, 2, 1]),
    ),
    "what where= leaves out is not even checked": (
        lambda lib: lib.scatter(
            np.zeros(3), [99, 1], [1.0, 2.0], where=[False, True], op="add"
        ),
        np.array([0.0, 2, 0]),
    ),
    "include_self=False forgets the old value where something arrives": (
        lambda lib: lib.scatter(
            np.zeros(3), [0, 1, 0], [-3.0, -2, -1], op="max", **ALONE
        ),
        np.array([-1.0, -2, 0]),
    ),
    "an add without self starts from the first arrival, sign of zero included": (
        lambda lib: lib.scatter(f32(5, 5), [0], f32(-0.0), op="add", **ALONE),
        f32(-0.0, 5),
    ),
    "sub without self is 0 - v0 - v1": (
        lambda lib: lib.scatter(f32(5, 5), [0, 0], f32(1, 2), op="sub", **ALONE),
        f32(-3, 5),
    ),
    "div without self is 1 / v0 / v1": (
        lambda lib: lib.scatter(f32(5, 5), [0, 0], f32(2, 4), op="div", **ALONE),
        f32(0.125, 5),
    ),
    "mean counts the old value": (
        lambda lib: lib.scatter(f32(1, 1), [0, 0], f32(2, 6), op="mean"),
        f32(3, 1),
    ),
    "mean without the old value": (
        lambda lib: lib.scatter(f32(1, 1), [0, 0], f32(2, 6), op="mean", **ALONE),
        f32(4, 1),
    ),
    "the mean of integers is float64": (
        lambda lib: lib.scatter(np.array([1, 7]), [0], [2], op="mean"),
        np.array([1.5, 7.0]),
    ),
    "and is floored into an integer out=": (
        lambda lib: lib.scatter(
            np.array([-1, 7]),
            [0],
            [-2],
            op="mean",
            casting="unsafe",
            out=np.zeros(2, np.int64),
        ),
        np.array([-2, 7]),
    ),
    "NaN wins in min and max": (
        lambda lib: lib.scatter(f32(1, NAN), [0, 1], f32(NAN, 1), op="min"),
        f32(NAN, NAN),
    ),
    "and loses in fmin and fmax": (
        lambda lib: lib.scatter(f32(1, NAN), [0, 1], f32(NAN, 1), op="fmin"),
        f32(1, 1),
    ),
    "-0.0 is below +0.0": (
        lambda lib: lib.scatter(f32(0.0, -0.0), [0, 1], f32(-0.0, 0.0), op="min"),
        f32(-0.0, -0.0),
    ),
    "whatever the order": (
        lambda lib: lib.scatter(f32(0.0, -0.0), [0, 1], f32(-0.0, 0.0), op="max"),
        f32(0.0, 0.0),
    ),
    "integers wrap": (
        lambda lib: lib.scatter(np.array([250], np.uint8), [0, 0], 5, op="add"),
        np.array([4], np.uint8),
    ),
    "the lowest integer // -1 wraps": (
        lambda lib: lib.scatter(np.array([-128], np.int8), [0], -1, op="floor_div"),
        np.array([-128], np.int8),
    ),
    "floor_div rounds down": (
        lambda lib: lib.scatter(np.array([-7, 7]), [0, 1], [2, -2], op="floor_div"),
        np.array([-4, -4]),
    ),
    "bool add is or, mul is and": (
        lambda lib: lib.scatter(
            lib.scatter(np.array([True, False]), [0, 1], [False, False], op="mul"),
            [1, 1],
            [True, True],
            op="add",
        ),
        np.array([False, True]),
    ),
    "float16 is summed in float32 and rounded once": (
        lambda lib: lib.scatter(
            np.zeros(1, np.float16), np.zeros(5000, int), np.float16(1), op="add"
        ),
        np.array([5000], np.float16),
    ),
    "dtype= chooses a wider accumulator": (
        lambda lib: lib.scatter(
            f32(2**24), [0, 0], f32(1, 1), op="add", dtype=np.float64
        ),
        f32(2**24 + 2),
    ),
    "compensated sums keep what additions round away": (
        lambda lib: lib.scatter(
            f32(0), [0, 0, 0], f32(1e8, 1, -1e8), op="add", compensated=True
        ),
        f32(1),
    ),
    "a compensated infinity stays one": (
        lambda lib: lib.scatter(
            f32(1), [0, 0], f32(INF, 1), op="add", compensated=True
        ),
        f32(INF),
    ),
    "times: NaT wins in min and loses in fmin": (
        lambda lib: lib.scatter(
            np.array(["2020", "NaT"], "M8[Y]"),
            [0, 1],
            np.array(["NaT", "2021"], "M8[Y]"),
            op="fmin",
        ),
        np.array(["2020", "2021"], "M8[Y]"),
    ),
    "an empty index changes nothing": (
        lambda lib: lib.scatter(np.arange(3), [], []),
        np.arange(3),
    ),
    "objects are moved": (
        lambda lib: lib.scatter(
            np.array(["a", None], object), [1], np.array(["b"], object)
        ),
        np.array(["a", "b"], object),
    ),
    "a ufunc may name the op": (
        lambda lib: lib.scatter(np.ones(2), [0, 0], 3.0, op=np.multiply),
        np.array([9.0, 1]),
    ),
}

GATHER_EXAMPLES = {
    "rows, as np.take": (
        lambda lib: lib.gather(GRID, [2, 0, 2]),
        GRID[[2, 0, 2]],
    ),
    "an index of any shape": (
        lambda lib: lib.gather(np.arange(3) * 10, [[0, 1], [2, -1]]),
        np.array([[0, 10], [20, 20]]),
    ),
    "columns": (
        lambda lib: lib.gather(GRID, [3, 3], axis=1),
        np.array([[3, 3], [7, 7], [11, 11]]),
    ),
    "the flat array": (
        lambda lib: lib.gather(GRID, [5, -1], axis=None),
        np.array([5, 11]),
    ),
    "each batch has an index of its own": (
        lambda lib: lib.gather(GRID, [[0, 0], [3, 1], [2, -1]], batch_dims=1),
        np.array([[0, 0], [7, 5], [10, 11]]),
    ),
    "batches around another axis": (
        lambda lib: lib.gather(
            np.arange(8).reshape(2, 2, 2), [[1], [0]], axis=2, batch_dims=1
        ),
        np.array([[[1], [3]], [[4], [6]]]),
    ),
    "along an axis": (
        lambda lib: lib.gather_along_axis(GRID, np.argsort(-GRID, axis=1)),
        GRID[:, ::-1],
    ),
    "tuples name elements": (
        lambda lib: lib.gather_nd(GRID, [[0, 1], [2, -1]]),
        np.array([1, 11]),
    ),
    "short tuples name rows": (
        lambda lib: lib.gather_nd(GRID, [[1]]),
        GRID[[1]],
    ),
    "tuples of nothing name the whole": (
        lambda lib: lib.gather_nd(GRID, np.zeros((2, 0), int)),
        np.array([GRID, GRID]),
    ),
    "an index expression": (
        lambda lib: lib.gather_at(GRID, (slice(None, None, 2), [0, 0, 3])),
        GRID[::2][:, [0, 0, 3]],
    ),
    "slices are copied, too": (
        lambda lib: lib.gather_at(GRID, np.s_[1:, ::-1]),
        np.array([[7, 6, 5, 4], [11, 10, 9, 8]]),
    ),
    "fill gives zero, and reads -1 as outside": (
        lambda lib: lib.gather(np.array([5, 6]), [-1, 1, 2], mode="fill"),
        np.array([0, 6, 0]),
    ),
    "or the value of one's choice": (
        lambda lib: lib.gather(
            np.array([5, 6]), [-1, 1, 2], mode="fill", fill_value=-9
        ),
        np.array([-9, 6, -9]),
    ),
    "drop is fill": (
        lambda lib: lib.gather(np.array([5, 6]), [-1, 1], mode="drop", fill_value=3),
        np.array([3, 6]),
    ),
    "the zero of times is NaT": (
        lambda lib: lib.gather(np.array(["2020"], "M8[Y]"), [0, 7], mode="fill"),
        np.array(["2020", "NaT"], "M8[Y]"),
    ),
    "the zero of strings is empty": (
        lambda lib: lib.gather(np.array(["ab"]), [0, 7], mode="fill"),
        np.array(["ab", ""]),
    ),
    "clip": (
        lambda lib: lib.gather(np.array([5, 6]), [-1, 9], mode="clip"),
        np.array([5, 6]),
    ),
    "wrap": (
        lambda lib: lib.gather(np.array([5, 6, 7]), [-1, 4], mode="wrap"),
        np.array([7, 6]),
    ),
    "where= fills, and what it leaves out is not checked": (
        lambda lib: lib.gather(
            np.array([5, 6]), [99, 1], where=[False, True], fill_value=1
        ),
        np.array([1, 6]),
    ),
    "nothing from nothing": (
        lambda lib: lib.gather(np.zeros((0, 3)), []),
        np.zeros((0, 3)),
    ),
    "fill from nothing": (
        lambda lib: lib.gather(np.zeros((0, 2)), [0], mode="fill"),
        np.zeros((1, 2)),
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SCATTER_EXAMPLES)
def test_scatter(name, library):
    call, expected = SCATTER_EXAMPLES[name]
    assert_same(call(library), expected, name)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", GATHER_EXAMPLES)
def test_gather(name, library):
    call, expected = GATHER_EXAMPLES[name]
    result = call(library)
    assert_same(result, np.ascontiguousarray(expected), name)
    assert_fresh(result, GRID)
