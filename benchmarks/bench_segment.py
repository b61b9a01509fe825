"""Segments against NumPy and rivals: ``python -m benchmarks.bench_segment``.

First the workloads of the README's table at their full sizes: sums of ragged rows, an
embedding bag, statistics by id. Then every op and dtype that kernels() lists against
np.<ufunc>.reduceat over the same segments.
"""

import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness
from benchmarks.bench_scatter import MILLION, UFUNCS, scaled
from pyscatter.bench import OURS, Problem, Way, Workload, draw, rng


def cuts(n, length):
    """Offsets of non-empty segments with `length` entries on average, 0 and n included.

    Random cuts, since segments of one length would suit a branch predictor.
    """
    inner = np.sort(rng().integers(0, n, max(1, n // length)))
    return np.unique(np.concatenate([[0], inner, [n]]))


def ragged(length, width):
    """Sums of neighbouring rows, four million numbers in all."""

    def build(scale):
        n = scaled(4 * MILLION, scale) // width
        offsets = cuts(n, length)
        values = rng().standard_normal((n, width) if width > 1 else n, np.float32)
        ways = {
            "np.add.reduceat": Way(partial(np.add.reduceat, values, offsets[:-1])),
            OURS: Way(partial(ps.segment_reduce, values, offsets=offsets)),
        }
        return Problem("ragged", values, offsets, values, ways, same_order=False)

    return Workload(f"segment sums, {length} rows of {width}", build)


def bag(size=MILLION, width=64, length=20):
    """Sums of the rows of a table that an index lists: an embedding bag."""

    def build(scale):
        n = scaled(MILLION, scale)
        table = rng().standard_normal((scaled(size, scale), width), np.float32)
        ids, offsets = draw(n, len(table), "power"), cuts(n, length)

        def by_take():
            return np.add.reduceat(np.take(table, ids, axis=0), offsets[:-1])

        ours = partial(ps.segment_reduce, table, offsets=offsets, gather=ids)
        ways = {"np.take, np.add.reduceat": Way(by_take), OURS: Way(ours)}
        return Problem("bag", table, ids, table, ways, same_order=False)

    return Workload(f"embedding bag, {length} rows of {width}", build)


def numpy_std(ids, values, size):
    """The standard deviation of each group by np.bincount, in two passes."""
    counts = np.bincount(ids, None, size)
    means = np.bincount(ids, values, size) / counts
    return np.sqrt(np.bincount(ids, (values - means[ids]) ** 2, size) / counts)


def numpy_mean(ids, values, size):
    """The mean of each group by np.bincount."""
    return np.bincount(ids, values, size) / np.bincount(ids, None, size)


def numpy_max(ids, values, size):
    """The maximum of each group by np.maximum.at."""
    found = np.full(size, -np.inf)
    np.maximum.at(found, ids, values)
    return found


def numpy_sum(ids, values, size):
    """The sum of each group by np.bincount."""
    return np.bincount(ids, values, size)


def by_id(op, twin):
    """One statistic of 500,000 numbers in 1,000 groups, in any order."""

    def build(scale):
        n = scaled(MILLION // 2, scale)
        size = min(n, 1000)
        ids = draw(n, size)
        ids[:size] = np.arange(size)  # no group is empty
        values = rng().random(n)
        rival = {"max": "np.maximum.at", "median": "np.lexsort"}.get(op, "np.bincount")
        ways = {
            rival: Way(partial(twin, ids, values, size)),
            OURS: Way(partial(ps.segment_reduce, values, ids, size, op=op)),
        }
        same_order = op in ("sum", "max", "median")
        return Problem("by id", values, ids, values, ways, same_order)

    return Workload(f"group {op}, 500,000 into 1,000", build)


def numpy_median(ids, values, size):
    """The median of each group by np.lexsort."""
    ordered = values[np.lexsort((values, ids))]
    ends = np.cumsum(np.bincount(ids, None, size))
    starts = np.concatenate([[0], ends[:-1]])
    return (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2


def running():
    """Running sums of 500,000 numbers in 1,000 groups, in any order."""

    def build(scale):
        ids = draw(scaled(MILLION // 2, scale), 1000)
        values = rng().integers(0, 9, len(ids)).astype(float)  # sums are exact

        def by_sort():
            order = np.argsort(ids, kind="stable")
            sums = np.cumsum(values[order])
            counts = np.bincount(ids)
            before = np.concatenate([[0], sums])[np.cumsum(counts) - counts]
            result = np.empty_like(sums)
            result[order] = sums - np.repeat(before, counts)
            return result

        ways = {
            "np.argsort, np.cumsum": Way(by_sort),
            OURS: Way(partial(ps.segment_scan, values, ids)),
        }
        return Problem("running", values, ids, values, ways)

    return Workload("running sums, 500,000 in 1,000", build)


WORKLOADS = (
    *(ragged(length, width) for width in (1, 32) for length in (4, 30, 1000)),
    bag(),
    by_id("sum", numpy_sum),
    by_id("mean", numpy_mean),
    by_id("max", numpy_max),
    by_id("std", numpy_std),
    by_id("median", numpy_median),
    running(),
)


def sweep_rows():
    """Every (op, dtype) that kernels() lists and reduceat has."""
    rows = harness.kernel_rows("segment")
    return [(op, dtype) for op, dtype in rows if harness.numpy_dtype(dtype)]


def sweep_problem(op, dtype, n, width):
    """One op on one dtype: segments of 30 entries on average."""
    shape = (n, width) if width > 1 else n
    values = rng().integers(1, 3, shape)
    if op == "mul":  # products that neither overflow nor vanish
        values = values * 2 - 3
    values = values.astype(dtype)
    offsets = cuts(n, 30)
    twin = getattr(np, UFUNCS[op]).reduceat
    if dtype.kind in "iub" and op in ("add", "mul"):
        twin = partial(twin, dtype=np.uint64 if dtype.kind == "u" else np.int64)
    ways = {
        "reduceat": Way(partial(twin, values, offsets[:-1])),
        OURS: Way(partial(ps.segment_reduce, values, offsets=offsets, op=op)),
    }
    return Problem(f"segment {op}", values, offsets, values, ways)


SUITE = harness.Suite(
    "bench_segment", WORKLOADS, sweep_rows, sweep_problem, ("add", "f32")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
