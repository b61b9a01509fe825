"""Whatever the way and the number of threads, keys have the same numbers."""

import itertools

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import _core
from tests.cases import rng_for


def test_ways_and_threads_give_one_result():
    rng = rng_for("threads")
    n = 300_000
    wide = rng.integers(-(2**62), 2**62, n)
    for keys in (
        rng.integers(0, 1000, n),
        wide[rng.integers(0, 1000, n)],
        wide,
        wide[rng.integers(0, 500, n)].astype("f4"),
        rng.integers(0, 70000, n).astype("U7"),
    ):
        for sort, missing in itertools.product((True, False), ("group", "drop")):
            results = []
            for threads, (forced, parts) in itertools.product(
                (1, 2), ((None, 0), ("hash", 3), ("spread", 0), ("sort", 0))
            ):
                before = _core.force_keys(forced, parts)
                with ps.num_threads(threads):
                    results.append(
                        ps.factorize(
                            keys, sort=sort, missing=missing, return_first=True
                        )
                    )
                _core.force_keys(*before)
            for result in results[1:]:
                assert (result[0] == results[0][0]).all()
                assert (result[2] == results[0][2]).all()


@pytest.mark.parametrize("repeats", ["some", "none", "runs"])
def test_keys_that_fill_caches(repeats):
    """So many that the way depends on how often they repeat."""
    rng = rng_for("many")
    n, groups = 600_000, 300_000
    wide = rng.integers(-(2**62), 2**62, n)
    ids = np.sort(rng.integers(0, groups, n))
    keys = wide if repeats == "none" else wide[ids]
    keys = rng.permutation(keys) if repeats == "some" else keys
    for sort, threads in itertools.product((True, False), (1, 2)):
        before = _core.force_keys("hash", 1)
        expected = ps.factorize(keys, sort=sort, return_first=True)
        _core.force_keys(*before)
        with ps.num_threads(threads):
            result = ps.factorize(keys, sort=sort, return_first=True)
        for one, other in zip(result, expected, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["U8", "U9", "U10", "U15", "U64", "U65"])
@pytest.mark.parametrize(
    "odd", [None, "123456789", "1234567\u0416", "\0\0\0\0\0\0\0\0a"]
)
def test_short_text_in_wide_items(dtype, odd):
    """One item of many that a word cannot hold, and which is met late."""
    keys = rng_for("short").integers(0, 800, 4000).astype(dtype)
    if odd is not None:
        keys[3001] = odd
    ids, uniques = ps.factorize(keys)
    expected = np.unique(keys, return_inverse=True)
    assert (uniques == expected[0]).all() and (ids == expected[1]).all()


@pytest.mark.parametrize(
    "dtype, odd",
    [("U9", None), ("U17", None)]
    + [("U16", odd) for odd in (None, "\u0416", "\xff", "sixteen of them.", "")],
)
def test_text_of_two_words(dtype, odd):
    """So much of it, and so often the same, that words are made of it."""
    rng = rng_for("two words")
    n = 140_000
    keys = (rng.integers(0, 6000, n) * 1001).astype(dtype)
    if odd is not None:
        keys[[7, n - 3]] = odd
    expected = np.unique(keys, return_index=True, return_inverse=True)
    for threads in (1, 2):
        with ps.num_threads(threads):
            ids, uniques, first = ps.factorize(keys, return_first=True)
            by_appearance = ps.factorize(keys, sort=False)
        assert (uniques == expected[0]).all() and (first == expected[1]).all()
        assert (ids == expected[2]).all()
        assert (by_appearance[1] == uniques[np.argsort(first)]).all()
        assert (by_appearance[1][by_appearance[0]] == keys).all()
    stays = np.arange(n) % 3 > 0
    few, counts = ps.group_reduce(None, keys, op="count", where=stays)
    expected = np.unique(keys[stays], return_counts=True)
    assert (few == expected[0]).all() and (counts == expected[1]).all()


@pytest.mark.parametrize("parts", [1, 3])
def test_many_items_in_the_order_of_keys(parts):
    """Ranks of more numbers than are gone through between two looks at signals."""
    rng = rng_for("items", parts)
    some = rng.integers(10**11, 10**12, 70_000).astype("S12")
    keys = np.concatenate([some, rng.permutation(some)])
    before = _core.force_keys("hash", parts)
    ids, uniques, first = ps.factorize(keys, return_first=True)
    _core.force_keys(*before)
    expected = np.unique(keys, return_inverse=True, return_index=True)
    assert (uniques == expected[0]).all()
    assert (first == expected[1]).all() and (ids == expected[2]).all()
