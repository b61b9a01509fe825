"""Histograms against NumPy and others: ``python -m benchmarks.bench_histogram``.

First the workloads of the project's aims at ten million elements, then every real dtype
that NumPy has.
"""

import sys

import numpy as np

import pyscatter as ps
from benchmarks import harness, rivals
from benchmarks.bench_scatter import scaled
from pyscatter.bench import OURS, Problem, Way, Workload, rng

ELEMENTS = 10_000_000
EDGES = np.concatenate([[-10.0], np.sort(rng().standard_normal(99)), [10.0]])


def counted(x, bins, limits=None):
    """Counts of elements; rivals that need a range are told one."""
    ways = {
        "np.histogram": Way(lambda: np.histogram(x, bins, limits)[0]),
        OURS: Way(lambda: ps.histogram(x, bins, limits).counts),
    }
    low, high = limits or (x.min(initial=0), x.max(initial=1))
    fast = rivals.load("fast_histogram") if np.ndim(bins) == 0 else None
    if fast and x.dtype.kind == "f":
        ways["fast_histogram, told the range"] = Way(
            lambda: fast.histogram1d(x, bins, (low, np.nextafter(high, np.inf)))
        )
    return Problem("histogram", x, x, None, ways)


def weighed(x, bins, limits=None):
    """Sums of weights."""
    weights = rng().random(len(x))
    ways = {
        "np.histogram": Way(lambda: np.histogram(x, bins, limits, None, weights)[0]),
        OURS: Way(lambda: ps.histogram(x, bins, limits, False, weights).counts),
    }
    if boost := rivals.load("boost_histogram"):
        ways["boost_histogram"] = Way(
            lambda: boost.numpy.histogram(x, bins, limits, weights=weights)[0]
        )
    return Problem("histogram", x, x, None, ways, same_order=np.ndim(bins) == 0)


def tensorboard(x):
    """The limits of TensorBoard's first histogram."""
    limits = ps.histogram([], "tb1").edges
    ways = {
        "np.histogram": Way(lambda: np.histogram(x, limits)[0]),
        OURS: Way(lambda: ps.histogram(x, "tb1").counts),
    }
    return Problem("histogram", x, x, None, ways)


def normal(scale, n=ELEMENTS):
    return rng().standard_normal(scaled(n, scale)).astype(np.float32)


WORKLOADS = (
    Workload("histogram, float32, 30 bins", lambda s: counted(normal(s), 30)),
    Workload(
        "histogram, float32, 30 bins, range",
        lambda s: counted(normal(s), 30, (-6, 6)),
    ),
    Workload("histogram, tb1, float32", lambda s: tensorboard(normal(s))),
    Workload("histogram, 101 edges", lambda s: counted(normal(s), EDGES)),
    Workload("histogram, weights", lambda s: weighed(normal(s), 30, (-6, 6))),
    Workload("histogram, weights, 101 edges", lambda s: weighed(normal(s), EDGES)),
    Workload("histogram, ten elements", lambda s: counted(normal(1, 10), 10)),
)


def sweep_rows():
    """Every dtype that kernels() lists and NumPy's histogram takes."""
    rows = harness.kernel_rows("histogram")
    return [row for row in rows if row[1] != "b1" and harness.numpy_dtype(row[1])]


def sweep_problem(op, dtype, n, width):
    """One dtype: n * width elements in 30 bins."""
    del op
    x = (rng().random(n * width) * 100).astype(harness.numpy_dtype(dtype))
    return counted(x, 30, (0, 128))


SUITE = harness.Suite(
    "bench_histogram", WORKLOADS, sweep_rows, sweep_problem, ("measure", "f64")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
