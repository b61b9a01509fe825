"""Another thread rewrites the arguments during calls: race_cases GROUP FIRST.

The numbers that come out may be anything the two versions allow. Memory outside the
target must not be touched: it lies between guards, and each bad index would miss it.
"""

import sys
import threading
import time
from functools import partial
from itertools import count

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.harness import case, run_group
from tests.isolated.memory_cases import forced

SIZE, COUNT, CALLS = 200, 60_000, 400
ENOUGH = 20  # calls that met a change, after which a case may stop


class Meddler:
    """A thread that keeps spoiling an array for a moment until it is stopped."""

    def __init__(self, array, good, bad):
        self.array, self.good, self.bad = array, good, bad
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        array = self.array
        for turn in count():
            # Good for most of the time: a call has to find it so when it starts.
            array[:] = self.good
            if self.stop.is_set():
                return
            time.sleep(0.0001 * (turn % 5))
            array[turn % 7 :: 1000] = self.bad[turn % len(self.bad)]

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *ignored):
        self.stop.set()
        self.thread.join()


def guarded(width, dtype="f8"):
    """A target between two guards, and all of the memory."""
    memory = np.zeros((5 * SIZE, width), dtype)
    return memory[2 * SIZE : 3 * SIZE], memory


def tolerated(call):
    """Make a call; what the manual allows under a rewritten index may be raised."""
    try:
        call()
    except IndexError:
        return "refused"
    except RuntimeError as error:
        assert "changed during the call" in str(error), error
        return "changed"
    return "finished"


def indices(dtype, entries=COUNT):
    """An index for a Meddler to spoil: the array, its good content and bad numbers."""
    good = (np.arange(entries) * 7919 % SIZE).astype(dtype)
    limits = np.iinfo(dtype)
    return good.copy(), good, [SIZE, limits.max, -SIZE - 1, limits.min]


def until_changed(call):
    """Repeat a call, for a while after it has met a change."""
    met = 0
    for _ in range(CALLS):
        met += tolerated(call) == "changed"
        if met == ENOUGH:
            return


def scatter_race(function, width, dtype, **options):
    """Scatters by an index that changes under them."""
    index, good, bad = indices(dtype)
    target, memory = guarded(width)
    call = partial(function, target, index, np.ones((COUNT, width)), **options)
    with Meddler(index, good, bad):
        until_changed(call)
    memory[2 * SIZE : 3 * SIZE] = 0
    assert not memory.any(), "memory beside the target was written"


def into_itself(a, index, values, **options):
    return ps.scatter(a, index, values, out=a, **options)


def tuples_into_itself(a, index, values, **options):
    return ps.scatter_nd(a, index[:, None], values, out=a, **options)


def gather_race(dtype, shape):
    """Gathers by an index that changes: only the array's own numbers come out."""
    # Single elements are so quick that no other thread would wake up meanwhile.
    index, good, bad = indices(dtype, COUNT if shape else 20 * COUNT)
    memory = np.full((3 * SIZE, *shape), -1.0)
    source = memory[SIZE : 2 * SIZE]
    source[:] = 7
    out = np.full((index.size, *shape), 7.0)
    with Meddler(index, good, bad):
        until_changed(partial(ps.gather, source, index, out=out))
    assert np.all(out == 7), "foreign memory was read"


def segment_race(function, dtype):
    """What entries that are all 1 come to, by ids that change."""
    index, good, bad = indices(dtype)
    ones = np.ones(COUNT)

    def call():
        result = function(ones, index)
        assert np.all((result == 1) | np.isnan(result)), "foreign memory was read"

    with Meddler(index, good, bad):
        until_changed(call)


RUNNING = partial(ps.segment_scan, op="max")


def median(values, ids):
    return ps.segment_reduce(values, ids, SIZE, op="median")


def some_medians(values, ids):
    mask = np.arange(2 * COUNT).reshape(-1, 2) % 3 > 0
    pairs = np.stack((values, values), axis=1)
    return ps.segment_reduce(pairs, ids, SIZE, op="median", where=mask)


def value_race():
    """Values and divisors that change: zeros may appear after the check for them."""
    index = np.arange(COUNT) % SIZE
    divisors = np.ones(COUNT, np.int32)
    low = np.iinfo(np.int32).min
    with Meddler(divisors, 1, [0, -1]):
        for _ in range(CALLS):
            a = np.full(SIZE, low, np.int32)
            try:
                ps.floor_divide_at(a, index, divisors)
            except RuntimeWarning:
                assert np.all(a == low)


def mask_race():
    """A mask that changes: entries that it lets in late are checked all the same."""
    index = np.arange(COUNT) % SIZE
    index[::2] = 2**40
    mask = np.zeros(COUNT, bool)
    target, memory = guarded(2)
    good = np.arange(COUNT) % 2 == 1
    with Meddler(mask, good, [True]):
        until_changed(partial(into_itself, target, index, 1.0, op="add", where=mask))
    memory[2 * SIZE : 3 * SIZE] = 0
    assert not memory.any()


def bounded(function, table):
    """Return what a function finds as arrays, each with what bounds its numbers."""
    found = function(table)
    if function is ps.count_nonzero:
        return [(np.asarray(found), table.size + 1)]
    if function is ps.flatnonzero:
        return [(found, table.size)]
    return zip(found.T if function is ps.argwhere else found, table.shape, strict=True)


def positions_race(function, shape, dtype):
    """Positions of an array that changes lie within it; their number may be stale."""
    good = (np.arange(np.prod(shape)) % 3 == 0).astype(dtype)
    array = good.copy()
    with Meddler(array, good, [1, 0, 1]):
        for _ in range(CALLS // 4):
            try:
                results = list(bounded(function, array.reshape(shape)))
            except RuntimeError as error:
                assert "changed during the call" in str(error), error
                continue
            for found, limit in results:
                assert np.all((found >= 0) & (found < limit)), (
                    found.min(),
                    found.max(),
                )


def packed_race(op, dtype):
    """Packed values under a mask that grows and shrinks: none beyond them is read."""
    good = np.arange(COUNT) % 2 == 0
    mask = good.copy()
    values = np.zeros(3 * COUNT, dtype)  # those that belong to the call are ones
    packed = values[COUNT : COUNT + int(good.sum())]
    packed[:] = 1
    memory = np.zeros(3 * COUNT, dtype)
    target = memory[COUNT : 2 * COUNT]
    with Meddler(mask, good, [True, False, True]):
        for _ in range(CALLS // 4):
            try:
                ps.scatter_where(target, mask, packed, op=op, packed=True, out=target)
            except ValueError as error:
                assert str(packed.size) in str(error), error
            except RuntimeError as error:
                assert "changed during the call" in str(error), error
    assert not memory[:COUNT].any() and not memory[2 * COUNT :].any()


def compressed_race(dtype):
    """Gathers under a mask that changes: nothing beyond the array comes out."""
    good = np.arange(COUNT) % 2 == 0
    mask = good.copy()
    memory = np.full(3 * COUNT, 99, dtype)
    source = memory[COUNT : 2 * COUNT]
    source[:] = 7
    with Meddler(mask, good, [True, False, True]):
        for _ in range(CALLS // 4):
            try:
                result = ps.gather_where(source, mask)
            except RuntimeError as error:
                assert "changed during the call" in str(error), error
                continue
            assert result.size <= COUNT and not np.any(result == 99)


def choice_race():
    """A condition that changes: each element is that of one side or the other."""
    good = np.arange(COUNT) % 2 == 0
    mask = good.copy()
    memory = np.zeros(3 * COUNT, np.float32)
    out = memory[COUNT : 2 * COUNT]
    x, y = np.full(COUNT, 5, np.float32), np.full(COUNT, 6, np.float32)
    with Meddler(mask, good, [True, False, True]):
        for _ in range(CALLS // 4):
            ps.where(mask, x, y, out=out)
            assert np.all((out == 5) | (out == 6))
            ps.scatter_where(out, mask, 6.0, op="min", out=out)
            ps.scatter_where(out, mask, x, out=out)
            assert np.all((out == 5) | (out == 6))
    assert not memory[:COUNT].any() and not memory[2 * COUNT :].any()


def mask_races():
    """Conditions and masks of each family."""
    for threads in (1, 2):
        for dtype in ("?", "f4"):
            for shape in ((COUNT * 4,), (COUNT, 4)):
                name = f"{dtype} {len(shape)} axes, {threads}"
                call = (forced, None, threads, positions_race)
                yield case(
                    f"flatnonzero {name}", "ok", *call, ps.flatnonzero, shape, dtype
                )
                yield case(f"nonzero {name}", "ok", *call, ps.nonzero, shape, dtype)
                yield case(f"argwhere {name}", "ok", *call, ps.argwhere, shape, dtype)
                yield case(f"count {name}", "ok", *call, ps.count_nonzero, shape, dtype)
        for dtype in ("u1", "u2", "f4", "f8", "c16"):
            for op in ("set", "add"):
                call = (forced, None, threads, packed_race, op, dtype)
                yield case(f"packed {op} {dtype} {threads}", "ok", *call)
            call = (forced, None, threads, compressed_race, dtype)
            yield case(f"gather_where {dtype} {threads}", "ok", *call)
        yield case(f"where {threads}", "ok", forced, None, threads, choice_race)


def shared_target():
    """Many threads add to one array: numbers may be lost, nothing else may happen."""
    target, memory = guarded(1)
    line = target[:, 0]
    index = np.arange(200_000) % SIZE
    threads = [
        threading.Thread(target=ps.add_at, args=(line, index, 1.0)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(target >= 1000) and np.all(target <= 8000)
    memory[2 * SIZE : 3 * SIZE] = 0
    assert not memory.any()


class Swapper(Meddler):
    """A thread that takes no rest: a part of an array is one thing, then another."""

    def run(self):
        while not self.stop.is_set():
            self.array[:] = self.bad
            self.array[:] = self.good


def for_a_while(call, seconds=1.0):
    """Repeat a call for so long, whatever a rewritten index may raise."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tolerated(call)


def swapped_partition(width, dtype):
    """Valid places that are exchanged: elements that neither version names stay.

    The first part of the index alone changes, so the other parts find what they have
    counted; calls of our own between leave foreign places in the work memory.
    """
    size, entries = 1 << 19, 1 << 18
    good = 4 * np.random.default_rng(0).integers(0, size // 4, entries)
    index, others = good.copy(), good + 1
    part = index[: entries // 4]
    values = np.ones((entries, width), dtype)
    a = np.zeros((size, width), dtype)

    def call():
        ps.add_at(np.zeros_like(a), others, values, axis=0)
        ps.add_at(a, index, values, axis=0)

    with Swapper(part, part.copy(), part // 8 * 4):
        for_a_while(call)
    assert not a.reshape(-1, 4, width)[:, 1:].any(), "an element was written unnamed"


def swapped_mask(dtype, op):
    """A mask that comes and goes: each element is as it was, or what arrives there."""
    entries = 1 << 16
    good = np.arange(entries) % 3 == 0
    mask, values = good.copy(), np.ones(entries)
    target, other = np.zeros(entries, dtype), np.zeros(entries, dtype)

    def call():
        ps.scatter_where(other, good, 7 * values, op=op, out=other)
        ps.scatter_where(target, mask, values, op=op, out=target)
        assert np.all((target == 0) | (target == 1)), np.unique(target)

    with Swapper(mask, good, False):
        for_a_while(call)


class Reshaper(Meddler):
    """A thread that gives an array one shape after the other."""

    def run(self):
        for turn in count():
            self.array.shape = self.bad[turn % len(self.bad)]
            if self.stop.is_set():
                return


def reshaped(function):
    """An array whose axes come and go: its elements stay where they are."""
    shapes = [(1 << 16,), (4, 1 << 14), (1 << 13, 4, 2), (2,) * 16]
    array = np.arange(1 << 16) % 3 == 0

    def call():
        try:
            function(array)
        except ValueError as error:
            assert "shape" in str(error), error

    sys.setswitchinterval(1e-5)
    with Reshaper(array, None, shapes):
        for_a_while(call)


def reshaped_arrays():
    """Each function that looks at an array while other threads run."""
    number, flat = np.arange(1 << 16), np.ones(1 << 16)
    functions = {
        "nonzero": ps.nonzero,
        "argwhere": ps.argwhere,
        "flatnonzero": ps.flatnonzero,
        "count": ps.count_nonzero,
        "count axis": partial(ps.count_nonzero, axis=0),
        "mask": lambda a: ps.gather_where(flat, a),
        "masked": lambda a: ps.gather_where(a, a),
        "condition": lambda a: ps.where(a, flat, 0.0),
        "out": lambda a: ps.where(number > 9, a, False, out=a),
        "cast": lambda a: ps.where(number > 9, a, 1.5),
        "target": lambda a: ps.scatter(a.reshape(-1), number, True, out=a.reshape(-1)),
        "plan": lambda a: ps.gather(flat, ps.Plan(a.view("u1"), 1 << 16)),
    }
    for name, function in functions.items():
        yield case(f"reshaped {name}", "ok", forced, None, 2, reshaped, function)


def swaps():
    """Arguments that other threads exchange for others as good, without a rest."""
    for dtype in (">f8", ">f4", "f2"):
        for op in ("set", "max"):
            call = (forced, None, 2, swapped_mask, dtype, op)
            yield case(f"mask {dtype} {op}", "ok", *call)
    for width, dtype in ((1, "f8"), (1, "f4"), (4, "f4")):
        call = (forced, "partition", 2, swapped_partition, width, dtype)
        yield case(f"partition {width} {dtype}", "ok", *call)


def races():
    """Each function and kind of index."""
    by_axis = partial(ps.add_at, axis=0)
    for dtype in ("i8", "i4", ">i8", "i2"):
        yield case(f"add_at {dtype}", "ok", scatter_race, ps.add_at, 1, dtype)
        yield case(f"rows {dtype}", "ok", scatter_race, by_axis, 8, dtype)
        call = (scatter_race, tuples_into_itself, 1, dtype)
        yield case(f"nd {dtype}", "ok", *call, op="max")
        yield case(f"gather {dtype}", "ok", gather_race, dtype, ())
        yield case(f"gather rows {dtype}", "ok", gather_race, dtype, (4,))
        for function in (RUNNING, median, some_medians):
            name = getattr(function, "__name__", "running")
            yield case(f"{name} {dtype}", "ok", segment_race, function, dtype)
    yield case("values", "ok", value_race)
    yield case("mask", "ok", mask_race)
    yield case("shared target", "ok", shared_target)


def races_by_algorithm():
    """The same under every algorithm, alone and with helpers."""
    for algorithm in _core.algorithms():
        for threads in (1, 2):
            for op in ("add", "set", "mean"):
                for width in (1, 16):
                    call = partial(into_itself, op=op)
                    race = (scatter_race, call, width, "i8")
                    name = f"{algorithm} {threads} {op} {width}"
                    yield case(name, "ok", forced, algorithm, threads, *race)


GROUPS = {
    "races": races,
    "races by algorithm": races_by_algorithm,
    "mask races": mask_races,
    "swaps": swaps,
    "reshaped arrays": reshaped_arrays,
}

if __name__ == "__main__":
    run_group(GROUPS)
