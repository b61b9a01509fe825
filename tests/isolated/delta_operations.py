"""Calls of the delta family for tests that repeat them or refuse them memory; each
returns an array by which two results can be compared."""

import numpy as np

import pyscatter as ps
from tests.isolated.operations import Operation, numbers


def as_array(change):
    """Return all bytes of a delta, and what can be seen of it, as an array."""
    repr(change)
    seen = change.positions, change.values.view(np.uint8).ravel()
    return np.concatenate([np.frombuffer(change.to_bytes(), np.uint8), *seen])


def made(old, new, **options):
    return as_array(ps.delta(old, new, **options))


def read(wire):
    return as_array(ps.Delta.from_bytes(wire))


def composed(first, second):
    return as_array(first.compose(second))


def inverted(change, old):
    return as_array(change.invert(old))


def explained(actual, desired):
    found = ps.explain_diff(actual, desired)
    return np.array([found.n_mismatch, found.max_abs, len(str(found))])


def pair(count):
    """Two arrays of which a tenth differs."""
    old = numbers(count * 4, dtype="f4").reshape(count, 4)
    new = old.copy()
    new[::10, 1] += 1
    return old, new


def deltas(count):
    """One of each, on `count` rows."""
    old, new = pair(count)
    for name, options in {
        "delta": {},
        "xor": {"op": "xor"},
        "runs": {"encoding": "runs"},
        "bitmap": {"encoding": "bitmap"},
        "dense": {"encoding": "dense"},
        "rows": {"granularity": "row"},
        "some": {"top_k": 3},
    }.items():
        yield Operation(f"delta {name}", made, (old, new), options)
        change = ps.delta(old, new, **options)
        yield Operation(f"apply {name}", change.apply, (old,), {"verify": "both"})
        yield Operation(f"from bytes {name}", read, (change.to_bytes(),))
        yield Operation(f"invert {name}", inverted, (change, old))
    change, other = ps.delta(old, new), ps.delta(new, old)
    place = old.copy()
    yield Operation(
        "apply in place", change.apply, (place,), {"out": place}, target=place
    )
    yield Operation("strided", made, (old[::-1], new[::-1]))
    yield Operation("compose", composed, (change, other))


def reports(count):
    """Reports in words, which NumPy's printing of arrays is a part of."""
    yield Operation("explain_diff", explained, pair(count))


def delta_failures(count):
    """Calls that raise."""
    old, new = pair(count)
    change = ps.delta(old, new)
    wire = change.to_bytes()
    yield Operation("other shape", ps.delta, (old, new[1:]))
    yield Operation("other dtype", ps.delta, (old, new.astype("f8")))
    yield Operation("objects", ps.delta, (old.astype(object), new))
    yield Operation("no op", ps.delta, (old, new), {"op": "sub"})
    yield Operation("no encoding", ps.delta, (old, new), {"encoding": "zip"})
    yield Operation("other base", change.apply, (new,), {"verify": "base"})
    yield Operation("other target", change.apply, (old[1:],))
    yield Operation("other version", change.apply, (old,), {"base_version": 3})
    yield Operation("no place", change.apply, (old,), {"out": new[1:]})
    yield Operation("short bytes", ps.Delta.from_bytes, (wire[:-1],))
    yield Operation("no bytes", ps.Delta.from_bytes, (b"\x89PSDELTA" + bytes(90),))
    yield Operation("no way back", change.invert, ())
    yield Operation("no chain", change.compose, (change,))
    yield Operation("no delta", change.compose, (3,))
    parts = ((9,), "f8", None, None, "auto")
    yield Operation("unsorted", ps.Delta, (*parts, [2, 1], np.ones(2)))
    yield Operation("values", ps.Delta, (*parts, [1, 2], np.ones(3)))
    yield Operation("shapes", ps.explain_diff, (old, new[1:]))
