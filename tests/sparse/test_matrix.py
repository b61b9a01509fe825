"""Sparse matrices from outside: what their attributes must be, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyscatter import _core

INDEX_TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]


def csr(indptr, indices, shape, data="ones", format="csr"):
    """Something with the attributes of a matrix, of whatever contents."""
    indices = np.asarray(indices)
    data = np.ones(len(indices)) if isinstance(data, str) else data
    return SimpleNamespace(
        format=format,
        data=data,
        indices=indices,
        indptr=np.asarray(indptr),
        shape=shape,
    )


def coo(row, col, shape, data=None):
    """The same of triples."""
    row, col = np.asarray(row), np.asarray(col)
    return SimpleNamespace(format="coo", data=data, row=row, col=col, shape=shape)


def test_good_ones_pass():
    for dtype in [*INDEX_TYPES, np.uint64, ">i4", ">i8"]:
        indptr, indices = np.array([0, 2, 3], dtype), np.array([2, 0, 1], dtype)
        assert _core.check_matrix(csr(indptr, indices, (2, 3))) is None
        assert _core.check_matrix(csr(indptr, indices, (3, 2), format="csc")) is None
        assert _core.check_matrix(coo(indices, indices, (3, 3))) is None
    assert _core.check_matrix(csr([0], np.zeros(0, int), (0, 5))) is None
    assert _core.check_matrix(csr([0, 0], np.zeros(0, int), (1, 0))) is None
    assert _core.check_matrix(csr([0, 1], [2**40], (1, 2**41))) is None


@pytest.mark.parametrize(
    ("indptr", "indices", "shape", "words"),
    [
        ([1, 2], [0, 0], (1, 1), r"indptr\[0\] must be 0, got 1"),
        ([-1, 2], [0, 0], (1, 1), r"indptr\[0\] must be 0, got -1"),
        ([0, 3], [0, 0], (1, 1), r"indptr\[1\] is 3, but there are 2 entries.*prune"),
        ([0, 1], [0, 0], (1, 1), r"indptr\[1\] is 1, but there are 2 entries"),
        (
            [0, 2, 1, 2],
            [0, 0],
            (3, 1),
            r"indptr\[2\] is 1, less than indptr\[1\], .* 2",
        ),
        ([0, 9, 2], [0, 0], (2, 1), r"indptr\[1\] is 9, but there are 2"),
        ([0, -9, 2], [0, 0], (2, 1), r"indptr\[1\] is -9, less than indptr\[0\], .* 0"),
        ([0, 2], [0, 5], (1, 5), r"indices\[1\] is 5, out of bounds for a size of 5"),
        ([0, 2], [-1, 0], (1, 5), r"indices\[0\] is -1, out of bounds for a size of 5"),
        ([0, 1], [0], (1, 0), r"indices\[0\] is 0, out of bounds for a size of 0"),
        ([0, 2], [0], (1, 1), r"indptr\[1\] is 2, but there are 1"),
        ([0, 1, 1], [0], (1, 1), "indptr has length 3, but must have 2, one more than"),
    ],
)
def test_a_bad_structure_is_told(indptr, indices, shape, words):
    for dtype in (np.int16, np.int32, np.int64):
        made = csr(np.array(indptr, dtype), np.array(indices, dtype), shape)
        with pytest.raises(ValueError, match=words):
            _core.check_matrix(made)
        other = SimpleNamespace(**{**vars(made), "format": "csc", "shape": shape[::-1]})
        with pytest.raises(ValueError, match=words.replace("one more.*", "")):
            _core.check_matrix(other)


def test_a_place_far_into_a_large_structure_is_told():
    n = 1_000_000
    for dtype in (np.int32, np.int64):
        for position in (0, 262_143, 262_144, n - 1):
            indices = np.zeros(n, dtype)
            indices[position] = 7
            indices[n - 1] = max(indices[n - 1], 9)
            words = rf"indices\[{position}\] is {indices[position]}, out of"
            with pytest.raises(ValueError, match=words):
                _core.check_matrix(csr(np.array([0, n], dtype), indices, (1, 7)))


def test_triples_are_told_by_name():
    with pytest.raises(
        ValueError, match=r"row\[1\] is 3, out of bounds for a size of 3"
    ):
        _core.check_matrix(coo([0, 3], [0, 9], (3, 3)))
    with pytest.raises(
        ValueError, match=r"col\[1\] is -2, out of bounds for a size of 3"
    ):
        _core.check_matrix(coo([0, 2], [0, -2], (3, 3)))
    with pytest.raises(ValueError, match="row has length 3, but must have 2"):
        _core.check_matrix(coo([0, 1, 2], [0, 1], (3, 3)))
    with pytest.raises(ValueError, match="data has length 1, but must have 2"):
        _core.check_matrix(coo([0, 1], [0, 1], (3, 3), np.ones(1)))
    big = np.array([0, 2**63 + 1], np.uint64)
    with pytest.raises(ValueError, match=r"row\[1\] is 9223372036854775809, out of"):
        _core.check_matrix(coo(big, [0, 1], (3, 3)))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"format": "bsr"}, TypeError, r"'bsr' are not supported.*\.tocsr\(\)"),
        ({"format": "lil"}, TypeError, r"\.tocsr\(\)"),
        ({"format": 3}, TypeError, "'A' must be a sparse matrix in CSR, CSC or COO"),
        ({"shape": (1,)}, ValueError, "'A' must be a sparse matrix of 2 axes, got 1"),
        ({"shape": (1, -1)}, ValueError, "is negative"),
        ({"indices": np.zeros(1)}, TypeError, "indices must be an array of integers"),
        (
            {"indices": np.zeros(1, bool)},
            TypeError,
            "indices must be an array of integers",
        ),
        (
            {"indptr": np.zeros((2, 1), int)},
            ValueError,
            "indptr must have 1 axis, got 2",
        ),
        ({"data": np.ones((1, 1))}, ValueError, "data must have 1 axis"),
        ({"data": np.ones(1, "O")}, TypeError, "data must be bools"),
        ({"data": np.ones(1, "M8[s]")}, TypeError, "data must be bools"),
        ({"data": np.ones(1, np.longdouble)}, TypeError, "data must be bools"),
    ],
)
def test_what_is_no_matrix(change, error, words):
    made = SimpleNamespace(**{**vars(csr([0, 1], [0], (1, 1))), **change})
    with pytest.raises(error, match=words):
        _core.check_matrix(made)
    with pytest.raises(TypeError, match="must be a sparse matrix"):
        _core.check_matrix(np.ones((2, 2)))


def test_strange_layouts_are_copied():
    indices = np.array([0, 9, 1, 9, 2, 9], np.int32)[::2]
    assert _core.check_matrix(csr([0, 3], indices, (1, 3), np.ones(6)[::2])) is None
    unaligned = np.frombuffer(b"\0" + np.array([0, 1], np.int64).tobytes(), np.uint8)[
        1:
    ]
    assert _core.check_matrix(csr([0, 2], unaligned.view(np.int64), (1, 2))) is None


def test_arrays_of_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        assert _core.check_matrix(make(np.eye(3))) is None
    with pytest.raises(TypeError, match="tocsr"):
        _core.check_matrix(sparse.dok_array((2, 2)))
