"""Signals that arrive during a call: signal_cases GROUP FIRST.

Ctrl-C is answered within milliseconds, but nothing here measures time: jobs that would
run for minutes must end within the parent's limit. In-place calls may be interrupted
before their first write, or after half a second with some updates applied.
"""

import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.harness import case, run_group

# Each of so many updates adds a row that costs microseconds, and shares its memory.
UPDATES, WIDTH = 1 << 23, 1 << 16


class WakeError(Exception):
    """What a handler of ours raises."""


def endless(function, target, **options):
    """A job of minutes: `function` adds a row of ones to a target again and again."""
    index = np.broadcast_to(np.int64(0), (UPDATES,))
    values = np.broadcast_to(np.float32(1), (UPDATES, WIDTH))
    return function(target, index, values, **options)


def send_later(seconds, number=signal.SIGINT):
    """Send this process a signal in a while."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def interrupted(call, *args, **options):
    """Interrupt a call that nothing else would end in time."""
    send_later(0.3)
    try:
        call(*args, **options)
    except KeyboardInterrupt:
        return
    raise AssertionError("the call returned")


def new_result(threads):
    """A call that makes a new array leaves nothing behind."""
    a = np.zeros((2, WIDTH), np.float32)
    with ps.num_threads(threads):
        interrupted(endless, ps.scatter, a, op="add")
    assert not a.any()


def in_place(threads):
    """An in-place call applies a prefix of the updates to each element."""
    a = np.zeros((2, WIDTH), np.float32)
    with ps.num_threads(threads):
        interrupted(endless, partial(ps.add_at, axis=0), a)
    assert not a[1].any()
    assert np.all((a[0] >= 0) & (a[0] <= UPDATES) & (a[0] == np.floor(a[0])))


def along():
    """The same through an along-axis form."""
    a = np.zeros((2, WIDTH), np.float32)
    index = np.broadcast_to(np.int64(1), (1 << 21, WIDTH))
    interrupted(ps.scatter_along_axis, a, index, np.float32(1), 0, op="add")
    assert not a.any()


def repeated(row, times):
    """A table of so many equal rows, in the memory of one."""
    shape, strides = (times, row.size), (0, *row.strides)
    return np.lib.stride_tricks.as_strided(row, shape, strides)


def positions():
    """Counting and looking for what is true are interrupted as well."""
    mask = repeated(np.zeros(1 << 20, bool), 1 << 24)
    slow = repeated(np.zeros(1 << 14, ">c16"), 1 << 19)
    for threads in (1, 2):
        with ps.num_threads(threads):
            interrupted(ps.count_nonzero, mask)
            interrupted(ps.flatnonzero, slow)
            interrupted(ps.argwhere, slow)


def wide_rows(name):
    """Rows of which a block would take minutes."""
    row = np.ones(1 << 25, np.float32)
    rows = repeated(row, 1 << 16)
    index = np.broadcast_to(np.int64(0), (len(rows),))
    a = row.reshape(1, -1)
    calls = {
        "set": partial(ps.scatter, a, index, rows),
        "add": partial(ps.scatter, a, index, rows, op="add"),
        "packed": partial(ps.scatter, a, index, rows.view(">f4"), op="max"),
        "strided": partial(ps.scatter, a.T, index, rows.T, axis=1, op="add"),
        "mean": partial(ps.scatter, a, index, rows, op="mean"),
        "divisors": partial(
            ps.scatter, a.view("i4"), index, rows.view("i4"), op="floor_div"
        ),
        "gathered": partial(ps.segment_sum, a, offsets=[0, len(rows)], gather=index),
    }
    for threads in (1, 2):
        with ps.num_threads(threads):
            interrupted(calls[name])


WIDE_ROWS = ("set", "add", "packed", "strided", "mean", "divisors", "gathered")


def ends_early(call, last, seconds):
    """Is a call interrupted, and not just followed by the interrupt?"""
    results = []
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        # No line of Python, where a signal would be heard, follows the call.
        results.extend(map(call, [last]))
        time.sleep(100)
    except WakeError:
        return not results
    raise AssertionError("no signal came")


def duration(call, last):
    """How long a call takes now: the first call of all finds no warm memory."""
    start = time.perf_counter()
    call(last)
    return time.perf_counter() - start


def passes(call, last):
    """Each pass of a call hears of signals; a busy machine gets several chances."""

    def handler(number, frame):
        raise WakeError

    signal.signal(signal.SIGALRM, handler)
    call(last)
    for share in (0.2, 0.4, 0.6):
        chances = (
            ends_early(call, last, share * duration(call, last)) for _ in range(8)
        )
        assert any(chances), share


N = 1 << 23
PLACES = np.arange(N) * 7919 % N
# Calls of several passes, all but their last argument.
PASSES = {
    "a plan": (partial(ps.Plan, PLACES), N),
    "a compact plan": (partial(ps.Plan, PLACES), 2**40),
    "a sorted compact plan": (partial(ps.Plan, np.arange(N) // 2), 2**40),
    "means": (partial(ps.scatter, np.zeros(N), PLACES, op="mean"), 1),
    "compact means": (
        partial(ps.scatter, np.zeros(5 * N, np.float32), PLACES, op="mean"),
        1,
    ),
    "a copy": (partial(ps.scatter, np.zeros((4096, 8192)).T, [0]), 1.0),
    "a flat copy": (
        lambda places: ps.gather(np.zeros((2048, 4096)).T, places, None),
        PLACES,
    ),
    "running forms": (partial(ps.segment_scan, 1.0 * PLACES), PLACES),
    "running forms of any ids": (
        partial(ps.segment_scan, np.ones(N, np.float32)),
        PLACES << 40,
    ),
    "medians": (lambda ids: ps.segment_reduce(PLACES, ids, op="median"), PLACES // 9),
    "a median": (
        lambda ends: ps.segment_reduce(PLACES, offsets=ends, op="median"),
        np.array([0, N]),
    ),
    "a partition": (partial(ps.scatter, np.zeros(N), PLACES, op="add"), 1.0 * PLACES),
}


def again():
    """After an interrupt the next calls are right, alone and with helpers."""
    for threads in (1, 2):
        in_place(threads)
        a = np.zeros(5)
        ps.add_at(a, np.arange(500_000) % 5, 1.0)
        assert np.all(a == 100_000)


def in_a_thread():
    """Only the first thread hears signals; a call elsewhere goes on undisturbed."""
    a = np.zeros(1000)
    index = np.arange(3_000_000) % 1000
    done = []

    def work():
        ps.add_at(a, index, 1.0)
        done.append(True)

    other = threading.Thread(target=work)
    other.start()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        pass
    other.join()
    assert done
    assert np.all(a == 3000)


def handler_raises():
    """Whatever a handler raises comes out of the call."""

    def handler(number, frame):
        raise WakeError

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        endless(ps.scatter, np.zeros((2, WIDTH), np.float32), op="add")
    except WakeError:
        return
    raise AssertionError("the call returned")


def handler_calls_us(threads):
    """A handler makes calls of its own while one is under way."""
    heard = []

    def handler(number, frame):
        a = np.zeros(100)
        ps.add_at(a, np.arange(400_000) % 100, 1.0)
        heard.append(bool(np.all(a == 4000)))
        if len(heard) == 5:
            raise WakeError

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
    try:
        with ps.num_threads(threads):
            endless(partial(ps.add_at, axis=0), np.zeros((2, WIDTH), np.float32))
    except WakeError:
        assert all(heard)
        return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    raise AssertionError("the call returned")


def handler_rewrites():
    """A handler rewrites the index and the values under the call's hands."""
    index = np.zeros(1 << 21, np.int64)
    row = np.ones(WIDTH, np.float32)
    values = np.broadcast_to(row, (index.size, WIDTH))
    guard = np.zeros((6, WIDTH), np.float32)
    heard = []

    def handler(number, frame):
        heard.append(number)
        index[:] = 2**40 if len(heard) % 2 else -(2**40)
        row[:] = len(heard)
        if len(heard) == 6:
            raise WakeError

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        ps.add_at(guard[2:4], index, values, axis=0)
    except (WakeError, RuntimeError, IndexError):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert not guard[:2].any() and not guard[4:].any()


def spoiled_jobs():
    """Jobs of some tenths of a second by an index of zeros, which is given to them."""
    row = np.ones(1 << 14, np.float32)
    wide, narrow = repeated(row, 4), np.ones((4, 16))
    limits = np.array([0, 1 << 19, 1 << 20])
    target = np.zeros((2, row.size), np.float32)
    return {
        "segment_sum": lambda i: ps.segment_sum(wide, gather=i, offsets=limits),
        "gather": lambda i: ps.gather(narrow, np.broadcast_to(i, (8, i.size))),
        "scatter": lambda i: ps.scatter(target, i, row, op="add"),
        "add_at": lambda i: ps.add_at(target.copy(), i, row, axis=0),
    }


def handler_spoils(job):
    """A handler raises after a helper has met what the handler wrote: it is heard."""
    index = np.zeros(1 << 20, np.int64)

    def handler(number, frame):
        index[:] = 2**40
        time.sleep(0.3)  # for the helper, which needs no interpreter
        raise WakeError

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with ps.num_threads(2):
            job(index)
    except WakeError:
        return
    raise AssertionError("the call returned")


def handler_resizes():
    """A handler gives the array that is being copied other memory."""
    a = np.zeros(1 << 26)

    def handler(number, frame):
        a.resize(10, refcheck=False)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    ps.scatter(a, [0], 1.0)


def handler_reshapes(name):
    """A handler gives what says segments, or their values, other axes meanwhile."""
    n = 6_000_000
    starts = np.arange(n)
    wide, listed = np.ones((2, 2_000_000)), np.array([0, 1] * 60)
    ends = {"starts": starts, "stops": starts + 1, "return_counts": True}
    array, shape, call = {
        "starts": (starts, (2, -1), partial(ps.segment_sum, np.ones(n), **ends)),
        "values": (
            *(wide, (1, -1)),
            partial(
                *(ps.segment_reduce, wide, np.zeros(120, int), 1),
                gather=listed,
                op="var",
            ),
        ),
    }[name]

    def handler(number, frame):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPys that are about to refuse it
            array.shape = shape

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    call()


def storm():
    """Many interrupts of middling jobs: in place all or nothing, else no trace."""
    index = np.arange(400_000) % 500
    rows = np.ones((index.size, 16), np.float32)
    hits = 0
    for turn in range(60):
        a = np.zeros((500, 16), np.float32)
        # A timer of the kernel's: a thread of Python's would need the interpreter.
        signal.setitimer(signal.ITIMER_REAL, 0.0002 * (1 + turn % 20))
        try:
            with ps.num_threads(1 + turn % 2):
                ps.add_at(a, index, rows, axis=0)
                ps.gather(a, index)
            time.sleep(1)
        except WakeError:
            hits += 1
        assert len(np.unique(a)) == 1, np.unique(a)
        assert a[0, 0] in (0, 800)
    assert hits == 60


def stormy():
    """The storm, by alarms that raise."""

    def handler(number, frame):
        raise WakeError

    signal.signal(signal.SIGALRM, handler)
    storm()


def blocked_in_workers():
    """A signal is never delivered to a helper, whose thread has no handler's state."""
    heard = []
    signal.signal(signal.SIGUSR1, lambda *ignored: heard.append(threading.get_ident()))
    a = np.zeros(1000)
    index = np.arange(2_000_000) % 1000
    with ps.num_threads(3):
        for _ in range(10):
            os.kill(os.getpid(), signal.SIGUSR1)
            ps.add_at(a, index, 1.0)
    assert len(heard) == 10
    assert set(heard) == {threading.main_thread().ident}


def all_cases():
    """Each situation as a case of its own."""
    for threads in (1, 2):
        yield case(f"new result {threads}", "ok", new_result, threads)
        yield case(f"in place {threads}", "ok", in_place, threads)
        yield case(f"handler calls us {threads}", "ok", handler_calls_us, threads)
    for name in ("starts", "values"):
        wrong = "ok|RuntimeError"
        yield case(f"handler reshapes {name}", wrong, handler_reshapes, name)
    yield case("handler resizes", "RuntimeError", handler_resizes, says=["changed"])
    for name, job in spoiled_jobs().items():
        yield case(f"handler spoils {name}", "ok", handler_spoils, job)
    for situation in (
        along,
        positions,
        again,
        in_a_thread,
        handler_raises,
        handler_rewrites,
        stormy,
        blocked_in_workers,
    ):
        yield case(situation.__name__, "ok", situation)


def pass_cases():
    """Every pass over memory, and every kind of wide rows."""
    for name in WIDE_ROWS:
        yield case(f"wide rows: {name}", "ok", wide_rows, name)
    for name, (call, last) in PASSES.items():
        yield case(name, "ok", passes, call, last)


GROUPS = {"signals": all_cases, "passes": pass_cases}

if __name__ == "__main__":
    # A shell's background job, and what it starts, has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_group(GROUPS)
