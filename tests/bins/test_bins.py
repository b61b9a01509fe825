"""Bins against their slow twin and NumPy: dtypes, layouts, edges, ways, bad input."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, LAYOUTS, assert_same, random_values, rng_for

CORE = ps._core
WAYS = (None, "even", "cells", "bits", "search")
REAL = [name for name, d in DTYPES.items() if d.kind in "biuf" or name == "bf16"]
HUGE = 2**53
EDGES = {
    "even": np.linspace(-3, 3, 13),
    "uneven": np.array([-3.0, -1.0, -0.5, -0.25, 0.0, 0.1, 2.0, 2.5]),
    "repeated": np.array([-2.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
    "clustered": np.concatenate([np.linspace(0, 1e-6, 30), [1.0, 3.0]]),
    "powers": np.concatenate([-np.logspace(2, -3, 40), np.logspace(-3, 2, 40)]),
    "two": np.array([-1.0, 1.0]),
    "infinite": np.array([-np.inf, -1.0, 0.0, 2.0, np.inf]),
    "float32": np.linspace(0, 1, 7, dtype=np.float32),
    "whole": np.array([-5, 0, 1, 3]),
}


def compare(x, bins, limits=None, **options):
    """Compare ids and edges with the twin's."""
    ids, edges = ps.bin_index(x, bins, limits, **options)
    right, right_edges = reference.bin_index(x, bins, limits, **options)
    assert_same(ids, right, f"{x.dtype} {bins} {options}")
    assert_same(edges, right_edges, f"{x.dtype} {bins}")
    return ids


@pytest.mark.parametrize("dtype", REAL)
def test_every_dtype(dtype):
    rng = rng_for("bins", dtype)
    x = random_values(rng, DTYPES[dtype], 60)
    for name, edges in EDGES.items():
        compare(x, edges, outside=("drop", "clip", "extend")[len(name) % 3])
    for bins, limits in ((1, (0, 1)), (7, (-3, 3)), (40, (0, 100))):
        for outside in ("drop", "clip", "extend"):
            compare(x, bins, limits, outside=outside)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    x = rng_for("bin layouts").standard_normal((4, 3, 5))
    assert_same(
        ps.bin_index(LAYOUTS[layout](x), 8, (-2, 2))[0], compare(x, 8, (-2, 2)), layout
    )
    wide = np.broadcast_to(x[:, :1, :1], (4, 300, 5))
    compare(wide, 5, (-1, 1))
    compare(np.broadcast_to(np.float32(0.5), (3000,)), 5, (-1, 1))


@pytest.mark.parametrize("level", CORE.levels())
@pytest.mark.parametrize("way", WAYS)
def test_ways_agree_with_numpy(level, way):
    """Thousands of elements, many of them at edges and beside them."""
    CORE.force_level(level)
    CORE.force_bin_way(way)
    rng = rng_for("bin ways")
    for dtype in (np.float32, np.float64):
        for name, edges in EDGES.items():
            near = np.repeat(edges.astype(dtype), 3)
            near[::3] = np.nextafter(near[::3], dtype(np.inf))
            near[1::3] = np.nextafter(near[1::3], dtype(-np.inf))
            x = np.concatenate(
                [near, rng.standard_normal(3000).astype(dtype), [np.nan]]
            )
            x = rng.permutation(x.astype(dtype))
            exact = x.astype(np.float64)
            right = np.searchsorted(edges, exact, side="right") - 1
            right[exact == edges[-1]] = np.searchsorted(edges, edges[-1]) - 1
            right[(right >= len(edges) - 1) | np.isnan(exact)] = -1
            if name == "repeated":  # the last bin is [1, 1]
                right[exact == 1.0] = len(edges) - 2
            assert_same(ps.bin_index(x, edges)[0], right, f"{name} {dtype} {way}")
    grid = np.arange(0, 1000) / 10
    for bins in (1000, 10, 333):
        counts, _ = np.histogram(grid, bins, (0, 100))
        ids, _ = ps.bin_index(grid, bins, (0, 100))
        assert_same(np.bincount(ids, minlength=bins), counts, f"{way} {bins}")


@settings(max_examples=60)
@given(
    st.lists(st.floats(width=32), max_size=40),
    st.lists(st.floats(allow_nan=False), min_size=2, max_size=20),
    st.sampled_from(WAYS),
)
def test_any_numbers(values, edges, way):
    CORE.force_bin_way(way)
    compare(np.array(values, np.float64), np.sort(edges))
    compare(np.array(values, np.float32), np.sort(edges))


def test_whole_numbers_beyond_floats():
    edges = np.array([HUGE - 1, HUGE, HUGE + 1, HUGE + 3])
    x = np.arange(HUGE - 3, HUGE + 6)
    compare(x, edges)
    compare(x.astype(np.uint64), edges, outside="extend")
    compare(x, edges.astype(np.uint64))
    top = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    low = np.array([-(2**63), -1, 0, 2**63 - 1])
    compare(np.array([-(2**63), -5, 0, 2**63 - 1]), top, outside="extend")
    compare(np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64), low)
    compare(np.array([3], np.uint64), np.array([-(2**63), -1]))


def test_ranges_are_found():
    compare(np.array([1.0, np.nan, np.inf, 3.0, 2.0, -np.inf]), 4)
    compare(np.array([5, 5, 5]), 3)
    compare(np.array([]), 3)
    compare(np.array([np.nan]), 3)


def test_binned_reduce_agrees():
    rng = rng_for("binned")
    x, y, z = (rng.standard_normal((5, 40)) for _ in range(3))
    values = rng.standard_normal((5, 40, 3))
    bins, limits = (4, EDGES["uneven"], 3), ((-2, 2), None, (-1, 1))
    for outside in ("drop", "clip", "extend"):
        for n in (1, 2, 3):
            each = ((x, y, z)[:n], None, bins[:n], limits[:n])
            got = ps.binned_reduce(*each, outside=outside)
            right, edges, ids = reference.binned_reduce(*each, outside=outside)
            assert_same(got.result, right.astype(np.int64), f"{n} {outside}")
            assert_same(got.ids, ids, f"{n} {outside}")
            for own, theirs in zip(
                [got.edges] if n == 1 else got.edges, edges, strict=True
            ):
                assert_same(own, theirs, "edges")
            for op in ("add", "mean", "max", "std"):
                each = ((x, y, z)[:n], values, bins[:n], limits[:n])
                got = ps.binned_reduce(*each, op=op, outside=outside)
                right, *_ = reference.binned_reduce(*each, op=op, outside=outside)
                np.testing.assert_allclose(got.result, right, rtol=1e-12, atol=1e-12)


def test_results_are_those_of_segments():
    """Every option passes through, in the shape of the coordinates."""
    rng = rng_for("binned options")
    x, y = rng.random((2, 30, 10))
    values, mask = rng.random((30, 10, 2)), rng.random((30, 10)) < 0.7
    ids = ps.bin_index(x, 3, (0, 1))[0] * 4 + ps.bin_index(y, 4, (0, 1))[0]
    flat = values.reshape(300, 2)
    common = {"op": ("mean", "max"), "return_counts": True}
    got = ps.binned_reduce((x, y), values, (3, 4), (0, 1), where=mask, **common).result
    right = ps.segment_reduce(flat, ids.ravel(), 12, where=mask.ravel(), **common)
    for mine, theirs in zip((*got[0], got[1]), (*right[0], right[1]), strict=True):
        assert_same(mine, theirs.reshape(3, 4, *theirs.shape[1:]), "tuple")
    fine = rng.random(values.shape) < 0.5
    got = ps.binned_reduce((x, y), values, (3, 4), (0, 1), op="add", where=fine).result
    right = ps.segment_reduce(flat, ids.ravel(), 12, where=fine.reshape(300, 2))
    assert_same(got, right.reshape(3, 4, 2), "where of elements")
    levels = [0.25, 0.5]
    got = ps.binned_reduce(
        (x, y), values, (3, 4), (0, 1), op="quantile", q=levels
    ).result
    right = ps.segment_reduce(flat, ids.ravel(), 12, op="quantile", q=levels)
    assert_same(got, right.reshape(2, 3, 4, 2), "levels")
    weights = rng.random((30, 10))
    out = np.zeros((3, 4, 2), np.float32)
    got = ps.binned_reduce(
        (x, y), values, (3, 4), (0, 1), op="add", weights=weights, out=out
    ).result
    right = ps.segment_reduce(flat, ids.ravel(), 12, weights=weights.ravel())
    assert got is out
    assert_same(out, right.reshape(3, 4, 2).astype(np.float32), "out")
    found, counts = ps.binned_reduce(
        (x, y),
        values,
        (3, 4),
        np.array([[0, 1], [0, 1]]),
        op="add",
        where=mask,
        return_counts=True,
        out=out,
    ).result
    assert found is out
    assert counts.shape == (3, 4)
    assert counts.sum() == mask.sum()
    both = ps.binned_reduce((x,), (values, values[..., 0]), 3, op="add").result
    assert [r.shape for r in both] == [(3, 2), (3,)]


def test_forms_of_coordinates():
    rng = rng_for("binned forms")
    table = rng.random((50, 2))
    x, y = table.T
    right = np.histogram2d(x, y, (4, 5), ((0, 1), (0, 1)))[0].astype(np.int64)
    for coords in (table, (x, y), [x, y], (list(x), list(y))):
        assert_same(
            ps.binned_reduce(coords, None, (4, 5), (0, 1)).result, right, "forms"
        )
    one = ps.binned_reduce(x.tolist(), None, [0.0, 0.5, 1.0])
    assert one.result.tolist() == np.histogram(x, [0.0, 0.5, 1.0])[0].tolist()
    per_axis = ps.binned_reduce((x, y), None, [4, np.linspace(0, 1, 6)], [(0, 1), None])
    assert_same(per_axis.result, right, "one for each")


def test_binned_is_a_named_tuple():
    binned = ps.binned_reduce([0.1, 0.9], None, 2, (0, 1))
    result, edges, ids = binned
    assert isinstance(binned, tuple)
    assert len(binned) == 3
    assert binned[0] is result is binned.result
    assert binned[2] is ids is binned.ids is binned[-1]
    assert ids.dtype == np.intp
    assert binned._asdict()["edges"] is edges
    again = pickle.loads(pickle.dumps(binned))
    assert type(again) is ps.Binned
    plain = ps.Binned(1, 2, 5)
    assert plain == (1, 2, 5)
    assert not plain != (1, 2, 5)
    assert plain != (1, 2, 6)
    assert again.ids.tolist() == [0, 1]
    assert repr(again).startswith("Binned(result=array([1, 1]), edges=")
    many = ps.binned_reduce(np.linspace(0, 1, 9), None, 300, (0, 1)).ids
    assert many.tolist() == ps.bin_index(np.linspace(0, 1, 9), 300, (0, 1))[0].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_matter(threads):
    ps.set_num_threads(threads)
    x = rng_for("bin threads").standard_normal(300_000)
    ids, edges = ps.bin_index(x, 50, (-3, 3))
    right = np.searchsorted(edges, x, side="right") - 1
    right[(x < -3) | (x > 3)] = -1
    assert_same(ids, right, "ids")
    counts = ps.binned_reduce((x, x[::-1]), None, (50, 8), (-3, 3)).result
    assert_same(
        counts, np.histogram2d(x, x[::-1], (50, 8), [(-3, 3)] * 2)[0].astype(int), ""
    )


def test_another_thread_writes():
    """Numbers are anything, but they are numbers of bins."""
    x = rng_for("bin race").standard_normal(100_000)
    raw, is_done = x.view(np.uint8), threading.Event()

    def spoil():
        rng = rng_for("spoil")
        while not is_done.is_set():
            raw[:] = rng.integers(0, 256, raw.size, np.uint8)

    spoiler = threading.Thread(target=spoil)
    spoiler.start()
    try:
        for way in WAYS * 2:
            CORE.force_bin_way(way)
            for bins, limits in ((9, (-1, 1)), (EDGES["clustered"], None)):
                ids, edges = ps.bin_index(x, bins, limits)
                assert ids.min() >= -1
                assert ids.max() < len(edges) - 1
            counts = ps.binned_reduce((x, x[::-1]), None, 9, (-1, 1)).result
            assert 0 <= counts.sum() <= len(x)
            for kind in ("log2", "tb1", 30):
                assert ps.histogram(x, kind).counts.sum() <= len(x)
    finally:
        is_done.set()
        spoiler.join()


WRONG = {
    "no bins": (ValueError, ([1.0], 0)),
    "negative": (ValueError, ([1.0], -3)),
    "too many": (ValueError, ([1.0], 10**12)),
    "far too many": (ValueError, ([1.0], 10**30)),
    "a float": (TypeError, ([1.0], 2.5)),
    "a bool": (TypeError, ([1.0], True)),
    "a name": (TypeError, ([1.0], "auto")),
    "decreasing": (ValueError, ([1.0], [0.0, 2.0, 1.0])),
    "decreasing by less than float64 tells": (
        ValueError,
        ([1.0], np.array([2**60, 2**60 - 1], "u8")),
    ),
    "nan edge": (ValueError, ([1.0], [0.0, np.nan, 1.0])),
    "one edge": (ValueError, ([1.0], np.array([0.0]))),
    "edges of two axes": (ValueError, ([1.0], np.array([[0.0, 1.0]]))),
    "complex edges": (TypeError, ([1.0], [0j, 1j])),
    "reversed": (ValueError, ([1.0], 3, (1, 0))),
    "infinite": (ValueError, ([1.0], 3, (0, np.inf))),
    "nan range": (ValueError, ([1.0], 3, (np.nan, 1))),
    "overflow": (ValueError, ([1.0], 3, (-1e308, 1e308))),
    "three limits": (ValueError, ([1.0], 3, (0, 1, 2))),
    "no pair": (TypeError, ([1.0], 3, 5)),
    "words": (TypeError, ([1.0], 3, ("a", "b"))),
    "too narrow": (ValueError, ([1.0], 10, (1.0, np.nextafter(1.0, 2)))),
    "complex": (TypeError, ([1j], 3)),
    "times": (TypeError, (np.array([1, 2], "M8[s]"), 3)),
    "strings": (TypeError, (["a"], 3)),
    "objects": (TypeError, (np.array([1, None]), 3)),
    "masked": (TypeError, (np.ma.masked_array([1.0], [True]), 3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input(name):
    error, arguments = WRONG[name]
    x, *rest = arguments
    with pytest.raises(error):
        ps.bin_index(*arguments)
    with pytest.raises(error):
        ps.binned_reduce(x, None, *rest)


def test_bad_calls():
    x, deep = np.linspace(0, 1, 6), np.zeros((1,) * 64)
    for error, call in (
        (ValueError, lambda: ps.bin_index(x, 2, outside="wrap")),
        (ValueError, lambda: ps.binned_reduce((x, x[:5]))),
        (ValueError, lambda: ps.binned_reduce(np.zeros((2, 3, 4)))),
        (ValueError, lambda: ps.binned_reduce((x,) * 40)),
        (ValueError, lambda: ps.binned_reduce((x, x), None, (2**14, 2**14))),
        (ValueError, lambda: ps.binned_reduce((x, x), None, 3, ((0, 1),) * 3)),
        (ValueError, lambda: ps.binned_reduce(x, x[:4], 3, op="add")),
        (ValueError, lambda: ps.binned_reduce(x, x, 3, op="add", where=[True] * 5)),
        (ValueError, lambda: ps.binned_reduce(x, x, 3, op="add", weights=[1.0] * 5)),
        (ValueError, lambda: ps.binned_reduce(x, x, 3, op="nonsense")),
        (TypeError, lambda: ps.binned_reduce(x, None, 3, op="add")),
        (TypeError, lambda: ps.binned_reduce(x, x, 3, op="max", weights=x)),
        (TypeError, lambda: ps.binned_reduce(x, x, 3, ids=[0] * 6)),
        (TypeError, lambda: ps.binned_reduce(x, x, 3, nonsense=1)),
        (ValueError, lambda: ps.binned_reduce(np.broadcast_to(1.0, (1, 2**32 + 1)))),
        (
            ValueError,
            lambda: ps.binned_reduce((x[0:1].reshape(()),), deep, 3, op="add"),
        ),
        (TypeError, lambda: ps.binned_reduce(x, x, 3, None, "add")),
        (TypeError, lambda: ps.binned_reduce(x, x, 3, bins=4)),
        (TypeError, lambda: ps.binned_reduce()),
    ):
        with pytest.raises(error):
            call()
    with pytest.raises(
        TypeError, match=r"binned_reduce\(\) got an unexpected .*'mode'"
    ):
        ps.binned_reduce(x, x, 3, op="add", mode="drop")
    with pytest.raises(TypeError, match=r"binned_reduce\(\) got an unexpected .*'no'"):
        ps.binned_reduce(x, x, 3, op="add", no=1)


@pytest.mark.parametrize("company", [{}, {"return_arg": True}, {"return_counts": True}])
def test_out_takes_reductions_alone(company):
    """Places and counts go beside it, as in segment_reduce."""
    x, v = np.arange(10.0), np.arange(10.0)[::-1].copy()
    groups = np.minimum(x // 3, 2).astype(int)
    for op in ("max", ("max", "min")):
        for many in (False, True):
            flat = tuple(np.full(3, 7.0) for _ in range(2 * (1 + many)))
            each = [flat[i] if op == "max" else flat[2 * i : 2 * i + 2] for i in (0, 1)]
            values, out = ((v, x), tuple(each)) if many else (v, each[0])
            binned = ps.binned_reduce(x, values, 3, op=op, out=out, **company)
            right = ps.binned_reduce(x, values, 3, op=op, **company)
            assert str(binned.result) == str(right.result)
            got = ps.group_reduce(values, groups, op=op, out=out, **company)
            assert str(got) == str(ps.group_reduce(values, groups, op=op, **company))
            first = got[1][0] if many else got[1]
            first = first[0] if company else first
            assert first is each[0] or first[0] is each[0][0]


def test_errors_leave_every_out_as_it_was():
    x = np.arange(6.0)
    one, other, short = np.full(3, 7.0), np.full(3, 7.0), np.zeros(2)
    for values, out in (
        ((x, x[:4]), (one, other)),
        ((x, x), (one, short)),
        ((x, x), (one, one[:])),
        ((x, x), (one, None)),
        ((x, x), (one,)),
    ):
        with pytest.raises((TypeError, ValueError)):
            ps.binned_reduce(x, values, 3, op="add", out=out)
        with pytest.raises((TypeError, ValueError)):
            ps.group_reduce(values, x // 2, op="add", out=out)
        assert (one == 7).all()
    with pytest.raises(TypeError):
        ps.binned_reduce(x, x, 3, op=("add", "max"), return_counts=True, out=one)
    assert (one == 7).all()


def test_a_range_that_changes_while_it_is_read():
    class Clearing:
        def __float__(self):
            limits.clear()
            return 0.0

    limits = [Clearing(), 4.0]
    assert ps.bin_index([1.0, 3.0], 2, limits)[0].tolist() == [0, 1]


def test_bins_that_change_things():
    """Code that a call runs may resize arrays: what they become is what counts."""

    class Hostile:
        def __init__(self, array):
            self.array = array

        def __index__(self):
            self.array.resize(10, refcheck=False)
            return 4

        def __float__(self):
            self.array.resize(10, refcheck=False)
            return 0.0

    for n in (50, 500_000):
        for call in (
            lambda x: ps.bin_index(x, Hostile(x), (0, 1))[0],
            lambda x: ps.bin_index(x, 4, (Hostile(x), 1))[0],
            lambda x: ps.binned_reduce(x, None, Hostile(x), (0, 1)).ids,
            lambda x: ps.binned_reduce((x, x), None, (4, Hostile(x)), (0, 1)).ids,
        ):
            ids = call(np.arange(n) / n)
            assert ids.shape == (10,)
            assert ids.max() < 16
        table = np.arange(2 * n).reshape(n, 2) / n
        table = np.ascontiguousarray(table.copy())
        with pytest.raises(RuntimeError):
            ps.binned_reduce(table, None, Hostile(table), (0, 1))
        x = np.arange(n) / n
        edges = np.arange(n) / n
        ids, kept = ps.bin_index(x, edges, (Hostile(edges), 1))
        assert kept.shape in ((n,), (10,))
