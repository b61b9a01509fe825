"""Run out of memory at every request in turn: memory_cases GROUP FIRST, with the shim.

With malloc_shim.c preloaded and PYTHONMALLOC=malloc, each operation is made with 0, 1,
2 ... requests granted before one is refused, or many in a row, until it asks for no
more. Each refusal must end in MemoryError with the target as it was, or in the right
answer by other means, and must not keep memory.
"""

import resource
import sys
from functools import partial
from itertools import chain, count

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.bins_operations import bins
from tests.isolated.change_operations import changes
from tests.isolated.delta_operations import deltas
from tests.isolated.harness import case, run_group
from tests.isolated.keys_operations import keys
from tests.isolated.operations import (
    gathers,
    in_place,
    index_successes,
    mask_successes,
    mixed_index,
    numbers,
    operation,
)
from tests.isolated.shim import MANY, Shim, attempt, in_child, settle, spare_references
from tests.isolated.sparse_operations import sparse
from tests.matrices import FORMATS, matrix_of

REPEATS, ROUNDS = 12, 8
SLACK = 8  # fewer blocks than one a call: free lists of the interpreter breathe
MAPPED_SLACK = 16 << 20
ROOM = 64 << 20
WRONG, REFUSED, SERENE = 2, 1, 0


class Trial:
    """An operation, what it starts from and what it must leave behind."""

    def __init__(self, operation, span):
        self.operation = operation
        self.shim = Shim(span)
        self.shim.look_at(_core.__file__)
        self.before = self.content()
        self.after = self.outcome(operation.call())
        spare_references(len(sys.modules))
        self.got = [None]

    def content(self):
        """A copy of the target, if there is one."""
        target = self.operation.target
        return None if target is None else target.copy()

    def outcome(self, result):
        """What an undisturbed call leaves: the target, or its result."""
        return result if self.operation.target is None else self.content()

    def restore(self):
        """Give the target its first content."""
        if self.before is not None:
            self.operation.target[...] = self.before

    def refuse(self, granted):
        """Make the call with a refusal; how many were refused, to us and to all."""
        self.restore()
        inside, everywhere = self.shim.inside.value, self.shim.refused.value
        error = attempt(self.shim, self.operation.call, granted, self.got)
        inside = self.shim.inside.value - inside
        everywhere = self.shim.refused.value - everywhere
        where = f"{self.operation.name}, {granted} requests granted"
        if error is None:
            same = np.array_equal(self.outcome(self.got[0]), self.after)
            assert same, f"{where}: wrong answer"
        else:
            self.examine(error, inside, where)
        return inside, everywhere

    def examine(self, error, inside, where):
        """Complain about a wrong exception or a changed target."""
        # Refused by its own Python callers, NumPy's nditer and masks forget to say so.
        allowed = MemoryError if inside else MemoryError | SystemError
        assert isinstance(error, allowed), f"{where}: {error!r}"
        if self.before is not None:
            same = np.array_equal(self.operation.target, self.before)
            assert same, f"{where}: target changed"

    def kept(self, granted):
        """Refuse many times; blocks and mapped bytes there are then.

        The last number tells how often the interpreter met a refusal itself, since free
        lists move requests about. A tuple that it cannot resize, say, loses its items.
        """
        shim = self.shim
        outside = shim.refused.value - shim.inside.value
        for _ in range(REPEATS):
            self.restore()
            attempt(shim, self.operation.call, granted, self.got)
        self.got[0] = None
        settle()
        outside = shim.refused.value - shim.inside.value - outside
        return shim.live.value, shim.mapped.value, outside

    def keep(self, granted):
        """Complain about memory that is kept each time; a cache stops growing.

        Rounds are compared at their ends: what one collection leaves to the next is
        there at each of them.
        """
        *before, _ = self.kept(granted)
        for _ in range(ROUNDS):
            *after, outside = self.kept(granted)
            live, mapped = np.subtract(after, before)
            if outside or (live < SLACK and mapped < MAPPED_SLACK):
                return
            before = after
        where = f"{self.operation.name}, {granted} requests granted, {REPEATS} times"
        raise AssertionError(f"{where}: {live} blocks, {mapped} mapped bytes stay")


def sweep(operation, span):
    """Refuse each request in turn."""
    trial = Trial(operation, span)
    for granted in count():
        inside, everywhere = trial.refuse(granted)
        if not everywhere:
            return
        # The interpreter itself loses a block in some of its own refusals.
        if inside and span == 1 and operation.function not in IN_PYTHON:
            trial.keep(granted)


def swept(operations):
    """Cases of a sweep, refusing once and many times."""
    for item in operations:
        for span in (1, MANY):
            name = f"{item.name} {'once' if span == 1 else 'on'}"
            yield case(name, "ok", sweep, item, span)


def forced(algorithm, threads, function, *args, **kwargs):
    """Anything under one algorithm and number of threads."""
    before = _core.force_algorithm(algorithm)
    try:
        with ps.num_threads(threads):
            return function(*args, **kwargs)
    finally:
        _core.force_algorithm(before)


def large(number):
    """Operations whose work memory is mapped."""
    index = mixed_index(number, 5000)
    for op in ("add", "set", "mean", "first"):
        call = (ps.scatter, numbers(5000), index, numbers(number))
        yield in_place(f"large {op}", *call, op=op)
    rows = numbers(5000, 4, dtype="f4")
    values = numbers(number, 4, dtype="f4")
    yield in_place("large rows", ps.scatter, rows, index, values, op="add")
    half = numbers(5000, dtype="f2")
    yield in_place("large half", ps.scatter, half, index, 1.0, op="add")


def large_masks(number):
    """Operations on masks that are split among threads and need memory for it."""
    mask, a = np.arange(number) % 3 > 0, numbers(number)
    swapped, packed = a.astype(">f4"), numbers(int(mask.sum()))
    yield operation("large where", ps.where, a, swapped, 1.5)
    yield operation("large gather_where", ps.gather_where, a, mask)
    for dtype in ("f8", "f4"):
        out, call = np.zeros(len(packed), dtype), (ps.gather_where, a, mask)
        yield operation(f"large gather_where {dtype}", *call, out=out, target=out)
    yield operation("large flatnonzero", ps.flatnonzero, swapped)
    yield operation("large argwhere", ps.argwhere, a.reshape(-1, 50) % 2)
    call = (ps.scatter_where, swapped, mask, packed)
    yield in_place("large packed", *call, packed=True, op="add")
    half = a.astype("f2")
    yield in_place("large masked half", ps.scatter_where, half, mask, a, op="mul")


def with_algorithms():
    """Every algorithm, alone and with helpers, on large work."""
    for algorithm in (None, *_core.algorithms()):
        for threads in (1, 2):
            for item in swept(large(200_000)):
                call = partial(forced, algorithm, threads, item.call)
                name = f"{item.name} {algorithm} {threads}"
                yield case(name, "ok", call, *item.args)


def masks_with_threads():
    """Large masks, alone and with helpers."""
    for threads in (1, 2):
        for item in swept(large_masks(500_000)):
            call = partial(forced, None, threads, item.call)
            yield case(f"{item.name} {threads}", "ok", call, *item.args)


def mixed_product(A, X, out):
    """A product whose types Python code settles."""
    return ps.spmm(A, X, op="mean", beta=2, out=out)


def products(number):
    """Products with sparse matrices in every way that they can go."""
    size = 500
    row, col = (mixed_index(number, size) % size for _ in "rc")
    X = numbers(size, 40)
    for format in FORMATS:
        A = matrix_of(format, row, col[::-1], numbers(number), (size, size))
        yield operation(f"spmm {format}", ps.spmm, A, X)
        yield operation(f"spmm {format} left", ps.spmm, X.T, A)
        yield operation(f"spmm {format} max", ps.spmm, A, X, semiring="max_plus")
        for width in (1, 40):
            out, x = numbers(size, width), X[:, :width].copy()
            name = f"spmm {format} {width} mixed"
            yield operation(name, mixed_product, A, x, out, target=out)
        out, column = numbers(size), X[:, 0].copy()
        yield operation(
            f"spmm {format} column", ps.spmm, A, column, out=out, target=out
        )
        out, call = numbers(number), (f"sddmm {format}", ps.sddmm, A, X, X)
        yield operation(*call, values="scale", out=out, target=out)


IN_PYTHON = (ps.apply_where, mixed_product)


def products_with_threads():
    """Products large enough to be split, alone and with helpers."""
    for threads in (1, 2):
        for item in swept(products(20_000)):
            call = partial(forced, None, threads, item.call)
            yield case(f"{item.name} {threads}", "ok", call, *item.args)


def first_start(trial, granted):
    """In a fresh child: its first parallel call, with a refusal."""
    try:
        return REFUSED if any(trial.refuse(granted)) else SERENE
    except AssertionError as problem:
        print(problem)
        return WRONG


def pool_starts(operation, span):
    """A refusal while the pool starts: fewer helpers, or MemoryError."""
    trial = Trial(operation, span)
    for granted in count():
        status = in_child(partial(first_start, trial, granted))
        assert status in (REFUSED, SERENE), f"{granted} requests granted: {status}"
        if status == SERENE:
            return


def pools():
    """The first parallel call of a process."""
    for item in chain(large(200_000), large_masks(500_000)):
        for span in (1, MANY):
            call = (forced, None, 3, pool_starts, item, span)
            yield case(f"{item.name} {span}", "ok", *call)


def confined(function, *args, **kwargs):
    """Make a call in an address space with little room left."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, hard))
    try:
        return function(*args, **kwargs)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def address_space():
    """Results and work memory beyond a limit that the system sets."""
    many = np.broadcast_to(np.int8(1), (2**27,))
    few = np.broadcast_to(np.int8(1), (2**24,))
    a = numbers(90)
    for name, call in {
        "gather": (ps.gather, a, many),
        "gather along": (ps.gather_along_axis, a, many),
        "gather nd": (ps.gather_nd, a, many[:, None]),
        "gather at": (ps.gather_at, a, many),
        "scatter of many": (ps.scatter, many, [0], np.int8(1)),
    }.items():
        yield case(name, "MemoryError", confined, *call)
    for dtype in ("f8", "f2", "i1"):
        for op in ("set", "add", "first", "max"):
            b = numbers(90, dtype=dtype)
            call = (confined, ps.scatter, b, few, b[:1].copy())
            yield case(f"scatter {op} {dtype}", "ok|MemoryError", *call, op=op, out=b)
    call = (confined, ps.scatter, a, few, 1.0)
    for name, chosen in {
        "mean": {"op": "mean"},
        "compensated": {"op": "add", "compensated": True},
        "fresh": {"op": "add", "include_self": False},
    }.items():
        yield case(name, "ok|MemoryError", *call, **chosen, out=a)
    yield case("add_at", "ok|MemoryError", confined, ps.add_at, a, few, 1.0)


def address_space_of_masks():
    """The same for conditions and masks."""
    many = np.broadcast_to(np.int8(1), (2**27,))
    a = numbers(90)
    for name, call in {
        "where": (ps.where, many, 1.0, 2.0),
        "scatter_where of many": (ps.scatter_where, many, [True], np.int8(1)),
        "flatnonzero": (ps.flatnonzero, many),
        "nonzero": (ps.nonzero, many[None]),
        "argwhere": (ps.argwhere, many),
        "sized": (partial(ps.flatnonzero, size=2**40), a),
    }.items():
        yield case(name, "MemoryError", confined, *call)


GROUPS = {
    "small": lambda: swept(index_successes(40)),
    "medium": lambda: swept(index_successes(3000)),
    "small masks": lambda: swept(mask_successes(40)),
    "medium masks": lambda: swept(mask_successes(3000)),
    "large masks": masks_with_threads,
    "sparse": lambda: swept(sparse(40)),
    "medium sparse": lambda: swept(sparse(3000)),
    "keys": lambda: swept(keys(40)),
    "medium keys": lambda: swept(keys(3000)),
    "bins": lambda: swept(bins(40)),
    "changes": lambda: swept(changes(40)),
    "delta": lambda: swept(deltas(20)),
    "medium delta": lambda: swept(deltas(2000)),
    "products": products_with_threads,
    "gathers": lambda: swept(gathers(150_000)),
    "algorithms": with_algorithms,
    "pool start": pools,
    "address space": address_space,
    "address space of masks": address_space_of_masks,
}

if __name__ == "__main__":
    run_group(GROUPS)
