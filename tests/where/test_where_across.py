"""where of inputs whose axes lie in another order than those of the result.

Such calls are made tile by tile in the order of the inputs, and turned on the way out.
Shapes cross the edges of tiles; inputs are permuted, reversed, broadcast and cast.
"""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import DTYPES, MOVED_DTYPES, assert_same, random_values, rng_for

CORE = ps._core
ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}
SIZED = ("b1", "i8", "f16", "f32", "f64", "c128", "f80")


def laid(array, order):
    """The same elements, with the axes of `order` from the farthest to the nearest."""
    inverse = np.argsort(order)
    return np.ascontiguousarray(array.transpose(order)).transpose(inverse)


def expected_of(condition, x, y, dtype):
    """np.where in C order, in the dtype of the result."""
    chosen = np.where(condition, np.asarray(x).astype(dtype), np.asarray(y, dtype))
    return np.array(chosen, order="C")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("dtype", SIZED)
def test_edges_of_tiles(dtype, isa):
    CORE.force_level(isa)
    rng, own = rng_for("tiles", dtype), ALL_DTYPES[dtype]
    lengths = (2, 3, 5, 8, 33, 64, 65, 130, 257, 300)
    shapes = [(n, 9) for n in lengths] + [(7, n) for n in lengths] + [(300, 70)]
    for shape in shapes:
        x, y = (np.asfortranarray(random_values(rng, own, shape)) for _ in range(2))
        condition = np.asfortranarray(rng.random(shape) < 0.5)
        expected = expected_of(condition, x, y, own)
        result = ps.where(condition, x, y)
        assert result.flags.c_contiguous
        assert_same(result, expected, f"{shape}")
        wide = np.zeros((shape[0], shape[1] + 3), own)
        ps.where(condition, x, y, out=wide[:, 2:-1])
        assert_same(wide[:, 2:-1].copy(), expected, f"rows apart {shape}")
        assert not wide[:, :2].any()
        assert not wide[:, -1].any()


@pytest.mark.parametrize("dtype", ["i8", "f32", "c128"])
def test_every_order_of_axes(dtype):
    rng, own, shape = rng_for("orders", dtype), ALL_DTYPES[dtype], (5, 6, 1, 70)
    x, y = (random_values(rng, own, shape) for _ in range(2))
    condition = rng.random(shape) < 0.5
    expected = expected_of(condition, x, y, own)
    for order in permutations(range(4)):
        a, b, c = (laid(array, order) for array in (condition, x, y))
        for args in ((a, b, c), (a, b, y), (condition, b, c), (a, x, c)):
            assert_same(ps.where(*args), expected, f"{order}")
        for other in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
            out = laid(np.zeros(shape, own), other)
            ps.where(a, b, c, out=out)
            assert_same(out.copy(), expected, f"{order} {other}")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("dtype", SIZED)
def test_selections(dtype, isa):
    """What reads a mask or an array block by block turns rows in squares."""
    CORE.force_level(isa)
    rng, own = rng_for("selections", dtype), ALL_DTYPES[dtype]
    for shape in (
        (7, 9),
        (8, 8),
        (700, 7),
        (129, 65),
        (9, 200),
        (3, 50, 11),
        (2, 5000),
    ):
        a = random_values(rng, own, shape)
        a[rng.random(shape) < 0.5] = 0
        mask = rng.random(shape) < 0.5
        for layout in (
            np.asfortranarray,
            lambda x: np.asfortranarray(x)[::-1],
            lambda x: np.asfortranarray(np.repeat(x, 2, axis=0))[::2],
            lambda x: np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2),
        ):
            b, m = layout(a), layout(mask)
            note = f"{shape} {b.strides}"
            assert_same(ps.gather_where(b, m), b[m], note)
            assert_same(ps.flatnonzero(m), np.flatnonzero(m), note)
            assert_same(ps.flatnonzero(b), np.flatnonzero(b), note)
            for found, expected in zip(ps.nonzero(b), np.nonzero(b), strict=True):
                assert_same(found, expected, note)
            other = np.ascontiguousarray(b[::-1])
            assert_same(ps.scatter_where(other, m, b), np.where(m, b, other), note)


@given(st.data())
def test_drawn_layouts(data):
    shape = data.draw(st.lists(st.integers(1, 40), min_size=2, max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from(("f8", "f4", "?", ">i2")))

    def array(kind):
        own = [1 if data.draw(st.booleans()) else n for n in shape]
        own = own if data.draw(st.booleans()) else shape
        made = rng.integers(0, 3, own).astype(kind)
        made = laid(made, data.draw(st.permutations(range(len(shape)))))
        step = data.draw(st.sampled_from((1, -1)))
        return made[::step, ..., ::step]

    condition, x, y = array("?"), array(dtype), array(data.draw(st.sampled_from("?f")))
    expected = np.array(np.where(condition, x, y), order="C")
    for threads in (1, 3):
        with ps.num_threads(threads):
            assert_same(ps.where(condition, x, y), expected)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads(threads):
    rng = rng_for("turned by threads")
    x, y = (np.asfortranarray(rng.standard_normal((3000, 211))) for _ in range(2))
    condition = np.asfortranarray(x > y)
    cases = [
        (condition, x, y),
        (condition[:1], x, y),
        (condition[:, :1], x, 1.0),
        (x, x.astype("f4"), y),
    ]
    with ps.num_threads(threads):
        for args in cases:
            expected = np.array(np.where(*args), order="C")
            assert_same(ps.where(*args), expected)


def test_an_out_that_is_an_input():
    rng = rng_for("in place across")
    for shape in ((40, 50), (3, 30, 20)):
        x, y = rng.standard_normal(shape), np.asfortranarray(rng.standard_normal(shape))
        condition = np.asfortranarray(rng.random(shape) < 0.5)
        expected = np.array(np.where(condition, x, y))
        assert_same(ps.where(condition, x, y, out=x), expected)
        x, y = np.array(x, order="F"), np.array(y, order="F")
        expected = np.where(condition, y, x)
        assert_same(ps.where(condition, y, x, out=x).copy("C"), np.array(expected))


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 63, 64, 65, 100])
def test_conditions_of_short_runs(length):
    rng = rng_for("runs", length)
    x = rng.standard_normal((700, length))
    for kind in ("?", "f4", "c16"):
        rows = rng.integers(0, 2, (700, 1)).astype(kind)
        columns = rng.integers(0, 2, (1, length)).astype(kind)
        blocks = rng.integers(0, 2, (7, 1, length)).astype(kind)
        pages = rng.integers(0, 2, (7, 100, 1)).astype(kind)
        for condition in (rows, columns, rows[::-1], columns[:, ::-1]):
            expected = np.where(condition, x, 2.0)
            assert_same(ps.where(condition, x, 2.0), expected, kind)
        for condition in (blocks, pages):
            three = x.reshape(7, 100, length)
            expected = np.where(condition, three, -three)
            assert_same(ps.where(condition, three, -three), expected, kind)


@pytest.mark.parametrize("dtype", SIZED)
def test_a_condition_for_each_column(dtype):
    """Long columns are read where they lie, unless they are cast, numbers, or apart."""
    rng, own = rng_for("columns", dtype), ALL_DTYPES[dtype]
    for shape in ((255, 8), (256, 5), (1000, 9), (3, 700, 6), (4000, 2)):
        order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        x, y = (laid(random_values(rng, own, shape), order) for _ in range(2))
        kept = laid(np.zeros((*shape[:-2], shape[-2] + 3, shape[-1]), own), order)
        wide = kept[..., 1:-2, :]
        wide[...] = y
        for length in {1, shape[-2]}:
            condition = rng.random((length, shape[-1])) < 0.5
            for a, b in ((x, y), (x, y[..., :1]), (x[..., ::-1], wide), (y.copy(), x)):
                for threads in (1, 2):
                    with ps.num_threads(threads):
                        result = ps.where(condition, a, b)
                    assert_same(result, expected_of(condition, a, b, own), f"{shape}")
            out = x.copy()
            assert ps.where(condition, out, y, out=out) is out
            assert_same(out, expected_of(condition, x, y, own))
    cast = ps.where(condition, x, y, dtype=np.dtype("c16")) if own.kind in "if" else x
    assert_same(cast, expected_of(condition, x, y, "c16") if cast is not x else x)
