"""Trackers: modes, baselines, batches that change, states, and nothing half done."""

import importlib
import itertools
import json
import math
import pickle
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import DTYPES, LAYOUTS, random_values, rng_for

NUMBERS = ["b1", "u8", "i64", "f16", "f32", "f64", "c64"]


def batches(n, shape=(20, 6), dtype=np.float32):
    """Return arrays that differ a little from one to the next."""
    rng = rng_for("batches", n, shape)
    first = rng.standard_normal(shape)
    steps = rng.standard_normal((n, *shape)) * (rng.random((n, *shape)) < 0.2)
    return list((first + np.cumsum(steps, 0)).astype(dtype))


def snapshot(tracker):
    """Return all that a tracker knows, as bytes."""
    state = {k: (v.dtype.str, v.tobytes()) for k, v in tracker.get_state().items()}
    return state, tracker.last, tracker.history


# ---------------------------------------------------------------- records


@pytest.mark.parametrize("dtype", NUMBERS)
def test_the_update_before(dtype):
    rng = rng_for("previous", dtype)
    tracker = ps.ChangeTracker(per_row=True, per_feature=True)
    old = None
    for step, layout in enumerate(
        ("c", "sliced", "fortran", "byteswapped", "readonly")
    ):
        new = random_values(rng, DTYPES[dtype], (9, 4))
        c = tracker.update(LAYOUTS[layout](new))
        assert (c.step, c.first) == (step, old is None)
        if old is not None:
            expected = ps.change_stats(old, new, per_row=True, per_feature=True)
            assert c._raw == expected._raw
            assert c.changed_rows.tolist() == expected.changed_rows.tolist()
        assert tracker.baseline.tobytes() == new.tobytes()
        old = new


def test_a_first_record():
    c = ps.ChangeTracker().update(np.array([1.0, 3.0, np.nan]))
    assert c.first
    assert (c.n_changed, c.n_compared, c.n_nan, c.frac_changed) == (0, 0, 1, 0.0)
    for name in (
        "mean",
        "rms",
        "l2",
        "max_abs",
        "rel_change",
        "cosine",
        "old_norm",
        "dot",
    ):
        assert math.isnan(getattr(c, name)), name
    assert c.first_nonfinite == (0, 2)
    assert "first=True" in repr(c)


@pytest.mark.parametrize("kind", ["first", 1, 3])
def test_other_baselines(kind):
    arrays = batches(8)
    tracker = ps.ChangeTracker(baseline=kind)
    for step, new in enumerate(arrays):
        c = tracker.update(new)
        base = 0 if kind == "first" else (step - 1) // kind * kind
        if step:
            assert c._raw == ps.change_stats(arrays[base], new)._raw
    assert tracker.version == {"first": 1, 1: 8, 3: 3}[kind]


def test_a_fixed_baseline():
    one, two = batches(2)
    tracker = ps.ChangeTracker(baseline="fixed")
    assert tracker.update(one).first
    assert tracker.baseline is None
    tracker.set_baseline(two)
    assert tracker.update(one)._raw == ps.change_stats(two, one)._raw
    assert tracker.update(one)._raw == ps.change_stats(two, one)._raw


def test_every():
    arrays = batches(7)
    tracker = ps.ChangeTracker(every=3)
    records = [tracker.update(a) for a in arrays]
    assert records[0] is records[1] is records[2]
    assert records[3]._raw == ps.change_stats(arrays[0], arrays[3])._raw
    assert [r.step for r in records] == [0, 0, 0, 3, 3, 3, 6]


def test_baselines_given_away_do_not_change():
    one, two, three, four = batches(4)
    tracker = ps.ChangeTracker()
    tracker.update(one)
    given_away = tracker.baseline
    for new in (two, three, four):
        tracker.update(new)
    assert given_away.tobytes() == one.tobytes()
    assert not given_away.flags.writeable


# ---------------------------------------------------------------- batches that change


def test_other_numbers_of_rows():
    rng = rng_for("resize")
    tracker = ps.ChangeTracker(per_row=True, per_feature=True)
    old = None
    for rows in (5, 3, 5, 0, 2, 7):
        new = rng.standard_normal((rows, 4))
        c = tracker.update(new)
        if old is not None:
            common = min(rows, len(old))
            expected = ps.change_stats(old[:common], new[:common], per_row=True)
            assert c.n_changed == expected.n_changed
            assert c.n_compared == common * 4
            assert (c.n_added, c.n_removed) == (rows - common, len(old) - common)
            assert c.new_mean == pytest.approx(
                new.mean() if rows else np.nan, nan_ok=True
            )
            assert c.row_changed.tolist() == expected.row_changed.tolist()
            assert c.stale_rows.shape == (rows,)
        assert tracker.baseline.tobytes() == new.tobytes()
        old = new


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_along_any_axis(axis):
    one, two = np.zeros((4, 6)), np.ones((4, 6))
    two = np.delete(two, 0, axis)
    tracker = ps.ChangeTracker(axis=axis, per_row=True)
    tracker.update(one)
    c = tracker.update(two)
    assert c.n_changed == two.size
    assert c.n_removed == 1
    assert c.changed_rows.tolist() == list(range(two.shape[axis]))


@pytest.mark.parametrize(
    ("shape", "policy", "works"),
    [
        ((3, 5), "common", False),
        ((4,), "common", False),
        ((6, 4), "raise", False),
        ((6, 4), "reset", True),
        ((3, 5), "reset", True),
        ((), "reset", True),
    ],
)
def test_policies_for_shapes(shape, policy, works):
    tracker = ps.ChangeTracker(on_resize=policy)
    tracker.update(np.zeros((3, 4)))
    before = snapshot(tracker)
    if works:
        assert tracker.update(np.ones(shape)).first
    else:
        with pytest.raises(ValueError, match="shape"):
            tracker.update(np.ones(shape))
        assert snapshot(tracker) == before


def test_policies_for_dtypes():
    for policy in ("raise", "reset"):
        tracker = ps.ChangeTracker(on_dtype=policy)
        tracker.update(np.zeros(3, ">f4"))
        assert not tracker.update(np.ones(3, np.float32)).first
        if policy == "reset":
            assert tracker.update(np.zeros(3)).first
        else:
            with pytest.raises(ValueError, match="dtype"):
                tracker.update(np.zeros(3))


def test_rows_by_id():
    tracker = ps.ChangeTracker(per_row=True)
    tracker.update(np.array([[1.0], [2.0], [3.0]]), ids=[10, 20, 30])
    c = tracker.update(np.array([[5.0], [3.0], [1.0]]), ids=[40, 30, 10])
    assert (c.n_compared, c.n_changed, c.n_added, c.n_removed) == (2, 0, 1, 1)
    assert c.new_mean == 3.0
    c = tracker.update(np.array([[7.0], [5.0], [1.0]]), ids=[30, 40, 10])
    assert c.changed_rows.tolist() == [0]
    assert c.stale_rows.tolist() == [0, 1, 2]
    assert tracker.baseline.ravel().tolist() == [7.0, 5.0, 1.0]
    for ids, error in (
        ([1, 1, 2], ValueError),
        ([1, 2], ValueError),
        ([1.0, 2.0, 3.0], TypeError),
        (None, ValueError),
    ):
        with pytest.raises(error):
            tracker.update(np.zeros((3, 1)), ids=ids)


def test_ids_of_any_integers():
    large = np.array([2**53, 2**53 + 1])
    tracker = ps.ChangeTracker()
    tracker.update(np.array([1.0, 2.0]), ids=large)
    c = tracker.update(np.array([2.0, 1.0]), ids=large[::-1].astype(np.uint64))
    assert (c.n_changed, c.n_added, c.n_removed) == (0, 0, 0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("ids", [None, ([5, 7], [6, 5, 9])])
def test_positions_are_those_in_the_new_array(axis, ids):
    old, new = np.ones((2, 2)), np.ones([3, 2][:: 1 - 2 * axis])
    for position in range(new.size):
        tracker = ps.ChangeTracker(axis=axis)
        tracker.update(old, ids=ids and ids[0])
        x = new.copy()
        x.flat[position:] = np.nan
        c = tracker.update(x, ids=ids and ids[1])
        assert c.first_nonfinite == (1, position)
    tracker = ps.ChangeTracker(axis=axis)
    tracker.update(old, ids=ids and ids[0])
    x = new.copy()
    place = [0, 0]
    place[axis], place[1 - axis] = (1, 1)
    x[tuple(place)] = 5  # of a row that was there before
    assert tracker.update(x, ids=ids and ids[1]).argmax_abs == x.argmax()


def test_dead_features_and_stale_rows():
    x = np.ones((3, 2))
    tracker = ps.ChangeTracker(per_row=True, per_feature=True)
    dead, stale = [], []
    for step in range(4):
        x = x.copy()
        x[:, 1] = step == 2
        x[0, 0] += 1
        c = tracker.update(x)
        dead.append(c.dead_for.tolist())
        stale.append(c.stale_rows.tolist())
    assert dead == [[0, 1], [0, 2], [0, 0], [0, 1]]
    assert stale == [[0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]


# ---------------------------------------------------------------- distributions


def test_distributions():
    rng = rng_for("distribution")
    tracker = ps.ChangeTracker(mode="distribution")
    last = None
    for rows in (50, 8, 300):
        x = rng.standard_normal((rows, 3)) + 5
        x[:, 2] = 0
        c = tracker.update(x)
        np.testing.assert_allclose(c.feature_new_mean, x.mean(0), rtol=1e-12)
        np.testing.assert_allclose(c.feature_new_m2, x.var(0) * rows, rtol=1e-12)
        assert c.first == (last is None)
        if last is not None:
            np.testing.assert_allclose(c.feature_mean, x.mean(0) - last, rtol=1e-12)
        assert c.n_dead == 1
        last = x.mean(0)
    assert c.dead_for.tolist() == [0, 0, 3]
    assert tracker.baseline is None
    with pytest.raises(AttributeError, match="mode='aligned'"):
        _ = c.max_abs
    assert "rms" not in c.as_dict()
    assert set(c.as_dict()) >= {"new_mean", "n_dead", "first", "step"}
    with pytest.raises(ValueError, match="features"):
        tracker.update(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="axis of samples"):
        tracker.update(np.zeros(()))
    with pytest.raises(ValueError, match="distribution"):
        tracker.delta(x)


# ---------------------------------------------------------------- averages, history


def test_moving_averages():
    tracker = ps.ChangeTracker(ema={"mean_abs": 0.5})
    values = []
    for step, x in enumerate((0.0, 1.0, 3.0, np.nan, 3.0, 4.0)):
        c = tracker.update(np.array([x]))
        if step:
            values.append(c.mean_abs)
    kept = [v for v in values if v == v]
    weights = 0.5 ** np.arange(len(kept))[::-1]
    assert c.ema["mean_abs"] == pytest.approx(np.dot(weights, kept) / weights.sum())
    assert c.as_dict()["ema_mean_abs"] == c.ema["mean_abs"]
    assert set(ps.ChangeTracker(ema=0.9).update(np.ones(2)).ema) >= {"rms", "new_mean"}


def test_history():
    tracker = ps.ChangeTracker(history=2)
    for x in batches(4):
        tracker.update(x)
    assert [r["step"] for r in tracker.history] == [2, 3]
    assert json.loads(json.dumps(tracker.history)) == tracker.history
    with pytest.raises(ValueError, match="history="):
        ps.ChangeTracker().plot()


def test_plots():
    class Axes:
        def __init__(self):
            self.drawn = []

        def plot(self, steps, values, label):
            self.drawn.append((steps, len(values), label))

        def set_xlabel(self, text):
            assert text == "step"

        def legend(self):
            pass

    tracker = ps.ChangeTracker(history=5)
    for x in batches(3):
        tracker.update(x)
    axes = tracker.plot(("rms",), ax=Axes())
    assert axes.drawn == [([0, 1, 2], 3, "rms")]


def test_a_missing_matplotlib_is_named(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    tracker = ps.ChangeTracker(history=1)
    importlib.import_module("pyscatter.adapters._imports")
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ImportError, match=r'pip install "pyscatter\[plot\]"'):
        tracker.plot()


@pytest.mark.parametrize("mode", ["aligned", "distribution"])
@pytest.mark.parametrize("bins", ["tb1", "log2", 5, [-10.0, 0.0, 10.0]])
def test_histograms(mode, bins):
    tracker = ps.ChangeTracker(mode=mode, hist=bins)
    for x in batches(3):
        c = tracker.update(x)
        assert c.hist.counts.tolist() == ps.histogram(x, bins).counts.tolist()
    again = ps.ChangeTracker.from_config(json.loads(json.dumps(tracker.get_config())))
    assert again.update(x).hist.counts.tolist() == c.hist.counts.tolist()
    with pytest.raises(ValueError):
        ps.ChangeTracker(hist="tb9")


# ---------------------------------------------------------------- what is not finite


def test_policies_for_nonfinite():
    bad = np.array([1.0, np.inf, np.nan])
    for policy, error in (("raise", FloatingPointError), ("warn", RuntimeWarning)):
        tracker = ps.ChangeTracker(on_nonfinite=policy, name="w")
        tracker.update(np.ones(3))
        before = snapshot(tracker)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(
                error, match=r"w: 1 NaN, 1 inf and 0 -inf at step 1.* 1$"
            ):
                tracker.update(bad)
        assert snapshot(tracker) == before
        tracker.update(np.zeros(3))
    with pytest.warns(RuntimeWarning, match="1 NaN"):
        ps.ChangeTracker(on_nonfinite="warn").update(bad)
    c = ps.ChangeTracker().update(bad)
    assert (c.n_nan, c.n_posinf) == (1, 1)


# ---------------------------------------------------------------- deltas


def test_deltas_advance_the_baseline():
    one, two, three, four = batches(4)
    tracker = ps.ChangeTracker()
    with pytest.raises(ValueError, match="no baseline"):
        tracker.delta(one)
    tracker.set_baseline(one)
    replica = one.copy()
    d = tracker.delta(two)
    assert (d.base_version, d.version) == (1, 2)
    d.apply(replica, out=replica, verify="new")
    assert replica.tobytes() == two.tobytes() == tracker.baseline.tobytes()
    d = tracker.delta(three, commit=False)
    assert tracker.baseline.tobytes() == two.tobytes()
    tracker.rollback()
    with pytest.raises(RuntimeError, match="no pending"):
        tracker.commit()
    with pytest.raises(RuntimeError, match="no pending"):
        tracker.rollback()
    d = tracker.delta(four, commit=False)
    tracker.commit()
    assert d.apply(replica).tobytes() == four.tobytes() == tracker.baseline.tobytes()


def test_lossy_deltas_keep_what_they_leave_out():
    one, two = batches(2)
    tracker = ps.ChangeTracker()
    tracker.set_baseline(one)
    replica = one.copy()
    while tracker.baseline.tobytes() != two.tobytes():
        d = tracker.delta(two, top_k=7)
        assert 0 < len(d) <= 7
        d.apply(replica, out=replica)
        assert replica.tobytes() == tracker.baseline.tobytes()


def test_deltas_since_older_versions():
    arrays = batches(6)
    tracker = ps.ChangeTracker(history=3)
    for x in arrays[:5]:
        tracker.update(x)
    assert tracker.version == 5
    for since in (2, 3, 4, 5):
        d = tracker.delta(arrays[5], since=since, commit=False)
        assert d.base_version == since
        assert d.apply(arrays[since - 1]).tobytes() == arrays[5].tobytes()
        tracker.rollback()
    with pytest.raises(ValueError, match="not kept"):
        tracker.delta(arrays[5], since=1)


# ---------------------------------------------------------------- sets


def test_sets():
    a, b = batches(3), batches(3, (5,))
    trackers = ps.TrackerSet(per_feature=True)
    singles = {name: ps.ChangeTracker(per_feature=True) for name in "ab"}
    for step in range(3):
        records = trackers.update({"a": a[step], "b": b[step]})
        for name, arrays in (("a", a), ("b", b)):
            assert records[name]._raw == singles[name].update(arrays[step])._raw
            assert records[name].name == name
    assert (len(trackers), list(trackers), "a" in trackers) == (2, ["a", "b"], True)
    assert trackers.top(1, by="max_abs")[0][0] in "ab"
    assert len(trackers.summary().splitlines()) == 3
    assert "TrackerSet of 2" in repr(trackers)
    again = pickle.loads(pickle.dumps(trackers))
    assert again["a"].baseline.tobytes() == a[2].tobytes()
    trackers.update({"c": np.zeros(2)})
    assert list(trackers) == ["a", "b", "c"]
    assert trackers.update({}) == {}


def test_sets_of_other_records():
    trackers = ps.TrackerSet()
    for x in (1, 3j):
        trackers.update({"a": np.array([0j, x]), "b": np.array([0j])})
    assert trackers.top(1, by="new_mean") == [("a", 1.5j)]
    with pytest.raises(TypeError, match="not a number"):
        trackers.top(1, by="first_nonfinite")
    trackers["b"].reset()
    assert "no update yet" in repr(trackers)


def test_sets_take_all_or_nothing():
    trackers = ps.TrackerSet(on_nonfinite="raise")
    trackers.update({"a": np.zeros(3), "b": np.zeros(3)})
    before = {name: snapshot(trackers[name]) for name in trackers}
    for bad, error in (
        (np.array([0, 0, np.nan]), FloatingPointError),
        (np.zeros(3, np.float32), ValueError),
        (np.array(["x"] * 3), ValueError),
    ):
        with pytest.raises(error):
            trackers.update({"a": np.ones(3), "new": np.ones(1), "b": bad})
        assert {name: snapshot(trackers[name]) for name in trackers} == before
    with pytest.raises(TypeError):
        ps.TrackerSet(name="x")


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**32)), max_size=6))
def test_random_batches(steps):
    tracker = ps.ChangeTracker()
    old = None
    for rows, seed in steps:
        new = np.random.default_rng(seed).integers(-2, 3, (rows, 2)).astype(np.float32)
        c = tracker.update(new)
        if old is not None:
            common = min(rows, len(old))
            assert c.n_changed == np.count_nonzero(old[:common] != new[:common])
        assert tracker.baseline.tobytes() == new.tobytes()
        old = new


# ---------------------------------------------------------------- threads and signals


@pytest.mark.alone
def test_what_was_measured_is_what_was_copied():
    x = np.zeros(400_000, np.float32)
    tracker = ps.ChangeTracker()
    tracker.update(x)
    stop = threading.Event()

    def write():
        for value in itertools.cycle((1.0, 2.0, np.nan, 0.0)):
            x[:] = value
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            before = tracker.baseline
            c = tracker.update(x)
            again = ps.change_stats(before, tracker.baseline)
            assert c._raw == again._raw
    finally:
        stop.set()
        writer.join()


@pytest.mark.alone
def test_threads_take_turns():
    tracker = ps.ChangeTracker()
    trackers = ps.TrackerSet()
    arrays = [np.full(30_000, value, np.float32) for value in range(4)]
    trackers.update({"x": arrays[0]})

    def work(x):
        for _ in range(25):
            tracker.update(x)
            trackers.update({"x": x})
            assert np.unique(tracker.baseline).size == 1

    workers = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert tracker.step == 100
    assert trackers["x"].step == 101


@pytest.mark.alone
def test_signals_leave_the_tracker_as_it_was():
    x = np.zeros(2_000_000)
    tracker = ps.ChangeTracker()
    tracker.update(x)
    kept = tracker.baseline

    def handler(*args):
        raise InterruptedError

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for trial in range(20):
            before = tracker.step, tracker.version
            with pytest.raises(InterruptedError):
                signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.0007 * trial)
                deadline = time.monotonic() + 5
                while time.monotonic() < deadline:
                    tracker.update(np.full_like(x, tracker.step))
            assert (tracker.step, tracker.version) >= before
            assert np.unique(tracker.baseline).tolist() == [tracker.step - 1]
            assert tracker.last.step == tracker.step - 1
            assert not tracker._is_busy
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not kept.any()
    tracker.update(x)
