"""The dask adapter: chunks, workers, and what one call of pyscatter gives."""

import doctest

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

dask = peer("dask")
da = peer("dask.array")

import pyscatter.adapters.dask as pd  # noqa: E402

RNG = np.random.default_rng(4)
IDS = RNG.integers(0, 7, 200)


@pytest.mark.parametrize("op", pd.OPS)
@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_segments_are_those_of_one_call(op, kind):
    values = RNG.integers(-9, 10, (200, 3)).astype(kind)
    if op == "mul":
        values = np.sign(values)
    given = None if op == "count" else da.from_array(values, chunks=(33, 2))
    made = pd.segment_reduce(given, IDS, 8, op=op, split_every=3)
    expected = ps.segment_reduce(None if op == "count" else values, IDS, 8, op=op)
    assert made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_array_equal(made.compute(scheduler="sync"), expected)


def test_bits_do_not_depend_on_workers():
    values = da.from_array(RNG.normal(size=(200, 3)).astype("f4"), chunks=17)
    made = pd.segment_reduce(values, IDS, 7)
    first = made.compute(scheduler="sync")
    for workers in (1, 4):
        again = made.compute(scheduler="threads", num_workers=workers)
        assert again.tobytes() == first.tobytes()


@pytest.mark.parametrize("op", ["set", "add", "max", "mean"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_has_the_bits_of_one_call(op, axis):
    a = RNG.normal(size=(9, 7))
    index = RNG.integers(-7, 7, 40)
    values = RNG.normal(size=(40, 7) if axis == 0 else (9, 40))
    chunked = da.from_array(values, chunks=5)
    made = pd.scatter(da.from_array(a, chunks=(4, 3)), index, chunked, axis, op=op)
    expected = ps.scatter(a, index, values, axis, op=op)
    assert made.compute(scheduler="sync").tobytes() == expected.tobytes()


def test_counts_and_products():
    x = da.from_array(IDS, chunks=50)
    expected = np.bincount(IDS, minlength=9)
    np.testing.assert_array_equal(pd.bincount(x, 9).compute(), expected)
    weights = RNG.integers(0, 9, 200)
    expected = np.bincount(IDS, weights, 9)
    np.testing.assert_array_equal(pd.bincount(x, 9, weights=weights), expected)
    A = ps.CSR.from_dense(RNG.normal(size=(4, 6)))
    X = RNG.normal(size=(6, 5))
    made = pd.spmm(A, da.from_array(X, chunks=(4, 2)))
    np.testing.assert_array_equal(made.compute(), ps.spmm(A, X))


def test_bad_calls_are_refused():
    values = da.ones(4, chunks=2)
    with pytest.raises(ValueError, match="op='var'"):
        pd.segment_reduce(values, [0] * 4, 1, op="var")
    with pytest.raises(ValueError, match="ids has shape"):
        pd.segment_reduce(values, [0] * 3, 1)
    with pytest.raises(ValueError, match="split_every"):
        pd.segment_reduce(values, [0] * 4, 1, split_every=1)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        pd.segment_reduce(values, [0, 0, 0, 3], 2).compute(scheduler="sync")
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        pd.scatter(values, [4], [1.0], op="add").compute(scheduler="sync")
    with pytest.raises(ValueError, match="mode='clip'"):
        pd.scatter(values, [4], [1.0], op="add", mode="clip")
    with pytest.raises(ValueError, match="X has shape"):
        pd.spmm(ps.CSR.from_dense(np.eye(2)), values)
    assert pd.segment_reduce(values, [0, 0, 0, 3], 2, mode="drop").compute()[0] == 3


def test_examples_run():
    assert doctest.testmod(pd).failed == 0
