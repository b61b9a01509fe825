"""Scatter against NumPy and rivals: ``python -m benchmarks.bench_scatter``.

First the workloads of the README's table at their full sizes (the rows are those of a
citation graph with 169,343 nodes and 1,166,243 edges), then every op and dtype that
kernels() lists against its NumPy twin.
"""

import operator
import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness
from pyscatter.bench import (
    OURS,
    Problem,
    Workload,
    add_1d,
    add_2d,
    add_batch,
    add_nd,
    add_rows,
    count_1d,
    draw,
    in_place,
    in_place_out,
    max_1d,
    put_along,
    rng,
    set_1d,
)

EDGES, NODES = 1_166_243, 169_343
MILLION = 1_000_000

# NumPy's name of each op: np.<name>.at is the twin of ps.<name>_at.
UFUNCS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "floor_div": "floor_divide",
    "min": "minimum",
    "max": "maximum",
    "fmin": "fmin",
    "fmax": "fmax",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}


def scaled(n, scale):
    """n at the given scale, never so small that a call has nothing to do."""
    return max(10, int(n * scale))


def rows(width, pattern):
    """Rows added at the graph's sizes."""

    def build(scale):
        sizes = scaled(EDGES, scale), scaled(NODES, scale)
        return add_rows(*sizes, width, pattern=pattern)

    name = "sorted" if "sorted" in pattern else "power law"
    return Workload(f"rows add, K={width}, {name}", build)


def single(n, size, pattern="uniform", dtype=np.float64):
    """Single numbers added."""

    def build(scale):
        return add_1d(scaled(n, scale), scaled(size, scale), pattern, dtype)

    name = f"add, {n:,} into {size:,}, {np.dtype(dtype)}"
    return Workload(f"{name}, {pattern}" if pattern != "uniform" else name, build)


def of_million(name, build, **options):
    """A workload of a million updates at scale 1."""
    return Workload(name, lambda scale: build(scaled(MILLION, scale), **options))


WORKLOADS = (
    *(rows(k, p) for k in (16, 64, 128) for p in ("power", "power sorted")),
    single(1_000, 100),
    single(100_000, 1_000),
    single(MILLION, 1_000),
    single(MILLION, 1_000, "sorted"),
    single(MILLION, 1_000, "same"),
    single(MILLION, 1_000, dtype=np.float32),
    single(MILLION, MILLION),
    single(MILLION, MILLION, "sorted"),
    single(10 * MILLION, 10 * MILLION),
    of_million("counts, 1,000,000 into 1,000", count_1d),
    of_million("max, 1,000,000 into 1,000, float64", max_1d),
    of_million("max, 1,000,000 into 1,000, int64", max_1d, dtype=np.int64),
    of_million("add, int32 index, float32", add_1d, dtype=np.float32, index=np.int32),
    of_million("add, float32 into float64", add_1d, values=np.float32),
    of_million("add at (row, column), 1000 x 1000", add_2d),
    of_million("set, 1,000,000 into 1,000,000", set_1d),
    of_million("set along an axis", put_along),
    of_million("add in 64 batches, rows of 16", add_batch),
    *(
        Workload(
            f"scatter_nd add, depth {depth}, slices of {width}",
            partial(
                lambda shape, depth, scale: add_nd(
                    scaled(200_000, scale), shape, depth
                ),
                shape,
                depth,
            ),
        )
        for depth, width, shape in (
            (1, 16, (10_000, 16)),
            (2, 16, (100, 100, 16)),
            (3, 1, (40, 50, 60)),
        )
    ),
    Workload("add, ten elements", lambda scale: add_1d(10, 10)),
)


def sweep_rows():
    """All kernels; halves, which use those of float32; moves, which know sizes only."""
    rows = harness.kernel_rows("scatter")
    ops = [op for op, dtype in rows if dtype == "f32"]
    rows += [(op, half) for half in harness.HALVES for op in ops]
    rows += [("set", dtype) for dtype in (*harness.DTYPES, *harness.HALVES)]
    return list(dict.fromkeys(rows))


def sweep_values(op, dtype, shape):
    """Values that stay finite however often the timer repeats the call."""
    if op in ("mul", "div", "floor_div"):
        return np.ones(shape, dtype)
    return rng().integers(0, 100, shape).astype(dtype)


def sweep_problem(op, dtype, n, width):
    """One op on one dtype: n updates of single elements or of rows."""
    shape = (1000,) if width == 1 else (max(1, n // 8), width)
    a = np.ones(shape, dtype)
    i = draw(n, len(a))
    v = sweep_values(op, dtype, (n,) + shape[1:])
    if op == "set":
        twins = in_place(operator.setitem, a, i, v), in_place_out(ps.scatter, a, i, v)
    else:
        ufunc, ours = getattr(np, UFUNCS[op]), getattr(ps, UFUNCS[op] + "_at")
        twins = in_place(ufunc.at, a, i, v), in_place(ours, a, i, v)
    ways = dict(zip(("NumPy", OURS), twins, strict=True))
    return Problem(op, a, i, v, ways)


SUITE = harness.Suite(
    "bench_scatter", WORKLOADS, sweep_rows, sweep_problem, ("add", "f32")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
