"""Running forms, expansion, softmax and counts: small examples with right values."""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import assert_same

NAN, INF = np.nan, np.inf
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]


@pytest.fixture(params=LIBRARIES)
def lib(request):
    """The library, and its slow twin."""
    return request.param


def test_scan(lib):
    values, ids = np.array([1, 2, 3, 4, 5], np.int8), [0, 1, 0, 1, 0]
    for options, expected in (
        ({}, [1, 2, 4, 6, 9]),
        ({"exclusive": True}, [0, 0, 1, 2, 4]),
        ({"reverse": True}, [9, 6, 8, 4, 5]),
        ({"reverse": True, "exclusive": True}, [8, 4, 5, 0, 0]),
        ({"op": "mul"}, [1, 2, 3, 8, 15]),
    ):
        result = lib.segment_scan(values, ids, **options)
        assert_same(result, np.array(expected), f"{options}")
    low = lib.segment_scan(np.array([3, 1, 2, 5, 4.0]), lengths=[3, 0, 2], op="min")
    assert_same(low, np.array([3, 1, 1, 5, 4.0]))
    high = lib.segment_scan(
        np.array([[3, 1, NAN, 5]]), offsets=[0, 2, 4], axis=1, op="max", exclusive=True
    )
    assert_same(high, np.array([[-INF, 3, -INF, NAN]]))
    assert lib.segment_scan(np.zeros((0, 2)), []).shape == (0, 2)


def test_expand(lib):
    g = np.array([[1, 2], [3, 4], [5, 6]])
    assert lib.segment_expand(g, [2, 0, 2]).tolist() == [[5, 6], [1, 2], [5, 6]]
    assert lib.segment_expand(g, lengths=[1, 0, 2]).tolist() == [[1, 2], [5, 6], [5, 6]]
    wide = lib.segment_expand(g, offsets=[0, 3, 3], axis=1)
    assert wide.tolist() == [[1, 1, 1], [3, 3, 3], [5, 5, 5]]
    assert lib.segment_expand(g[:0], lengths=[]).shape == (0, 2)
    words = np.array(["a", "bc"])
    assert lib.segment_expand(words, [1, 1, 0]).tolist() == ["bc", "bc", "a"]


def test_softmax(lib):
    values = np.array([0.0, np.log(3), 1000, 1000, -1000, 2, -INF])
    ids, expected = [0, 0, 2, 2, 3, 4, 4], [0.25, 0.75, 0.5, 0.5, 1, 1, 0]
    for where in ({"ids": ids}, {"lengths": [2, 0, 2, 1, 2]}):
        result = lib.segment_softmax(values, **where)
        np.testing.assert_allclose(result, expected, rtol=1e-15)
        logs = lib.segment_log_softmax(values, **where)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(logs, np.log(expected), rtol=1e-14)
    nothing = lib.segment_softmax(np.array([-INF, -INF, 1]), [0, 0, 1])
    assert_same(nothing, np.array([NAN, NAN, 1]))
    half = lib.segment_softmax(np.zeros((4, 2), np.float16), [0, 0, 0, 0])
    assert_same(half, np.full((4, 2), 0.25, np.float16))
    columns = lib.segment_softmax(np.zeros((2, 3)), offsets=[0, 2, 3], axis=1)
    assert_same(columns, np.array([[0.5, 0.5, 1]] * 2))


def test_bincount(lib):
    x = np.array([1, 2, 2, 5])
    assert_same(lib.bincount(x), np.bincount(x))
    assert_same(lib.bincount(x, minlength=8), np.bincount(x, minlength=8))
    weights = np.array([0.5, 1, 2, 4])
    assert_same(lib.bincount(x, weights), np.bincount(x, weights))
    for code in "bBhHiIqQ":
        assert_same(lib.bincount(x.astype(code)), np.bincount(x), code)
    assert_same(lib.bincount([]), np.zeros(0, np.int64))
    assert_same(lib.bincount([], minlength=3), np.zeros(3, np.int64))
    assert_same(lib.bincount(x, [1, 2, 3, 4]), np.bincount(x, [1, 2, 3, 4]))
    turning = lib.bincount([0, 1, 1], np.array([1j, 2j, 3j], np.complex64))
    assert_same(turning, np.array([1j, 5j]))
    narrow = lib.bincount(x, weights, dtype=np.float32)
    assert_same(narrow, np.bincount(x, weights).astype(np.float32))
    chosen = lib.bincount([-7, 2, 2], where=np.array([False, True, True]))
    assert_same(chosen, np.array([0, 0, 2]))


def test_bincount_of_rows(lib):
    x = np.array([[0, 1, 1], [2, 2, 2]])
    assert_same(lib.bincount(x, axis=1), np.array([[1, 2, 0], [0, 0, 3]]))
    assert_same(lib.bincount(x, axis=0), np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1]]))
    vectors = np.array([[1.0, 10], [2, 20], [4, 40]])
    total = lib.bincount([2, 0, 2], vectors)
    assert_same(total, np.array([[2.0, 20], [0, 0], [5, 50]]))
    out = np.array([1, 1, 1])
    assert lib.bincount([2, 2, 0], out=out) is out
    assert out.tolist() == [2, 1, 3]
