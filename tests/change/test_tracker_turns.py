"""What a tracker is while it waits for its turn, and what its records are called."""

import contextlib

import numpy as np
import pytest

import pyscatter as ps


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
