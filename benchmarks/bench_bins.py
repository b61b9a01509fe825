"""Bins against NumPy, SciPy and others: ``python -m benchmarks.bench_bins``.

Numbers of bins, counts by one and two coordinates, and statistics by bin, first at five
million entries, then of every real dtype that NumPy has.
"""

import sys

import numpy as np

import pyscatter as ps
from benchmarks import harness, rivals
from benchmarks.bench_scatter import scaled
from pyscatter.bench import OURS, Problem, Way, Workload, rng

ENTRIES = 5_000_000
UNEVEN = np.sort(rng().random(101))


def numbers(x, edges):
    """The bin of each element; edges reach beyond all of them, where rules agree."""
    ways = {
        "np.searchsorted": Way(lambda: np.searchsorted(edges, x, "right") - 1),
        "np.digitize": Way(lambda: np.digitize(x, edges) - 1),
        OURS: Way(lambda: ps.bin_index(x, edges)[0]),
    }
    return Problem("bin_index", x, x, None, ways)


def even_numbers(n, bins):
    """The same in bins of equal width."""
    x, edges = rng().random(n), np.linspace(0, 1, bins + 1)
    ways = {
        "np.searchsorted": Way(lambda: np.searchsorted(edges, x, "right") - 1),
        "np.digitize": Way(lambda: np.digitize(x, edges) - 1),
        OURS: Way(lambda: ps.bin_index(x, bins, (0, 1))[0]),
    }
    return Problem("bin_index", x, x, None, ways)


def counts(n, dimensions, bins):
    """How many of n entries are in each bin."""
    coords = tuple(rng().random((dimensions, n)))
    limits = ((0, 1),) * dimensions
    ways = {
        "np.histogramdd": Way(lambda: np.histogramdd(coords, bins, limits)[0]),
        OURS: Way(lambda: ps.binned_reduce(coords, None, bins, limits).result),
    }
    if (fast := rivals.load("fast_histogram")) and dimensions == 1:
        ways["fast_histogram"] = Way(lambda: fast.histogram1d(*coords, bins, (0, 1)))
    elif fast:
        ways["fast_histogram"] = Way(lambda: fast.histogram2d(*coords, bins, limits))
    if boost := rivals.load("boost_histogram"):
        sizes = (bins,) * dimensions
        ways["boost_histogram"] = Way(
            lambda: boost.numpy.histogramdd(coords, sizes, limits)[0]
        )
    return Problem("binned count", coords[0], coords[0], None, ways, same_order=False)


def statistic(n, op):
    """A statistic of values in 100 bins."""
    x, values = rng().random((2, n))
    ids, size = np.minimum((x * 100).astype(int), 99), 100

    def by_bincount():
        total = np.bincount(ids, values, size)
        count = np.bincount(ids, None, size)
        if op == "mean":
            return total / count
        spread = (values - (total / count)[ids]) ** 2
        return np.sqrt(np.bincount(ids, spread, size) / count)

    ways = {
        "np.bincount": Way(by_bincount),
        OURS: Way(lambda: ps.binned_reduce(x, values, 100, (0, 1), op=op).result),
    }
    if stats := rivals.load("scipy.stats"):
        ways["scipy binned_statistic"] = Way(
            lambda: stats.binned_statistic(x, values, op, 100, (0, 1))[0]
        )
    return Problem(f"binned {op}", values, values, None, ways, same_order=False)


WORKLOADS = (
    Workload("bin_index, 100", lambda s: even_numbers(scaled(ENTRIES, s), 100)),
    Workload(
        "bin_index, 101 even edges",
        lambda s: numbers(rng().random(scaled(ENTRIES, s)), np.linspace(0, 1, 101)),
    ),
    Workload(
        "bin_index, 101 uneven edges",
        lambda s: numbers(
            rng().random(scaled(ENTRIES, s)), np.concatenate([[-1], UNEVEN, [2]])
        ),
    ),
    Workload("binned count, 1-D, 100", lambda s: counts(scaled(ENTRIES, s), 1, 100)),
    Workload("binned count, 2-D, 64", lambda s: counts(scaled(ENTRIES, s), 2, 64)),
    Workload("binned count, 2-D, 512", lambda s: counts(scaled(ENTRIES, s), 2, 512)),
    Workload("binned mean, 100", lambda s: statistic(scaled(ENTRIES, s), "mean")),
    Workload("binned std, 100", lambda s: statistic(scaled(ENTRIES, s), "std")),
)


def sweep_rows():
    """Every dtype that kernels() lists and NumPy has."""
    rows = harness.kernel_rows("bins")
    return [row for row in rows if harness.numpy_dtype(row[1]) is not None]


def sweep_problem(op, dtype, n, width):
    """One dtype: n * width elements among uneven edges."""
    del op
    x = (rng().random(n * width) * 100).astype(harness.numpy_dtype(dtype))
    return numbers(x, np.concatenate([[-1.0], UNEVEN * 100, [200.0]]))


SUITE = harness.Suite(
    "bench_bins", WORKLOADS, sweep_rows, sweep_problem, ("find", "f64")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
