"""Medians and quantiles: every kernel, hostile orders, every way, against the twin.

Results are compared bit for bit: a median is NumPy's, a quantile is interpolated in one
written order of roundings.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    assert_same,
    assert_same_outcome,
    outcome,
    random_values,
    rng_for,
)
from tests.families.test_properties import INDEX_DTYPES, draw_layout, draw_values
from tests.segment.test_segment_properties import FEWER

CORE = ps._core
NAN, INF = np.nan, np.inf
MEDIAN = {"op": "median"}
QUANTILES = [MEDIAN] + [
    {"op": "quantile", "q": q} for q in (0, 1, 0.3, [0.9, 0.1, 0.1, 0.5], [])
]
ORDERED = [d for d in DTYPES.values() if d.kind != "c"]


def kernel_rows():
    """Return (dtype, isa) of the kernels of order statistics."""
    return sorted({row[2:4] for row in CORE.kernels() if row[0] == "quantile"})


@pytest.mark.parametrize(("dtype", "isa"), kernel_rows())
def test_every_kernel(dtype, isa):
    CORE.force_level(isa)
    for stored in ("datetime", "timedelta") if dtype == "t64" else (dtype,):
        rng = rng_for("quantile", stored)
        for tail, special in product(((), (3,)), (False, True)):
            values = random_values(rng, DTYPES[stored], (150, *tail), special=special)
            for said in (
                {"ids": rng.integers(0, 6, 150) ** 2 // 4, "num_segments": 8},
                {"lengths": [0, 1, 2, 33, 0, 64, 50]},
                {"starts": [7, 0, 150], "stops": [9, 150, 150]},
                {"offsets": [0, 40, 90], "gather": rng.integers(-150, 150, 90)},
            ):
                for asked in QUANTILES:
                    options = {**said, **asked}
                    result = outcome(ps.segment_reduce, values, **options)
                    expected = outcome(reference.segment_reduce, values, **options)
                    assert_same_outcome(result, expected, f"{stored} {tail} {options}")


@FEWER
@given(st.data())
def test_all_options(data):
    draw = data.draw
    n, tail = draw(st.integers(0, 12)), draw(st.sampled_from([(), (1,), (2,)]))
    values = draw_values(draw, draw(st.sampled_from(ORDERED)), (n, *tail))
    options = dict(draw(st.sampled_from(QUANTILES)))
    options["skipna"] = draw(st.booleans())
    options["dtype"] = draw(st.sampled_from([None, None, "f2", "f4", "f8", "g"]))
    if values.dtype.kind in "mM" or values.dtype.name == "bfloat16":
        options["dtype"] = None
    numbers = st.lists(st.integers(-1, 4), min_size=n, max_size=n)
    index = np.abs(draw(numbers)).astype(draw(st.sampled_from(INDEX_DTYPES)))
    options["ids"] = draw_layout(draw, index)
    options["num_segments"] = draw(st.sampled_from([None, 3, 5]))
    options["mode"] = draw(st.sampled_from(["raise", "drop", "clip", "wrap"]))
    if draw(st.booleans()):
        cuts = np.sort(draw(st.lists(st.integers(0, n), min_size=2, max_size=6)))
        ends = cuts.astype(index.dtype)
        options = {key: options[key] for key in options if key in ("op", "q", "skipna")}
        options |= {"starts": ends[:-1], "stops": draw_layout(draw, ends[1:])}
    if draw(st.booleans()):
        shape = draw(st.sampled_from([(n,), values.shape]))
        size = int(np.prod(shape))
        mask = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        options["where"] = np.array(mask, bool).reshape(shape)
    result = outcome(ps.segment_reduce, draw_layout(draw, values), **options)
    expected = outcome(reference.segment_reduce, values, **options)
    assert_same_outcome(result, expected, f"{values!r} {options}")


def test_a_dtype_of_another_kind_is_refused():
    for stored, asked in (("f64", "i8"), ("i32", "?"), ("bf16", "f2")):
        with pytest.raises(TypeError, match="a cast of the same kind"):
            ps.segment_reduce(
                np.zeros(3, DTYPES[stored]), [0, 0, 1], dtype=asked, **MEDIAN
            )


def test_medians_are_those_of_numpy():
    awkward = [0.0, -0.0, 1, 2.5, -3, 0.1, 1e-7, INF, -INF, NAN, 7e4, 1e-320]
    rng = rng_for("medians")
    for name in ("f16", "f32", "f64", "f80", "i8", "u16", "i64", "u64", "b1"):
        dtype = DTYPES[name]
        with np.errstate(all="ignore"):
            for n in (1, 2, 3, 4, 5, 20, 101, 102):
                pool = awkward if dtype.kind == "f" else [0, 1, 2, 5, 100]
                columns = rng.choice(pool, (n, 40)).astype(dtype)
                result = ps.segment_reduce(columns, lengths=[n], op="median")[0]
                expected = np.median(columns, axis=0)
                both = np.isnan(expected) & np.isnan(result)
                same = (result == expected) & (
                    np.signbit(result) == np.signbit(expected)
                )
                assert result.dtype == expected.dtype
                assert (both | same).all(), f"{name} {n}"
    spans = rng.integers(-9, 9, (8, 30)).astype("m8[s]")
    result = ps.segment_reduce(spans, lengths=[8], op="median")[0]
    assert_same(result, np.median(spans, axis=0))


def test_nothing_overflows():
    for dtype in (np.float32, np.float64, np.longdouble):
        top = np.finfo(dtype).max
        values, ids = np.array([-top, top, top, top / 2]), [0, 0, 1, 1]
        median = ps.segment_reduce(values, ids, op="median")
        assert median.tolist() == [0, top / 4 * 3]
        low, high = ps.segment_reduce(values[:2], [0, 0], op="quantile", q=[0.25, 0.75])
        assert low[0] == -top / 2
        assert high[0] == top / 2
    top = np.iinfo(np.int64).max
    for code, middle in (("m8[s]", 0), ("M8[s]", -1)):  # a walk is as long as a double
        times = np.array([-top, top, top, top - 2]).astype(code)
        for said in ({"ids": [0, 0, 1, 1]}, {"lengths": [2, 2]}):
            result = ps.segment_reduce(times, **said, op="median")
            assert result.astype(int).tolist() == [middle, top - 1]
    assert ps.segment_reduce([-1e308, 1e308], [0, 0], op="median")[0] == 0


def test_infinities():
    values = np.array([INF, INF, -INF, -INF, 1, INF, -INF, 1])
    said = {"lengths": [2, 2, 2, 2]}
    median = ps.segment_reduce(values, **said, op="median")
    assert median.tolist() == [INF, -INF, INF, -INF]
    result = ps.segment_reduce(values, **said, op="quantile", q=[0, 0.6])
    assert result[0].tolist() == [INF, -INF, 1, -INF]
    assert_same(result[1], np.array([INF, -INF, NAN, -INF]))  # as numpy.quantile


def test_quantiles_of_doubles_are_those_of_numpy():
    rng = rng_for("quantiles")
    for n in (1, 2, 7, 33, 500):
        columns = rng.standard_normal((n, 20))
        q = [0, 0.01, 0.25, 1 / 3, 0.5, 0.9, 1]
        result = ps.segment_reduce(columns, lengths=[n], op="quantile", q=q)[:, 0]
        assert_same(result, np.quantile(columns, q, axis=0))


def hostile(n):
    """Numbers in which the pivots of a range are its least keys, time and again.

    Keys are made up while the selection is played through: what a pivot is chosen from
    becomes the lowest.
    """
    place, key, lowest, first = list(range(n)), {}, 0, 0
    while n - first > 60:
        step = (n - first) // 9
        at = [first + step // 2 + k * step for k in range(9)]
        for position in at:
            lowest += place[position] not in key
            key.setdefault(place[position], lowest)
        nine = [key[place[position]] for position in at]
        pivot = sorted(sorted(nine[k : k + 3])[1] for k in (0, 3, 6))[1]
        below = first
        for i in range(first, n):
            place[i], place[below] = place[below], place[i]
            below += key.get(place[below], n) < pivot
        first = below if below > first else first + 1
        if len(key) > n // 2:
            break
    rest = [i for i in range(n) if i not in key]
    key |= {i: n + rank for rank, i in enumerate(rest)}
    return np.array([key[i] for i in range(n)], float)


ORDERS = {
    "random": lambda rng, n: rng.standard_normal(n),
    "ascending": lambda _, n: np.arange(n) / 7,
    "descending": lambda _, n: -np.arange(n) / 7,
    "equal": lambda _, n: np.full(n, 1.5),
    "two": lambda rng, n: rng.integers(0, 2, n) - 0.5,
    "few": lambda rng, n: rng.integers(0, 9, n) / 4,
    "zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "pipe": lambda _, n: np.minimum(np.arange(n), n - np.arange(n)) / 3,
    "saw": lambda _, n: np.arange(n) % 17 + 0.25,
    "late": lambda _, n: np.where(np.arange(n) > n * 0.9, -np.arange(n), n) / 2,
    "hostile": lambda _, n: hostile(min(n, 3000)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_selection(order):
    rng = rng_for(order)
    levels = np.linspace(0, 1, 41)
    for n in (31, 32, 33, 34, 100, 2047, 2048, 2049, 4095, 4096, 5000):
        whole = ORDERS[order](rng, n)
        for dtype in (np.float32, np.float64, np.longdouble):
            values = whole.astype(dtype)
            n = len(values)
            ids = np.zeros(n, int)
            for said, asked in product(
                ({"ids": ids}, {"offsets": [0, n]}), (MEDIAN, {"op": "quantile"})
            ):
                q = None if asked is MEDIAN else levels
                result = ps.segment_reduce(values, **said, **asked, q=q)
                ordered = np.sort(values)
                if asked is MEDIAN:
                    expected = (0 + ordered[(n - 1) // 2] + ordered[n // 2]) / 2
                    assert result[0] == expected, f"{n} {dtype}"
                    continue
                at = (n - 1) * levels
                low = at.astype(int)
                exact = low == at
                assert (result[exact, 0] == ordered[low[exact]]).all(), f"{n} {dtype}"
                high = ordered[np.minimum(low + 1, n - 1)]
                assert (result[:, 0] >= ordered[low]).all(), f"{n} {dtype}"
                assert (result[:, 0] <= high).all(), f"{n} {dtype}"


def test_bits_of_every_level_and_number_of_threads():
    rng = rng_for("ways")
    for n, tail, groups in ((60_000, (), 40), (60_000, (), 9000), (4_000, (70,), 30)):
        values = random_values(rng, DTYPES["f32"], (n, *tail))
        ids = rng.integers(0, groups, n)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=groups))])
        said = ({"ids": ids}, {"offsets": offsets}, {"ids": ids, "skipna": True})
        for options, asked in product(said, (MEDIAN, QUANTILES[4])):
            results = []
            for level, threads in product(CORE.levels(), (1, 2, 7)):
                CORE.force_level(level)
                with ps.num_threads(threads):
                    result = ps.segment_reduce(values, **options, **asked)
                results.append(result.tobytes())
            assert len(set(results)) == 1, f"{n} {tail} {list(options)} {asked}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_never_changes_bits(layout):
    rng = rng_for("layout")
    values = rng.standard_normal((3000, 3)).astype(np.float32)
    for said in ({"ids": rng.integers(0, 40, 3000)}, {"offsets": [0, 5, 5, 3000]}):
        expected = ps.segment_reduce(values, **said, op="median")
        laid = {key: LAYOUTS[layout](np.asarray(x)) for key, x in said.items()}
        result = ps.segment_reduce(LAYOUTS[layout](values), **laid, op="median")
        assert_same(result, expected)


def test_masks_by_entry_and_by_element():
    rng = rng_for("masks")
    for n, tail, name in product((50, 2500), ((), (3,)), ("f64", "f16", "i32")):
        values = random_values(rng, DTYPES[name], (n, *tail), special=False)
        ids = rng.integers(0, 5, n)
        entries, elements = rng.random(n) < 0.5, rng.random((n, *tail)) < 0.5
        wild = np.where(entries, ids, 99)
        kept = ps.segment_reduce(values[entries], ids[entries], 5, op="median")
        result = ps.segment_reduce(values, wild, 5, where=entries, op="median")
        assert_same(result, kept)
        order = np.argsort(ids, kind="stable")
        runs = {"lengths": np.bincount(ids, minlength=5)}
        for mask in (entries, elements):
            by_ids = ps.segment_reduce(values, ids, 5, where=mask, op="median")
            by_runs = ps.segment_reduce(
                values[order], **runs, where=mask[order], op="median"
            )
            assert_same(by_runs, by_ids)


@pytest.mark.parametrize("position", [0, 2047, 2048, 4999])
def test_bad_ids_are_named(position):
    values = np.ones(5000)
    for bad in (-1, 7):
        ids = np.arange(5000) % 7
        ids[position] = bad
        out = np.full(7, 3.0)
        words = f"index {bad} .*size 7 .*position {position} of 5000 in 'ids'"
        with pytest.raises(IndexError, match=words):
            ps.segment_reduce(values, ids, 7, op="median", out=out)
        assert (out == 3).all()


def test_ranges_and_rows_that_do_not_exist():
    values = np.arange(3.0)
    for starts, stops in (([0], [4]), ([-1], [2]), ([2], [1]), ([2**40], [2**40])):
        with pytest.raises(ValueError, match=r"st(art|op)s\[0\]"):
            ps.segment_reduce(values, starts=starts, stops=stops, op="median")
    for row in (3, -4):
        for place in ({"starts": [0], "stops": [2]}, {"ids": [0, 0]}):
            with pytest.raises(IndexError, match=f"index {row} .*'gather'"):
                ps.segment_reduce(values, gather=[0, row], op="median", **place)


def test_rows_that_do_not_exist_may_be_left_out():
    values, rows = np.arange(4.0), np.array([1, 9, 2])
    mask = np.array([True, False, True])
    for place in ({"ids": [0, 0, 0]}, {"lengths": [3]}):
        options = {"gather": rows, "where": mask, "op": ("median", "logsumexp")}
        median, power = ps.segment_reduce(values, **place, **options)
        assert median.tolist() == [1.5]
        assert_same(power, ps.segment_reduce(values[1:3], lengths=[2], op="logsumexp"))


@pytest.mark.parametrize(
    "q", ["a", True, [0.5, 1.5], [[0.5]], np.nan, -1, None, [None], 1j]
)
def test_levels_that_are_none(q):
    with pytest.raises((TypeError, ValueError), match="q"):
        ps.segment_reduce(np.arange(3.0), [0, 0, 1], op="quantile", q=q)


def test_levels_of_batches_and_axes_in_front():
    rng = rng_for("levels of batches")
    values, ids = rng.standard_normal((2, 3, 5, 2)), rng.integers(0, 3, (2, 5))
    options = {"batch_dims": 1, "axis": 2, "op": "quantile"}
    result = ps.segment_reduce(values, ids, 3, q=[0.25, 0.5], **options)
    assert result.shape == (2, 2, 3, 3, 2)
    for i, q in enumerate((0.25, 0.5)):
        assert_same(ps.segment_reduce(values, ids, 3, q=q, **options), result[i])
        for b in range(2):
            one = ps.segment_reduce(values[b], ids[b], 3, axis=1, op="quantile", q=q)
            assert_same(result[i, b], one)


def test_medians_where_most_samples_find_the_least_key():
    """Pivots are then the least, and what equals them leaves at once."""
    n = 60_000
    keys = np.arange(n, 0, -1.0)
    for step in (2, 3, 5, 7):
        keys[::step] = -1.0
    for _ in range(3):
        expected = np.median(keys)
        assert ps.segment_reduce(keys, np.zeros(n, int), 1, op="median")[0] == expected
        keys = np.concatenate([keys[1::2], keys[::2]])
