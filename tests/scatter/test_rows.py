"""Rows straight from the index: every loop for every pattern gives what NumPy gives.

An index out of bounds leaves the target as it was.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import LAYOUTS, assert_same, rng_for, snapshot

N, ROWS = 5000, 300  # beyond what is one list, and enough for a look at the index
PATTERNS = {
    "uniform": lambda rng: rng.integers(0, ROWS, N),
    "long runs": lambda rng: np.sort(rng.integers(0, 40, N)),
    "same": lambda rng: np.full(N, 7),
    "negatives": lambda rng: rng.integers(-ROWS, ROWS, N),
    "negative runs": lambda rng: np.sort(rng.integers(-30, 10, N)),
}
WIDTHS = {
    "f4": (16, 15, 3, 83),
    "f8": (8, 9),
    "i4": (16, 2, 21),
    "u1": (64, 5),
    "c8": (8, 41),
}


def cases(name):
    """Return (dtype, width, index) for every type, width and pattern."""
    rng = rng_for(name)
    for dtype, widths in WIDTHS.items():
        for width in widths:
            for pattern in PATTERNS.values():
                yield dtype, width, pattern(rng)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("op", ["add", "max", "mul"])
def test_reductions(op, isa):
    ps._core.force_level(isa)
    ufunc = {"add": np.add, "max": np.maximum, "mul": np.multiply}[op]
    rng = rng_for("values", op)
    for dtype, width, index in cases(op):
        if op == "max" and dtype == "c8":
            continue
        a = rng.integers(0, 100, (ROWS, width)).astype(dtype)
        v = rng.integers(0, 3, (N, width)).astype(dtype)
        expected = a.copy()
        ufunc.at(expected, index, v)
        for number in (index, index.astype(np.int32), index[::-1].copy()[::-1]):
            out = a.copy()
            assert_same(ps.scatter(a, number, v, op=op), expected)
            assert_same(ps.scatter(out, number, v, op=op, out=out), expected)
        assert_same(
            ps.scatter(a, index, v[0], op=op),
            ps.scatter(a, index, np.tile(v[0], (N, 1)), op=op),
        )


@pytest.mark.parametrize("isa", ps._core.levels())
def test_the_last_row_stays(isa):
    ps._core.force_level(isa)
    rng = rng_for("set")
    for dtype, width, index in cases("set"):
        a = rng.integers(0, 100, (ROWS, width)).astype(dtype)
        v = rng.integers(0, 100, (N, width)).astype(dtype)
        expected = a.copy()
        for number, row in zip(index, v, strict=True):
            expected[number] = row
        assert_same(ps.scatter(a, index, v), expected)
        assert_same(ps.scatter(a, index, v, out=a), expected)


@pytest.mark.parametrize("op", ["add", "set", "max"])
@pytest.mark.parametrize("position", [0, 2047, 2048, 4096, N - 1])
def test_a_bad_index_leaves_the_target(position, op):
    place = rf"\(position {position} of {N} in"
    for width in (16, 20):
        for bad in (ROWS, -ROWS - 1, -(2**62)):
            index = np.arange(N) % 7 if bad > 0 else np.arange(N) // 900
            index[position:] = bad
            a, v = np.zeros((ROWS, width), np.float32), np.ones((N, width), np.float32)
            before = snapshot(a)
            with pytest.raises(IndexError, match=f"index {bad} .*{place}"):
                ps.scatter(a, index, v, op=op, out=a)
            with pytest.raises(IndexError, match=f"index {bad} .*{place}"):
                ps.scatter(a, index, v, op=op)
            assert snapshot(a) == before


def test_an_axis_of_no_rows():
    a, v = np.zeros((0, 16)), np.ones((N, 16))
    with pytest.raises(IndexError, match="size 0"):
        ps.scatter(a, np.zeros(N, int), v, op="add", out=a)


@pytest.mark.parametrize("position", [0, 1023, 1024, 3000, N - 1])
def test_a_bad_column_of_tuples(position):
    for column in (0, 1):
        indices = rng_for("tuples").integers(0, 5, (N, 2))
        indices[position, column] = 9
        a, v = np.zeros((5, 5, 3)), np.ones((N, 3))
        match = rf"index 9 is out of bounds for axis {column} .* {position} of {N}"
        with pytest.raises(IndexError, match=match):
            ps.scatter_nd(a, indices, v, op="add", out=a)
        assert not a.any()


@pytest.mark.parametrize("layout", ["c", "fortran", "reversed", "sliced", "unaligned"])
@pytest.mark.parametrize("op", ["set", "first"])
def test_columns(op, layout):
    rng = rng_for("columns", op, layout)
    for dtype in ("?", "i2", "f8", "c16", ">f4", "S3"):
        for index in ([3], [1, 6, 1, -2], rng.integers(-8, 8, 40)):
            a = LAYOUTS[layout](rng.integers(0, 100, (500, 8)).astype(dtype))
            v = rng.integers(0, 100, (500, len(index))).astype(dtype)
            expected = np.array(a)
            for k in range(len(index)) if op == "set" else reversed(range(len(index))):
                expected[:, index[k]] = v[:, k]
            for values in (v, LAYOUTS[layout](v)):
                out = LAYOUTS[layout](np.array(a))
                ps.scatter(out, index, values, axis=1, op=op, out=out)
                assert_same(np.array(out, subok=False), expected)
        one = LAYOUTS[layout](np.array(a))
        ps.scatter(one, [2, 5], v[0, 0], axis=1, op=op, out=one)
        assert (one[:, [2, 5]] == v[0, 0]).all()


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f4", "f8", "c16", ">f8", "S3"])
def test_columns_of_arrays_in_fortran_order(dtype, isa):
    ps._core.force_level(isa)
    rng = rng_for("fortran", dtype)
    for rows, columns, n in ((5, 3, 2), (66, 8, 4), (3000, 40, 33), (20_000, 6, 9)):
        a = np.asfortranarray(rng.integers(0, 2, (rows, columns)).astype(dtype))
        index = rng.integers(-columns, columns, n)
        values = rng.integers(0, 2, (rows, n)).astype(dtype)
        for given in (
            values,
            np.asfortranarray(values),
            values[:, ::-1],
            values[:, :1],
        ):
            expected = a.copy(order="F")
            expected[:, index] = np.broadcast_to(given, (rows, n))
            target = a.copy(order="F")
            ps.scatter(target, index, given, 1, out=target)
            assert_same(target, expected, f"{rows}")
        if np.dtype(dtype).kind in "if":
            expected = np.array(a, order="C")
            np.add.at(expected, (slice(None), index), values)
            for threads in (1, 3):
                with ps.num_threads(threads):
                    target = a.copy(order="F")
                    ps.scatter(target, index, values, 1, op="add", out=target)
                    assert_same(np.array(target, order="C"), expected)
