"""Histograms against their slow twin, NumPy and TensorBoard's rules."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, LAYOUTS, assert_same, random_values, rng_for

CORE = ps._core
REAL = [name for name, d in DTYPES.items() if d.kind in "biuf" or name == "bf16"]
KINDS = (1, 10, 33, "tb1", "tb2", "log2", (-2.0, -0.5, 0.0, 0.0, 1.0, 3.0))
LARGEST = np.finfo(np.float64).max


def compare(x, bins, limits=None, weights=None):
    """Compare counts, edges and fields with the twin's."""
    got = ps.histogram(x, bins, limits, weights=weights)
    counts, edges, fields = reference.histogram(x, bins, limits, weights)
    context = f"{x.dtype} {bins} {limits}"
    assert_same(got.edges, edges, context)
    if weights is None or np.asarray(weights).dtype.kind in "biu":
        assert got.counts.dtype == np.int64
        assert got.counts.tolist() == counts, context
    else:
        np.testing.assert_allclose(got.counts, counts, rtol=1e-12)
    for name, right in fields.items():
        mine = getattr(got, name)
        assert type(mine) is type(right)
        close = math.isclose(mine, right, rel_tol=1e-9, abs_tol=1e-9)
        both_nan = right != right and mine != mine
        assert mine == right or both_nan or (name[:3] == "sum" and close), name
    return got


@pytest.mark.parametrize("dtype", REAL)
def test_every_dtype(dtype):
    x = random_values(rng_for("histogram", dtype), DTYPES[dtype], 50)
    wide = DTYPES[dtype].itemsize == 8 and DTYPES[dtype].kind in "iu"
    for bins in KINDS:
        has_range = isinstance(bins, int) or bins == "tb2"
        compare(x, bins, (-2, 3) if has_range else None)
        if not wide:
            compare(x, bins)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("level", CORE.levels())
def test_layout_and_level_change_no_bit(layout, level):
    x = rng_for("histogram layouts").standard_normal((7, 20, 30)).astype(np.float32)
    x[3, 2, 1] = np.nan
    CORE.force_level(CORE.levels()[0])
    plain = ps.histogram(x, 7, weights=x)
    CORE.force_level(level)
    other = ps.histogram(LAYOUTS[layout](x), 7, weights=LAYOUTS[layout](x))
    assert pickle.dumps(plain) == pickle.dumps(other)
    flat = np.broadcast_to(np.float32(0.5), (3000,))
    assert pickle.dumps(ps.histogram(flat)) == pickle.dumps(ps.histogram(flat.copy()))


@settings(max_examples=60)
@given(st.lists(st.floats(), max_size=60), st.sampled_from(KINDS))
def test_any_numbers(values, bins):
    with np.errstate(all="ignore"):
        x = np.array(values, np.float64)
        got = ps.histogram(x, bins)
        assert int(got.counts.sum()) + got.n_below + got.n_above == got.num
        assert (np.diff(got.edges) > 0).all() or isinstance(bins, tuple)
        assert len(x) == got.num + got.n_nan + got.n_posinf + got.n_neginf
        finite = x[np.isfinite(x)]
        ids, _ = ps.bin_index(finite, got.edges)
        assert np.bincount(ids[ids >= 0], None, len(got.counts)).tolist() == (
            got.counts.tolist()
        )
        got.quantile([0, 0.3, 1])
        got.tb1(), got.tb2(), repr(got), got._repr_html_()


def test_numpy_has_the_same():
    rng = rng_for("histogram numpy")
    x = rng.standard_normal(70_000)
    weights = rng.random(70_000)
    for bins, limits in ((10, None), (1000, (-3, 3)), (np.linspace(-2, 2, 41), None)):
        for density in (False, True):
            counts, edges = ps.histogram(x, bins, limits, density)
            right, right_edges = np.histogram(x, bins, limits, density)
            assert_same(counts, right, f"{bins} {density}")
            assert_same(edges, right_edges, f"{bins}")
    for limits in (None, (-1, 1)):  # as NumPy adds up, bit for bit
        got = ps.histogram(x, 20, limits, weights=weights)
        assert_same(got.counts, np.histogram(x, 20, limits, weights=weights)[0], "w")
    whole = ps.histogram(np.zeros(1000), 2, weights=np.ones(1000, np.uint8))
    assert whole.counts.tolist() == [0, 1000]
    got = ps.histogram(x, 5, weights=weights * 1j).counts
    right = np.histogram(x, 5, weights=weights * 1j)[0]
    np.testing.assert_allclose(got, right)
    lone = ps.histogram([1.5, 2.5, 3.5, 3.6], [1, 2, 3, 4], weights=[1, 2, np.nan, 4])
    assert lone.counts[:2].tolist() == [1, 2]


@pytest.mark.parametrize("bins", [50, "tb1", "log2", "tb2"])
def test_threads_change_no_bit(bins):
    x = rng_for("histogram threads").standard_normal(300_000).astype(np.float32)
    made = []
    for threads in (1, 2, 3):
        ps.set_num_threads(threads)
        made.append(
            pickle.dumps((ps.histogram(x, bins), ps.histogram(x, 9, weights=x)))
        )
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("way", ["even", "cells", "bits", "search"])
def test_ways_change_nothing(way):
    x = rng_for("histogram ways").standard_normal(5000)
    plain = [ps.histogram(x, bins) for bins in KINDS]
    CORE.force_bin_way(way)
    for bins, right in zip(KINDS, plain, strict=True):
        assert pickle.dumps(ps.histogram(x, bins)) == pickle.dumps(right)


# --- ranges that hold too few floats --------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [2.0**53],
        [1e300] * 3,
        [2**62],
        [5e-324, 0.0],
        [-5e-324, 5e-324],
        [-LARGEST, LARGEST],
        [LARGEST],
        [-LARGEST, -LARGEST],
        [1.0, 1.0 + 2**-52],
        [7, 7, 7],
        [0.0, -0.0],
    ],
)
def test_edges_that_collapse_widen(values):
    for bins in (1, 10, 1000, "tb2", "log2", "tb1"):
        got = ps.histogram(values, bins)
        assert got.counts.sum() == len(values) == got.num
        assert np.isfinite(got.edges).all()
        assert (got.edges[1:] > got.edges[:-1]).all()
        assert np.isfinite(got.tb2()).all()
    got = ps.histogram([1.0], 10, (1.0, np.nextafter(1.0, 2)))
    assert got.counts.sum() == 1
    half = np.array([-30000, 35504], np.float16)
    assert ps.histogram(half).counts.tolist() == [1, *[0] * 8, 1]


# --- kinds ----------------------------------------------------------------------------


def test_tb1_is_tensorflows():
    assert_same(ps.histogram([], "tb1").edges, np.array(reference_limits()), "limits")
    x = np.concatenate([reference_limits(), np.random.default_rng(1).normal(size=999)])
    below = np.nextafter(x[1:], -np.inf)
    x = np.concatenate([x, below, [1e-20, 1e25, 0.0, -0.0]])
    for dtype in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            own = x.astype(dtype)
        own = own[np.isfinite(own)]
        right = np.searchsorted(reference_limits(), own.astype(float), side="right") - 1
        right = np.minimum(right, 1549)
        got = ps.histogram(np.tile(own, 8), "tb1").counts
        assert got.tolist() == (8 * np.bincount(right, None, 1550)).tolist()


def reference_limits():
    return reference.histogram([], "tb1")[1]


def test_tb1_as_arguments():
    got = ps.histogram([1.0, 1.0, 2.5, np.nan], 3, (0, 3)).tb1()
    assert got["bucket_limits"] == [0.0, 1.0, 2.0, 3.0]
    assert got["bucket_counts"] == [0.0, 0.0, 2.0, 1.0]
    assert (got["min"], got["max"], got["num"], got["sum"]) == (1.0, 2.5, 3.0, 4.5)
    assert got["sum_squares"] == 8.25
    beyond = ps.histogram([-1.0, 0.5, 9.0, 10.0], 2, (0, 2)).tb1()
    assert beyond["bucket_counts"] == [1.0, 1.0, 0.0, 2.0]
    assert beyond["bucket_limits"][-1] == LARGEST
    sparse = ps.histogram([1.0, 100.0, 100.0], "tb1").tb1()
    assert sparse["bucket_counts"] == [0.0, 1.0, 0.0, 2.0]
    assert sparse["bucket_limits"][1] > 1.0 >= sparse["bucket_limits"][0]
    empty = ps.histogram([], "tb1").tb1()
    assert empty["num"] == 0
    assert len(empty["bucket_limits"]) == len(empty["bucket_counts"]) == 1


def test_tb2_is_tensorboards():
    table = ps.histogram([1.0, 2.0, 4.0], "tb2").tb2()
    assert table.shape == (30, 3)
    assert table[0, 0] == 1.0
    assert table[-1].tolist() == [table[-2, 1], 4.0, 1.0]
    one = ps.histogram([3.0, 3.0], "tb2").tb2()
    assert (one[:, :2] == 3.0).all()
    assert one[:, 2].tolist() == [0.0] * 29 + [2.0]
    assert not ps.histogram([], "tb2").tb2().any()


def test_merge_is_counting_at_once():
    rng = rng_for("merge")
    parts = [
        rng.standard_normal(n) * 10.0**k for k, n in ((0, 5), (3, 50), (-9, 0), (9, 9))
    ]
    parts[1][3] = np.nan
    for bins in ("log2", "tb1", (-1.0, 0.0, 1.0)):
        whole = ps.histogram(np.concatenate(parts), bins)
        made = [ps.histogram(part, bins) for part in parts]
        for order in (made, made[::-1], [made[2], *made[:2], made[3]]):
            got = order[0].merge(*order[1:])
            assert_same(got.counts, whole.counts, f"{bins}")
            assert_same(got.edges, whole.edges, f"{bins}")
            for name in ("n_nan", "n_below", "n_above", "num", "min", "max"):
                assert getattr(got, name) == getattr(whole, name)
            assert math.isclose(got.sum_squares, whole.sum_squares)
    empty = ps.histogram([], "log2")
    assert empty.merge(empty).num == 0


def test_merge_refuses():
    one = ps.histogram([1.0, 2.0], 2, (0, 2))
    for error, other in (
        (ValueError, ps.histogram([1.0], 2, (0, 3))),
        (ValueError, ps.histogram([1.0], "log2")),
        (ValueError, ps.histogram([1.0], 2, (0, 2), density=True)),
        (TypeError, np.histogram([1.0])),
    ):
        with pytest.raises(error):
            one.merge(other)
        if isinstance(other, ps.Histogram):
            with pytest.raises(error):
                other.merge(one)


@pytest.mark.parametrize("bins", [2000, "log2", "tb1"])
def test_quantiles(bins):
    x = rng_for("quantiles").standard_normal(10_001) * 3 + 1
    levels = np.linspace(0, 1, 41)
    got = ps.histogram(x, bins).quantile(levels)
    right = np.quantile(x, levels)
    rtol, atol = (1e-2, 1e-2) if bins == 2000 else (0.13, 1e-6)
    np.testing.assert_allclose(got, right, rtol=rtol, atol=atol)
    assert type(ps.histogram(x, bins).quantile(0.5)) is float


def test_quantiles_of_little():
    assert math.isnan(ps.histogram([]).quantile(0.5))
    assert ps.histogram([3.0], "log2").quantile(0.5) == 3.0
    outside = ps.histogram([-10.0, 0.5, 20.0], 1, (0, 1))
    assert outside.quantile([0, 1]).tolist() == [-10.0, 20.0]
    weighted = ps.histogram([0.5, 1.5], [0, 1, 2], weights=[1, 3])
    assert weighted.quantile(0.25) == 1.0
    endless = ps.histogram([-3.0, 1.0, 2.0, 3.0], [-np.inf, 0, np.inf])
    assert endless.counts.tolist() == [1, 3]
    assert endless.quantile([0, 0.5, 1]).tolist() == [-3.0, 1.0, 3.0]
    upwards = ps.histogram([1.0, 2.0, 3.0], [-np.inf, 0, np.inf])
    assert 1 <= upwards.quantile(0.5) <= 3
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="q must be"):
            weighted.quantile(wrong)
    with pytest.raises(ValueError, match="weights"):
        ps.histogram([0.5], 1, density=True).quantile(0.5)


def test_record():
    got = ps.histogram([1.0, np.inf, 2.0])
    counts, edges = got
    assert counts is got.counts is got[0]
    assert edges is got.edges is got[-1]
    assert len(got) == 2
    assert repr(got).startswith(
        "Histogram(kind='bins', bins=10, num=2, min=1, max=2, n_po"
    )
    assert "<svg" in got._repr_html_()
    for other in (copy.copy(got), copy.deepcopy(got), pickle.loads(pickle.dumps(got))):
        assert type(other) is ps.Histogram
        assert other.counts.tolist() == counts.tolist()
        assert other.n_posinf == 1
    with pytest.raises(AttributeError):
        got.num = 3
    with pytest.raises(TypeError):
        ps.Histogram(counts, edges)
    with pytest.raises(TypeError):
        ps.Histogram(counts=counts)


# --- bad input ------------------------------------------------------------------------

WRONG = {
    "no bins": (ValueError, {"bins": 0}),
    "too many": (ValueError, {"bins": 10**12}),
    "far too many": (ValueError, {"bins": 10**30}),
    "a float": (TypeError, {"bins": 2.5}),
    "a name": (ValueError, {"bins": "auto"}),
    "decreasing": (ValueError, {"bins": [0.0, 2.0, 1.0]}),
    "nan edge": (ValueError, {"bins": [0.0, np.nan, 1.0]}),
    "reversed": (ValueError, {"range": (1, 0)}),
    "infinite": (ValueError, {"range": (0, np.inf)}),
    "nan range": (ValueError, {"range": (np.nan, 1)}),
    "three": (ValueError, {"range": (0, 1, 2)}),
    "range of log2": (TypeError, {"bins": "log2", "range": (0, 1)}),
    "range of tb1": (TypeError, {"bins": "tb1", "range": (0, 1)}),
    "short weights": (ValueError, {"weights": [1.0]}),
    "weights of words": (TypeError, {"weights": ["a", "b"]}),
    "weights masked": (TypeError, {"weights": np.ma.masked_array([1, 2], [1, 0])}),
    "complex": (TypeError, {"x": [1j, 2]}),
    "times": (TypeError, {"x": np.array([1, 2], "m8[s]")}),
    "words": (TypeError, {"x": ["a", "b"]}),
    "objects": (TypeError, {"x": np.array([1, None])}),
    "masked": (TypeError, {"x": np.ma.masked_array([1.0, 2.0], [True, False])}),
    "density": (TypeError, {"density": 2}),
    "unknown": (TypeError, {"normed": True}),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input(name):
    error, options = WRONG[name]
    with pytest.raises(error):
        ps.histogram(**{"x": [1.0, 2.0], **options})


def test_nothing_warns_or_raises_on_values():
    for values in ([np.nan], [np.nan, 1.0], [np.inf, 1.0], [], [1.0, 1.0], [-np.inf]):
        for bins in KINDS:
            got = ps.histogram(values, bins)
            assert got.n_nan + got.n_posinf + got.n_neginf + got.num == len(values)
    assert ps.histogram([-5.0, 7.0], 2, (0, 1)).n_above == 1
