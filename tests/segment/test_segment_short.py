"""Few plain entries by ids: a way of their own, with the bits of the long one."""

from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, random_values, rng_for

OPS = ("add", "mul", "min", "max", "fmax", "mean", "count")
LONG = {"mode": "raise"}  # the default; said, the call is not short


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "u64", "i32", "b1", "f16"])
@pytest.mark.parametrize("op", OPS)
def test_bits_are_those_of_the_long_way(dtype, op):
    """NaN, zeros of both signs, empty segments, and none."""
    rng = rng_for(dtype, op)
    for n, size, index in product((0, 1, 10, 1000, 1025), (1, 7, 1025), ("i8", "i4")):
        values = random_values(rng, DTYPES[dtype], n)
        ids = rng.integers(0, size, n).astype(index)
        expected = ps.segment_reduce(values, ids, size, op=op, **LONG)
        assert_same(ps.segment_reduce(values, ids, size, op=op), expected)
    sums = ps.segment_sum(values, ids, size)
    assert_same(sums, ps.segment_sum(values, ids, size, **LONG))
    assert_same(sums, ps.segment_reduce(values, ids, size))


def test_layouts_and_forms_are_those_of_the_long_way():
    """What is not plain has its own rules, a dtype of another name too."""
    values, ids = np.arange(12.0), np.arange(12) % 3
    forms = (
        (values[::2], ids[::2], 3),
        (values.reshape(6, 2), ids[:6], 3),
        (values.astype(">f8"), ids, 3),
        (values.astype("q"), ids, 3),
        (values.astype("f8,f8").view("f8"), np.arange(24) % 3, 3),
        (values.tolist(), ids.tolist(), 3),
        (values, ids.astype("u8"), np.int64(3)),
    )
    for form in forms:
        result = ps.segment_reduce(*form)
        expected = ps.segment_reduce(*form, **LONG)
        assert_same(result, expected)
        assert result.dtype.char == expected.dtype.char


@pytest.mark.parametrize("bad", [3, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("n", [1, 9, 100])
def test_bad_ids_have_the_words_of_the_long_way(bad, n):
    """Wherever they stand; so have bad sizes and ops."""
    ids = np.zeros(n, "i4")
    ids[-1] = bad
    for options in ({}, LONG):
        with pytest.raises(IndexError, match=f"{bad} .*position {n - 1} of {n}"):
            ps.segment_reduce(np.ones(n), ids, 3, **options)
    calls = (
        ((np.ones(3), np.zeros(4, int), 3), {}),
        ((np.ones(3), np.zeros(3, int), -1), {}),
        ((np.ones(3), np.zeros(3, int), 2**70), {}),
        ((np.ones(3), np.zeros(3, int), 3), {"op": "no"}),
        ((np.ones(3), np.zeros(3, int)), {"op": "no"}),
        ((np.ones(3),), {"op": "add"}),
        ((np.ones(3), np.zeros(3, int), 3, 4), {"op": "add"}),
    )
    for arguments, options in calls:
        errors = []
        for more in ({}, LONG):
            with pytest.raises((ValueError, TypeError, OverflowError)) as caught:
                ps.segment_reduce(*arguments, **options, **more)
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "u64", "f16"])
@pytest.mark.parametrize("op", OPS)
def test_ids_may_say_how_many_segments(dtype, op):
    rng = rng_for("ids alone", dtype, op)
    for n, size, index in product((0, 1, 10, 1000), (1, 7, 2000), ("i8", "i4", "u1")):
        values = random_values(rng, DTYPES[dtype], n)
        ids = rng.integers(0, size, n).astype(index)
        expected = ps.segment_reduce(values, ids, op=op, **LONG)
        assert_same(ps.segment_reduce(values, ids, op=op), expected)
    assert_same(ps.segment_max(values, ids), ps.segment_max(values, ids, **LONG))


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "u64", "f16"])
@pytest.mark.parametrize("op", OPS)
def test_offsets_have_the_bits_of_the_long_way(dtype, op):
    rng = rng_for("offsets", dtype, op)
    for n, size, index in product((0, 1, 40, 1024), (1, 7, 256, 257), ("i8", "i4")):
        values = random_values(rng, DTYPES[dtype], n)
        inner = np.sort(rng.integers(0, n + 1, size - 1))
        offsets = np.concatenate([[0], inner, [n]]).astype(index)
        long = {"axis": 0, "offsets": offsets}
        expected = ps.segment_reduce(values, op=op, **long)
        assert_same(ps.segment_reduce(values, offsets=offsets, op=op), expected)
        assert_same(ps.segment_reduce(values, op=op, offsets=offsets), expected)
    assert_same(ps.segment_sum(values, offsets=offsets), ps.segment_sum(values, **long))


def test_bad_offsets_have_the_words_of_the_long_way():
    values = np.ones(4)
    ids = np.zeros(4, int)
    for offsets in (
        np.array([1, 4]),
        np.array([0, 3]),
        np.array([0, 3, 2, 4]),
        np.array([0, 2**62, 4]),
        np.array([0, -1, 4]),
        np.array([4]),
        np.array([], int),
        np.array([0.0, 4.0]),
        None,
    ):
        errors = []
        for more in ({}, {"axis": 0}):
            with pytest.raises((ValueError, TypeError, IndexError)) as caught:
                ps.segment_reduce(values, offsets=offsets, **more)
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]
    for arguments in ((values, ids), (values, ids, 1)):
        with pytest.raises(TypeError):
            ps.segment_reduce(*arguments, offsets=np.array([0, 4]))
    with pytest.raises(TypeError):
        ps.segment_sum(values, offsets=np.array([0, 4]), op="add")
    for bad in ([0, -1], [2**62, 0]):
        with pytest.raises((IndexError, ValueError)):
            ps.segment_reduce(np.ones(2), np.array(bad))


def test_few_numbers_are_counted_like_many():
    rng = rng_for("short counts")
    for n, size, kind in product((1, 10, 1024), (1, 7, 2000), ("i8", "i4", "u2")):
        x, weights = rng.integers(0, size, n).astype(kind), rng.standard_normal(n)
        assert_same(ps.bincount(x), np.bincount(x))
        assert_same(ps.bincount(x), ps.bincount(x, axis=0))
        for own in (weights, weights.astype("f4"), weights * 1j, list(weights)):
            expected = ps.bincount(x, own, axis=0)
            assert_same(ps.bincount(x, own), expected)
    odd = np.array([-0.0, np.nan, np.inf, -np.inf])
    assert_same(ps.bincount(np.arange(4), odd), np.bincount(np.arange(4), odd))
    assert ps.bincount(np.array([], int)).tolist() == []
    assert ps.bincount(np.array([1, 1]), None).tolist() == [0, 2]
    for bad in (
        (np.array([0, -1]),),
        (np.array([2**62]),),
        (np.array([0.5]),),
        (np.array([1, 2]), np.ones(3)),
        (np.ones((2, 2), int),),
    ):
        errors = []
        for more in ({}, {"minlength": 0}):
            with pytest.raises((ValueError, TypeError)) as caught:
                ps.bincount(*bad, **more)
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]
