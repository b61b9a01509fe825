"""Trackers: states that are kept and read back, refusals, and nothing half done."""

import io
import json
import pickle
import warnings

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import tracker as module
from tests.change.test_tracker import batches, snapshot

CONFIGS = [
    {},
    {"per_row": True, "per_feature": True, "ema": 0.9, "history": 2, "name": "x"},
    {"mode": "distribution", "ema": {"new_mean": 0.5}},
    {"baseline": 3, "every": 2},
]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("way", ["npz", "pickle", "copy"])
def test_states_go_on_where_they_were(config, way):
    arrays = batches(9)
    tracker = ps.ChangeTracker(**config)
    for x in arrays[:5]:
        tracker.update(x)
    if way == "npz":
        file = io.BytesIO()
        np.savez(file, **tracker.get_state())
        file.seek(0)
        again = ps.ChangeTracker.from_config(
            json.loads(json.dumps(tracker.get_config()))
        )
        again.set_state(np.load(file))
    else:
        again = tracker.copy() if way == "copy" else pickle.loads(pickle.dumps(tracker))
    for x in arrays[5:]:
        if tracker.step % config.get("every", 1) == 0:
            one, other = tracker.update(x), again.update(x)
            assert one._raw == other._raw
            assert one.as_dict() == other.as_dict() or config.get("history")
        else:
            tracker.update(x)
            again.update(x)
    assert again.get_config() == tracker.get_config()


def test_states_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).astype(ml_dtypes.bfloat16)
    tracker = ps.ChangeTracker()
    tracker.update(x)
    again = pickle.loads(pickle.dumps(tracker))
    assert again.baseline.dtype == x.dtype
    assert again.update(x).n_changed == 0


BROKEN = {
    "nothing": lambda s: {},
    "format": lambda s: {**s, "format": 7},
    "step": lambda s: {**s, "step": -1},
    "no step": lambda s: {**s, "step": np.array(np.inf)},
    "steps": lambda s: {**s, "step": np.uint64(2**63)},
    "list of averages": lambda s: {**s, "averages": np.array("[]")},
    "deep": lambda s: {**s, "averages": np.array("[" * 100_000)},
    "records": lambda s: {**s, "records": np.array("[1]")},
    "ema": lambda s: {**s, "last_context": np.array('{"ema": 3}')},
    "context": lambda s: {**s, "last_context": np.array('{"step": "x"}')},
    "text": lambda s: {**s, "baseline_dtype": np.array("foo,,")},
    "ids": lambda s: {**s, "ids": np.array([1, 1, 2])},
    "bytes": lambda s: {**s, "baseline_bytes": s["baseline_bytes"][:-1]},
    "shape": lambda s: {**s, "baseline_shape": np.array([-1, 3])},
    "huge": lambda s: {**s, "baseline_shape": np.array([2**62, 2**62])},
    "dtype": lambda s: {**s, "baseline_dtype": np.array("float1")},
    "objects": lambda s: {**s, "baseline_dtype": np.array("object")},
    "no dtype": lambda s: {k: v for k, v in s.items() if k != "baseline_dtype"},
    "rows": lambda s: {**s, "stale_rows": np.zeros(99, np.int64)},
    "floats": lambda s: {**s, "dead_for": np.zeros(2)},
    "averages": lambda s: {**s, "averages": np.array('{"rms": [1]}')},
    "last": lambda s: {**s, "last": s["last"][:-1]},
    "no json": lambda s: {**s, "records": np.array("{")},
    "moments": lambda s: {**s, "moments_mean": np.zeros(2)},
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_states(case):
    tracker = ps.ChangeTracker(per_row=True)
    tracker.update(np.zeros((3, 2)))
    before = snapshot(tracker)
    with pytest.raises(ValueError):
        tracker.set_state(BROKEN[case](tracker.get_state()))
    assert snapshot(tracker) == before


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"mode": "both"}, ValueError),
        ({"baseline": "last"}, ValueError),
        ({"baseline": 0}, ValueError),
        ({"baseline": True}, ValueError),
        ({"baseline": 1.5}, ValueError),
        ({"on_resize": "pad"}, ValueError),
        ({"on_dtype": "cast"}, ValueError),
        ({"on_nonfinite": "stop"}, ValueError),
        ({"every": 0}, ValueError),
        ({"every": 1.0}, TypeError),
        ({"history": -1}, ValueError),
        ({"ema": 1.0}, ValueError),
        ({"ema": "slow"}, TypeError),
        ({"ema": {"speed": 0.5}}, ValueError),
        ({"ema": {"rms": 0.5}, "mode": "distribution"}, ValueError),
        ({"atol": -1}, ValueError),
        ({"view": "half"}, ValueError),
        ({"per_row": 3}, TypeError),
        ({"axis": "rows"}, TypeError),
        ({"name": 3}, TypeError),
        ({"mode": "distribution", "baseline": "fixed"}, ValueError),
        ({"stats": 1}, TypeError),
        ({"baseline_buffer": [1.0]}, TypeError),
    ],
)
def test_refused_options(options, error):
    with pytest.raises(error):
        ps.ChangeTracker(**options)


def test_buffers():
    buffer = np.zeros(3)
    locked = np.zeros(3)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ps.ChangeTracker(baseline_buffer=locked)
    tracker = ps.ChangeTracker(baseline_buffer=buffer)
    for x in batches(3, (3,), np.float64):
        tracker.update(x)
        assert buffer.tobytes() == x.tobytes()
    with pytest.raises(ValueError, match="baseline_buffer"):
        tracker.update(np.zeros(4))
    assert buffer.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    "x", [np.ma.zeros(3), np.array([None]), np.array(["a"]), np.zeros(2, "M8[s]")]
)
def test_refused_arrays(x):
    tracker = ps.ChangeTracker()
    tracker.update(np.zeros(3))
    before = snapshot(tracker)
    with pytest.raises((TypeError, ValueError)):
        tracker.update(x)
    assert snapshot(tracker) == before
    assert ps.ChangeTracker().update([1, 2]).first


@pytest.mark.parametrize("at", ["_finish", "_commit", "_plan"])
def test_nothing_is_half_done(at, monkeypatch):
    one, two, three = batches(3)
    tracker = ps.ChangeTracker(per_row=True, history=2, ema=0.5)
    tracker.update(one)
    before = snapshot(tracker)

    def fail(*args):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(module.ChangeTracker, at, fail)
        with pytest.raises(MemoryError):
            tracker.update(two)
    assert snapshot(tracker) == before
    assert tracker.update(three)._raw == ps.change_stats(one, three)._raw


def test_updates_within_updates_are_refused():
    tracker = ps.ChangeTracker(on_nonfinite="warn")
    tracker.update(np.zeros(2))

    def show(*args, **kwargs):
        tracker.update(np.ones(2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warnings, "warn", show)
        with pytest.raises(RuntimeError, match="during an update"):
            tracker.update(np.array([np.nan, 0]))
    assert tracker.baseline.tolist() == [0, 0]


def test_numbers_of_numpy_are_options():
    tracker = ps.ChangeTracker(
        axis=np.int64(0), atol=np.float32(0.5), finite_only=np.True_, hist=np.int64(5)
    )
    assert (
        tracker.get_config()
        == ps.ChangeTracker(axis=0, atol=0.5, finite_only=True, hist=5).get_config()
    )
    assert pickle.loads(pickle.dumps(tracker)).get_config() == tracker.get_config()


def test_averages_of_complex_numbers():
    tracker = ps.ChangeTracker(ema={"new_mean": 0.5}, history=2)
    tracker.update(np.array([1 + 2j]))
    tracker.update(np.array([1 + 2j]))
    other = tracker.copy()
    assert other.last.ema == tracker.last.ema == {"new_mean": 1 + 2j}
    assert json.loads(json.dumps(other.last.as_dict()))["ema_new_mean"] == [1, 2]
    assert other.update(np.array([3j])).ema == tracker.update(np.array([3j])).ema


def test_a_locked_buffer_leaves_the_tracker_as_it_was():
    buffer = np.zeros(2)
    tracker = ps.ChangeTracker(baseline_buffer=buffer)
    tracker.update(np.ones(2))
    before = snapshot(tracker)
    buffer.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tracker.update(np.zeros(2))
    assert snapshot(tracker) == before


def test_only_records_merge():
    with pytest.raises(TypeError, match="expected ChangeStats, got int"):
        ps.ChangeStats.merge([1])


def test_copies_of_trackers_whose_rows_are_others():
    tracker = ps.ChangeTracker(per_row=True, baseline="first")
    tracker.update(np.zeros((3, 2)), ids=[1, 2, 3])
    tracker.update(np.zeros((2, 2)), ids=[3, 1])
    x = np.array([[1.0, 0], [0, 0]])
    one, two = tracker.copy().update(x, ids=[3, 1]), tracker.update(x, ids=[3, 1])
    assert one.stale_rows.tolist() == two.stale_rows.tolist() == [0, 2]
    tracker.set_baseline(np.zeros((4, 2)), ids=[1, 2, 3, 4])
    assert tracker.copy().update(x, ids=[3, 1]).stale_rows.tolist() == [0, 1]


def test_stale_rows_of_a_first_baseline_follow_their_ids():
    tracker = ps.ChangeTracker(per_row=True, baseline="first")
    tracker.update(np.zeros((3, 1)), ids=[1, 2, 3])
    one = tracker.update(np.array([[5.0], [0], [0]]), ids=[2, 3, 1])
    assert one.stale_rows.tolist() == [0, 1, 1]
    assert tracker.update(np.zeros((2, 1)), ids=[3, 2]).stale_rows.tolist() == [2, 1]
    c = tracker.update(np.zeros((3, 1)), ids=[1, 2, 3])
    assert c.stale_rows.tolist() == [2, 2, 3]
