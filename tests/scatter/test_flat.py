"""Flat positions of arrays that have no flat view, updated where they are.

Expected values come from the same call on an array in C order.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, random_index, random_values, rng_for

SHAPE = (9, 8, 7)
N = 300  # of 504 elements
STRANGE = {
    "Fortran": np.asfortranarray,
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "a line reversed": lambda a: np.ascontiguousarray(a.reshape(-1)[::-1])[::-1],
    "every second": lambda a: np.repeat(a, 2, 2)[:, :, ::2],
    "swapped axes": lambda a: np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1),
    "swapped bytes": lambda a: np.asfortranarray(a.astype(a.dtype.newbyteorder())),
}
OPTIONS = {
    "plain": {},
    "mean": {"op": "mean"},
    "without the old": {"op": "add", "include_self": False},
    "compensated": {"op": "add", "compensated": True},
    "wide": {"op": "add", "dtype": np.float64},
    "wrap": {"op": "add", "mode": "wrap"},
    "drop": {"op": "max", "mode": "drop"},
    "clip": {"op": "first", "mode": "clip"},
}


def both(a, strange, index, values, **options):
    """Return the result in a strange target and that in C order."""
    target, plain = strange(a), strange(a).copy("C")
    result = ps.scatter(target, index, values, axis=None, out=target, **options)
    assert result is target
    return target, ps.scatter(plain, index, values, axis=None, out=plain, **options)


@pytest.mark.parametrize("layout", STRANGE)
@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "u8", "b1", "f16", "c128"])
def test_every_op(dtype, layout):
    """Duplicates and negatives among few and many, and more than the array has."""
    for op in ("set", "add", "max", "first"):
        if (op, DTYPES[dtype].kind) == ("max", "c"):
            continue
        for n in (0, 3, N, 700):
            rng = rng_for(dtype, layout, op, n)
            a = random_values(rng, DTYPES[dtype], SHAPE)
            values = random_values(rng, DTYPES[dtype], n)
            index = random_index(rng, "negative", n, a.size)
            assert_same(*both(a, STRANGE[layout], index, values, op=op))


@pytest.mark.parametrize("layout", STRANGE)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option(options, layout):
    rng = rng_for(layout, repr(options))
    a, values = (random_values(rng, DTYPES["f32"], s) for s in (SHAPE, N))
    index = rng.integers(0, a.size, N)
    if "mode" in options:
        index[::5] += a.size
    where = rng.random(N) < 0.7
    for mask in (None, where):
        given = options if mask is None else {**options, "where": mask}
        assert_same(*both(a, STRANGE[layout], index, values, **given))
    if "mode" not in options:
        index = ps.Plan(index, a.size)
        assert_same(*both(a, STRANGE[layout], index, values, **options))


@pytest.mark.parametrize("algorithm", ps._core.algorithms())
def test_every_algorithm_and_thread(algorithm):
    rng = rng_for(algorithm)
    for dtype in ("f64", "i16"):
        a = random_values(rng, DTYPES[dtype], (60, 70))
        index = random_index(rng, "uniform", 4000, a.size, np.int32)
        values = random_values(rng, DTYPES[dtype], 4000)
        for threads in (1, 2):
            ps.set_num_threads(threads)
            for layout in ("Fortran", "reversed"):
                ps._core.force_algorithm(algorithm)
                try:
                    for op in ("add", "set"):
                        assert_same(*both(a, STRANGE[layout], index, values, op=op))
                finally:
                    ps._core.force_algorithm(None)


def test_a_bad_position_leaves_everything():
    a = np.arange(504.0).reshape(SHAPE, order="F")
    before = a.copy()
    for n in (2, 400):
        index = np.zeros(n, int)
        index[-1] = 504
        with pytest.raises(
            IndexError, match="504 is out of bounds for axis 0 with size"
        ):
            ps.scatter(a, index, 1.0, op="add", axis=None, out=a)
        assert_same(a, before)


def test_two_elements_of_a_large_array_are_two_elements():
    """Nothing is copied: 8 TB of zeros are one page."""
    a = np.lib.stride_tricks.as_strided(np.zeros(1), (10**6, 10**6), (0, 0))
    with pytest.raises(ValueError, match="share memory"):
        ps.scatter(a, [5], 1.0, axis=None, out=a)
    a = np.zeros((1 << 20, 1 << 12), np.int8).T  # 4 GB of which nothing was touched
    ps.scatter(a, [1, (1 << 32) - 1], 7, axis=None, out=a)
    assert a[0, 1] == a[-1, -1] == 7 and a[0, 0] == 0


def test_another_view_of_the_same_elements_is_the_target():
    """As out=x[0] beside x[0]: what comes back is out."""
    x = np.arange(12.0).reshape(2, 6)
    out = x[0]
    assert ps.scatter(x[0], [1, 1], [5.0, 6.0], op="add", out=out) is out
    assert x[0].tolist() == [0, 12, 2, 3, 4, 5]
    other = x[0, ::-1]
    assert ps.scatter(x[0], [0], 9.0, out=other) is other
    assert x[0].tolist() == [5, 4, 3, 2, 12, 9]
    before = x.copy()
    with pytest.raises(IndexError):
        ps.scatter(x[1], [0, 6], 1.0, out=x[1])
    assert_same(x, before)
