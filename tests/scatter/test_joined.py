"""Tuples of plain indices, long enough to become one index.

Expected values come from the same calls by flat positions, which know no tuples.
"""

import threading
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, random_values, rng_for

N = 2500
SHAPE = (7, 30, 11)
INDEX_TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def tuple_of(rng, shape, n=N, dtype="i8"):
    """Return an index array for each axis, negatives among them, as dtype has them."""
    signed = np.dtype(dtype).kind == "i"
    return tuple(
        rng.integers(-size if signed else 0, size, n).astype(dtype) for size in shape
    )


def flat(index, shape):
    """Return the positions of the same elements in C order."""
    axes = [i.astype("i8") % size for i, size in zip(index, shape, strict=True)]
    return np.ravel_multi_index(axes, shape)


def expected(op, a, index, values):
    """Return a C-ordered copy of `a` after the update, by flat positions."""
    result = np.array(a, order="C")
    at = flat(index, a.shape)
    ps.scatter(result.reshape(-1), at, values, op=op, out=result.reshape(-1))
    return result


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "u8", "b1", "c64", "i16"])
@pytest.mark.parametrize("op", ["add", "max", "set", "first"])
def test_tuples_are_flat_positions(dtype, op):
    """Order and duplicates too, on one thread and on two."""
    if (op, DTYPES[dtype].kind) == ("max", "c"):
        pytest.skip("complex numbers have no order")
    rng = rng_for(dtype, op)
    index = tuple_of(rng, SHAPE)
    a, values = (random_values(rng, DTYPES[dtype], s) for s in (SHAPE, N))
    for threads in (1, 2):
        ps.set_num_threads(threads)
        out = a.copy()
        ps.scatter_nd(out, np.stack(index, 1), values, op=op, out=out)
        assert_same(out, expected(op, a, index, values))
        result = ps.scatter_nd(a, np.stack(index, 1), values, op=op)
        assert_same(result, out)


@pytest.mark.parametrize("shape", [(16,), (5,), (3, 24), (2,), (0,), (33, 40)])
@pytest.mark.parametrize("op", ["add", "min", "set", "first"])
def test_tuples_of_rows(shape, op):
    """Rows of a line, of less, of more, and of none."""
    rng = rng_for(shape, op)
    index = tuple_of(rng, SHAPE[:2])
    a = rng.standard_normal((*SHAPE[:2], *shape)).astype("f4")
    values = rng.standard_normal((N, *shape)).astype("f4")
    result = a.copy().reshape(np.prod(SHAPE[:2]), *shape)
    ps.scatter(result, flat(index, SHAPE[:2]), values, op=op, out=result)
    for threads in (1, 2):
        ps.set_num_threads(threads)
        for out in (a.copy(), np.zeros((*SHAPE[:2], *shape, 2), "f4")[..., 0]):
            out[...] = a
            ps.scatter_nd(out, np.stack(index, 1), values, op=op, out=out)
            assert_same(np.array(out), result.reshape(a.shape))
    index[1][-1] = SHAPE[1]
    with pytest.raises(IndexError, match="axis 1"):
        ps.scatter_nd(out, np.stack(index, 1), values, op=op, out=out)
    assert_same(np.array(out), result.reshape(a.shape))


@pytest.mark.parametrize("index_dtype", INDEX_TYPES)
def test_index_types_and_layouts(index_dtype):
    """Each axis by an array of its own, in any layout of array and target."""
    rng = rng_for(index_dtype)
    index = tuple_of(rng, SHAPE, dtype=index_dtype)
    a, values = rng.standard_normal(SHAPE), rng.standard_normal(N)
    apart = tuple(np.repeat(i, 3)[::3] for i in index)
    mixed = (index[0].astype("i8"), index[1], index[2][::-1].copy()[::-1])
    swapped = (index[0], index[1].astype(">i4"), index[2])
    wide = np.zeros((*SHAPE[:2], 2 * SHAPE[2]))
    targets = (a.copy(), np.asfortranarray(a), a[:, ::-1], wide[..., ::2])
    for target, form in product(targets, (index, apart, mixed, swapped)):
        out = target.copy(order="K")
        out[:] = a
        ps.add_at(out, form, values)
        assert_same(out, expected("add", a, index, values))
        target[:] = a
        ps.add_at(target, form, values)
        assert_same(np.array(target), np.array(out))


def test_constants_casts_and_prefills():
    """Values of any kind meet the same elements."""
    rng = rng_for("values")
    index = tuple_of(rng, SHAPE)
    pairs, a = np.stack(index, 1), rng.standard_normal(SHAPE)
    for values in (2.5, np.ones(N, "f4"), np.repeat(np.arange(N), 2)[::2].astype("f8")):
        out = ps.scatter_nd(a, pairs, values, op="add")
        assert_same(out, expected("add", a, index, values))
    values = rng.standard_normal(N)
    out = ps.scatter_nd(a, pairs, values, op="max", include_self=False)
    at, fresh = flat(index, SHAPE), np.full(a.size, -np.inf)
    np.maximum.at(fresh, at, values)
    assert_same(
        out, np.where(np.isin(np.arange(a.size), at), fresh, a.ravel()).reshape(SHAPE)
    )


@pytest.mark.parametrize("bad", [7, -8, 2**40, -(2**63)])
@pytest.mark.parametrize("position", [0, 2047, 2048, N - 1])
def test_a_bad_index_leaves_the_target_alone(bad, position):
    """The first of those of the first axis is named, whatever follows."""
    rng = rng_for(bad, position)
    index = tuple_of(rng, SHAPE)
    index[0][position:] = bad
    index[2][N // 2 :] = 99
    a = rng.standard_normal(SHAPE)
    for threads in (1, 2):
        ps.set_num_threads(threads)
        out = a.copy()
        with pytest.raises(
            IndexError, match=f"index {bad} is out of bounds for axis 0"
        ):
            ps.add_at(out, index, 1.0)
        assert_same(out, a)


def test_an_empty_axis_has_no_rows():
    """Every number is out of bounds."""
    with pytest.raises(IndexError):
        ps.add_at(np.zeros((3, 0)), (np.zeros(N, int), np.zeros(N, int)), 1.0)


def test_far_targets_that_nobody_sees():
    """A fresh result of more than a megabyte, which is left alone by a bad index."""
    rng = rng_for("far")
    index, a = tuple_of(rng, (400, 500)), rng.standard_normal((400, 500))
    values = rng.standard_normal(N)
    for op in ("add", "max", "set"):
        result = ps.scatter_nd(a, np.stack(index, 1), values, op=op)
        assert_same(result, expected(op, a, index, values))
    index[1][7] = 500
    with pytest.raises(IndexError, match="index 500 is out of bounds for axis 1"):
        ps.scatter_nd(a, np.stack(index, 1), values, op="add")


def test_large_spans_have_wide_numbers():
    """Beyond 2**31 elements, of which a map of memory touches a few."""
    side = 50_000
    a = np.zeros((side, side), "u1")
    rng = rng_for("wide")
    row = rng.choice([0, 1, side - 1], N)
    column = rng.integers(0, 100, N)
    ps.add_at(a, (row, column), np.uint8(1))
    counts = np.zeros((3, 100), "u1")
    np.add.at(counts, (np.searchsorted([0, 1, side - 1], row), column), 1)
    assert_same(a[[0, 1, side - 1], :100], counts)


def test_another_thread_may_rewrite_the_indices():
    """Numbers may be wrong, or refused; nothing else of the memory is written."""
    n = 300_000
    memory = np.zeros(3 * 64 * 64)
    target = memory[64 * 64 : 2 * 64 * 64].reshape(64, 64)
    index = tuple_of(rng_for("race"), (64, 64), n)
    good, done = index[0].copy(), threading.Event()

    def rewrite():
        while not done.is_set():
            index[0][:] = 10**6
            index[0][:] = good

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(20):
            try:
                ps.add_at(target, index, 1.0)
            except (IndexError, RuntimeError):
                pass
    finally:
        done.set()
        thread.join()
    assert not memory[: 64 * 64].any() and not memory[2 * 64 * 64 :].any()
