"""Edges may be more than anything else of a call: signals are heard among them."""

import signal

import numpy as np
import pytest

import pyscatter as ps

BINS = 2**24


@pytest.mark.parametrize("given", [False, True])
def test_signals_are_heard_among_edges(given):
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    bins = np.linspace(0, 1, BINS + 1) if given else BINS
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            ps.bin_index(np.zeros(3), bins)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
