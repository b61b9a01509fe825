"""Calls that measure change, for tests that repeat them or refuse them memory; each
returns an array by which two results can be compared."""

import numpy as np

import pyscatter as ps
from tests.isolated.operations import Operation, numbers, operation


def measured(*args, **kwargs):
    record = ps.change_stats(*args, **kwargs)
    arrays = [a for group in record._arrays or () for a in group or ()]
    return np.concatenate(
        [
            [record.n_changed, record.mean_abs, record.max_abs, record.new_var],
            *(np.ravel(a) for a in arrays),
        ]
    )


def tracked(one, two, **options):
    """Follow two arrays; what raises leaves the tracker as it was."""
    tracker = ps.ChangeTracker(**options)
    tracker.update(one)
    try:
        c = tracker.update(two)
    except MemoryError:
        assert (tracker.step, tracker.version) == (1, 1)
        assert tracker.baseline.tobytes() == one.tobytes()
        raise
    return np.array([c.n_changed, c.new_mean, tracker.version, tracker.baseline.sum()])


def followed(one, two):
    """The same with a set."""
    trackers = ps.TrackerSet()
    trackers.update({"a": one, "b": two})
    records = trackers.update({"a": two, "b": one})
    return np.array([records["a"].n_changed, records["b"].max_abs])


def changes(count):
    """One of each kind, on `count` rows."""
    old, new = numbers(count, 3), numbers(count, 3)[::-1]
    both = {"per_row": True, "per_feature": True}
    yield Operation("change_stats", measured, (old, new))
    yield Operation("change_stats rows", measured, (old, new), both)
    for dtype in ("f2", "i8", "i2", "c8"):
        arrays = old.astype(dtype), new.astype(dtype)
        yield Operation(f"change_stats {dtype}", measured, arrays, both)
    for name, rows in (("copied", count), ("copied in parts", 150_000)):
        old, new = numbers(rows, dtype="f4"), numbers(rows, dtype="f4")[::-1]
        room = np.zeros_like(old)
        yield operation(
            f"change_stats {name}",
            ps.change_stats,
            old,
            new,
            copy_new_to=room,
            target=room,
        )
    old, new = numbers(count, 3), numbers(count, 3)[::-1]
    yield Operation("tracker", tracked, (old, new))
    yield Operation("tracker, fewer rows", tracked, (old, new[1:]))


def trackers(count):
    """What is mostly Python, whose own refusals are no concern of these tests."""
    old, new = numbers(count, 3), numbers(count, 3)[::-1]
    both = {"per_row": True, "per_feature": True}
    yield Operation("tracker of rows", tracked, (old, new), both)
    yield Operation("tracker set", followed, (old, new))


def wrong_changes(count):
    """Calls that raise, after more and more work."""
    old = numbers(count, 3)
    yield Operation("shapes", ps.change_stats, (old, old[1:]))
    yield Operation("dtypes", ps.change_stats, (old, old.astype("f2")))
    yield Operation("axis", ps.change_stats, (old, old), {"axis": 5})
    yield Operation("copy", ps.change_stats, (old, old), {"copy_new_to": old[1:]})
    yield Operation("hist", ps.change_stats, (old, old), {"hist": "tb9"})
    yield Operation("nan", raised, (old,))


def raised(old):
    tracker = ps.ChangeTracker(on_nonfinite="raise")
    tracker.update(old)
    tracker.update(old * np.nan)
