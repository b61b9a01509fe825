"""Calls on bins and histograms for tests that repeat them or refuse them memory; each
returns an array by which two results can be compared."""

import numpy as np

import pyscatter as ps
from tests.isolated.operations import Operation, numbers

UNEVEN = np.array([-50.0, -7.5, -1.0, 0.0, 0.25, 3.0, 90.0])


def counted(x, *args, **kwargs):
    made = ps.histogram(x, *args, **kwargs)
    return np.concatenate([made.counts, made.edges])


def numbered(*args, **kwargs):
    ids, edges = ps.bin_index(*args, **kwargs)
    return np.concatenate([ids.ravel(), edges])


def reduced(*args, **kwargs):
    made = ps.binned_reduce(*args, **kwargs)
    results = made.result if isinstance(made.result, tuple) else (made.result,)
    return np.concatenate([*(np.ravel(r) for r in results), made.ids.ravel()])


def delivered(x, y, **kwargs):
    out = tuple((np.full(5, 0.0), np.full(5, 0.0)) for _ in range(2))
    made = ps.binned_reduce(x, (x, y), 5, out=out, return_counts=True, **kwargs)
    return np.concatenate([np.ravel(out), *(counts for _, counts in made.result)])


def bins(count):
    """One of each kind, on `count` entries."""
    x, y = numbers(count), numbers(count)[::-1]
    rows, narrow = numbers(count, 2), x.astype("f2")
    for kind in (10, UNEVEN, "tb1", "tb2", "log2"):
        yield Operation(f"histogram {kind}", counted, (x, kind))
    yield Operation("histogram weights", counted, (narrow, 9), {"weights": y})
    yield Operation("histogram density", counted, (x, 9), {"density": True})
    yield Operation("bin_index", numbered, (x, 9))
    yield Operation("bin_index edges", numbered, (narrow, UNEVEN))
    whole = np.array([-(2**60), 0, 2**60])
    yield Operation("bin_index whole", numbered, (x.astype("i8"), whole))
    yield Operation("binned count", reduced, ((x, y),), {"outside": "clip"})
    yield Operation("binned table", reduced, (rows,))
    options = {"op": ("add", "var"), "outside": "extend", "where": x > 0}
    options["fill_value"] = 0
    yield Operation("binned several", reduced, ((x, y), rows, 5), options)
    outs = {"op": ("add", "max"), "outside": "clip"}
    yield Operation("binned outs", delivered, (x, y), outs)
    yield Operation("binned list", reduced, (x.tolist(), y, 5), {"op": "mean"})


def wrong_bins(count):
    """Calls that raise, after more and more work."""
    x = numbers(count)
    for name, args in {
        "bins": (x, 0),
        "edges": (x, UNEVEN[::-1]),
        "range": (x, 5, (1, 0)),
        "complex": (x * 1j, 5),
    }.items():
        yield Operation(f"histogram {name}", ps.histogram, args)
        yield Operation(f"bin_index {name}", ps.bin_index, args)
        yield Operation(f"binned {name}", ps.binned_reduce, (args[0], None, *args[1:]))
    short = ((x, x), x[1:], 5)
    yield Operation("binned values", ps.binned_reduce, short, {"op": "add"})
    yield Operation("binned op", ps.binned_reduce, (x, x, 5), {"op": "no"})
    yield Operation("binned shapes", ps.binned_reduce, ((x, x[1:]),))
    yield Operation("weights", ps.histogram, (x, 5), {"weights": x[1:]})
