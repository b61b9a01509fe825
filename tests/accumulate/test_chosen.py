"""Sums of what a mask chooses: against where and a sum, in every layout of the mask."""

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.autodiff.parts import chosen_sum
from tests.cases import rng_for

RNG = rng_for("chosen")
SHAPES = [(1, 1, 1), (2, 700, 1), (1, 5, 3), (3, 9, 130), (2, 6, 1500), (1, 70_000, 1),
          (2, 0, 3), (0, 3, 2), (2, 3, 0), (1, 300, 700)]  # fmt: skip


def masks(shape):
    """Yield masks that lie in memory in different ways."""
    outer, rows, inner = shape
    yield RNG.random(shape) < 0.5
    for small in ((outer, rows, 1), (1, rows, 1), (1, 1, inner), (outer, 1, inner)):
        if 0 not in small:
            yield np.broadcast_to(RNG.random(small) < 0.5, shape)
    yield (RNG.random((outer, rows, inner + 3)) < 0.5)[:, :, :inner]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_sums(shape, dtype):
    g = RNG.integers(-9, 10, shape).astype(dtype)  # exact in any order
    if dtype[0] == "c":
        g = g + 1j * RNG.integers(-9, 10, shape).astype(dtype)
        g = g.astype(dtype)
    for mask in masks(shape):
        for chosen in (True, False):
            expected = np.where(mask == chosen, g, 0).sum(axis=1)
            got = ps._core.sum_chosen(g, mask, chosen)
            assert got.dtype == g.dtype and np.array_equal(got, expected)


def test_what_is_not_chosen_is_not_looked_at():
    g = np.array([np.nan, 1.0, np.inf, 2.0]).reshape(1, 4, 1)
    mask = np.isfinite(g)
    assert ps._core.sum_chosen(g, mask, True).tolist() == [[3.0]]


@pytest.mark.parametrize("shape", [(1, 200_000, 1), (1, 500, 900), (4, 5000, 7)])
def test_bits_do_not_depend_on_threads_or_levels(shape):
    g = RNG.standard_normal(shape).astype("f4")
    mask = RNG.random(shape) < 0.5
    results = set()
    for level in ps._core.levels():
        ps._core.force_level(level)
        for threads in (1, 2, 3):
            with ps.num_threads(threads):
                results.add(ps._core.sum_chosen(g, mask, False).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize(
    ("g", "mask", "error"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3), bool), ValueError),
        (np.zeros((1, 2, 3)), np.zeros((1, 2, 2), bool), ValueError),
        (np.zeros((1, 2, 3)), np.zeros((1, 2, 3), "i1"), ValueError),
        (np.zeros((1, 2, 6))[..., ::2], np.zeros((1, 2, 3), bool), ValueError),
        (np.zeros((1, 2, 3)), np.zeros((1, 2, 6), bool)[..., ::2], ValueError),
        (np.zeros((1, 2, 3), "f2"), np.zeros((1, 2, 3), bool), TypeError),
        (np.zeros((1, 2, 3), int), np.zeros((1, 2, 3), bool), TypeError),
        ([[[0.0]]], np.zeros((1, 1, 1), bool), TypeError),
    ],
)
def test_what_is_refused(g, mask, error):
    with pytest.raises(error):
        ps._core.sum_chosen(g, mask, True)


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (4,),
        (1,),
        (3, 4),
        (3, 1),
        (1, 4),
        (2, 3, 4),
        (2, 1, 4),
        (2, 1, 1),
        (1, 3, 1),
    ],
)
@pytest.mark.parametrize("spread", [(2, 3, 4), (1, 3, 1), (2, 1, 4), (4,), ()])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_any_shape_of_an_operand(shape, spread, dtype):
    x = RNG.integers(-9, 10, (2, 3, 4)).astype(dtype)
    mask = RNG.random(spread) < 0.5
    for g in (x, np.asfortranarray(x)):
        for chosen in (True, False):
            whole = np.where(np.broadcast_to(mask, x.shape) == chosen, x, 0)
            lead = x.ndim - len(shape)
            axes = tuple(
                i for i in range(3) if i < lead or shape[i - lead] != x.shape[i]
            )
            expected = whole.sum(axis=axes).reshape(shape)
            got = chosen_sum(mask, chosen, g, shape)
            assert got.dtype == x.dtype and np.array_equal(got, expected)
