"""What a tracker is while it waits for its turn; what its records and errors say."""

import contextlib
import math

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import _core


@pytest.mark.parametrize(
    "undo", [ps.ChangeTracker.__init__, lambda t: delattr(t, "_lock")]
)
def test_a_lock_that_is_replaced_while_it_is_waited_for(undo):
    """The one that was taken is given back, and lives until then."""
    calls = []

    class Lock:
        def acquire(self):
            undo(tracker)
            calls.append("acquire")

        def release(self):
            calls.append("release")

    tracker, x = ps.ChangeTracker(), np.arange(3.0)
    tracker.update(x)
    tracker.update(x)
    tracker._lock = Lock()
    with contextlib.suppress(AttributeError):  # without a lock the long way has none
        assert tracker.update(x).step in (0, 2)
    assert calls == ["acquire", "release"]


def test_names_in_records_are_plain_strings():
    tracker = ps.ChangeTracker(name=np.str_("w"))
    for _ in range(3):
        assert type(tracker.update(np.ones(3)).name) is str


def test_wrong_arguments_are_those_of_update():
    with pytest.raises(
        TypeError, match=r"ChangeTracker\.update\(\) missing 1 required"
    ):
        ps.ChangeTracker().update()


def test_records_take_arrays_in_a_tuple():
    """So records within records are freed by tuples, however deep."""
    raw = ps.change_stats(np.zeros(2), np.ones(2))._raw
    with pytest.raises(TypeError, match="arrays must be a tuple or None, got 5"):
        ps.ChangeStats(raw, 5)
    record = _core.ChangeRecord(raw)
    for _ in range(50_000):
        record = _core.ChangeRecord(raw, (record,))
    del record


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2", "c8"])
@pytest.mark.parametrize("size", [1, 9, 1500])
def test_sizes_of_nothing_have_no_sign(dtype, size):
    for value in (0.0, -0.0, 3.0):
        x = np.full(size, value, dtype)
        c = ps.change_stats(x, x)
        assert math.copysign(1, c.max_abs) == 1 and "max_abs=0 at 0" in repr(c)
