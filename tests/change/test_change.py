"""change_stats against its slow twin: dtypes, layouts, sizes, rows and features.

Counts, positions and extremes are exact; sums differ by what float32 lanes lose.
"""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, LAYOUTS, outcome, random_values, rng_for

CORE = ps._core
MEASURED = {
    k: v for k, v in DTYPES.items() if k not in ("f80", "datetime", "timedelta")
}
EXACT = (
    "n_compared n_changed frac_changed n_changed_value n_over_tol argmax_abs "
    "n_sign_flips n_became_zero n_left_zero n_skipped n_zero n_nan n_posinf n_neginf "
    "first_nonfinite min max new_min new_max max_abs"
).split()
CLOSE = "mean var mean_abs rms l2 rel_change dot old_norm new_norm new_mean new_var"
ARRAYS = {
    "per_row": "row_abs_sum row_max_abs row_changed changed_rows",
    "per_feature": "feature_mean feature_m2 feature_max_abs feature_n_changed "
    "feature_new_mean feature_new_m2",
}


def changed(rng, old, share=0.3):
    """Return an array of which a share of the elements differs from `old`."""
    new = random_values(rng, old.dtype, old.shape)
    return np.where(rng.random(old.shape) < share, new, old).astype(old.dtype)


def scale_of(field, twin):
    """Return what errors of a field are to be measured by."""
    sizes = {
        "mean": twin.mean_abs,
        "dot": twin.old_norm * twin.new_norm,
        "new_mean": twin.new_norm / max(1, twin.n_new) ** 0.5,
        "new_var": twin.new_norm**2 / max(1, twin.n_new),
        "var": twin.rms**2,
    }
    return sizes.get(field, abs(getattr(twin, field)))


def assert_close(actual, expected, scale, context):
    """Fail unless equal up to what float32 lanes lose."""
    for a, b in zip(np.atleast_1d(actual), np.atleast_1d(expected), strict=True):
        if a != a and b != b:
            continue
        parts = zip((a.real, a.imag), (b.real, b.imag), strict=True)
        for x, y in parts:
            x, y = float(x), float(y)
            same = x == y or (x != x and y != y)
            assert same or abs(x - y) <= 3e-6 * scale, f"{context}: {x!r}, {y!r}"


def compare(old, new, context="", **options):
    """Fail unless the library and the twin agree; return the record."""
    mine = ps.change_stats(old, new, **options)
    twin = reference.change_stats(old, new, **options)
    for field in EXACT:
        a, b = getattr(mine, field), getattr(twin, field)
        same = a == b or (a != a and b != b)
        if field == "max_abs" and new.dtype.kind == "c":
            same = same or math.isclose(a, b, rel_tol=1e-14)
        assert same, f"{context} {field}: {a!r} is not {b!r}"
    for field in CLOSE.split():
        scale = scale_of(field, twin)
        assert_close(
            getattr(mine, field), getattr(twin, field), scale, (context, field)
        )
    for option, names in ARRAYS.items():
        for field in names.split() if options.get(option) else ():
            a, b = np.ravel(getattr(mine, field)), np.array(getattr(twin, field))
            assert a.shape == b.shape, (context, field)
            sizes = np.abs([np.real(b), np.imag(b)])
            largest = float(sizes[np.isfinite(sizes)].max(initial=0))
            assert_close(a, b, largest, (context, field))
    if options.get("per_feature"):
        assert mine.n_dead == twin.n_dead
    return mine


@pytest.mark.parametrize("finite_only", [False, True])
@pytest.mark.parametrize("dtype", MEASURED)
def test_as_the_twin(dtype, finite_only):
    rng = rng_for("change", dtype)
    for n in (0, 1, 2, 7, 8, 9, 15, 16, 17, 300, 1023, 1024, 1025, 2049):
        old = random_values(rng, MEASURED[dtype], (n,))
        new = changed(rng, old)
        compare(old, new, n, finite_only=finite_only)
        compare(old, new, (n, "tol"), atol=0.25, rtol=1e-3, finite_only=finite_only)


@pytest.mark.parametrize("dtype", MEASURED)
def test_finite_numbers(dtype):
    rng = rng_for("finite", dtype)
    for n in (1, 5, 64, 1024, 3000):
        old = random_values(rng, MEASURED[dtype], (n,), special=False)
        new = random_values(rng, MEASURED[dtype], (n,), special=False)
        compare(old, new, n, rtol=0.5)
        same = compare(old, old.copy(), n)
        assert same.n_changed == same.max_abs == same.rel_change == 0
        assert same.cosine == 1 or same.old_norm == 0


@pytest.mark.parametrize("finite_only", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i16", "i64", "c64"])
def test_rows_and_features(dtype, finite_only):
    if dtype not in MEASURED:
        pytest.skip("ml_dtypes is not installed")
    rng = rng_for("rows", dtype)
    shapes = [(4, 5), (30, 3), (3, 2, 4), (5, 0), (0, 5), (6, 1), (1, 6), (9,)]
    for shape in shapes:
        old = random_values(rng, MEASURED[dtype], shape)
        new = changed(rng, old, 0.1)
        if old.size:
            new[..., 0] = 0
        for axis in range(len(shape)):
            options = {"axis": axis, "finite_only": finite_only}
            compare(old, new, (shape, axis), per_row=True, per_feature=True, **options)


@pytest.mark.parametrize("dtype", ["b1", "u8", "f16", "f32", "i64", "c64"])
def test_layouts_change_no_bit(dtype):
    rng = rng_for("layouts", dtype)
    old = random_values(rng, MEASURED[dtype], (40, 60))
    new = changed(rng, old)
    options = {"per_row": True, "per_feature": True, "axis": 1}
    expected = ps.change_stats(old, new, **options)
    for one, other in itertools.product(("c", "sliced", "unaligned"), LAYOUTS):
        actual = ps.change_stats(LAYOUTS[one](old), LAYOUTS[other](new), **options)
        assert_same_record(actual, expected, (one, other))


def assert_same_record(actual, expected, context):
    """Fail unless all numbers and arrays have the same bits."""
    assert actual._raw == expected._raw, context
    for mine, right in zip(actual._arrays or (), expected._arrays or (), strict=True):
        for a, b in zip(mine or (), right or (), strict=True):
            assert a.shape == b.shape
            assert a.tobytes() == b.tobytes(), context


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "i64"])
def test_rows_and_features_of_whole_runs(dtype, special):
    """Plain arrays go other ways than strided ones, to the same bits."""
    rng = rng_for("runs", dtype, special)
    for shape, axis in [((300, 40), 0), ((3, 200, 70), 1), ((17, 1300), 0)]:
        old = random_values(rng, MEASURED[dtype], shape, special=special)
        new = changed(rng, old)
        new[..., 3] = 0
        strided = LAYOUTS["sliced"](old), LAYOUTS["sliced"](new)
        for rows, features in ((True, True), (True, False), (False, True)):
            options = {"per_row": rows, "per_feature": features, "axis": axis}
            expected = ps.change_stats(*strided, **options)
            for over in (False, True):
                base = old.copy()
                room = base if over else np.empty_like(old)
                record = ps.change_stats(base, new, copy_new_to=room, **options)
                assert_same_record(record, expected, (shape, options, over))
            record = ps.change_stats(old, new, **options)
            assert_same_record(record, expected, (shape, options))


def test_broadcast_arrays():
    one = np.broadcast_to(np.float32(2), (3, 700))
    rows = np.broadcast_to(np.arange(700, dtype=np.float32), (3, 700))
    compare(one, rows)
    compare(rows, one, per_row=True)


@pytest.mark.parametrize("dtype", MEASURED)
def test_levels_and_threads_change_no_bit(dtype):
    rng = rng_for("levels", dtype)
    old = random_values(rng, MEASURED[dtype], (1000, 197), special=False)
    new = changed(rng, old)
    options = {"per_row": True, "per_feature": True, "rtol": 0.1}
    expected = None
    for level in CORE.levels():
        CORE.force_level(level)
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            actual = ps.change_stats(old, new, **options)
            expected = expected or actual
            assert_same_record(actual, expected, (level, threads))


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "i64"])
def test_sums_that_float32_does_not_hold(dtype):
    big = {"f16": 6e4, "f32": 3e38, "f64": 1e300, "i64": 2**62}[dtype]
    old = np.full(1500, -big).astype(MEASURED[dtype])
    new = -old
    c = ps.change_stats(old, new)
    exact = 2 * abs(float(old[0]))
    assert c.max_abs == c.max == exact
    assert c.mean == pytest.approx(exact, rel=1e-12)
    if dtype != "f64":
        assert c.l2 == pytest.approx(exact * math.sqrt(1500), rel=1e-12)
    tiny = np.full(1500, 1e-30, np.float32)
    small = ps.change_stats(tiny, tiny * np.float32(3))
    assert small.l2 == pytest.approx(2e-30 * math.sqrt(1500), rel=1e-6)
    assert small.old_norm == pytest.approx(1e-30 * math.sqrt(1500), rel=1e-6)


def test_integers_never_wrap():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    c = ps.change_stats(np.array([low, high]), np.array([high, low]))
    assert c.max_abs == 2.0**64
    assert c.mean == 0
    assert c.mean_abs == 2.0**64
    near = np.array([2**62, 2**62])
    c = ps.change_stats(near, near + np.array([0, 1]), atol=0.5)
    assert (c.n_changed, c.n_over_tol, c.max_abs) == (1, 1, 1.0)
    c = ps.change_stats(np.array([3, 2], np.uint8), np.array([2, 3], np.uint8))
    assert (c.min, c.max, c.n_sign_flips) == (-1.0, 1.0, 0)
    c = ps.change_stats(np.array([True, False]), np.array([False, True]))
    assert (c.n_changed, c.mean, c.mean_abs) == (2, 0.0, 1.0)


@pytest.mark.parametrize("dtype", ["i64", "u64"])
def test_integers_that_float64_holds_and_others(dtype):
    kind = MEASURED[dtype]
    least = 0 if dtype == "u64" else -1
    edges = [0, 1, 2**51 - 1, 2**51, 2**53 + 1, 2**63 - 1, np.iinfo(kind).max]
    edges += [least * n for n in (1, 2**51, 2**51 + 1, 2**63)] if least else []
    for one, other in itertools.product(edges, edges):
        for n in (1, 5, 9):
            old, new = np.ones(n, kind), np.ones(n, kind)
            old[-1], new[-1] = one, other
            c = ps.change_stats(old, new, atol=1)
            d = other - one
            assert (c.n_changed, c.n_changed_value) == (one != other,) * 2, (one, other)
            assert c.n_over_tol == (abs(d) > 1), (one, other)
            assert c.max_abs == float(abs(d)), (one, other)
            assert c.new_max == max(float(other), 1.0 if n > 1 else float(other))


def test_payloads_and_zeros():
    patterns = np.array([0x7FC00000, 0x7FC00001, 0x7F800001, 0x80000000, 0], np.uint32)
    old = patterns.view(np.float32)
    new = patterns[[1, 1, 2, 4, 3]].view(np.float32)
    c = ps.change_stats(old, new)
    assert (c.n_changed, c.n_changed_value, c.n_over_tol) == (3, 0, 0)
    half = np.array([0x7D01, 0x7E01, 0x8000], np.uint16)
    c = ps.change_stats(half.view(np.float16), half[[1, 1, 2]].view(np.float16))
    assert (c.n_changed, c.n_changed_value) == (1, 0)
    brain = np.array([0x7F81, 0x3F80], np.uint16)
    c = ps.change_stats(brain, np.array([0x7FC1, 0x3F81], np.uint16), view="bfloat16")
    assert (c.n_changed, c.n_changed_value, c.max_abs) == (
        2,
        1,
        pytest.approx(np.nan, nan_ok=True),
    )
    assert c.first_nonfinite == (0, 0)


def test_infinities():
    inf = np.inf
    old, new = np.array([inf, -inf, 1.0, inf]), np.array([inf, inf, inf, 1.0])
    c = ps.change_stats(old, new, atol=1)
    assert (c.n_changed, c.n_over_tol, c.n_posinf) == (3, 3, 3)
    assert math.isnan(c.mean)
    assert math.isnan(c.max_abs)
    assert c.argmax_abs == 0
    c = ps.change_stats(old, new, finite_only=True)
    assert c.n_skipped == 4
    assert math.isnan(c.mean)
    assert c.new_mean == 1.0


def test_variance_far_from_zero():
    rng = rng_for("variance")
    new = (1e4 + rng.standard_normal(300_000)).astype(np.float32)
    c = ps.change_stats(new - np.float32(1), new)
    assert c.new_var == pytest.approx(np.var(new.astype(np.float64)), rel=1e-6)
    assert c.new_mean == pytest.approx(np.mean(new.astype(np.float64)), rel=1e-9)
    for n in (1, 2, 9, 1000):
        level = np.float32(0.1)
        c = ps.change_stats(np.zeros(n, np.float32), np.full(n, level))
        assert c.var == c.new_var == 0
        assert c.mean == c.new_mean == level
    outlier = np.zeros(1024, np.float32)
    outlier[0] = 1e6
    c = ps.change_stats(np.zeros_like(outlier), outlier)
    assert c.var == pytest.approx(np.var(outlier.astype(np.float64)), rel=1e-5)


@pytest.mark.parametrize("layout", ["c", "sliced", "unaligned", "byteswapped"])
@pytest.mark.parametrize("dtype", ["b1", "f16", "f32", "i64", "c128"])
def test_copies(dtype, layout):
    rng = rng_for("copies", dtype)
    old = random_values(rng, MEASURED[dtype], (70, 31))
    new = changed(rng, old, 0.01)
    expected = ps.change_stats(old, new)
    room = LAYOUTS[layout](np.zeros_like(old))
    assert_same_record(ps.change_stats(old, new, copy_new_to=room), expected, layout)
    assert room.astype(new.dtype).tobytes() == new.tobytes()
    target = LAYOUTS[layout](old)
    assert_same_record(
        ps.change_stats(target, new, copy_new_to=target), expected, "old"
    )
    assert target.astype(new.dtype).tobytes() == new.tobytes()
    itself = new.copy()
    assert_same_record(
        ps.change_stats(old, itself, copy_new_to=itself), expected, "new"
    )


def test_copies_too_large_for_caches():
    rng = rng_for("large copies")
    old = rng.standard_normal(800_003)
    new = changed(rng, old, 0.01)
    room = np.zeros(old.size + 9)
    expected = ps.change_stats(old, new)
    for shift in (0, 1, 7):
        room[:] = -1
        part = room[shift : shift + old.size]
        record = ps.change_stats(old, new, copy_new_to=part)
        assert_same_record(record, expected, shift)
        assert part.tobytes() == new.tobytes()
        assert (np.delete(room, np.s_[shift : shift + old.size]) == -1).all()


def test_copies_over_parts_of_the_inputs():
    base = np.arange(5000, dtype=np.float32)
    for shift in (1, 900):
        whole = base.copy()
        old, new, room = whole[:3000], whole[shift : 3000 + shift], whole[10:3010]
        expected = ps.change_stats(old.copy(), new.copy())
        wanted = new.copy()
        assert_same_record(ps.change_stats(old, new, copy_new_to=room), expected, shift)
        assert room.tobytes() == wanted.tobytes()


REFUSED = {
    "shapes": (ValueError, lambda a: ps.change_stats(a, a[:2])),
    "dtypes": (ValueError, lambda a: ps.change_stats(a, a.astype(np.float64))),
    "object": (TypeError, lambda a: ps.change_stats(a.astype(object), a)),
    "text": (TypeError, lambda a: ps.change_stats(a.astype(str), a.astype(str))),
    "times": (TypeError, lambda a: ps.change_stats(*[a.astype("M8[s]")] * 2)),
    "long": (TypeError, lambda a: ps.change_stats(*[a.astype(np.longdouble)] * 2)),
    "masked": (TypeError, lambda a: ps.change_stats(np.ma.array(a), a)),
    "records": (TypeError, lambda a: ps.change_stats(*[np.zeros(3, "i4,f8")] * 2)),
    "atol": (ValueError, lambda a: ps.change_stats(a, a, atol=-1)),
    "rtol": (ValueError, lambda a: ps.change_stats(a, a, rtol=np.nan)),
    "tolerance": (TypeError, lambda a: ps.change_stats(a, a, atol="much")),
    "axis": (np.exceptions.AxisError, lambda a: ps.change_stats(a, a, axis=3)),
    "rows of 0-d": (
        np.exceptions.AxisError,
        lambda a: ps.change_stats(a[0, 0], a[0, 0], per_row=True),
    ),
    "view": (ValueError, lambda a: ps.change_stats(a, a, view="float8")),
    "view of floats": (TypeError, lambda a: ps.change_stats(a, a, view="bfloat16")),
    "copy to a list": (TypeError, lambda a: ps.change_stats(a, a, copy_new_to=[1.0])),
    "copy shape": (
        ValueError,
        lambda a: ps.change_stats(a, a, copy_new_to=a[:2].copy()),
    ),
    "copy dtype": (
        ValueError,
        lambda a: ps.change_stats(a, a, copy_new_to=a.astype(np.float64)),
    ),
    "copy of shared elements": (
        ValueError,
        lambda a: ps.change_stats(
            a, a, copy_new_to=np.lib.stride_tricks.as_strided(a.copy(), a.shape, (0, 4))
        ),
    ),
    "missing": (TypeError, lambda a: ps.change_stats(a)),
    "unknown": (TypeError, lambda a: ps.change_stats(a, a, tol=1)),
    "flag": (TypeError, lambda a: ps.change_stats(a, a, per_row="yes")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    error, call = REFUSED[case]
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    before = a.tobytes()
    with pytest.raises(error):
        call(a)
    assert a.tobytes() == before


def test_read_only_copies_are_refused():
    a = np.arange(5.0)
    room = np.zeros(5)
    room.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ps.change_stats(a, a, copy_new_to=room)


def test_hooks_that_resize():
    a = np.zeros(5000)

    class Hook:
        def __array__(self, dtype=None, copy=None):
            a.resize(3, refcheck=False)
            return np.ones(5000)

    assert outcome(ps.change_stats, a, Hook()) in (RuntimeError, ValueError)


def test_empty_and_0d():
    c = ps.change_stats(
        np.zeros((0, 3)), np.zeros((0, 3)), per_row=True, per_feature=True
    )
    assert (c.n_changed, c.frac_changed, c.l2, c.argmax_abs) == (0, 0.0, 0.0, -1)
    assert all(map(math.isnan, (c.mean, c.min, c.max_abs, c.new_mean, c.cosine)))
    assert c.n_dead == 0
    c = ps.change_stats(1.0, 2.5)
    assert (c.n_changed, c.mean, c.argmax_abs) == (1, 1.5, 0)
    assert ps.change_stats(1.0, 1.0, axis=-1).n_changed == 0
    assert ps.change_stats([1, 2], [1, 3]).n_changed == 1


def test_histograms():
    new = np.array([0.0, 1.0, np.nan, 2.0], np.float32)
    for bins in (4, "tb1", "tb2", "log2", [0.0, 1.0, 3.0]):
        c = ps.change_stats(np.zeros(4, np.float32), new, hist=bins)
        assert c.hist.num == 3
        assert c.hist.counts.tolist() == ps.histogram(new, bins).counts.tolist()
    assert "<svg" in c._repr_html_()
    merged = ps.ChangeStats.merge([c, c])
    assert merged.hist.num == 6
    assert pickle.loads(pickle.dumps(c)).hist.num == 3
    brain = np.array([0x3F80, 0x4000], np.uint16)
    c = ps.change_stats(brain, brain, hist=2, view="bfloat16")
    assert (c.hist.min, c.hist.max) == (1.0, 2.0)
    room = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="tb9"):
        ps.change_stats(new, new, hist="tb9", copy_new_to=room)
    assert not room.any()


def test_no_warnings():
    odd = np.array([np.nan, np.inf, -np.inf, 1e-320, 1e308, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for new in (odd, odd[::-1], np.zeros(6)):
            c = ps.change_stats(odd, new, per_feature=True, per_row=True)
            c.as_dict()
            repr(c)
            ps.ChangeStats.merge([c, c])


def test_fields_of_other_questions():
    c = ps.change_stats([1.0], [2.0])
    with pytest.raises(AttributeError, match="per_row=True"):
        _ = c.changed_rows
    with pytest.raises(AttributeError, match="per_feature=True"):
        _ = c.n_dead
    with pytest.raises(AttributeError, match="no field"):
        _ = c.median
    with pytest.raises(AttributeError):
        c.mean = 3
    assert {"mean", "hist", "ema", "dead_for", "merge"} <= set(dir(c))
    assert c.as_dict("w/")["w/mean"] == 1.0
    assert "1 of 1 changed" in repr(c)
    assert c._repr_html_().startswith("<table>")


def test_pickles():
    c = ps.change_stats(
        np.zeros((2, 3)), np.ones((2, 3)), per_row=True, per_feature=True
    )
    again = pickle.loads(pickle.dumps(c))
    assert_same_record(again, c, "pickle")
    assert again.as_dict() == c.as_dict()


def test_merge_of_parts_is_the_whole():
    rng = rng_for("merge")
    old = rng.standard_normal((90, 7))
    new = old + rng.standard_normal(old.shape)
    new[40, 2] = np.nan
    options = {"per_row": True, "per_feature": True, "finite_only": True}
    whole = ps.change_stats(old, new, **options)
    cuts = [slice(0, 20), slice(20, 21), slice(21, 90), slice(90, 90)]
    parts = [ps.change_stats(old[c], new[c], **options) for c in cuts]
    merged = ps.ChangeStats.merge(parts)
    for field in EXACT:
        if field not in ("argmax_abs", "first_nonfinite"):
            assert getattr(merged, field) == getattr(whole, field), field
    for field in ("mean", "var", "l2", "new_mean", "new_var", "cosine", "rel_change"):
        assert getattr(merged, field) == pytest.approx(getattr(whole, field), rel=1e-12)
    assert merged.changed_rows.tolist() == whole.changed_rows.tolist()
    for field in ARRAYS["per_feature"].split():
        np.testing.assert_allclose(getattr(merged, field), getattr(whole, field), 1e-12)
    with pytest.raises(ValueError, match="no records"):
        ps.ChangeStats.merge([])


@settings(max_examples=60)
@given(
    st.data(),
    st.sampled_from(["f2", "f4", "f8", "i1", "u8", "i8", "?", "c8"]),
    nps.array_shapes(max_dims=3, max_side=6),
)
def test_random_bits(data, code, shape):
    dtype = np.dtype(code)
    raw = nps.arrays(np.uint8, (int(np.prod(shape)) * dtype.itemsize,))
    old = data.draw(raw)
    new = np.where(data.draw(raw) % 2 == 1, data.draw(raw), old)
    if code == "?":
        old, new = old % 2, new % 2
    old, new = (a.view(dtype).reshape(shape) for a in (old, new))
    twin, mine = reference.change_stats(old, new), ps.change_stats(old, new)
    assert mine.n_changed == twin.n_changed
    assert mine.n_changed_value == twin.n_changed_value
    assert mine.n_nan == twin.n_nan
    room = np.zeros_like(new)
    ps.change_stats(old, new, copy_new_to=room)
    assert room.tobytes() == new.tobytes()


@pytest.mark.parametrize("new", [complex(-math.inf, math.nan), complex(math.nan, 5)])
def test_tolerances_without_end(new):
    old, new = np.array([1 + 2j]), np.array([new])
    c = compare(old, new, atol=math.inf)
    with np.errstate(all="ignore"):
        close = np.isclose(new, old, 0, math.inf, equal_nan=True)
    assert c.n_over_tol == int(not close[0])


class Edges:
    def __init__(self, act):
        self.act = act

    def __array__(self, dtype=None, copy=None):
        self.act()
        return np.array([0.0, 1.0, 2.0])


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_hooks_that_take_an_axis_away():
    old, new = np.zeros((6, 1)), np.ones((6, 1))

    def flatten():
        old.shape = new.shape = (6,)

    options = {"axis": 1, "per_row": True, "per_feature": True, "hist": Edges(flatten)}
    with pytest.raises(RuntimeError, match="changed during the call"):
        ps.change_stats(old, new, **options)


def test_hooks_that_lock_the_copy():
    copy = np.zeros(3)
    edges = Edges(lambda: copy.setflags(write=False))
    with pytest.raises(ValueError, match="read-only"):
        ps.change_stats(np.zeros(3), np.ones(3), copy_new_to=copy, hist=edges)
    assert not copy.any()
