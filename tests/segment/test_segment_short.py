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
