"""Gather against NumPy and rivals: ``python -m benchmarks.bench_gather``.

First the workloads of the README's table at their full sizes, then every kernel that
kernels() lists against its NumPy twin.
"""

import sys

from benchmarks import harness
from benchmarks.bench_scatter import EDGES, MILLION, NODES, of_million, scaled
from pyscatter.bench import (
    Workload,
    draw,
    rng,
    take_1d,
    take_along,
    take_from,
    take_nd,
    take_rows,
    take_ten,
)


def rows(width):
    """Rows read at the sizes of the graph in bench_scatter."""

    def build(scale):
        return take_rows(scaled(EDGES, scale), scaled(NODES, scale), width)

    return Workload(f"gather rows, K={width}", build)


def single(n, size):
    """Single numbers read."""

    def build(scale):
        return take_1d(scaled(n, scale), scaled(size, scale))

    return Workload(f"gather, {n:,} from {size:,}, float64", build)


WORKLOADS = (
    rows(16),
    rows(64),
    single(MILLION, 1_000),
    single(MILLION, MILLION),
    single(10 * MILLION, 10 * MILLION),
    of_million("gather_nd, depth 2, slices of 16", take_nd),
    of_million("gather along an axis", take_along),
    Workload("gather, ten elements", lambda scale: take_ten()),
)


def sweep_rows():
    """Every dtype that kernels() lists and NumPy has."""
    dtypes = {dtype for _, dtype in harness.kernel_rows("gather")}
    return [("take", dtype) for dtype in sorted(dtypes) if harness.numpy_dtype(dtype)]


def sweep_problem(op, dtype, n, width):
    """One dtype: n single elements or rows read."""
    shape = (1000,) if width == 1 else (max(1, n // 8), width)
    a = rng().integers(0, 100, shape).astype(harness.numpy_dtype(dtype))
    return take_from(a, draw(n, len(a)))


SUITE = harness.Suite(
    "bench_gather", WORKLOADS, sweep_rows, sweep_problem, ("take", "f32")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
