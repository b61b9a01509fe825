"""A row of a sparse product may be all of it: signals are heard within."""

import signal
import time

import numpy as np
import pytest

import pyscatter as ps


class Alarm(Exception):
    pass


def ring(*_):
    raise Alarm


def seconds(call):
    start = time.thread_time()
    call()
    return time.thread_time() - start


@pytest.mark.parametrize(
    ("columns", "length", "entries"),
    [(50_000, 50_000, 1000), (2**25, 10_000, 1000), (2, 0, 10_000_000)],
    ids=["sums", "hash", "nothing"],
)
def test_signals_are_heard_within_a_row(columns, length, entries):
    col = np.arange(length, dtype=np.int32)
    B = ps.CSR((np.ones(length, "f4"), col, np.array([0, length])), (1, columns))
    zeros = np.zeros(entries, np.int32)
    A = ps.CSR((np.ones(entries, "f4"), zeros, np.array([0, entries])), (1, 1))

    def interrupted():
        signal.setitimer(signal.ITIMER_PROF, 0.005)
        with pytest.raises(Alarm):
            ps.spgemm(A, B)

    before = signal.signal(signal.SIGPROF, ring)
    try:
        with ps.num_threads(1):
            whole = seconds(lambda: ps.spgemm(A, B))
            assert any(seconds(interrupted) < 0.75 * whole for _ in range(20))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
