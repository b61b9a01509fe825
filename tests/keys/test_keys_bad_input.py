"""Keys that are made to hurt: to collide, to change under a call, to ask for memory.

The attacks are written against the real hashes of kernels/instances_keys.h. They are
judged by the way that the library takes, which bounds the time, and by the clock where
the test is slow.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import _core
from tests.cases import rng_for

M = 2**64
FACTORS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
FACTOR, SHIFT = 0xFF51AFD7ED558CCD, 31


def colliding_words(n):
    """Words whose hashes share their highest 40 bits: the hash turned round."""
    first, last = (np.uint64(pow(factor, -1, M)) for factor in FACTORS)
    word = np.arange(n, dtype=np.uint64) * last
    word ^= word >> np.uint64(32)
    return word * first


def hash_of_words(word):
    first, last = (np.uint64(factor) for factor in FACTORS)
    word = word * first
    word ^= word >> np.uint64(32)
    return word * last


def colliding_items(n):
    """Items of two words: the second makes good what the first has done to the hash."""
    first = rng_for("items").integers(0, 2**63, n).astype(np.uint64)
    state = first * np.uint64(FACTOR)
    state ^= state >> np.uint64(SHIFT)
    return np.stack([first, state ^ np.uint64(12345)], 1).view("V16")[:, 0]


def test_the_attack_is_one():
    assert len(np.unique(hash_of_words(colliding_words(1000)) >> np.uint64(24))) == 1


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("make", [colliding_words, colliding_items])
@pytest.mark.parametrize("parts", [0, 3])
def test_colliding_keys_are_numbered(make, sort, parts):
    some = make(4000)
    keys = some[rng_for("collide").integers(0, 4000, 12000)]
    results = []
    for way in (None, "sort"):
        before = _core.force_keys(way, parts)
        results.append(ps.factorize(keys, sort=sort, return_counts=True))
        _core.force_keys(*before)
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


def test_colliding_keys_among_good_ones():
    """Clusters come late, when the table is large."""
    rng = rng_for("late")
    good = rng.integers(0, 2**62, 20000).astype(np.uint64)
    keys = np.concatenate([good, colliding_words(20000)])
    ids, uniques = ps.factorize(keys)
    assert (uniques[ids] == keys).all() and (np.diff(uniques.astype(object)) > 0).all()


def seconds(call):
    start = time.thread_time()
    call()
    return time.thread_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("make", [colliding_words, colliding_items])
def test_colliding_keys_take_no_more_than_twice_the_time(make, sort):
    n = 1_000_000
    hostile = rng_for("order").permutation(make(n))
    usual = rng_for("usual").integers(0, 2**62, (n, hostile.itemsize // 8))
    usual = np.ascontiguousarray(usual).view(hostile.dtype)[:, 0]
    with ps.num_threads(1):
        assert any(
            seconds(lambda: ps.factorize(hostile, sort=sort))
            < 2 * seconds(lambda: ps.factorize(usual, sort=sort))
            for _ in range(5)
        )


@pytest.mark.parametrize("dtype", ["i8", "f8", "U9", "S3", "c16"])
def test_another_thread_rewrites_the_keys(dtype):
    """Numbers may be wrong, but stay within the uniques."""
    n = 30000
    rng = rng_for("rewrite", dtype)
    versions = [rng.integers(0, high, n).astype(dtype) for high in (50, 10**6)]
    keys, stop = versions[0].copy(), threading.Event()

    def rewrite():
        turn = 0
        while not stop.is_set():
            keys[turn % 5 :: 5] = versions[turn % 2][turn % 5 :: 5]
            turn += 1

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for turn in range(60):
            way = (None, "near", "hash", "spread", "second", "sort")[turn % 6]
            before = _core.force_keys(way, turn % 4)
            ids, uniques = ps.factorize(keys, sort=turn % 2 == 0)
            _core.force_keys(*before)
            assert ids.min() >= 0 and ids.max() < len(uniques)
            if dtype == "i8":
                uniques, counts = ps.group_reduce(None, keys, op="count")
                assert counts.sum() == n and len(counts) == len(uniques)
    finally:
        stop.set()
        thread.join()


def test_no_memory_of_python_is_kept():
    keys = np.array(["a", "b", None, "c"] * 50, object)
    ps.factorize(keys)
    tracemalloc.start()
    try:
        for _ in range(3):
            ps.factorize(keys, keys)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            ps.factorize(keys, keys)
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


def test_interrupts_and_errors_leave_out_as_it_was():
    out = np.full(2, 7.0)
    for call in (
        lambda: ps.group_reduce([1.0, 2.0], ["a", "b"], op="no", out=out),
        lambda: ps.group_reduce([1.0, 2.0], [1.0, np.nan], missing="raise", out=out),
        lambda: ps.group_reduce([1.0, 2.0, 3.0], ["a", "b", "c"], out=out),
        lambda: ps.group_reduce([1.0, 2.0], ["a"], out=out),
    ):
        with pytest.raises(ValueError):
            call()
        assert (out == 7).all()


MEASURED = """
import sys
import numpy as np
import pyscatter as ps

def field(name):
    with open("/proc/self/status") as lines:
        [line] = [line for line in lines if line.startswith(name)]
    return int(line.split()[1]) * 1024

n = 2_000_000
keys = np.random.default_rng(0).permutation(n) * int(sys.argv[1])
keys = keys.astype(sys.argv[2])
ps.set_num_threads(1)
ps.factorize(keys[:1000])
before = field("VmRSS")
ids, uniques = ps.factorize(keys, sort=sys.argv[3] == "sort")
print((field("VmHWM") - before - ids.nbytes - uniques.nbytes) / n)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize("order", ["sort", "unsorted"])
@pytest.mark.parametrize("factor", ["1", "1000000"])
@pytest.mark.parametrize("dtype", ["i8", "f8", "U12"])
def test_memory_of_keys_that_all_differ(dtype, factor, order):
    """Beyond results at most 24 bytes a key, and what the allocator rounds up."""
    path = os.path.dirname(os.path.dirname(ps.__file__))
    out = subprocess.check_output(
        [sys.executable, "-c", MEASURED, factor, dtype, order],
        env={**os.environ, "PYTHONPATH": path},
    )
    assert float(out) < 26


@pytest.mark.parametrize("sort", [True, False])
def test_signals_are_heard_between_objects(sort):
    """A handler runs soon, and what it raises ends the call."""

    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    keys = np.arange(80_000).astype(str).astype(object)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            ps.factorize(keys, sort=sort)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(ps.factorize(keys, sort=sort)[1]) == len(keys)
