"""Threads beside busy neighbours: whatever the pool does, bits are the same."""

import multiprocessing
import time

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import assert_same, rng_for

CORE = ps._core


def test_the_hook_says_what_it_was():
    assert CORE.force_threads(False) is True
    assert CORE.force_threads(True) is False
    assert CORE.force_threads(True) is True
    with pytest.raises(ValueError, match="ambiguous"):
        CORE.force_threads(np.ones(2))


def keep_busy(seconds):
    """Use a processor."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.alone
def test_beside_busy_neighbours():
    rng = rng_for("neighbours")
    index = rng.integers(0, 600_000, 600_000)
    values = rng.standard_normal(600_000)
    a = rng.standard_normal(600_000)
    condition = np.asfortranarray(rng.random((900, 800)) < 0.5)
    x = np.asfortranarray(rng.standard_normal((900, 800)))
    with ps.num_threads(1):
        expected = ps.scatter(a, index, values, op="add"), ps.where(condition, x, 0.0)
    context = multiprocessing.get_context("spawn")
    neighbours = [context.Process(target=keep_busy, args=(2,)) for _ in range(4)]
    for neighbour in neighbours:
        neighbour.start()
    CORE.force_threads(False)
    with ps.num_threads(3):
        for _ in range(20):
            assert_same(ps.scatter(a, index, values, op="add"), expected[0])
            assert_same(ps.where(condition, x, 0.0), expected[1])
    for neighbour in neighbours:
        neighbour.join()
