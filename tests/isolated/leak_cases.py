"""Repeat each call, failing ones too, and count what stays: leak_cases GROUP FIRST.

Blocks of the interpreter's allocator, references to every argument and, where the shim
is preloaded, blocks and mappings of the C library.
"""

import sys
from itertools import chain

import numpy as np

from tests.isolated.bins_operations import bins, wrong_bins
from tests.isolated.change_operations import changes, trackers, wrong_changes
from tests.isolated.delta_operations import delta_failures, deltas, reports
from tests.isolated.harness import case, run_group
from tests.isolated.keys_operations import keys, keys_failures
from tests.isolated.operations import failures, successes
from tests.isolated.shim import Shim, settle
from tests.isolated.sparse_operations import sparse, sparse_failures

WARM_UP, REPEATS, ROUNDS = 60, 1000, 8
SLACK = 40  # of a thousand calls: free lists and caches of the interpreter breathe
MAPPED_SLACK = 16 << 20
SINGLETONS = [
    *(np.dtype(code) for code in "?bBhHiIlLefdFD"),
    np.dtype(object),
    np.ndarray,
    ValueError,
    IndexError,
    TypeError,
    OverflowError,
    np.exceptions.AxisError,
]


def repeat(operation, times):
    """Make the call so often, whatever comes of it."""
    for _ in range(times):
        try:
            operation.call()
        except Exception:
            pass


def held(operation):
    """What the call could keep references to."""
    return [
        operation.function,
        *operation.args,
        *operation.kwargs.values(),
        *SINGLETONS,
    ]


def native():
    """Blocks and mapped bytes of the C library, or zeros without the shim."""
    try:
        shim = Shim()
    except ValueError:
        return 0, 0
    return shim.live.value, shim.mapped.value


def count(operation):
    """References, interpreter blocks, native blocks and mapped bytes."""
    settle()
    things = held(operation)
    references = [sys.getrefcount(thing) for thing in things]
    return references, sys.getallocatedblocks(), *native()


def complaint(operation):
    """What the repeated calls keep, or None."""
    before = count(operation)
    repeat(operation, REPEATS)
    after = count(operation)
    references = [y - x for x, y in zip(before[0], after[0], strict=True)]
    blocks, live, mapped = (y - x for x, y in zip(before[1:], after[1:], strict=True))
    kept = {
        repr(thing)[:60]: delta
        for thing, delta in zip(held(operation), references, strict=True)
        if abs(delta) > SLACK
    }
    if not kept and max(blocks, live) < SLACK and mapped < MAPPED_SLACK:
        return None
    return f"{blocks} blocks, {live} native, {mapped} mapped bytes, references {kept}"


def examine(operation):
    """Complain about what stays in each of several rounds; a cache stops growing."""
    repeat(operation, WARM_UP)
    problems = None
    for _ in range(ROUNDS):
        problems = complaint(operation)
        if problems is None:
            return
    raise AssertionError(f"after {REPEATS} calls, each time: {problems}")


def repeated(operations):
    """A case for each operation."""
    for operation in operations:
        yield case(operation.name, "ok", examine, operation)


GROUPS = {
    "successes": lambda: repeated(successes(40)),
    "work memory": lambda: repeated(successes(1200)),
    "failures": lambda: repeated(failures()),
    "bins": lambda: repeated(chain(bins(40), wrong_bins(40))),
    "changes": lambda: repeated(chain(changes(40), trackers(40), wrong_changes(40))),
    "sparse": lambda: repeated(chain(sparse(40), sparse_failures(40))),
    "keys": lambda: repeated(chain(keys(40), keys_failures(40))),
    "delta": lambda: repeated(chain(deltas(40), delta_failures(40), reports(40))),
}

if __name__ == "__main__":
    run_group(GROUPS)
