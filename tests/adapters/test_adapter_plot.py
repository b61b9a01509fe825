"""A tracker's history, drawn by matplotlib itself."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer


@pytest.mark.filterwarnings("ignore")
def test_a_history_is_drawn(tmp_path):
    peer("matplotlib").use("Agg")
    pyplot = peer("matplotlib.pyplot")
    tracker = ps.ChangeTracker(history=5)
    for step in range(4):
        tracker.update(np.arange(3.0) * step)
    axes = tracker.plot(("rms", "max_abs"))
    assert [line.get_label() for line in axes.lines] == ["rms", "max_abs"]
    assert axes.lines[1].get_ydata()[1:].tolist() == [2, 2, 2]
    axes.figure.savefig(tmp_path / "history.png")
    pyplot.close("all")
