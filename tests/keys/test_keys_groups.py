"""Groups whose numbers nobody sees: however they are kept, results are those of numbers
that factorize gives."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from pyscatter import _core
from tests.cases import rng_for


def check(keys, forced=None, parts=0, threads=1, **options):
    """By numbers of factorize, and at once."""
    keys = keys if isinstance(keys, tuple) else (keys,)
    shape = np.shape(keys[0])
    values = rng_for("groups").random(shape)
    ids, uniques = ps.factorize(*keys, missing="drop")
    uniques = uniques if isinstance(uniques, tuple) else (uniques,)
    ops = ("add", "count", "first", "max")
    expected = ps.segment_reduce(values, ids, len(uniques[0]), op=ops, mode="drop")
    before = _core.force_keys(forced, parts)
    try:
        with ps.num_threads(threads):
            found, result = ps.group_reduce(values, *keys, op=ops, **options)
    finally:
        _core.force_keys(*before)
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(
        found + tuple(result), uniques + tuple(expected), strict=True
    ):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def long_keys():
    """Some more than short ones are worth, near each other in every sense."""
    rng = rng_for("long")
    n = 140_000
    keys = rng.integers(0, 100, n)
    yield "all there", keys
    yield "below 0", keys - 50
    yield "gaps", keys * 3 + 7
    yield "many", rng.integers(0, 50_000, n)
    yield "one", np.zeros(n, np.int64)
    yield "rare", np.where(np.arange(n) % 50_021 == 1, rng.integers(-9, 120, n), keys)
    yield "late", np.where(np.arange(n) == n - 1, -1, keys)
    yield "far", np.where(np.arange(n) == n - 2, 2**40, keys)
    yield "sorted", np.sort(keys)
    yield "backwards", np.sort(keys)[::-1]
    yield "of bytes", keys.astype(np.uint8).astype(">u2")
    yield "days", keys.astype("M8[D]")
    yield (
        "days and none",
        np.where(keys == 3, np.datetime64("NaT", "D"), keys.astype("M8[D]")),
    )
    yield "letters", (keys + 20).astype(np.uint8).view("S1")
    yield "two", (keys, rng.integers(0, 7, n))
    yield "three", (keys, keys % 5, keys % 2 == 0)
    yield "rows", keys.reshape(-1, 20)


@pytest.mark.parametrize("name", [name for name, _ in long_keys()])
def test_as_by_numbers(name):
    keys = dict(long_keys())[name]
    for threads in (1, 2):
        check(keys, threads=threads)


def test_without_the_entries_of_a_mask():
    keys = rng_for("mask").integers(5, 90, 20_000)
    values = np.arange(20_000.0)
    for threads, gap in itertools.product((1, 2), (1, 2, 9)):
        stays = (keys % 10 >= gap) & (np.arange(20_000) % 7 > 0)
        with ps.num_threads(threads):
            found, result = ps.group_reduce(values, keys, where=stays)
        expected, other = ps.group_reduce(values[stays], keys[stays])
        assert found.tobytes() == expected.tobytes()
        assert result.tobytes() == other.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-300, 300), max_size=60),
    st.sampled_from([0, 2**31, -(2**31), 2**62]),
    st.sampled_from(["near", "hash", "sort", "spread"]),
    st.integers(1, 3),
)
def test_few_as_by_numbers(keys, base, forced, parts):
    check(np.array(keys, np.int64) + base, forced, parts)


@pytest.mark.parametrize("groups", [3, 4000, 30_000])
def test_several_parts(groups):
    keys = rng_for("parts").integers(-9, groups, 50_000)
    for forced, parts in itertools.product(("near", "hash"), (1, 3)):
        check(keys, forced, parts)
