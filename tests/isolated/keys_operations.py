"""Calls on keys for tests that repeat them or refuse them memory; each returns an array
by which two results can be compared."""

from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.operations import Operation, mixed_index, numbers


def everything(function, *args, **options):
    """Return the numbers of all results in one array."""
    ids, uniques, *rest = function(*args, return_first=True, **options)
    parts = [ids, *rest, np.arange(len(uniques))]
    return np.concatenate([np.ravel(part) for part in parts])


def forced(way, parts, call, *args, **options):
    """Make a call a certain way, in several stretches."""
    before = _core.force_keys(way, parts)
    try:
        return call(*args, **options)
    finally:
        _core.force_keys(*before)


def reduced(*args, **options):
    return np.ravel(ps.group_reduce(*args, **options)[1])


def delivered(values, keys):
    out = tuple(np.full(len(np.unique(keys)), 0.0) for _ in range(2))
    ps.group_reduce((values, values), keys, out=out)
    return np.concatenate(out)


def keys(count):
    """Each kind of keys, and each way to number them."""
    index = abs(mixed_index(count, 90))
    kinds = {
        "close": index,
        "wide": index * 10**15,
        "floats": index / 7,
        "long": index.astype(np.longdouble),
        "words": index.astype("U3"),
        "wide words": index.astype("U30"),
        "swapped": index.astype(">U5"),
        "records": np.rec.fromarrays([index, index.astype("S9")]),
        "objects": index.astype(str).astype(object),
        "strided": np.repeat(index, 2)[::-2],
    }
    for name, array in kinds.items():
        numbered = partial(everything, ps.factorize)
        yield Operation(f"factorize {name}", numbered, (array,))
        yield Operation(
            f"factorize {name} unsorted", numbered, (array,), {"sort": False}
        )
        for way in ("hash", "spread", "second", "sort"):
            call = partial(forced, way, 3, numbered)
            yield Operation(f"factorize {name} {way}", call, (array,))
    both = (kinds["wide"], kinds["words"])
    yield Operation("factorize both", lambda *a: ps.factorize(*a)[0], both)
    yield Operation("group_reduce", reduced, (numbers(count), *both))
    yield Operation("group_reduce outs", delivered, (numbers(count), index))
    mask = {"where": index > 20}
    yield Operation("group_reduce where", reduced, (numbers(count), index), mask)


def keys_failures(count):
    """Calls that raise."""
    index = abs(mixed_index(count, 90)).astype(float)
    index[count // 2] = np.nan
    missing = {"missing": "raise"}
    yield Operation("missing", ps.factorize, (index, index), missing)
    lists = np.empty(count, object)
    lists[:] = [[k] for k in range(count)]
    yield Operation("unhashable", ps.factorize, (lists,))
    mixed = np.array([1, "a"] * count, object)
    yield Operation("mixed", ps.factorize, (mixed,))
    yield Operation("shapes", ps.factorize, (index, index[1:]))
    yield Operation("op", ps.group_reduce, (index, index), {"op": "no"})
