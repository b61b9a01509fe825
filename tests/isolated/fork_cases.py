"""Forks at awkward moments: fork_cases GROUP FIRST.

A child of fork has one thread and copies of all locks. It must be able to make parallel
calls, with the right answers, whatever the parent's threads were doing. A hang is ended
by an alarm and shows as a signal in the exit status.
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.children import sanitized
from tests.isolated.harness import case, run_group
from tests.isolated.shim import in_child

SECONDS = 20
COUNT, SIZE, WIDTH = 120_000, 3000, 8
INDEX = np.arange(COUNT) * 7919 % SIZE
ROWS = np.ones((COUNT, WIDTH), np.float32)
EXPECTED = np.bincount(INDEX, minlength=SIZE).astype(np.float32)


def masks_work():
    """Parallel calls on conditions: are the answers right?"""
    chosen = ps.where(INDEX % 2, ROWS.T, -1.0)
    positions = ps.flatnonzero(chosen > 0)
    taken = ps.gather_where(chosen, chosen > 0)
    return taken.size == positions.size == WIDTH * np.count_nonzero(INDEX % 2)


def work(threads=2):
    """A parallel call; 0 for the right answer, 1 for a wrong one, as an exit status."""
    a = np.zeros((SIZE, WIDTH), np.float32)
    with ps.num_threads(threads):
        ps.add_at(a, INDEX, ROWS, axis=0)
        got = ps.gather(a, np.arange(SIZE))
        right = np.array_equal(got, np.repeat(EXPECTED[:, None], WIDTH, 1))
        right &= masks_work()
    return 0 if right else 1


def forked(body=work):
    """Run `body` in a fork of this process and complain about its end."""
    status = in_child(body, SECONDS)
    assert status == 0, f"child ended with {status}"


def parent_serial():
    """The parent has never used a thread."""
    forked()


def parent_parallel():
    """The parent's pool runs when it forks, and is used by both afterwards."""
    assert work() == 0
    for _ in range(10):
        forked()
        assert work() == 0


def more_threads():
    """The child wants more threads than the parent had."""
    assert work(2) == 0
    forked(partial(work, 5))


def other_default():
    """The child sets its own number of threads; the parent's stays."""
    before = ps.get_num_threads()

    def body():
        ps.set_num_threads(3)
        return work() or ps.get_num_threads() - 3

    forked(body)
    assert ps.get_num_threads() == before


def generations():
    """A fork of a fork of a fork, each with a pool of its own."""

    def body(depth):
        if work():
            return 1
        return in_child(partial(body, depth - 1), SECONDS) if depth else 0

    assert work() == 0
    forked(partial(body, 3))


def siblings():
    """Several children at once."""
    assert work() == 0
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            status = 99
            try:
                status = work()
            finally:
                os._exit(status)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert not any(statuses), statuses


def from_a_thread():
    """A thread other than the first one forks."""
    assert work() == 0
    with ThreadPoolExecutor(1) as pool:
        pool.submit(forked).result()


def during_calls():
    """Other threads are inside kernels, and inside the pool, when the fork happens."""
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            assert work() == 0

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(busy) for _ in range(2)]
        try:
            for _ in range(25):
                forked()
        finally:
            stop.set()
        for call in calls:
            call.result()


def during_first_call():
    """The fork happens while another thread starts the pool."""

    def body():
        started = threading.Thread(target=work)
        started.start()
        status = in_child(work, SECONDS)
        started.join()
        return status

    for _ in range(10):
        forked(body)


def during_settings():
    """Other threads change the number of threads meanwhile."""
    stop = threading.Event()

    def busy():
        number = 1
        while not stop.is_set():
            ps.set_num_threads(number)
            number = number % 5 + 1

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(busy)
        try:
            for _ in range(15):
                forked()
        finally:
            stop.set()
        call.result()


def square_sum(number):
    """What a worker process computes."""
    return work() + number


def with_multiprocessing():
    """Worker processes by the fork method, before and after the parent's own calls."""
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        with context.Pool(2) as pool:
            done = pool.map_async(square_sum, range(8)).get(timeout=SECONDS)
        assert done == list(range(8)), done
        assert work() == 0


def exits():
    """A process whose pool runs ends, in the ordinary way too."""

    def body():
        status = work()
        threading.Thread(target=work).start()
        raise SystemExit(status)

    for leave in (body, work):
        child = os.fork()
        if child == 0:
            try:
                status = leave()
            except SystemExit as end:
                status = end.code
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0


N = 1 << 22
MANY = np.arange(N)
PLACES = MANY * 7919 % N
NUMBERS = MANY.astype(">f4")
MASK = MANY % 3 == 0
FEW_ROWS = np.zeros((40, 1 << 14), np.float32)
REPEATED = np.broadcast_to(np.float32(1), (N // 40, 1 << 14))


def add_in_place():
    """Long enough for a call that has written to hear of signals."""
    a = FEW_ROWS.copy()
    ps.add_at(a, np.arange(len(REPEATED)) % 40, REPEATED, axis=0)
    return a


# Calls of some 50 ms and more, since signals are heard every 20.
LONG_CALLS = {
    "where": lambda: ps.where(NUMBERS, NUMBERS, -1.0),
    "scatter_where": lambda: ps.scatter_where(NUMBERS, MASK, NUMBERS, op="add"),
    "gather": lambda: ps.gather(NUMBERS.reshape(-1, 2), PLACES // 2),
    "gather, filled": lambda: ps.gather(NUMBERS, PLACES + 9, mode="fill"),
    "gather_where": lambda: ps.gather_where(NUMBERS, NUMBERS > 5),
    "argwhere": lambda: ps.argwhere(NUMBERS.reshape(8, -1, 64)),
    "count_nonzero": lambda: ps.count_nonzero(NUMBERS.reshape(8, -1, 64), axis=1),
    "scatter, elements": lambda: ps.scatter(
        np.zeros(N), PLACES, NUMBERS, op="add", mode="clip"
    ),
    "scatter, a partition": lambda: ps.scatter(np.zeros(N), PLACES, 1.0 * MANY),
    "scatter, rows": lambda: ps.scatter(FEW_ROWS, MANY[:40_000] % 40, 1, op="add"),
    "scatter, a stage": lambda: ps.scatter(np.zeros(N), PLACES, NUMBERS, op="mean"),
    "in place": add_in_place,
    "segments": lambda: ps.segment_sum(NUMBERS, offsets=np.arange(0, N + 1, 8)),
    "segments by ids": lambda: ps.segment_max(NUMBERS, PLACES // 8, N // 8),
}


def in_a_handler(name):
    """A signal handler forks; both processes end the call with the right answer."""
    parent, children = os.getpid(), []
    call = LONG_CALLS[name]
    with ps.num_threads(1):
        expected = call()

    def handler(number, frame):
        child = os.fork()
        if child:
            children.append(child)

    signal.signal(signal.SIGALRM, handler)
    with ps.num_threads(3):
        for turn in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.015 * turn)
            right = False
            try:
                right = np.array_equal(call(), expected)
            finally:
                if os.getpid() != parent:
                    os._exit(0 if right else 1)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert right
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert children and not any(statuses), statuses


QUIET = (
    parent_serial,
    parent_parallel,
    more_threads,
    other_default,
    generations,
    siblings,
    from_a_thread,
    with_multiprocessing,
    exits,
)
BUSY = (during_calls, during_first_call, during_settings)


def all_cases():
    """Each moment as a case of its own."""
    # A sanitizer's allocator has locks that a fork beside running threads leaves shut.
    for moment in QUIET if sanitized() else QUIET + BUSY:
        yield case(moment.__name__, "ok", moment)


def handler_cases():
    """Each family as a case of its own."""
    for name in LONG_CALLS:
        yield case(name, "ok", in_a_handler, name)


GROUPS = {"fork": all_cases, "handlers": handler_cases}

if __name__ == "__main__":
    run_group(GROUPS)
