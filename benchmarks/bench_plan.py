"""Calls with a plan against plain calls: ``python -m benchmarks.bench_plan``.

First the workloads at the sizes of the graph in bench_scatter, the plan made before the
clock starts; then what making one costs; then every kernel that kernels() lists against
its NumPy twin.
"""

import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness
from benchmarks.bench_scatter import EDGES, NODES, UFUNCS, scaled
from benchmarks.bench_scatter import sweep_problem as plain_problem
from pyscatter.bench import (
    OURS,
    Problem,
    Way,
    Workload,
    draw,
    in_place,
    in_place_out,
    rng,
)

WIDTHS = (16, 64, 128)


def add_planned(n, size, width, pattern):
    """Rows added where a plan says, beside our call without one; NumPy has no plans."""
    a = np.zeros((size, width), np.float32)
    index = draw(n, size, pattern)
    values = rng().random((n, width), np.float32)
    plan = ps.Plan(index, size)
    ways = {
        "np.add.at": in_place(np.add.at, a, index, values),
        "pyscatter, plain": in_place_out(ps.scatter, a, index, values, op="add"),
        OURS: in_place_out(ps.scatter, a, plan, values, op="add"),
    }
    return Problem("add", a, index, values, ways)


def take_planned(n, size, width):
    """Rows read where a plan says."""
    a = rng().random((size, width), np.float32)
    index, out = draw(n, size, "power"), np.empty((n, width), np.float32)
    plan = ps.Plan(index, size)
    ways = {
        "np.take": Way(partial(np.take, a, index, 0, out.copy(), "clip")),
        "pyscatter, plain": Way(partial(ps.gather, a, index, out=out.copy())),
        OURS: Way(partial(ps.gather, a, plan, out=out)),
    }
    return Problem("take", a, index, None, ways)


def make(n, size):
    """What a plan costs, beside the sort that gives its order; both show the index."""
    index = draw(n, size, "power").astype(np.int32)
    ways = {
        "np.argsort": Way(lambda: (np.argsort(index, kind="stable"), index)[1]),
        OURS: Way(lambda: ps._core.plan_index(ps.Plan(index, size))),
    }
    return Problem("plan", index, index, None, ways)


def adding(width, pattern):
    return Workload(
        f"add rows with a plan, {pattern}, K={width}",
        lambda scale: add_planned(
            scaled(EDGES, scale), scaled(NODES, scale), width, pattern
        ),
    )


WORKLOADS = (
    *(adding(width, pattern) for width in WIDTHS for pattern in ("power", "sorted")),
    Workload(
        "gather rows with a plan, K=64",
        lambda scale: take_planned(scaled(EDGES, scale), scaled(NODES, scale), 64),
    ),
    Workload(
        "make a plan", lambda scale: make(scaled(EDGES, scale), scaled(NODES, scale))
    ),
)


def sweep_rows():
    """Every op and dtype that kernels() lists and NumPy has."""
    rows = harness.kernel_rows("plan")
    return [row for row in rows if harness.numpy_dtype(row[1]) is not None]


def sweep_problem(op, dtype, n, width):
    """One op on one dtype: n updates with a plan, of rows or of single elements."""
    problem = plain_problem(op, dtype, n, width)
    plan, target = ps.Plan(problem.index, len(problem.a)), problem.a.copy()
    ours = getattr(ps, UFUNCS[op] + "_at")
    call = partial(ours, target, plan, problem.values, axis=0)
    return problem._replace(ways=problem.ways | {OURS: Way(call, target)})


SUITE = harness.Suite(
    "bench_plan", WORKLOADS, sweep_rows, sweep_problem, ("add", "f32")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
